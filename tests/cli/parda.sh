# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2016
# PARDA gives the profile of `exact`, but for the engine's name: any number of threads, from a file and a pipe,
# with and without a bound, in order, and with more threads than references.
same() { # two profiles
    sed 's/"engine": "[a-z]*"/"engine": "any"/' "$1" >.one
    sed 's/"engine": "[a-z]*"/"engine": "any"/' "$2" | cmp - .one && echo 'the same'
}
fathom gen zipf --keys 100000 --references 400000 --seed 4 -o t.u64 --quiet
fathom analyze t.u64 --json exact.json --force --quiet >/dev/null
for threads in 1 2 3 8; do
    try_silently "fathom analyze t.u64 --engine parda --threads $threads --json p.json --force --quiet"
    same exact.json p.json
done
try_silently 'cat t.u64 | fathom analyze - --format u64 --engine parda --threads 2 --json p.json --force --quiet'
sed -i 's/standard input/t.u64/' p.json
same exact.json p.json
for bound in 1 1000; do
    fathom analyze t.u64 --bound $bound --json exact.json --force --quiet >/dev/null
    try_silently "fathom analyze t.u64 --engine parda --threads 3 --bound $bound --json p.json --force --quiet"
    same exact.json p.json
done
fathom analyze t.u64 --distances exact.distances --quiet >/dev/null
try_silently 'fathom analyze t.u64 --engine parda --threads 3 --distances p.distances --quiet'
cmp exact.distances p.distances && echo 'the same'
fathom gen cyclic --keys 2 --references 3 -o short.u64 --quiet
try_silently 'fathom analyze short.u64 --engine parda --threads 8 --json p.json --force --quiet'
fields p.json engine exact references distinct cold histogram
try_silently 'fathom analyze short.u64 --engine parda --granularity 1,2,4 --threads 2 --json p.json --force --quiet'
fields p.json engine exact references distinct cold histogram
# Far more threads than processors: ranks that only wait for each other take a minute, or five.
fathom gen uniform --keys 5K --references 20K --seed 1 -o many.u64 --quiet
fathom analyze many.u64 --json exact.json --force --quiet >/dev/null
try_silently 'timeout 30 fathom analyze many.u64 --engine parda --threads 1024 --json p.json --force --quiet'
same exact.json p.json

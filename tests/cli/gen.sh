# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2016
# The same seed gives the same stream, another seed another; patterns say what they are.
try 'fathom gen cyclic --keys 4 --references 10 -o - --to text --quiet'
try 'fathom gen distinct --keys 6 --references 6 -o - --to text --quiet | sort -n | uniq | wc -l'
try 'fathom gen same --keys 1 --references 3 -o - --to text --quiet | uniq | wc -l'
for pattern in zipf uniform; do
    fathom gen $pattern --keys 50 --references 500 --seed 1 -o 1.txt --quiet
    fathom gen $pattern --keys 50 --references 500 --seed 1 -o 1again.txt --quiet
    fathom gen $pattern --keys 50 --references 500 --seed 2 -o 2.txt --quiet
    try "cmp 1.txt 1again.txt && ! cmp -s 1.txt 2.txt && wc -l <1.txt && awk '\$1 < 0 || \$1 > 49' 1.txt"
done
try 'fathom gen cyclik --keys 4 --references 10 -o x.txt'
try 'fathom gen cyclic --references 10 -o x.txt'
try 'fathom gen cyclic --keys 0 --references 10 -o x.txt'
try 'fathom gen cyclic --keys 4 -o x.txt'
try 'fathom gen cyclic --keys 4 --references 10'
try 'fathom gen cyclic --keys 4 --references 10 -o x.unknown'
try 'fathom gen zipf --keys 4 --references 10 --skew -1 -o x.txt'
try 'fathom gen zipf --keys 4 --references 10 --skew 0 -o x.txt'
try 'fathom gen zipf --keys 4 --references 10 --skew=-1 -o x.txt'
try 'ls'

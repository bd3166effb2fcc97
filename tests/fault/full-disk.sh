# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2016
# A full disk is never a success: every output of every verb.
fathom gen cyclic --keys 100 --references 1000 -o t.u64 --quiet
fathom analyze t.u64 --json p.json --quiet >/dev/null
fathom convert t.u64 -o t.fathom --quiet
try 'fathom --help >/dev/full'
try 'fathom --version >/dev/full'
for verb in analyze mrc compare report convert gen check; do
    try "fathom $verb --help >/dev/full"
done
try 'fathom analyze t.u64 >/dev/full'
try 'fathom analyze t.u64 --json - >/dev/full'
try_silently 'fathom analyze t.u64 --json /dev/full'
try_silently 'fathom analyze t.u64 --distances /dev/full'
try 'fathom mrc p.json --no-machine >/dev/full'
try 'fathom mrc p.json --csv - --no-machine >/dev/full'
try 'fathom mrc p.json --json - --no-machine >/dev/full'
try_silently 'fathom mrc p.json --csv /dev/full --no-machine'
try_silently 'fathom mrc p.json --json /dev/full --no-machine'
try 'fathom compare p.json p.json >/dev/full'
try 'fathom compare p.json p.json --json - >/dev/full'
try_silently 'fathom compare p.json p.json --json /dev/full'
try 'fathom convert t.u64 --to text -o - >/dev/full'
try 'fathom convert t.u64 --to text -o /dev/full'
try 'fathom convert t.u64 --to fathom -o /dev/full'
try 'fathom gen cyclic --keys 10 --references 1M --to u64 -o - >/dev/full'
try 'fathom gen cyclic --keys 10 --references 1M --to fathom -o /dev/full'
try 'fathom check t.fathom >/dev/full'

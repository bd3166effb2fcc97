# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2016
# Damaged traces: what is sound is delivered and counted, what is missing is said, exit 3.
# Stored without compression, so that every place in the file follows from docs/FORMAT.md.
fathom gen cyclic --keys 1000 --references 300000 -o t.u64 --quiet
fathom convert t.u64 --store -o t.fathom --quiet
size=$(stat -c %s t.fathom)
# Cut in the middle.
head -c $((size / 2)) t.fathom >cut.fathom
try_silently 'fathom analyze cut.fathom --granularity 1 --json p.json --force'
fields p.json complete cold histogram | sed 's/\[999, 999, [1-9][0-9]*\]/[999, 999, some]/'
try_silently 'fathom check cut.fathom'
try_silently 'fathom convert cut.fathom -o cut.u64'
# A flipped bit in the middle of a block: the other blocks are delivered.
cp t.fathom flipped.fathom
printf '\377' | dd of=flipped.fathom bs=1 seek=$((size / 2)) conv=notrunc status=none
try_silently 'fathom analyze flipped.fathom --granularity 1 --json p.json --force'
fields p.json complete lost
try_silently 'fathom check flipped.fathom'
# What is predicted from a damaged trace, and the phases of one, are incomplete too.
for keys in 100 400; do
    fathom gen cyclic --keys $keys --references $((keys * 10)) -o $keys.u64 --quiet
    fathom analyze $keys.u64 --json $keys.json --force --quiet >/dev/null
done
fathom train -o c.model 100.json 400.json >/dev/null
for trace in cut flipped; do
    try_silently "fathom predict c.model --size-from $trace.fathom --json p.json --force"
    fields p.json distinct complete lost
    try_silently "fathom phases $trace.fathom --granularity 1 --json p.json --force --profiles part-"
    fields p.json complete lost
    fields part-1.json complete lost
done
# Not a fathom trace at all; one of a later version.
printf 'Fathom? No, something else altogether, long enough to be looked at with care.' >other.fathom
try 'fathom analyze other.fathom'
try 'fathom check other.fathom'
# Foreign formats.
printf '\1\0\0\0\0\0\0\0\2\0\0' >cut.u64
try_silently 'fathom analyze cut.u64 --json p.json --force'
fields p.json references complete
printf ' L 1000,8\n L 10' >cut.lackey
try_silently 'fathom analyze cut.lackey'
printf ' L 1000,8\n this is not lackey\n' >wrong.lackey
try_silently 'fathom analyze wrong.lackey'
printf '0 1000\n9 2000\n' >wrong.din
try_silently 'fathom analyze wrong.din'
# How far a decoder gets depends on the compressor.
seq 100000 | zstd -q | head -c 20000 >cut.txt.zst
try_silently 'fathom analyze cut.txt.zst --json p.json --force' | sed 's/byte [0-9]*: /byte N: /'
fields p.json complete
seq 100000 | gzip | head -c 20000 >cut.txt.gz
try_silently 'fathom analyze cut.txt.gz --json p.json --force' | sed 's/byte [0-9]*: /byte N: /'
fields p.json complete
# A profile of incomplete input stays one.
try_silently 'fathom mrc p.json --no-machine' | sed 's/byte [0-9]*: /byte N: /'

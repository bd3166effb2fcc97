# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2016
# ulimit -f is a full disk by another name: a message, exit 1, nothing left behind. Of every verb that writes.
fathom gen uniform --keys 1M --references 100K -o in.u64 --quiet
fathom analyze in.u64 --bins exact --json in.json --quiet >/dev/null
fathom gen uniform --keys 2M --references 200K -o more.u64 --quiet
fathom analyze more.u64 --bins exact --json more.json --quiet >/dev/null
for command in 'gen uniform --keys 1M --references 100K -o out.u64' 'gen uniform --keys 1M --references 100K -o out.fathom' \
    'convert in.u64 -o out.txt' 'convert in.u64 -o out.fathom' 'convert in.u64 -o out.u64.zst' \
    'analyze in.u64 --distances out.d' 'analyze in.u64 --bins exact --json out.json' \
    'mrc in.json --no-machine --csv out.csv' 'mrc in.json --no-machine --json out.json' 'report in.json -o out.html' \
    'train in.json more.json -o out.json' 'phases in.u64 --json out.json'; do
    # shellcheck disable=SC2086
    try_silently "ulimit -f 8; fathom $command --quiet"
done
try_silently 'ulimit -f 8; fathom analyze in.u64 --bins exact --json - >out'
try 'ls out* .out* 2>/dev/null | grep -vx out'
# Where the parent ignores the signal, that stays so.
try_silently "trap '' XFSZ; ulimit -f 8; fathom convert in.u64 -o out.txt --quiet"
# Memory that is shared with a program is a file too. How large it is is not the point here.
(ulimit -f 8 && fathom record -o out.fathom -- true) 2>said
echo "= $?"
sed 's/[0-9]\+ KiB/… KiB/' said
enough=$(sed 's/.*must be \([0-9]*\) KiB.*/\1/' said)
ls out.fathom 2>/dev/null
# Programs get the signal as ever.
(ulimit -f "$enough" && fathom run --quiet -- truncate -s 1T large) 2>&1 | grep '^truncate' | sed 's/:.*//'

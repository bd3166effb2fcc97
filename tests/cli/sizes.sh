# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2016
# Sizes: as they are printed, of bytes and of keys; and those that a profile was made for. Cyclic over 100 blocks: a cache
# of 100 misses the 100 first touches of 1000, a smaller one all.
fathom gen cyclic --keys 100 --references 1000 -o t.u64 --quiet
fathom analyze t.u64 --json keys.json --quiet >/dev/null
python3 - <<'END'
import struct
open("wide.u64", "wb").write(b"".join(struct.pack("<Q", i % 100 * 64) for i in range(1000)))
END
fathom analyze wide.u64 --granularity 64 --json bytes.json --quiet >/dev/null
caches() { # command line: the table of caches
    echo "\$ $1"
    bash -c "$1" 2>&1 | sed -n '/^cache  /,/^miss ratio/p; /^fathom/p'
}
# 6400 bytes: at 4 KiB all miss, at 8 KiB the first touches.
for size in 4096 4K 4KB 4Kb 4KiB 4k '4 KiB' '4 KB' 4096B 0x1000; do
    fathom mrc bytes.json --quiet --size "$size" --json m.json >/dev/null || echo "exit $?"
    python3 -c 'import json; print(*((c["name"], c["bytes"], c["miss_ratio"]) for c in json.load(open("m.json"))["caches"]))'
done
for size in '4 K' 4KK 4X 4i KiB 4.5K '4  KiB' ' 4K' 4iB 4KiBs '' -4K; do
    fathom mrc bytes.json --quiet "--size=$size" >/dev/null 2>said && echo "taken: '$size'"
    grep -q 'expected sizes in bytes' said || cat said
done
# Wherever bytes are asked for.
try 'fathom analyze wide.u64 --granularity "64B,4 KiB" --max-memory 1GiB --size 8KiB --quiet | grep -c "footprint of"'
try 'fathom mrc bytes.json --cache 8KiB:2:64B --quiet | grep -c "^8KiB:2:64B"'
try 'fathom mrc bytes.json --select 64B --quiet | grep -c "^distinct *100 blocks"'
fathom analyze wide.u64 --granularity 64 --size 8KiB --json sized.json --quiet >/dev/null
try 'fathom diff sized.json sized.json --quiet --fail-if "misses@8KB > +1%" | tail -n 1'
# Below one block there is no cache.
try 'fathom mrc bytes.json --size 4K,32'
try 'fathom analyze wide.u64 --granularity 64 --size 63'
try 'fathom report bytes.json --size 1'
try 'fathom diff bytes.json bytes.json --size 63B'
try 'fathom run --size 63 -- true'
try 'fathom sample --size 63 -- true'
try 'fathom mrc bytes.json --blocks 0'
# Keys have no bytes.
try 'fathom mrc keys.json --size 30M'
for size in 64B 2KiB '2 MiB' 1k; do try "fathom mrc keys.json --size '$size' 2>&1 | head -n 1"; done
try 'fathom report keys.json --size 100,30M'
try 'fathom diff keys.json keys.json --size 30M'
try 'fathom analyze t.u64 --size 30M'
try 'fathom mrc keys.json --cache 1K:8'
caches 'fathom mrc keys.json --size 99,100'
caches 'fathom mrc keys.json --size 99keys,1Kkeys,"1 M keys" --blocks 1K'
caches 'fathom mrc keys.json --cache 128:8 --quiet'
try 'fathom mrc bytes.json --size 100keys'
# Keys of bytes or more are bytes, also out of a trace of keys.
caches 'fathom mrc bytes.json --size 1M --quiet'
# Without sizes: those that a profile was made for; --machine shows this machine's instead.
caches 'fathom mrc sized.json'
caches 'fathom mrc sized.json bytes.json --quiet'
export HWLOC_SYNTHETIC='pack:1 l2:1(size=65536) l1d:1(size=4096) pu:1' HWLOC_THISSYSTEM=0
caches 'fathom mrc sized.json --machine --quiet'
caches 'fathom mrc sized.json --no-machine --quiet'
caches 'fathom mrc bytes.json --quiet'
# K of counts is 1024, too, and the help says so.
try 'fathom gen cyclic --keys 1K --references 2K -o k.u64 --quiet; fathom analyze k.u64 --quiet | sed -n 2,3p'
for verb in run record sample analyze mrc diff compare report gen train phases static predict; do
    fathom $verb --help=all | grep -q "1K is 1024" || echo "not told: $verb"
done

# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2016
# Engines that are not exact say so, everywhere, and what they promise. Cyclic over 1000: all reuses at 999.
fathom gen cyclic --keys 1000 --references 5000 -o t.u64 --quiet
fathom gen uniform --keys 300 --references 5000 --seed 1 -o u.u64 --quiet
fathom analyze u.u64 --distances exact.d --json exact.json --quiet >/dev/null

# Every distance within its bounds: bounds FILE ERROR BLOCKS CUTOFF
bounds() {
    python3 - "$@" <<'END'
import struct, sys
told, actual = ([d for (d,) in struct.iter_unpack("<Q", open(f, "rb").read())] for f in (sys.argv[1], "exact.d"))
error, blocks, cutoff = float(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4])
assert len(told) == len(actual)
cold = 2**64 - 1
for t, a in zip(told, actual):
    assert (t == cold) == (a == cold)
    assert a == cold or a - blocks - a * error <= t <= a
    assert a >= cutoff or t == a
print("within bounds;", sum(t != a for t, a in zip(told, actual)) > 0 and "some differ" or "none differs")
END
}
for how in '--error 0.5' '--error 0.001' '--abs-error 20' '--abs-error 20 --cutoff 0' '--abs-error 20 --cutoff 100'; do
    try_silently "fathom analyze u.u64 --engine approx $how --distances approx.d --json approx.json --force --quiet"
    fields approx.json engine exact accuracy cold distinct references
    case $how in
    *0.5) bounds approx.d 0.5 0 0 ;;
    *0.001) bounds approx.d 0.001 0 0 ;;
    *20 | *"cutoff 0") bounds approx.d 0 20 0 ;;
    *) bounds approx.d 0 20 100 ;;
    esac
done
try 'fathom analyze u.u64 --engine approx --quiet | grep -A 2 engine'
try 'fathom mrc approx.json --no-machine --quiet | grep -A 2 APPROXIMATE'
try_silently 'fathom mrc approx.json --no-machine --quiet --json m.json'
fields m.json exact accuracy
try 'fathom compare exact.json approx.json --quiet | grep APPROXIMATE'
fathom compare exact.json approx.json --json c.json --quiet >/dev/null
fields c.json a_exact b_exact
try 'fathom analyze t.u64 --engine approx --error 0'
try 'fathom analyze t.u64 --engine approx --error 1'
try 'fathom analyze t.u64 --engine approx --error 1%'
try 'fathom analyze t.u64 --engine approx --abs-error 0'
try 'fathom analyze t.u64 --engine approx --error 0.1 --abs-error 5'
try 'fathom analyze t.u64 --engine approx --cutoff 5'
try 'fathom analyze t.u64 --engine approx --bound 5'
try 'fathom analyze t.u64 --error 0.1'

# Samples. Of everything, they are exact; of a trace smaller than --exact-below too.
for how in '--rate 1 --exact-below 0' '--samples 4K --exact-below 10 --hashes 2' '--rate 0.001'; do
    try_silently "fathom analyze u.u64 --engine shards $how --json s.json --force --quiet"
    try 'fathom compare exact.json s.json --quiet | grep overlap'
done
fields s.json engine exact references cold
try_silently "fathom analyze t.u64 --engine aet --json a.json --quiet"
fields a.json engine exact accuracy references cold histogram
try_silently "fathom analyze t.u64 --engine shards --rate 0.5 --hashes 3 --exact-below 100 --json s.json --force --quiet"
python3 -c '
import json
accuracy = json.load(open("s.json"))["accuracy"]
print(accuracy["exact_below"], accuracy["rate"], accuracy["confidence"], 0 < accuracy["samples"] < 3000)
print(all(least <= most for blocks, least, most in accuracy["band"]), accuracy["band"][0][0])
'
try 'fathom analyze t.u64 --engine shards --rate 0'
try 'fathom analyze t.u64 --engine shards --rate 0.1 --samples 5'
try 'fathom analyze t.u64 --engine shards --samples 2G'
try 'fathom analyze t.u64 --engine shards --hashes 33'
try 'fathom analyze t.u64 --engine shards --exact-below x'
try 'fathom analyze t.u64 --engine shards --distances d'
try 'fathom analyze t.u64 --engine shards --sites'
try 'fathom analyze t.u64 --engine shards --time'
try 'fathom analyze t.u64 --engine aet --bound 5'
try 'fathom analyze t.u64 --engine aet --samples 5'
try 'fathom analyze t.u64 --rate 0.1'

# The band at a size, where a sample of everything leaves none.
fathom analyze t.u64 --engine shards --rate 1 --exact-below 10 --json s.json --force --quiet >/dev/null
try 'fathom mrc s.json --blocks 999,1000 --no-machine --quiet | grep -E "between|blocks$|^(999|1000)"'
try_silently 'fathom mrc s.json --blocks 5,999,1000 --no-machine --quiet --json m.json'
python3 -c '
import json
for cache in json.load(open("m.json"))["caches"]: print(cache["blocks"], cache["miss_ratio"], cache["miss_ratio_band"])
'

# Options of one engine by --engine-option: the same result as by their older spellings.
both() { # engine, new spelling, older one
    fathom analyze u.u64 --engine "$1" --engine-option "$2" --json new.json --force --quiet >/dev/null
    # shellcheck disable=SC2086
    fathom analyze u.u64 --engine "$1" $3 --json old.json --force --quiet >/dev/null
    cmp <(grep -v seconds new.json) <(grep -v seconds old.json) && echo "$1 $2: the same"
}
both approx error=0.2 '--error 0.2'
both approx abs-error=20,cutoff=100 '--abs-error 20 --cutoff 100'
both shards rate=0.25,hashes=2,exact-below=16 '--rate 0.25 --hashes 2 --exact-below 16'
both shards samples=50 '--samples 50'
both aet rate=0.5 '--rate 0.5'
both hp-rda trace-size=2K,thread-trace-size=64,hash-size=8K,pool-size=4K,disable-adjusting \
    '--trace-size 2K --thread-trace-size 64 --hash-size 8K --pool-size 4K --disable-adjusting'
# Given in several mentions; the last one of a name counts.
fathom analyze u.u64 --engine shards --engine-option rate=0.9 --engine-option hashes=2 --engine-option rate=0.25,exact-below=16 \
    --json new.json --force --quiet >/dev/null
fathom analyze u.u64 --engine shards --engine-option rate=0.25,hashes=2,exact-below=16 --json old.json --force --quiet >/dev/null
cmp new.json old.json && echo 'the same in several mentions'
try 'fathom analyze t.u64 --engine shards --engine-option rates=0.1'
try 'fathom analyze t.u64 --engine shards --engine-option rate'
try 'fathom analyze t.u64 --engine shards --engine-option rate=0.1,zzz=2'
try 'fathom analyze t.u64 --engine-option rate=0.1'
try 'fathom analyze t.u64 --engine auto --engine-option cards=2'
try "fathom analyze t.u64 --engine shards --engine-option ''"
try 'fathom run --engine shards --engine-option hashes=99 -- true'

# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2016
# Bounds on a machine: a sweep over an array that the first cache does not hold, twice, then one over the first part.
cat >sweeps.fir <<'REGION'
fathom-region 1
file 1 "sweeps.c"
function "sweeps" @1:1-9
param n
array A[n] of 8
for t = 0 to 1 @1:2 { for i = 0 to n - 1 @1:3 {
  do adds 2 multiplies 1 integers 1 @1:4 { load A[i] @1:4 "A[i]" } } }
for i = 0 to 799 @1:7 { do { store A[i] @1:8 "A[i]" } }
REGION
cat >toy.machine <<'MACHINE'
fathom-machine 1
name "a toy"
flops 1G
integers 100M
loads 500M
stores 100M
cache L1 size 32K line 64 bandwidth 8G
cache L2 size 64K line 64 bandwidth 1G
memory bandwidth 100M
MACHINE
try 'fathom static sweeps.fir --param n=8000 --machine-file toy.machine --json b.json | sed -n "/^upper/,/unused longest/p"'
# n doubles are n/8 blocks: 1000, against 512 and 1024. All of them miss L1 twice; the third sweep, of 100 blocks, finds
# each behind the 999 others: it misses L1 too, but not L2. LRU with 999 blocks misses 2100 times, so that any cache of
# 512 misses 2100 * (999 - 512 + 1) / 999 times at least.
python3 -c '
import json
bounds = json.load(open("b.json"))["bounds"]
def seconds(part, resource, proved):
    return [r["seconds"] for r in part["resources"] if (r["resource"], r["proved"]) == (resource, proved)]
n, whole = 8000, bounds["whole"]
nests = bounds["nests"]
def same(found, wanted): print(len(found) == 1 and abs(found[0] / wanted - 1) < 1e-12 or (found, wanted))
same(seconds(whole, "flops", True), 2 * n * 3 / 1e9)
same(seconds(whole, "integer operations", False), 2 * n / 1e8)
same(seconds(whole, "loads", False), 2 * n / 5e8)
same(seconds(nests[1], "stores", False), 800 / 1e8)
same(seconds(whole, "L1 to processor", False), (2 * n + 800) * 8 / 8e9)
same(seconds(whole, "L2 to L1", False), 2100 * 64 / 1e9)
same(seconds(nests[0], "L2 to L1", False), 2000 * 64 / 1e9)
same(seconds(nests[0], "L2 to L1", True), 1000 * 64 / 1e9)
same(seconds(whole, "L2 to L1", True), max(1000, 2100 * (999 - 512 + 1) / 999) * 64 / 1e9)
same(seconds(whole, "memory to L2", True), 1000 * 64 / 1e8)
same(seconds(nests[1], "memory to L2", False), 1e-300) if seconds(nests[1], "memory to L2", False) != [0] else print(True)
print(whole["bound_by"], whole["first_line"], whole["last_line"], nests[1]["first_line"], nests[1]["last_line"])
print(abs(whole["peak_share"] - 6 * n / whole["least_seconds"] / 1e9) < 1e-12, "peak_share" in nests[1])
'
# The same where accesses are not worked off one by one.
try_silently 'fathom static sweeps.fir --param n=8000 --machine-file toy.machine --method count --json c.json'
python3 -c '
import json
print(json.load(open("b.json"))["bounds"] == json.load(open("c.json"))["bounds"])'
try_silently 'fathom static sweeps.fir --param n=8000 --machine-file toy.machine --method sample --samples 100 --json s.json'
python3 -c '
import json
bounds = json.load(open("s.json"))["bounds"]
print([r["resource"] for r in bounds["whole"]["resources"] if r["proved"]], [r["resource"] for r in bounds["nests"][0]["resources"] if r["proved"]])'
# A profile with bounds is read as others are.
try_silently 'fathom mrc b.json --no-machine --quiet'
# Before and after a change.
cat >rows.fir <<'REGION'
fathom-region 1
param n = 64
array B[n][n] of 8
for j = 0 to n - 1 { for i = 0 to n - 1 { do adds 1 { load B[i][j] } } }
REGION
sed 's/32K/2K/; s/100M$/10G/' toy.machine >small.machine
try 'fathom static rows.fir --machine-file small.machine --what-if interchange:j,i | sed -n "/takes/p;/model/p"'
try 'fathom static sweeps.fir --param n=8000 --machine-file toy.machine --size 32K'
try 'fathom static sweeps.fir --param n=8000 --machine-file toy.machine --counts'
try 'fathom static sweeps.fir --param n=8000 --machine-file toy.machine --granularity 128'
try 'fathom static sweeps.fir --param n=8000 --machine-file nothing.machine'
printf 'fathom-machine 1\nflops fast\n' >wrong.machine
try 'fathom static sweeps.fir --param n=8000 --machine-file wrong.machine'
printf 'fathom-machine 1\ncache L1 size 32K\n' >slow.machine
try 'fathom static sweeps.fir --param n=8000 --machine-file slow.machine | sed -n "/^upper/,/^$/p"'
# A template: what hwloc knows, and rates to fill in.
export HWLOC_SYNTHETIC='pack:1 l3:1(size=33554432) l2:4(size=1048576) l1d:1(size=49152) core:1 pu:2'
try 'fathom static --emit-machine -'
try_silently 'fathom static --emit-machine this.machine'
try_silently 'fathom static sweeps.fir --param n=8000 --machine-file this.machine'
try 'fathom static --emit-machine - sweeps.fir'
try 'fathom static'

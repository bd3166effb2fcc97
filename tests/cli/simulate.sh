# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2016
# A loop over 1000 words has one time distance, whoever samples it: 999 first touches apart, all is known.
fathom gen cyclic --keys 1000 --references 1000000 -o loop.u64 --quiet
try 'fathom simulate loop.u64 --period 500 --json loop.json | grep -v -e blocks -e band'
python3 -c '
import json
p = json.load(open("loop.json"))
s = p["sampling"]
print(p["engine"], p["exact"], p["references"], s["method"], s["estimator"], s["conversion"], p["accuracy"]["confidence"])
times = [row for row in p["times"] if row[2] > 0.001 * p["references"]]
print(times[0][:2], times[0][2] > 0.99 * p["references"])
print(s["used"] > 400, abs(s["used"] + s["replaced"] + s["never"] + s["not_armed"] - 2000) < 100, p["accuracy"]["samples"] > 1900)
'
# Bursts see it whole; every estimator finds it; the same seed gives the same profile.
for choice in '--bursts 4K' '--bursts 2K:3' '--estimator rdx' '--estimator rdx-trapped' '--estimator kaplan-meier' \
    '--estimator horvitz-thompson' '--registers 1' '--registers 16' '--even' '--reservoir plain' '--conversion shen'; do
    # shellcheck disable=SC2086
    fathom simulate loop.u64 --period 9973 $choice --bootstrap 1 --json a.json --force --quiet >/dev/null
    python3 -c '
import json, sys
p = json.load(open("a.json"))
print(sys.argv[1], max(p["times"], key=lambda row: row[2])[:2], "band" in p["accuracy"], p["sampling"]["bursts"] > 0)
' "$choice"
done
fathom simulate loop.u64 --period 700 --seed 3 --json a.json --force --quiet >/dev/null
fathom simulate - --format u64 --period 700 --seed 3 --json b.json --quiet >/dev/null <loop.u64
sed -i 's/standard input/loop.u64/' b.json
cmp a.json b.json && echo the same
# Estimates go where other profiles go.
try_silently 'fathom mrc a.json --no-machine --quiet'
try_silently 'fathom compare a.json loop.json --quiet'
# What does not fit.
try 'fathom simulate loop.u64'
try 'fathom sample'
try 'fathom simulate loop.u64 --period 0'
try 'fathom simulate loop.u64 --period 10 --registers 17'
try 'fathom simulate loop.u64 --period 10 --estimator best'
try 'fathom simulate loop.u64 --period 10 --conversion best'
try 'fathom simulate loop.u64 --period 10 --reservoir none'
try 'fathom simulate loop.u64 --period 10 --bursts x'
try 'fathom simulate loop.u64 --period 10 --bursts 4K:40'
try 'fathom simulate loop.u64 --period 10 --bursts 4K --estimator rdx'
try 'fathom simulate loop.u64 --period 10 --granularity 3'
try 'fathom simulate loop.u64 --period 10 --bootstrap 0'
try 'fathom simulate none.u64 --period 10'
# Too few samples: one reference, of which nothing is seen; and none.
head -c 8 loop.u64 >one.u64
try 'fathom simulate one.u64 --period 1000 --seed 1'
: >empty.u64
try 'fathom simulate empty.u64 --period 1000'
# Damage: what is sound counts, and the profile says that something is missing.
head -c 400003 loop.u64 >cut.u64
try 'fathom simulate cut.u64 --period 100 --json cut.json >/dev/null'
fields cut.json references complete

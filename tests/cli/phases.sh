# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2016
# Sweeps over 1000 blocks: the first touches, then nine times the same. Block 0 begins each of them.
fathom gen cyclic --keys 1000 --references 10000 -o t.u64 --quiet
try 'fathom phases t.u64 --json p.json --profiles phase- --top 3'
fields p.json references distinct cold histogram
python3 -c '
import json
phases = json.load(open("p.json"))["phases"]
print(phases["threshold"], phases["phases"] == [[i * 1000, i * 1000 + 1000, 1000, 1000 * (i == 0), min(i, 1)] for i in range(10)])
print(phases["samples"][0]["block"], phases["samples"][0]["times"] == [[i * 1000, 999] for i in range(1, 10)])
'
fields phase-1.json name references distinct cold histogram
fields phase-10.json name references distinct cold histogram
try_silently 'fathom mrc p.json --no-machine --quiet'
try 'fathom phases t.u64 --threshold 5000 --quiet | head -n 4'
try 'fathom phases - <t.u64'
try 'fathom phases t.u64 --alike 2'
try 'fathom phases t.u64 --granularity 3'
try 'fathom phases nothing.u64'
fathom gen cyclic --keys 10 --references 100000 -o many.u64 --quiet
try 'fathom phases many.u64'
# An access that straddles blocks is a reference to each, as for analyze.
python3 -c '
print("\n".join(" L %x,%d" % (64 * (i % 90) + 60, 1 + i * 7 % 200) for i in range(2000)))
' >sized.lackey
fathom analyze sized.lackey --json a.json --quiet >/dev/null
fathom phases sized.lackey --json b.json --quiet >/dev/null
python3 -c '
import json
a, b = (json.load(open(name)) for name in ("a.json", "b.json"))
blocks = [(64 * (i % 90) + 60, 64 * (i % 90) + 60 + i * 7 % 200) for i in range(2000)]
print(b["references"] == sum(last // 64 - first // 64 + 1 for first, last in blocks))
print([a[field] == b[field] for field in ("references", "distinct", "cold", "histogram", "granularity")])
print(b["phases"]["phases"][-1][1] == b["references"])
'

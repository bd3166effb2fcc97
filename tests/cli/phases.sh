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
# Six rounds of three: 10 sweeps over 1000 blocks, 20 over 300 others, 500 over 4. Where each begins is known.
python3 -c '
import struct
rounds = []
for i in range(6):
    for first, blocks, sweeps in (0, 1000, 10), (5000, 300, 20), (9000, 4, 500):
        rounds += [first + j % blocks for j in range(blocks * sweeps)]
open("rounds.u64", "wb").write(struct.pack("<%dQ" % len(rounds), *rounds))
'
try 'fathom phases rounds.u64 --json r.json | grep -v ^threshold'
try 'fathom phases rounds.u64 --depth 2 --top 4 --profiles inner- | grep -v ^threshold'
python3 -c '
import json
found = json.load(open("r.json"))["phases"]
print(found["cut"], [row[:4] for row in found["phases"]] == [[i * 18000, i * 18000 + 18000, 1304, 1304 * (i == 0)] for i in range(6)])
inner = [[i * 18000 + begin, i * 18000 + end, blocks, blocks * (i == 0), kind, i] for i in range(6)
         for begin, end, blocks, kind in ((0, 10000, 1000, 0), (10000, 16000, 300, 1), (16000, 18000, 4, 2))]
levels = found["inner"]
print([level["level"] for level in levels], levels[0]["phases"] == inner)
'
fields inner-2.json name references distinct cold histogram
try 'fathom phases rounds.u64 --depth 3 --json again.json'
try 'cmp r.json again.json'
try 'fathom phases rounds.u64 --depth 0'
# A threshold cuts level 1 at the peaks of the distances, here at the rounds; what changes is inside.
try 'fathom phases rounds.u64 --threshold 1100 --top 0 | sed -n "/^phases  /,/^ *2 /p"'
# A round that is not whole; phases without any inside are beside those that have some.
head -c $((8 * (18000 * 2 + 10000))) rounds.u64 >part.u64
try 'fathom phases part.u64 --depth 2 --quiet | tail -n 9'
# More data on each side of a boundary than is held of it: a loop over 70 Ki blocks, then the same at random.
fathom gen cyclic --keys 70K --references 400K -o large.u64 --quiet
fathom gen uniform --keys 70K --references 400K -o uniform.u64 --quiet
cat uniform.u64 >>large.u64
try_silently 'fathom phases large.u64 --json l.json'
python3 -c '
import json
rows = json.load(open("l.json"))["phases"]["phases"]
print(len(rows), abs(rows[-1][0] - 409600) < 4096, rows[-1][1] == 819200, rows[0][3] == 71680)
'
# Nothing to find.
for seed in 1 2 3; do
    fathom gen uniform --keys 1000 --references 30000 --seed $seed -o random.u64 --quiet
    try 'fathom phases random.u64 --quiet | sed -n "/^phases  /,/^levels/p"'
done
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
# Damage is told once, though the trace is read three times.
head -c $((8 * 18000 * 4 + 3)) rounds.u64 >cut.u64
try 'fathom phases cut.u64 --top 1 | tail -n 3; exit ${PIPESTATUS[0]}'
try 'fathom phases cut.u64 --threshold 1100 --json c.json >c.txt'
fields c.json references complete what_missing

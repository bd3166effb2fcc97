# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2016
# Within --max-memory, exact where that fits, else samples; and it is said. Bytes and samples are the program's own
# business: numbers of four digits and more are shown as N.
told() { try_silently "$1" | sed '/^!/s/[0-9]\{4,\}/N/g; /^!/s/most [0-9.e-]* to/most E to/; /^!/s/of [0-9.]* %/of P %/'; }
fathom gen uniform --keys 2M --references 4M --seed 1 -o large.u64 --quiet
fathom gen cyclic --keys 1000 --references 5000 -o small.u64 --quiet
fathom analyze large.u64 --json exact.json --quiet >/dev/null
told 'fathom analyze small.u64 --max-memory 32M --json small.json'
fields small.json engine exact
told 'fathom analyze - --format u64 --max-memory 40M --json large.json <large.u64'
fields large.json engine exact references
# The curve is near.
python3 -c '
import json
a = json.load(open("exact.json")); b = json.load(open("large.json"))
def misses(p, blocks): return p["cold"] + sum(c for lo, hi, c in p["histogram"] if lo >= blocks)
worst = max(abs(misses(a, 2**k) - misses(b, 2**k)) / a["references"] for k in range(22))
print("within 0.05:", worst < 0.05)
'
# With an engine, or where single distances are wanted, it ends.
told 'fathom analyze large.u64 --engine exact --max-memory 40M'
told 'fathom analyze large.u64 --time --max-memory 40M'

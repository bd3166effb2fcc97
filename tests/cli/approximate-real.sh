# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2016
# What approx promises is kept for every reference of a real program, and its samples stay near the exact curve.
seq 3000 | sed 's/.*/& & some words of a line/' | rev >lines
fathom record --quiet -o sort.fathom -- sort lines >sorted 2>message || skip "programs cannot be recorded here: $(head -n 1 message)"
fathom analyze sort.fathom --no-sites --distances exact.d --json exact.json --quiet >/dev/null
for how in '--error 0.001' '--error 0.01' '--error 0.1' '--error 0.5' '--abs-error 100' '--abs-error 9 --cutoff 50'; do
    # shellcheck disable=SC2086 # several words on purpose
    fathom analyze sort.fathom --no-sites --engine approx $how --distances approx.d --json approx.json --force --quiet >/dev/null
    # shellcheck disable=SC2086
    python3 - $how <<'END'
import array, sys
def distances(path):
    read = array.array("Q")
    read.frombytes(open(path, "rb").read())
    return read
words = dict(zip(sys.argv[1::2], map(float, sys.argv[2::2])))
error, blocks, cutoff = (words.get(name, 0) for name in ("--error", "--abs-error", "--cutoff"))
actual, told = distances("exact.d"), distances("approx.d")
assert len(actual) == len(told) > 100000
cold, kept = 2**64 - 1, 0
for a, t in zip(actual, told):
    if a == cold or t == cold:
        kept += a == t
    else:
        kept += t <= a and t >= a - a * error - blocks - 1e-9 and (a >= cutoff or a == t)
print(*sys.argv[1:], "all within bounds" if kept == len(actual) else "NOT within bounds")
END
done
fathom analyze sort.fathom --no-sites --engine shards --rate 0.1 --exact-below 64 --json shards.json --quiet >/dev/null
python3 - <<'END'
import json
exact, shards = json.load(open("exact.json")), json.load(open("shards.json"))
def ratio(profile, blocks):
    return (profile["cold"] + sum(c for lo, hi, c in profile["histogram"] if lo >= blocks)) / profile["references"]
differences = [abs(ratio(exact, 2**k) - ratio(shards, 2**k)) for k in range(14)]
print("exact below 64:", max(differences[:7]) == 0, " within 0.02:", max(differences) < 0.02)
END

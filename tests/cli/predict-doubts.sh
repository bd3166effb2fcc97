# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2016
# What a model expects of itself must hold: profiles that follow a known law, but not quite the one that the model finds.
cat >laws.py <<'END'
import json, sys

def write(name, distinct, parts):
    """parts: (distance, references) of the reuses, ascending distances."""
    references = distinct + sum(count for _, count in parts)
    json.dump({"schema": "fathom-profile-1", "engine": "exact", "exact": True, "granularity": 64,
               "references": references, "distinct": distinct, "cold": distinct, "bins": "exact",
               "histogram": [[d, d, count] for d, count in parts], "complete": True, "lost": 0},
              open(name + ".json", "w"))

# Heat in a plate of n x n points: rows that do not begin at a block's edge take one block more. At n = 1000 they do
# begin there, and the distance is on the other side of 512.
for n in (180, 300, 500, 1000):
    row = n // 8 if n % 8 == 0 else n / 8 + 1
    write(f"heat-{n}", n * n // 4, [(2, n * n * 70), (int(4 * row) + 8, n * n * 3), (n * n // 4 - 5, n * n * 3)])
# References that begin with many that do not depend on the size: 17 blocks do not show the law of 4001.
for n in (17, 4001, 64000):
    write(f"begin-{n}", n, [(3, 3000 + 20 * n), (n // 2, 10 * n)])
# A law that the model knows.
for n in (1000, 4000, 16000, 64000):
    write(f"lawful-{n}", n, [(3, 20 * n), (n - 100, 10 * n)])

def bars(profile):
    found = {"cold": profile["cold"] / profile["references"]}
    for low, _, count in profile["histogram"]:
        found[low.bit_length()] = found.get(low.bit_length(), 0) + count / profile["references"]
    return found

def judge(told, actual):
    told, actual = json.load(open(told)), json.load(open(actual))
    x, y = bars(told), bars(actual)
    reached = 1 - sum(abs(x.get(k, 0) - y.get(k, 0)) for k in set(x) | set(y)) / 2
    said = told["accuracy"]
    print("expected no more than was reached:", said["expected_overlap"] <= reached)
    print("references within the limits told:",
          said.get("references_least", 0) <= actual["references"] <= said.get("references_most", told["references"]))
    print("at least 85 % expected:", said["expected_overlap"] >= 0.85)
    print("two sizes only:", "two sizes only" in said["statement"])
    print("trusted:", "does not trust" not in said["statement"])

if len(sys.argv) == 3:
    judge(*sys.argv[1:])
END
python3 laws.py
try_silently 'fathom train -o heat.model heat-180.json heat-300.json heat-500.json'
try_silently 'fathom predict heat.model --data-size 250000 --json p.json'
python3 laws.py p.json heat-1000.json
try_silently 'fathom train -o begin.model begin-17.json begin-17.json begin-4001.json'
try_silently 'fathom predict begin.model --data-size 64000 --json p.json --force'
python3 laws.py p.json begin-64000.json
try_silently 'fathom train -o lawful.model lawful-1000.json lawful-4000.json lawful-16000.json'
try_silently 'fathom predict lawful.model --data-size 64000 --json p.json --force'
python3 laws.py p.json lawful-64000.json
# A model that was made of incomplete input says so, and what is predicted by it is incomplete too.
sed 's/"complete": true/"complete": false/' lawful-4000.json >cut.json
try_silently 'fathom train -o cut.model lawful-1000.json cut.json'
try_silently 'fathom predict cut.model --data-size 64000 --json p.json --force'
fields p.json complete what_missing

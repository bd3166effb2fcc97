# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2016
# Miss ratios with known answers. Cyclic over 100 keys, 1000 references: an LRU cache below 100 blocks misses
# always, one of 100 only the 100 first touches.
fathom gen cyclic --keys 100 --references 1000 -o t.u64 --quiet
fathom analyze t.u64 --json p.json --quiet >/dev/null
try 'fathom mrc p.json --csv - --quiet'
try_silently 'fathom mrc p.json --blocks 50,99,100,1K --json m.json --quiet'
python3 - <<'END'
import json
document = json.load(open("m.json"))
for cache in document["caches"]:
    print(cache["name"], cache["miss_ratio"])
END
try 'fathom mrc p.json --blocks many'
try 'fathom mrc p.json --machine --no-machine'
try 'fathom mrc p.json --csv - --json -'
try_silently 'fathom mrc - --csv c.csv --no-machine --quiet <p.json && tail -n 1 c.csv'
try 'tail -n 1 c.csv'

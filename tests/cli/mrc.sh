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

# The smallest cache with a hit ratio: 100 blocks hit 900 of 1000; more than 90 % no cache has.
try 'fathom mrc p.json --hit-ratio 0.9 --quiet | tail -n 1'
try 'fathom mrc p.json --hit-ratio 0.90001 --quiet | tail -n 1'
try 'fathom mrc p.json --hit-ratio 0 --quiet | tail -n 1'
try 'fathom mrc p.json --hit-ratio 1.5'
try 'fathom mrc p.json --hit-ratio -1'
fathom analyze t.u64 --bound 50 --json bound.json --quiet >/dev/null
try 'fathom mrc bound.json --hit-ratio 0.9 --quiet | tail -n 1'
# Several over each other: B falls at 10 keys.
fathom gen cyclic --keys 10 --references 1000 -o ten.u64 --quiet
fathom analyze ten.u64 --json ten.json --quiet >/dev/null
try 'fathom mrc p.json ten.json --size 10,100 --hit-ratio 0.9 --quiet'
try_silently 'fathom mrc p.json ten.json --json both.json --quiet'
python3 -c '
import json
for profile in json.load(open("both.json"))["profiles"]: print(profile["name"], profile["distinct"])'
try 'fathom mrc p.json ten.json --csv -'
try 'fathom mrc - - <p.json'
fathom analyze t.u64 --granularity 64 --json bytes.json --quiet >/dev/null
try 'fathom mrc p.json bytes.json --quiet'

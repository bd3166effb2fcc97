# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2016
# Files that are no profile.
fathom gen cyclic --keys 3 --references 9 -o t.u64 --quiet
fathom analyze t.u64 --json good.json --quiet >/dev/null
edit() { # FILE, a Python expression that changes the document d
    python3 -c "
import json, sys
d = json.load(open('good.json'))
exec(sys.argv[2])
json.dump(d, open(sys.argv[1], 'w'))" "$@"
}
try 'fathom mrc nothing.json'
printf '{"schema": "fathom-profile-1", "engine": ' >cut.json
try 'fathom mrc cut.json'
printf 'not json at all' >text.json
try 'fathom mrc text.json'
printf '[1, 2]' >array.json
try 'fathom mrc array.json'
printf '{}' >none.json
try 'fathom mrc none.json'
edit schema.json 'd["schema"] = "fathom-profile-9"'
try 'fathom mrc schema.json'
edit field.json 'del d["references"]'
try 'fathom mrc field.json'
edit kind.json 'd["references"] = "many"'
try 'fathom mrc kind.json'
edit negative.json 'd["cold"] = -1'
try 'fathom mrc negative.json'
edit sum.json 'd["references"] = 10'
try 'fathom mrc sum.json'
edit order.json 'd["histogram"] = [[5, 4, 6]]'
try 'fathom mrc order.json'
edit shape.json 'd["histogram"] = [[2, 2]]'
try 'fathom mrc shape.json'
edit granularity.json 'd["granularity"] = 3'
try 'fathom mrc granularity.json'
try 'fathom compare good.json cut.json'
try 'fathom compare good.json text.json'
edit other.json 'd["granularity"] = 64'
try 'fathom compare good.json other.json'
try 'fathom mrc good.json --select 64'

# Caches, and checksums of lines, that are none.
with_field() { # fields
    echo "{\"schema\": \"fathom-profile-1\", \"engine\": \"exact\", \"exact\": true, \"granularity\": 64, \"references\": 1, \"distinct\": 1, \"cold\": 1, \"complete\": true, \"lost\": 0, \"histogram\": [], $1}" >with.json
    try "fathom report with.json --size 1K 2>&1 | head -n 1"
}
with_field '"caches": 3'
with_field '"caches": [{"name": "L1d"}]'
with_field '"caches": [{"name": "a name that is far too long for any cache there is", "bytes": 1}]'
with_field '"caches": [{"name": "L1d", "bytes": -1}]'
with_field '"caches": [], "caches": []'
with_field '"attribution": {"edges": [0], "late_from": 0, "sources": [{"path": "a.c", "lines": "12345"}]}'
with_field '"attribution": {"edges": [0], "late_from": 0, "sources": [{"path": "a.c", "lines": "12345X"}]}'

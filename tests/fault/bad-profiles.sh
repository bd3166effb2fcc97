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

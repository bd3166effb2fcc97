# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2016
# Characters that reorder a line, control a terminal or are not seen are shown as what they are, wherever they come
# from: names of files on the command line, names in profiles, errors.
export LC_ALL=C.UTF-8
override=$(printf '\u202e')
isolate=$(printf '\u2066')
shows() { # what a command writes, on both streams; none of them may be there as it is
    bash -c "$1" >.both 2>&1
    sed 's/^/  /' .both | head -"${2:-3}"
    if LC_ALL=C grep -qE $'\u202e|\u2066|\u061c|\033|\377' .both; then echo "AS IT IS"; fi
    rm -f .both
}
name="x${override}cod.a${isolate}"
fathom gen cyclic --keys 10 --references 100 -o "$name.fathom" --quiet
fathom gen cyclic --keys 10 --references 100 -o "$name.u64" --quiet
shows "fathom check '$name.fathom'" 1
shows "fathom phases '$name.fathom' --quiet" 1
shows "fathom analyze '$name.u64' --quiet" 1
shows "fathom analyze 'none$name'"
shows "fathom mrc 'none$name'"
shows "fathom analyze '$name.u64' --granularity '3$override'" 1
shows "fathom '$override'" 1
# A newline in a name makes no second message.
shows 'fathom analyze "$(printf "a\nfathom analyze: all is well")"'
shows 'fathom analyze "$(printf "a\033[31m\377")"'

# Names in a profile: function, file, variable, command, what is promised.
cat >bidi.json <<'END'
{"schema": "fathom-profile-1", "name": "p\u202eq", "engine": "shards", "exact": false, "granularity": 64, "references": 150,
 "accuracy": {"statement": "\u202enothing\u001b[31m"}, "distinct": 50, "cold": 50, "complete": true, "lost": 0,
 "histogram": [[0, 0, 40], [700, 700, 60]], "bins": "exact", "caches": [{"name": "L\u202e\u001b[31m1", "bytes": 32768}], "run": {"command": "./p\u2066", "notes": "n\u061cm"},
 "attribution": {"late_from": 512, "edges": [0, 1, 512, 1024], "strings": ["ma\u202ein", "/x/\u2066a.c"],
  "modules": [{"path": "/no/such\u202e/prog", "bias": 0}],
  "sites": [[0, 4096, null, null, 0, [0, 1, 1, 5]], [0, 4100, null, null, 0, [0, 1, 2, 9]]], "paths": [],
  "pairs": [[0, 1, 100, 0, 0, [0, 40, 2, 60]], [null, 0, 50, 50, 0, []]],
  "objects": [{"kind": "global", "name": "v\u202ear", "module": 0, "address": 16, "size": 8}],
  "object_uses": [[0, 1, 60, 0, 0, [2, 60]]]}}
END
shows 'fathom mrc bidi.json --size 32K --quiet' 3
shows 'fathom compare bidi.json bidi.json --quiet' 2
shows 'fathom compare bidi.json bidi.json --quiet | grep APPROXIMATE' 1
for by in line function object; do
    shows "fathom report bidi.json --by $by --pairs --histogram --quiet" 100
    shows "fathom diff bidi.json bidi.json --by $by --quiet" 100
done
shows 'fathom diff bidi.json bidi.json --markdown - --quiet' 100
shows 'fathom diff bidi.json bidi.json --json - --quiet | grep -c .' 1
shows 'fathom diff bidi.json bidi.json --report - --quiet | grep -c "U+202E"' 1
shows 'fathom mrc bidi.json bidi.json --size 32K,1M --hit-ratio 0.9 --quiet' 100

# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2016
# One page that needs nothing else; and files for other tools, of profiles that know their code.
fathom gen cyclic --keys 100 --references 1000 -o t.u64 --quiet
fathom analyze t.u64 --json p.json --quiet >/dev/null
fathom report p.json -o probe.html --quiet 2>message
grep -q 'no report page' message && skip "$(cat message)"
try 'fathom report p.json p.json -o page.html --quiet'
try 'fathom report p.json -o - --quiet | head -c 15'
try 'grep -ciE "(src|href) *= *.?https?://" page.html'
try 'fathom report p.json'
try 'fathom report -o page.html'

# A program: line 2 of a.c uses again, 700 blocks later, what line 1 used.
printf 'first_line\nsecond_line\n' >a.c
cat >code.json <<'END'
{"schema": "fathom-profile-1", "name": "prog", "engine": "exact", "exact": true, "granularity": 64, "references": 150,
 "distinct": 99, "cold": 50, "complete": true, "lost": 0, "histogram": [[0, 0, 40], [700, 700, 60]], "bins": "exact",
 "run": {"command": "./prog", "collector": "valgrind", "ending": "exited with 0", "exit_code": 0, "seconds": 1},
 "attribution": {"late_from": 512, "edges": [0, 1, 512, 1024], "strings": ["main", "/build/elsewhere/a.c"],
  "modules": [{"path": "/no/such/prog", "bias": 0}],
  "sites": [[0, 4096, null, null, 0, [0, 1, 1, 5]], [0, 4100, null, null, 0, [0, 1, 2, 9]]], "paths": [],
  "pairs": [[0, 1, 100, 0, 0, [0, 40, 2, 60]], [null, 0, 50, 50, 0, []]], "objects": [], "object_uses": []}}
END
# A profile that only names its source has no text of it on the page, wherever the file is: it may name any file.
try 'fathom report code.json -o code.html --size 32K,1M && grep -c "second_line" code.html'
try 'fathom report code.json -o code.html --source /nowhere:. --quiet && grep -c "second_line" code.html'
# With the checksum of the file it has: as it was when the program was run.
knows() { # FIELD…: adds a row of "sources" to code.json
    sed "s|\"objects\": \[\]|\"sources\": [{\"path\": \"/build/elsewhere/a.c\"$1}], &|" code.json
}
knows ", \"sha256\": \"$(sha256sum <a.c | cut -c-64)\", \"size\": $(wc -c <a.c)" >sums.json
try 'fathom report sums.json -o code.html && grep -c "second_line" code.html'
try 'fathom report sums.json -o code.html --source /nowhere:. && grep -c "second_line" code.html'
printf 'first_line\nsecond_lime\n' >a.c
try 'fathom report sums.json -o code.html --source . && grep -c "second_li" code.html'
try 'fathom report sums.json -o code.html --source . --quiet && grep -o "it has changed since the run" code.html'
# Only regular files are opened.
rm a.c && mkfifo a.c
try 'timeout 20 fathom report sums.json -o code.html --source . && grep -c "second_li" code.html'
# Or with the text itself. It is text, whatever it is.
embedded='first_line\n</script><script>alert(1)</script>\n'
knows ", \"sha256\": \"$(printf %b "$embedded" | sha256sum | cut -c-64)\", \"size\": 46, \"text\": \"${embedded//\\/\\\\}\"" >text.json
try 'fathom report text.json -o code.html && grep -c "<script>alert" code.html; grep -o "script.u003ealert" code.html'
try 'fathom report text.json -o code.html --no-source && grep -c "script.u003ealert" code.html'
# What is wrong with it is said.
knows ', "sha256": "12"' >bad.json
try 'fathom report bad.json -o code.html'
knows '}, {"path": "/build/elsewhere/a.c"' >bad.json
try 'fathom report bad.json -o code.html'
knows ", \"sha256\": \"$(printf 'x' | sha256sum | cut -c-64)\", \"size\": 1, \"text\": \"y\"" >bad.json
try 'fathom report bad.json -o code.html'
try 'fathom report code.json -o code.html --source . --no-source --quiet'
try 'fathom report code.json --csv pairs.csv --callgrind callgrind.out --size 32K --quiet && wc -l <pairs.csv'
try 'grep "^events:" callgrind.out'
try 'fathom report code.json --csv - --size 32K --quiet | wc -l'
try 'fathom report code.json --csv - -o - --quiet'
try 'fathom report code.json p.json --csv pairs.csv --quiet'
try 'fathom report code.json --csv pairs.csv --size 32X --quiet'

# This one does not know its code.
try 'fathom report p.json --callgrind callgrind.none'
try 'fathom report p.json --csv none.csv'
try 'ls callgrind.none none.csv 2>/dev/null'

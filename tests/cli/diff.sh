# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2016
# Two profiles, before and after a change of a.c: line 3 misses 8000 times at 32K, and as line 4 then 2000 times; line 4
# becomes line 5 and misses as before. One line was put in, one was changed.
cat >make.py <<'END'
import hashlib, json, sys
def profile(path, text, lines, near, far, hits):
    sums = ""
    for line in text.split("\n")[:-1]:
        h = 2166136261
        for byte in line.strip(" \t\r").encode():
            h = (h ^ byte) * 16777619 % 2**32
        sums += "%06x" % ((h ^ h >> 24) & 0xffffff)
    source = {"path": "/src/a.c", "sha256": hashlib.sha256(text.encode()).hexdigest(), "size": len(text), "lines": sums}
    if len(sys.argv) > 1:
        source["text"] = text
    site = lambda line, function: [None, 0, None, None, 0, [function, 0, line, 1]]
    pairs = [[0, 0, near, 0, 0, [2, near]], [1, 1, far, 0, 0, [3, far]], [2, 2, hits, 0, 0, [0, hits]], [None, 2, 100, 100, 0, []]]
    json.dump({"schema": "fathom-profile-1", "name": "prog", "engine": "exact", "exact": True, "granularity": 64,
               "references": near + far + hits + 100, "distinct": near + far + hits + 100, "cold": 100, "complete": True, "lost": 0,
               "histogram": [[0, 0, hits], [1024, 2047, near], [32768, 65535, far]], "bins": "log2",
               "caches": [{"name": "L1d", "bytes": 32768}, {"name": "L2", "bytes": 1048576}],
               "attribution": {"edges": [0, 512, 1024, 16384], "late_from": 512, "strings": ["/src/a.c", "walk", "scan", "main"],
                               "modules": [], "sites": [site(lines[0], 1), site(lines[1], 2), site(lines[2], 3)], "paths": [],
                               "pairs": pairs, "objects": [], "object_uses": [], "sources": [source]}}, open(path, "w"))
before = "int a;\n\n  walk(a);\nscan(a);\n\nmain(a);\n"
after = "int a;\n\n/* along rows */\n    walk(a);\nscan(a);\n\nmain(a, 1);\n"
profile("before.json", before, (3, 4, 6), 8000, 1000, 10000)
profile("after.json", after, (4, 5, 7), 2000, 1000, 10000)
profile("worse.json", after, (4, 5, 7), 8000, 5000, 10000)
END
python3 make.py
try 'fathom diff before.json after.json'
try 'fathom diff before.json after.json --by function --fail-if "misses@L1d > +5%"'
try 'fathom diff before.json worse.json --fail-if "misses@L1d > +5%" --fail-if "misses@L2 in walk > 0,references > +1000"'
try 'fathom diff before.json after.json --by object --top 0 --size 64K'
try 'fathom diff before.json after.json --markdown -'
try 'fathom diff before.json after.json --json - | python3 -m json.tool | head -n 40'
# The page: the text of after is nowhere, that of before neither; then both are in the profiles.
try 'fathom diff before.json after.json --report page.html --quiet && grep -c "^\[\[.*null" page.html'
python3 make.py with-text
try 'fathom diff before.json after.json --report - | grep "^\["'
try 'fathom diff before.json - <after.json --quiet | head -n 1'
# Wrong ones.
try 'fathom diff before.json'
try 'fathom diff - -'
try 'fathom diff before.json after.json --fail-if "misses@L3 > 1"'
try 'fathom diff before.json after.json --json - --markdown -'
try 'fathom diff before.json after.json --title x'
try 'fathom gen cyclic --keys 10 --references 100 -o t.u64 --quiet && fathom analyze t.u64 --json keys.json --quiet >/dev/null && fathom diff before.json keys.json'

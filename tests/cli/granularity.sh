# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2016
# Addresses become blocks; an access over a border touches both blocks, in ascending order.
cat >t.din <<'END'
0 0
1 3f
0 40
2 1000
0 0
END
# Blocks at 64: 0 0 1 0 (the fetch is skipped); at 32: 0 1 2 0.
try_silently 'fathom analyze t.din --json p.json --distances d'
distances d
fields p.json granularity references distinct cold histogram
try_silently 'fathom analyze t.din --granularity 32 --distances d --quiet'
distances d
try_silently 'fathom analyze t.din --instructions all --distances d'
distances d
try_silently 'fathom analyze t.din --instructions only --distances d'
distances d
cat >t.lackey <<'END'
==1== Lackey
I  04000000,3
 L 1000,8
 S 103c,8
 M 1040,4
 L 1000,4
END
# At 64: block 64, then 64 and 65 (the store straddles), 65, 64.
try_silently 'fathom analyze t.lackey --distances d --json p.json --force'
distances d
fields p.json granularity references distinct cold histogram
# Several at once: one pass, one profile each.
try_silently 'fathom analyze t.lackey --granularity 8,64,4096 --json p.json --force'
python3 -c '
import json
for p in json.load(open("p.json"))["profiles"]: print(p["granularity"], p["references"], p["distinct"], p["histogram"])'
try 'fathom analyze t.lackey --granularity 48'
try 'fathom analyze t.lackey --granularity 0'
try 'fathom analyze t.lackey --granularity 8,,64'
try 'fathom analyze t.lackey --granularity big'

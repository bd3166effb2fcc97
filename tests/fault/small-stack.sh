# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# ulimit -s: stacks of 48 KiB, the main one's and those that threads have by default, are enough for every verb.
fathom gen zipf --keys 20K --references 200K --seed 1 -o t.fathom --quiet
fathom analyze t.fathom --json whole.json >/dev/null
small() { (ulimit -s 48 && fathom "$@" --quiet >/dev/null) || echo "fathom $*: $?"; }
for engine in exact tree parda approx shards aet hp-rda; do
    small analyze t.fathom --engine "$engine" --threads 1
    small analyze t.fathom --engine "$engine" --json "$engine.json"
done
small analyze t.fathom --bound 40 --threads 4
small analyze t.fathom --time --granularity 1 --granularity 64 --distances d
small convert t.fathom -o t.u64.zst
small convert t.u64.zst -o t.csv
small convert t.csv -o again.fathom
small check again.fathom
small phases t.fathom
small gen zipf --keys 20K --references 200K --seed 1 -o more.fathom
small mrc exact.json
small compare exact.json tree.json
small report exact.json shards.json -o report.html
try 'cmp t.fathom more.fathom && cmp t.fathom again.fathom && cmp exact.json whole.json'

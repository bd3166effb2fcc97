# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2016
# Cyclic traces: all reuses at keys - 1, a linear pattern. Their profiles at other sizes are known, up to what the
# bins of the training profiles round: power-of-two bins do not show that. How well it thinks it fits is the model's own
# business.
for keys in 1000 4000 64000; do
    fathom gen cyclic --keys $keys --references $((keys * 10)) -o $keys.u64 --quiet
    fathom analyze $keys.u64 --json $keys.json --quiet >/dev/null
done
try 'fathom train -o c.model 1000.json 4000.json | head -n 3'
fields c.model schema dimensions patterns share_columns
try_silently 'fathom predict c.model --data-size 64000 --bins log2 --json p.json'
fields p.json engine exact references distinct cold histogram
try 'fathom compare p.json 64000.json | grep -E "overlap  |APPROX" | sed "s/at least .*; runs/at least P %; runs/"'
try 'fathom mrc p.json --no-machine --quiet | grep -c "APPROXIMATE predicted for data of size 64000"'
python3 -c '
import json
print(json.load(open("p.json"))["accuracy"]["expected_overlap"] > 0.85)
'
# The size is found by sampling: the second sweep has the peaks, and the third says so.
try_silently 'fathom predict c.model --size-from 64000.u64 --bins log2 --json q.json'
try 'cmp p.json q.json'
try_silently 'fathom predict c.model --size-from 64000.u64 --data-samples 1 --peaks 3 --bins log2 --json q.json --force'
try 'fathom predict c.model --size-from 64000.u64 --threshold 100000'
# In another unit.
try_silently 'fathom train -o s.model --data-size 10,40 1000.json 4000.json'
try_silently 'fathom predict s.model --data-size 640 --bins log2 --json q.json --force'
fields q.json references distinct cold histogram
try_silently 'fathom predict s.model --size-from 64000.u64 --bins log2 --json q.json --force'
fields q.json references distinct cold histogram
try 'fathom train -o x.model 1000.json'
try 'fathom train 1000.json 4000.json'
try 'fathom train -o x.model 1000.json 1000.json'
try 'fathom train -o x.model --data-size 5 1000.json 4000.json'
try 'fathom train -o x.model --data-size 5,6,7 1000.json 4000.json'
try 'fathom train -o x.model --data-size 5,x 1000.json 4000.json'
try 'fathom train -o x.model --dimensions 4 1000.json 4000.json'
try 'fathom train -o x.model --percent 99 1000.json 4000.json'
try 'fathom train -o x.model 1000.json nothing.json'
try 'ls x.model'
try 'fathom predict c.model'
try 'fathom predict c.model --data-size 5 --size-from 1000.u64'
try 'fathom predict c.model --data-size 0'
try 'fathom predict c.model --data-size 5 --peaks 2'
try 'fathom predict 1000.json --data-size 5'
try 'fathom predict c.model --data-size 5 --bins exact'

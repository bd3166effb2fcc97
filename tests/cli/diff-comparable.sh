# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2016
# A program that fails at its start misses nothing, and is not better for it: profiles that cannot be compared, one for
# each reason, and what becomes of a gate. In all of them 10 misses at 32K are left of 8000.
cat >make.py <<'END'
import json
def profile(path, misses, references=20000, **more):
    run = {"command": "./prog", "collector": "valgrind", "what": "all references", "ending": "exited with 0", "exit_code": 0}
    run.update(more.pop("run", {}))
    run = {key: value for key, value in run.items() if value is not None}
    near = references - misses - 5 if references else 0
    bins = [[0, 0, near], [1024, 2047, misses]] if references else []
    json.dump({"schema": "fathom-profile-1", "name": "prog", "engine": "exact", "exact": True, "granularity": 64,
               "references": references, "distinct": references, "cold": 5 if references else 0,
               "complete": True, "lost": 0, "histogram": bins, "bins": "log2",
               "caches": [{"name": "L1d", "bytes": 32768}], "run": run, **more}, open(path, "w"))
profile("before.json", 8000)
profile("same.json", 8000)
profile("better.json", 10)
profile("exit2.json", 10, run={"exit_code": 2, "ending": "exited with 2"})
profile("killed.json", 10, run={"exit_code": None, "signal": 11, "ending": "killed by SIGSEGV (Segmentation fault)"})
profile("exit2-too.json", 8000, run={"exit_code": 2, "ending": "exited with 2"})
profile("cut.json", 10, complete=False, what_missing="killed by SIGKILL before its end")
profile("empty.json", 0, 0)
profile("loads.json", 10, run={"what": "loads"})
profile("compiled.json", 10, run={"collector": "compiler"})
accuracy = {"statement": "nothing is promised"}
profile("model.json", 10, engine="aet", exact=False, accuracy=accuracy)
profile("model-too.json", 8000, engine="aet", exact=False, accuracy=accuracy)
band = {"statement": "95 %", "confidence": 0.95, "band": [[64, 0.3, 0.31], [1000000, 0.0002, 0.0003]]}
profile("banded.json", 10, engine="shards", exact=False, accuracy=band)
END
python3 make.py
# What may be compared is.
try 'fathom diff before.json better.json --fail-if "misses@L1d > +5%" | head -n 1'
try 'fathom diff exit2-too.json exit2.json --fail-if "misses@L1d > +5%" | head -n 1'
try 'fathom diff model-too.json model.json | head -n 1'
try 'fathom diff before.json banded.json | head -n 1'
# The program ended in another way.
try 'fathom diff before.json exit2.json'
try 'fathom diff before.json exit2.json --fail-if "misses@L1d > +5%"'
try 'fathom diff before.json exit2.json --fail-if "misses@L1d > +5%" --allow end'
try 'fathom diff before.json killed.json --fail-if "references > +5%" | head -n 2'
try 'fathom diff exit2.json before.json --fail-if "misses@L1d > +5%" | head -n 1'
# Other reasons.
for after in cut empty loads compiled model; do
    try "set -o pipefail; fathom diff before.json $after.json --quiet --fail-if 'misses@L1d > +5%' | head -n 3"
done
try 'fathom diff before.json cut.json --quiet --fail-if "misses@L1d > +5%" --allow incomplete | head -n 1; exit ${PIPESTATUS[0]}'
# Several at once; each must be allowed.
try 'fathom diff exit2.json cut.json --quiet --fail-if "misses@L1d > +5%" --allow end | head -n 1; exit ${PIPESTATUS[0]}'
try 'fathom diff exit2.json cut.json --fail-if "misses@L1d > +5%" --allow end,incomplete | head -n 1; exit ${PIPESTATUS[0]}'
# In the other forms.
try 'fathom diff before.json exit2.json --quiet --markdown -'
try 'fathom diff before.json exit2.json --quiet --fail-if "misses@L1d > +5%" --json diff.json'
fields diff.json verdict incomparable conditions caches
try 'fathom diff before.json exit2.json --quiet --report - | grep -o "\"sentence\":\"[^\"]*\""'
# Wrong uses.
try 'fathom diff before.json better.json --allow ends'
try 'fathom run --pass-status --limit 10 --at-limit stop -- true'
try 'fathom sample --pass-status --pid 1'

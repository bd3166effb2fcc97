# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2016
# HP-RDA on CPU threads: parameters, stages, and what it refuses.
fathom gen zipf --keys 3000 --references 200000 --seed 3 -o trace.u64 --quiet
fathom analyze --quiet --json exact.json trace.u64 >/dev/null

# With one thread-level trace it is exact; cut into many, nearly so.
for options in '--thread-trace-size 200000' '--thread-trace-size 512' '--thread-trace-size 512 --disable-adjusting'; do
    try_silently "fathom analyze --engine hp-rda $options --json estimate.json --force trace.u64"
    try_silently 'fathom compare --json result.json exact.json estimate.json'
    python3 - <<'END'
import json
error = json.load(open("result.json"))["average_error"]
print("exact" if error == 0 else "within 2 %" if error < 0.02 else f"far off: {error}")
END
done

# Threads change nothing.
try_silently 'fathom analyze --engine hp-rda --threads 1 --json one.json trace.u64'
try_silently 'fathom analyze --engine hp-rda --threads 3 --json three.json trace.u64'
try 'fathom compare one.json three.json | grep overlap'

# The four stages.
try 'fathom analyze --engine hp-rda trace.u64 | sed -n "s/[0-9][0-9.]* s/N s/g; /^engine/p; /^time/p"'
fields one.json exact
python3 -c 'import json; print([stage["name"] for stage in json.load(open("one.json"))["stages"]])'

# Refusals.
try 'fathom analyze --engine hp-rda --time trace.u64'
try 'fathom analyze --engine hp-rda --bound 10 trace.u64'
try 'fathom analyze --engine hp-rda --distances d trace.u64'
try 'fathom analyze --hash-size 10 trace.u64'
try 'fathom analyze --engine hp-rda --pool-size 100 trace.u64'
try 'fathom analyze --engine hp-rda --trace-size 10G trace.u64'

# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2016
# Counting on a graphics card, as far as that goes without one: a stand-in behind the module's interface counts. With a
# card: make test-gpu.
FATHOM_PARTS=$(dirname "$(realpath "$(command -v fathom)")")/tests/stand-in
export FATHOM_PARTS
[ -e "$FATHOM_PARTS/fathom-cuda.so" ] || skip "there is no stand-in module in this build"
fathom gen zipf --keys 300 --references 20000 --seed 3 -o trace.u64 --quiet

# The same profile as that of the default engine, and the stages of the card.
for options in '' '--granularity 8 --bins exact --time' '--bound 50 --time'; do
    try_silently "fathom analyze --engine gpu $options --json gpu.json --force --distances gpu.d trace.u64"
    try_silently "fathom analyze $options --json exact.json --force --distances exact.d trace.u64"
    python3 - <<'END'
import json
a, b = (json.load(open(name)) for name in ("gpu.json", "exact.json"))
print(a.pop("engine"), [stage["name"] for stage in a.pop("stages")])
b.pop("engine")
print("the same profile" if a == b else "another profile")
END
    try 'cmp gpu.d exact.d'
done

# auto: the trace is too short for a card to pay.
try 'fathom analyze --engine auto trace.u64 | grep engine'

# What can be missing. A card with too little memory for batches of millions makes do with shorter ones, down to a limit.
try 'FATHOM_STAND_IN=no-device fathom analyze --engine gpu trace.u64'
try 'FATHOM_STAND_IN=no-device fathom analyze --engine auto trace.u64 | grep engine'
try 'FATHOM_STAND_IN=1000000 fathom analyze --engine gpu trace.u64 | grep cold'
try 'FATHOM_STAND_IN=100000 fathom analyze --engine gpu trace.u64'
try 'FATHOM_PARTS=/nowhere fathom analyze --engine gpu trace.u64'
try 'mkdir other; echo nothing >other/fathom-cuda.so; FATHOM_PARTS=other fathom analyze --engine gpu trace.u64 2>&1 | sed "s/loaded: .*/loaded: …/"'
try 'fathom analyze --engine gpu --max-memory 40M trace.u64 2>&1 | sed "s/[0-9][0-9]* bytes/N bytes/; s/is [0-9]*/is N/"'

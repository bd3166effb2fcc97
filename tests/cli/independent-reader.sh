# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2016
# docs/FORMAT.md is enough to write a reader: one that shares no code with fathom reads the same.
printf ' L 1000,8\n S 103c,8\n M 1040,4\nI  4000,3\n' >t.lackey
try 'fathom convert t.lackey --instructions all --store -o stored.fathom --quiet'
try 'python3 "$TESTS/cli/read_fathom.py" stored.fathom'
try 'fathom convert t.lackey --instructions all -o packed.fathom --quiet'
try 'python3 "$TESTS/cli/read_fathom.py" packed.fathom'
# Several blocks: random keys, keys with order, nothing at all.
for pattern in zipf sawtooth; do
    fathom gen $pattern --keys 3000 --references 70000 -o t.txt --quiet
    for how in --store ''; do
        try "fathom convert t.txt $how -o t.fathom --quiet"
        try 'python3 "$TESTS/cli/read_fathom.py" t.fathom address | cmp - t.txt'
    done
done
try 'fathom gen same --references 0 -o none.fathom --quiet'
try 'python3 "$TESTS/cli/read_fathom.py" none.fathom'

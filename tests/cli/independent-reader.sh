# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2016
# docs/FORMAT.md is enough to write a reader and a writer: those that share no code with fathom read and write the same.
printf ' L 1000,8\n S 103c,8\n M 1040,4\nI  4000,3\n' >t.lackey
try 'fathom convert t.lackey --instructions all --store -o stored.fathom --quiet'
try 'python3 "$TESTS/cli/read_fathom.py" stored.fathom'
try 'fathom convert t.lackey --instructions all -o packed.fathom --quiet'
try 'python3 "$TESTS/cli/read_fathom.py" packed.fathom'
# Several blocks: random keys, keys with order, nothing at all.
for pattern in zipf sawtooth; do
    fathom gen $pattern --keys 3000 --references 70000 -o t.txt --quiet
    for how in --store ''; do
        try "fathom convert t.txt $how -o t.fathom --force --quiet"
        try 'python3 "$TESTS/cli/read_fathom.py" t.fathom address | cmp - t.txt'
    done
done
try 'fathom gen same --references 0 -o none.fathom --quiet'
try 'python3 "$TESTS/cli/read_fathom.py" none.fathom'
# Code sites and modules: five columns from an independent writer, through fathom, to the independent reader. The first
# 3000 references are of seven instructions in three threads, the others are random.
python3 - >lines <<'END'
import random
random.seed(1)
for i in range(3000):
    s = i % 7
    print(0x1000000 * s + i * 8 * (s + 1), 1 << s % 4, s % 3, 1 + i // 1000, 0x400000 + s * 4)
for i in range(500):
    print(random.getrandbits(64), random.getrandbits(32), random.randrange(3), random.getrandbits(32), random.getrandbits(64))
END
modules='--module /bin/x,0123abcd,0x400000,0x500000,0 --module /lib/y.so,,0x7f0000000000,0x7f0000008000,0x7f0000000000'
for how in '' '--by-site' '--by-site --block 1000'; do
    try "python3 \"\$TESTS/cli/write_fathom.py\" w.fathom $how $modules <lines"
    for packing in --store '--level 1'; do
        try "fathom convert w.fathom $packing -o v.fathom --force --quiet"
        try 'python3 "$TESTS/cli/read_fathom.py" v.fathom | cmp - lines'
    done
done
try 'python3 "$TESTS/cli/read_fathom.py" v.fathom modules'
try 'fathom check v.fathom --json - | grep modules'

# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2016
# From every format to every other and back: the keys are the same. A stored trace is sound block by block.
fathom gen uniform --keys 100 --references 2000 --seed 3 -o t.txt --quiet
for name in a.fathom b.u64 c.txt.zst d.u64.gz; do
    try "fathom convert t.txt -o $name --force --quiet"
    try "fathom convert $name -o back.txt --quiet && cmp t.txt back.txt"
done
try 'fathom convert - --format text -o - --to text <t.txt | cmp - t.txt'
try_silently 'fathom check a.fathom'
fathom check a.fathom | grep -o '2000 references' | head -n 1
try 'fathom check t.txt'
# Columns survive: size and kind of lackey.
printf ' L 1000,8\n S 103c,8\n M 1040,4\nI  4000,3\n' >t.lackey
try_silently 'fathom convert t.lackey -o l.fathom'
try_silently 'fathom analyze l.fathom --distances d1 --quiet && fathom analyze t.lackey --distances d2 --quiet && cmp d1 d2'
distances d1

# --level means the same wherever a trace is written: the same range, the same default.
fathom gen zipf --keys 5000 --references 100000 --seed 4 -o levels.u64 --quiet
for level in '' '--level 1' '--level 22'; do
    # shellcheck disable=SC2086
    fathom convert levels.u64 $level -o c.fathom --force --quiet && fathom gen zipf --keys 5000 --references 100000 --seed 4 $level -o g.fathom --force --quiet &&
        cmp c.fathom g.fathom && sha256sum <c.fathom >"sum${level##* }"
done
cmp sum sum1 && echo 'the default is level 1'
for level in 0 23; do
    try "fathom convert levels.u64 --level $level -o c.fathom --force"
    try "fathom gen same --keys 1 --references 1 --level $level -o c.fathom --force"
    try "fathom record --level $level -o c.fathom --force -- true"
done
try 'fathom convert levels.u64 --level 2 --store -o c.fathom --force'
try 'fathom record --level 2 --store -o c.fathom --force -- true'

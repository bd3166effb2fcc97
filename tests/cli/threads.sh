# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2016,SC2086
# Any number of threads gives the same bytes. A cyclic walk over 5,000 keys, 600,000 references, has all re-uses at
# 4,999; for a Zipf trace one thread is the judge.
fathom gen cyclic --keys 5000 --references 600000 -o cyclic.u64 --quiet
for threads in 1 2 3 4 8; do
    try_silently "fathom analyze cyclic.u64 --threads $threads --bins exact --json p.json --force --quiet"
    fields p.json references distinct cold histogram | tr '\n' ' '
    echo
done
# More references than one thread takes alone (2^18).
fathom gen zipf --keys 200K --references 300000 --seed 4 -o zipf.u64 --quiet
for options in '' '--bound 1' '--bound 5000' '--bins exact' '--time' '--granularity 1,8,4096' '--max-memory 256M'; do
    fathom analyze zipf.u64 $options --threads 1 --json one.json --force --quiet >/dev/null
    for threads in 2 4 7; do
        try_silently "fathom analyze zipf.u64 $options --threads $threads --json many.json --force --quiet && cmp one.json many.json"
    done
done
# Distances in order, and a trace that comes through a pipe.
fathom analyze zipf.u64 --threads 1 --distances one --quiet >/dev/null
try_silently 'fathom analyze zipf.u64 --threads 4 --distances many --quiet && cmp one many'
fathom analyze - --format u64 --threads 1 --json one.json --force --quiet <zipf.u64 >/dev/null
try_silently 'cat zipf.u64 | fathom analyze - --format u64 --threads 4 --json many.json --force --quiet && cmp one.json many.json'
# Fewer references than threads, and none at all.
printf 'a\nb\na\n' >short.txt
try_silently 'fathom analyze short.txt --threads 8 --json p.json --force --quiet'
fields p.json references distinct cold histogram | tr '\n' ' '
echo
: >empty.u64
try_silently 'fathom analyze empty.u64 --threads 8 --json p.json --force --quiet'
fields p.json references distinct cold histogram | tr '\n' ' '
echo
# Of native traces every thread reads what it analyses: one that is sound, one that was cut, and one with a block that
# is damaged. What is said of damage is the same, too.
fathom convert zipf.u64 -o whole.fathom --quiet
python3 - <<'END'
data = bytearray(open("whole.fathom", "rb").read())
open("cut.fathom", "wb").write(data[: len(data) * 2 // 3])
data[len(data) // 2] ^= 4
open("damaged.fathom", "wb").write(data)
END
for name in whole cut damaged; do
    fathom analyze $name.fathom --threads 1 --json one.json --force --quiet >/dev/null 2>one.said
    echo "$name: $?"
    for threads in 2 4 7; do
        fathom analyze $name.fathom --threads $threads --json many.json --force --quiet >/dev/null 2>many.said
        echo "$threads threads: $?"
        try_silently 'cmp one.json many.json && cmp one.said many.said'
    done
done
# In order, too: single distances, and time distances.
for name in whole cut damaged; do
    for options in '--time' '--bound 5000'; do
        fathom analyze $name.fathom $options --distances one --threads 1 --json one.json --force --quiet >/dev/null 2>one.said
        for threads in 2 5; do
            fathom analyze $name.fathom $options --distances many --threads $threads --json many.json --force --quiet >/dev/null 2>many.said
            try_silently 'cmp one.json many.json && cmp one many && cmp one.said many.said'
        done
    done
done
# Under a limit of memory, too: what has room for two threads and for seven.
fathom analyze whole.fathom --threads 1 --json one.json --force --quiet >/dev/null
for limit in 100M 200M 1G; do
    try_silently "fathom analyze whole.fathom --engine exact --max-memory $limit --threads 7 --json many.json --force --quiet && cmp one.json many.json"
done
# Requests of 8 MiB, 16384 blocks each: no thread holds those of a whole stretch. Four of them, over and over.
python3 -c 'print("offset,size"); [print(i % 4 * 8388608, 8388608, sep=",") for i in range(100)]' >large.csv
fathom convert large.csv --size-column 2 -o large.fathom --quiet
for threads in 1 4; do
    try_silently "fathom analyze large.fathom --granularity 512 --threads $threads --bins exact --json p.json --force --quiet"
    fields p.json references distinct cold histogram | tr '\n' ' '
    echo
done

# One rule for both verbs: a number that cannot be had is refused, and the limit named.
for verb in 'analyze t.u64' 'run -- true'; do
    for threads in 0 2000; do try "fathom ${verb%% *} --threads $threads ${verb#* }"; done
done
try 'fathom run --threads 17 -- true'
# Code sites: each thread counts the pairs of what it reads. 40,000 blocks, some of them often, each by a few of 300
# sites, of which new ones come until the end.
python3 - >lines <<'END'
import random
random.seed(7)
for i in range(300000):
    block = random.randrange(1 << random.randrange(1, 16)) + 7 * random.randrange(2)
    print(64 * block, 8, 0, 1, 0x400000 + 4 * ((block * 31 + random.randrange(4)) % (1 + i // 1000)))
END
python3 "$TESTS/cli/write_fathom.py" sites.fathom --by-site <lines
for options in '' '--bound 300' '--bound 20000 --bins exact' '--time' '--granularity 64,4096'; do
    fathom analyze sites.fathom --sites $options --size 32K,1M --threads 1 --json one.json --force --csv one.csv --quiet >/dev/null
    for threads in 2 5; do
        try_silently "fathom analyze sites.fathom --sites $options --size 32K,1M --threads $threads --json many.json --force --csv many.csv --quiet && cmp one.json many.json && cmp one.csv many.csv"
    done
done

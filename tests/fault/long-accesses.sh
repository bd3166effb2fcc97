# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2016
# Few bytes that tell of very many blocks: time and memory stay in proportion to what was read, and what came before
# counts. A trace of 11 KB with sizes near 4 GiB would be 67 thousand million references.
lines() { # COUNT STRIDE SIZE
    python3 -c "
for i in range($1): print(i * $2 % (1 << 60), $3, 0, 1, 0)"
}
lines 1000 $((1 << 33)) 4294967040 | python3 "$TESTS/cli/write_fathom.py" huge.fathom
for threads in 1 2; do
    peak 100 "timeout -s KILL 20 fathom analyze huge.fathom --threads $threads --json p.json --force --quiet"
    fields p.json references complete
done
# 10 ordinary ones first: they are in the profile.
{ lines 10 64 8 && lines 1000 $((1 << 33)) 4294967040; } | python3 "$TESTS/cli/write_fathom.py" late.fathom
peak 100 'timeout -s KILL 20 fathom analyze late.fathom --json p.json --force --quiet'
fields p.json references distinct complete
peak 100 'timeout -s KILL 20 fathom phases late.fathom --json p.json --force --quiet'
fields p.json references complete
# In text, too.
{ echo offset,bytes && for i in 1 2 3; do echo "$i,4294967295"; done; } >huge.csv
peak 100 'timeout -s KILL 20 fathom analyze huge.csv --key offset --size-column bytes --granularity 512 --json p.json --force --quiet'
fields p.json references complete
# Long accesses are fine as long as a block in the trace is not as cheap as that: 8 requests of 1 MiB.
{ echo offset,bytes && for i in 1 2 3 4 1 2 3 4; do echo "$((i << 20)),1048576"; done; } >long.csv
try_silently 'fathom analyze long.csv --key offset --size-column bytes --granularity 4096 --json p.json --force --quiet'
fields p.json references distinct histogram complete

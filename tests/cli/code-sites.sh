# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2016
# Traces with code sites: pairs of sites have closed forms, and modules give them names.

# One site writes 1000 blocks of 64 bytes, another reads them, three times over. Every re-use has the distance 999: the
# second site re-uses what the first used 3000 times, the first what the second used 2000 times, and 1000 are cold.
python3 - >lines <<'END'
for turn in range(3):
    for kind, site in ((1, 0x555555555100), (0, 0x555555555200)):
        for block in range(1000):
            print(0x7fff00000000 + 64 * block, 8, kind, 1, site)
END
pairs() {
    python3 - "$1" <<'END'
import json, sys
profile = json.load(open(sys.argv[1]))
code = profile["attribution"]
name = lambda index: "none" if index is None else hex(code["sites"][index][1])
for use, reuse, count, cold, beyond, bins in sorted(code["pairs"], key=lambda pair: -pair[2]):
    ranges = [(code["edges"][r], code["edges"][r + 1] - 1, n) for r, n in zip(bins[::2], bins[1::2])]
    print(name(use), "->", name(reuse), "count", count, "cold", cold, "beyond", beyond, *ranges)
print("modules", [module["path"] for module in code["modules"]])
END
}
python3 "$TESTS/cli/write_fathom.py" plain.fathom --by-site <lines
try_silently 'fathom analyze plain.fathom --size 32K,64000,64K --json p.json'
pairs p.json
for engine in tree list parda; do
    try_silently "fathom analyze plain.fathom --engine $engine --size 32K,64000,64K --json $engine.json --quiet"
    pairs $engine.json | cmp - <(pairs p.json) && echo "$engine: the same"
done
# With a bound, re-uses beyond it have no use.
try_silently 'fathom analyze plain.fathom --bound 500 --size 32K --json p.json --force --quiet'
pairs p.json

# All pairs as CSV: 512 blocks hold nothing, 1000 blocks everything but first touches.
try 'fathom analyze plain.fathom --size 32K,64000 --csv - --quiet | tr -d "\r" | cut -d, -f6,13,15-'

# Names: functions of a program that was mapped at 0x555555554000.
cat >prog.c <<'END'
static char data[64000];
void first(void);
void second(void);
void first(void) { for (int i = 0; i < 64000; i += 64) data[i] = 1; }
void second(void) { for (int i = 0; i < 64000; i += 64) (void)*(volatile char *)&data[i]; }
int main(void) { first(); second(); return 0; }
END
if gcc -g -O0 -fPIE -pie prog.c -o prog 2>/dev/null; then
    place() { python3 -c 'import sys; print(0x555555554000 + 4 + int(sys.argv[1], 16))' "$(nm prog | sed -n "s/ T $1\$//p")"; }
    first=$(place first) second=$(place second)
    sed "s/ $((0x555555555100))\$/ $first/; s/ $((0x555555555200))\$/ $second/" lines >named
    python3 "$TESTS/cli/write_fathom.py" named.fathom --module "$PWD/prog,,0x555555554000,0x555555560000,0x555555554000" <named
    try 'fathom analyze named.fathom --size 32K --pairs --quiet | grep -o "first (prog.c:4)\|second (prog.c:5)" | sort | uniq'
    try 'fathom analyze named.fathom --size 32K --pairs --top 0 --quiet | grep -c "^L1d: \|(prog.c:"'
    # The first screen: 1000 first touches and 5000 re-uses that come 999 blocks later; the sizes are kept for later.
    try 'fathom analyze named.fathom --size 32K,64000 --json named.json'
    try 'fathom report named.json --by function --quiet | sed -n "/^32K:/,/^  second/p"'
    try 'fathom report named.json --size 1M --by object'
    try 'fathom report named.json --by nothing'
    try 'fathom report named.json --histogram --quiet | grep "^profile of\|^distance "'
    try_silently 'fathom analyze named.fathom --size 32K --callgrind callgrind.out --quiet'
    grep '^events:' callgrind.out
    # From native to native, modules stay.
    try 'fathom convert named.fathom -o again.fathom --quiet && fathom analyze again.fathom --size 32K --pairs --quiet | grep -c "first (prog.c:4)"'
    try 'fathom convert named.fathom -o keys.u64 2>&1 | grep modules'
else
    skip "no C compiler here"
fi

# What cannot be.
try_silently 'fathom analyze plain.fathom --no-sites --json p.json --force --quiet'
fields p.json attribution
try 'fathom convert plain.fathom -o t.u64 --quiet && fathom analyze t.u64 --sites'
try 'fathom analyze t.u64 --callgrind x'
try 'fathom analyze plain.fathom --no-sites --csv x'
try 'fathom analyze plain.fathom --sites --no-sites'
try 'fathom analyze plain.fathom --sites --max-memory 1G'
try 'fathom analyze plain.fathom --json - --csv -'
try 'fathom analyze plain.fathom --distances - --csv -'
try 'fathom analyze plain.fathom --size 32K,32768'
try 'fathom analyze plain.fathom --size 0'
try_silently 'fathom analyze plain.fathom --max-memory 1G --size 32K'
# A damaged module table costs names, no reference.
try 'python3 -c "
data = bytearray(open(\"named.fathom\", \"rb\").read())
data[data.index(b\"FmMo\") + 50] ^= 1
open(\"damaged.fathom\", \"wb\").write(data)"'
try_silently 'fathom analyze damaged.fathom --size 32K --json p.json --force --quiet 2>message; echo "exit code $?" >&2; sed "s/checksum .*/checksum .../; s/byte [0-9]*/byte N/" message >&2'
fields p.json references complete lost
try 'fathom check damaged.fathom 2>&1 | grep -E "modules|references|index|problems"'

# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2016
# Every verb that makes a profile writes every form of it, the text to a file among them; results are the same.
cat >sum.c <<'END'
void sum(int n, const double a[restrict 1000], double b[restrict 1000])
{
    for (int r = 0; r < n; r++)
        for (int i = 0; i < 1000; i++) b[i] += a[i];
}
END
fathom static sum.c --param n=5 --emit-ir region.fir --quiet
fathom gen cyclic --keys 1000 --references 20000 -o t.u64 --quiet
for keys in 1000 2000; do
    fathom gen cyclic --keys $keys --references $((keys * 10)) -o $keys.u64 --quiet
    fathom analyze $keys.u64 --json $keys.json --quiet >/dev/null
done
fathom train -o c.model 1000.json 2000.json --quiet >/dev/null
page_is_whole() { grep -q '</html>' "$1" && python3 -c '
import sys
print(len(open(sys.argv[1]).read()) > 10000)' "$1"; }
without_times() { sed -E "s/[0-9.]+ m?s\b/T/g" "$1"; }
# The text is what is shown without --output, and nothing is shown then; the profile is the page's.
outputs() {
    echo "$1"
    fathom $1 --quiet >shown.txt
    fathom $1 --quiet --json p.json --report p.html --output p.txt --force
    cmp <(without_times shown.txt) <(without_times p.txt) && page_is_whole p.html
    python3 -c '
import json
p = json.load(open("p.json"))
print(p["references"], p["cold"] if p["exact"] or "predicted" in p["engine"] else "estimated", p["complete"])'
    fathom report p.json --quiet >/dev/null || echo "fathom report: $?"
}
outputs 'analyze t.u64'
outputs 'simulate t.u64 --period 500'
outputs 'phases t.u64'
outputs 'predict c.model --data-size 4000'
outputs 'static region.fir --size 4K'
# Code: pairs of sites and costs of lines.
fathom static sum.c --param n=5 --size 4K --quiet --csv pairs.csv --callgrind c.out -o text.txt
head -n 1 pairs.csv
grep -c '^fn=' c.out
grep -c 'sum.c:4' text.txt
# One of them at most to standard output; words about a page need one.
try 'fathom analyze t.u64 --report - --json -'
try 'fathom static region.fir -o - --json -'
try 'fathom phases t.u64 --report - -o -'
try 'fathom analyze t.u64 --no-source'
try 'fathom predict c.model --data-size 4000 --report /nowhere/p.html'

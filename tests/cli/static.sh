# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2016
# Regions as text, so that no front end is needed. Two sweeps over n rows of 8 doubles, then the columns.
cat >sweep.c <<'END'
for (t = 0; t < 2; t++)
    for (i = 0; i < n; i++)
        for (j = 0; j < m; j++) s += A[i][j];
for (j = 0; j < m; j++)
    for (i = 0; i < n; i++) B[j] += A[i][j];
END
cat >sweep.fir <<END
fathom-region 1
file 1 "$PWD/sweep.c"
function "sweep" @1:1-5
param n
param m = 8
assume n >= 1
array A[n][m] of 8
array B[m] of 8
for t = 0 to 1 @1:1 { for i = 0 to n - 1 @1:2 { for j = 0 to m - 1 @1:3 {
  do adds 1 @1:3 { load A[i][j] @1:3:40 "A[i][j]" } } } }
for j = 0 to m - 1 @1:4 { for i = 0 to n - 1 @1:5 {
  do adds 1 @1:5 { load B[j] @1:5:31 "B[j]" load A[i][j] @1:5:39 "A[i][j]" store B[j] @1:5:31 "B[j]" } } }
END
try 'fathom static sweep.fir --counts'
try 'fathom static sweep.fir'
# Each row is one block. Rows: n first touches, 2 n (m - 1) times distance 0, and n times n - 1. Columns: B is one
# block; its load comes right behind its store (0; the very first is a first touch), its store has a row between (1);
# a row comes back after all the others and B (n).
try_silently 'fathom static sweep.fir --param n=100 --bins exact --json p.json --verify'
fields p.json engine exact references cold counts
python3 -c '
import json
n, m = 100, 8
wanted = {0: 2 * n * (m - 1) + n * m - 1, 1: n * m, n - 1: n, n: n * m}
found = {row[0]: row[2] for row in json.load(open("p.json"))["histogram"]}
print(found == wanted or found)
kernel = json.load(open("p.json"))["kernel"]
print(kernel["certainty"], kernel["parameters"], kernel["layout"], kernel["function"])
'
# The same by samples: all accesses are drawn where there are few.
try_silently 'fathom static sweep.fir -D n=100 --bins exact --method sample --json s.json --verify'
python3 -c '
import json
p, s = (json.load(open(name)) for name in ("p.json", "s.json"))
print(s["histogram"] == p["histogram"], s["exact"], s["kernel"]["certainty"])
print(s["attribution"]["pairs"] == p["attribution"]["pairs"], s["attribution"]["object_uses"] == p["attribution"]["object_uses"])
'
try_silently 'fathom static sweep.fir -D n=100000 --method sample --samples 500 --json few.json --quiet'
python3 -c '
import json
p = json.load(open("few.json"))
print(p["exact"], p["kernel"]["certainty"], p["accuracy"]["samples"], p["accuracy"]["confidence"])
print(p["references"] == 2 * 100000 * 8 + 3 * 100000 * 8, p["cold"] == 100001)
'
# What a region does not do is left out of the first line.
printf 'fathom-region 1\nfunction "zero"\narray A[9] of 8\nfor i = 0 to 8 { do { store A[i] } }\n' >zero.fir
printf 'fathom-region 1\nfunction "none"\nparam n\narray A[9] of 8\nfor i = 1 to n { do { store A[i] } }\n' >none.fir
try 'fathom static zero.fir --size 32K --quiet --top 0 2>&1 | head -1; fathom static none.fir -D n=0 --size 32K 2>&1 | head -1'
# What is written reads as the same.
fathom static sweep.fir --emit-ir again.fir
try_silently 'fathom static again.fir --param n=100 --bins exact --json again.json'
python3 -c '
import json
print(*(json.load(open("p.json"))[key] == json.load(open("again.json"))[key] for key in ("histogram", "attribution")))'
try_silently 'fathom mrc p.json --no-machine --quiet'
try_silently 'fathom compare p.json s.json'
# The table of pairs: lines and arrays.
try 'fathom static sweep.fir --param n=100 --size 4K --pairs --top 2 | sed -n "/^  #/,\$p"'
try 'fathom static sweep.fir --param k=3'
try 'fathom static sweep.fir --param n=0'
try 'fathom static sweep.fir --param n'
try 'fathom static sweep.fir --param n=x'
try 'fathom static sweep.fir --param n=1,n=2'
try 'fathom static sweep.fir --param n=4 --granularity 48'
try 'fathom static sweep.fir --param n=4 --layout diagonal'
try 'fathom static sweep.fir --param n=4 --method guess'
try 'fathom static sweep.fir --param n=4 --limit-time 0'
try 'fathom static sweep.fir sweep.c'
try 'fathom static --language basic sweep.fir'
try 'fathom static nothing.fir'
try 'fathom static sweep.txt'
try 'fathom static .'
echo 'fathom-region 1 array A[3] of 8 for i = 0 to 3 { do { load A[i] } }' >outside.fir
try 'fathom static outside.fir'
try 'fathom static outside.fir --method sample'
printf 'fathom-region 1\nfor i = 0 to\n' >cut.fir
try 'fathom static cut.fir'
: >empty.fir
try 'fathom static empty.fir'
echo 'fathom-region 1' >nothing-done.fir
try_silently 'fathom static nothing-done.fir --json n.json'
fields n.json references cold histogram

# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2016
# Formulas of an open number of rows: two sweeps over n rows of one block each, then the columns with a sum in B.
cat >sweep.fir <<END
fathom-region 1
function "sweep"
param n
param m = 8
assume n >= 1
array A[n][m] of 8
array B[m] of 8
for t = 0 to 1 { for i = 0 to n - 1 { for j = 0 to m - 1 { do adds 1 { load A[i][j] } } } }
for j = 0 to m - 1 { for i = 0 to n - 1 { do adds 1 { load B[j] load A[i][j] store B[j] } } }
END
try 'fathom static sweep.fir --symbolic --size 4K,64K --json f.json --emit-c f.c'
# n + 1 blocks. A row comes back at distance n - 1 (n times) and n (m n times): all of these miss 64 blocks where n > 64,
# and 1024 blocks where n > 1024; where n is 64, those at distance n alone.
try 'fathom static f.json --param n=100'
try 'fathom static f.json --param n=64'
python3 -c '
import subprocess
for n in (1, 2, 63, 64, 65, 1023, 1024, 1025, 100000, 2**30 - 5):
    text = subprocess.run(["fathom", "static", "f.json", "--param", f"n={n}"], capture_output=True, text=True).stdout
    found = [int(line.split()[-1]) for line in text.splitlines()[1:]]
    misses = [n + 1 + (n if n - 1 >= blocks else 0) + (8 * n if n >= blocks else 0) for blocks in (64, 1024)]
    print(found == [16 * n + 16 * n, 8 * n, 24 * n, 0, 40 * n, n + 1] + misses or (n, found, misses))
'
cat >main.c <<'END'
#include "f.c"
#include <stdio.h>
int main(void)
{
    struct sweep_formulas_counts counts;
    printf("%d %d %d\n", sweep_formulas(0, &counts) == EDOM, sweep_formulas(INT64_MAX, &counts) == EDOM,
           sweep_formulas(100, &counts));
    printf("%lld %lld %lld\n", (long long)counts.loads, (long long)counts.first_touches, (long long)counts.misses_4096);
    return 0;
}
END
try 'cc -std=c99 -Wall -Wextra -Werror -pedantic main.c -o main && ./main'
# Values that are given with --symbolic are put in; with rows of n elements they choose the remainder.
cat >rows.fir <<END
fathom-region 1
param n
array A[n][n] of 8
for t = 0 to 1 { for i = 0 to n - 1 { for j = 0 to n - 1 { do { load A[i][j] } } } }
END
try 'fathom static rows.fir --symbolic --size 64 --param n=12'
try 'fathom static f.json --param n=0'
try 'fathom static f.json --param n=1,k=2'
try 'fathom static rows.fir --symbolic --size 64 --json rows.json --quiet >/dev/null; fathom static rows.json --param n=12'
try 'fathom static rows.fir --open n'
try 'fathom static rows.fir --symbolic --counts'
# No formula: elements of 24 bytes cross borders of blocks. With values there is a profile.
sed 's/of 8/of 24/' rows.fir >odd.fir
try 'fathom static odd.fir --symbolic --size 64'
try_silently 'fathom static odd.fir --symbolic --size 64 --param n=4 --json odd.json'
fields odd.json engine references cold
# Files that are none.
try "echo '{}' >bad.json; fathom static bad.json"
try "sed 's/fathom-symbolic-1/fathom-symbolic-9/' f.json >bad.json; fathom static bad.json"
sed -i 's/"seconds": [0-9.e-]*/"seconds": 0.5/' f.json # so that places do not depend on it
try 'head -c 700 f.json >bad.json; fathom static bad.json'
python3 -c '
import json
formulas = json.load(open("f.json"))
formulas["formulas"][1]["pieces"][0] = formulas["formulas"][1]["pieces"][0].replace("1", "7", 1)
json.dump(formulas, open("bad.json", "w"))
'
try 'fathom static bad.json --param n=3'

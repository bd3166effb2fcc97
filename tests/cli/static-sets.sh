# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2016
# Caches with sets. A column of a matrix with rows of 4 KiB: all of it in one set of a cache of 32 KiB and 8 ways.
cat >column.fir <<'REGION'
fathom-region 1
param n = 12
array A[n][512] of 8
array B[8] of 8
for t = 0 to 9 { for i = 0 to n - 1 { do { load A[i][0] } } }
REGION
try 'fathom static column.fir --size 32K --cache 32K:8,48K:12,64K:16 --json s.json | sed -n "/^cache with/,/^$/p"'
python3 -c '
import json
profile = json.load(open("s.json"))
print(*((c["name"], c["sets"], c["misses"], c["references"], c["certainty"]) for c in profile["set_associative"]))
print(profile["addresses"])'
# Rows of 4 KiB and a block: the columns go through all sets.
try 'fathom static column.fir --size 32K --cache 32K:8 --what-if pad:A=+8 --json p.json'
python3 -c '
import json
print(json.load(open("p.json"))["set_associative"][0]["misses"])'
# Distances within sets without a walk.
for method in walk sample reconstruct; do
    try "fathom static column.fir --cache 32K:8 --method $method | sed -n '/^32K:8/p'"
done
try 'fathom static column.fir --cache 32K:8 --method count'
# Samples without a first touch among them: references and first touches are exact all the same.
sed 's/t = 0 to 9 /t = 0 to 99999999 /' column.fir >long.fir
try_silently 'fathom static long.fir --method sample --samples 100 --quiet --json l.json'
fields l.json references cold distinct
try 'fathom static column.fir --cache 32K'
try 'fathom static column.fir --cache 32K:0'
try 'fathom static column.fir --cache 32K:7'
try 'fathom static column.fir --cache 32K:8:128'

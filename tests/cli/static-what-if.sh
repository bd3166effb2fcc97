# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2016
# Changed loops, as text so that no front end is needed. Columns of a matrix of n rows with 64 doubles, 8 blocks each.
cat >columns.fir <<'E'
fathom-region 1
file 1 "columns.c"
function "columns" @1:1-5
param n = 256
array A[n][64] of 8
array B[64] of 8
for j = 0 to 63 @1:2 { for i = 0 to n - 1 @1:3 {
  do adds 1 @1:4 { load B[j] @1:4:5 "B[j]" load A[i][j] @1:4:13 "A[i][j]" store B[j] @1:4:5 "B[j]" } } }
E
# Before, in 128 blocks: all 64 n accesses to A miss, for n > 128 rows come before the next column. After: each block of A
# misses once, 8 n. The 8 blocks of B miss once, before and after.
try 'fathom static columns.fir --size 8K,1M --what-if interchange:j,i'
try_silently 'fathom static columns.fir --size 8K --what-if interchange:j,i --json after.json --verify'
python3 - <<'E'
import json
n = 256
p = json.load(open("after.json"))
misses = p["cold"] + sum(count for low, high, count in p["histogram"] if low >= 8192 // 64)
print(misses == 8 * n + 8, p["references"] == 3 * 64 * n, p["kernel"]["notes"])
E
# The changed region as text is the same profile.
fathom static columns.fir --what-if 'interchange:j,i' --emit-ir changed.fir
cat changed.fir
try_silently 'fathom static changed.fir --size 8K --json text.json'
python3 -c '
import json
print(json.load(open("after.json"))["histogram"] == json.load(open("text.json"))["histogram"])'
# Tiles against tiles by hand: the same histogram.
cat >gemm.fir <<'E'
fathom-region 1
param n = 40
array C[n][n] of 8
array A[n][n] of 8
array B[n][n] of 8
for i = 0 to n - 1 { for j = 0 to n - 1 { for k = 0 to n - 1 {
  do adds 1 multiplies 1 { load C[i][j] load A[i][k] load B[k][j] store C[i][j] } } } }
E
cat >tiled.fir <<'E'
fathom-region 1
param n = 40
array C[n][n] of 8
array A[n][n] of 8
array B[n][n] of 8
for a = 0 to n - 1 step 16 { for b = 0 to n - 1 step 16 { for c = 0 to n - 1 step 8 {
for i = a to min(a + 15, n - 1) { for j = b to min(b + 15, n - 1) { for k = c to min(c + 7, n - 1) {
  do adds 1 multiplies 1 { load C[i][j] load A[i][k] load B[k][j] store C[i][j] } } } } } } }
E
try_silently 'fathom static gemm.fir --size 4K --what-if tile:i,j,k=16,16,8 --bins exact --json tile.json'
try_silently 'fathom static tiled.fir --size 4K --bins exact --json hand.json'
python3 -c '
import json
a, b = (json.load(open(name)) for name in ("tile.json", "hand.json"))
print(a["histogram"] == b["histogram"], a["cold"] == b["cold"])'
# Rows of 64 blocks; padded by half a block, every second row begins in the middle of one.
echo 'fathom-region 1 array A[8][512] of 8 for i = 0 to 7 { for j = 0 to 511 { do { load A[i][j] } } }' >rows.fir
try_silently 'fathom static rows.fir --size 4K --what-if pad:A=+4 --json pad.json'
python3 -c '
import json
blocks = len({(i * 516 + j) * 8 // 64 for i in range(8) for j in range(512)})
print(json.load(open("pad.json"))["cold"] == blocks)'
# Several, and the same by several options.
try 'fathom static gemm.fir --size 4K --what-if "interchange:j,k; tile:i=8" | tail -1'
try 'fathom static gemm.fir --size 4K --what-if interchange:j,k --what-if tile:i=8 | tail -1'
# Suggestions: the best one misses no block twice.
try_silently 'fathom static columns.fir --size 8K --suggest --json best.json'
python3 - <<'E'
import json
p = json.load(open("best.json"))
print(p["cold"] + sum(count for low, high, count in p["histogram"] if low >= 128) == 8 * 256 + 8)
E
try 'fathom static columns.fir --size 8K --suggest | head -5'
# Scalars of a source have no accesses, but values go through them: a sum is an obstacle, a temporary is none.
cat >scalar.f90 <<'E'
subroutine total(n, a, s)
  integer :: n, i, j
  real(8) :: a(n, n), s
  do i = 1, n
    do j = 1, n
      s = s + a(i, j)
    end do
  end do
end subroutine
subroutine turn(n, a, b)
  integer :: n, i, j
  real(8) :: a(n, n), b(n, n), t
  do i = 1, n
    do j = 1, n
      t = a(i, j)
      b(j, i) = t
    end do
  end do
end subroutine
E
try 'fathom static scalar.f90 --function total -D n=160 --size 8K --what-if interchange:i,j -q'
# Columns are 20 blocks; before, a misses always (160 columns between), b once for each block; after, the reverse.
try 'fathom static scalar.f90 --function turn -D n=160 --size 8K --what-if interchange:i,j -q'
# Illegal, impossible, unknown, wrong.
cat >wave.fir <<'E'
fathom-region 1
file 1 "wave.c"
array A[20][30] of 8
array B[20] of 8
for i = 1 to 19 @1:1 { for j = 0 to 28 @1:2 {
  do @1:3 { load A[i - 1][j + 1] "A[i-1][j+1]" store A[i][j] "A[i][j]" } } }
for i = 0 to 18 @1:4 { do @1:5 { store B[i] "B[i]" } }
for i = 0 to 18 @1:6 { do @1:7 { load B[i + 1] "B[i+1]" } }
E
try 'fathom static wave.fir --size 8K --what-if interchange:i,j'
try 'fathom static wave.fir --size 8K --what-if fuse:i@4'
try 'fathom static wave.fir --size 8K --what-if fuse:i'
try 'fathom static wave.fir --size 8K --what-if tile:i=8'
try 'fathom static wave.fir --size 8K --what-if interchange:j,i'
try 'fathom static wave.fir --size 8K --what-if distribute:i@6'
try 'fathom static wave.fir --size 8K --what-if tile:k=8'
try 'fathom static wave.fir --size 8K --what-if tile:j'
try 'fathom static wave.fir --size 8K --what-if unroll:i'
try 'fathom static wave.fir --size 8K --what-if pad:B=8'
try 'fathom static wave.fir --what-if tile:j=8 --suggest'
try 'fathom static wave.fir --what-if tile:j=8 --counts'
sed 's/param n = 256/param n/' columns.fir >open.fir
try 'fathom static open.fir --what-if interchange:j,i --emit-ir -'
echo 'fathom-region 1 array A of 8 do { load A }' >no-loops.fir
try 'fathom static no-loops.fir --size 8K --suggest'

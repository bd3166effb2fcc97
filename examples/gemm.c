/* SPDX-License-Identifier: Apache-2.0 */
/* gemm.c - C = C + A B for square matrices: the example of README.md and docs/STATIC.md, for `fathom static`.
 */

void gemm(int n, double C[restrict n][n], double A[restrict n][n], double B[restrict n][n])
{
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++)
            for (int k = 0; k < n; k++) C[i][j] += A[i][k] * B[k][j];
}

/* SPDX-License-Identifier: Apache-2.0 */
/* C = alpha A A' + beta C, lower half. */
void kernel_syrk(int n, int m, double alpha, double beta, double C[restrict n][n], double A[restrict n][m])
{
    for (int i = 0; i < n; i++) {
        for (int j = 0; j <= i; j++) C[i][j] *= beta;
        for (int k = 0; k < m; k++)
            for (int j = 0; j <= i; j++) C[i][j] += alpha * A[i][k] * A[j][k];
    }
}

/* SPDX-License-Identifier: Apache-2.0 */
/* C = alpha A B' + alpha B A' + beta C, lower half. */
void kernel_syr2k(int n, int m, double alpha, double beta, double C[restrict n][n], double A[restrict n][m],
                  double B[restrict n][m])
{
    for (int i = 0; i < n; i++) {
        for (int j = 0; j <= i; j++) C[i][j] *= beta;
        for (int k = 0; k < m; k++)
            for (int j = 0; j <= i; j++) C[i][j] += A[j][k] * alpha * B[i][k] + B[j][k] * alpha * A[i][k];
    }
}

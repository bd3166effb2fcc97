/* SPDX-License-Identifier: Apache-2.0 */
/* B = alpha A' B with a lower triangular A of ones on its diagonal. */
void kernel_trmm(int m, int n, double alpha, double A[restrict m][m], double B[restrict m][n])
{
    for (int i = 0; i < m; i++)
        for (int j = 0; j < n; j++) {
            for (int k = i + 1; k < m; k++) B[i][j] += A[k][i] * B[k][j];
            B[i][j] = alpha * B[i][j];
        }
}

/* SPDX-License-Identifier: Apache-2.0 */
/* C = alpha A B + beta C with a symmetric A, of which the lower half is there. */
void kernel_symm(int m, int n, double alpha, double beta, double C[restrict m][n], double A[restrict m][m],
                 double B[restrict m][n])
{
    double sum;
    for (int i = 0; i < m; i++)
        for (int j = 0; j < n; j++) {
            sum = 0.0;
            for (int k = 0; k < i; k++) {
                C[k][j] += alpha * B[i][j] * A[i][k];
                sum += B[k][j] * A[i][k];
            }
            C[i][j] = beta * C[i][j] + alpha * B[i][j] * A[i][i] + alpha * sum;
        }
}

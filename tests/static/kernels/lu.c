/* SPDX-License-Identifier: Apache-2.0 */
/* A = L U in place, without pivots. */
void kernel_lu(int n, double A[restrict n][n])
{
    for (int i = 0; i < n; i++) {
        for (int j = 0; j < i; j++) {
            for (int k = 0; k < j; k++) A[i][j] -= A[i][k] * A[k][j];
            A[i][j] /= A[j][j];
        }
        for (int j = i; j < n; j++)
            for (int k = 0; k < i; k++) A[i][j] -= A[i][k] * A[k][j];
    }
}

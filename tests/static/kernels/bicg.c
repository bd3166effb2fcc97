/* SPDX-License-Identifier: Apache-2.0 */
/* s = A' r and q = A p, in one walk over A. */
void kernel_bicg(int m, int n, double A[restrict n][m], double s[restrict m], double q[restrict n],
                 double p[restrict m], double r[restrict n])
{
    for (int i = 0; i < m; i++) s[i] = 0.0;
    for (int i = 0; i < n; i++) {
        q[i] = 0.0;
        for (int j = 0; j < m; j++) {
            s[j] = s[j] + r[i] * A[i][j];
            q[i] = q[i] + A[i][j] * p[j];
        }
    }
}

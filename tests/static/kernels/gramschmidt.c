/* SPDX-License-Identifier: Apache-2.0 */
/* A = Q R by Gram and Schmidt's way. */
#include <math.h>
void kernel_gramschmidt(int m, int n, double A[restrict m][n], double R[restrict n][n],
                        double Q[restrict m][n])
{
    double length;
    for (int k = 0; k < n; k++) {
        length = 0.0;
        for (int i = 0; i < m; i++) length += A[i][k] * A[i][k];
        R[k][k] = sqrt(length);
        for (int i = 0; i < m; i++) Q[i][k] = A[i][k] / R[k][k];
        for (int j = k + 1; j < n; j++) {
            R[k][j] = 0.0;
            for (int i = 0; i < m; i++) R[k][j] += Q[i][k] * A[i][j];
            for (int i = 0; i < m; i++) A[i][j] = A[i][j] - Q[i][k] * R[k][j];
        }
    }
}

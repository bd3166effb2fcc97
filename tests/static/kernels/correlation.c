/* SPDX-License-Identifier: Apache-2.0 */
/* Correlations of the columns of a table. */
#include <math.h>
void kernel_correlation(int m, int n, double data[restrict n][m], double corr[restrict m][m],
                        double mean[restrict m], double stddev[restrict m])
{
    double rows = n, smallest = 0.1;
    for (int j = 0; j < m; j++) {
        mean[j] = 0.0;
        for (int i = 0; i < n; i++) mean[j] += data[i][j];
        mean[j] /= rows;
    }
    for (int j = 0; j < m; j++) {
        stddev[j] = 0.0;
        for (int i = 0; i < n; i++) stddev[j] += (data[i][j] - mean[j]) * (data[i][j] - mean[j]);
        stddev[j] /= rows;
        stddev[j] = sqrt(stddev[j]);
        stddev[j] = stddev[j] <= smallest ? 1.0 : stddev[j];
    }
    for (int i = 0; i < n; i++)
        for (int j = 0; j < m; j++) {
            data[i][j] -= mean[j];
            data[i][j] /= sqrt(rows) * stddev[j];
        }
    for (int i = 0; i < m - 1; i++) {
        corr[i][i] = 1.0;
        for (int j = i + 1; j < m; j++) {
            corr[i][j] = 0.0;
            for (int k = 0; k < n; k++) corr[i][j] += data[k][i] * data[k][j];
            corr[j][i] = corr[i][j];
        }
    }
    corr[m - 1][m - 1] = 1.0;
}

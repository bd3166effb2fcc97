/* SPDX-License-Identifier: Apache-2.0 */
/* Figure 8 (a) of the paper: both products of a matrix with vectors, N = 2500. */
#define LINE __attribute__((aligned(64))) /* arrays begin a line */
enum { N = 2500 };
double a[N][N] LINE, x1[N] LINE, x2[N] LINE, y_1[N] LINE, y_2[N] LINE;
void mvt(void)
{
    for (int i = 0; i <= N - 1; i++) {
        double temp1 = x1[i], temp2 = y_2[i], temp3;
        for (int j = 0; j <= N - 1; j++) {
            temp3 = a[i][j];
            temp1 = temp1 + temp3 * y_1[j];
            x2[j] = x2[j] + temp3 * temp2;
        }
        x1[i] = temp1;
    }
}

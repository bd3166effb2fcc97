/* SPDX-License-Identifier: Apache-2.0 */
/* Figure 8 (c) of the paper: two loops over one matrix, N = 350. */
#define LINE __attribute__((aligned(64))) /* arrays begin a line */
enum { N = 350 };
double a[N][N] LINE, b[N][N] LINE, y[N][N] LINE;
void fission(void)
{
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++) b[i][j] = a[i][j] - 1;
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++) y[i][j] = a[i][j];
}

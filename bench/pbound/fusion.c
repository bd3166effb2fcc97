/* SPDX-License-Identifier: Apache-2.0 */
/* Figure 8 (d) of the paper: the same as one loop. */
#define LINE __attribute__((aligned(64))) /* arrays begin a line */
enum { N = 350 };
double a[N][N] LINE, b[N][N] LINE, y[N][N] LINE;
void fusion(void)
{
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++) {
            b[i][j] = a[i][j] - 1;
            y[i][j] = a[i][j];
        }
}

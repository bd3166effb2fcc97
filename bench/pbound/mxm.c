/* SPDX-License-Identifier: Apache-2.0 */
/* Figure 8 (e) and (f) of the paper: long and skinny (N = 1024, M = 32), short and fat (N = 32, M = 1024). */
#define LINE __attribute__((aligned(64))) /* arrays begin a line */
#ifndef N
#define N 1024
#define M 32
#endif
double C[N][N] LINE, A[N][M] LINE, B[M][N] LINE;
void mxm(void)
{
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++) {
            double temp = 0;
            for (int k = 0; k < M; k++) temp += A[i][k] * B[k][j];
            C[i][j] = temp;
        }
}

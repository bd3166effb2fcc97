/* SPDX-License-Identifier: Apache-2.0 */
/* Every row of a cube, multiplied by a matrix. */
void kernel_doitgen(int nr, int nq, int np, double A[restrict nr][nq][np], double C4[restrict np][np],
                    double sum[restrict np])
{
    for (int r = 0; r < nr; r++)
        for (int q = 0; q < nq; q++) {
            for (int p = 0; p < np; p++) {
                sum[p] = 0.0;
                for (int s = 0; s < np; s++) sum[p] += A[r][q][s] * C4[s][p];
            }
            for (int p = 0; p < np; p++) A[r][q][p] = sum[p];
        }
}

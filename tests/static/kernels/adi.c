/* SPDX-License-Identifier: Apache-2.0 */
/* Alternating directions: heat on a square, one implicit sweep along columns, one along rows. */
void kernel_adi(int tsteps, int n, double u[restrict n][n], double v[restrict n][n], double p[restrict n][n],
                double q[restrict n][n])
{
    double width = 1.0 / n, time = 1.0 / tsteps;
    double down = 2.0 * time / (width * width), across = time / (width * width);
    double a = -down / 2.0, b = 1.0 + down, c = a;
    double d = -across / 2.0, e = 1.0 + across, f = d;
    for (int t = 1; t <= tsteps; t++) {
        for (int i = 1; i < n - 1; i++) {
            v[0][i] = 1.0;
            p[i][0] = 0.0;
            q[i][0] = v[0][i];
            for (int j = 1; j < n - 1; j++) {
                p[i][j] = -c / (a * p[i][j - 1] + b);
                q[i][j] = (-d * u[j][i - 1] + (1.0 + 2.0 * d) * u[j][i] - f * u[j][i + 1] - a * q[i][j - 1]) /
                          (a * p[i][j - 1] + b);
            }
            v[n - 1][i] = 1.0;
            for (int j = n - 2; j >= 1; j--) v[j][i] = p[i][j] * v[j + 1][i] + q[i][j];
        }
        for (int i = 1; i < n - 1; i++) {
            u[i][0] = 1.0;
            p[i][0] = 0.0;
            q[i][0] = u[i][0];
            for (int j = 1; j < n - 1; j++) {
                p[i][j] = -f / (d * p[i][j - 1] + e);
                q[i][j] = (-a * v[i - 1][j] + (1.0 + 2.0 * a) * v[i][j] - c * v[i + 1][j] - d * q[i][j - 1]) /
                          (d * p[i][j - 1] + e);
            }
            u[i][n - 1] = 1.0;
            for (int j = n - 2; j >= 1; j--) u[i][j] = p[i][j] * u[i][j + 1] + q[i][j];
        }
    }
}

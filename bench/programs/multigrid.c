/* SPDX-License-Identifier: Apache-2.0 */
/* multigrid.c - two cycles over grids of n x n points and of half of that, down to four, and up again. */
#include "kernel.h"

static void smooth(double *u, const double *f, size_t n)
{
    for (size_t i = 1; i + 1 < n; i++)
        for (size_t j = 1; j + 1 < n; j++)
            u[i * n + j] = 0.25 * (u[(i - 1) * n + j] + u[(i + 1) * n + j] + u[i * n + j - 1] +
                                   u[i * n + j + 1] + f[i * n + j]);
}

static void cycle(double *u, double *f, size_t n)
{
    smooth(u, f, n);
    if (n < 8) return;
    const size_t half = n / 2;
    double *coarse_u = kernel_memory(half * half, sizeof *coarse_u);
    double *coarse_f = kernel_memory(half * half, sizeof *coarse_f);
    for (size_t i = 1; i + 1 < half; i++)
        for (size_t j = 1; j + 1 < half; j++)
            coarse_f[i * half + j] = f[2 * i * n + 2 * j] - u[2 * i * n + 2 * j];
    cycle(coarse_u, coarse_f, half);
    for (size_t i = 1; i + 1 < half; i++)
        for (size_t j = 1; j + 1 < half; j++) u[2 * i * n + 2 * j] += coarse_u[i * half + j];
    free(coarse_u);
    free(coarse_f);
    smooth(u, f, n);
}

int main(int argc, char **argv)
{
    const size_t n = kernel_size(argc, argv);
    double *u = kernel_memory(n * n, sizeof *u), *f = kernel_memory(n * n, sizeof *f);
    for (size_t i = 0; i < n * n; i++) f[i] = (double)(i % 13);
    for (int i = 0; i < 2; i++) cycle(u, f, n);
    return kernel_done(u[n * n / 2]);
}

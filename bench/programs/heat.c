/* SPDX-License-Identifier: Apache-2.0 */
/* heat.c - heat that spreads over a plate of n x n points with a hot edge: twelve steps in two arrays. */
#include "kernel.h"

static void step(const double *from, double *to, size_t n)
{
    for (size_t i = 1; i + 1 < n; i++)
        for (size_t j = 1; j + 1 < n; j++)
            to[i * n + j] =
                from[i * n + j] + 0.2 * (from[(i - 1) * n + j] + from[(i + 1) * n + j] + from[i * n + j - 1] +
                                         from[i * n + j + 1] - 4 * from[i * n + j]);
}

int main(int argc, char **argv)
{
    const size_t n = kernel_size(argc, argv);
    double *a = kernel_memory(n * n, sizeof *a), *b = kernel_memory(n * n, sizeof *b);
    for (size_t j = 0; j < n; j++) a[j] = b[j] = 100;
    for (int i = 0; i < 6; i++) {
        step(a, b, n);
        step(b, a, n);
    }
    return kernel_done(a[n * n / 2]);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* matmul_blocked.c - the matrix product in tiles of 16 x 16; n is a multiple of 16. */
#include "kernel.h"

enum { TILE = 16 };

static void multiply_tile(const double *a, const double *b, double *c, size_t n)
{
    for (size_t i = 0; i < TILE; i++)
        for (size_t k = 0; k < TILE; k++)
            for (size_t j = 0; j < TILE; j++) c[i * n + j] += a[i * n + k] * b[k * n + j];
}

int main(int argc, char **argv)
{
    const size_t n = kernel_size(argc, argv) / TILE * TILE;
    double *a = kernel_memory(n * n + 1, sizeof *a), *b = kernel_memory(n * n + 1, sizeof *b);
    double *c = kernel_memory(n * n + 1, sizeof *c);
    for (size_t i = 0; i < n * n; i++) a[i] = (double)(i % 7), b[i] = (double)(i % 5);
    for (size_t i = 0; i < n; i += TILE)
        for (size_t j = 0; j < n; j += TILE)
            for (size_t k = 0; k < n; k += TILE)
                multiply_tile(a + i * n + k, b + k * n + j, c + i * n + j, n);
    return kernel_done(c[0]);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* sparse.c - ten products of a sparse matrix, n rows of eight random columns, with a vector. */
#include "kernel.h"

enum { ENTRIES = 8 };

int main(int argc, char **argv)
{
    const size_t n = kernel_size(argc, argv);
    size_t *column = kernel_memory(n * ENTRIES, sizeof *column);
    double *value = kernel_memory(n * ENTRIES, sizeof *value);
    double *x = kernel_memory(n, sizeof *x), *y = kernel_memory(n, sizeof *y);
    uint64_t seed = 1;
    for (size_t i = 0; i < n * ENTRIES; i++) column[i] = (size_t)(kernel_random(&seed) % n), value[i] = 0.1;
    for (size_t i = 0; i < n; i++) x[i] = 1;
    for (int pass = 0; pass < 10; pass++) {
        for (size_t i = 0; i < n; i++) {
            double sum = 0;
            for (size_t k = 0; k < ENTRIES; k++) sum += value[i * ENTRIES + k] * x[column[i * ENTRIES + k]];
            y[i] = sum;
        }
        double *swap = x;
        x = y;
        y = swap;
    }
    return kernel_done(x[0]);
}

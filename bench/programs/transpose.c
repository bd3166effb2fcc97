/* SPDX-License-Identifier: Apache-2.0 */
/* transpose.c - a matrix of n x n numbers turned over, eight times, each time added to its rows' sums. */
#include "kernel.h"

int main(int argc, char **argv)
{
    const size_t n = kernel_size(argc, argv);
    double *a = kernel_memory(n * n, sizeof *a), *b = kernel_memory(n * n, sizeof *b);
    double *sums = kernel_memory(n, sizeof *sums);
    for (size_t i = 0; i < n * n; i++) a[i] = (double)(i % 17);
    for (int time = 0; time < 8; time++) {
        for (size_t i = 0; i < n; i++)
            for (size_t j = 0; j < n; j++) b[j * n + i] = a[i * n + j];
        for (size_t i = 0; i < n; i++)
            for (size_t j = 0; j < n; j++) sums[i] += b[i * n + j];
        double *swap = a;
        a = b;
        b = swap;
    }
    return kernel_done(sums[n / 2]);
}

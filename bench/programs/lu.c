/* SPDX-License-Identifier: Apache-2.0 */
/* lu.c - LU decomposition without pivoting, n x n. */
#include "kernel.h"

int main(int argc, char **argv)
{
    const size_t n = kernel_size(argc, argv);
    double *a = kernel_memory(n * n, sizeof *a);
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++) a[i * n + j] = i == j ? (double)n : 1.0 / (double)(1 + i + j);
    for (size_t k = 0; k < n; k++)
        for (size_t i = k + 1; i < n; i++) {
            const double factor = a[i * n + k] /= a[k * n + k];
            for (size_t j = k + 1; j < n; j++) a[i * n + j] -= factor * a[k * n + j];
        }
    return kernel_done(a[n * n - 1]);
}

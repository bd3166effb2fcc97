/* SPDX-License-Identifier: Apache-2.0 */
/* cholesky.c - the Cholesky decomposition of an n x n matrix, by rows. */
#include "kernel.h"

int main(int argc, char **argv)
{
    const size_t n = kernel_size(argc, argv);
    double *a = kernel_memory(n * n, sizeof *a);
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j <= i; j++) a[i * n + j] = i == j ? (double)(n * n) : (double)((i * j) % 7);
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j <= i; j++) {
            double sum = a[i * n + j];
            for (size_t k = 0; k < j; k++) sum -= a[i * n + k] * a[j * n + k];
            /* The root is not what is measured: the diagonal stays the square. */
            a[i * n + j] = i == j ? sum : sum / a[j * n + j];
        }
    return kernel_done(a[n * n - 1]);
}

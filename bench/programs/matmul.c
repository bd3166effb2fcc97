/* SPDX-License-Identifier: Apache-2.0 */
/* matmul.c - the textbook matrix product, n x n. */
#include "kernel.h"

int main(int argc, char **argv)
{
    const size_t n = kernel_size(argc, argv);
    double *a = kernel_memory(n * n, sizeof *a), *b = kernel_memory(n * n, sizeof *b);
    double *c = kernel_memory(n * n, sizeof *c);
    for (size_t i = 0; i < n * n; i++) a[i] = (double)(i % 7), b[i] = (double)(i % 5);
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++) {
            double sum = 0;
            for (size_t k = 0; k < n; k++) sum += a[i * n + k] * b[k * n + j];
            c[i * n + j] = sum;
        }
    return kernel_done(c[n * n - 1]);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* polynomials.c - the product of two polynomials of n coefficients, as at school. */
#include "kernel.h"

int main(int argc, char **argv)
{
    const size_t n = kernel_size(argc, argv);
    uint32_t *a = kernel_memory(n, sizeof *a), *b = kernel_memory(n, sizeof *b),
             *c = kernel_memory(2 * n, sizeof *c);
    for (size_t i = 0; i < n; i++) a[i] = (uint32_t)(i % 97), b[i] = (uint32_t)(i % 89);
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++) c[i + j] += a[i] * b[j];
    return kernel_done(c[n]);
}

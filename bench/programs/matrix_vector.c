/* SPDX-License-Identifier: Apache-2.0 */
/* matrix_vector.c - the power method: six products of an n x n matrix with a vector. */
#include "kernel.h"

int main(int argc, char **argv)
{
    const size_t n = kernel_size(argc, argv);
    double *a = kernel_memory(n * n, sizeof *a), *x = kernel_memory(n, sizeof *x),
           *y = kernel_memory(n, sizeof *y);
    for (size_t i = 0; i < n * n; i++) a[i] = 1.0 / (double)(1 + i % 11);
    for (size_t i = 0; i < n; i++) x[i] = 1;
    for (int time = 0; time < 6; time++) {
        double largest = 0;
        for (size_t i = 0; i < n; i++) {
            double sum = 0;
            for (size_t j = 0; j < n; j++) sum += a[i * n + j] * x[j];
            y[i] = sum;
            if (sum > largest) largest = sum;
        }
        for (size_t i = 0; i < n; i++) x[i] = y[i] / largest;
    }
    return kernel_done(x[n / 2]);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* stencil_2d.c - ten sweeps of a five-point average over n x n numbers. */
#include "kernel.h"

int main(int argc, char **argv)
{
    const size_t n = kernel_size(argc, argv) + 2;
    double *now = kernel_memory(n * n, sizeof *now), *next = kernel_memory(n * n, sizeof *next);
    for (size_t i = 0; i < n * n; i++) now[i] = (double)(i % 9);
    for (int sweep = 0; sweep < 10; sweep++) {
        for (size_t i = 1; i + 1 < n; i++)
            for (size_t j = 1; j + 1 < n; j++) {
                const double *at = now + i * n + j;
                next[i * n + j] = (at[0] + at[-1] + at[1] + *(at - n) + at[n]) / 5;
            }
        double *swap = now;
        now = next;
        next = swap;
    }
    return kernel_done(now[n * n / 2]);
}

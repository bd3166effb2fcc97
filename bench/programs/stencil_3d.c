/* SPDX-License-Identifier: Apache-2.0 */
/* stencil_3d.c - six sweeps of a seven-point average over n x n x n numbers. */
#include "kernel.h"

int main(int argc, char **argv)
{
    const size_t n = kernel_size(argc, argv) + 2, plane = n * n;
    double *now = kernel_memory(n * plane, sizeof *now), *next = kernel_memory(n * plane, sizeof *next);
    for (size_t i = 0; i < n * plane; i++) now[i] = (double)(i % 9);
    for (int sweep = 0; sweep < 6; sweep++) {
        for (size_t i = 1; i + 1 < n; i++)
            for (size_t j = 1; j + 1 < n; j++)
                for (size_t k = 1; k + 1 < n; k++) {
                    const double *at = now + i * plane + j * n + k;
                    next[i * plane + j * n + k] =
                        (at[0] + at[-1] + at[1] + *(at - n) + at[n] + *(at - plane) + at[plane]) / 7;
                }
        double *swap = now;
        now = next;
        next = swap;
    }
    return kernel_done(now[n * plane / 2]);
}

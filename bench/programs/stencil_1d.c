/* SPDX-License-Identifier: Apache-2.0 */
/* stencil_1d.c - ten sweeps of a three-point average over n numbers. */
#include "kernel.h"

int main(int argc, char **argv)
{
    const size_t n = kernel_size(argc, argv) + 2;
    double *now = kernel_memory(n, sizeof *now), *next = kernel_memory(n, sizeof *next);
    for (size_t i = 0; i < n; i++) now[i] = (double)(i % 9);
    for (int sweep = 0; sweep < 10; sweep++) {
        for (size_t i = 1; i + 1 < n; i++) next[i] = (now[i - 1] + now[i] + now[i + 1]) / 3;
        double *swap = now;
        now = next;
        next = swap;
    }
    return kernel_done(now[n / 2]);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* life.c - Conway's game of life on n x n cells, ten generations. */
#include "kernel.h"

int main(int argc, char **argv)
{
    const size_t n = kernel_size(argc, argv) + 2;
    unsigned char *now = kernel_memory(n * n, 1), *next = kernel_memory(n * n, 1);
    uint64_t seed = 1;
    for (size_t i = 1; i + 1 < n; i++)
        for (size_t j = 1; j + 1 < n; j++) now[i * n + j] = kernel_random(&seed) % 3 == 0;
    for (int generation = 0; generation < 10; generation++) {
        for (size_t i = 1; i + 1 < n; i++)
            for (size_t j = 1; j + 1 < n; j++) {
                const unsigned char *at = now + i * n + j;
                const int alive = *(at - n - 1) + *(at - n) + *(at - n + 1) + at[-1] + at[1] + at[n - 1] +
                                  at[n] + at[n + 1];
                next[i * n + j] = alive == 3 || (alive == 2 && *at);
            }
        unsigned char *swap = now;
        now = next;
        next = swap;
    }
    return kernel_done(now[n * n / 2]);
}

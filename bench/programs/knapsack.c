/* SPDX-License-Identifier: Apache-2.0 */
/* knapsack.c - the best load of forty things in a sack that holds n. */
#include "kernel.h"

enum { THINGS = 40 };

int main(int argc, char **argv)
{
    const size_t n = kernel_size(argc, argv);
    uint64_t *best = kernel_memory(n + 1, sizeof *best), seed = 1;
    for (int thing = 0; thing < THINGS; thing++) {
        const size_t weight = 1 + kernel_random(&seed) % (n / 4 + 1);
        const uint64_t value = kernel_random(&seed) % 1000;
        for (size_t room = n; room >= weight; room--)
            if (best[room - weight] + value > best[room]) best[room] = best[room - weight] + value;
    }
    return kernel_done((double)best[n]);
}

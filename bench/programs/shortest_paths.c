/* SPDX-License-Identifier: Apache-2.0 */
/* shortest_paths.c - the shortest paths between all of n nodes, by Floyd and Warshall. */
#include "kernel.h"

int main(int argc, char **argv)
{
    const size_t n = kernel_size(argc, argv);
    uint32_t *length = kernel_memory(n * n, sizeof *length);
    uint64_t seed = 1;
    for (size_t i = 0; i < n * n; i++) length[i] = (uint32_t)(1 + kernel_random(&seed) % 1000);
    for (size_t k = 0; k < n; k++)
        for (size_t i = 0; i < n; i++)
            for (size_t j = 0; j < n; j++) {
                const uint32_t over = length[i * n + k] + length[k * n + j];
                if (over < length[i * n + j]) length[i * n + j] = over;
            }
    return kernel_done(length[n * n / 2]);
}

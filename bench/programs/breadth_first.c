/* SPDX-License-Identifier: Apache-2.0 */
/* breadth_first.c - breadth-first searches from four starts, in a random graph of n nodes with six edges
 * each.
 */
#include "kernel.h"

enum { EDGES = 6 };

int main(int argc, char **argv)
{
    const size_t n = kernel_size(argc, argv);
    uint32_t *edges = kernel_memory(n * EDGES, sizeof *edges), *level = kernel_memory(n, sizeof *level);
    uint32_t *queue = kernel_memory(n, sizeof *queue);
    uint64_t seed = 1, sum = 0;
    for (size_t i = 0; i < n * EDGES; i++) edges[i] = (uint32_t)(kernel_random(&seed) % n);
    for (size_t search = 0; search < 4; search++) {
        for (size_t i = 0; i < n; i++) level[i] = 0;
        size_t first = 0, last = 0;
        queue[last++] = (uint32_t)(search * n / 4);
        level[queue[0]] = 1;
        while (first < last) {
            const uint32_t at = queue[first++];
            for (size_t k = 0; k < EDGES; k++) {
                const uint32_t next = edges[at * EDGES + k];
                if (level[next]) continue;
                level[next] = level[at] + 1;
                queue[last++] = next;
            }
        }
        sum += level[queue[last - 1]];
    }
    return kernel_done((double)sum);
}

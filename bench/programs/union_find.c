/* SPDX-License-Identifier: Apache-2.0 */
/* union_find.c - n sets joined by 2 n random pairs, paths halved on the way. */
#include "kernel.h"

static uint32_t root_of(uint32_t *parent, uint32_t at)
{
    while (parent[at] != at) at = parent[at] = parent[parent[at]];
    return at;
}

int main(int argc, char **argv)
{
    const size_t n = kernel_size(argc, argv);
    uint32_t *parent = kernel_memory(n, sizeof *parent);
    uint64_t seed = 1, joined = 0;
    for (size_t i = 0; i < n; i++) parent[i] = (uint32_t)i;
    for (size_t i = 0; i < 2 * n; i++) {
        const uint32_t a = root_of(parent, (uint32_t)(kernel_random(&seed) % n));
        const uint32_t b = root_of(parent, (uint32_t)(kernel_random(&seed) % n));
        if (a != b) parent[a] = b, joined++;
    }
    return kernel_done((double)joined);
}

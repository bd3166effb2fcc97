/* SPDX-License-Identifier: Apache-2.0 */
/* radix_sort.c - n random 32-bit numbers sorted by their bytes, the lowest first. */
#include "kernel.h"

int main(int argc, char **argv)
{
    const size_t n = kernel_size(argc, argv);
    uint32_t *from = kernel_memory(n, sizeof *from), *to = kernel_memory(n, sizeof *to);
    uint64_t seed = 1;
    for (size_t i = 0; i < n; i++) from[i] = (uint32_t)kernel_random(&seed);
    for (unsigned shift = 0; shift < 32; shift += 8) {
        size_t starts[257] = {0};
        for (size_t i = 0; i < n; i++) starts[(from[i] >> shift & 255) + 1]++;
        for (size_t i = 0; i < 256; i++) starts[i + 1] += starts[i];
        for (size_t i = 0; i < n; i++) to[starts[from[i] >> shift & 255]++] = from[i];
        uint32_t *swap = from;
        from = to;
        to = swap;
    }
    return kernel_done(from[n / 2]);
}

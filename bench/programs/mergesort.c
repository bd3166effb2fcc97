/* SPDX-License-Identifier: Apache-2.0 */
/* mergesort.c - n random numbers sorted by merging, bottom up. */
#include "kernel.h"

static void merge(const uint64_t *from, uint64_t *to, size_t left, size_t middle, size_t end)
{
    size_t i = left, j = middle;
    for (size_t k = left; k < end; k++)
        to[k] = i < middle && (j >= end || from[i] <= from[j]) ? from[i++] : from[j++];
}

int main(int argc, char **argv)
{
    const size_t n = kernel_size(argc, argv);
    uint64_t *from = kernel_memory(n, sizeof *from), *to = kernel_memory(n, sizeof *to), seed = 1;
    for (size_t i = 0; i < n; i++) from[i] = kernel_random(&seed);
    for (size_t width = 1; width < n; width *= 2) {
        for (size_t i = 0; i < n; i += 2 * width) {
            const size_t middle = i + width < n ? i + width : n;
            merge(from, to, i, middle, i + 2 * width < n ? i + 2 * width : n);
        }
        uint64_t *swap = from;
        from = to;
        to = swap;
    }
    return kernel_done((double)from[n / 2]);
}

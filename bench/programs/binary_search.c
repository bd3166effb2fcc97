/* SPDX-License-Identifier: Apache-2.0 */
/* binary_search.c - as many random lookups in n ordered numbers as there are numbers. */
#include "kernel.h"

int main(int argc, char **argv)
{
    const size_t n = kernel_size(argc, argv);
    uint64_t *data = kernel_memory(n, sizeof *data), seed = 1, found = 0;
    for (size_t i = 0; i < n; i++) data[i] = 3 * i;
    for (size_t i = 0; i < n; i++) {
        const uint64_t wanted = kernel_random(&seed) % (3 * n);
        size_t low = 0, high = n;
        while (low < high) {
            const size_t middle = low + (high - low) / 2;
            if (data[middle] < wanted)
                low = middle + 1;
            else
                high = middle;
        }
        found += low < n && data[low] == wanted;
    }
    return kernel_done((double)found);
}

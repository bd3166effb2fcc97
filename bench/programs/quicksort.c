/* SPDX-License-Identifier: Apache-2.0 */
/* quicksort.c - n random numbers sorted by quicksort, the middle as the pivot. */
#include "kernel.h"

static void sort(uint64_t *data, size_t n)
{
    while (n > 1) {
        const uint64_t pivot = data[(n - 1) / 2];
        size_t i = 0, j = n - 1;
        for (;; i++, j--) {
            while (data[i] < pivot) i++;
            while (data[j] > pivot) j--;
            if (i >= j) break;
            const uint64_t swap = data[i];
            data[i] = data[j];
            data[j] = swap;
        }
        sort(data, j + 1);
        data += j + 1;
        n -= j + 1;
    }
}

int main(int argc, char **argv)
{
    const size_t n = kernel_size(argc, argv);
    uint64_t *data = kernel_memory(n, sizeof *data), seed = 1;
    for (size_t i = 0; i < n; i++) data[i] = kernel_random(&seed);
    sort(data, n);
    return kernel_done((double)data[n / 2]);
}

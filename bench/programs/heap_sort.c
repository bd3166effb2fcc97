/* SPDX-License-Identifier: Apache-2.0 */
/* heap_sort.c - n random numbers through a heap. */
#include "kernel.h"

static void sink(uint64_t *heap, size_t at, size_t n)
{
    const uint64_t value = heap[at];
    for (size_t child = 2 * at + 1; child < n; child = 2 * at + 1) {
        if (child + 1 < n && heap[child + 1] > heap[child]) child++;
        if (heap[child] <= value) break;
        heap[at] = heap[child];
        at = child;
    }
    heap[at] = value;
}

int main(int argc, char **argv)
{
    const size_t n = kernel_size(argc, argv);
    uint64_t *heap = kernel_memory(n, sizeof *heap), seed = 1;
    for (size_t i = 0; i < n; i++) heap[i] = kernel_random(&seed);
    for (size_t i = n / 2; i-- > 0;) sink(heap, i, n);
    for (size_t end = n; end-- > 1;) {
        const uint64_t largest = heap[0];
        heap[0] = heap[end];
        heap[end] = largest;
        sink(heap, 0, end);
    }
    return kernel_done((double)heap[n / 2]);
}

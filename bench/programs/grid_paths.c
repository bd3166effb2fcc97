/* SPDX-License-Identifier: Apache-2.0 */
/* grid_paths.c - the shortest way from a corner to all fields of a grid of n x n, by Dijkstra with a heap. */
#include "kernel.h"

typedef struct entry {
    uint32_t length, field;
} entry;

static void push(entry *heap, size_t *count, entry added)
{
    size_t at = (*count)++;
    for (; at > 0 && heap[(at - 1) / 2].length > added.length; at = (at - 1) / 2)
        heap[at] = heap[(at - 1) / 2];
    heap[at] = added;
}

static entry pop(entry *heap, size_t *count)
{
    const entry top = heap[0], last = heap[--*count];
    size_t at = 0;
    for (size_t child = 1; child < *count; child = 2 * at + 1) {
        if (child + 1 < *count && heap[child + 1].length < heap[child].length) child++;
        if (heap[child].length >= last.length) break;
        heap[at] = heap[child];
        at = child;
    }
    heap[at] = last;
    return top;
}

int main(int argc, char **argv)
{
    const size_t n = kernel_size(argc, argv) + 2;
    uint32_t *length = kernel_memory(n * n, sizeof *length), *cost = kernel_memory(n * n, sizeof *cost);
    entry *heap = kernel_memory(4 * n * n + 1, sizeof *heap);
    uint64_t seed = 1;
    size_t count = 0;
    for (size_t i = 1; i + 1 < n; i++)
        for (size_t j = 1; j + 1 < n; j++) {
            cost[i * n + j] = (uint32_t)(1 + kernel_random(&seed) % 9);
            length[i * n + j] = UINT32_MAX;
        }
    push(heap, &count, (entry){0, (uint32_t)(n + 1)});
    length[n + 1] = 0;
    while (count > 0) {
        const entry at = pop(heap, &count);
        if (at.length > length[at.field]) continue;
        const uint32_t next[] = {at.field - 1, at.field + 1, at.field - (uint32_t)n, at.field + (uint32_t)n};
        for (size_t k = 0; k < 4; k++) {
            const uint32_t over = at.length + cost[next[k]];
            if (over >= length[next[k]]) continue;
            length[next[k]] = over;
            push(heap, &count, (entry){over, next[k]});
        }
    }
    return kernel_done(length[n * n - n - 2]);
}

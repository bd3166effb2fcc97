/* SPDX-License-Identifier: Apache-2.0 */
/* list_walk.c - a list of n nodes in random order, walked through ten times. */
#include "kernel.h"

typedef struct node {
    struct node *next;
    uint64_t value;
} node;

int main(int argc, char **argv)
{
    const size_t n = kernel_size(argc, argv);
    node *nodes = kernel_memory(n, sizeof *nodes);
    size_t *order = kernel_memory(n, sizeof *order);
    uint64_t seed = 1, sum = 0;
    for (size_t i = 0; i < n; i++) order[i] = i;
    for (size_t i = n - 1; i > 0; i--) {
        const size_t j = (size_t)(kernel_random(&seed) % (i + 1)), swap = order[i];
        order[i] = order[j];
        order[j] = swap;
    }
    for (size_t i = 0; i + 1 < n; i++) nodes[order[i]].next = &nodes[order[i + 1]];
    for (int i = 0; i < 10; i++)
        for (node *at = &nodes[order[0]]; at; at = at->next) sum += at->value++;
    return kernel_done((double)sum);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* words.c - n random words of one to eight letters counted in a tree of letters. */
#include "kernel.h"

enum { LETTERS = 8 };
typedef struct node {
    struct node *next[LETTERS];
    uint32_t count;
} node;

int main(int argc, char **argv)
{
    const size_t n = kernel_size(argc, argv);
    node *root = kernel_memory(1, sizeof *root);
    uint64_t seed = 1, again = 0;
    for (size_t i = 0; i < n; i++) {
        node *at = root;
        for (uint64_t length = 1 + kernel_random(&seed) % 8; length > 0; length--) {
            node **next = &at->next[kernel_random(&seed) % LETTERS];
            if (!*next) *next = kernel_memory(1, sizeof **next);
            at = *next;
        }
        again += at->count++ > 0;
    }
    return kernel_done((double)again);
}

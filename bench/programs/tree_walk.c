/* SPDX-License-Identifier: Apache-2.0 */
/* tree_walk.c - n random keys in a binary search tree, walked through in order eight times. */
#include "kernel.h"

typedef struct node {
    uint64_t key;
    struct node *left, *right;
} node;

static uint64_t walk(const node *tree)
{
    return tree ? walk(tree->left) + tree->key + walk(tree->right) : 0;
}

int main(int argc, char **argv)
{
    const size_t n = kernel_size(argc, argv);
    node *nodes = kernel_memory(n, sizeof *nodes), *root = NULL;
    uint64_t seed = 1, sum = 0;
    for (size_t i = 0; i < n; i++) {
        node **link = &root;
        nodes[i].key = kernel_random(&seed);
        while (*link) link = nodes[i].key < (*link)->key ? &(*link)->left : &(*link)->right;
        *link = &nodes[i];
    }
    for (int i = 0; i < 8; i++) sum += walk(root);
    return kernel_done((double)sum);
}

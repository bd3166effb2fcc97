/* SPDX-License-Identifier: Apache-2.0 */
/*
 * heap_tree.h - the live heap blocks of a process, by address: a B+-tree whose nodes lie in one table of
 * pages, so that a look into millions of blocks costs about one cache miss. Blocks never overlap: a new one
 * replaces those it lies over.
 */
#ifndef FATHOM_COLLECT_HEAP_TREE_H
#define FATHOM_COLLECT_HEAP_TREE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct fm_heap_block {
    uint64_t start, end; /* end: behind the last byte. Of more than 2^40 - 1 bytes the rest is left out */
    uint32_t context;    /* below 2^24 */
} fm_heap_block;

/* All zeroes is an empty tree. */
typedef struct fm_heap_tree {
    struct fm_heap_node *nodes;
    size_t capacity, used, free_count; /* nodes: in the table; ever used; given back since */
    uint32_t first_free;
    uint32_t root;
    unsigned height; /* levels above the leaves */
    size_t count;    /* blocks */
} fm_heap_tree;

void fm_heap_tree_clear(fm_heap_tree *tree);
/* start < end. 0, or -1 when memory is short: then nothing is changed. */
int fm_heap_tree_insert(fm_heap_tree *tree, fm_heap_block block);
/* The block that starts there, if there is one. */
void fm_heap_tree_erase(fm_heap_tree *tree, uint64_t start);
/* The block that holds an address. */
bool fm_heap_tree_find(const fm_heap_tree *tree, uint64_t address, fm_heap_block *found);
/* Prefetches what find will need; to be called some steps ahead. */
void fm_heap_tree_prefetch(const fm_heap_tree *tree, uint64_t address);
/* Whether a block has a byte in [low, high). */
bool fm_heap_tree_touches(const fm_heap_tree *tree, uint64_t low, uint64_t high);
/* into must be empty. 0, or -1 when memory is short: then it is empty. */
int fm_heap_tree_copy(fm_heap_tree *into, const fm_heap_tree *from);
/* Bytes held by nodes in use. */
uint64_t fm_heap_tree_memory(const fm_heap_tree *tree);

#endif

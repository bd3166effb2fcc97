/* SPDX-License-Identifier: Apache-2.0 */
/*
 * heap_tree.c - see program_tables.h.
 *
 * Leaves hold blocks by start and are linked both ways; inner nodes hold children, and of each child but the
 * first a lower bound of the starts below it. Insertion splits full nodes on the way down, having made sure
 * before that the table has room, so that a shortage of memory leaves the tree whole; erasing joins small
 * neighbours on the way back. No leaf is empty, save the only one. Nodes are known by their number: the table
 * moves when it grows.
 */
#include "program/program_tables.h"

#include "base/error.h"
#include "base/memory.h"

#include <string.h>

enum { WIDTH = 32, SMALL = WIDTH / 4, JOINED = WIDTH * 3 / 4, MOST_HEIGHT = 16, FIRST_NODES = 64 };
enum { SIZE_BITS = 40 };
#define NONE UINT32_MAX

/* The first words of a node decide most searches: keys first, on cache lines. */
typedef struct fm_heap_node {
    uint64_t key[WIDTH]; /* leaf: starts; inner: bounds, key[0] not used */
    union {
        uint64_t block[WIDTH]; /* leaf: context << SIZE_BITS | size */
        uint32_t child[WIDTH]; /* inner */
    } of;
    uint32_t count;
    uint32_t previous, next; /* leaves; next: also of free nodes */
} __attribute__((aligned(64))) node;

/* How many of n ascending values are <= value. Without branches on them: they could not be predicted. */
static inline unsigned up_to(const uint64_t *values, unsigned n, uint64_t value)
{
    size_t base = 0, left = n;
    while (left > 1) {
        size_t half = left / 2;
        base += half & (0 - (size_t)(values[base + half - 1] <= value));
        left -= half;
    }
    return (unsigned)base + (left == 1 && values[base] <= value);
}

static inline unsigned child_for(const node *inner, uint64_t address)
{
    return up_to(inner->key + 1, inner->count - 1, address);
}

static inline uint64_t end_of(const node *leaf, unsigned i)
{
    return leaf->key[i] + (leaf->of.block[i] & ((UINT64_C(1) << SIZE_BITS) - 1));
}

static inline fm_heap_block block_at(const node *leaf, unsigned i)
{
    return (fm_heap_block){leaf->key[i], end_of(leaf, i), (uint32_t)(leaf->of.block[i] >> SIZE_BITS)};
}

static inline node *leaf_for(const fm_heap_tree *tree, uint64_t address)
{
    node *at = &tree->nodes[tree->root];
    for (unsigned level = tree->height; level > 0; level--) {
        at = &tree->nodes[at->of.child[child_for(at, address)]];
        /* A search touches most of a node's lines, one after the other: prefetch them together. */
        for (unsigned line = 0; line < sizeof *at; line += 64) __builtin_prefetch((const char *)at + line);
    }
    return at;
}

/* ---- the table of nodes ---- */

void fm_heap_tree_clear(fm_heap_tree *tree)
{
    fm_pages_free(tree->nodes, tree->capacity * sizeof *tree->nodes);
    *tree = (fm_heap_tree){0};
}

uint64_t fm_heap_tree_memory(const fm_heap_tree *tree)
{
    return (tree->used - tree->free_count) * sizeof *tree->nodes;
}

/* Room for so many new nodes; 0 or -1. */
static int reserve_nodes(fm_heap_tree *tree, size_t nodes)
{
    if (tree->free_count + (tree->capacity - tree->used) >= nodes) return 0;
    size_t capacity = tree->capacity ? tree->capacity * 2 : FIRST_NODES;
    if (capacity >= NONE) return -1;
    void *grown = tree->nodes ? fm_pages_resize(tree->nodes, tree->capacity * sizeof *tree->nodes,
                                                capacity * sizeof *tree->nodes)
                              : fm_pages_allocate(capacity * sizeof *tree->nodes);
    if (!grown) return -1;
    tree->nodes = grown;
    tree->capacity = capacity;
    return 0;
}

static uint32_t new_node(fm_heap_tree *tree)
{
    uint32_t made;
    if (tree->free_count > 0) {
        made = tree->first_free;
        tree->first_free = tree->nodes[made].next;
        tree->free_count--;
    } else {
        made = (uint32_t)tree->used++;
    }
    tree->nodes[made].count = 0;
    tree->nodes[made].previous = tree->nodes[made].next = NONE;
    return made;
}

static void drop_node(fm_heap_tree *tree, uint32_t gone)
{
    FM_ASSERT(gone < tree->used);
    tree->nodes[gone].next = tree->first_free;
    tree->first_free = gone;
    tree->free_count++;
}

/* ---- finding ---- */

/* The last block that starts at or before an address. */
static inline bool last_up_to(const fm_heap_tree *tree, uint64_t address, fm_heap_block *found)
{
    if (tree->count == 0) return false;
    const node *at = leaf_for(tree, address);
    unsigned i = up_to(at->key, at->count, address);
    if (i == 0) { /* the bound is older than the leaf's first block */
        if (at->previous == NONE) return false;
        at = &tree->nodes[at->previous];
        i = at->count;
    }
    *found = block_at(at, i - 1);
    return true;
}

bool fm_heap_tree_find(const fm_heap_tree *tree, uint64_t address, fm_heap_block *found)
{
    return last_up_to(tree, address, found) && address < found->end;
}

void fm_heap_tree_prefetch(const fm_heap_tree *tree, uint64_t address)
{
    if (tree->count > 0) (void)leaf_for(tree, address);
}

bool fm_heap_tree_touches(const fm_heap_tree *tree, uint64_t low, uint64_t high)
{
    fm_heap_block last;
    return low < high && last_up_to(tree, high - 1, &last) && last.end > low;
}

/* ---- inserting ---- */

/* Copies n keys with what belongs to them; within one node they may overlap. */
static void move_items(node *to, unsigned to_index, const node *from, unsigned from_index, unsigned n,
                       bool leaves)
{
    memmove(to->key + to_index, from->key + from_index, n * sizeof to->key[0]);
    if (leaves)
        memmove(to->of.block + to_index, from->of.block + from_index, n * sizeof to->of.block[0]);
    else
        memmove(to->of.child + to_index, from->of.child + from_index, n * sizeof to->of.child[0]);
}

/* Splits the full child at an index; parent has room. At the end more stays left: growing heaps insert there.
 */
static void split_child(fm_heap_tree *tree, node *parent, unsigned index, bool leaves, uint64_t address)
{
    uint32_t made = new_node(tree), old = parent->of.child[index];
    node *left = &tree->nodes[old], *right = &tree->nodes[made];
    unsigned stay = address > left->key[WIDTH - 1] ? WIDTH - 2 : WIDTH / 2;
    FM_ASSERT(left->count == WIDTH && parent->count < WIDTH);
    right->count = WIDTH - stay;
    move_items(right, 0, left, stay, right->count, leaves);
    left->count = stay;
    if (leaves) {
        right->previous = old;
        right->next = left->next;
        if (right->next != NONE) tree->nodes[right->next].previous = made;
        left->next = made;
    }
    move_items(parent, index + 2, parent, index + 1, parent->count - index - 1, false);
    parent->key[index + 1] = right->key[0];
    parent->of.child[index + 1] = made;
    parent->count++;
}

/* The leaf for an address, with room for one more. NULL: memory is short. */
static node *leaf_with_room(fm_heap_tree *tree, uint64_t address)
{
    if (reserve_nodes(tree, tree->height + 3) != 0) return NULL;
    if (tree->count == 0 && tree->used == tree->free_count) {
        tree->root = new_node(tree);
        tree->height = 0;
    }
    if (tree->nodes[tree->root].count == WIDTH) {
        uint32_t above = new_node(tree);
        node *root = &tree->nodes[above];
        root->count = 1;
        root->of.child[0] = tree->root;
        split_child(tree, root, 0, tree->height == 0, address);
        tree->root = above;
        tree->height++;
    }
    node *at = &tree->nodes[tree->root];
    for (unsigned level = tree->height; level > 0; level--) {
        unsigned index = child_for(at, address);
        node *child = &tree->nodes[at->of.child[index]];
        for (unsigned line = 0; line < sizeof *child; line += 64)
            __builtin_prefetch((const char *)child + line);
        if (child->count == WIDTH) {
            split_child(tree, at, index, level == 1, address);
            if (address >= at->key[index + 1]) index++;
        }
        at = &tree->nodes[at->of.child[index]];
    }
    return at;
}

int fm_heap_tree_insert(fm_heap_tree *tree, fm_heap_block block)
{
    const uint64_t most = (UINT64_C(1) << SIZE_BITS) - 1;
    if (block.end - block.start > most) block.end = block.start + most;
    for (;;) {
        node *at = leaf_with_room(tree, block.start);
        if (!at) return -1;
        unsigned i = up_to(at->key, at->count, block.start);
        const node *before = i > 0 ? at : at->previous != NONE ? &tree->nodes[at->previous] : NULL;
        const node *after = i < at->count ? at : at->next != NONE ? &tree->nodes[at->next] : NULL;
        unsigned b = i > 0 ? i - 1 : before ? before->count - 1 : 0, a = i < at->count ? i : 0;
        if (before && end_of(before, b) > block.start) {
            fm_heap_tree_erase(tree, before->key[b]);
        } else if (after && after->key[a] < block.end) {
            fm_heap_tree_erase(tree, after->key[a]);
        } else {
            move_items(at, i + 1, at, i, at->count - i, true);
            at->key[i] = block.start;
            at->of.block[i] = (uint64_t)block.context << SIZE_BITS | (block.end - block.start);
            FM_ASSERT(i == 0 || end_of(at, i - 1) <= block.start);
            FM_ASSERT(i == at->count || block.end <= at->key[i + 1]);
            at->count++;
            tree->count++;
            return 0;
        }
    }
}

/* ---- erasing ---- */

/* Takes a child out of a node. */
static void remove_child(node *inner, unsigned index)
{
    move_items(inner, index, inner, index + 1, inner->count - index - 1, false);
    inner->count--;
}

static void unlink_leaf(fm_heap_tree *tree, const node *gone)
{
    if (gone->previous != NONE) tree->nodes[gone->previous].next = gone->next;
    if (gone->next != NONE) tree->nodes[gone->next].previous = gone->previous;
}

/* Joins children index and index + 1 where they are small enough together. */
static bool join_children(fm_heap_tree *tree, node *parent, unsigned index, bool leaves)
{
    if (index + 1 >= parent->count) return false;
    node *left = &tree->nodes[parent->of.child[index]];
    uint32_t gone = parent->of.child[index + 1];
    node *right = &tree->nodes[gone];
    if (left->count + right->count > JOINED) return false;
    if (leaves)
        unlink_leaf(tree, right);
    else
        right->key[0] = parent->key[index + 1];
    move_items(left, left->count, right, 0, right->count, leaves);
    left->count += right->count;
    remove_child(parent, index + 1);
    drop_node(tree, gone);
    return true;
}

/* Up from a leaf that lost a block: empty nodes go, small ones join a neighbour. */
static void tidy_path(fm_heap_tree *tree, node *const *path, const unsigned *taken)
{
    for (unsigned level = 0; level < tree->height; level++) {
        node *parent = path[level];
        unsigned index = taken[level];
        uint32_t child = parent->of.child[index];
        unsigned size = tree->nodes[child].count;
        if (size == 0) {
            if (level == 0) unlink_leaf(tree, &tree->nodes[child]);
            remove_child(parent, index);
            drop_node(tree, child);
        } else if (size >= SMALL || (!join_children(tree, parent, index, level == 0) &&
                                     (index == 0 || !join_children(tree, parent, index - 1, level == 0)))) {
            break;
        }
    }
    while (tree->height > 0 && tree->nodes[tree->root].count == 1) {
        uint32_t gone = tree->root;
        tree->root = tree->nodes[gone].of.child[0];
        tree->height--;
        drop_node(tree, gone);
    }
    if (tree->count == 0 && tree->height > 0) { /* the last leaf went, and everything above it */
        drop_node(tree, tree->root);
        tree->height = 0;
    }
}

void fm_heap_tree_erase(fm_heap_tree *tree, uint64_t start)
{
    node *path[MOST_HEIGHT];
    unsigned taken[MOST_HEIGHT];
    if (tree->count == 0) return;
    node *at = &tree->nodes[tree->root];
    for (unsigned level = tree->height; level > 0; level--) {
        path[level - 1] = at;
        taken[level - 1] = child_for(at, start);
        at = &tree->nodes[at->of.child[taken[level - 1]]];
        for (unsigned line = 0; line < sizeof *at; line += 64) __builtin_prefetch((const char *)at + line);
    }
    unsigned i = up_to(at->key, at->count, start);
    if (i == 0 || at->key[i - 1] != start) return;
    move_items(at, i - 1, at, i, at->count - i, true);
    at->count--;
    tree->count--;
    if (at->count < SMALL) tidy_path(tree, path, taken);
}

/* ---- copying ---- */

int fm_heap_tree_copy(fm_heap_tree *into, const fm_heap_tree *from)
{
    if (!from->nodes) return 0;
    *into = *from;
    into->nodes = fm_pages_allocate(from->capacity * sizeof *from->nodes);
    if (into->nodes) {
        memcpy(into->nodes, from->nodes, from->used * sizeof *from->nodes);
        return 0;
    }
    *into = (fm_heap_tree){0};
    return -1;
}

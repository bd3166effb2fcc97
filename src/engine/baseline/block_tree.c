/* SPDX-License-Identifier: Apache-2.0 */
/* block_tree.c - see block_tree.h. */
#include "engine/baseline/block_tree.h"

#include "base/error.h"
#include "base/memory.h"
#include "base/table.h"

#include <inttypes.h>
#include <string.h>

enum {
    FIRST_NODES = 128, /* 4 KiB */
    FIRST_BITS = 9,    /* 512 slots: 4 KiB */
    LAST_BITS = 32,    /* a slot's home comes from 32 bits of hash */
};

/* ---- memory ---- */

static uint64_t bytes_with(uint64_t capacity, unsigned bits)
{
    return capacity * sizeof(splay_node) + (UINT64_C(1) << bits) * sizeof(fm_block_slot);
}

uint64_t fm_block_tree_memory(const fm_block_tree *tree)
{
    return bytes_with(tree->capacity, tree->bits);
}

static uint64_t memory_at_first(void)
{
    return bytes_with(FIRST_NODES, FIRST_BITS);
}

fm_status fm_block_tree_create(fm_block_tree *tree, uint64_t seed, uint64_t first_time, fm_error *error)
{
    memset(tree, 0, sizeof *tree);
    tree->bits = FIRST_BITS;
    tree->capacity = FIRST_NODES;
    tree->time = first_time;
    tree->seed_add = fm_random_mixed(seed);
    tree->seed_multiply = fm_random_mixed(seed + UINT64_C(0x9E3779B97F4A7C15)) | 1;
    tree->nodes = fm_pages_allocate(FIRST_NODES * sizeof(splay_node));
    tree->slots = fm_pages_allocate(fm_block_tree_slots(tree) * sizeof(fm_block_slot));
    if (tree->nodes && tree->slots) return FM_OK;
    fm_block_tree_clear(tree);
    return fm_fail_memory(error, memory_at_first(), "the tree of blocks");
}

void fm_block_tree_clear(fm_block_tree *tree)
{
    fm_pages_free(tree->nodes, tree->capacity * sizeof(splay_node));
    fm_pages_free(tree->slots, fm_block_tree_slots(tree) * sizeof(fm_block_slot));
    tree->nodes = NULL;
    tree->slots = NULL;
}

/* What there will be after growing: a quarter more nodes, or where memory is to be spared, one page more. */
static void next_sizes(const fm_block_tree *tree, bool sparing, uint64_t *capacity, unsigned *bits)
{
    *capacity = tree->capacity;
    *bits = tree->bits;
    if ((uint64_t)tree->used + 1 >= tree->capacity)
        *capacity = sparing ? tree->capacity + FIRST_NODES
                            : (tree->capacity + tree->capacity / 4 + FIRST_NODES) / FIRST_NODES * FIRST_NODES;
    if (tree->count >= fm_block_tree_slots(tree) / 4 * 3) ++*bits;
}

uint64_t fm_block_tree_memory_next(const fm_block_tree *tree, bool sparing)
{
    uint64_t capacity;
    unsigned bits;
    next_sizes(tree, sparing, &capacity, &bits);
    return bytes_with(capacity, bits);
}

/* The nodes hold the blocks, so the doubled table is filled anew in place. */
static fm_status double_slots(fm_block_tree *tree, fm_error *error)
{
    const size_t bytes = fm_block_tree_slots(tree) * sizeof(fm_block_slot);
    fm_block_slot *slots = fm_pages_resize(tree->slots, bytes, bytes * 2);
    if (!slots) return fm_fail_memory(error, bytes * 2, "the hash table of the tree of blocks");
    memset(slots, 0, bytes);
    tree->slots = slots;
    tree->bits++;
    for (uint32_t i = 1; i <= tree->used; i++) {
        const uint32_t hash = fm_block_tree_hash(tree, tree->nodes[i].block);
        *fm_block_tree_find(tree, tree->nodes[i].block, hash) = (fm_block_slot){hash, i};
    }
    return FM_OK;
}

fm_status fm_block_tree_grow(fm_block_tree *tree, bool sparing, fm_error *error)
{
    uint64_t capacity;
    unsigned bits;
    next_sizes(tree, sparing, &capacity, &bits);
    if (bits > LAST_BITS)
        return fm_fail(error, FM_E_UNSUPPORTED, NULL, "a tree of blocks holds at most %" PRIu32, tree->count);
    if (capacity > tree->capacity) {
        const size_t bytes = capacity * sizeof(splay_node);
        splay_node *nodes = fm_pages_resize(tree->nodes, tree->capacity * sizeof(splay_node), bytes);
        if (!nodes) return fm_fail_memory(error, bytes, "the nodes of the tree of blocks");
        tree->nodes = nodes;
        tree->capacity = capacity;
    }
    return bits > tree->bits ? double_slots(tree, error) : FM_OK;
}

/* ---- forgetting ---- */

/* Empties a slot and moves up what had been pushed past it, so that no tombstone is needed. */
static void empty_slot(fm_block_tree *tree, const fm_block_slot *removed)
{
    uint64_t mask = fm_block_tree_slots(tree) - 1;
    uint64_t hole = (uint64_t)(removed - tree->slots);
    FM_ASSERT(hole <= mask && removed->node != SPLAY_NONE);
    for (uint64_t at = (hole + 1) & mask; tree->slots[at].node != SPLAY_NONE; at = (at + 1) & mask) {
        uint64_t home = fm_block_tree_home(tree, tree->slots[at].hash);
        /* It may move to the hole unless its home lies after the hole. */
        if (((at - home) & mask) >= ((at - hole) & mask)) {
            tree->slots[hole] = tree->slots[at];
            hole = at;
        }
    }
    tree->slots[hole] = (fm_block_slot){0, SPLAY_NONE};
}

/* Takes node x out of the tree; returns how many nodes are older. */
static uint32_t remove_node(fm_block_tree *tree, uint32_t x)
{
    FM_ASSERT(tree->count > 0 && x != SPLAY_NONE && x <= tree->used);
    tree->count--;
    if (x != tree->root) return splay_remove(tree->nodes, &tree->root, x);
    const splay_node *root = &tree->nodes[x];
    tree->root = splay_join(tree->nodes, root->left, root->right);
    return root->older;
}

uint32_t fm_block_tree_drop_oldest(fm_block_tree *tree)
{
    uint32_t oldest = tree->root;
    while (tree->nodes[oldest].left != SPLAY_NONE) oldest = tree->nodes[oldest].left;
    (void)remove_node(tree, oldest);
    const uint64_t block = tree->nodes[oldest].block;
    empty_slot(tree, fm_block_tree_find(tree, block, fm_block_tree_hash(tree, block)));
    return oldest;
}

uint32_t fm_block_tree_remove(fm_block_tree *tree, fm_block_slot *slot)
{
    const uint32_t x = slot->node;
    empty_slot(tree, slot);
    const uint32_t older = remove_node(tree, x);
    return tree->count - older;
}

void fm_block_tree_forget(fm_block_tree *tree)
{
    memset(tree->slots, 0, fm_block_tree_slots(tree) * sizeof(fm_block_slot));
    tree->root = SPLAY_NONE;
    tree->count = tree->used = 0;
}

/* ---- stacks that move to another owner ---- */

uint64_t fm_block_tree_unroll(fm_block_tree *tree)
{
    splay_node *const nodes = tree->nodes;
    uint32_t top = tree->root;
    while (nodes[top].right != SPLAY_NONE) { /* rotate left; sizes no longer matter */
        const uint32_t child = nodes[top].right;
        nodes[top].right = nodes[child].left;
        nodes[child].left = top;
        top = child;
    }
    tree->root = nodes[top].left;
    return nodes[top].block;
}

void fm_block_tree_add_older(fm_block_tree *tree, uint64_t block)
{
    const uint32_t hash = fm_block_tree_hash(tree, block), x = ++tree->used;
    tree->nodes[x].block = block;
    tree->count++;
    *fm_block_tree_find(tree, block, hash) = (fm_block_slot){hash, x};
}

/* A balanced tree of nodes[first] … nodes[first + count - 1], the most recent one first, which has `time`. */
static uint32_t balanced_subtree(splay_node *nodes, uint32_t first, uint32_t count, uint64_t time)
{
    if (count == 0) return SPLAY_NONE;
    const uint32_t newer = count / 2, older = count - 1 - newer;
    splay_node *middle = &nodes[first + newer];
    middle->time = time - newer;
    middle->older = older;
    middle->right = balanced_subtree(nodes, first, newer, time);
    middle->left = balanced_subtree(nodes, first + newer + 1, older, time - newer - 1);
    return first + newer;
}

/* Nothing was removed, so the nodes of the tree are the first ones, and the older ones those after them.
 * Every node on the path from the root to the oldest one gets all of these to its left. */
void fm_block_tree_link_older(fm_block_tree *tree)
{
    splay_node *const nodes = tree->nodes;
    const uint32_t linked = tree->root == SPLAY_NONE ? 0 : nodes[tree->root].older + 1;
    const uint32_t added = tree->used - linked;
    FM_ASSERT(linked <= tree->used && tree->count == tree->used);
    uint32_t oldest = SPLAY_NONE;
    if (added == 0) return;
    for (uint32_t at = tree->root; at != SPLAY_NONE; at = nodes[at].left) {
        nodes[at].older += added;
        oldest = at;
    }
    if (oldest != SPLAY_NONE) {
        nodes[oldest].left = balanced_subtree(nodes, linked + 1, added, nodes[oldest].time - 1);
        return;
    }
    tree->root = balanced_subtree(nodes, 1, added, tree->time - 1);
    (void)fm_block_tree_touch(tree, 1); /* the root is the most recent one, always */
    tree->time++;
}

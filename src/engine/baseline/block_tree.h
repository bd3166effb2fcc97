/* SPDX-License-Identifier: Apache-2.0 */
/*
 * block_tree.h - Olken's pair of structures: a splay tree of blocks ordered by the time of their last access
 * and a hash table from block to node. It is an LRU stack in which any block's depth is found in
 * O(log n) amortised. The engine `tree` is made of one, PARDA (cluster/parda_chunk.h) of one for each chunk.
 *
 * A node takes 32 bytes, a slot of the hash table 8, of which at most three quarters are taken. Growing is
 * separate from adding, so that what fails has changed nothing, and what must not fail cannot. At most
 * 3 * 2^30 blocks.
 *
 * It does not know bounds, limits of memory or what was seen before. What is on the path of every reference
 * is here, in the header, to be compiled into the loops that use it.
 */
#ifndef FATHOM_ENGINE_BASELINE_BLOCK_TREE_H
#define FATHOM_ENGINE_BASELINE_BLOCK_TREE_H

#include "base/error.h"

#include <fathom/status.h>
#include <stdbool.h>
#include <stdint.h>

/*
 * ==== splay tree ====
 *
 * The splay tree of block_tree.h: nodes in the order of their times, of which any
 * one can be taken out while those before it are counted.
 *
 * Shapes chosen by measurement: top-down, because bottom-up splaying with parent links also writes to
 * every child it moves; the size of the *left* subtree in each node instead of the whole one's, because
 * then a rotation touches no node off the path; links of 32 bits; both children fetched early.
 *
 * Left out: nodes of 16 bytes (32-bit times, renumbered when they run out; the block kept elsewhere). A
 * prototype was 7 to 48 % faster on Zipf over 1 M keys in three noisy pairs of runs, and no faster on
 * uniform.
 *
 * It does not know hashing or memory, and does not look at the block. Here, in a header, so that it is
 * compiled into the loops that use it.
 *
 * D. D. Sleator, R. E. Tarjan: Self-adjusting binary search trees, J. ACM 32(3), 1985.
 */

enum { SPLAY_NONE = 0 }; /* no node: nodes[0] is never used */

typedef struct splay_node {
    uint64_t block;
    uint64_t time; /* of the last reference */
    uint32_t left, right;
    uint32_t older; /* nodes in the left subtree */
    uint32_t unused;
} splay_node;

/* The clock counts modulo 2^64 and may start anywhere; no two live times are 2^63 apart. */
static inline bool splay_is_earlier(uint64_t a, uint64_t b)
{
    return (int64_t)(a - b) < 0;
}

/* One tree of two, all of the first being older: the newest of the first is splayed to its root, which
 * leaves room on its right. */
static inline uint32_t splay_join(splay_node *nodes, uint32_t first, uint32_t second)
{
    if (first == SPLAY_NONE) return second;
    if (second == SPLAY_NONE) return first;
    uint32_t top = first, left_root = SPLAY_NONE, left_end = SPLAY_NONE, before = 0;
    while (nodes[top].right != SPLAY_NONE) {
        uint32_t child = nodes[top].right;
        if (nodes[child].right != SPLAY_NONE) { /* rotate left */
            nodes[child].older += nodes[top].older + 1;
            nodes[top].right = nodes[child].left;
            nodes[child].left = top;
            top = child;
            child = nodes[top].right;
        }
        if (left_end != SPLAY_NONE)
            nodes[left_end].right = top;
        else
            left_root = top;
        left_end = top;
        before += nodes[top].older + 1;
        top = child;
    }
    if (left_end != SPLAY_NONE) {
        nodes[left_end].right = nodes[top].left;
        nodes[top].left = left_root;
        nodes[top].older += before;
    }
    nodes[top].right = second;
    return top;
}

/*
 * Takes node x, which is not the root, out of the tree; returns how many nodes are older. A top-down
 * splay towards x that stops at its parent, which becomes the root; x's own subtrees take x's place.
 *
 * The splay cuts the tree into those before the path's end (left_root … left_end, along right links)
 * and those after it (right_root … right_end, along left links). before counts the nodes that are
 * older than all that is still to be searched. What a node on the right will have in its left subtree
 * is known only at the end: until then its `older` is its rank in the whole tree.
 */
static inline uint32_t splay_remove(splay_node *nodes, uint32_t *root, uint32_t x)
{
    const uint64_t time = nodes[x].time;
    uint32_t left_root = SPLAY_NONE, left_end = SPLAY_NONE, right_root = SPLAY_NONE, right_end = SPLAY_NONE;
    uint32_t before = 0, top = *root;
    splay_node *parent;
    bool x_is_left;
    for (;;) {
        parent = &nodes[top];
        __builtin_prefetch(&nodes[parent->left]);
        __builtin_prefetch(&nodes[parent->right]);
        x_is_left = splay_is_earlier(time, parent->time);
        if (x_is_left) {
            uint32_t child = parent->left;
            if (child == x) break;
            if (splay_is_earlier(time, nodes[child].time)) { /* rotate right */
                parent->older -= nodes[child].older + 1;
                parent->left = nodes[child].right;
                nodes[child].right = top;
                top = child;
                parent = &nodes[top];
                child = parent->left;
                if (child == x) break;
            }
            if (right_end != SPLAY_NONE)
                nodes[right_end].left = top;
            else
                right_root = top;
            right_end = top;
            parent->older += before;
            top = child;
        } else {
            uint32_t child = parent->right;
            if (child == x) break;
            if (splay_is_earlier(nodes[child].time, time)) { /* rotate left */
                nodes[child].older += parent->older + 1;
                parent->right = nodes[child].left;
                nodes[child].left = top;
                top = child;
                parent = &nodes[top];
                child = parent->right;
                if (child == x) break;
            }
            if (left_end != SPLAY_NONE)
                nodes[left_end].right = top;
            else
                left_root = top;
            left_end = top;
            before += parent->older + 1;
            top = child;
        }
    }

    uint32_t rest = splay_join(nodes, nodes[x].left, nodes[x].right);
    uint32_t parent_rank = before + parent->older, x_rank, up_to_root;
    if (x_is_left) {
        x_rank = before + nodes[x].older;
        parent->left = rest;
        parent->older = parent_rank - 1;
        up_to_root = parent_rank + 1; /* counted with x, as the ranks on the right were */
    } else {
        x_rank = parent_rank + 1 + nodes[x].older;
        parent->right = rest;
        parent->older = parent_rank;
        up_to_root = parent_rank + 2;
    }
    if (left_end != SPLAY_NONE) {
        nodes[left_end].right = parent->left;
        parent->left = left_root;
    }
    if (right_end != SPLAY_NONE) {
        nodes[right_end].left = parent->right;
        parent->right = right_root;
        for (uint32_t at = right_root;; at = nodes[at].left) {
            nodes[at].older -= up_to_root;
            if (at == right_end) break;
        }
    }
    *root = top;
    return x_rank;
}

typedef struct fm_block_slot {
    uint32_t hash;
    uint32_t node; /* SPLAY_NONE: the slot is empty */
} fm_block_slot;

typedef struct fm_block_tree {
    splay_node *nodes;
    fm_block_slot *slots;
    uint32_t root;     /* while nothing was removed: the most recent block, without a right subtree */
    uint32_t count;    /* blocks held */
    uint32_t used;     /* nodes[1] … nodes[used] were given out; more than `count` after a removal */
    uint64_t capacity; /* of nodes, nodes[0] included */
    unsigned bits;     /* the table has 2^bits slots */
    uint64_t time;     /* of the next reference */
    uint64_t seed_add, seed_multiply;
} fm_block_tree;

/* On failure nothing is held. */
fm_status fm_block_tree_create(fm_block_tree *tree, uint64_t seed, uint64_t first_time, fm_error *error);
void fm_block_tree_clear(fm_block_tree *tree);
uint64_t fm_block_tree_memory(const fm_block_tree *tree);

/* Bytes held once there is room for one more block, of which there is none. sparing: for as few as possible,
 * where a limit is near. */
uint64_t fm_block_tree_memory_next(const fm_block_tree *tree, bool sparing);
/* Makes that room, in place: never two tables at once. Only while nothing was removed. */
fm_status fm_block_tree_grow(fm_block_tree *tree, bool sparing, fm_error *error);

/* ---- the hash table: linear probing ---- */

static inline uint64_t fm_block_tree_slots(const fm_block_tree *tree)
{
    return UINT64_C(1) << tree->bits;
}

static inline bool fm_block_tree_has_room(const fm_block_tree *tree)
{
    return (uint64_t)tree->used + 1 < tree->capacity && tree->count < fm_block_tree_slots(tree) / 4 * 3;
}

/* Seeded, so that nobody can choose blocks that meet in one place. */
static inline uint32_t fm_block_tree_hash(const fm_block_tree *tree, uint64_t block)
{
    __uint128_t product = (__uint128_t)(block ^ tree->seed_add) * tree->seed_multiply;
    uint64_t folded = (uint64_t)product ^ (uint64_t)(product >> 64);
    return (uint32_t)((folded * UINT64_C(0x9E3779B97F4A7C15)) >> 32);
}

static inline uint64_t fm_block_tree_home(const fm_block_tree *tree, uint32_t hash)
{
    return (uint64_t)hash >> (32 - tree->bits);
}

/* The slot of the block, or the empty one where it belongs. */
static inline fm_block_slot *fm_block_tree_find(const fm_block_tree *tree, uint64_t block, uint32_t hash)
{
    uint64_t mask = fm_block_tree_slots(tree) - 1;
    uint64_t at = fm_block_tree_home(tree, hash);
    for (;;) {
        fm_block_slot *candidate = &tree->slots[at];
        if (candidate->node == SPLAY_NONE) return candidate;
        if (candidate->hash == hash && tree->nodes[candidate->node].block == block) return candidate;
        at = (at + 1) & mask;
    }
}

/* Reference i of a run is next: fetches what those a little later will need. Always inline: gcc takes a
 * function that only fetches for one without effect, and leaves out calls of it. */
__attribute__((always_inline)) static inline void
fm_block_tree_fetch(const fm_block_tree *tree, const uint64_t *blocks, size_t i, size_t count)
{
    enum { NODE_AHEAD = 8, SLOT_AHEAD = 16 };
    if (count - i > SLOT_AHEAD) {
        const uint32_t hash = fm_block_tree_hash(tree, blocks[i + SLOT_AHEAD]);
        __builtin_prefetch(&tree->slots[fm_block_tree_home(tree, hash)]);
    }
    if (count - i > NODE_AHEAD) {
        const uint32_t hash = fm_block_tree_hash(tree, blocks[i + NODE_AHEAD]);
        __builtin_prefetch(&tree->nodes[tree->slots[fm_block_tree_home(tree, hash)].node]);
    }
}

/* ---- the stack ---- */

/* Hangs x, which is newer than all of the `others` nodes in the tree, above the root. */
static inline void fm_block_tree_put(fm_block_tree *tree, uint32_t x, uint32_t others)
{
    splay_node *put = &tree->nodes[x];
    FM_ASSERT(x != SPLAY_NONE && x <= tree->used);
    put->time = tree->time;
    put->left = tree->root;
    put->right = SPLAY_NONE;
    put->older = others;
    tree->root = x;
}

/* The block of node x is referenced again: it becomes the most recent one. Returns how many were more recent,
 * which is its distance. */
static inline uint32_t fm_block_tree_touch(fm_block_tree *tree, uint32_t x)
{
    if (x == tree->root) {
        tree->nodes[x].time = tree->time;
        return 0;
    }
    const uint32_t others = tree->count - 1;
    const uint32_t distance = others - splay_remove(tree->nodes, &tree->root, x);
    FM_ASSERT(distance <= others);
    fm_block_tree_put(tree, x, others);
    return distance;
}

/* A block that is not held becomes the most recent one, in a node from fm_block_tree_new_node or
 * fm_block_tree_drop_oldest. */
static inline void fm_block_tree_add(fm_block_tree *tree, uint32_t x, uint64_t block, uint32_t hash)
{
    tree->nodes[x].block = block;
    *fm_block_tree_find(tree, block, hash) = (fm_block_slot){hash, x};
    fm_block_tree_put(tree, x, tree->count++);
}

/* There must be room. */
static inline uint32_t fm_block_tree_new_node(fm_block_tree *tree)
{
    return ++tree->used;
}

/* Forgets the oldest block. Its node still has block and time, and is to be used anew at once. */
uint32_t fm_block_tree_drop_oldest(fm_block_tree *tree);

/* Forgets the block of this slot, and returns how many are more recent. Its node is lost until all are
 * forgotten. */
uint32_t fm_block_tree_remove(fm_block_tree *tree, fm_block_slot *slot);

/* ---- stacks that move to another owner ---- */

/*
 * The blocks from the most recent one on, one at each call, up to `count` calls; each is unlinked from the
 * tree, so that fm_block_tree_forget must follow. O(1) amortised and without memory: rotations unroll the
 * tree.
 */
uint64_t fm_block_tree_unroll(fm_block_tree *tree);
/* Forgets all blocks; keeps the memory. */
void fm_block_tree_forget(fm_block_tree *tree);

/*
 * Blocks that are older than all that are held, the most recent of them first, are added one by one; where
 * there is room. They can be found, but count only after fm_block_tree_link_older, which is to follow before
 * anything else: O(blocks added + depth of the tree).
 */
void fm_block_tree_add_older(fm_block_tree *tree, uint64_t block);
void fm_block_tree_link_older(fm_block_tree *tree);

#endif

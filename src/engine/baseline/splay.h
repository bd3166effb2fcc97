/* SPDX-License-Identifier: Apache-2.0 */
/*
 * splay.h - the splay tree of block_tree.h: nodes in the order of their times, of which any
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
#ifndef FATHOM_ENGINE_SPLAY_H
#define FATHOM_ENGINE_SPLAY_H

#include <stdbool.h>
#include <stdint.h>

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

#endif

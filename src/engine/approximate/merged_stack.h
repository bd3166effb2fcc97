/* SPDX-License-Identifier: Apache-2.0 */
/*
 * merged_stack.h - an LRU stack in which old blocks are merged: from the time of a block's last reference to
 * its approximate reuse distance. The heart of the engine `approx`; it needs no hash table itself, which is
 * how the benchmark reaches 10^12 blocks.
 *
 * C. Ding, Y. Zhong: Predicting whole-program locality through reuse distance analysis, PLDI 2003, sections
 * 2.1.1 (dynamic tree compression, relative error) and 2.1.2 (absolute error).
 *
 * A *node* stands for the blocks whose last references lie in an interval of time. The distance of a block is
 * reported as the number of blocks in later nodes: too small by the blocks of its own node that were used
 * after it, which are at most the node's size less one. A node may therefore hold, where d blocks are in
 * later ones, relative error E:   1 + floor(d E/(1-E)) blocks:        d_actual (1-E) <= d_found <= d_actual
 * absolute error B:   1 where d < C, else 1 + B blocks:   d_actual - B <= d_found <= d_actual, exact below C
 * d never shrinks and a node never grows but by merging, so what holds when it is merged holds from then on.
 *
 * Instead of the paper's balanced tree, nodes stand in an array in order of time: a reference appends one and
 * takes one from another; when the array is full (fm_merged_stack_limit: for relative errors the paper's
 * 4 log_{1+e'} M + 4), neighbours are merged, which leaves at most half of it. Between two merges the array
 * only changes its counts, so that
 *   - a node younger than the last merge is found by subtraction: every reference made one;
 *   - an older one through an index by the logarithm of its age, made at the merge, and a short search;
 *   - the blocks before a node are counted by a Fenwick tree. New nodes are in it from the start, as ones.
 *
 * Time O(log T) for T nodes, O(log log M) with a relative error; merging is O(1) amortised.
 * Space 20 bytes a node.
 */
#ifndef FATHOM_ENGINE_MERGED_STACK_H
#define FATHOM_ENGINE_MERGED_STACK_H

#include "base/error.h"

#include <fathom/status.h>

/* What a merge may lose. */
typedef struct fm_merge_rule {
    double relative_error;   /* 0 < E < 1; 0: the absolute rule */
    uint64_t absolute_error; /* B */
    uint64_t cutoff;         /* C: distances below are exact, with the absolute rule */
} fm_merge_rule;

typedef struct fm_merged_stack {
    fm_merge_rule rule;
    uint64_t live;      /* blocks in all nodes */
    uint64_t clock;     /* references so far: the time of the next one */
    size_t count;       /* nodes */
    size_t limit;       /* nodes at which they are merged */
    size_t merged;      /* nodes that the last merge left: those behind them are of one reference each */
    uint64_t merged_at; /* the clock then */
    /* Arrays of `capacity` elements. */
    size_t capacity;
    uint64_t *sums;    /* Fenwick tree over the nodes' sizes, [1 … limit] */
    uint64_t *newest;  /* of the merged nodes: no block in it was used later */
    uint32_t *by_age;  /* first node that is not older than the bucket's oldest age */
    unsigned age_bits; /* buckets for each power of two of ages: 2^age_bits */
} fm_merged_stack;

/* The most nodes there ever are with so many blocks. */
size_t fm_merged_stack_limit(const fm_merge_rule *rule, uint64_t blocks);

/* Starts empty: reserve before the first reference. */
void fm_merged_stack_start(fm_merged_stack *stack, const fm_merge_rule *rule);
void fm_merged_stack_clear(fm_merged_stack *stack);

/* Makes sure that `more` references, all perhaps to new blocks, can be taken without asking for memory. */
bool fm_merged_stack_has_room(const fm_merged_stack *stack, uint64_t more);
fm_status fm_merged_stack_reserve(fm_merged_stack *stack, uint64_t more, fm_error *error);
/* Bytes held now; and at the worst moment of making room. */
uint64_t fm_merged_stack_memory(const fm_merged_stack *stack);
uint64_t fm_merged_stack_memory_growing(const fm_merged_stack *stack, uint64_t more);

/* For FM_ASSERT: the nodes' sizes are those of all live blocks, and the newest times of nodes ascend. */
bool fm_merged_stack_is_sound(const fm_merged_stack *stack);

/* Internal to the two calls below: merges what the rule allows. There must be room. */
void fm_merged_stack_merge(fm_merged_stack *stack);

static inline size_t fm_merged_stack_bucket(const fm_merged_stack *stack, uint64_t age)
{
    const unsigned exponent = 63u - (unsigned)__builtin_clzll(age | 1);
    const unsigned shift = exponent > stack->age_bits ? exponent - stack->age_bits : 0;
    return ((size_t)shift << stack->age_bits) + (size_t)(age >> shift);
}

/* The node of a block that was last used then: the first whose newest time is not before it. */
static inline size_t fm_merged_stack_find(const fm_merged_stack *stack, uint64_t last)
{
    if (last >= stack->merged_at) return stack->merged + (size_t)(last - stack->merged_at);
    const size_t bucket = fm_merged_stack_bucket(stack, stack->merged_at - last);
    size_t low = stack->by_age[bucket], length = stack->by_age[bucket - 1] - low;
    while (length > 0) {
        const size_t half = length / 2;
        const bool later = stack->newest[low + half] < last;
        low = later ? low + half + 1 : low;
        length = later ? length - half - 1 : half;
    }
    return low;
}

/* A reference to a block that was never used before. */
static inline void fm_merged_stack_first(fm_merged_stack *stack)
{
    if (stack->count == stack->limit) fm_merged_stack_merge(stack);
    stack->count++;
    stack->live++;
    stack->clock++;
}

/* A reference to the block whose last reference was number `last`, counted from 0. Returns the distance. */
static inline uint64_t fm_merged_stack_reuse(fm_merged_stack *stack, uint64_t last)
{
    if (stack->count == stack->limit) fm_merged_stack_merge(stack);
    const size_t node = fm_merged_stack_find(stack, last) + 1;
    uint64_t before = 0;
    FM_ASSERT(last < stack->clock && node <= stack->count);
    for (size_t i = node; i > 0; i &= i - 1) before += stack->sums[i];
    FM_ASSERT(before > 0 && before <= stack->live);
    for (size_t i = node; i <= stack->limit; i += i & -i) stack->sums[i]--;
    stack->count++;
    stack->clock++;
    return stack->live - before;
}

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * small_stack.h - exact reuse distances below a small bound, at the cost of a few loads from near caches: the
 * exact part of the engine `shards`.
 *
 * `exact` under a bound works with tables made for any number of blocks. Where no more than some thousands
 * are of interest, everything fits into the second-level cache, and a part of the trace (fm_part in
 * exact_kernels.h) is worked off like this:
 *
 *     - what follows from the part alone is counted by the kernels that `exact` has for it;
 *     - every block's first touch in the part is looked up in a table of 16-bit positions;
 *     - its distance is a rank in one region of a recency window (recency_window.h), whose 32 counters are
 *       in a register;
 *     - the blocks of the part get the next positions of the region, in the order of their last touches.
 *
 * Where that leaves many lookups, all references are looked up instead, without a look at the part.
 *
 * When the region is full, the blocks within the bound move to its beginning, and the table is made anew: the
 * others are forgotten. So nothing is ever removed from the table.
 *
 * A block that is not held is a first touch, or one that was forgotten and is beyond the bound: those are
 * listed, and the owner decides which.
 */
#ifndef FATHOM_ENGINE_SMALL_STACK_H
#define FATHOM_ENGINE_SMALL_STACK_H

#include "engine/exact/exact_kernels.h"
#include "engine/tally.h"

enum {
    FM_SMALL_BOUND = 8192, /* the largest: the blocks within it and those of a part fill the region */
    FM_SMALL_CHUNK = 512,
    FM_SMALL_SLOT_BITS = 16,
    FM_SMALL_SLOTS = 1 << FM_SMALL_SLOT_BITS,
    FM_SMALL_POSITIONS = 1 << FM_REGION_SHIFT,
};

typedef struct fm_small_stack {
    fm_part part;
    const fm_exact_kernels *kernels;
    uint64_t bound;
    uint32_t multiplier[3]; /* of the table's hash; secret */
    uint32_t next;          /* places of the region that are taken; the first is never given out */
    uint32_t live;          /* bits set there: blocks held, and one for the first place */
    uint64_t last;          /* the latest block, for removing repeats */
    bool started;           /* there is a latest block */
    unsigned single;        /* parts that still go through reference by reference */
    unsigned straight;      /* parts that still go through without a look for repeats */
    /* The region: positions that were not given out are set. */
    uint64_t words[FM_REGION_LINES * FM_LINE_WORDS] __attribute__((aligned(64)));
    uint16_t lines[FM_REGION_LINES] __attribute__((aligned(64)));
    uint64_t block[FM_SMALL_POSITIONS]; /* by position */
    uint16_t position[FM_SMALL_SLOTS];  /* of the latest touch, by linear probing; 0: free */
    /* Of the current part: the slot of every first touch and where the block was (0: nowhere). */
    uint16_t slot[FM_PART_ROOM];
    uint16_t old[FM_PART_ROOM];
    /* Those whose blocks are held, in order; distances become what they say in fm_exact_kernels.small_ranks.
     */
    size_t held_count;
    uint32_t held_position[FM_PART_ROOM];
    uint32_t held_distance[FM_PART_ROOM];
    /* Blocks that were not held, since fm_small_stack_count was called. */
    size_t fresh_count;
    uint64_t fresh[FM_PART_ROOM];
    /* Of what fm_small_stack_count was given last: whether `part` has its links (fm_part.before, first,
     * last), of the references without repeats. */
    bool linked;
    size_t left_count;
    uint64_t unrepeated[FM_PART_ROOM];    /* those references, where any was removed */
    uint64_t packed[FM_REGION_BITS + 16]; /* blocks on their way to the region's beginning */
} fm_small_stack;

/* bound: 1 … FM_SMALL_BOUND. NULL when memory is short. */
fm_small_stack *fm_small_stack_create(uint64_t bound, uint64_t seed, const fm_exact_kernels *kernels);
void fm_small_stack_destroy(fm_small_stack *stack); /* NULL is fine */

/*
 * At most FM_PART references. Distances below the bound are counted, those of blocks that are held and beyond
 * it as `beyond`; blocks that are not held are in `fresh`, each as often as it came. The tally has room for
 * distances below the bound.
 */
void fm_small_stack_count(fm_small_stack *stack, const uint64_t *blocks, size_t count, fm_tally *tally);

/* The number of a place in the region, as a position there. */
static inline uint32_t fm_small_position(uint32_t place)
{
    return place / FM_LINE_BITS << FM_LINE_SHIFT | place % FM_LINE_BITS;
}

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * block_cutter.h - the accesses of a batch to the blocks that they touch: the one place where that is done,
 * for what is fed (analyzer_feed.c), what is prepared (analyzer_prepare.c) and the references of a cluster's
 * ranks.
 *
 *     fm_block_cutter cutter = {.kernels = kernels, .batch = &batch, .shift = 6, .end = batch.count};
 *     while (status == FM_OK && fm_block_cutter_left(&cutter) > 0)
 *         status = fm_block_cutter_next(&cutter, blocks, room, &count, &error);   // and what to do with them
 *
 * A *long* access, one that reaches beyond its block, is a reference to each block that it touches, in
 * ascending order.
 */
#ifndef FATHOM_ANALYZER_BLOCK_CUTTER_H
#define FATHOM_ANALYZER_BLOCK_CUTTER_H

#include "analyzer/access_budget.h"
#include "engine/exact/exact_kernels.h"

#include <fathom/trace.h>

enum { FM_CUT_ROOM = 16 }; /* kernels write that far beyond the last block */

typedef struct fm_block_cutter {
    /* Set by the caller, the rest 0. */
    const fm_exact_kernels *kernels;
    const fm_batch *batch;
    unsigned shift;
    size_t next, end;         /* accesses of the batch that are still to be cut */
    fm_access_budget *budget; /* that long ones must be within; NULL: they were looked at before */
    bool by_step; /* a call cuts one long access at most, and nothing else with it: see `access` */
    /* References that repeat the block before, within the batch, are left out. */
    bool distinct;
    /* The same with tags, by steps: their pairs are for the caller to count after each call. What is kept
     * goes into its arrays, which have room for all that is left and FM_TAGGED_CUT_MOST more, wherever they
     * are before each call. Or NULL. */
    fm_tagged_cut *tagged;
    /* The cutter's own. */
    uint64_t repeats; /* left out so far */
    size_t access;    /* the one that the last call began with */
    bool is_long;     /* all that it cut is of that one; else one block of each from there on, but repeats */
    uint64_t before;  /* the latest block */
    uint64_t block;   /* of a long access: the next one */
    uint64_t block_left; /* and so many in all */
} fm_block_cutter;

/* Blocks that are still to come at most, if no other access is long. 0: none. */
static inline uint64_t fm_block_cutter_left(const fm_block_cutter *cutter)
{
    return cutter->block_left + (cutter->end - cutter->next);
}

/*
 * The next blocks, up to `room` (over 0), and FM_CUT_ROOM of nothing. *count, how many, is set on failure
 * too: a long access that is not within the budget was met behind those.
 */
fm_status fm_block_cutter_next(fm_block_cutter *cutter, uint64_t *blocks, size_t room, size_t *count,
                               fm_error *error);

/* The tags of these accesses must not be over FM_TAG_MAX. */
fm_status fm_check_tags(const fm_batch *batch, size_t from, size_t count, fm_error *error);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * block_cutter.h - from a trace to blocks: what accesses may cost, accesses cut into blocks, and the loop
 * that reads a trace to its end. For the analyzer and for the cluster, whose ranks feed no analyzers.
 */
#ifndef FATHOM_ANALYZER_BLOCK_CUTTER_H
#define FATHOM_ANALYZER_BLOCK_CUTTER_H

#include "base/error.h"
#include "engine/exact/exact_kernels.h"

#include <fathom/trace.h>
#include <inttypes.h>

/*
 * ==== budget of accesses ====
 *
 * A bound on what accesses to many blocks may cost.
 *
 * An access is a few bytes of a trace, but a reference to each block that it touches: one that says 4 GiB
 * would be 2^26 references and as many blocks to remember. So the blocks of all long accesses together must
 * stay below a number of their own, and an average for each access fed so far. Time and memory are then in
 * proportion to what was read, whoever made it. What collectors deliver (FM_RANGE_MOST bytes at most) is
 * always within.
 */

enum {
    FM_LONG_FREE = 1 << 22,   /* blocks of long accesses, whatever the average */
    FM_LONG_BLOCKS = 1 << 10, /* and for each access: so many, or those of so many bytes, whichever is more */
    FM_LONG_BYTES = 64 << 10,
    FM_LONG_ENDS = 2, /* blocks that an access may touch in part */
};

typedef struct fm_access_budget {
    uint64_t accesses; /* fed, long or not */
    uint64_t blocks;   /* of the long ones */
} fm_access_budget;

static inline uint64_t fm_blocks_for_each(unsigned shift)
{
    const uint64_t by_bytes = FM_LONG_BYTES >> shift;
    return (by_bytes > FM_LONG_BLOCKS ? by_bytes : FM_LONG_BLOCKS) + FM_LONG_ENDS;
}

/* A long access comes, after so many more than budget->accesses: may it be taken? */
static inline fm_status fm_access_budget_spend(fm_access_budget *budget, uint64_t blocks, uint64_t more,
                                               unsigned shift, fm_error *error)
{
    const uint64_t accesses = budget->accesses + more + 1;
    budget->blocks += blocks;
    if (budget->blocks <= FM_LONG_FREE + accesses * fm_blocks_for_each(shift)) return FM_OK;
    return fm_fail(error, FM_E_CORRUPT, NULL,
                   "reference %" PRIu64 " touches %" PRIu64 " blocks of %" PRIu64
                   " bytes: with it, more than %" PRIu64
                   " for each reference; sizes are wrong, or the granularity is too small for them",
                   accesses, blocks, UINT64_C(1) << shift, fm_blocks_for_each(shift));
}

/*
 * ==== block cutter ====
 *
 * The accesses of a batch to the blocks that they touch: the one place where that is done,
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

/*
 * ==== reading all ====
 *
 * A reader to its end, for analyzers (analyze.c) and for the ranks of a cluster.
 */

typedef struct fm_batch_taker {
    void *context;
    fm_status (*take)(void *context, const fm_batch *batch, fm_error *error);
    void (*damage)(void *context, const fm_error *error); /* NULL: damage ends it */
} fm_batch_taker;

static inline fm_status fm_read_all(fm_reader *reader, const fm_batch_taker *taker, fm_error *error)
{
    for (;;) {
        fm_batch batch;
        fm_status status = fm_reader_next(reader, &batch, error);
        const bool damage = fm_status_is_damage(status) && taker->damage;
        if (damage) taker->damage(taker->context, error);
        if (damage) continue;
        if (status == FM_OK && batch.count > 0) status = taker->take(taker->context, &batch, error);
        if (status != FM_OK || batch.count == 0) return status;
    }
}

#endif

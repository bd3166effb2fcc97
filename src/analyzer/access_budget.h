/* SPDX-License-Identifier: Apache-2.0 */
/*
 * access_budget.h - a bound on what accesses to many blocks may cost.
 *
 * An access is a few bytes of a trace, but a reference to each block that it touches: one that says 4 GiB
 * would be 2^26 references and as many blocks to remember. So the blocks of all long accesses together must
 * stay below a number of their own, and an average for each access fed so far. Time and memory are then in
 * proportion to what was read, whoever made it. What collectors deliver (FM_RANGE_MOST bytes at most) is
 * always within.
 */
#ifndef FATHOM_ACCESS_BUDGET_H
#define FATHOM_ACCESS_BUDGET_H

#include "base/error.h"

#include <inttypes.h>

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

#endif

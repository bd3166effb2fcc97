/* SPDX-License-Identifier: Apache-2.0 */
/*
 * counted.h - what was counted of a region: how many accesses have which distance, and which access used the
 * block before. Filled by adding, in any order; finished once, then read.
 */
#ifndef FATHOM_STATIC_COUNTED_H
#define FATHOM_STATIC_COUNTED_H

#include <fathom/status.h>

#define FM_FIRST_TOUCH UINT32_MAX

typedef struct fm_counted_distance {
    uint64_t distance, count;
} fm_counted_distance;

typedef struct fm_counted_pair {
    uint32_t use, reuse; /* numbers of accesses; use FM_FIRST_TOUCH: nobody before (distance 0) */
    uint64_t distance;   /* distinct other blocks in between */
    uint64_t count;
} fm_counted_pair;

/* All zero is an empty one. */
typedef struct fm_static_counted {
    uint64_t points;                /* of all references: first touches and reuses */
    uint64_t cold;                  /* first touches */
    size_t distance_count;          /* after fm_static_counted_finish … */
    fm_counted_distance *distances; /* ascending, without first touches; one may stand for several */
    size_t pair_count;
    fm_counted_pair *pairs; /* by use, reuse, distance */
    const char *method;     /* who counted, a word; NULL: not said */
    uint64_t pieces;        /* of how many polynomials it is made; 0: not of polynomials */
    /* Until it is finished: open addressing, at most half full; a count of 0 is free. */
    fm_counted_pair *slots;
    size_t slot_count;
} fm_static_counted;

/* So many more points of `reuse` whose block `use` had before. FM_E_LIMIT: 2^64 points or more. */
fm_status fm_static_counted_add(fm_static_counted *counted, uint32_t use, uint32_t reuse, uint64_t distance,
                                uint64_t count, fm_error *error);
/* Sorts. Nothing can be added afterwards. */
fm_status fm_static_counted_finish(fm_static_counted *counted, fm_error *error);
/* Frees what is in it, and makes it empty. */
void fm_static_counted_clear(fm_static_counted *counted);

#endif

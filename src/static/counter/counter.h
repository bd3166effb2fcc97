/* SPDX-License-Identifier: Apache-2.0 */
/* counter.h - the distances of all accesses of a region, counted and proved, without going through them. */
#ifndef FATHOM_STATIC_COUNTER_H
#define FATHOM_STATIC_COUNTER_H

#include "static/polyhedra/polyhedra.h"

#include "base/table.h"

#include <fathom/profile.h>
#include <fathom/status.h>

#include <isl/ctx.h>

/* ---- isl ---- */

/*
 * One use of isl under limits of time, memory and operations.
 *
 * isl never aborts the process here: what it cannot do gives NULL, which all of its functions take and hand
 * on. Whoever works with it looks at fm_isl_alive from time to time and stops when it is false; the first
 * reason is kept. A thread watches the clock and the memory of the process, since one call of isl can take
 * for ever.
 */

typedef struct fm_isl_limits {
    double seconds;           /* from now on; 0: no limit */
    uint64_t memory;          /* bytes that the process may grow by; 0: no limit */
    unsigned long operations; /* of isl; 0: no limit */
} fm_isl_limits;

typedef struct fm_isl_work {
    isl_ctx *ctx;
    fm_status status;
    fm_error error;
    struct fm_isl_watch *watch;
} fm_isl_work;

fm_status fm_isl_work_begin(fm_isl_work *work, const fm_isl_limits *limits, fm_error *error);
/* Everything of isl has been freed. Returns the status of the work, and its reason. */
fm_status fm_isl_work_end(fm_isl_work *work, fm_error *error);

/* Is there any use in going on? False after a failure, when isl gave up, or when the time is over. */
bool fm_isl_alive(fm_isl_work *work);
/* The first failure counts. Returns false. */
bool fm_isl_fail(fm_isl_work *work, fm_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
bool fm_isl_no_memory(fm_isl_work *work);
/* A result of isl is NULL: says why, where isl knows it. Returns false. */
bool fm_isl_gave_up(fm_isl_work *work);

/* ---- values that are counted together ---- */

/* Which values are counted together: those of one bin of a histogram, between two edges of an attribution. */

/* What nobody will ask for need not be told apart. */
typedef struct fm_grouping {
    fm_bins bins;          /* FM_BINS_EXACT: every value by itself */
    const uint64_t *edges; /* ascending; where a value is below one and another one is not, they stay apart */
    size_t edge_count;
} fm_grouping;

typedef struct fm_value_cells {
    fm_bins bins;
    size_t count;
    uint64_t *borders; /* cell i has the values borders[i] … borders[i + 1] - 1; borders[0] is 0 */
    size_t *first;     /* the first cell of each bin */
} fm_value_cells;

/* For all values less than `size`. False: no memory. The bins are not exact ones. */
bool fm_cells_create(fm_value_cells *cells, const fm_grouping *grouping, uint64_t size);
void fm_cells_destroy(fm_value_cells *cells);

static inline size_t fm_cells_index(const fm_value_cells *cells, uint64_t value)
{
    size_t cell = cells->first[fm_bins_index(cells->bins, value)];
    while (cells->borders[cell + 1] <= value) cell++;
    return cell;
}

/* ---- what was counted ---- */

/*
 * What was counted of a region: how many accesses have which distance, and which access used the block
 * before. Filled by adding, in any order; finished once, then read.
 */

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
    const fm_counted_pair *pairs; /* by use, reuse, distance */
    const char *method;           /* who counted, a word; NULL: not said */
    uint64_t pieces;              /* of how many polynomials it is made; 0: not of polynomials */
    fm_table table;               /* of the pairs, sought by use, reuse and distance until it is finished */
} fm_static_counted;

/* So many more points of `reuse` whose block `use` had before. FM_E_LIMIT: 2^64 points or more. */
fm_status fm_static_counted_add(fm_static_counted *counted, uint32_t use, uint32_t reuse, uint64_t distance,
                                uint64_t count, fm_error *error);
/* Sorts. Nothing can be added afterwards. */
fm_status fm_static_counted_finish(fm_static_counted *counted, fm_error *error);
/* Frees what is in it, and makes it empty. */
void fm_static_counted_clear(fm_static_counted *counted);

/* ---- as a profile ---- */

/* counted is finished. The profile has the engine "static"; whether it is exact is the caller's to say. */
fm_status fm_counted_profile(const fm_static_counted *counted, uint64_t granularity, fm_bins bins,
                             fm_profile **profile, fm_error *error);
/* Tags are numbers of accesses and 1; ranges are cut at these edges. *pairs is to be freed. */
fm_status fm_counted_pairs(const fm_static_counted *counted, const uint64_t *edges, size_t edge_count,
                           fm_raw_pair **pairs, size_t *pair_count, fm_error *error);

/* ---- the exact count ---- */

/*
 * Its steps: the blocks that references touch, the access that used a block before, the blocks that are
 * touched in between (counter_touches.h), their number as polynomials (counter_system.h), and how often the
 * sum of these has which value (counter_values.h).
 */

/*
 * Everything at once. seconds: how long it may take; 0 is no limit. grouping: which distances are counted
 * together, as the least one of them; NULL: none. FM_E_LIMIT: given up, with the reason. FM_E_CORRUPT: the
 * result contradicts itself, which no input can be the cause of. What is in *result is then cleared.
 */
fm_status fm_count_exactly(const fm_reference_list *list, const fm_grouping *grouping, double seconds,
                           fm_static_counted *result, fm_error *error);

/* The same in steps. First the pieces: polynomials for the distances. */
typedef struct fm_distance_pieces fm_distance_pieces;
fm_status fm_distance_pieces_create(fm_distance_pieces **formulas, const fm_reference_list *list,
                                    const fm_isl_limits *limits, fm_error *error);
void fm_distance_pieces_destroy(fm_distance_pieces *formulas); /* NULL is fine */
/* Then how often there is which distance. */
fm_status fm_distance_pieces_count(fm_distance_pieces *formulas, const fm_grouping *grouping,
                                   fm_static_counted *result, fm_error *error);
/*
 * The distance of one access, by the pieces: for a point of a reference, its block number `block` (0: the
 * first one, and the only one of most accesses). *use: the access that used it before, or FM_FIRST_TOUCH.
 * FM_E_ARGUMENT: the reference has no such point, or it does not touch so many blocks. FM_E_CORRUPT: several
 * pieces hold there.
 */
fm_status fm_distance_pieces_at(const fm_distance_pieces *formulas, size_t reference, const int64_t *x,
                                uint32_t *use, uint64_t *distance, fm_error *error);

#endif

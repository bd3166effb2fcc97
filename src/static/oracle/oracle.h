/* SPDX-License-Identifier: Apache-2.0 */
/*
 * oracle.h - the truth about single accesses: which access touched the same block before, and how many other
 * blocks were touched in between. Exact, for any region that has references; worked out from the rows
 * without a walk over the region, so that it does not matter how long the region runs.
 *
 * An oracle has scratch memory: one thread uses it at a time.
 */
#ifndef FATHOM_STATIC_ORACLE_H
#define FATHOM_STATIC_ORACLE_H

#include "static/polyhedra/polyhedra.h"

#include <fathom/status.h>

typedef struct fm_point {
    uint32_t reference; /* number in the list */
    int64_t x[FM_REFERENCE_DEPTH];
} fm_point;

typedef struct fm_reuse {
    bool first; /* the block was never touched before; what follows means nothing then */
    fm_point previous;
    uint64_t distance; /* blocks between, without its own */
} fm_reuse;

typedef struct fm_oracle fm_oracle;

/* sets: 0 or 1: all blocks count; else only those of the same set (block number modulo sets). The list must
 * live as long as the oracle. */
fm_status fm_oracle_create(fm_oracle **oracle, const fm_reference_list *list, uint64_t sets, fm_error *error);
void fm_oracle_destroy(fm_oracle *oracle); /* NULL is fine */
/* What goes on beyond the deadline (fm_now; 0: none), or needs more bytes for intervals of blocks (0:
 * 1 GiB), ends with FM_E_LIMIT. */
void fm_oracle_limit(fm_oracle *oracle, double deadline, uint64_t memory);

/* point must be one of its reference's. FM_E_NOMEM; FM_E_LIMIT where the rows are so involved that a search
 * took too many steps (never for unit factors). */
fm_status fm_oracle_ask(fm_oracle *oracle, const fm_point *point, fm_reuse *reuse, fm_error *error);

/* How many blocks the whole region touches. */
fm_status fm_oracle_first_touches(fm_oracle *oracle, uint64_t *blocks, fm_error *error);

/* ---- reuses ---- */

/*
 * What is known of the reuses of a region: how many there are of each distance, between which two
 * references, and how many first touches each reference has. Samples and reconstruction give this.
 */

typedef struct fm_reuse_count {
    uint64_t distance;
    uint32_t from, to; /* references: the use, and the access that uses the block again */
    uint64_t count;
} fm_reuse_count;

typedef struct fm_reuses {
    uint64_t accesses;      /* all of the region: points of all references */
    uint64_t first_touches; /* exact */
    size_t count, capacity;
    fm_reuse_count *items; /* after fm_reuses_sort: by distance, from, to; each combination once */
    size_t reference_count;
    uint64_t *firsts; /* of each reference: its first touches (an estimate where the rest is one) */
} fm_reuses;

fm_status fm_reuses_create(fm_reuses *reuses, size_t reference_count, fm_error *error);
void fm_reuses_clear(fm_reuses *reuses);
fm_status fm_reuses_add(fm_reuses *reuses, uint64_t distance, uint32_t from, uint32_t to, uint64_t count,
                        fm_error *error);
/* Sorts, and makes one item of equal ones. */
void fm_reuses_sort(fm_reuses *reuses);

/* ---- samples ---- */

/*
 * The reuses of a region from some of its accesses, each of them worked out exactly (oracle.h).
 *
 * All accesses, reference after reference and in the order of time within each, are cut into as many parts
 * of equal size as there are samples; of each part one access is drawn. So every reference gets its share,
 * early and late accesses too, and all samples weigh the same. First touches are not estimated: they are the
 * exact union of what the region touches.
 *
 * The band: with probability 0.95 (over the draws) the true miss ratio is within `band` of the sampled one
 * at all cache sizes at once. Bretagnolle's inequality (the one of Dvoretzky, Kiefer and Wolfowitz for draws
 * that need not have the same distribution) gives sqrt(ln(2e / 0.05) / 2n): 1.53 % for 10,000 samples. It
 * does not use what the cutting into parts gains; the real error is mostly far smaller.
 */

typedef struct fm_sample_options {
    uint64_t samples; /* 0: 10,000; where there are fewer accesses than that, all are worked out */
    uint64_t sets;    /* as in oracle.h */
    uint64_t seed;
    double deadline; /* fm_now; 0: none. Beyond it: FM_E_LIMIT */
} fm_sample_options;

typedef struct fm_sampled_reuses {
    fm_reuses reuses;
    uint64_t samples;
    bool exact;  /* every access was worked out */
    double band; /* 0 where exact */
} fm_sampled_reuses;

fm_status fm_sample(fm_sampled_reuses *sampled, const fm_reference_list *list,
                    const fm_sample_options *options, fm_error *error);
void fm_sampled_reuses_clear(fm_sampled_reuses *sampled);

#endif

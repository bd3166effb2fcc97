/* SPDX-License-Identifier: Apache-2.0 */
/*
 * late_pairs.h - which pairs of lines re-use data too late for a cache, the largest first: what the
 * terminal's list shows, without any text. A first touch is no re-use: it is counted apart.
 */
#ifndef FATHOM_VIEW_LATE_PAIRS_H
#define FATHOM_VIEW_LATE_PAIRS_H

#include <fathom/profile.h>

#include "profile/attribution/pair_errors.h"
#include "view/code_lines.h"

typedef struct fm_late_pair {
    uint32_t use, reuse; /* lines; use FM_NONE: not known */
    double late;         /* re-uses that miss; more than 0 */
    uint64_t reuses;     /* all of them */
    fm_error_sum sure;   /* samples 0: exact, or not known */
    uint32_t number;     /* before sorting */
} fm_late_pair;

/* One pair of sites of a pair of lines. */
typedef struct fm_late_member {
    uint32_t rank, pair;
} fm_late_member;

/* What is missed on at a line. */
typedef struct fm_late_object {
    uint32_t line, object;
    double late;
} fm_late_object;

typedef struct fm_late_pairs {
    const fm_attribution *of;
    uint64_t blocks; /* of the cache */
    fm_code_lines lines;
    double late;        /* of all pairs */
    uint64_t cold;      /* first touches */
    uint32_t cold_line; /* where most of them are; FM_NONE: there are none */
    uint64_t cold_most; /* how many there */
    size_t count;       /* pairs of lines that are late at all */
    fm_late_pair *pairs;
    size_t top; /* of these, the largest `top` have members and objects */
    size_t member_count, object_count;
    fm_late_member *members; /* by rank */
    fm_late_object *objects; /* by line, then the largest first */
} fm_late_pairs;

/* most: how many will be looked at closely. The attribution is sound. */
fm_status fm_late_pairs_make(fm_late_pairs *late, const fm_attribution *of, uint64_t blocks, size_t most,
                             fm_error *error);
void fm_late_pairs_clear(fm_late_pairs *late);

/* The range of distances that holds the median of a top pair's late re-uses. False: it is beyond the bound.
 */
bool fm_late_pairs_median(const fm_late_pairs *late, size_t rank, uint64_t *lo, uint64_t *hi);

/* The two call paths on which most of a top pair's late re-uses are. share: of the pair's. FM_NONE: not
 * known. */
typedef struct fm_late_paths {
    uint32_t use, reuse;
    double share;
} fm_late_paths;
fm_status fm_late_pairs_paths(const fm_late_pairs *late, size_t rank, fm_late_paths *paths, fm_error *error);

/* The objects missed on at a line, the largest first. Returns how many; 0 where nothing is known. all: the
 * sum. */
size_t fm_late_pairs_objects(const fm_late_pairs *late, uint32_t line, const fm_late_object **objects,
                             double *all);

#endif

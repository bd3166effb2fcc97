/* SPDX-License-Identifier: Apache-2.0 */
/*
 * description.h - the reuses of all points of a reference that have the same outer loops, in a form that does
 * not grow with the length of loops.
 *
 * A description of level v is a list of runs of x[v]. A run begins at `start`; it has `count` blocks of
 * `period` values each, and for each of these values a description of level v + 1 whose numbers are
 * polynomials of the number of the block. A description of the level behind the last loop is a leaf:
 * distance, and the reference before (none: a first touch). Each description is two flat lists: its *shape*
 * (what there is, and how much) and its *numbers* (starts, counts, distances). Descriptions of the same shape
 * can be compared and interpolated number by number.
 *
 *     level:  shape  RUNS, then each run        numbers  those of each run
 *     run:    shape  PERIOD, DEGREE, then for each value: length of its shape, how many numbers, its shape
 *             numbers  start, count, then for each value: those of the inner description; each as the degree
 * + 1 coefficients of Newton's form. A single value is a run of period 1 and degree 0 with count 1. leaf:
 * shape  reference before + 1, or 0   numbers  distance (0 for a first touch)
 */
#ifndef FATHOM_STATIC_DESCRIPTION_H
#define FATHOM_STATIC_DESCRIPTION_H

#include "static/oracle/oracle.h"

typedef struct fm_description {
    uint32_t shape_count, number_count;
    int32_t *shape;
    int64_t *numbers; /* in the same piece of memory as shape */
} fm_description;

enum { FM_DESCRIPTION_DEGREE = 3 }; /* of polynomials, at most */

/* Newton's basis: n over 0, 1, … degree. */
static inline void fm_newton_basis(int64_t n, unsigned degree, int64_t *basis)
{
    basis[0] = 1;
    if (degree >= 1) basis[1] = n;
    if (degree >= 2) basis[2] = (int64_t)((__int128)n * (n - 1) / 2);
    if (degree >= 3) basis[3] = (int64_t)((__int128)n * (n - 1) / 2 * (n - 2) / 3);
}

static inline __int128 fm_newton_value(const int64_t *coefficients, const int64_t *basis, unsigned degree)
{
    __int128 value = coefficients[0];
    for (unsigned k = 1; k <= degree; k++)
        if (coefficients[k]) value += (__int128)coefficients[k] * basis[k];
    return value;
}

/* What it says of one point: x are the loops from its level on. False: it has no such point. */
bool fm_description_find(const int32_t *shape, const int64_t *numbers, unsigned levels, const int64_t *x,
                         bool *first, uint32_t *before, uint64_t *distance);

/* Every leaf with how many points it stands for; false: stop. Counts are exact; they may come in several
 * parts. */
typedef bool (*fm_description_visit)(void *context, bool first, uint32_t before, int64_t distance,
                                     uint64_t count);
/* False: stopped, or numbers that make no sense (negative counts, beyond 64 bits): the description is wrong.
 */
bool fm_description_expand(const int32_t *shape, const int64_t *numbers, unsigned levels, uint64_t times,
                           fm_description_visit visit, void *context);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* reconstruct_parts.h - what the files of the reconstruction share. */
#ifndef FATHOM_STATIC_RECONSTRUCT_PARTS_H
#define FATHOM_STATIC_RECONSTRUCT_PARTS_H

#include "static/oracle/oracle.h"

/* ---- descriptions ---- */

/*
 * The reuses of all points of a reference that have the same outer loops, in a form that does not grow with
 * the length of loops.
 *
 * A description of level v is a list of runs of x[v]. A run begins at `start`; it has `count` blocks of
 * `period` values each, and for each of these values a description of level v + 1 whose numbers are
 * polynomials of the number of the block. A description of the level behind the last loop is a leaf:
 * distance, and the reference before (none: a first touch). Each description is two flat lists: its *shape*
 * (what there is, and how much) and its *numbers* (starts, counts, distances). Descriptions of the same
 * shape can be compared and interpolated number by number.
 *
 * level:  shape  RUNS, then each run        numbers  those of each run
 * run:    shape  PERIOD, DEGREE, then for each value: length of its shape, how many numbers, its shape
 * numbers  start, count, then for each value: those of the inner description; each as the degree
 * + 1 coefficients of Newton's form. A single value is a run of period 1 and degree 0 with count 1. leaf:
 * shape  reference before + 1, or 0   numbers  distance (0 for a first touch).
 */

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

/* ---- special values ---- */

/*
 * Where reconstruction must look: after how many values of a loop the pattern of blocks repeats, and at
 * which values it may change. Hints: a value that is missing here costs correctness only as far as the
 * checks of reconstruct.h do not find it.
 */

enum { FM_SPECIAL_MOST_PERIOD = 4096 };

typedef struct fm_specials fm_specials;

fm_status fm_specials_create(fm_specials **specials, const fm_reference_list *list, uint64_t sets,
                             fm_error *error);
void fm_specials_destroy(fm_specials *specials); /* NULL is fine */

/* Of a loop of a reference; 0: longer than FM_SPECIAL_MOST_PERIOD. */
int64_t fm_specials_period(const fm_specials *specials, uint32_t reference, unsigned loop);

/* The same with all loops inside it: a border between two loops moves by blocks of the inner one. */
int64_t fm_specials_longer_period(const fm_specials *specials, uint32_t reference, unsigned loop);

typedef struct fm_special {
    int64_t value;
    bool whole; /* two loops or references meet there: all values of the blocks around it may differ */
} fm_special;

/* Values of x[loop] between low and high where something may change, given the loops outside: at most `most`
 * of them, ascending. */
size_t fm_specials_find(const fm_specials *specials, uint32_t reference, unsigned loop, const int64_t *x,
                        int64_t low, int64_t high, fm_special *values, size_t most);

/* Puts one more into an ascending list that has room for it; how many there are then. */
size_t fm_special_put(fm_special *values, size_t count, fm_special one);

/* ---- describing a reference ---- */

enum { FM_MOST_LEARNED = 64 };

/* Describes one reference after the other. */
typedef struct fm_describer {
    const fm_reference_list *list;
    fm_oracle *oracle;
    const fm_specials *specials;
    fm_static_random random;
    double deadline;
    uint64_t memory, memory_limit; /* bytes in descriptions */
    uint64_t asked;
    size_t learned_count; /* values of each loop at which a check failed */
    int64_t learned[FM_MOST_LEARNED][FM_REFERENCE_DEPTH];
    fm_error *error;
    /* of the reference that is described */
    uint32_t number;
    const fm_reference *reference;
    fm_projection *bounds;
} fm_describer;

/* The description of all points of a reference. NULL: self->error says why. */
fm_description *fm_describe(fm_describer *self, uint32_t number);
void fm_description_free(fm_describer *self, fm_description *description); /* NULL is fine */

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * special.h - where reconstruction must look: after how many values of a loop the pattern of blocks repeats,
 * and at which values it may change. Hints: a value that is missing here costs correctness only as far as the
 * checks of reconstruct.h do not find it.
 */
#ifndef FATHOM_STATIC_SPECIAL_H
#define FATHOM_STATIC_SPECIAL_H

#include "static/polyhedra/reference.h"

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

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * counter_narrow.h - a reuse (isl_previous.h) by fewer variables and quotients, as the equalities of its
 * domain say.
 *
 * Where rows are no whole blocks, a reuse is one of rows with a certain remainder: x = 8 q + 3. Everything
 * that is counted for it has quotients of x then, floor((x + 5) / 8) and many more, and isl has to find out
 * for each pair of them how they are related. By q they are sums: q + 1.
 */
#ifndef FATHOM_STATIC_COUNTER_NARROW_H
#define FATHOM_STATIC_COUNTER_NARROW_H

#include "static/counter/isl_previous.h"

/* The new variables by the old ones. All zero is an empty one. */
typedef struct fm_narrowing {
    fm_system of; /* kept: the old variables; quotients of them; the equalities that were used */
    unsigned count;
    fm_line variables[FM_REFERENCE_DEPTH];
} fm_narrowing;

/* Changes the reuse. *empty: it has no points. False: see work; the narrowing is to be cleared then, too. */
bool fm_reuse_narrow(fm_isl_work *work, fm_isl_reuse *reuse, fm_narrowing *narrowing, bool *empty);
/* The new variables at a point of the old ones; false: the reuse has no such point, or numbers beyond 64
 * bits. */
bool fm_narrowing_at(const fm_narrowing *narrowing, const int64_t *x, int64_t *variables);
bool fm_narrowing_copy(fm_isl_work *work, fm_narrowing *copy, const fm_narrowing *narrowing);
/* The part where a new variable has this remainder; its quotient takes its place. False: see work. */
bool fm_narrowing_split(fm_isl_work *work, fm_narrowing *part, const fm_narrowing *narrowing,
                        unsigned variable, int64_t by, int64_t remainder);
void fm_narrowing_clear(fm_narrowing *narrowing);

#endif

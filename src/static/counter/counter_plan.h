/* SPDX-License-Identifier: Apache-2.0 */
/*
 * counter_plan.h - which variables must be gone through to know how often a polynomial has which value.
 *
 * Those that are multiplied with each other, and one for the sum of all that are not; or, where that takes
 * few steps, all that the polynomial has. All others are counted.
 */
#ifndef FATHOM_STATIC_COUNTER_PLAN_H
#define FATHOM_STATIC_COUNTER_PLAN_H

#include "static/counter/counter.h"

typedef struct fm_plan {
    fm_system value_system; /* kept: the variables to go through; quotients of them; no conditions */
    fm_poly value;          /* by these */
    fm_pieces counts;       /* how many points there are for each; kept: the same variables */
    bool sum;               /* is the last variable a sum of others? */
} fm_plan;

/* all: of the polynomial, however many steps that takes. */
bool fm_plan_create(fm_isl_work *work, fm_plan *plan, const fm_counter_piece *piece, bool all);
void fm_plan_clear(fm_plan *plan);

#endif

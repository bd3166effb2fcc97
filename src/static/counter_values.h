/* SPDX-License-Identifier: Apache-2.0 */
/*
 * counter_values.h - how often a polynomial has which value over its domain.
 *
 * A polynomial that is a number: the points are counted. One that is a sum of variables: the sum is a
 * variable of its own, and the points are counted for each of its values at once. Otherwise variables that
 * are multiplied are gone through, value by value, and only the others are counted.
 */
#ifndef FATHOM_STATIC_COUNTER_VALUES_H
#define FATHOM_STATIC_COUNTER_VALUES_H

#include "static/counter.h"

/* So many points have this value. False: stop. */
typedef bool (*fm_value_visit)(void *context, int64_t value, uint64_t count);
/* Calls visit, for a value perhaps several times. */
bool fm_piece_values(fm_isl_work *work, const fm_piece *piece, fm_value_visit visit, void *context);

#endif

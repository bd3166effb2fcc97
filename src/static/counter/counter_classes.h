/* SPDX-License-Identifier: Apache-2.0 */
/*
 * counter_classes.h - overlaid pieces (counter_overlay.h), remainder by remainder.
 *
 * Where rows are no whole blocks, counts have quotients of a variable with all of its remainders:
 * floor(x / 8), floor((x + 1) / 8) and so on. For each remainder of x by itself they are all sums of the one
 * quotient: no quotients are left to compare, and most pieces have no points.
 */
#ifndef FATHOM_STATIC_COUNTER_CLASSES_H
#define FATHOM_STATIC_COUNTER_CLASSES_H

#include "static/counter/counter.h"
#include "static/counter/counter_narrow.h"

/* A class has been overlaid: its pieces are pieces[first …] of all, by the variables of the narrowing, which
 * is the receiver's. */
typedef bool (*fm_class_taken)(void *context, fm_narrowing *variables, size_t first);

/* The domain has no counted variables; `narrowing` says what its variables are. */
bool fm_overlay_classes(fm_isl_work *work, const fm_system *domain, const fm_pieces *pieces,
                        const fm_narrowing *narrowing, fm_pieces *overlaid, fm_class_taken take,
                        void *context);

#endif

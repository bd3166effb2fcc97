/* SPDX-License-Identifier: Apache-2.0 */
/*
 * points.h - how many points a reference has, and which one is the n-th in the order of time: exact. With a
 * random number it gives a random point, each with the same probability.
 *
 * Sums are in closed form where each variable has one bound on each side; where several compete (minimum,
 * maximum, guards), the variables that decide are enumerated.
 */
#ifndef FATHOM_STATIC_POINTS_H
#define FATHOM_STATIC_POINTS_H

#include "base/clock.h"
#include "static/polyhedra/reference.h"

typedef struct fm_points fm_points;

/* deadline: in seconds of fm_now; 0: none. FM_E_LIMIT: it passed, or there are 2^63 points or more. */
fm_status fm_points_create(fm_points **points, const fm_reference *reference, double deadline,
                           fm_error *error);
void fm_points_destroy(fm_points *points); /* NULL is fine */
uint64_t fm_points_count(const fm_points *points);
/* rank < count */
fm_status fm_points_at(fm_points *points, uint64_t rank, int64_t *x, fm_error *error);

/* A small generator: splitmix64. Equal seeds give equal numbers everywhere. */
typedef struct fm_static_random {
    uint64_t state;
} fm_static_random;
uint64_t fm_static_random_next(fm_static_random *random);
/* Below `limit`, which is not 0; exactly uniform. */
uint64_t fm_static_random_below(fm_static_random *random, uint64_t limit);

#endif

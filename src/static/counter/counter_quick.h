/* SPDX-License-Identifier: Apache-2.0 */
/*
 * counter_quick.h - what can be told of a system (counter_system.h) without isl: that it has no points, one
 * of its points, or that its conditions hide no equality. Most systems are simple enough; isl, which knows
 * all of them, takes ten times as long.
 */
#ifndef FATHOM_STATIC_COUNTER_QUICK_H
#define FATHOM_STATIC_COUNTER_QUICK_H

#include "static/counter/counter_system.h"

typedef enum fm_quick {
    FM_QUICK_UNKNOWN,
    FM_QUICK_EMPTY,
    FM_QUICK_POINT, /* there is at least this point */
    FM_QUICK_FULL,  /* and no equality holds at all points but those that follow from the system's own ones */
} fm_quick;

/* The system and one more condition (may be NULL). full: is FM_QUICK_FULL asked for? point: values of all
 * columns (may be NULL). Never wrong. Time: columns^2 times the numbers in all lines, at most. */
fm_quick fm_system_quick(const fm_system *system, const fm_line *condition, bool full, int64_t *point);

#endif

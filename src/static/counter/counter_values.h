/* SPDX-License-Identifier: Apache-2.0 */
/*
 * counter_values.h - how often a polynomial has which value over its domain (counter_plan.h). The last
 * variable of those that are gone through is not: where the value grows evenly with it, all of its values are
 * one run.
 */
#ifndef FATHOM_STATIC_COUNTER_VALUES_H
#define FATHOM_STATIC_COUNTER_VALUES_H

#include "static/counter/counter.h"
#include "static/counter/counter_runs.h"

/* Adds the values to *runs. *points: how many they are. */
bool fm_piece_values(fm_isl_work *work, const fm_counter_piece *piece, fm_runs *runs, uint64_t *points);

#endif

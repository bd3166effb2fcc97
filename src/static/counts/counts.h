/* SPDX-License-Identifier: Apache-2.0 */
/*
 * counts.h - how often the statements of a region are executed: numbers, or polynomials of open parameters.
 */
#ifndef FATHOM_STATIC_COUNTS_H
#define FATHOM_STATIC_COUNTS_H

#include "static/polyhedra/polynomial.h"

/* How often the statements of a region are executed, for given values of its parameters. */

/*
 * executions[statement] for every statement of the region; room for statement_count. Exact: loops are
 * multiplied where nothing inside depends on them, and worked off where something does. deadline: of
 * CLOCK_MONOTONIC, in seconds; 0: none. FM_E_LIMIT: it passed, or a number does not fit 64 bits.
 */
fm_status fm_count_executions(const fm_region *region, const int64_t *parameters, double deadline,
                              uint64_t *executions, fm_error *error);

/* Loads and stores; UINT64_MAX where they are more. */
uint64_t fm_counted_accesses(const fm_region_counts *counts);
/* So many are worked off one by one rather than counted. */
enum { FM_FEW_ACCESSES = 200000000 };

/* ---- formulas ---- */

typedef struct fm_formulas {
    const char *names[FM_COLUMNS]; /* of parameters, for fm_poly_write */
    size_t count;
    fm_poly *executions; /* of each statement */
    char *condition;     /* where they are right; NULL: always */
} fm_formulas;

/* FM_E_UNSUPPORTED: guards, minima, quotients or steps stand in the way, with the place. */
fm_status fm_formulas_find(fm_formulas *formulas, const fm_region *region, fm_error *error);
void fm_formulas_clear(fm_formulas *formulas);

#endif

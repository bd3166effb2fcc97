/* SPDX-License-Identifier: Apache-2.0 */
/* counter_values.h - how often polynomials over pieces have which value. */
#ifndef FATHOM_STATIC_COUNTER_VALUES_H
#define FATHOM_STATIC_COUNTER_VALUES_H

#include "static/counter/counter_system.h"

/* ---- runs of values ---- */

/*
 * How often there is which value, where values come in runs: first, first + stride, … with counts that are a
 * polynomial of the place in the run.
 *
 * A run costs a few additions, however long it is: tables hold differences (of as high an order as the
 * polynomial needs, for each stride), and are summed up once in the end. Numbers are taken modulo 2^64,
 * which differences may.
 *
 * Where values are counted together (counter.h), a run is cut where it enters the next cell, and
 * nothing is as large as the largest value. Tables are used where that would take longer, and where they
 * fit.
 */

enum { FM_RUN_DEGREE = 4, FM_RUN_TABLES = 40 };

typedef struct fm_run_table {
    uint64_t stride;
    unsigned order; /* 0: no differences */
    uint64_t *cells;
    uint64_t least, most; /* of the values of its runs */
} fm_run_table;

typedef struct fm_runs {
    uint64_t size;               /* values are less */
    const fm_value_cells *cells; /* NULL: every value by itself */
    uint64_t *counts;            /* of the cells */
    uint64_t cuts;               /* of runs, since the last flush */
    unsigned most_tables, count;
    fm_run_table tables[FM_RUN_TABLES];
} fm_runs;

/* False: no memory. cells: as large, and there until the end; may be NULL. */
bool fm_runs_create(fm_runs *runs, uint64_t size, const fm_value_cells *cells);
void fm_runs_destroy(fm_runs *runs);
/*
 * Values first + i * stride for i from 0 to length - 1, each so many times as the sum over j of
 * differences[j] * (i over j), j from 0 to degree. False: a value that is negative or too large, or no
 * memory.
 */
bool fm_runs_add(fm_runs *runs, int64_t first, int64_t stride, uint64_t length, const uint64_t *differences,
                 unsigned degree);
/* The sum of such counts, modulo 2^64; false: of too high a degree. */
bool fm_run_sum(const uint64_t *differences, unsigned degree, uint64_t length, uint64_t *sum);
/* Calls visit for values with their counts, a value perhaps several times; then it is empty. Values that are
 * counted together are the least one of their cell. */
typedef bool (*fm_runs_visit)(void *context, int64_t value, uint64_t count);
bool fm_runs_flush(fm_runs *runs, fm_runs_visit visit, void *context);

/* ---- values of pieces ---- */

/*
 * How often a polynomial has which value over its domain. The last variable of those that
 * are gone through is not: where the value grows evenly with it, all of its values are one run.
 */

/* Adds the values to *runs. *points: how many they are. */
bool fm_piece_values(fm_isl_work *work, const fm_counter_piece *piece, fm_runs *runs, uint64_t *points);

#endif

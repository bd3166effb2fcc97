/* SPDX-License-Identifier: Apache-2.0 */
/*
 * projection.h - the points of a system of rows, variable by variable.
 *
 * Columns are parameters (whatever is given later, at each use) and variables in the order in which they will
 * be chosen. Fourier-Motzkin elimination from the last variable to the first gives for each variable the rows
 * that bound it by parameters and earlier variables. What is derived is only ever too wide, never too narrow;
 * the rows of the last variable are the system itself, so that a search that gets to the end has found a
 * point. `exact` says where nothing is too wide: then a search never turns back.
 */
#ifndef FATHOM_STATIC_PROJECTION_H
#define FATHOM_STATIC_PROJECTION_H

#include "static/polyhedra/affine.h"

enum { FM_PROJECTION_COLUMNS = 2 * FM_REFERENCE_DEPTH + 4 };

/* sum of factors[column] * value[column] + constant >= 0 */
typedef struct fm_wide_row {
    int64_t constant;
    int64_t factors[FM_PROJECTION_COLUMNS];
} fm_wide_row;

typedef struct fm_projection_level {
    size_t count;
    int64_t *rows; /* each: its constant, then factors of all columns up to this level's variable */
    bool exact;    /* every choice up to this variable that fulfils the rows has a point behind it */
} fm_projection_level;

typedef struct fm_projection {
    unsigned parameters, variables;
    bool empty;            /* whatever the parameters are */
    bool complete;         /* over real numbers nothing is too wide: bounds never cross */
    int64_t *least, *most; /* of all columns: those of parameters were promised, those of variables hold */
    fm_projection_level *levels; /* levels[0]: rows of parameters alone; levels[k]: of variable k - 1 */
} fm_projection;

/*
 * columns = parameters + variables; least and most: of every column. Rows must not get beyond 2^62 inside
 * that box. All memory is the arena's. FM_E_NOMEM only.
 */
fm_status fm_projection_create(fm_projection **projection, fm_arena *arena, unsigned parameters,
                               unsigned variables, const fm_wide_row *rows, size_t count,
                               const int64_t *least, const int64_t *most, fm_error *error);

/* Do the parameters, values[0 … parameters-1], allow a point at all? (Where it says so and is not exact:
 * maybe.) */
static inline bool fm_projection_possible(const fm_projection *projection, const int64_t *values)
{
    const fm_projection_level *level = &projection->levels[0];
    const int64_t *row = level->rows;
    if (projection->empty) return false;
    for (size_t i = 0; i < level->count; i++, row += projection->parameters + 1) {
        int64_t sum = row[0];
        for (unsigned c = 0; c < projection->parameters; c++) sum += row[c + 1] * values[c];
        if (sum < 0) return false;
    }
    return true;
}

/* Between which values variable number `variable` may be, given all columns before it; false: none. */
static inline bool fm_projection_bounds(const fm_projection *projection, unsigned variable,
                                        const int64_t *values, int64_t *low, int64_t *high)
{
    const fm_projection_level *level = &projection->levels[variable + 1];
    const unsigned before = projection->parameters + variable;
    const int64_t *row = level->rows;
    int64_t least = projection->least[before], most = projection->most[before];
    for (size_t i = 0; i < level->count; i++, row += before + 2) {
        int64_t sum = row[0];
        for (unsigned c = 0; c < before; c++) sum += row[c + 1] * values[c];
        const int64_t factor = row[before + 1];
        if (factor > 0) {
            int64_t bound = factor == 1 ? -sum : fm_ceil_divide(-sum, factor);
            if (bound > least) least = bound;
        } else {
            int64_t bound = factor == -1 ? sum : fm_floor_divide(sum, -factor);
            if (bound < most) most = bound;
        }
    }
    *low = least;
    *high = most;
    return least <= most;
}

typedef enum fm_search_result { FM_SEARCH_NONE, FM_SEARCH_FOUND, FM_SEARCH_GIVEN_UP } fm_search_result;

/*
 * The lexicographically last (first where !last) point of the variables from number `from` on, all columns
 * before it given in values, where the result goes too. *budget: choices that may still be tried; it is
 * counted down.
 */
fm_search_result fm_projection_search(const fm_projection *projection, unsigned from, bool last,
                                      int64_t *values, uint64_t *budget);

/*
 * The least (or the largest) value of the form over the points of the rows, and a point that has it. NONE:
 * there are no points. depth: of rows and form.
 */
fm_status fm_form_extreme(const fm_row *rows, size_t count, unsigned depth, const int64_t *least,
                          const int64_t *most, const fm_row *form, bool largest, uint64_t budget,
                          fm_search_result *result, int64_t *value, int64_t *point, fm_error *error);

#endif

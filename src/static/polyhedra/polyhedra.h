/* SPDX-License-Identifier: Apache-2.0 */
/*
 * polyhedra.h - a region as points of whole numbers under linear conditions, for given values of its
 * parameters.
 */
#ifndef FATHOM_STATIC_POLYHEDRA_H
#define FATHOM_STATIC_POLYHEDRA_H

#include "static/region/region.h"

#include "base/crew.h"

/* ---- references ---- */

/*
 * A region as polyhedra, for given values of its parameters: the form that distances are computed from.
 *
 * Each access of the region becomes one or more references (several where a condition has alternatives: at
 * most one of them exists at a time). A reference exists for every point x[0 … depth-1] of whole numbers
 * that fulfils all rows; its address is affine in x. Points of all references are ordered by time:
 *
 * position[0], x[0], position[1], x[1], … position[depth], order
 *
 * compared in this way from left to right; x[i] of two references mean the same loop as long as all
 * positions up to there are equal. Loops that go down are counted by their negative, steps are divided out,
 * and quotients are loops of one iteration: whatever the source has, x ascends by 1.
 */

enum { FM_REFERENCE_DEPTH = 16 }; /* loops and quotients */

/* sum of factors[i] * x[i] + constant >= 0 */
typedef struct fm_row {
    int64_t factors[FM_REFERENCE_DEPTH];
    int64_t constant;
} fm_row;

typedef struct fm_reference {
    uint32_t access; /* number in the region (fm_region_access_at) */
    uint32_t array;
    unsigned depth;
    uint32_t position[FM_REFERENCE_DEPTH + 1];
    uint32_t order; /* among the accesses of one statement */
    size_t row_count;
    fm_row *rows;
    fm_row address; /* of the first byte; an affine form, no condition */
    uint64_t bytes; /* that are touched */
    int64_t least[FM_REFERENCE_DEPTH], most[FM_REFERENCE_DEPTH]; /* a box around its points */
} fm_reference;

typedef struct fm_reference_list {
    size_t count;
    fm_reference *references;
    fm_arena *arena;
    uint64_t granularity;
} fm_reference_list;

/*
 * FM_E_UNSUPPORTED: something is not affine, with its place in error (path, line); FM_E_LIMIT: too deep, too
 * many alternatives, numbers beyond 2^62.
 */
fm_status fm_references_create(fm_reference_list *list, const fm_region *region,
                               const fm_placement *placement, fm_error *error);
void fm_references_clear(fm_reference_list *list);

/* ---- affine forms ---- */

enum { FM_COLUMNS = 64, FM_CONSTANT = FM_COLUMNS - 1 }; /* columns of a line; the place of the constant */

/* A sum of columns, whatever these are: of a projection, of a system, of a polynomial. */
typedef struct fm_line {
    int64_t at[FM_COLUMNS]; /* factors of the columns; at[FM_CONSTANT] */
} fm_line;

/* The columns that have a factor, as bits; the sum over these alone. False: beyond 64 bits. */
static inline uint64_t fm_line_mask(const int64_t *factors, unsigned columns)
{
    uint64_t mask = 0;
    for (unsigned i = 0; i < columns; i++) mask |= (uint64_t)(factors[i] != 0) << i;
    return mask;
}

static inline bool fm_line_masked_at(const int64_t *factors, int64_t constant, uint64_t mask,
                                     const int64_t *at, int64_t *value)
{
    __int128 sum = constant;
    for (; mask; mask &= mask - 1) {
        const unsigned i = (unsigned)__builtin_ctzll(mask);
        sum += (__int128)factors[i] * at[i];
    }
    *value = (int64_t)sum;
    return *value == sum;
}

/*
 * Arithmetic of affine forms and rows, checked: numbers beyond 2^62 are refused, never wrapped.
 */

#define FM_AFFINE_MOST ((int64_t)1 << 62) /* largest absolute value of anything */

/* *to += factor * form; false: beyond 2^62, and *to is of no use any more. */
bool fm_affine_add(fm_row *to, const fm_row *form, int64_t factor);
bool fm_affine_add_constant(fm_row *to, int64_t number);
bool fm_affine_equal(const fm_row *left, const fm_row *right);
/* Its value at a point inside the box that was checked by fm_affine_range. */
static inline int64_t fm_affine_at(const fm_row *form, unsigned depth, const int64_t *x)
{
    int64_t value = form->constant;
    for (unsigned i = 0; i < depth; i++) value += form->factors[i] * x[i];
    return value;
}

typedef enum fm_row_kind {
    FM_ROW_PLAIN,
    FM_ROW_ALWAYS, /* no variables, and it holds */
    FM_ROW_NEVER,
} fm_row_kind;

/* Divides by the greatest divisor of the factors; the constant is rounded down, which loses no point. */
fm_row_kind fm_row_normalise(fm_row *row);

/* The least and the largest value of the form in the box. */
void fm_affine_range(const fm_row *form, unsigned depth, const int64_t *least, const int64_t *most,
                     __int128 *low, __int128 *high);

/* Makes the box smaller by what the rows say of single variables, until nothing changes or it was tried often
 * enough; never too small. False: there is no point. */
bool fm_box_tighten(const fm_row *rows, size_t count, unsigned depth, int64_t *least, int64_t *most);

/* ---- projections ---- */

/*
 * The points of a system of rows, variable by variable.
 *
 * Columns are parameters (whatever is given later, at each use) and variables in the order in which they
 * will be chosen. Fourier-Motzkin elimination from the last variable to the first gives for each variable
 * the rows that bound it by parameters and earlier variables. What is derived is only ever too wide, never
 * too narrow; the rows of the last variable are the system itself, so that a search that gets to the end has
 * found a point. `exact` says where nothing is too wide: then a search never turns back.
 */

enum { FM_PROJECTION_COLUMNS = 2 * FM_REFERENCE_DEPTH + 4 };

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
                               unsigned variables, const fm_line *rows, size_t count, const int64_t *least,
                               const int64_t *most, fm_error *error);

/* The same of the rows of a reference, whose loops are the variables. */
fm_status fm_projection_of_reference(fm_projection **projection, fm_arena *arena,
                                     const fm_reference *reference, fm_error *error);

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

/* ---- points ---- */

/*
 * How many points a reference has, and which one is the n-th in the order of time: exact. With a random
 * number it gives a random point, each with the same probability.
 *
 * Sums are in closed form where each variable has one bound on each side; where several compete (minimum,
 * maximum, guards), the variables that decide are enumerated.
 */

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

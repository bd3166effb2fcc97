/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lower.h - what the parts of lowering share: a region's tree to polyhedral references (polyhedra.h).
 *
 * A *case* is what is known at a place of the tree: the loops and quotients around it, rows that hold, and
 * what the variables of the region are in terms of x. Expressions and conditions split a case into several
 * that exclude each other. Cases are values; their lists of rows, variables and quotients only grow at the
 * head, so that cases share what is behind it. All memory is the scratch arena's.
 */
#ifndef FATHOM_STATIC_LOWER_H
#define FATHOM_STATIC_LOWER_H

#include "static/polyhedra/polyhedra.h"

enum { FM_LOWER_MOST_CASES = 4096 }; /* of one expression, condition or access */

typedef struct lower_row {
    fm_row row;
    const struct lower_row *next;
} lower_row;

typedef struct lower_variable {
    uint32_t variable;
    fm_row form;
    const struct lower_variable *next;
} lower_variable;

typedef struct lower_quotient {
    fm_row numerator;
    int64_t divisor;
    unsigned index; /* of x */
    const struct lower_quotient *next;
} lower_quotient;

typedef struct lower_case {
    unsigned depth;
    uint32_t position[FM_REFERENCE_DEPTH + 1];
    const lower_row *rows;
    size_t row_count;
    const lower_variable *variables;
    const lower_quotient *quotients;
    int64_t least[FM_REFERENCE_DEPTH], most[FM_REFERENCE_DEPTH];
    fm_row form; /* the value of the expression that was asked for */
} lower_case;

typedef struct lower_cases {
    size_t count, capacity;
    lower_case *items;
} lower_cases;

typedef struct lowering {
    const fm_region *region;
    const fm_placement *placement;
    fm_arena *scratch;
    fm_region_place place; /* of what is being lowered, for messages */
    const char *what;      /* "the subscript", …: likewise */
    fm_error *error;
    /* lower.c */
    fm_reference_list *list;
    size_t capacity;
} lowering;

/* An affine form and parts that are not affine, each with a factor. */
enum { FM_LOWER_MOST_ATOMS = 32 };
typedef struct lower_atom {
    int64_t factor;
    fm_expr_kind kind; /* MIN, MAX, FLOOR or QUOTIENT */
    const fm_expr *left, *right;
    int64_t divisor; /* FLOOR, QUOTIENT */
} lower_atom;

typedef struct lower_sum {
    fm_row form;
    size_t count;
    lower_atom atoms[FM_LOWER_MOST_ATOMS];
} lower_sum;

/* Fails with the place that is being lowered. */
fm_status fm_lower_fail(lowering *work, fm_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

fm_status fm_lower_too_large(lowering *work);
fm_status fm_lower_no_memory(lowering *work);

void fm_lower_cases_clear(lower_cases *cases);
fm_status fm_lower_put(lowering *work, lower_cases *cases, const lower_case *one);

/* A new variable inside all others, without bounds; *index: its number. */
fm_status fm_lower_variable(lowering *work, lower_case *one, unsigned *index);
/* form >= 0 from here on. *possible becomes false where the case has no points then (surely; true is maybe).
 */
fm_status fm_lower_require(lowering *work, lower_case *one, const fm_row *form, bool *possible);

/* The same, for a copy of the case that goes into cases, with `value` as its form, where it may have points.
 */
fm_status fm_lower_put_where(lowering *work, const lower_case *one, const fm_row *form, const fm_row *value,
                             lower_cases *cases);
/* Of a form in the case's box. */
void fm_lower_range(const lower_case *one, const fm_row *form, __int128 *low, __int128 *high);
/* -form - 1; false: beyond 2^62 */
bool fm_lower_complement(const fm_row *form, fm_row *result);

/* *to += factor * expression */
fm_status fm_lower_add(lowering *work, const lower_case *one, lower_sum *to, int64_t factor,
                       const fm_expr *expression);
/* The sum in form, for each case that there are; appended to cases. */
fm_status fm_lower_sum(lowering *work, const lower_case *from, const lower_sum *what, lower_cases *cases);
/* base + factor * expression in form, for each case that there are; appended to cases. */
fm_status fm_lower_form(lowering *work, const lower_case *from, const fm_row *base, int64_t factor,
                        const fm_expr *expression, lower_cases *cases);

#endif

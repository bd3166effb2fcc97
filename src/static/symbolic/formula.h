/* SPDX-License-Identifier: Apache-2.0 */
/*
 * formula.h - a number that depends on parameters, as a sum of pieces that can be evaluated quickly,
 * exactly, and without isl.
 *
 * A piece has columns: parameters, variables that are gone through, and what is derived of these: quotients
 * rounded down and products. At every point where all of its conditions hold it adds the value of its
 * polynomial.
 */
#ifndef FATHOM_STATIC_FORMULA_H
#define FATHOM_STATIC_FORMULA_H

#include "static/counter/counter_system.h"

enum { FM_FORMULA_MOST_FACTORS = 8, FM_FORMULA_MOST_VARIABLES = 4 };

/* The largest number in a line: a sum of them times 64 bits fits 128 bits. */
#define FM_FORMULA_LARGEST ((int64_t)1 << 56)

/* A column that is derived: the sum of factor * column, divided by `by` and rounded down; or, with by 0, the
 * product of columns. */
typedef struct fm_derived {
    uint8_t column, count;
    int64_t by;
    uint8_t factors[FM_FORMULA_MOST_FACTORS]; /* of a product */
    size_t line;                              /* of a quotient: where its numbers begin */
} fm_derived;

typedef struct fm_formula_piece {
    uint8_t parameters, variables, columns;
    size_t derived_count, equality_count, inequality_count;
    size_t shadow_counts[FM_FORMULA_MOST_VARIABLES]; /* of each variable: conditions that bound it */
    size_t alone_counts[FM_FORMULA_MOST_VARIABLES];  /* the same without regard to other variables */
    size_t
        plain_counts[FM_FORMULA_MOST_VARIABLES]; /* by parameters and variables before it, nothing derived */
    fm_derived *derived;                         /* in the order in which they are computed */
    int64_t *numbers; /* lines of columns + 1 numbers, the constant last: quotients, equalities,
                         inequalities, then of each variable shadow, alone and plain */
    size_t number_count;
    fm_quick_poly value; /* by the columns; its numbers fit 64 bits */
} fm_formula_piece;

typedef struct fm_formula {
    fm_formula_piece *pieces;
    size_t count, capacity;
} fm_formula;

void fm_formula_clear(fm_formula *formula);

/* A product that a system has as a kept variable without any conditions of its own: factors are columns of
 * the system. */
typedef struct fm_product {
    unsigned column;
    unsigned count;
    unsigned factors[FM_FORMULA_MOST_FACTORS];
} fm_product;

/*
 * One piece more: where the conditions of the system hold (counted: 0), the value. Its kept columns are
 * parameters, variables, products.
 */
bool fm_formula_add(fm_isl_work *work, fm_formula *formula, const fm_system *system, const fm_poly *value,
                    unsigned parameters, unsigned variables, const fm_product *products,
                    size_t product_count);
/* All of them, times a number, without variables and products. */
bool fm_formula_add_pieces(fm_isl_work *work, fm_formula *formula, const fm_pieces *pieces, int64_t times);

typedef enum fm_formula_status {
    FM_FORMULA_OK,
    FM_FORMULA_OVERFLOW, /* a number beyond 64 bits */
    FM_FORMULA_TOO_LONG, /* too many values of variables */
} fm_formula_status;

/* Drops conditions that hold for all parameters from `least` on, and joins pieces with the same conditions.
 */
void fm_formula_tidy(fm_formula *formula, const int64_t *least);

/* How many quotients a piece has: its conditions begin behind as many lines. */
size_t fm_formula_quotients(const fm_formula_piece *piece);

/* What adds to the value at these parameters: called with the values of all columns. */
typedef bool (*fm_formula_visit)(void *context, const fm_formula_piece *piece, const int64_t *at);
fm_formula_status fm_formula_visit_points(const fm_formula *formula, const int64_t *parameters,
                                          fm_formula_visit visit, void *context);

/* The sum at these values of the parameters. */
fm_formula_status fm_formula_value(const fm_formula *formula, const int64_t *parameters, int64_t *value);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * polynomial.h - polynomials with exact rational coefficients, in the variables of a system
 * (counter_system.h), and their sums over ranges of whole numbers.
 */
#ifndef FATHOM_STATIC_POLYNOMIAL_H
#define FATHOM_STATIC_POLYNOMIAL_H

#include "static/polyhedra/polyhedra.h"

#include <gmp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum { FM_MOST_DEGREE = 22 };

typedef struct fm_counter_term {
    uint8_t powers[FM_COLUMNS];
    mpq_t factor;
} fm_counter_term;

static inline unsigned fm_term_degree(const fm_counter_term *term)
{
    unsigned degree = 0;
    for (unsigned i = 0; i < FM_COLUMNS; i++) degree += term->powers[i];
    return degree;
}

/* All zero is the polynomial 0. */
typedef struct fm_poly {
    fm_counter_term *terms;
    size_t count, capacity;
    bool failed; /* no memory, or a degree that is too high: it means nothing any more */
} fm_poly;

void fm_poly_clear(fm_poly *poly);
void fm_poly_add_number(fm_poly *poly, int64_t number);
/* poly += factor * other; factor is numerator / denominator. */
void fm_poly_add(fm_poly *poly, const fm_poly *other, int64_t numerator, int64_t denominator);
/* poly += the line, of `columns` variables, times numerator. */
void fm_poly_add_line(fm_poly *poly, const fm_line *line, unsigned columns, int64_t numerator);
fm_poly fm_poly_copy(const fm_poly *poly);
fm_poly fm_poly_product(const fm_poly *left, const fm_poly *right);
/* The polynomial with the variable replaced. */
fm_poly fm_poly_replaced(const fm_poly *poly, unsigned variable, const fm_poly *by);
/* The sum over all values of the variable from `first` to `last` (first <= last + 1). */
fm_poly fm_poly_sum(const fm_poly *poly, unsigned variable, const fm_poly *first, const fm_poly *last);
/* No products? Then all variables can be replaced at once: variable i by lines[i], of `columns` new ones. */
bool fm_poly_is_line(const fm_poly *poly);
fm_poly fm_poly_line_replaced(const fm_poly *poly, const fm_line *lines, unsigned columns);
bool fm_poly_uses(const fm_poly *poly, unsigned variable);
/* A variable more at that place; one less, which it does not use. */
void fm_poly_insert_variable(fm_poly *poly, unsigned variable);
void fm_poly_drop_variable(fm_poly *poly, unsigned variable);

/* The same for quick evaluation: whole numbers with one denominator. */
typedef struct fm_quick_term {
    __int128 factor;
    unsigned count; /* of factors */
    uint8_t variables[FM_MOST_DEGREE];
} fm_quick_term;
typedef struct fm_quick_poly {
    fm_quick_term *terms;
    size_t count;
    __int128 denominator;
} fm_quick_poly;
/* False: no memory, or numbers beyond 2^100. */
bool fm_quick_poly_create(fm_quick_poly *quick, const fm_poly *poly);
void fm_quick_poly_clear(fm_quick_poly *quick);
/* False: it is no whole number, or one beyond 128 bits. */
bool fm_quick_poly_wide(const fm_quick_poly *quick, const int64_t *values, __int128 *value);
/* False: it is no whole number of 64 bits, or an intermediate does not fit 128. */
bool fm_quick_poly_value(const fm_quick_poly *quick, const int64_t *values, int64_t *value);

/* ---- for people ---- */

/* "(2*n^3 + 3*n^2 + n)/6": the highest powers first; the terms are brought into that order. */
void fm_poly_write(FILE *out, fm_poly *poly, const char *const *names);

/* Is it a whole number that fits? */
bool fm_poly_is_number(const fm_poly *poly, int64_t *number);
/* The factor of a variable in a polynomial that is affine in it, with a whole factor; false: it is not. */
bool fm_poly_affine_in(const fm_poly *poly, unsigned variable, int64_t *factor);

#endif

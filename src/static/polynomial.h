/* SPDX-License-Identifier: Apache-2.0 */
/*
 * polynomial.h - polynomials over a few symbols with rational factors: exact, or not at all. Numbers are held
 * in 128 bits, and what does not fit is refused.
 */
#ifndef FATHOM_STATIC_POLYNOMIAL_H
#define FATHOM_STATIC_POLYNOMIAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum { FM_MOST_SYMBOLS = 40 };

typedef struct fm_term {
    uint8_t powers[FM_MOST_SYMBOLS];
    __int128 factor;
} fm_term;

/* (sum of the terms) / divisor. All zero, with divisor 1, is the number 0. */
typedef struct fm_polynomial {
    size_t count, room;
    fm_term *terms;   /* different powers, no factor 0 */
    __int128 divisor; /* positive */
} fm_polynomial;

/* Each call that returns a bool returns false where memory is short or a number does not fit; *result is then
 * 0. result may be one of the operands. */
void fm_polynomial_clear(fm_polynomial *polynomial);
bool fm_polynomial_number(fm_polynomial *result, int64_t number);
bool fm_polynomial_symbol(fm_polynomial *result, unsigned symbol);
bool fm_polynomial_copy(fm_polynomial *result, const fm_polynomial *from);
bool fm_polynomial_add(fm_polynomial *result, const fm_polynomial *left, const fm_polynomial *right);
bool fm_polynomial_scale(fm_polynomial *result, const fm_polynomial *from, int64_t factor);
bool fm_polynomial_multiply(fm_polynomial *result, const fm_polynomial *left, const fm_polynomial *right);
/* The symbol replaced by a polynomial. */
bool fm_polynomial_replace(fm_polynomial *result, const fm_polynomial *from, unsigned symbol,
                           const fm_polynomial *by);
/* The sum over all whole numbers from first to last, put for the symbol: right where first <= last + 1. */
bool fm_polynomial_sum(fm_polynomial *result, const fm_polynomial *from, unsigned symbol,
                       const fm_polynomial *first, const fm_polynomial *last);

/* The value, if it is a whole number that fits. */
bool fm_polynomial_value(const fm_polynomial *polynomial, const int64_t *values, int64_t *value);
bool fm_polynomial_is_number(const fm_polynomial *polynomial, int64_t *number); /* a whole one */
/* The factor of a symbol in a polynomial that is affine in it and has no divisor; false: it is not. */
bool fm_polynomial_affine_in(const fm_polynomial *polynomial, unsigned symbol, int64_t *factor);
/* "(2*n^3 + 3*n^2 + n)/6": the highest powers first; the terms are brought into that order. */
void fm_polynomial_write(FILE *out, fm_polynomial *polynomial, const char *const *names);

#endif

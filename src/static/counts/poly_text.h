/* SPDX-License-Identifier: Apache-2.0 */
/* poly_text.h - polynomials (counter_poly.h) for people, and two questions about them. */
#ifndef FATHOM_STATIC_POLY_TEXT_H
#define FATHOM_STATIC_POLY_TEXT_H

#include "static/counter/counter_poly.h"

#include <stdio.h>

/* "(2*n^3 + 3*n^2 + n)/6": the highest powers first; the terms are brought into that order. */
void fm_poly_write(FILE *out, fm_poly *poly, const char *const *names);

/* Is it a whole number that fits? */
bool fm_poly_is_number(const fm_poly *poly, int64_t *number);
/* The factor of a variable in a polynomial that is affine in it, with a whole factor; false: it is not. */
bool fm_poly_affine_in(const fm_poly *poly, unsigned variable, int64_t *factor);

#endif

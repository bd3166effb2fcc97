/* SPDX-License-Identifier: Apache-2.0 */
/*
 * affine.h - arithmetic of affine forms and rows (reference.h), checked: numbers beyond 2^62 are refused,
 * never wrapped. Does not search for points: that is search.h.
 */
#ifndef FATHOM_STATIC_AFFINE_H
#define FATHOM_STATIC_AFFINE_H

#include "static/polyhedra/reference.h"
#include "static/polyhedra/rounding.h"

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

#endif

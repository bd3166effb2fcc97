/* SPDX-License-Identifier: Apache-2.0 */
/* transform_bounds.h - bounds of loops when loops change places: between which values a bound is, what it
 * says of another variable, and loops within narrower bounds. NULL: no memory, unless another reason is
 * named. */
#ifndef FATHOM_STATIC_TRANSFORM_BOUNDS_H
#define FATHOM_STATIC_TRANSFORM_BOUNDS_H

#include "static/change/transform.h"

/* The smallest and the largest value that a loop's variable may have. */
static inline const fm_expr *fm_loop_low(const fm_region_node *loop)
{
    return loop->step > 0 ? loop->first : loop->last;
}
static inline const fm_expr *fm_loop_high(const fm_region_node *loop)
{
    return loop->step > 0 ? loop->last : loop->first;
}

const fm_expr *fm_expr_floor(fm_arena *arena, const fm_expr *expression, int64_t divisor);
const fm_expr *fm_expr_ceil(fm_arena *arena, const fm_expr *expression, int64_t divisor);
/* left NULL: right. */
const fm_expr *fm_expr_larger(fm_arena *arena, const fm_expr *left, const fm_expr *right);
const fm_expr *fm_expr_smaller(fm_arena *arena, const fm_expr *left, const fm_expr *right);

/* An expression without the variable that is never larger (smaller where !least) than this one while the
 * variable is between low and high. NULL also where the variable is inside a remainder or a product with
 * something that has no value. */
const fm_expr *fm_expr_hull(const fm_region *region, const fm_expr *expression, uint32_t variable,
                            const fm_expr *low, const fm_expr *high, bool least);
/* expression = factor * variable + rest; false: it is not such a sum, or no memory. */
bool fm_expr_split(const fm_region *region, const fm_expr *expression, uint32_t variable, int64_t *factor,
                   const fm_expr **rest);

/* Leaves out the iterations below low and above high (NULL: no such bound). */
bool fm_loop_clip(fm_arena *arena, fm_region_node *loop, const fm_expr *low, const fm_expr *high);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * placement.h - where the arrays of a region are in memory, for given values of the parameters.
 *
 * Every array begins a block of its own, so that arrays share no blocks. The address of an element is
 * origin + sum of subscript * stride.
 */
#ifndef FATHOM_STATIC_PLACEMENT_H
#define FATHOM_STATIC_PLACEMENT_H

#include "static/region/region.h"

typedef struct fm_placed_array {
    int64_t origin; /* address of the element whose subscripts are all 0, be it in the array or not */
    int64_t strides[FM_MOST_DIMENSIONS]; /* bytes */
    int64_t base, end;                   /* the array is [base, end) */
} fm_placed_array;

typedef struct fm_placement {
    uint64_t granularity;
    int64_t *parameters; /* values */
    size_t array_count;
    fm_placed_array *arrays;
} fm_placement;

/* FM_E_ARGUMENT: a parameter is open, an assumption does not hold, an extent is negative, an address does not
 * fit. An array whose length nobody knows gets room for what the region touches. */
fm_status fm_placement_create(fm_placement **placement, const fm_region *region, uint64_t granularity,
                              fm_layout layout, fm_error *error);
void fm_placement_destroy(fm_placement *placement); /* NULL is fine */

/* Between which numbers an expression is, given those of the variables; false: it does not fit 64 bits, or
 * divides by something that is not positive. Never too narrow; exact for expressions that use a variable
 * once. */
typedef struct fm_range {
    int64_t least, most;
} fm_range;
bool fm_expr_range(const fm_expr *expression, const int64_t *parameters, const fm_range *variables,
                   fm_range *range);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * open_region.h - the references of a region some of whose parameters have no value: these are the outermost
 * variables of every reference, x[0] … x[count - 1], each with one position of its own.
 *
 * Row lengths that are no whole number of blocks make addresses products of a parameter and a variable. For
 * parameters with a known remainder of a division by the elements of a block they are not: of a parameter
 * with modulus 8 and remainder 4, x is the quotient, and 8 x + 4 the parameter.
 */
#ifndef FATHOM_STATIC_OPEN_REGION_H
#define FATHOM_STATIC_OPEN_REGION_H

#include "static/polyhedra/reference.h"

enum { FM_OPEN_MOST = 6 }; /* parameters without a value */

typedef struct fm_open_parameter {
    uint32_t parameter; /* index in the region */
    int64_t modulus, remainder;
    int64_t least; /* the smallest value: with this remainder */
} fm_open_parameter;

typedef struct fm_open_class {
    unsigned count;
    fm_open_parameter parameters[FM_OPEN_MOST];
} fm_open_class;

/* The largest value of a parameter that formulas hold for. */
#define FM_OPEN_LARGEST ((int64_t)1 << 30)

/* The open parameters of the region, modulus 1 or, where a row's length depends on it, the elements of a
 * block; remainder 0. FM_E_UNSUPPORTED: there are too many, or an array has no such formulas. */
fm_status fm_open_class_find(fm_open_class *class, const fm_region *region, uint64_t granularity,
                             fm_layout layout, fm_error *error);

typedef struct fm_open_references {
    const fm_region *region;
    const fm_open_class *class;
    fm_reference_list list; /* addresses mean nothing */
    fm_row *subscripts;     /* of reference i, dimension d: [i * FM_MOST_DIMENSIONS + d], by x */
    uint64_t granularity;
    fm_layout layout;
} fm_open_references;

fm_status fm_open_references_create(fm_open_references *open, const fm_region *region,
                                    const fm_open_class *class, uint64_t granularity, fm_layout layout,
                                    fm_error *error);
void fm_open_references_clear(fm_open_references *open);

/* The executions of all statements, as references to nothing: `access` is the number of the
 * statement; one more, with the number behind the last, is executed once where the region's assumptions hold.
 */
fm_status fm_open_executions_create(fm_reference_list *list, const fm_region *region,
                                    const fm_open_class *class, fm_error *error);

/* The expression of parameters as a row of x; false: it is not affine, or it has a variable. */
bool fm_open_form(const fm_open_references *open, const fm_expr *expression, fm_row *form);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dependence.h - does a changed region (transform.h) still compute the same? (fm_region_change_check of
 * fathom/static.h)
 *
 * Two accesses to the same bytes, one of them a store, must be in the same order before and after; where an
 * array is padded, every subscript must be within its row. Scalars may change places as long as every load
 * still gets what the same store put there, and the same store is the last. It is decided exactly, by integer
 * arithmetic for the given values of the parameters; what cannot be decided in time is not allowed.
 */
#ifndef FATHOM_STATIC_DEPENDENCE_H
#define FATHOM_STATIC_DEPENDENCE_H

#include "static/change/polyhedral.h"
#include "static/change/transform.h"

/* An access of the original. */
typedef struct fm_touching {
    const fm_region_access *access;
    uint32_t statement; /* number in the original */
    uint32_t order;     /* within the statement */
} fm_touching;

typedef struct fm_dependence {
    const fm_region *region;
    fm_polyhedral before, after;
    isl_map **times; /* by the original's statements: from executions of the original to times after */
    size_t count;
    fm_touching *all;
    isl_map **reversed; /* by pairs of statements: executions in this order before, in the other after */
    bool *known;        /* which of those were made */
} fm_dependence;

/* The accesses of a scalar still get the same values (dependence_flow.c). */
isl_bool fm_dependence_same_flow(const fm_dependence *self, uint32_t array);

#endif

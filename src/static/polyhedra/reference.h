/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reference.h - a region as polyhedra, for given values of its parameters: the form that distances are
 * computed from.
 *
 * Each access of the region becomes one or more references (several where a condition has alternatives: at
 * most one of them exists at a time). A reference exists for every point x[0 … depth-1] of whole numbers that
 * fulfils all rows; its address is affine in x. Points of all references are ordered by time:
 *
 *     position[0], x[0], position[1], x[1], … position[depth], order
 *
 * compared in this way from left to right; x[i] of two references mean the same loop as long as all positions
 * up to there are equal. Loops that go down are counted by their negative, steps are divided out, and
 * quotients are loops of one iteration: whatever the source has, x ascends by 1.
 */
#ifndef FATHOM_STATIC_REFERENCE_H
#define FATHOM_STATIC_REFERENCE_H

#include "static/region/placement.h"

enum { FM_REFERENCE_DEPTH = 16 }; /* loops and quotients */

/* sum of factors[i] * x[i] + constant >= 0 */
typedef struct fm_row {
    int64_t factors[FM_REFERENCE_DEPTH];
    int64_t constant;
} fm_row;

typedef struct fm_reference {
    uint32_t access; /* number in the region (fm_region_access_at) */
    uint32_t array;
    unsigned depth;
    uint32_t position[FM_REFERENCE_DEPTH + 1];
    uint32_t order; /* among the accesses of one statement */
    size_t row_count;
    fm_row *rows;
    fm_row address; /* of the first byte; an affine form, no condition */
    uint64_t bytes; /* that are touched */
    int64_t least[FM_REFERENCE_DEPTH], most[FM_REFERENCE_DEPTH]; /* a box around its points */
} fm_reference;

typedef struct fm_reference_list {
    size_t count;
    fm_reference *references;
    fm_arena *arena;
    uint64_t granularity;
} fm_reference_list;

/*
 * FM_E_UNSUPPORTED: something is not affine, with its place in error (path, line); FM_E_LIMIT: too deep, too
 * many alternatives, numbers beyond 2^62.
 */
fm_status fm_references_create(fm_reference_list *list, const fm_region *region,
                               const fm_placement *placement, fm_error *error);
void fm_references_clear(fm_reference_list *list);

#endif

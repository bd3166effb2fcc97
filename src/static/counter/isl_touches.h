/* SPDX-License-Identifier: Apache-2.0 */
/*
 * isl_touches.h - references with the blocks that they touch, as systems (counter_system.h).
 *
 * A block of an array is not one number but several coordinates: rows, and the block in a row. With one
 * number, floor((i * n + j) / 8), isl would have to find out again and again what belongs together. Rows are
 * found in the addresses: a stride is taken as the length of a row where no reference leaves its row and rows
 * begin with blocks. Where a row is no whole number of blocks, as many rows as are one together are a
 * coordinate.
 */
#ifndef FATHOM_STATIC_ISL_TOUCHES_H
#define FATHOM_STATIC_ISL_TOUCHES_H

#include "static/counter/counter_system.h"
#include "static/polyhedra/reference.h"

/* A reference that touches one block at a time (lower.c makes several of those that touch more), or those of
 * its points whose row has a certain remainder. */
typedef struct fm_touch {
    const fm_reference *reference;
    size_t index;     /* of the reference in its list */
    fm_system system; /* columns: x[0 … depth-1], coordinates of the block; all of them kept */
} fm_touch;

typedef struct fm_touches {
    fm_touch *touches;
    size_t count, capacity;
    unsigned *axes; /* of the blocks of each array: how many coordinates */
    size_t array_count;
} fm_touches;

/* False: see work. The references must stay as long as the touches. */
bool fm_touches_create(fm_isl_work *work, fm_touches *touches, const fm_reference_list *list);
void fm_touches_clear(fm_touches *touches);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * isl_previous.h - which access used the block before: for one touch (isl_touches.h), the pieces of its
 * points with the point of the access that came last before it, as quotients and sums.
 */
#ifndef FATHOM_STATIC_ISL_PREVIOUS_H
#define FATHOM_STATIC_ISL_PREVIOUS_H

#include "static/counter/isl_touches.h"

/* Up to where the times of two points agree: they differ in the position before loop `level`, in the variable
 * of this loop, or in the order within the statement (level is the depth then). */
typedef enum fm_apart { FM_APART_POSITION, FM_APART_LOOP, FM_APART_ORDER } fm_apart;

typedef struct fm_isl_reuse {
    size_t use, reuse; /* touches */
    fm_apart apart;
    unsigned level;
    fm_system domain;                 /* of points x of `reuse`; kept: x; counted: 0 */
    fm_line from[FM_REFERENCE_DEPTH]; /* the point of `use`, by columns of domain */
    fm_line to[FM_REFERENCE_DEPTH];   /* the same of `reuse`: x itself, or what stands for it */
} fm_isl_reuse;

typedef struct fm_isl_reuses {
    fm_isl_reuse *reuses;
    size_t count, capacity;
    isl_set *cold; /* points of the touch that nobody comes before */
} fm_isl_reuses;

/* All reuses of a touch; their domains and `cold` are disjoint. */
bool fm_isl_reuses_find(fm_isl_work *work, fm_isl_reuses *reuses, const fm_touches *touches, size_t reuse);
void fm_isl_reuses_clear(fm_isl_reuses *reuses);

#endif

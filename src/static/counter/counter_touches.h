/* SPDX-License-Identifier: Apache-2.0 */
/*
 * counter_touches.h - references, the access that used a block before, and the blocks that are touched in
 * between, as sets of isl.
 */
#ifndef FATHOM_STATIC_COUNTER_TOUCHES_H
#define FATHOM_STATIC_COUNTER_TOUCHES_H

#include "static/counter/counter_system.h"

/* ---- touches ---- */

/*
 * References with the blocks that they touch, as systems (counter_system.h).
 *
 * A block of an array is not one number but several coordinates: rows, and the block in a row. With one
 * number, floor((i * n + j) / 8), isl would have to find out again and again what belongs together. Rows are
 * found in the addresses: a stride is taken as the length of a row where no reference leaves its row and
 * rows begin with blocks. Where a row is no whole number of blocks, as many rows as are one together are a
 * coordinate.
 */

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

/* ---- reuses ---- */

/*
 * Which access used the block before: for one touch, the pieces of its points with the point
 * of the access that came last before it, as quotients and sums.
 */

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

/* ---- what is touched between ---- */

/* Which blocks are touched between a use and its reuse. */

/*
 * How many blocks of all arrays are touched in between: pieces whose sum it is, over the points of the reuse.
 * Kept variables and the first quotients of the pieces are those of reuse->domain.
 */
bool fm_between_count(fm_isl_work *work, const fm_touches *touches, const fm_isl_reuse *reuse,
                      fm_pieces *pieces);

/* ---- reuses by fewer variables ---- */

/*
 * A reuse by fewer variables and quotients, as the equalities of its domain say.
 *
 * Where rows are no whole blocks, a reuse is one of rows with a certain remainder: x = 8 q + 3. Everything
 * that is counted for it has quotients of x then, floor((x + 5) / 8) and many more, and isl has to find out
 * for each pair of them how they are related. By q they are sums: q + 1.
 */

/* The new variables by the old ones. All zero is an empty one. */
typedef struct fm_narrowing {
    fm_system of; /* kept: the old variables; quotients of them; the equalities that were used */
    unsigned count;
    fm_line variables[FM_REFERENCE_DEPTH];
} fm_narrowing;

/* Changes the reuse. *empty: it has no points. False: see work; the narrowing is to be cleared then, too. */
bool fm_reuse_narrow(fm_isl_work *work, fm_isl_reuse *reuse, fm_narrowing *narrowing, bool *empty);
/* The new variables at a point of the old ones; false: the reuse has no such point, or numbers beyond 64
 * bits. */
bool fm_narrowing_at(const fm_narrowing *narrowing, const int64_t *x, int64_t *variables);
void fm_narrowing_clear(fm_narrowing *narrowing);

/* ---- remainder by remainder ---- */

/*
 * Overlaid pieces (counter_system.h), remainder by remainder.
 *
 * Where rows are no whole blocks, counts have quotients of a variable with all of its remainders: floor(x /
 * 8), floor((x + 1) / 8) and so on. For each remainder of x by itself they are all sums of the one quotient:
 * no quotients are left to compare, and most pieces have no points.
 */

/* A class has been overlaid: its pieces are pieces[first …] of all, by the variables of the narrowing, which
 * is the receiver's. */
typedef bool (*fm_class_taken)(void *context, fm_narrowing *variables, size_t first);

/* The domain has no counted variables; `narrowing` says what its variables are. */
bool fm_overlay_classes(fm_isl_work *work, const fm_system *domain, const fm_pieces *pieces,
                        const fm_narrowing *narrowing, fm_pieces *overlaid, fm_class_taken take,
                        void *context);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * counter.h - how many points a set of whole numbers has, as polynomials of some of its variables.
 *
 * The result is a list of pieces, each a polynomial of the kept variables and of quotients of them, which
 * counts where the piece's conditions hold. At a point, the number is the sum over all pieces that hold
 * there: pieces of one basic set never overlap, those of different ones may.
 */
#ifndef FATHOM_STATIC_COUNTER_H
#define FATHOM_STATIC_COUNTER_H

#include "static/counter/counter_system.h"

typedef struct fm_counter_piece {
    fm_system domain; /* counted: 0 */
    fm_poly value;
} fm_counter_piece;

typedef struct fm_pieces {
    fm_counter_piece *pieces;
    size_t count, capacity;
} fm_pieces;

void fm_pieces_clear(fm_pieces *pieces);
/* Takes domain and value, whatever happens. */
bool fm_pieces_add(fm_isl_work *work, fm_pieces *pieces, fm_system *domain, fm_poly *value);

/* Counts the points of the counted variables; takes the system. False: see work. */
bool fm_count_system(fm_isl_work *work, fm_system *system, fm_pieces *pieces);
/* The same for isl's set: its first `kept` dimensions are kept. Frees the set. */
bool fm_count_set(fm_isl_work *work, isl_set *set, unsigned kept, fm_pieces *pieces);
/* How many points the set has; it may not have 2^63 or more. Frees the set. */
bool fm_count_points(fm_isl_work *work, isl_set *set, uint64_t *count);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * open_pieces.h - the distances of all accesses of a region with open parameters, counted and proved: pieces
 * of all points, each with a polynomial for the distance.
 */
#ifndef FATHOM_STATIC_OPEN_PIECES_H
#define FATHOM_STATIC_OPEN_PIECES_H

#include "static/counter/counter.h"
#include "static/symbolic/open_region.h"

typedef struct fm_open_pieces {
    unsigned parameters;
    fm_pieces reuses; /* kept: the parameters' x, then the other variables of the access; value: distance */
    fm_pieces cold;   /* first touches; kept: the parameters' x. Their number is the sum of all pieces */
    fm_pieces points; /* all accesses to blocks, likewise */
} fm_open_pieces;

bool fm_open_pieces_create(fm_isl_work *work, fm_open_pieces *pieces, const fm_open_references *open);
void fm_open_pieces_clear(fm_open_pieces *pieces);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * counter_reduce.h - the same points and values by fewer variables.
 *
 * A piece says much of its variables by equalities: that one is a multiple of 8, that a quotient is another
 * one and 1. Products of its polynomial that cancel each other then are still there. Here they go: variables
 * and quotients are replaced as the equalities say, and quotients whose sum does not depend on the remainder
 * are left out. Which values there are and how often stays the same; the variables are other ones.
 */
#ifndef FATHOM_STATIC_COUNTER_REDUCE_H
#define FATHOM_STATIC_COUNTER_REDUCE_H

#include "static/counter/counter.h"

/* Changes the piece; *empty: it has no points. False: see work. */
bool fm_piece_reduce(fm_isl_work *work, fm_counter_piece *piece, bool *empty);

#endif

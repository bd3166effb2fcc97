/* SPDX-License-Identifier: Apache-2.0 */
/*
 * isl_between.h - which blocks are touched between a use and its reuse (isl_previous.h).
 */
#ifndef FATHOM_STATIC_ISL_BETWEEN_H
#define FATHOM_STATIC_ISL_BETWEEN_H

#include "static/counter/counter.h"
#include "static/counter/isl_previous.h"

/*
 * How many blocks of all arrays are touched in between: pieces whose sum it is, over the points of the reuse.
 * Kept variables and the first quotients of the pieces are those of reuse->domain.
 */
bool fm_between_count(fm_isl_work *work, const fm_touches *touches, const fm_isl_reuse *reuse,
                      fm_pieces *pieces);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* distance.h - distances as simple as their domains allow. */
#ifndef FATHOM_STATIC_DISTANCE_H
#define FATHOM_STATIC_DISTANCE_H

#include "static/counter/counter.h"

/*
 * The polynomial of the piece with what its domain's equalities say of single columns put in: other terms may
 * cancel then. The first `parameters` columns are never replaced. It is to be cleared.
 */
bool fm_distance_simplified(fm_isl_work *work, const fm_counter_piece *piece, unsigned parameters,
                            fm_poly *distance);

#endif

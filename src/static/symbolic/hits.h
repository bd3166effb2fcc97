/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hits.h - how many accesses hit a cache of a given size, as a formula of the open parameters: those whose
 * distance is less than the number of its blocks.
 *
 * Where the distance is a sum of multiples of the access's variables, the points below the limit are counted
 * in closed form. Variables that are multiplied with each other or with parameters are gone through when the
 * formula is evaluated; products of parameters are known then.
 */
#ifndef FATHOM_STATIC_HITS_H
#define FATHOM_STATIC_HITS_H

#include "static/symbolic/formula.h"
#include "static/symbolic/open_pieces.h"

bool fm_hits_create(fm_isl_work *work, fm_formula *hits, const fm_open_pieces *pieces, uint64_t blocks);

#endif

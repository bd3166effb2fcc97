/* SPDX-License-Identifier: Apache-2.0 */
/*
 * counter_overlay.h - pieces that overlap become pieces that do not, with the sums of their polynomials.
 */
#ifndef FATHOM_STATIC_COUNTER_OVERLAY_H
#define FATHOM_STATIC_COUNTER_OVERLAY_H

#include "static/counter/counter.h"

/*
 * Cuts the domain (counted: 0) so that each part is within or without every piece. The first quotients of the
 * pieces are those of the domain. The parts are appended to *overlaid, also those where the sum is 0.
 */
bool fm_overlay(fm_isl_work *work, const fm_system *domain, const fm_pieces *pieces, fm_pieces *overlaid);

#endif

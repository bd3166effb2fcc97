/* SPDX-License-Identifier: Apache-2.0 */
/*
 * counter_arrange.h - all pieces overlaid (counter_overlay.h) together, where they have few quotients.
 *
 * A domain is cut by a condition only where it holds in a part of it, and everything that is known of a
 * domain is known of its parts: which conditions hold, which pieces have no points in it. That something has
 * points is mostly told by a point that was found before; isl is asked for the rest, and answers with another
 * point.
 */
#ifndef FATHOM_STATIC_COUNTER_ARRANGE_H
#define FATHOM_STATIC_COUNTER_ARRANGE_H

#include "static/counter/counter.h"

/* As fm_overlay; *fits: false where all quotients are too many together, and nothing was done. */
bool fm_arrange(fm_isl_work *work, const fm_system *domain, const fm_pieces *pieces, fm_pieces *overlaid,
                bool *fits);

#endif

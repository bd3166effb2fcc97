/* SPDX-License-Identifier: Apache-2.0 */
/*
 * open_touches.h - the blocks that the references of an open region touch (isl_touches.h). Coordinates of a
 * block: the open parameters, so that regions with different values never meet; then, for every dimension but
 * the innermost, the number of the row, or of as many rows as are whole blocks together; then the block.
 */
#ifndef FATHOM_STATIC_OPEN_TOUCHES_H
#define FATHOM_STATIC_OPEN_TOUCHES_H

#include "static/counter/isl_touches.h"
#include "static/symbolic/open_region.h"

/* False: see work. The references must stay as long as the touches. */
bool fm_open_touches_create(fm_isl_work *work, fm_touches *touches, const fm_open_references *open);

#endif

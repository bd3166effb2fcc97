/* SPDX-License-Identifier: Apache-2.0 */
/* copy.h - a region once more, in an arena of its own, so that its tree may be changed; and expressions with
 * a variable replaced. */
#ifndef FATHOM_STATIC_COPY_H
#define FATHOM_STATIC_COPY_H

#include "static/region/region.h"

/* Numbers of statements, accesses and variables stay. The copy is of no origin. */
fm_status fm_region_copy(fm_region **copy, const fm_region *region, fm_error *error);

/* The copy in `arena`, with every use of the variable replaced by `by`; by NULL: just a copy. NULL: no
 * memory. */
const fm_expr *fm_expr_replace(fm_arena *arena, const fm_expr *expression, uint32_t variable,
                               const fm_expr *by);
/* In all bounds, conditions and subscripts of these nodes and what is behind and inside them. False: no
 * memory. */
bool fm_nodes_replace(fm_arena *arena, const fm_region *region, fm_region_node *node, uint32_t variable,
                      const fm_expr *by);

/* Are they the same tree? Parameters are compared by their values, where they have any. */
bool fm_expr_same(const fm_region *region, const fm_expr *left, const fm_expr *right);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * polyhedral.h - the executions of a region's statements as sets and maps of isl, for given values of the
 * parameters: exact, with all of isl's arithmetic. dependence.c asks them; distances are computed from
 * references (reference.h) instead.
 *
 * Anything may be NULL where isl gave up (isl_ctx_last_error); everything made from it is then NULL too.
 */
#ifndef FATHOM_STATIC_POLYHEDRAL_H
#define FATHOM_STATIC_POLYHEDRAL_H

#include "static/region/region.h"

#include <isl/aff.h>
#include <isl/map.h>
#include <isl/set.h>
#include <isl/space.h>

/* Coordinates of an execution: the variables of the loops around it, from outside to inside. */
typedef struct fm_coordinates {
    unsigned depth;
    uint32_t variables[FM_MOST_LOOPS];
} fm_coordinates;

typedef struct fm_executions {
    const fm_region_node *node;
    fm_coordinates scope;
    isl_set *domain; /* the executions that there are */
    isl_map *time;   /* when each is: compared coordinate by coordinate */
} fm_executions;

typedef struct fm_polyhedral {
    isl_ctx *ctx;
    const fm_region *region;
    int64_t *parameters;
    unsigned times;            /* coordinates of times */
    fm_executions *statements; /* by their numbers */
} fm_polyhedral;

/* Loops around the statement that has most. */
unsigned fm_polyhedral_depth(const fm_region_node *node);
/* times: 2 * depth + 1 at least. FM_E_ARGUMENT: a parameter is open. To be cleared in any case. */
fm_status fm_polyhedral_create(fm_polyhedral *self, isl_ctx *ctx, const fm_region *region, unsigned times,
                               fm_error *error);
void fm_polyhedral_clear(fm_polyhedral *self);

/* An expression in the coordinates. */
isl_pw_aff *fm_polyhedral_form(const fm_polyhedral *self, const fm_coordinates *scope,
                               const fm_expr *expression);
/* The map from executions to the values of several expressions. */
isl_map *fm_polyhedral_map(const fm_polyhedral *self, const fm_coordinates *scope,
                           const fm_expr *const *expressions, unsigned count);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dependence_flow.c - scalars. A variable that is written anew in every iteration before it is read would
 * forbid every change if its stores had to stay in order. What counts is the flow: each load gets the value
 * of the same store as before, and what is there at the end is the same store's.
 */
#include "static/change/dependence.h"

#include <isl/flow.h>
#include <isl/id.h>
#include <isl/union_map.h>
#include <isl/union_set.h>
#include <stdio.h>

/* Whatever comes after the region reads it: a load at the end of time. */
static isl_union_map *last_load(isl_ctx *ctx, isl_id *name)
{
    isl_space *space = isl_space_alloc(ctx, 0, 0, 0);
    space = isl_space_set_tuple_id(space, isl_dim_in, name);
    return isl_union_map_from_map(isl_map_universe(space));
}

static isl_map *last_time(isl_ctx *ctx, isl_id *name, unsigned times)
{
    isl_map *map = isl_map_universe(isl_space_alloc(ctx, 0, 0, times + 1));
    for (unsigned i = 0; i <= times; i++) map = isl_map_fix_si(map, isl_dim_out, i, i == 0 ? 1 << 30 : 0);
    return isl_map_set_tuple_id(map, isl_dim_in, name);
}

/* Which store each load gets its value from (flow), and the loads that get none (none), by the times before
 * or after. */
static isl_bool find_flow(const fm_dependence *self, uint32_t array, bool after, isl_union_map **flow,
                          isl_union_map **none)
{
    isl_ctx *ctx = self->before.ctx;
    isl_id *end = isl_id_alloc(ctx, "end", NULL);
    isl_union_map *loads = last_load(ctx, isl_id_copy(end));
    isl_union_map *stores = isl_union_map_empty(isl_space_params_alloc(ctx, 0));
    isl_union_map *times = isl_union_map_from_map(last_time(ctx, end, self->before.times));
    for (size_t i = 0; i < self->count; i++) {
        const fm_touching *at = &self->all[i];
        if (at->access->array != array) continue;
        const fm_executions *statement = &self->before.statements[at->statement];
        char name[32];
        snprintf(name, sizeof name, "access%zu", i);
        isl_id *id = isl_id_alloc(ctx, name, NULL);
        isl_map *touched = isl_map_intersect_domain(
            isl_map_from_domain_and_range(isl_set_copy(statement->domain),
                                          isl_set_universe(isl_space_set_alloc(ctx, 0, 0))),
            isl_set_copy(statement->domain));
        isl_map *time = isl_map_copy(after ? self->times[at->statement] : statement->time);
        time = isl_map_add_dims(time, isl_dim_out, 1);
        time = isl_map_fix_si(time, isl_dim_out, self->before.times, (int)at->order);
        times = isl_union_map_union(
            times, isl_union_map_from_map(isl_map_set_tuple_id(time, isl_dim_in, isl_id_copy(id))));
        isl_union_map *one = isl_union_map_from_map(isl_map_set_tuple_id(touched, isl_dim_in, id));
        if (at->access->store)
            stores = isl_union_map_union(stores, one);
        else
            loads = isl_union_map_union(loads, one);
    }
    isl_union_access_info *info = isl_union_access_info_from_sink(loads);
    info = isl_union_access_info_set_must_source(info, stores);
    info = isl_union_access_info_set_schedule_map(info, times);
    isl_union_flow *found = isl_union_access_info_compute_flow(info);
    *flow = isl_union_flow_get_must_dependence(found);
    *none = isl_union_flow_get_must_no_source(found);
    isl_union_flow_free(found);
    return *flow && *none ? isl_bool_true : isl_bool_error;
}

isl_bool fm_dependence_same_flow(const fm_dependence *self, uint32_t array)
{
    isl_union_map *flow[2] = {NULL, NULL}, *none[2] = {NULL, NULL};
    isl_bool same = find_flow(self, array, false, &flow[0], &none[0]);
    if (same == isl_bool_true) same = find_flow(self, array, true, &flow[1], &none[1]);
    if (same == isl_bool_true) same = isl_union_map_is_equal(flow[0], flow[1]);
    if (same == isl_bool_true) same = isl_union_map_is_equal(none[0], none[1]);
    for (int i = 0; i < 2; i++) {
        isl_union_map_free(flow[i]);
        isl_union_map_free(none[i]);
    }
    return same;
}

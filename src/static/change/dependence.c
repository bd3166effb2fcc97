/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dependence.c - does a changed region (transform.h) still compute the same? (fm_region_change_check of
 * fathom/static.h)
 */
#include "static/change/transform.h"

#include "static/polyhedra/polyhedra.h"

#include "base/error.h"
#include "base/memory.h"

#include <inttypes.h>
#include <isl/aff.h>
#include <isl/constraint.h>
#include <isl/ctx.h>
#include <isl/flow.h>
#include <isl/id.h>
#include <isl/local_space.h>
#include <isl/map.h>
#include <isl/options.h>
#include <isl/point.h>
#include <isl/set.h>
#include <isl/space.h>
#include <isl/union_map.h>
#include <isl/union_set.h>
#include <isl/val.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- executions ---- */

/*
 * The executions of a region's statements as sets and maps of isl, for given values of the parameters:
 * exact, with all of isl's arithmetic. Distances are computed from references
 * (polyhedra.h) instead.
 *
 * Anything may be NULL where isl gave up (isl_ctx_last_error); everything made from it is then NULL too.
 */

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

/* ---- expressions ---- */

static isl_local_space *space_of(const fm_polyhedral *self, const fm_coordinates *scope)
{
    return isl_local_space_from_space(isl_space_set_alloc(self->ctx, 0, scope->depth));
}

static isl_pw_aff *number_form(const fm_polyhedral *self, const fm_coordinates *scope, int64_t value)
{
    return isl_pw_aff_from_aff(
        isl_aff_val_on_domain(space_of(self, scope), isl_val_int_from_si(self->ctx, value)));
}

static isl_pw_aff *variable_form(const fm_polyhedral *self, const fm_coordinates *scope, uint32_t index)
{
    for (unsigned i = scope->depth; i-- > 0;)
        if (scope->variables[i] == index)
            return isl_pw_aff_from_aff(isl_aff_var_on_domain(space_of(self, scope), isl_dim_set, i));
    return NULL;
}

static isl_pw_aff *polyhedral_form(const fm_polyhedral *self, const fm_coordinates *scope,
                                   const fm_expr *expression);

static isl_pw_aff *quotient_form(const fm_polyhedral *self, const fm_coordinates *scope,
                                 const fm_expr *expression)
{
    int64_t divisor;
    if (!fm_expr_value(expression->right, self->parameters, NULL, &divisor) || divisor <= 0) return NULL;
    isl_pw_aff *left = polyhedral_form(self, scope, expression->left);
    isl_val *by = isl_val_int_from_si(self->ctx, divisor);
    switch (expression->kind) {
    case FM_EXPR_FLOOR:
        return isl_pw_aff_floor(isl_pw_aff_scale_down_val(left, by));
    case FM_EXPR_MODULO:
        return isl_pw_aff_mod_val(left, by);
    case FM_EXPR_QUOTIENT:
        isl_val_free(by);
        return isl_pw_aff_tdiv_q(left, number_form(self, scope, divisor));
    default:
        isl_val_free(by);
        return isl_pw_aff_tdiv_r(left, number_form(self, scope, divisor));
    }
}

/* An expression in the coordinates. */
static isl_pw_aff *polyhedral_form(const fm_polyhedral *self, const fm_coordinates *scope,
                                   const fm_expr *expression)
{
    isl_pw_aff *left, *right;
    switch (expression->kind) {
    case FM_EXPR_NUMBER:
        return number_form(self, scope, expression->number);
    case FM_EXPR_PARAMETER:
        return number_form(self, scope, self->parameters[expression->index]);
    case FM_EXPR_VARIABLE:
        return variable_form(self, scope, expression->index);
    case FM_EXPR_ADD:
    case FM_EXPR_MULTIPLY:
    case FM_EXPR_MIN:
    case FM_EXPR_MAX:
        break;
    default:
        return quotient_form(self, scope, expression);
    }
    left = polyhedral_form(self, scope, expression->left);
    right = polyhedral_form(self, scope, expression->right);
    switch (expression->kind) {
    case FM_EXPR_ADD:
        return isl_pw_aff_add(left, right);
    case FM_EXPR_MULTIPLY:
        return isl_pw_aff_mul(left, right);
    case FM_EXPR_MIN:
        return isl_pw_aff_min(left, right);
    default:
        return isl_pw_aff_max(left, right);
    }
}

/* The map from executions to the values of several expressions. */
static isl_map *polyhedral_map(const fm_polyhedral *self, const fm_coordinates *scope,
                               const fm_expr *const *expressions, unsigned count)
{
    isl_map *map = isl_map_from_domain(isl_set_universe(isl_space_set_alloc(self->ctx, 0, scope->depth)));
    for (unsigned i = 0; i < count; i++)
        map = isl_map_flat_range_product(map,
                                         isl_map_from_pw_aff(polyhedral_form(self, scope, expressions[i])));
    return map;
}

/* ---- conditions ---- */

static isl_set *condition_set(const fm_polyhedral *self, const fm_coordinates *scope,
                              const fm_condition *condition)
{
    isl_space *space = isl_space_set_alloc(self->ctx, 0, scope->depth);
    switch (condition->kind) {
    case FM_CONDITION_TRUE:
        return isl_set_universe(space);
    case FM_CONDITION_FALSE:
        return isl_set_empty(space);
    default:
        isl_space_free(space);
        break;
    }
    switch (condition->kind) {
    case FM_CONDITION_NOT_NEGATIVE:
        return isl_pw_aff_nonneg_set(polyhedral_form(self, scope, condition->expression));
    case FM_CONDITION_ZERO:
        return isl_pw_aff_zero_set(polyhedral_form(self, scope, condition->expression));
    case FM_CONDITION_NOT:
        return isl_set_complement(condition_set(self, scope, condition->left));
    case FM_CONDITION_AND:
        return isl_set_intersect(condition_set(self, scope, condition->left),
                                 condition_set(self, scope, condition->right));
    default:
        return isl_set_union(condition_set(self, scope, condition->left),
                             condition_set(self, scope, condition->right));
    }
}

/* The innermost variable is at least (at most where !lower) the bound. */
static isl_set *bound_set(const fm_polyhedral *self, const fm_coordinates *scope, const fm_expr *bound,
                          bool lower)
{
    if (bound->kind == FM_EXPR_MIN || bound->kind == FM_EXPR_MAX) {
        isl_set *left = bound_set(self, scope, bound->left, lower),
                *right = bound_set(self, scope, bound->right, lower);
        return (bound->kind == FM_EXPR_MAX) == lower ? isl_set_intersect(left, right)
                                                     : isl_set_coalesce(isl_set_union(left, right));
    }
    isl_pw_aff *value = variable_form(self, scope, scope->variables[scope->depth - 1]),
               *form = polyhedral_form(self, scope, bound);
    return lower ? isl_pw_aff_ge_set(value, form) : isl_pw_aff_le_set(value, form);
}

static isl_set *loop_set(const fm_polyhedral *self, const fm_coordinates *scope, const fm_region_node *loop,
                         isl_set *around)
{
    isl_set *set = isl_set_add_dims(around, isl_dim_set, 1);
    set = isl_set_intersect(set, bound_set(self, scope, loop->first, loop->step > 0));
    set = isl_set_intersect(set, bound_set(self, scope, loop->last, loop->step < 0));
    if (loop->step == 1 || loop->step == -1) return set;
    isl_pw_aff *way =
        isl_pw_aff_sub(variable_form(self, scope, loop->variable), polyhedral_form(self, scope, loop->first));
    isl_val *step = isl_val_abs(isl_val_int_from_si(self->ctx, loop->step));
    return isl_set_intersect(set, isl_pw_aff_zero_set(isl_pw_aff_mod_val(way, step)));
}

/* ---- statements ---- */

typedef struct place {
    fm_coordinates scope;
    int64_t positions[FM_MOST_LOOPS + 1]; /* before each loop, and after all */
    bool down[FM_MOST_LOOPS];
} place;

static isl_map *time_of(const fm_polyhedral *self, const place *at)
{
    isl_map *map = isl_map_from_domain(isl_set_universe(isl_space_set_alloc(self->ctx, 0, at->scope.depth)));
    for (unsigned i = 0; i < self->times; i++) {
        const unsigned level = i / 2;
        isl_pw_aff *form;
        if (i % 2 == 0 || level >= at->scope.depth)
            form = number_form(self, &at->scope,
                               i % 2 == 0 && level <= at->scope.depth ? at->positions[level] : 0);
        else
            form = variable_form(self, &at->scope, at->scope.variables[level]);
        if (i % 2 == 1 && level < at->scope.depth && at->down[level]) form = isl_pw_aff_neg(form);
        map = isl_map_flat_range_product(map, isl_map_from_pw_aff(form));
    }
    return map;
}

/* around: kept. *position: of the next thing in the loop. */
static void build_executions(fm_polyhedral *self, const fm_region_node *node, const place *at,
                             isl_set *around, int64_t *position)
{
    for (; node; node = node->next) {
        place here = *at;
        const unsigned depth = here.scope.depth;
        if (node->kind == FM_NODE_IF) {
            isl_set *set = condition_set(self, &here.scope, node->condition);
            isl_set *holds = isl_set_intersect(isl_set_copy(around), isl_set_copy(set)),
                    *fails = isl_set_subtract(isl_set_copy(around), set);
            build_executions(self, node->body, at, holds, position);
            build_executions(self, node->otherwise, at, fails, position);
            isl_set_free(holds);
            isl_set_free(fails);
            continue;
        }
        here.positions[depth] = (*position)++;
        if (node->kind == FM_NODE_LOOP) {
            int64_t inside = 0;
            here.down[depth] = node->step < 0;
            here.scope.variables[here.scope.depth++] = node->variable;
            isl_set *set = loop_set(self, &here.scope, node, isl_set_copy(around));
            build_executions(self, node->body, &here, set, &inside);
            isl_set_free(set);
            continue;
        }
        self->statements[node->statement] = (fm_executions){
            .node = node,
            .scope = here.scope,
            .domain = isl_set_copy(around),
            .time = isl_map_intersect_domain(time_of(self, &here), isl_set_copy(around)),
        };
    }
}

/* Loops around the statement that has most. */
static unsigned polyhedral_depth(const fm_region_node *node)
{
    unsigned depth = 0;
    for (; node; node = node->next) {
        const unsigned body = polyhedral_depth(node->body) + (node->kind == FM_NODE_LOOP),
                       other = polyhedral_depth(node->otherwise);
        if (body > depth) depth = body;
        if (other > depth) depth = other;
    }
    return depth;
}

/* times: 2 * depth + 1 at least. FM_E_ARGUMENT: a parameter is open. To be cleared in any case. */
static fm_status polyhedral_create(fm_polyhedral *self, isl_ctx *ctx, const fm_region *region, unsigned times,
                                   fm_error *error)
{
    *self = (fm_polyhedral){.ctx = ctx, .region = region, .times = times};
    self->parameters = fm_calloc(region->parameter_count + 1, sizeof *self->parameters);
    self->statements = fm_calloc((size_t)region->statement_count + 1, sizeof *self->statements);
    if (!self->parameters || !self->statements)
        return fm_fail_memory(error, region->statement_count * sizeof *self->statements, "statements");
    fm_status status = fm_region_values(region, self->parameters, error);
    if (status != FM_OK) return status;
    const place outside = {0};
    int64_t position = 0;
    isl_set *all = isl_set_universe(isl_space_set_alloc(ctx, 0, 0));
    build_executions(self, region->body, &outside, all, &position);
    isl_set_free(all);
    return FM_OK;
}

/* times: 2 * depth + 1 at least. FM_E_ARGUMENT: a parameter is open. To be cleared in any case. */
static void polyhedral_clear(fm_polyhedral *self)
{
    for (uint32_t i = 0; self->statements && i < self->region->statement_count; i++) {
        isl_set_free(self->statements[i].domain);
        isl_map_free(self->statements[i].time);
    }
    free(self->statements);
    free(self->parameters);
    *self = (fm_polyhedral){0};
}

/* ---- dependences ---- */

/*
 * Does a changed region (transform.h) still compute the same? (fm_region_change_check of fathom/static.h)
 *
 * Two accesses to the same bytes, one of them a store, must be in the same order before and after; where an
 * array is padded, every subscript must be within its row. Scalars may change places as long as every load
 * still gets what the same store put there, and the same store is the last. It is decided exactly, by
 * integer arithmetic for the given values of the parameters; what cannot be decided in time is not allowed.
 */

/* An access of the original. */
typedef struct fm_touching {
    const fm_region_access *access;
    uint32_t statement; /* number in the original */
    uint32_t order;     /* within the statement */
} fm_touching;

typedef struct fm_dependence {
    const fm_region *region;
    fm_polyhedral before, after;
    isl_map **times; /* by the original's statements: from executions of the original to times after */
    size_t count;
    fm_touching *all;
    isl_map **reversed; /* by pairs of statements: executions in this order before, in the other after */
    bool *known;        /* which of those were made */
} fm_dependence;

/* ---- scalars ---- */

/*
 * Scalars. A variable that is written anew in every iteration before it is read would forbid every change if
 * its stores had to stay in order. What counts is the flow: each load gets the value of the same store as
 * before, and what is there at the end is the same store's.
 */

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

/* The accesses of a scalar still get the same values. */
static isl_bool dependence_same_flow(const fm_dependence *self, uint32_t array)
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

/* ---- all accesses ---- */

/* isl counts its operations, which take some microseconds each, at times far more; time is looked at between
 * attempts, each of which may take more of them than the one before. */
enum { FIRST_OPERATIONS = 20000, MORE = 4, WITNESS_OPERATIONS = 20000 };

/* What was found out. */
typedef enum verdict { KEPT, BROKEN, GIVEN_UP } verdict;

static const fm_executions *executions_of(const fm_dependence *self, const fm_touching *touching)
{
    return &self->before.statements[touching->statement];
}

/* ---- messages ---- */

/* One point of the set, the first one where that is not much work; false: isl gave up. */
static bool find_point(const fm_dependence *self, isl_set *set, int64_t *values, unsigned count)
{
    isl_ctx *ctx = self->before.ctx;
    const unsigned long most = isl_ctx_get_max_operations(ctx);
    isl_point *any = isl_set_sample_point(isl_set_copy(set));
    if (isl_point_is_void(any) != isl_bool_false || isl_ctx_last_error(ctx) != isl_error_none) {
        isl_point_free(any); /* out of operations: the set has points, but this is none */
        isl_set_free(set);
        return false;
    }
    isl_ctx_reset_operations(ctx);
    isl_ctx_set_max_operations(ctx, WITNESS_OPERATIONS);
    isl_point *first = isl_set_sample_point(isl_set_lexmin(set));
    if (isl_ctx_last_error(ctx) == isl_error_none && isl_point_is_void(first) == isl_bool_false) {
        isl_point_free(any);
        any = first;
    } else {
        isl_point_free(first);
    }
    isl_ctx_reset_error(ctx);
    isl_ctx_reset_operations(ctx);
    isl_ctx_set_max_operations(ctx, most);
    for (unsigned i = 0; i < count; i++) {
        isl_val *value = isl_point_get_coordinate_val(any, isl_dim_set, (int)i);
        values[i] = isl_val_get_num_si(value);
        isl_val_free(value);
    }
    isl_point_free(any);
    return true;
}

static void describe_iteration(const fm_dependence *self, const fm_coordinates *scope, const int64_t *values,
                               char *text, size_t size)
{
    size_t used = 0;
    text[0] = '\0';
    for (unsigned i = 0; i < scope->depth && used < size; i++)
        used += (size_t)snprintf(text + used, size - used, "%s%.40s=%" PRId64, i ? ", " : " in iteration ",
                                 self->region->variables[scope->variables[i]], values[i]);
}

static void describe_place(const fm_touching *touching, char *text, size_t size)
{
    const fm_region_place *at = &touching->access->place;
    if (at->line)
        snprintf(text, size, "line %u", at->line);
    else
        snprintf(text, size, "statement %u", touching->statement + 1);
}

static const char *text_of(const fm_dependence *self, const fm_touching *touching)
{
    return touching->access->text ? touching->access->text
                                  : self->region->arrays[touching->access->array].name;
}

static fm_status tell_broken(const fm_dependence *self, const fm_touching *a, const fm_touching *b,
                             const int64_t *values, fm_error *error)
{
    char here[200], there[200], line[40], other[40];
    const fm_coordinates *first = &executions_of(self, a)->scope, *second = &executions_of(self, b)->scope;
    describe_iteration(self, first, values, here, sizeof here);
    describe_iteration(self, second, values + first->depth, there, sizeof there);
    describe_place(a, line, sizeof line);
    describe_place(b, other, sizeof other);
    return fm_fail(error, FM_E_UNSUPPORTED, NULL,
                   "illegal: %s %s %.60s%s before %s %s it%s; the changed loops have the reverse order", line,
                   a->access->store ? "writes" : "reads", text_of(self, a), here, other,
                   b->access->store ? "writes" : "reads", there);
}

/* ---- bytes ---- */

/* The executions in which a subscript, other than the one that ends nowhere, is outside its dimension. */
static isl_set *outside_row(const fm_dependence *self, const fm_touching *touching)
{
    const fm_region_array *array = &self->region->arrays[touching->access->array];
    const fm_executions *at = executions_of(self, touching);
    isl_set *set = isl_set_empty(isl_space_set_alloc(self->before.ctx, 0, at->scope.depth));
    for (unsigned d = 0; d < array->dimensions; d++) {
        int64_t extent, low = array->lows ? array->lows[d] : 0;
        if (d == (array->column_major ? array->dimensions - 1 : 0)) continue;
        if (!fm_expr_value(array->extents[d], self->before.parameters, NULL, &extent))
            return isl_set_free(set);
        const bool innermost = d == (array->column_major ? 0 : array->dimensions - 1);
        const uint64_t reach = innermost ? fm_access_reach(array, touching->access) : array->element;
        const fm_expr least = {.kind = FM_EXPR_NUMBER, .number = low},
                      most = {.kind = FM_EXPR_NUMBER,
                              .number = low + extent - (int64_t)((reach - 1) / array->element)};
        isl_pw_aff *value = polyhedral_form(&self->before, &at->scope, touching->access->subscripts[d]);
        isl_set *below =
            isl_pw_aff_lt_set(isl_pw_aff_copy(value), polyhedral_form(&self->before, &at->scope, &least));
        isl_set *above = isl_pw_aff_ge_set(value, polyhedral_form(&self->before, &at->scope, &most));
        set = isl_set_union(set, isl_set_union(below, above));
    }
    return isl_set_intersect(set, isl_set_copy(at->domain));
}

static isl_bool within_rows(const fm_dependence *self, uint32_t array)
{
    if (self->region->arrays[array].dimensions < 2) return isl_bool_true;
    isl_bool all = isl_bool_true;
    for (size_t i = 0; i < self->count && all == isl_bool_true; i++) {
        if (self->all[i].access->array != array) continue;
        isl_set *outside = outside_row(self, &self->all[i]);
        all = isl_set_is_empty(outside);
        isl_set_free(outside);
    }
    return all;
}

/* Elements of an array as bytes: the sum of subscripts times strides, which placement.c has too. */
static isl_map *address_map(const fm_dependence *self, const fm_touching *touching, const int64_t *strides)
{
    const fm_region_array *array = &self->region->arrays[touching->access->array];
    const fm_executions *at = executions_of(self, touching);
    const fm_expr offset = {.kind = FM_EXPR_NUMBER, .number = (int64_t)touching->access->member_offset};
    isl_pw_aff *sum = polyhedral_form(&self->before, &at->scope, &offset);
    for (unsigned d = 0; d < array->dimensions; d++) {
        isl_pw_aff *value = polyhedral_form(&self->before, &at->scope, touching->access->subscripts[d]);
        sum = isl_pw_aff_add(sum,
                             isl_pw_aff_scale_val(value, isl_val_int_from_si(self->before.ctx, strides[d])));
    }
    return isl_map_from_pw_aff(sum);
}

/* Addresses x and y so that [x, x + a) and [y, y + b) have bytes in common. */
static isl_map *overlapping_bytes(isl_ctx *ctx, int64_t a, int64_t b)
{
    isl_local_space *space = isl_local_space_from_space(isl_space_alloc(ctx, 0, 1, 1));
    isl_constraint *below = isl_constraint_alloc_inequality(isl_local_space_copy(space));
    isl_constraint *above = isl_constraint_alloc_inequality(space);
    /* x - y + a - 1 >= 0 and y - x + b - 1 >= 0 */
    below = isl_constraint_set_coefficient_si(below, isl_dim_in, 0, 1);
    below = isl_constraint_set_coefficient_si(below, isl_dim_out, 0, -1);
    below = isl_constraint_set_constant_val(below, isl_val_int_from_si(ctx, a - 1));
    above = isl_constraint_set_coefficient_si(above, isl_dim_in, 0, -1);
    above = isl_constraint_set_coefficient_si(above, isl_dim_out, 0, 1);
    above = isl_constraint_set_constant_val(above, isl_val_int_from_si(ctx, b - 1));
    isl_map *map = isl_map_universe(isl_space_alloc(ctx, 0, 1, 1));
    return isl_map_add_constraint(isl_map_add_constraint(map, below), above);
}

/* Pairs of executions in which a and b touch common bytes. rows: every subscript is within its row, so that
 * elements with different subscripts are different. */
static isl_map *touch_same(const fm_dependence *self, const fm_touching *a, const fm_touching *b, bool rows,
                           const int64_t *strides)
{
    const fm_region_array *array = &self->region->arrays[a->access->array];
    const fm_polyhedral *before = &self->before;
    const int64_t from = (int64_t)a->access->member_offset, to = (int64_t)b->access->member_offset,
                  bytes = (int64_t)a->access->member_bytes, others = (int64_t)b->access->member_bytes;
    if (!rows || fm_access_reach(array, a->access) > array->element ||
        fm_access_reach(array, b->access) > array->element)
        return isl_map_apply_range(
            isl_map_apply_range(address_map(self, a, strides), overlapping_bytes(before->ctx, bytes, others)),
            isl_map_reverse(address_map(self, b, strides)));
    const fm_coordinates *first = &executions_of(self, a)->scope, *second = &executions_of(self, b)->scope;
    if (from + bytes <= to || to + others <= from)
        return isl_map_empty(isl_space_alloc(before->ctx, 0, first->depth, second->depth));
    isl_map *left = polyhedral_map(before, first, a->access->subscripts, array->dimensions);
    isl_map *right = polyhedral_map(before, second, b->access->subscripts, array->dimensions);
    return isl_map_apply_range(left, isl_map_reverse(right));
}

/* ---- order ---- */

/* Pairs of executions, the first of which is earlier before, and later after. */
static isl_map *reversed_pairs(const fm_dependence *self, uint32_t a, uint32_t b)
{
    isl_ctx *ctx = self->before.ctx;
    isl_map *earlier = isl_map_lex_lt(isl_space_set_alloc(ctx, 0, self->before.times));
    isl_map *later = isl_map_lex_gt(isl_space_set_alloc(ctx, 0, self->before.times));
    earlier = isl_map_apply_range(isl_map_copy(self->before.statements[a].time), earlier);
    earlier = isl_map_apply_range(earlier, isl_map_reverse(isl_map_copy(self->before.statements[b].time)));
    later = isl_map_apply_range(isl_map_copy(self->times[a]), later);
    later = isl_map_apply_range(later, isl_map_reverse(isl_map_copy(self->times[b])));
    isl_map *both = isl_map_intersect(earlier, later);
    const isl_bool none = isl_map_is_empty(both);
    return none == isl_bool_false ? both : isl_map_free(both);
}

static verdict check_pair(fm_dependence *self, const fm_touching *a, const fm_touching *b, bool rows,
                          const int64_t *strides, fm_error *error, fm_status *status)
{
    const size_t at = (size_t)a->statement * self->region->statement_count + b->statement;
    isl_ctx *ctx = self->before.ctx;
    if (!self->known[at]) {
        self->reversed[at] = reversed_pairs(self, a->statement, b->statement);
        if (isl_ctx_last_error(ctx) != isl_error_none) return GIVEN_UP;
        self->known[at] = true;
    }
    if (!self->reversed[at]) return KEPT;
    isl_map *broken =
        isl_map_intersect(isl_map_copy(self->reversed[at]), touch_same(self, a, b, rows, strides));
    const isl_bool none = isl_map_is_empty(broken);
    if (none != isl_bool_false) {
        isl_map_free(broken);
        return none == isl_bool_true ? KEPT : GIVEN_UP;
    }
    int64_t values[2 * FM_MOST_LOOPS];
    const unsigned count = executions_of(self, a)->scope.depth + executions_of(self, b)->scope.depth;
    if (!find_point(self, isl_set_flatten(isl_map_wrap(broken)), values, count)) return GIVEN_UP;
    *status = tell_broken(self, a, b, values, error);
    return BROKEN;
}

/* A variable that is touched as a whole, always: then its flow decides. */
static bool is_scalar(const fm_dependence *self, uint32_t array)
{
    const fm_region_access *first = NULL;
    if (self->region->arrays[array].dimensions > 0) return false;
    for (size_t i = 0; i < self->count; i++) {
        const fm_region_access *access = self->all[i].access;
        if (access->array != array) continue;
        if (!first) first = access;
        if (access->member_offset != first->member_offset || access->member_bytes != first->member_bytes)
            return false;
    }
    return true;
}

static verdict check_array(fm_dependence *self, uint32_t array, const int64_t *strides, fm_error *error,
                           fm_status *status)
{
    const isl_bool rows = within_rows(self, array);
    if (rows == isl_bool_error) return GIVEN_UP;
    verdict found = KEPT;
    for (size_t i = 0; i < self->count && found == KEPT; i++)
        for (size_t k = 0; k < self->count && found == KEPT; k++) {
            const fm_touching *a = &self->all[i], *b = &self->all[k];
            if (a->access->array == array && b->access->array == array &&
                (a->access->store || b->access->store))
                found = check_pair(self, a, b, rows == isl_bool_true, strides, error, status);
        }
    if (found == BROKEN && is_scalar(self, array)) {
        const isl_bool same = dependence_same_flow(self, array);
        if (same == isl_bool_error) found = GIVEN_UP;
        if (same == isl_bool_true) found = KEPT;
        if (found != BROKEN) *status = FM_OK;
    }
    return found;
}

/* ---- padding ---- */

static bool is_padded(const fm_dependence *self, uint32_t array)
{
    const fm_region_array *a = &self->region->arrays[array], *b = &self->after.region->arrays[array];
    for (unsigned d = 0; d < a->dimensions; d++) {
        int64_t before, after;
        if (a->extents[d] && b->extents[d] &&
            fm_expr_value(a->extents[d], self->before.parameters, NULL, &before) &&
            fm_expr_value(b->extents[d], self->after.parameters, NULL, &after) && before != after)
            return true;
    }
    return false;
}

static verdict check_padded(fm_dependence *self, uint32_t array, fm_error *error, fm_status *status)
{
    for (size_t i = 0; i < self->count; i++) {
        const fm_touching *at = &self->all[i];
        if (at->access->array != array) continue;
        isl_set *outside = outside_row(self, at);
        const isl_bool none = isl_set_is_empty(outside);
        int64_t values[FM_MOST_LOOPS];
        const fm_coordinates *scope = &executions_of(self, at)->scope;
        if (none != isl_bool_false) {
            isl_set_free(outside);
            if (none == isl_bool_error) return GIVEN_UP;
            continue;
        }
        if (!find_point(self, outside, values, scope->depth)) return GIVEN_UP;
        char here[200], line[40];
        describe_iteration(self, scope, values, here, sizeof here);
        describe_place(at, line, sizeof line);
        *status =
            fm_fail(error, FM_E_UNSUPPORTED, NULL,
                    "illegal: %s touches %.60s%s, beyond the end of a row: in longer rows that is another "
                    "element",
                    line, text_of(self, at), here);
        return BROKEN;
    }
    return KEPT;
}

/* ---- everything ---- */

static void collect_accesses(fm_dependence *self, const fm_region_node *node)
{
    for (; node; node = node->next) {
        for (size_t i = 0; i < node->access_count && node->kind == FM_NODE_STATEMENT; i++)
            self->all[self->count++] = (fm_touching){
                .access = &node->accesses[i], .statement = node->statement, .order = (uint32_t)i};
        collect_accesses(self, node->body);
        collect_accesses(self, node->otherwise);
    }
}

/* The times after, by executions of the original. */
static void map_times(fm_dependence *self, const fm_region_origin *origin)
{
    for (uint32_t i = 0; i < self->region->statement_count; i++) {
        const fm_executions *after = &self->after.statements[i];
        const uint32_t original = origin->statements[i];
        const fm_coordinates *scope = &self->before.statements[original].scope;
        const fm_expr *values[FM_MOST_LOOPS];
        for (unsigned d = 0; d < scope->depth; d++) values[d] = origin->values[original][scope->variables[d]];
        isl_map *same = polyhedral_map(&self->after, &after->scope, values, scope->depth);
        self->times[original] = isl_map_apply_range(isl_map_reverse(same), isl_map_copy(after->time));
    }
}

static verdict check_all(fm_dependence *self, const fm_region *changed, const fm_placement *placement,
                         fm_error *error, fm_status *status)
{
    verdict found = KEPT;
    map_times(self, changed->origin);
    for (uint32_t i = 0; i < self->region->array_count && found == KEPT; i++) {
        if (is_padded(self, i)) found = check_padded(self, i, error, status);
        if (found == KEPT) found = check_array(self, i, placement->arrays[i].strides, error, status);
    }
    return isl_ctx_last_error(self->before.ctx) == isl_error_none ? found : GIVEN_UP;
}

static void clear_dependence(fm_dependence *self)
{
    const size_t statements = self->region->statement_count;
    for (size_t i = 0; i < statements && self->times; i++) isl_map_free(self->times[i]);
    for (size_t i = 0; i < statements * statements && self->reversed; i++) isl_map_free(self->reversed[i]);
    free(self->times);
    free(self->reversed);
    free(self->known);
    free(self->all);
    polyhedral_clear(&self->before);
    polyhedral_clear(&self->after);
}

static fm_status check_order(isl_ctx *ctx, const fm_region *region, const fm_region *changed,
                             const fm_placement *placement, verdict *found, fm_error *error)
{
    fm_dependence self = {.region = region};
    const unsigned depth = polyhedral_depth(region->body), other = polyhedral_depth(changed->body);
    const unsigned times = 2 * (depth > other ? depth : other) + 1;
    const size_t statements = region->statement_count;
    self.times = fm_calloc(statements + 1, sizeof(isl_map *));
    self.reversed = fm_calloc(statements * statements + 1, sizeof(isl_map *));
    self.known = fm_calloc(statements * statements + 1, sizeof *self.known);
    self.all = fm_calloc((size_t)region->access_count + 1, sizeof *self.all);
    fm_status status = self.times && self.reversed && self.known && self.all
                           ? FM_OK
                           : fm_fail_memory(error, statements * statements, "pairs of statements");
    if (status == FM_OK) status = polyhedral_create(&self.before, ctx, region, times, error);
    if (status == FM_OK) status = polyhedral_create(&self.after, ctx, changed, times, error);
    if (status == FM_OK) {
        collect_accesses(&self, region->body);
        *found = check_all(&self, changed, placement, error, &status);
    }
    clear_dependence(&self);
    return status;
}

fm_status fm_region_change_check(const fm_region *region, const fm_region *changed, double limit_seconds,
                                 fm_error *error)
{
    FM_REQUIRE(region, error);
    FM_REQUIRE(changed, error);
    const double began = fm_now();
    if (!changed->origin || changed->statement_count != region->statement_count)
        return fm_fail(error, FM_E_ARGUMENT, NULL, "the second region is not a change of the first");
    fm_placement *placement;
    fm_status status = fm_placement_create(&placement, region, 64, FM_LAYOUT_CONTIGUOUS, error);
    verdict found = GIVEN_UP;
    for (unsigned long operations = FIRST_OPERATIONS; status == FM_OK; operations *= MORE) {
        isl_ctx *ctx = isl_ctx_alloc();
        if (!ctx) {
            status = fm_fail(error, FM_E_NOMEM, NULL, "out of memory: no room for isl");
            break;
        }
        isl_options_set_on_error(ctx, ISL_ON_ERROR_CONTINUE);
        isl_ctx_set_max_operations(ctx, operations);
        status = check_order(ctx, region, changed, placement, &found, error);
        const enum isl_error failure = isl_ctx_last_error(ctx);
        isl_ctx_free(ctx);
        if (status != FM_OK || found != GIVEN_UP) break;
        if (failure != isl_error_quota) {
            status = fm_fail(error, FM_E_UNSUPPORTED, NULL,
                             "not known whether the change is legal: isl cannot work it out");
        } else if (fm_now() - began > limit_seconds / MORE && limit_seconds > 0) {
            status = fm_fail(error, FM_E_UNSUPPORTED, NULL,
                             "not known whether the change is legal: working it out takes longer than %g s",
                             limit_seconds);
        }
    }
    fm_placement_destroy(placement);
    return status;
}

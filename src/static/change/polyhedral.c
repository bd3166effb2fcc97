/* SPDX-License-Identifier: Apache-2.0 */
/* polyhedral.c - see polyhedral.h. */
#include "static/change/polyhedral.h"

#include "base/error.h"
#include "base/memory.h"

#include <isl/local_space.h>
#include <isl/val.h>
#include <stdlib.h>

/* ---- expressions ---- */

static isl_local_space *space_of(const fm_polyhedral *self, const fm_coordinates *scope)
{
    return isl_local_space_from_space(isl_space_set_alloc(self->ctx, 0, scope->depth));
}

static isl_pw_aff *number(const fm_polyhedral *self, const fm_coordinates *scope, int64_t value)
{
    return isl_pw_aff_from_aff(
        isl_aff_val_on_domain(space_of(self, scope), isl_val_int_from_si(self->ctx, value)));
}

static isl_pw_aff *variable(const fm_polyhedral *self, const fm_coordinates *scope, uint32_t index)
{
    for (unsigned i = scope->depth; i-- > 0;)
        if (scope->variables[i] == index)
            return isl_pw_aff_from_aff(isl_aff_var_on_domain(space_of(self, scope), isl_dim_set, i));
    return NULL;
}

static isl_pw_aff *quotient(const fm_polyhedral *self, const fm_coordinates *scope, const fm_expr *expression)
{
    int64_t divisor;
    if (!fm_expr_value(expression->right, self->parameters, NULL, &divisor) || divisor <= 0) return NULL;
    isl_pw_aff *left = fm_polyhedral_form(self, scope, expression->left);
    isl_val *by = isl_val_int_from_si(self->ctx, divisor);
    switch (expression->kind) {
    case FM_EXPR_FLOOR:
        return isl_pw_aff_floor(isl_pw_aff_scale_down_val(left, by));
    case FM_EXPR_MODULO:
        return isl_pw_aff_mod_val(left, by);
    case FM_EXPR_QUOTIENT:
        isl_val_free(by);
        return isl_pw_aff_tdiv_q(left, number(self, scope, divisor));
    default:
        isl_val_free(by);
        return isl_pw_aff_tdiv_r(left, number(self, scope, divisor));
    }
}

isl_pw_aff *fm_polyhedral_form(const fm_polyhedral *self, const fm_coordinates *scope,
                               const fm_expr *expression)
{
    isl_pw_aff *left, *right;
    switch (expression->kind) {
    case FM_EXPR_NUMBER:
        return number(self, scope, expression->number);
    case FM_EXPR_PARAMETER:
        return number(self, scope, self->parameters[expression->index]);
    case FM_EXPR_VARIABLE:
        return variable(self, scope, expression->index);
    case FM_EXPR_ADD:
    case FM_EXPR_MULTIPLY:
    case FM_EXPR_MIN:
    case FM_EXPR_MAX:
        break;
    default:
        return quotient(self, scope, expression);
    }
    left = fm_polyhedral_form(self, scope, expression->left);
    right = fm_polyhedral_form(self, scope, expression->right);
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

isl_map *fm_polyhedral_map(const fm_polyhedral *self, const fm_coordinates *scope,
                           const fm_expr *const *expressions, unsigned count)
{
    isl_map *map = isl_map_from_domain(isl_set_universe(isl_space_set_alloc(self->ctx, 0, scope->depth)));
    for (unsigned i = 0; i < count; i++)
        map = isl_map_flat_range_product(
            map, isl_map_from_pw_aff(fm_polyhedral_form(self, scope, expressions[i])));
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
        return isl_pw_aff_nonneg_set(fm_polyhedral_form(self, scope, condition->expression));
    case FM_CONDITION_ZERO:
        return isl_pw_aff_zero_set(fm_polyhedral_form(self, scope, condition->expression));
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
    isl_pw_aff *value = variable(self, scope, scope->variables[scope->depth - 1]),
               *form = fm_polyhedral_form(self, scope, bound);
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
        isl_pw_aff_sub(variable(self, scope, loop->variable), fm_polyhedral_form(self, scope, loop->first));
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
            form =
                number(self, &at->scope, i % 2 == 0 && level <= at->scope.depth ? at->positions[level] : 0);
        else
            form = variable(self, &at->scope, at->scope.variables[level]);
        if (i % 2 == 1 && level < at->scope.depth && at->down[level]) form = isl_pw_aff_neg(form);
        map = isl_map_flat_range_product(map, isl_map_from_pw_aff(form));
    }
    return map;
}

/* around: kept. *position: of the next thing in the loop. */
static void build(fm_polyhedral *self, const fm_region_node *node, const place *at, isl_set *around,
                  int64_t *position)
{
    for (; node; node = node->next) {
        place here = *at;
        const unsigned depth = here.scope.depth;
        if (node->kind == FM_NODE_IF) {
            isl_set *set = condition_set(self, &here.scope, node->condition);
            isl_set *holds = isl_set_intersect(isl_set_copy(around), isl_set_copy(set)),
                    *fails = isl_set_subtract(isl_set_copy(around), set);
            build(self, node->body, at, holds, position);
            build(self, node->otherwise, at, fails, position);
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
            build(self, node->body, &here, set, &inside);
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

unsigned fm_polyhedral_depth(const fm_region_node *node)
{
    unsigned depth = 0;
    for (; node; node = node->next) {
        const unsigned body = fm_polyhedral_depth(node->body) + (node->kind == FM_NODE_LOOP),
                       other = fm_polyhedral_depth(node->otherwise);
        if (body > depth) depth = body;
        if (other > depth) depth = other;
    }
    return depth;
}

fm_status fm_polyhedral_create(fm_polyhedral *self, isl_ctx *ctx, const fm_region *region, unsigned times,
                               fm_error *error)
{
    *self = (fm_polyhedral){.ctx = ctx, .region = region, .times = times};
    self->parameters = fm_calloc(region->parameter_count + 1, sizeof *self->parameters);
    self->statements = fm_calloc((size_t)region->statement_count + 1, sizeof *self->statements);
    if (!self->parameters || !self->statements)
        return fm_fail_memory(error, region->statement_count * sizeof *self->statements, "statements");
    for (size_t i = 0; i < region->parameter_count; i++) {
        if (!region->parameters[i].has_value)
            return fm_fail(error, FM_E_ARGUMENT, NULL, "the parameter '%.60s' has no value",
                           region->parameters[i].name);
        self->parameters[i] = region->parameters[i].value;
    }
    const place outside = {0};
    int64_t position = 0;
    isl_set *all = isl_set_universe(isl_space_set_alloc(ctx, 0, 0));
    build(self, region->body, &outside, all, &position);
    isl_set_free(all);
    return FM_OK;
}

void fm_polyhedral_clear(fm_polyhedral *self)
{
    for (uint32_t i = 0; self->statements && i < self->region->statement_count; i++) {
        isl_set_free(self->statements[i].domain);
        isl_map_free(self->statements[i].time);
    }
    free(self->statements);
    free(self->parameters);
    *self = (fm_polyhedral){0};
}

/* SPDX-License-Identifier: Apache-2.0 */
/* transform_bounds.c - see transform_bounds.h. */
#include "static/change/transform_bounds.h"

#include "static/change/copy.h"

const fm_expr *fm_expr_floor(fm_arena *arena, const fm_expr *expression, int64_t divisor)
{
    if (divisor == 1) return expression;
    return fm_expr_binary(arena, FM_EXPR_FLOOR, expression, fm_expr_number(arena, divisor));
}

const fm_expr *fm_expr_ceil(fm_arena *arena, const fm_expr *expression, int64_t divisor)
{
    return fm_expr_floor(arena, fm_expr_add(arena, expression, fm_expr_number(arena, divisor - 1)), divisor);
}

const fm_expr *fm_expr_larger(fm_arena *arena, const fm_expr *left, const fm_expr *right)
{
    return left ? fm_expr_binary(arena, FM_EXPR_MAX, left, right) : right;
}

const fm_expr *fm_expr_smaller(fm_arena *arena, const fm_expr *left, const fm_expr *right)
{
    return left ? fm_expr_binary(arena, FM_EXPR_MIN, left, right) : right;
}

/* The value of something without variables. */
static bool constant(const fm_region *region, const fm_expr *expression, int64_t *value)
{
    int64_t left, right;
    switch (expression->kind) {
    case FM_EXPR_NUMBER:
        *value = expression->number;
        return true;
    case FM_EXPR_PARAMETER:
        *value = region->parameters[expression->index].value;
        return region->parameters[expression->index].has_value;
    case FM_EXPR_VARIABLE:
        return false;
    default:
        break;
    }
    if (!constant(region, expression->left, &left) || !constant(region, expression->right, &right))
        return false;
    const fm_expr a = {.kind = FM_EXPR_NUMBER, .number = left}, b = {.kind = FM_EXPR_NUMBER, .number = right};
    const fm_expr both = {.kind = expression->kind, .left = &a, .right = &b};
    return fm_expr_value(&both, NULL, NULL, value);
}

/* Of a product, the side without variables and the other one. */
static bool product(const fm_region *region, const fm_expr *expression, int64_t *factor,
                    const fm_expr **other)
{
    const bool left = constant(region, expression->left, factor);
    *other = left ? expression->right : expression->left;
    return left || constant(region, expression->right, factor);
}

const fm_expr *fm_expr_hull(const fm_region *region, const fm_expr *expression, uint32_t variable,
                            const fm_expr *low, const fm_expr *high, bool least)
{
    int64_t factor;
    const fm_expr *other, *left, *right;
    if (!fm_expr_uses(expression, variable)) return expression;
    switch (expression->kind) {
    case FM_EXPR_VARIABLE:
        return least ? low : high;
    case FM_EXPR_ADD:
    case FM_EXPR_MIN:
    case FM_EXPR_MAX:
        left = fm_expr_hull(region, expression->left, variable, low, high, least);
        right = fm_expr_hull(region, expression->right, variable, low, high, least);
        return fm_expr_binary(region->arena, expression->kind, left, right);
    case FM_EXPR_MULTIPLY:
        if (!product(region, expression, &factor, &other)) return NULL;
        other = fm_expr_hull(region, other, variable, low, high, factor < 0 ? !least : least);
        return other ? fm_expr_scale(region->arena, factor, other) : NULL;
    case FM_EXPR_QUOTIENT:
    case FM_EXPR_FLOOR: /* by something positive: they never fall */
        left = fm_expr_hull(region, expression->left, variable, low, high, least);
        return fm_expr_binary(region->arena, expression->kind, left, expression->right);
    default:
        return NULL;
    }
}

bool fm_expr_split(const fm_region *region, const fm_expr *expression, uint32_t variable, int64_t *factor,
                   const fm_expr **rest)
{
    fm_arena *arena = region->arena;
    int64_t a, b;
    const fm_expr *left, *right;
    *factor = 0;
    *rest = expression;
    if (!fm_expr_uses(expression, variable)) return true;
    switch (expression->kind) {
    case FM_EXPR_VARIABLE:
        *factor = 1;
        *rest = fm_expr_number(arena, 0);
        return *rest;
    case FM_EXPR_ADD:
        if (!fm_expr_split(region, expression->left, variable, &a, &left) ||
            !fm_expr_split(region, expression->right, variable, &b, &right) ||
            __builtin_add_overflow(a, b, factor))
            return false;
        *rest = fm_expr_add(arena, left, right);
        return *rest;
    case FM_EXPR_MULTIPLY:
        if (!product(region, expression, &a, &right) || !fm_expr_split(region, right, variable, &b, &left) ||
            __builtin_mul_overflow(a, b, factor))
            return false;
        *rest = fm_expr_scale(arena, a, left);
        return *rest;
    default:
        return false;
    }
}

/* The first value on the way from `first`, by `step`, that is not before `bound`. */
static const fm_expr *start_at(fm_arena *arena, const fm_expr *first, int64_t step, const fm_expr *bound)
{
    if (step == 1) return fm_expr_larger(arena, first, bound);
    if (step == -1) return fm_expr_smaller(arena, first, bound);
    const fm_expr *way =
        step > 0 ? fm_expr_subtract(arena, bound, first) : fm_expr_subtract(arena, first, bound);
    const fm_expr *times = fm_expr_ceil(arena, way, step > 0 ? step : -step);
    times = fm_expr_binary(arena, FM_EXPR_MAX, times, fm_expr_number(arena, 0));
    return times ? fm_expr_add(arena, first, fm_expr_scale(arena, step, times)) : NULL;
}

bool fm_loop_clip(fm_arena *arena, fm_region_node *loop, const fm_expr *low, const fm_expr *high)
{
    const fm_expr *start = loop->step > 0 ? low : high, *end = loop->step > 0 ? high : low;
    if (start) loop->first = start_at(arena, loop->first, loop->step, start);
    if (end)
        loop->last =
            loop->step > 0 ? fm_expr_smaller(arena, loop->last, end) : fm_expr_larger(arena, loop->last, end);
    return loop->first && loop->last;
}

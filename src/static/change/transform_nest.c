/* SPDX-License-Identifier: Apache-2.0 */
/*
 * transform_nest.c - the changes themselves: loops directly inside each other change places or are tiled,
 * bodies are joined and cut, rows are padded.
 */
#include "static/change/transform.h"

#include "base/error.h"

#include <stdio.h>
#include <string.h>

/* ---- bounds ---- */

static const fm_expr *expr_floor(fm_arena *arena, const fm_expr *expression, int64_t divisor)
{
    if (divisor == 1) return expression;
    return fm_expr_binary(arena, FM_EXPR_FLOOR, expression, fm_expr_number(arena, divisor));
}

static const fm_expr *expr_ceil(fm_arena *arena, const fm_expr *expression, int64_t divisor)
{
    return expr_floor(arena, fm_expr_add(arena, expression, fm_expr_number(arena, divisor - 1)), divisor);
}

/* left NULL: right. */
static const fm_expr *expr_larger(fm_arena *arena, const fm_expr *left, const fm_expr *right)
{
    return left ? fm_expr_binary(arena, FM_EXPR_MAX, left, right) : right;
}

/* left NULL: right. */
static const fm_expr *expr_smaller(fm_arena *arena, const fm_expr *left, const fm_expr *right)
{
    return left ? fm_expr_binary(arena, FM_EXPR_MIN, left, right) : right;
}

/* The value of something without variables. */
static bool constant_value(const fm_region *region, const fm_expr *expression, int64_t *value)
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
    return constant_value(region, expression->left, &left) &&
           constant_value(region, expression->right, &right) &&
           fm_expr_compute(expression->kind, left, right, value);
}

/* Of a product, the side without variables and the other one. */
static bool split_product(const fm_region *region, const fm_expr *expression, int64_t *factor,
                          const fm_expr **other)
{
    const bool left = constant_value(region, expression->left, factor);
    *other = left ? expression->right : expression->left;
    return left || constant_value(region, expression->right, factor);
}

/* An expression without the variable that is never larger (smaller where !least) than this one while the
 * variable is between low and high. NULL also where the variable is inside a remainder or a product with
 * something that has no value. */
static const fm_expr *expr_hull(const fm_region *region, const fm_expr *expression, uint32_t variable,
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
        left = expr_hull(region, expression->left, variable, low, high, least);
        right = expr_hull(region, expression->right, variable, low, high, least);
        return fm_expr_binary(region->arena, expression->kind, left, right);
    case FM_EXPR_MULTIPLY:
        if (!split_product(region, expression, &factor, &other)) return NULL;
        other = expr_hull(region, other, variable, low, high, factor < 0 ? !least : least);
        return other ? fm_expr_scale(region->arena, factor, other) : NULL;
    case FM_EXPR_QUOTIENT:
    case FM_EXPR_FLOOR: /* by something positive: they never fall */
        left = expr_hull(region, expression->left, variable, low, high, least);
        return fm_expr_binary(region->arena, expression->kind, left, expression->right);
    default:
        return NULL;
    }
}

/* expression = factor * variable + rest; false: it is not such a sum, or no memory. */
static bool expr_split(const fm_region *region, const fm_expr *expression, uint32_t variable, int64_t *factor,
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
        if (!expr_split(region, expression->left, variable, &a, &left) ||
            !expr_split(region, expression->right, variable, &b, &right) ||
            __builtin_add_overflow(a, b, factor))
            return false;
        *rest = fm_expr_add(arena, left, right);
        return *rest;
    case FM_EXPR_MULTIPLY:
        if (!split_product(region, expression, &a, &right) ||
            !expr_split(region, right, variable, &b, &left) || __builtin_mul_overflow(a, b, factor))
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
    if (step == 1) return expr_larger(arena, first, bound);
    if (step == -1) return expr_smaller(arena, first, bound);
    const fm_expr *way =
        step > 0 ? fm_expr_subtract(arena, bound, first) : fm_expr_subtract(arena, first, bound);
    const fm_expr *times = expr_ceil(arena, way, step > 0 ? step : -step);
    times = fm_expr_binary(arena, FM_EXPR_MAX, times, fm_expr_number(arena, 0));
    return times ? fm_expr_add(arena, first, fm_expr_scale(arena, step, times)) : NULL;
}

/* Leaves out the iterations below low and above high (NULL: no such bound). */
static bool loop_clip(fm_arena *arena, fm_region_node *loop, const fm_expr *low, const fm_expr *high)
{
    const fm_expr *start = loop->step > 0 ? low : high, *end = loop->step > 0 ? high : low;
    if (start) loop->first = start_at(arena, loop->first, loop->step, start);
    if (end)
        loop->last =
            loop->step > 0 ? expr_smaller(arena, loop->last, end) : expr_larger(arena, loop->last, end);
    return loop->first && loop->last;
}

/* ---- nests ---- */

/*
 * Interchange and tiling of loops directly inside each other.
 *
 * A loop that moves outwards runs from the smallest to the largest value that it may have for any value of
 * the loops it passes; those get the conditions that it had on them. Iterations that are too many in this
 * way have nothing inside. Every statement has exactly the executions that it had.
 */

/* ---- interchange ---- */

static void swap_loops(fm_region_node *a, fm_region_node *b)
{
    const fm_region_node loop = *a;
    a->variable = b->variable, a->first = b->first, a->last = b->last, a->step = b->step, a->place = b->place;
    b->variable = loop.variable, b->first = loop.first, b->last = loop.last, b->step = loop.step,
    b->place = loop.place;
}

typedef struct turning {
    fm_changer *changer;
    const fm_region_node *outer, *inner;
    const fm_expr *low, *high; /* what the inner loop's bounds say of the outer one's variable */
} turning;

/* The inner variable is at least (at most where !lower) the bound: what is that for the outer one? Bounds of
 * bounds are taken apart. */
static fm_status turn_bound(turning *self, const fm_expr *bound, bool lower)
{
    fm_region *region = self->changer->region;
    fm_arena *arena = region->arena;
    const uint32_t outer = self->outer->variable;
    if (!fm_expr_uses(bound, outer)) return FM_OK;
    if (bound->kind == (lower ? FM_EXPR_MAX : FM_EXPR_MIN)) {
        fm_status status = turn_bound(self, bound->left, lower);
        return status == FM_OK ? turn_bound(self, bound->right, lower) : status;
    }
    int64_t factor;
    const fm_expr *rest, *variable = fm_expr_variable(arena, self->inner->variable);
    if (!expr_split(region, bound, outer, &factor, &rest) || factor == 0 || factor == INT64_MIN)
        return fm_change_fail(
            self->changer, self->inner,
            "interchange: the %s value of '%.60s' depends on '%.60s' in a way that cannot be "
            "turned around",
            lower ? "least" : "largest", fm_change_name(self->changer, self->inner),
            fm_change_name(self->changer, self->outer));
    /* lower: variable >= factor * outer + rest; else variable <= … */
    const bool upper_of_outer = lower == (factor > 0);
    const fm_expr *way =
        factor > 0 ? fm_expr_subtract(arena, variable, rest) : fm_expr_subtract(arena, rest, variable);
    if (factor < 0) factor = -factor;
    if (upper_of_outer)
        self->high = expr_smaller(arena, self->high, expr_floor(arena, way, factor));
    else
        self->low = expr_larger(arena, self->low, expr_ceil(arena, way, factor));
    return (upper_of_outer ? self->high : self->low) ? FM_OK : fm_change_no_memory(self->changer);
}

static fm_status swap_dependent(fm_changer *changer, fm_region_node *outer, fm_region_node *inner)
{
    fm_region *region = changer->region;
    const uint32_t variable = outer->variable;
    turning self = {.changer = changer, .outer = outer, .inner = inner};
    if (inner->step != 1 && inner->step != -1 && fm_expr_uses(inner->first, variable))
        return fm_change_fail(
            changer, inner,
            "interchange: which values '%.60s' has depends on '%.60s': its step is not 1 and "
            "it begins at another value each time",
            fm_change_name(changer, inner), fm_change_name(changer, outer));
    fm_status status = turn_bound(&self, fm_loop_low(inner), true);
    if (status == FM_OK) status = turn_bound(&self, fm_loop_high(inner), false);
    if (status != FM_OK) return status;
    const fm_expr *from = fm_loop_low(outer), *to = fm_loop_high(outer);
    const bool up = inner->step > 0;
    inner->first = expr_hull(region, inner->first, variable, from, to, up);
    inner->last = expr_hull(region, inner->last, variable, from, to, !up);
    if (!inner->first || !inner->last) return fm_change_no_memory(changer);
    if (!loop_clip(region->arena, outer, self.low, self.high)) return fm_change_no_memory(changer);
    swap_loops(outer, inner);
    return FM_OK;
}

static fm_status swap_adjacent(fm_changer *self, fm_region_node *outer, fm_region_node *inner)
{
    if (fm_expr_uses(inner->first, outer->variable) || fm_expr_uses(inner->last, outer->variable))
        return swap_dependent(self, outer, inner);
    swap_loops(outer, inner);
    return FM_OK;
}

/* The outermost goes to the inside, past all others; then the innermost of old to the outside. */
fm_status fm_change_interchange(fm_changer *self, fm_region_node **loops, unsigned count)
{
    fm_status status = FM_OK;
    for (unsigned i = 0; i + 1 < count && status == FM_OK; i++)
        status = swap_adjacent(self, loops[i], loops[i + 1]);
    for (unsigned i = count - 1; i-- > 1 && status == FM_OK;)
        status = swap_adjacent(self, loops[i - 1], loops[i]);
    return status;
}

/* ---- tiles ---- */

typedef struct tiling {
    fm_region_node tile, point;
    const fm_expr *low, *high; /* of the point's variable, by variables of tiles and of loops outside */
} tiling;

/* A bound of loop number `number`, without the variables of the tiled loops around it. */
static const fm_expr *loops_without(const fm_changer *self, const tiling *all, unsigned number,
                                    const fm_expr *bound, bool least)
{
    for (unsigned i = number; i-- > 0 && bound;)
        bound = expr_hull(self->region, bound, all[i].point.variable, all[i].low, all[i].high, least);
    return bound;
}

static fm_status make_tile(fm_changer *self, tiling *all, unsigned number, const fm_region_node *loop,
                           int64_t size)
{
    fm_arena *arena = self->region->arena;
    tiling *at = &all[number];
    char name[FM_LOOP_NAME + 16];
    uint32_t variable;
    const fm_expr *low = loops_without(self, all, number, fm_loop_low(loop), true);
    const fm_expr *high = loops_without(self, all, number, fm_loop_high(loop), false);
    if (!low || !high)
        return fm_change_fail(self, loop,
                              "tile: the bounds of the loop over '%.60s' depend on the loops around it in a "
                              "way that cannot be turned around",
                              fm_change_name(self, loop));
    snprintf(name, sizeof name, "%.*s_tile", FM_LOOP_NAME - 8, fm_change_name(self, loop));
    if (!fm_change_variable(self, name, &variable)) return fm_change_no_memory(self);
    const fm_expr *begin = fm_expr_scale(arena, size, fm_expr_variable(arena, variable));
    const fm_expr *end = fm_expr_add(arena, begin, fm_expr_number(arena, size - 1));
    at->point = at->tile = *loop;
    at->tile.variable = variable;
    at->tile.step = loop->step > 0 ? 1 : -1;
    at->tile.first = expr_floor(arena, loop->step > 0 ? low : high, size);
    at->tile.last = expr_floor(arena, loop->step > 0 ? high : low, size);
    at->low = expr_larger(arena, low, begin);
    at->high = expr_smaller(arena, high, end);
    const bool made = begin && end && at->tile.first && at->tile.last && at->low && at->high &&
                      loop_clip(arena, &at->point, begin, end);
    return made ? FM_OK : fm_change_no_memory(self);
}

fm_status fm_change_tile(fm_changer *self, fm_region_node **loops, unsigned count, const int64_t *sizes)
{
    tiling all[FM_MOST_TILED] = {0};
    for (unsigned i = 0; i < count; i++) {
        fm_status status = make_tile(self, all, i, loops[i], sizes[i]);
        if (status != FM_OK) return status;
    }
    fm_region_node *inside = loops[count - 1]->body, *next = loops[0]->next;
    for (unsigned i = 2 * count; i-- > 0;) {
        fm_region_node *node = i == 0 ? loops[0] : fm_arena_allocate(self->region->arena, 1, sizeof *node);
        if (!node) return fm_change_no_memory(self);
        *node = i < count ? all[i].tile : all[i - count].point;
        node->body = inside;
        node->next = i == 0 ? next : NULL;
        inside = node;
    }
    return FM_OK;
}

/* ---- bodies ---- */

/* Two loops as one, one loop as several, and rows of an array with room between them. */

/* ---- fusion ---- */

/* The nodes under the condition that the variable is within a loop's bounds, where it may be outside. */
static fm_region_node *guard_nodes(fm_arena *arena, const fm_region_node *loop, const fm_expr *variable,
                                   fm_region_node *body, bool first, bool last)
{
    const fm_expr *from = fm_expr_subtract(arena, variable, loop->first),
                  *to = fm_expr_subtract(arena, loop->last, variable);
    if (loop->step < 0) {
        from = fm_expr_scale(arena, -1, from);
        to = fm_expr_scale(arena, -1, to);
    }
    const fm_condition *a = fm_condition_of(arena, FM_CONDITION_NOT_NEGATIVE, from),
                       *b = fm_condition_of(arena, FM_CONDITION_NOT_NEGATIVE, to);
    const fm_condition *both = first && last ? fm_condition_join(arena, FM_CONDITION_AND, a, b)
                               : first       ? a
                                             : b;
    fm_region_node *node = fm_arena_allocate(arena, 1, sizeof *node);
    if (!node || !both) return NULL;
    *node = (fm_region_node){.kind = FM_NODE_IF, .place = loop->place, .condition = both, .body = body};
    return node;
}

fm_status fm_change_fuse(fm_changer *self, fm_region_node *loop)
{
    fm_region *region = self->region;
    fm_arena *arena = region->arena;
    fm_region_node *other = loop->next;
    if (loop->step != other->step)
        return fm_change_fail(
            self, other,
            "fuse: the loop over '%.60s' goes by steps of %lld, the one over '%.60s' behind it "
            "by %lld",
            fm_change_name(self, loop), (long long)loop->step, fm_change_name(self, other),
            (long long)other->step);
    const bool first = !fm_expr_same(region, loop->first, other->first),
               last = !fm_expr_same(region, loop->last, other->last), up = loop->step > 0;
    if (first && loop->step != 1 && loop->step != -1)
        return fm_change_fail(self, other,
                              "fuse: the loops over '%.60s' and '%.60s' begin at different values and their "
                              "steps are not 1",
                              fm_change_name(self, loop), fm_change_name(self, other));
    const fm_expr *variable = fm_expr_variable(arena, loop->variable);
    if (!variable || !fm_change_replace(self, other->body, other->variable, variable))
        return fm_change_no_memory(self);
    if (first || last) {
        fm_region_node *a = guard_nodes(arena, loop, variable, loop->body, first, last),
                       *b = guard_nodes(arena, other, variable, other->body, first, last);
        if (!a || !b) return fm_change_no_memory(self);
        loop->body = a;
        other->body = b;
    }
    if (first) loop->first = fm_expr_binary(arena, up ? FM_EXPR_MIN : FM_EXPR_MAX, loop->first, other->first);
    if (last) loop->last = fm_expr_binary(arena, up ? FM_EXPR_MAX : FM_EXPR_MIN, loop->last, other->last);
    if (!loop->first || !loop->last) return fm_change_no_memory(self);
    fm_region_node **end = &loop->body;
    while (*end) end = &(*end)->next;
    *end = other->body;
    loop->next = other->next;
    return FM_OK;
}

/* ---- distribution ---- */

fm_status fm_change_distribute(fm_changer *self, fm_region_node *loop)
{
    fm_arena *arena = self->region->arena;
    fm_region_node *rest = loop->body->next;
    loop->body->next = NULL;
    for (fm_region_node *at = loop; rest;) {
        fm_region_node *more = fm_arena_allocate(arena, 1, sizeof *more);
        if (!more) return fm_change_no_memory(self);
        *more = *loop; /* bounds are shared: nobody changes an expression */
        more->next = at->next;
        more->body = rest;
        rest = rest->next;
        more->body->next = NULL;
        if (!fm_change_variable(self, fm_change_name(self, loop), &more->variable))
            return fm_change_no_memory(self);
        const fm_expr *variable = fm_expr_variable(arena, more->variable);
        if (!variable || !fm_change_replace(self, more->body, loop->variable, variable))
            return fm_change_no_memory(self);
        at->next = more;
        at = more;
    }
    return FM_OK;
}

/* ---- padding ---- */

fm_status fm_change_pad(fm_changer *self, const char *name, int64_t elements)
{
    fm_region *region = self->region;
    size_t i = 0;
    while (i < region->array_count && strcmp(region->arrays[i].name, name) != 0) i++;
    if (i == region->array_count)
        return fm_fail(self->error, FM_E_ARGUMENT, NULL, "pad: the region has no array '%.60s'", name);
    fm_region_array *array = &region->arrays[i];
    const fm_region_node at = {.place = array->place};
    if (array->dimensions < 2)
        return fm_change_fail(self, &at, "pad: '%.60s' has no rows: it has %s", name,
                              array->dimensions ? "one dimension" : "no dimensions");
    const fm_expr **extent = &array->extents[array->column_major ? 0 : array->dimensions - 1];
    *extent = fm_expr_add(region->arena, *extent, fm_expr_number(region->arena, elements));
    return *extent ? FM_OK : fm_change_no_memory(self);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * transform_nest.c - interchange and tiling of loops directly inside each other.
 *
 * A loop that moves outwards runs from the smallest to the largest value that it may have for any value of
 * the loops it passes; those get the conditions that it had on them. Iterations that are too many in this way
 * have nothing inside. Every statement has exactly the executions that it had.
 */
#include "static/change/copy.h"
#include "static/change/transform_bounds.h"

#include <stdio.h>

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
    if (!fm_expr_split(region, bound, outer, &factor, &rest) || factor == 0 || factor == INT64_MIN)
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
        self->high = fm_expr_smaller(arena, self->high, fm_expr_floor(arena, way, factor));
    else
        self->low = fm_expr_larger(arena, self->low, fm_expr_ceil(arena, way, factor));
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
    inner->first = fm_expr_hull(region, inner->first, variable, from, to, up);
    inner->last = fm_expr_hull(region, inner->last, variable, from, to, !up);
    if (!inner->first || !inner->last) return fm_change_no_memory(changer);
    if (!fm_loop_clip(region->arena, outer, self.low, self.high)) return fm_change_no_memory(changer);
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
static const fm_expr *without(const fm_changer *self, const tiling *all, unsigned number,
                              const fm_expr *bound, bool least)
{
    for (unsigned i = number; i-- > 0 && bound;)
        bound = fm_expr_hull(self->region, bound, all[i].point.variable, all[i].low, all[i].high, least);
    return bound;
}

static fm_status make_tile(fm_changer *self, tiling *all, unsigned number, const fm_region_node *loop,
                           int64_t size)
{
    fm_arena *arena = self->region->arena;
    tiling *at = &all[number];
    char name[FM_LOOP_NAME + 16];
    uint32_t variable;
    const fm_expr *low = without(self, all, number, fm_loop_low(loop), true);
    const fm_expr *high = without(self, all, number, fm_loop_high(loop), false);
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
    at->tile.first = fm_expr_floor(arena, loop->step > 0 ? low : high, size);
    at->tile.last = fm_expr_floor(arena, loop->step > 0 ? high : low, size);
    at->low = fm_expr_larger(arena, low, begin);
    at->high = fm_expr_smaller(arena, high, end);
    const bool made = begin && end && at->tile.first && at->tile.last && at->low && at->high &&
                      fm_loop_clip(arena, &at->point, begin, end);
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

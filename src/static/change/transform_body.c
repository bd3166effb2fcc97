/* SPDX-License-Identifier: Apache-2.0 */
/* transform_body.c - two loops as one, one loop as several, and rows of an array with room between them. */
#include "base/error.h"
#include "static/change/copy.h"
#include "static/change/transform_bounds.h"

#include <string.h>

/* ---- fusion ---- */

/* The nodes under the condition that the variable is within a loop's bounds, where it may be outside. */
static fm_region_node *guard(fm_arena *arena, const fm_region_node *loop, const fm_expr *variable,
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
        fm_region_node *a = guard(arena, loop, variable, loop->body, first, last),
                       *b = guard(arena, other, variable, other->body, first, last);
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

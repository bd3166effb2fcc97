/* SPDX-License-Identifier: Apache-2.0 */
/*
 * clang_swaps.c - two pointers that change places at the end of every iteration: double *t = a; a = b; b =
 * t;. The body is worked off twice, for iterations with an even and an odd number, with the pointers fixed in
 * each.
 */
#include "clang_loop.h"

/* The value that the variable has at the beginning of an iteration. */
static value entered_value(fm_front *f, const loop_parts *p, const entry *e)
{
    location at = step(f, p->where, &e->before.at, fm_form_atom(f, e->unknown));
    return pointer_to(&at);
}

/* Does `e` have at the end what `other` has at the beginning? */
static bool takes_over(fm_front *f, const loop_parts *p, const entry *e, const entry *other)
{
    const value after = variable_value(f, e->variable), begin = entered_value(f, p, other);
    return after.kind == VALUE_POINTER && value_equal(f, &after, &begin);
}

static bool is_pointer(const entry *e)
{
    return e->before.kind == VALUE_POINTER && e->before.at.array && e->before.at.array->rank > 0;
}

/* A number that grows by 1 in every iteration, or falls by 1. */
static const entry *counter_of(const entries *all)
{
    for (size_t i = 0; i < all->count; i++) {
        int64_t amount;
        if (all->at[i].before.kind == VALUE_INTEGER && all->at[i].amount &&
            fm_form_is_number(all->at[i].amount, &amount) && (amount == 1 || amount == -1))
            return &all->at[i];
    }
    return NULL;
}

swaps loop_find_swaps(fm_front *f, const loop_parts *p, entries *all)
{
    swaps made = {0};
    const entry **pairs = fm_front_allocate(f, all->count, sizeof *pairs);
    for (size_t i = 0; i < all->count; i++)
        for (size_t k = i + 1; k < all->count; k++) {
            const entry *one = &all->at[i], *other = &all->at[k];
            if (!is_pointer(one) || !is_pointer(other) || !takes_over(f, p, one, other) ||
                !takes_over(f, p, other, one))
                continue;
            pairs[made.count++] = one;
            pairs[made.count++] = other;
        }
    if (!made.count) return made;
    loop_find_amounts(f, p, all);
    const entry *counter = counter_of(all);
    if (!counter) return (swaps){0};
    made.counter = counter->variable;
    made.variables = fm_front_allocate(f, made.count, sizeof *made.variables);
    made.values = fm_front_allocate(f, made.count, sizeof *made.values);
    for (size_t i = 0; i < made.count; i++) {
        made.variables[i] = pairs[i]->variable;
        made.values[i] = pairs[i]->before;
    }
    return made;
}

void swaps_leave_out(const swaps *of, variable_set_of *set)
{
    size_t kept = 0;
    for (size_t i = 0; i < set->count; i++) {
        bool swapped = false;
        for (size_t k = 0; k < of->count; k++) swapped |= of->variables[k] == set->at[i];
        if (!swapped) set->at[kept++] = set->at[i];
    }
    set->count = kept;
}

/* In iterations with an even number (side 0) or an odd one. */
void swaps_set(fm_front *f, const swaps *of, unsigned side)
{
    for (size_t i = 0; i < of->count; i++) variable_set(f, of->variables[i], of->values[side ? i ^ 1 : i]);
}

/* Is the number of the iteration even? */
const fm_guard *swaps_condition(fm_front *f, const swaps *of, const entries *all)
{
    for (size_t i = 0; i < all->count; i++) {
        const entry *e = &all->at[i];
        if (e->variable != of->counter) continue;
        const fm_form *number = fm_form_subtract(f, fm_form_atom(f, e->unknown), e->first);
        const fm_form *half = fm_form_divide(f, FM_ATOM_FLOOR, number, fm_form_number(f, 2));
        return fm_guard_of(f, FM_GUARD_ZERO, fm_form_subtract(f, number, fm_form_scale(f, half, 2)));
    }
    return NULL;
}

/* Behind both: what they agree on. What a later iteration begins with must be the same. */
void swaps_merge(fm_front *f, const loop_parts *p, const swaps *of, const entries *all, const state *even,
                 state *odd)
{
    f->own->now = odd;
    for (variable *v = f->own->variables; v; v = v->next) {
        const value one = value_in(even, v), other = value_in(odd, v);
        if (untouched(even, odd, v) || value_equal(f, &one, &other)) continue;
        for (size_t i = 0; i < all->count; i++)
            if (all->at[i].variable == v)
                refuse(f, p->where, "'%s' changes otherwise in every second iteration of this loop", v->name);
        variable_set(f, v,
                     data(fm_front_text(f, "which is another one in every second iteration of line %u",
                                        line_of(f, p->where))));
    }
    for (size_t i = 0; i < of->count; i++)
        variable_set(f, of->variables[i],
                     data(fm_front_text(f, "which changes places with another pointer in the loop of line %u",
                                        line_of(f, p->where))));
}

/* SPDX-License-Identifier: Apache-2.0 */
/* clang_iteration.c - what one iteration of a loop changes: variables enter it with unknown values, and are
 * compared with what they have at its end. */
#include "clang_loop.h"

#include <string.h>

entries loop_enter(fm_front *f, const loop_parts *p, const variable_set_of *set)
{
    entries made = {0, fm_front_allocate(f, set->count, sizeof *made.at)};
    for (size_t i = 0; i < set->count; i++) {
        variable *v = set->at[i];
        value now = variable_value(f, v);
        if (now.kind == VALUE_LOCATION) continue;
        if (now.kind != VALUE_INTEGER && now.kind != VALUE_POINTER) {
            if (now.kind == VALUE_NOTHING)
                variable_set(f, v,
                             data(fm_front_text(f, "as '%s' may come from the iteration before", v->name)));
            continue;
        }
        entry *e = &made.at[made.count++];
        *e = (entry){.variable = v, .before = now, .unknown = fm_atom_new(f, FM_ATOM_ENTRY, v->name)};
        e->unknown->why =
            fm_front_text(f, "which does not change by the same amount in every iteration of line %u",
                          line_of(f, p->where));
        const fm_form *unknown = fm_form_atom(f, e->unknown);
        if (now.kind == VALUE_INTEGER) {
            e->first = now.number;
            variable_set(f, v, integer(unknown));
        } else {
            e->first = fm_form_number(f, 0);
            location at = step(f, p->where, &now.at, unknown);
            variable_set(f, v, pointer_to(&at));
        }
    }
    return made;
}

beginning loop_begin(fm_front *f, const loop_parts *p)
{
    beginning made = {.before = state_copy(f, f->own->now), .list = f->list, .end = f->list->end};
    changed_by(f, p->condition, &made.changed);
    changed_by(f, p->increment, &made.changed);
    changed_by(f, p->body, &made.changed);
    return made;
}

void loop_reset(fm_front *f, const beginning *b)
{
    f->own->now = state_copy(f, b->before);
    f->list = b->list;
    f->list->end = b->end;
    *f->list->end = NULL;
}

bool loop_begin_again(fm_front *f, beginning *b)
{
    size_t known = b->changed.count;
    for (variable *v = f->own->variables; v; v = v->next) {
        if (untouched(b->before, f->own->now, v)) continue;
        value was = value_in(b->before, v);
        value now = variable_value(f, v);
        bool listed = false;
        for (size_t i = 0; i < known; i++) listed |= b->changed.at[i] == v;
        if (!listed && (was.kind == VALUE_INTEGER || was.kind == VALUE_POINTER) &&
            !value_equal(f, &was, &now))
            variable_set_add(f, &b->changed, v);
    }
    if (b->changed.count == known) return false;
    loop_reset(f, b);
    return true;
}

/* How many steps a pointer went on; NULL: it points elsewhere. */
static const fm_form *pointer_steps(fm_front *f, const loop_parts *p, const entry *e, const location *after)
{
    const location *before = &e->before.at;
    if (!after->array || after->array != before->array || after->offset != before->offset) return NULL;
    location in = step(f, p->where, before, fm_form_atom(f, e->unknown));
    location one = step(f, p->where, before, fm_form_number(f, 1));
    const fm_form *steps = NULL;
    for (unsigned d = 0; d < after->array->rank; d++) {
        const fm_form *unit = fm_form_subtract(f, one.subscripts[d], before->subscripts[d]);
        const fm_form *moved = fm_form_subtract(f, after->subscripts[d], in.subscripts[d]);
        int64_t none;
        if (fm_form_is_number(unit, &none) && none == 0) {
            if (!fm_form_is_number(moved, &none) || none != 0) return NULL;
            continue;
        }
        const fm_form *here = fm_form_exact_term(f, moved, unit);
        if (!here || (steps && !fm_form_equal(steps, here))) return NULL;
        steps = here;
    }
    return steps;
}

static bool mentions_any(const fm_form *from, const entries *all)
{
    for (size_t i = 0; i < all->count; i++)
        if (fm_form_mentions(from, all->at[i].unknown)) return true;
    return false;
}

void loop_find_amounts(fm_front *f, const loop_parts *p, entries *all)
{
    fm_replacement *constant = fm_front_allocate(f, all->count, sizeof *constant);
    const fm_form **changes = fm_front_allocate(f, all->count, sizeof *changes);
    for (size_t i = 0; i < all->count; i++) {
        entry *e = &all->at[i];
        value after = variable_value(f, e->variable);
        constant[i].atom = e->unknown;
        if (e->before.kind == VALUE_INTEGER && after.kind == VALUE_INTEGER)
            changes[i] = fm_form_subtract(f, after.number, fm_form_atom(f, e->unknown));
        if (e->before.kind == VALUE_POINTER && after.kind == VALUE_POINTER)
            changes[i] = pointer_steps(f, p, e, &after.at);
        if (after.kind == VALUE_DATA && after.why) e->unknown->why = after.why;
        if (e->before.kind == VALUE_POINTER && after.kind == VALUE_POINTER && !changes[i])
            e->unknown->why = fm_front_text(f, "which points elsewhere in every iteration of line %u",
                                            line_of(f, p->where));
    }
    for (bool again = true; again;) {
        again = false;
        for (size_t i = 0; i < all->count; i++) {
            if (!changes[i] || all->at[i].amount) continue;
            const fm_form *amount = fm_form_replace(f, changes[i], constant, all->count);
            if (mentions_any(amount, all)) continue;
            all->at[i].amount = amount;
            int64_t none;
            if (fm_form_is_number(amount, &none) && none == 0) constant[i].form = all->at[i].first;
            again = true;
        }
    }
}

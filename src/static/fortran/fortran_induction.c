/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fortran_induction.c - whole numbers that grow by the same amount in every iteration of a loop: `ix = ix +
 * incx` directly in its body, or in a loop inside that always runs as often. They are known in each
 * iteration, and behind the loop. What is assigned in any other way is not known there (fortran_assigned.c).
 */
#include "static/fortran/fortran_walker.h"

#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

static bool names_object(ft_walker *walker, const ft_expression *expression, const ft_object *object)
{
    return expression->kind == FT_X_NAME && strcmp(expression->text, object->symbol->name) == 0 &&
           fm_ft_object_of_name(walker, expression->text, &expression->place) == object;
}

/* The e of v = v + e, v = e + v, v = v - e; NULL: another statement. */
static const ft_expression *increment_of(ft_walker *walker, const ft_statement *s, const ft_object *object,
                                      int64_t *sign)
{
    if (s->kind != FT_S_ASSIGN || !names_object(walker, s->left, object) || s->right->kind != FT_X_BINARY)
        return NULL;
    const ft_expression *sum = s->right;
    *sign = sum->operator== '-' ? -1 : 1;
    if (sum->operator!= '+' && sum->operator!= '-') return NULL;
    if (names_object(walker, sum->left, object)) return sum->right;
    return sum->operator== '+' && names_object(walker, sum->right, object) ? sum->left : NULL;
}

static bool jumps_in(const ft_statement *s);

/* May what is behind this statement be left out? */
static bool statement_jumps(const ft_statement *s)
{
    if (s->kind == FT_S_CYCLE || s->kind == FT_S_EXIT || s->kind == FT_S_RETURN || s->kind == FT_S_STOP)
        return true;
    for (const ft_branch *branch = s->branches; branch && s->kind == FT_S_IF; branch = branch->next)
        if (jumps_in(branch->body)) return true;
    return jumps_in(s->body);
}

static bool jumps_in(const ft_statement *s)
{
    while (s && !statement_jumps(s)) s = s->next;
    return s;
}

/* Does this one statement assign it? */
static bool statement_assigns(ft_walker *walker, const ft_statement *s, const ft_object *object, bool *found)
{
    ft_statement alone = *s;
    ft_assigned assigned = {0};
    alone.next = NULL;
    bool done = fm_ft_assigned(walker, &alone, &assigned);
    *found = false;
    for (size_t i = 0; i < assigned.count; i++) *found |= assigned.list[i].object == object;
    free(assigned.list);
    return done;
}

/* How often a loop with these bounds runs; NULL: not known here. */
static const fm_form *trip_count(ft_walker *walker, const fm_form *first, const fm_form *last, int64_t step)
{
    fm_front *f = &walker->front;
    const fm_form *length = step > 0 ? fm_form_plus(f, last, first, -1) : fm_form_plus(f, first, last, -1);
    length = fm_form_add_number(f, length, step > 0 ? step : -step);
    if (step != 1 && step != -1)
        length = fm_ft_divide(walker, FM_ATOM_FLOOR, length, fm_form_number(f, step > 0 ? step : -step));
    int64_t number;
    if (length && fm_form_is_number(length, &number)) return fm_form_number(f, number > 0 ? number : 0);
    return fm_form_extremum(f, FM_ATOM_MAX, length, fm_form_number(f, 0));
}

static bool sum_of(ft_walker *walker, const ft_statement *s, const ft_statement *exit, bool up_to_exit,
                   const ft_object *object, const fm_form **sum);

static bool sum_of_loop(ft_walker *walker, const ft_statement *s, const ft_object *object,
                        const fm_form **sum)
{
    const fm_form *first, *last, *inside, *times = NULL;
    int64_t step = 1;
    const fm_form *given = NULL;
    *sum = NULL;
    if (names_object(walker, s->left, object) || jumps_in(s->body)) return true;
    if (!fm_ft_quiet_integer(walker, s->first, &first) || !fm_ft_quiet_integer(walker, s->last, &last) ||
        (s->step && !fm_ft_quiet_integer(walker, s->step, &given)) ||
        !sum_of(walker, s->body, NULL, false, object, &inside))
        return false;
    if (!first || !last || !inside || (s->step && (!given || !fm_form_fold(given, &step) || step == 0)))
        return true;
    times = trip_count(walker, first, last, step);
    if (!times) return false;
    if (!fm_form_varies(times) && !fm_form_varies(inside)) *sum = fm_ft_times(walker, inside, times);
    return walker->context->status == FM_OK;
}

/* What the statements of a body add, all of them or those up to the exit of its loop; NULL: they do something
 * else. false: a failure. */
static bool sum_of(ft_walker *walker, const ft_statement *s, const ft_statement *exit, bool up_to_exit,
                   const ft_object *object, const fm_form **sum)
{
    fm_front *f = &walker->front;
    const fm_form *all = fm_form_number(f, 0);
    bool jumped = false;
    *sum = NULL;
    for (; s && !(up_to_exit && s == exit) && all; s = s->next) {
        int64_t sign = 1;
        const fm_form *one = NULL;
        bool assigned;
        const ft_expression *by = increment_of(walker, s, object, &sign);
        if (!statement_assigns(walker, s, object, &assigned)) return false;
        jumped |= s != exit && statement_jumps(s);
        if (!assigned) continue;
        if (jumped) return true;
        if (by) {
            if (!fm_ft_quiet_integer(walker, by, &one)) return false;
        } else if (s->kind == FT_S_DO) {
            if (!sum_of_loop(walker, s, object, &one)) return false;
        }
        if (!one || fm_form_varies(one)) return walker->context->status == FM_OK;
        all = fm_form_plus(f, all, one, sign);
    }
    *sum = all;
    return all != NULL;
}

static bool induction_candidate(ft_walker *walker, const ft_statement *body, const ft_object *object)
{
    int64_t sign;
    for (const ft_statement *s = body; s; s = s->next)
        if (increment_of(walker, s, object, &sign) || (s->kind == FT_S_DO && induction_candidate(walker, s->body, object)))
            return true;
    return false;
}

bool fm_ft_inductions(ft_walker *walker, const ft_statement *loop, const ft_statement *exit,
                      ft_object *counter, const ft_assigned *assigned, ft_inductions *found)
{
    *found = (ft_inductions){0};
    for (size_t i = 0; i < assigned->count; i++) {
        ft_object *object = assigned->list[i].object;
        bool known = object == counter || object->layout.base != FT_INTEGER_TYPE || object->loop ||
                     object->memory || object->alias || object->member;
        for (size_t k = 0; k < found->count; k++) known |= found->list[k].object == object;
        if (known || !induction_candidate(walker, loop->body, object)) continue;
        const fm_form *now = fm_ft_known(walker, object);
        if (walker->context->status != FM_OK) return false;
        if (!now) continue;
        if (fm_array_reserve((void **)&found->list, &found->room, found->count + 1, sizeof *found->list))
            return fm_ft_no_memory(walker->context);
        found->list[found->count++] = (struct ft_induction){.object = object, .first = now};
    }
    /* From here on, what is known does not change in the loop. */
    if (!fm_ft_forget(walker, assigned, &loop->place)) return false;
    const fm_form *outside = counter ? counter->value : NULL;
    bool untouched = counter && counter->untouched;
    if (counter) fm_ft_set_known(counter, NULL, counter->why);
    size_t kept = 0;
    bool done = true;
    for (size_t i = 0; i < found->count && done; i++) {
        struct ft_induction one = found->list[i];
        done = sum_of(walker, loop->body, exit, false, one.object, &one.change) &&
               (!one.change || !exit || sum_of(walker, loop->body, exit, true, one.object, &one.before_exit));
        if (done && one.change) found->list[kept++] = one;
    }
    found->count = kept;
    if (counter) {
        counter->value = outside;
        counter->untouched = untouched;
    }
    return done;
}

/* In the iteration in which the variable of the loop has that value. */
bool fm_ft_induce(ft_walker *walker, const ft_inductions *all, const fm_form *variable, const fm_form *first,
                  int64_t step, bool at_exit)
{
    fm_front *f = &walker->front;
    const fm_form *far =
        step > 0 ? fm_form_plus(f, variable, first, -1) : fm_form_plus(f, first, variable, -1);
    int64_t length = step > 0 ? step : -step;
    for (size_t i = 0; i < all->count; i++) {
        const struct ft_induction *one = &all->list[i];
        const fm_form *grown;
        int64_t number;
        if (fm_form_is_number(one->change, &number) && number % length == 0)
            grown = fm_ft_times(walker, far, fm_form_number(f, number / length));
        else
            grown = fm_ft_times(
                walker, one->change,
                length == 1 ? far : fm_ft_divide(walker, FM_ATOM_FLOOR, far, fm_form_number(f, length)));
        const fm_form *now = fm_form_plus(f, one->first, grown, 1);
        if (at_exit && one->before_exit) now = fm_form_plus(f, now, one->before_exit, 1);
        if (!now) return false;
        fm_ft_set_known(one->object, now, NULL);
    }
    return true;
}

bool fm_ft_induced(ft_walker *walker, const ft_inductions *all, const fm_form *first, const fm_form *last,
                   int64_t step)
{
    fm_front *f = &walker->front;
    if (!all->count) return true;
    const fm_form *times = trip_count(walker, first, last, step);
    for (size_t i = 0; i < all->count && times; i++) {
        const struct ft_induction *one = &all->list[i];
        int64_t number;
        /* A product of two variables is no number that can be worked with. */
        bool simple = fm_form_is_number(one->change, &number) || fm_form_is_number(times, &number) ||
                      !fm_form_varies(times);
        if (!simple) continue;
        const fm_form *now = fm_form_plus(f, one->first, fm_ft_times(walker, one->change, times), 1);
        if (!now) return false;
        fm_ft_set_known(one->object, now, NULL);
    }
    return times || !all->count;
}

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

static bool names(ft_walker *walker, const ft_expression *expression, const ft_object *object)
{
    return expression->kind == FT_X_NAME && strcmp(expression->text, object->symbol->name) == 0 &&
           fm_ft_object_of_name(walker, expression->text, &expression->place) == object;
}

/* The e of v = v + e, v = e + v, v = v - e; NULL: another statement. */
static const ft_expression *increment(ft_walker *walker, const ft_statement *s, const ft_object *object,
                                      int64_t *sign)
{
    if (s->kind != FT_S_ASSIGN || !names(walker, s->left, object) || s->right->kind != FT_X_BINARY)
        return NULL;
    const ft_expression *sum = s->right;
    *sign = sum->operator== '-' ? -1 : 1;
    if (sum->operator!= '+' && sum->operator!= '-') return NULL;
    if (names(walker, sum->left, object)) return sum->right;
    return sum->operator== '+' && names(walker, sum->right, object) ? sum->left : NULL;
}

static bool jumps_in(const ft_statement *s);

/* May what is behind this statement be left out? */
static bool jumps(const ft_statement *s)
{
    if (s->kind == FT_S_CYCLE || s->kind == FT_S_EXIT || s->kind == FT_S_RETURN || s->kind == FT_S_STOP)
        return true;
    for (const ft_branch *branch = s->branches; branch && s->kind == FT_S_IF; branch = branch->next)
        if (jumps_in(branch->body)) return true;
    return jumps_in(s->body);
}

static bool jumps_in(const ft_statement *s)
{
    while (s && !jumps(s)) s = s->next;
    return s;
}

/* Does this one statement assign it? */
static bool assigns(ft_walker *walker, const ft_statement *s, const ft_object *object, bool *found)
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
static const ft_value *trips(ft_walker *walker, const ft_value *first, const ft_value *last, int64_t step)
{
    ft_values *values = &walker->values;
    const ft_value *length =
        step > 0 ? fm_ft_plus(values, last, first, -1) : fm_ft_plus(values, first, last, -1);
    length = fm_ft_add_number(values, length, step > 0 ? step : -step);
    if (step != 1 && step != -1)
        length = fm_ft_divide(values, 'f', length, fm_ft_number(values, step > 0 ? step : -step));
    int64_t number;
    if (length && fm_ft_is_number(length, &number)) return fm_ft_number(values, number > 0 ? number : 0);
    return fm_ft_extreme(values, true, length, fm_ft_number(values, 0));
}

static bool sum_of(ft_walker *walker, const ft_statement *s, const ft_statement *exit, bool up_to_exit,
                   const ft_object *object, const ft_value **sum);

static bool sum_of_loop(ft_walker *walker, const ft_statement *s, const ft_object *object,
                        const ft_value **sum)
{
    const ft_value *first, *last, *inside, *times = NULL;
    int64_t step = 1;
    const ft_value *given = NULL;
    *sum = NULL;
    if (names(walker, s->left, object) || jumps_in(s->body)) return true;
    if (!fm_ft_quiet_integer(walker, s->first, &first) || !fm_ft_quiet_integer(walker, s->last, &last) ||
        (s->step && !fm_ft_quiet_integer(walker, s->step, &given)) ||
        !sum_of(walker, s->body, NULL, false, object, &inside))
        return false;
    if (!first || !last || !inside || (s->step && (!given || !fm_ft_fold(given, &step) || step == 0)))
        return true;
    times = trips(walker, first, last, step);
    if (!times) return false;
    if (!fm_ft_varies(times) && !fm_ft_varies(inside)) *sum = fm_ft_times(&walker->values, inside, times);
    return walker->context->status == FM_OK;
}

/* What the statements of a body add, all of them or those up to the exit of its loop; NULL: they do something
 * else. false: a failure. */
static bool sum_of(ft_walker *walker, const ft_statement *s, const ft_statement *exit, bool up_to_exit,
                   const ft_object *object, const ft_value **sum)
{
    ft_values *values = &walker->values;
    const ft_value *all = fm_ft_number(values, 0);
    bool jumped = false;
    *sum = NULL;
    for (; s && !(up_to_exit && s == exit) && all; s = s->next) {
        int64_t sign = 1;
        const ft_value *one = NULL;
        bool assigned;
        const ft_expression *by = increment(walker, s, object, &sign);
        if (!assigns(walker, s, object, &assigned)) return false;
        jumped |= s != exit && jumps(s);
        if (!assigned) continue;
        if (jumped) return true;
        if (by) {
            if (!fm_ft_quiet_integer(walker, by, &one)) return false;
        } else if (s->kind == FT_S_DO) {
            if (!sum_of_loop(walker, s, object, &one)) return false;
        }
        if (!one || fm_ft_varies(one)) return walker->context->status == FM_OK;
        all = fm_ft_plus(values, all, one, sign);
    }
    *sum = all;
    return all != NULL;
}

static bool candidate(ft_walker *walker, const ft_statement *body, const ft_object *object)
{
    int64_t sign;
    for (const ft_statement *s = body; s; s = s->next)
        if (increment(walker, s, object, &sign) || (s->kind == FT_S_DO && candidate(walker, s->body, object)))
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
        if (known || !candidate(walker, loop->body, object)) continue;
        const ft_value *now = fm_ft_known(walker, object);
        if (walker->context->status != FM_OK) return false;
        if (!now) continue;
        if (fm_array_reserve((void **)&found->list, &found->room, found->count + 1, sizeof *found->list))
            return fm_ft_no_memory(walker->context);
        found->list[found->count++] = (struct ft_induction){.object = object, .first = now};
    }
    /* From here on, what is known does not change in the loop. */
    if (!fm_ft_forget(walker, assigned, &loop->place)) return false;
    const ft_value *outside = counter ? counter->value : NULL;
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
bool fm_ft_induce(ft_walker *walker, const ft_inductions *all, const ft_value *variable,
                  const ft_value *first, int64_t step, bool at_exit)
{
    ft_values *values = &walker->values;
    const ft_value *far =
        step > 0 ? fm_ft_plus(values, variable, first, -1) : fm_ft_plus(values, first, variable, -1);
    int64_t length = step > 0 ? step : -step;
    for (size_t i = 0; i < all->count; i++) {
        const struct ft_induction *one = &all->list[i];
        const ft_value *grown;
        int64_t number;
        if (fm_ft_is_number(one->change, &number) && number % length == 0)
            grown = fm_ft_times(values, far, fm_ft_number(values, number / length));
        else
            grown =
                fm_ft_times(values, one->change,
                            length == 1 ? far : fm_ft_divide(values, 'f', far, fm_ft_number(values, length)));
        const ft_value *now = fm_ft_plus(values, one->first, grown, 1);
        if (at_exit && one->before_exit) now = fm_ft_plus(values, now, one->before_exit, 1);
        if (!now) return false;
        fm_ft_set_known(one->object, now, NULL);
    }
    return true;
}

bool fm_ft_induced(ft_walker *walker, const ft_inductions *all, const ft_value *first, const ft_value *last,
                   int64_t step)
{
    ft_values *values = &walker->values;
    if (!all->count) return true;
    const ft_value *times = trips(walker, first, last, step);
    for (size_t i = 0; i < all->count && times; i++) {
        const struct ft_induction *one = &all->list[i];
        int64_t number;
        /* A product of two variables is no number that can be worked with. */
        bool simple =
            fm_ft_is_number(one->change, &number) || fm_ft_is_number(times, &number) || !fm_ft_varies(times);
        if (!simple) continue;
        const ft_value *now = fm_ft_plus(values, one->first, fm_ft_times(values, one->change, times), 1);
        if (!now) return false;
        fm_ft_set_known(one->object, now, NULL);
    }
    return times || !all->count;
}

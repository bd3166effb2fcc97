/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fortran_loops.c - do, do concurrent, forall, and loops without bounds of which somebody said how often they
 * run. An exit that comes true once and stays true shortens its loop.
 */
#include "static/fortran/fortran_walker.h"

#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

/* Whole numbers that every iteration of a loop changes by the same. */
typedef struct ft_inductions {
    struct ft_induction {
        ft_object *object;
        const fm_form *first;                /* before the loop */
        const fm_form *change, *before_exit; /* in an iteration; up to the loop's exit */
    } * list;                                /* malloc */
    size_t count, room;
} ft_inductions;

/* Those among what is assigned, which then is forgotten. exit: the loop's own, counter: its variable; or
 * NULL. */
static bool find_inductions(ft_walker *walker, const ft_statement *loop, const ft_statement *exit,
                            ft_object *counter, const ft_assigned *assigned, ft_inductions *found);
/* They have the values of the iteration in which the loop's variable has that one: at its begin, or its exit.
 */
static bool set_inductions(ft_walker *walker, const ft_inductions *all, const fm_form *variable,
                           const fm_form *first, int64_t step, bool at_exit);
/* They have the values of behind the loop. */
static bool set_inductions_behind(ft_walker *walker, const ft_inductions *all, const fm_form *first,
                                  const fm_form *last, int64_t step);

/* `if (…) exit` directly in the body of the loop; NULL: none. *first: nothing is executed before it. */
static const ft_statement *exit_of(const ft_statement *loop, bool *first)
{
    *first = true;
    for (const ft_statement *s = loop->body; s; s = s->next) {
        if (s->kind == FT_S_IF && s->branches && !s->branches->next && s->branches->body &&
            s->branches->body->kind == FT_S_EXIT && !s->branches->body->next &&
            (!s->branches->body->name || (loop->name && strcmp(loop->name, s->branches->body->name) == 0)))
            return s;
        if (s->kind != FT_S_CONTINUE && s->kind != FT_S_MARKER) *first = false;
    }
    return NULL;
}

/* The last value of the variable with which the loop goes on, by a condition that compares the variable, as
 * it is, with something; NULL: another condition, or one that does not end the loop. */
static const fm_form *last_going_on(ft_walker *walker, const fm_guard *goes_on, const fm_form *variable,
                                    const fm_form *first, int64_t step)
{
    const fm_atom *atom = fm_form_only_atom(variable);
    const char *why;
    int64_t factor;
    fm_trips trips;
    if (!goes_on || !goes_on->form || !fm_ft_factor(walker, goes_on->form, atom, &factor)) return NULL;
    if (factor != 1 && factor != -1) return NULL;
    return fm_front_trips(&walker->front, goes_on, atom, first, step, false, &trips, &why) ? trips.last
                                                                                           : NULL;
}

/* The value of the variable when an exit behind something else is taken: not before the first one. */
static const fm_form *last_at_exit(ft_walker *walker, const fm_form *going_on, const fm_form *first,
                                   int64_t step)
{
    return fm_form_extremum(&walker->front, step > 0 ? FM_ATOM_MAX : FM_ATOM_MIN, first,
                            fm_form_add_number(&walker->front, going_on, step));
}

/* The last value that the variable has before, or when, the exit is taken. */
static bool shorten_by_exit(ft_walker *walker, const ft_statement *exit, bool exit_first,
                            const fm_form *variable, const fm_form *first, int64_t step, const fm_form **last)
{
    fm_front *f = &walker->front;
    const fm_guard *condition = fm_ft_condition(walker, exit->branches->condition);
    if (!condition) return false;
    const fm_form *end = condition->kind == FM_GUARD_NOT_NEGATIVE
                             ? last_going_on(walker, fm_guard_not(f, condition), variable, first, step)
                             : NULL;
    if (!end)
        return fm_ft_refuse(
            walker->context, &exit->place,
            "exit: its condition is no comparison with the variable of the loop that stays true from some "
            "iteration on");
    if (!exit_first) end = last_at_exit(walker, end, first, step);
    *last = fm_form_extremum(f, step > 0 ? FM_ATOM_MIN : FM_ATOM_MAX, *last, end);
    return *last != NULL;
}

static ft_object *loop_variable(ft_walker *walker, const ft_expression *name)
{
    ft_object *object = fm_ft_object_of_name(walker, name->text, &name->place);
    if (!object) return NULL;
    if (object->is_array || object->layout.base != FT_INTEGER_TYPE) {
        fm_ft_refuse(walker->context, &name->place, "a loop over '%.100s', which is no whole number",
                     name->text);
        return NULL;
    }
    if (object->memory || object->symbol->constant) {
        fm_ft_refuse(walker->context, &name->place, "a loop over '%.100s', which is no variable of its own",
                     name->text);
        return NULL;
    }
    if (object->loop) {
        fm_ft_refuse(walker->context, &name->place, "'%.100s' is the variable of a loop around this one",
                     name->text);
        return NULL;
    }
    return object;
}

static bool loop_body(ft_walker *walker, const ft_statement *s, ft_object *object, const fm_form *variable,
                      const ft_inductions *inductions, const fm_form *first, int64_t step)
{
    if (!set_inductions(walker, inductions, variable, first, step, false)) return false;
    fm_ft_set_known(object, variable, NULL);
    object->loop = true;
    bool done = fm_ft_walk(walker, s->body, NULL);
    walker->escape = NULL; /* cycle ends with the iteration */
    object->loop = false;
    fm_ft_set_known(object, NULL,
                    fm_ft_print(walker->context, "it is the variable of the loop in line %u, which is over",
                                s->place.line));
    return done;
}

static bool bounded_loop(ft_walker *walker, const ft_statement *s, ft_object *object,
                         const ft_inductions *inductions, const fm_form *first, const fm_form *last,
                         int64_t step)
{
    const ft_statement *saved = walker->exit;
    bool saved_first = walker->exit_first, exit_first;
    const ft_statement *exit = exit_of(s, &exit_first);
    fm_front *f = &walker->front;
    ft_loop loop;
    const fm_form *variable;
    if (exit) {
        /* The name that the loop will get: its condition is worked out before the loop is written. */
        fm_front_node **before = f->list->end;
        if (!fm_ft_begin_loop(walker, &loop, s->left->text, s->name, first, last, step, &s->place, &variable))
            return false;
        if (!set_inductions(walker, inductions, variable, first, step, true)) return false;
        fm_ft_set_known(object, variable, NULL);
        bool shorter = shorten_by_exit(walker, exit, exit_first, variable, first, step, &last);
        object->value = NULL;
        if (!shorter) return false;
        fm_ft_end_loop(walker);
        fm_front_list_cut(f->list, before);
    }
    walker->exit = exit;
    walker->exit_first = exit_first;
    bool done =
        fm_ft_begin_loop(walker, &loop, s->left->text, s->name, first, last, step, &s->place, &variable) &&
        loop_body(walker, s, object, variable, inductions, first, step);
    if (done) fm_ft_end_loop(walker);
    walker->exit = saved;
    walker->exit_first = saved_first;
    return done;
}

bool fm_ft_do_loop(ft_walker *walker, const ft_statement *s)
{
    ft_object *object = loop_variable(walker, s->left);
    if (!object) return false;
    const fm_form *first = fm_ft_integer(walker, s->first),
                  *last = first ? fm_ft_integer(walker, s->last) : NULL;
    int64_t step = 1;
    if (!last || (s->step && !fm_ft_constant(walker, s->step, "the step of a loop", &step))) return false;
    if (step == 0) return fm_ft_fail(walker->context, FM_E_FORMAT, &s->place, "the step of a loop is 0");
    ft_assigned assigned = {0};
    ft_inductions inductions = {0};
    bool first_is_exit;
    const ft_statement *exit = exit_of(s, &first_is_exit);
    bool done = fm_ft_assigned(walker, s->body, &assigned) &&
                find_inductions(walker, s, exit, object, &assigned, &inductions) &&
                bounded_loop(walker, s, object, &inductions, first, last, step) &&
                fm_ft_forget(walker, &assigned, &s->place) &&
                (exit || set_inductions_behind(walker, &inductions, first, last, step));
    free(assigned.list);
    free(inductions.list);
    return done;
}

/* ---- do concurrent, forall ---- */

static bool concurrent_body(ft_walker *walker, const ft_statement *s, const ft_statement *only)
{
    fm_front_list *outside = walker->front.list;
    if (s->mask && !fm_ft_begin_if(walker, fm_ft_condition(walker, s->mask), &s->place)) return false;
    if (!(only ? fm_ft_statement(walker, only) : fm_ft_walk(walker, s->body, NULL))) return false;
    walker->escape = NULL;
    if (s->mask) fm_ft_end_if(walker, outside);
    return true;
}

/* Loops of the indices from this one on: the first one is the innermost, as gfortran has it. */
static bool concurrent_loops(ft_walker *walker, const ft_statement *s, const ft_statement *only,
                             unsigned number)
{
    const ft_expression *index = s->indices;
    if (number == 0) return concurrent_body(walker, s, only);
    for (unsigned i = 1; i < number; i++) index = index->next;
    const ft_expression *range = index->left;
    ft_expression name = {.kind = FT_X_NAME, .text = index->text, .place = index->place};
    int64_t step = 1;
    if (!range->left || !range->right)
        return fm_ft_fail(walker->context, FM_E_FORMAT, &index->place, "an index without its range");
    const fm_form *first = fm_ft_integer(walker, range->left),
                  *last = first ? fm_ft_integer(walker, range->right) : NULL, *variable;
    if (!last || (range->third && !fm_ft_constant(walker, range->third, "the step of a loop", &step)))
        return false;
    if (step == 0) return fm_ft_fail(walker->context, FM_E_FORMAT, &s->place, "the step of a loop is 0");
    ft_object *object = loop_variable(walker, &name);
    ft_loop loop;
    if (!object ||
        !fm_ft_begin_loop(walker, &loop, index->text, s->name, first, last, step, &s->place, &variable))
        return false;
    /* The index is a variable of its own: the one outside keeps its value. */
    const fm_form *outside = object->value;
    bool untouched = object->untouched;
    fm_ft_set_known(object, variable, object->why);
    object->loop = true;
    bool done = concurrent_loops(walker, s, only, number - 1);
    object->loop = false;
    object->value = outside;
    object->untouched = untouched;
    if (done) fm_ft_end_loop(walker);
    return done;
}

bool fm_ft_concurrent(ft_walker *walker, const ft_statement *s)
{
    unsigned count = 0;
    for (const ft_expression *index = s->indices; index; index = index->next) count++;
    const ft_statement *saved = walker->exit;
    walker->exit = NULL;
    if (!fm_ft_note(walker, s->forall ? "forall is counted as loops, the first index innermost"
                                      : "do concurrent is counted as loops, the first index innermost"))
        return false;
    ft_assigned assigned = {0};
    bool done = fm_ft_assigned(walker, s->body, &assigned) && fm_ft_forget(walker, &assigned, &s->place);
    if (s->forall) /* each statement for all indices, then the next */
        for (const ft_statement *one = s->body; one && done; one = one->next)
            done = concurrent_loops(walker, s, one, count);
    else
        done = done && concurrent_loops(walker, s, NULL, count);
    done = done && fm_ft_forget(walker, &assigned, &s->place);
    free(assigned.list);
    walker->exit = saved;
    return done;
}

/* ---- loops without bounds ---- */

/* The last value of a variable that begins with `first` in a loop that ends by its exit, or by its own
 * condition. NULL without a failure: this variable does not tell. */
static bool last_of(ft_walker *walker, const ft_statement *s, const ft_statement *exit, bool exit_first,
                    const fm_form *variable, const fm_form *first, int64_t step, const fm_form **last)
{
    ft_context *context = walker->context;
    fm_error kept, *error = context->error;
    *last = NULL;
    context->error = &kept;
    const fm_guard *condition = fm_ft_condition(walker, s->right ? s->right : exit->branches->condition);
    context->error = error;
    if (context->status == FM_E_UNSUPPORTED || context->status == FM_E_LIMIT) context->status = FM_OK;
    if (context->status != FM_OK && error) *error = kept;
    /* Without its own condition it goes on as long as the exit's does not hold. */
    if (condition && condition->form)
        *last = last_going_on(walker, s->right ? condition : fm_guard_not(&walker->front, condition),
                              variable, first, step);
    if (*last && !s->right && !exit_first) *last = last_at_exit(walker, *last, first, step);
    return context->status == FM_OK;
}

/* A loop over a whole number that its body changes, in disguise. *done: it was one. */
static bool disguised_loop(ft_walker *walker, const ft_statement *s, bool *done)
{
    bool exit_first = true, fine;
    const ft_statement *exit = s->right ? NULL : exit_of(s, &exit_first);
    ft_assigned assigned = {0};
    ft_inductions all = {0};
    *done = false;
    if (!s->right && !exit) return true;
    fine =
        fm_ft_assigned(walker, s->body, &assigned) && find_inductions(walker, s, exit, NULL, &assigned, &all);
    for (size_t i = 0; i < all.count && fine && !*done; i++) {
        const struct ft_induction *one = &all.list[i];
        const fm_form *first = one->first, *last, *variable;
        fm_front_list *outside = walker->front.list;
        fm_front_node **before = outside->end;
        int64_t step;
        ft_loop loop;
        if (!fm_form_fold(one->change, &step) || step == 0) continue;
        fine = fm_ft_begin_loop(walker, &loop, one->object->symbol->name, s->name, first, first, step,
                                &s->place, &variable) &&
               set_inductions(walker, &all, variable, first, step, true) &&
               last_of(walker, s, exit, exit_first, variable, first, step, &last);
        if (fine) fm_ft_end_loop(walker);
        fm_front_list_cut(outside, before);
        if (!fine || !last) continue;
        *done = true;
        const ft_statement *saved = walker->exit;
        const bool saved_first = walker->exit_first;
        walker->exit = exit;
        walker->exit_first = exit_first;
        fine = fm_ft_forget(walker, &assigned, &s->place) &&
               fm_ft_begin_loop(walker, &loop, one->object->symbol->name, s->name, first, last, step,
                                &s->place, &variable) &&
               set_inductions(walker, &all, variable, first, step, false) &&
               fm_ft_walk(walker, s->body, NULL);
        if (fine) fm_ft_end_loop(walker);
        walker->escape = NULL;
        walker->exit = saved;
        walker->exit_first = saved_first;
        fine = fine && fm_ft_forget(walker, &assigned, &s->place) &&
               (exit || set_inductions_behind(walker, &all, first, last, step));
    }
    if (!*done && fine) /* as if nothing had been tried */
        fm_ft_restore(&assigned);
    free(assigned.list);
    free(all.list);
    return fine;
}

/* do while, and do without bounds. */
bool fm_ft_endless_loop(ft_walker *walker, const ft_statement *s)
{
    const fm_form *times, *variable;
    bool assumed = fm_ft_assumed_loop(walker, s->place.line, &times), is_loop;
    if (!assumed && (!disguised_loop(walker, s, &is_loop) || is_loop))
        return walker->context->status == FM_OK;
    if (!assumed)
        return fm_ft_refuse(
            walker->context, &s->place,
            "%s: how often it runs depends on data (the assumption 'loop at %u runs N times' would say it)",
            s->right ? "do while" : "do without bounds", s->place.line);
    if (!times) return false;
    const ft_statement *saved = walker->exit;
    bool first, saved_first = walker->exit_first;
    ft_loop loop;
    ft_base base;
    ft_assigned assigned = {0};
    /* Its exit is what ends it. */
    walker->exit = exit_of(s, &first);
    walker->exit_first = true;
    bool done =
        fm_ft_assigned(walker, s->body, &assigned) && fm_ft_forget(walker, &assigned, &s->place) &&
        fm_ft_begin_loop(walker, &loop, "run", s->name, fm_form_number(&walker->front, 1), times, 1,
                         &s->place, &variable) &&
        (!s->right || (fm_ft_data(walker, s->right, NULL, &base) && fm_ft_flush(walker, &s->place, false))) &&
        fm_ft_walk(walker, s->body, NULL);
    if (done) fm_ft_end_loop(walker);
    walker->escape = NULL;
    walker->exit = saved;
    walker->exit_first = saved_first;
    /* The condition that ends it. */
    done =
        done && fm_ft_forget(walker, &assigned, &s->place) &&
        (!s->right || (fm_ft_data(walker, s->right, NULL, &base) && fm_ft_flush(walker, &s->place, false)));
    free(assigned.list);
    return done;
}

/*
 * Whole numbers that grow by the same amount in every iteration of a loop: `ix = ix + incx` directly in
 * its body, or in a loop inside that always runs as often. They are known in each iteration, and behind
 * the loop. What is assigned in any other way is not known there (fm_ft_assigned).
 */

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
        if (increment_of(walker, s, object, &sign) ||
            (s->kind == FT_S_DO && induction_candidate(walker, s->body, object)))
            return true;
    return false;
}

static bool find_inductions(ft_walker *walker, const ft_statement *loop, const ft_statement *exit,
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
static bool set_inductions(ft_walker *walker, const ft_inductions *all, const fm_form *variable,
                           const fm_form *first, int64_t step, bool at_exit)
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

static bool set_inductions_behind(ft_walker *walker, const ft_inductions *all, const fm_form *first,
                                  const fm_form *last, int64_t step)
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

/*
 * Which whole numbers and truth values a piece of a program may assign: what is known of them does not
 * hold any more behind it, nor in the next iteration. Calls count, also those of functions in expressions;
 * a procedure that is not in this file stops the walk anyway.
 */

typedef struct search {
    ft_walker *walker;
    ft_assigned *assigned;
    ft_unit *unit; /* whose statements these are */
    bool local;    /* its own names count; else only those of modules, hosts and common blocks */
    unsigned depth;
} search;

static bool in_statements(search *s, const ft_statement *statement);

static bool assigned_keep(search *s, ft_object *object)
{
    ft_assigned *all = s->assigned;
    for (size_t i = all->count; i-- > 0 && i + 64 > all->count;) /* twice in the list is no harm */
        if (all->list[i].object == object) return true;
    if (fm_array_reserve((void **)&all->list, &all->room, all->count + 1, sizeof *all->list))
        return fm_ft_no_memory(s->walker->context);
    all->list[all->count++] = (struct ft_saved){object, object->value, object->why, object->untouched};
    return true;
}

/* A whole number, a truth value, or a scalar of derived type, whose components may be such. */
static bool assigned_add(search *s, const ft_expression *target)
{
    ft_walker *walker = s->walker;
    while (target->kind == FT_X_INDEX) target = target->left;
    if (target->kind == FT_X_MEMBER && s->local && target->left->kind == FT_X_NAME) {
        ft_reference reference;
        if (!fm_ft_resolve(walker, target, &reference)) return false;
        return reference.memory || reference.rank || assigned_keep(s, reference.object);
    }
    /* Of other components: all of the variable. */
    while (target->kind == FT_X_MEMBER || target->kind == FT_X_INDEX) target = target->left;
    if (target->kind != FT_X_NAME) return true;
    ft_symbol *symbol = fm_ft_lookup(walker, s->unit, target->text, true);
    if (!symbol || symbol->rank || symbol->constant || symbol->external || symbol->function) return true;
    if (!s->local && symbol->unit == s->unit && !symbol->common) return true;
    ft_base base = fm_ft_type_of(symbol).base;
    if (base != FT_INTEGER_TYPE && base != FT_LOGICAL_TYPE && base != FT_DERIVED_TYPE) return true;
    ft_object *object = fm_ft_object(walker, symbol, &target->place);
    return object && assigned_keep(s, object);
}

/* What a procedure assigns that is not its own. */
static bool in_procedure(search *s, ft_unit *unit)
{
    if (unit->scanned == s->walker->epoch || s->depth > 40) return true;
    unit->scanned = s->walker->epoch;
    search inner = *s;
    inner.unit = unit;
    inner.local = false;
    inner.depth++;
    return in_statements(&inner, unit->body);
}

static bool in_call(search *s, const ft_expression *call, ft_unit *unit)
{
    unsigned number = 0;
    for (const ft_expression *a = call->kind == FT_X_INDEX ? call->arguments : NULL; a;
         a = a->next, number++) {
        const ft_expression *actual = a->kind == FT_X_KEYWORD ? a->left : a;
        const ft_symbol *dummy =
            number < unit->dummy_count && a->kind != FT_X_KEYWORD ? unit->dummies[number] : NULL;
        if (dummy && (dummy->intent_in || dummy->by_value || dummy->rank)) continue;
        if ((actual->kind == FT_X_NAME || actual->kind == FT_X_MEMBER) && !assigned_add(s, actual))
            return false;
    }
    return in_procedure(s, unit);
}

static bool in_expression(search *s, const ft_expression *expression)
{
    for (; expression; expression = expression->next) {
        if (expression->kind == FT_X_INDEX && expression->left->kind == FT_X_NAME) {
            const ft_symbol *symbol = fm_ft_lookup(s->walker, s->unit, expression->left->text, false);
            ft_unit *unit =
                symbol && symbol->rank ? NULL : fm_ft_procedure(s->walker, s->unit, expression->left->text);
            if (unit && !in_call(s, expression, unit)) return false;
        }
        if ((expression->left && !in_expression(s, expression->left)) ||
            (expression->right && !in_expression(s, expression->right)) ||
            (expression->third && !in_expression(s, expression->third)) ||
            (expression->arguments && !in_expression(s, expression->arguments)))
            return false;
    }
    return true;
}

static bool in_statement(search *s, const ft_statement *statement)
{
    if ((statement->left && !in_expression(s, statement->left)) ||
        (statement->right && !in_expression(s, statement->right)) ||
        (statement->first && !in_expression(s, statement->first)) ||
        (statement->last && !in_expression(s, statement->last)))
        return false;
    switch (statement->kind) {
    case FT_S_ASSIGN:
        return assigned_add(s, statement->left);
    case FT_S_DO:
        if (!assigned_add(s, statement->left)) return false;
        break;
    case FT_S_CALL: {
        const ft_expression *name =
            statement->left->kind == FT_X_INDEX ? statement->left->left : statement->left;
        ft_unit *unit = name->kind == FT_X_NAME ? fm_ft_procedure(s->walker, s->unit, name->text) : NULL;
        return !unit || in_call(s, statement->left, unit);
    }
    case FT_S_IF:
        for (const ft_branch *branch = statement->branches; branch; branch = branch->next)
            if ((branch->condition && !in_expression(s, branch->condition)) ||
                !in_statements(s, branch->body))
                return false;
        return true;
    default:
        break;
    }
    return in_statements(s, statement->body);
}

static bool in_statements(search *s, const ft_statement *statement)
{
    for (; statement; statement = statement->next)
        if (!in_statement(s, statement)) return false;
    return true;
}

bool fm_ft_assigned(ft_walker *walker, const ft_statement *statements, ft_assigned *assigned)
{
    search s = {.walker = walker, .assigned = assigned, .unit = walker->activation->unit, .local = true};
    walker->epoch++;
    return in_statements(&s, statements);
}

/* Components of a scalar of derived type. */
static void forget_members(ft_object *owner, const char *why)
{
    owner->changed = why;
    for (ft_object *member = owner->members; member; member = member->sibling) {
        fm_ft_set_known(member, NULL, why);
        forget_members(member, why);
    }
}

void fm_ft_restore(const ft_assigned *assigned)
{
    for (size_t i = 0; i < assigned->count; i++) {
        const struct ft_saved *saved = &assigned->list[i];
        if (saved->object->layout.base == FT_DERIVED_TYPE) {
            forget_members(saved->object, "a component of the same variable is assigned in another branch");
            continue;
        }
        fm_ft_set_known(saved->object, saved->value, saved->why);
        saved->object->untouched = saved->untouched;
    }
}

bool fm_ft_forget(ft_walker *walker, const ft_assigned *assigned, const ft_place *because)
{
    if (!assigned->count) return true;
    const char *why =
        fm_ft_print(walker->context, "it is assigned in the loop or branch of line %u", because->line);
    for (size_t i = 0; i < assigned->count; i++) {
        fm_ft_set_known(assigned->list[i].object, NULL, why);
        if (assigned->list[i].object->layout.base == FT_DERIVED_TYPE)
            forget_members(assigned->list[i].object, why);
    }
    return why != NULL;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fortran_loops.c - do, do concurrent, forall, and loops without bounds of which somebody said how often they
 * run. An exit that comes true once and stays true shortens its loop.
 */
#include "static/fortran/fortran_walker.h"

#include <stdlib.h>
#include <string.h>

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

/* The last value that the variable has before, or when, the exit is taken. */
static bool shorten_by_exit(ft_walker *walker, const ft_statement *exit, bool exit_first, const fm_form *variable,
                    const fm_form *first, int64_t step, const fm_form **last)
{
    fm_front *f = &walker->front;
    int64_t factor;
    const fm_guard *condition = fm_ft_condition(walker, exit->branches->condition);
    if (!condition) return false;
    const fm_atom *atom = fm_form_only_atom(variable);
    bool simple = condition->kind == FM_GUARD_NOT_NEGATIVE &&
                  fm_ft_factor(walker, condition->form, atom, &factor) && factor == (step > 0 ? 1 : -1);
    if (!simple)
        return fm_ft_refuse(
            walker->context, &exit->place,
            "exit: its condition is no comparison with the variable of the loop that stays true from some "
            "iteration on");
    /* factor * variable + rest >= 0: the exit is taken from `from` on. */
    const fm_form *rest = fm_form_plus(f, condition->form, variable, -factor);
    const fm_form *from = fm_form_plus(f, fm_form_number(f, 0), rest, -factor);
    bool down = step < 0;
    if (exit_first) {
        *last = fm_form_extremum(f, down ? FM_ATOM_MAX : FM_ATOM_MIN, *last,
                                 fm_form_add_number(f, from, down ? 1 : -1));
    } else {
        const fm_form *taken = fm_form_add_number(f, from, down ? step + 1 : step - 1);
        *last = fm_form_extremum(f, down ? FM_ATOM_MAX : FM_ATOM_MIN, *last,
                                 fm_form_extremum(f, !down ? FM_ATOM_MAX : FM_ATOM_MIN, first, taken));
    }
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
    if (!fm_ft_induce(walker, inductions, variable, first, step, false)) return false;
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
        if (!fm_ft_induce(walker, inductions, variable, first, step, true)) return false;
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
                fm_ft_inductions(walker, s, exit, object, &assigned, &inductions) &&
                bounded_loop(walker, s, object, &inductions, first, last, step) &&
                fm_ft_forget(walker, &assigned, &s->place) &&
                (exit || fm_ft_induced(walker, &inductions, first, last, step));
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

/* The condition that ends the loop, or keeps it going (do while): in which direction must the variable go? */
static int direction_of(ft_walker *walker, const fm_guard *condition, const fm_atom *atom, bool keeps,
                        int64_t step, int64_t *factor)
{
    if (!condition->form || !fm_ft_factor(walker, condition->form, atom, factor)) return 0;
    if (*factor != 1 && *factor != -1) return 0;
    if (condition->kind == FM_GUARD_NOT_NEGATIVE) return keeps ? (int)-*factor : (int)*factor;
    /* One step after the other, it does not pass the number that it is compared with. */
    const bool ends = condition->kind == (keeps ? FM_GUARD_NOT_ZERO : FM_GUARD_ZERO);
    return ends && (step == 1 || step == -1) ? (int)step : 0;
}

/* The last value of a variable that begins with `first` in a loop that ends by its exit, or by its own
 * condition. NULL without a failure: this variable does not tell. */
static bool last_of(ft_walker *walker, const ft_statement *s, const ft_statement *exit, bool exit_first,
                    const fm_form *variable, const fm_form *first, int64_t step, const fm_form **last)
{
    fm_front *f = &walker->front;
    ft_context *context = walker->context;
    fm_error kept, *error = context->error;
    *last = NULL;
    context->error = &kept;
    const fm_guard *condition = fm_ft_condition(walker, s->right ? s->right : exit->branches->condition);
    context->error = error;
    if (context->status == FM_E_UNSUPPORTED || context->status == FM_E_LIMIT) context->status = FM_OK;
    if (context->status != FM_OK && error) *error = kept;
    int64_t factor;
    const int direction = step > 0 ? 1 : -1;
    if (!condition ||
        direction_of(walker, condition, fm_form_only_atom(variable), s->right, step, &factor) != direction)
        return context->status == FM_OK;
    /* factor * variable + rest is compared with 0: at `border` it is 0. */
    const fm_form *rest = fm_form_plus(f, condition->form, variable, -factor);
    const fm_form *border = fm_form_plus(f, fm_form_number(f, 0), rest, -factor);
    if (s->right && condition->kind == FM_GUARD_NOT_NEGATIVE) /* keeps going up to there */
        *last = border;
    else if (exit_first) /* ends from there on */
        *last = fm_form_add_number(f, border, -direction);
    else
        *last = fm_form_extremum(f, step > 0 ? FM_ATOM_MAX : FM_ATOM_MIN, first,
                                 fm_form_add_number(f, border, step - direction));
    return *last != NULL;
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
    fine = fm_ft_assigned(walker, s->body, &assigned) &&
           fm_ft_inductions(walker, s, exit, NULL, &assigned, &all);
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
               fm_ft_induce(walker, &all, variable, first, step, true) &&
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
               fm_ft_induce(walker, &all, variable, first, step, false) && fm_ft_walk(walker, s->body, NULL);
        if (fine) fm_ft_end_loop(walker);
        walker->escape = NULL;
        walker->exit = saved;
        walker->exit_first = saved_first;
        fine = fine && fm_ft_forget(walker, &assigned, &s->place) &&
               (exit || fm_ft_induced(walker, &all, first, last, step));
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

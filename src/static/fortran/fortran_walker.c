/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fortran_walker.c - goes through the statements of a region once, in order, and writes them. On the way it
 * keeps what whole numbers are worth (fortran_value.h): what is assigned in a loop or in one branch is not
 * known behind it.
 *
 * cycle, and return outside of loops, leave the rest of a body out: walker->escape is the condition under
 * which they do, and the rest is written under `if not …`. An exit that comes true once and stays true
 * shortens the loop.
 */
#include "static/fortran/fortran_walker.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_STATEMENTS = 400000 };

/* ---- escapes ---- */

/* Either of two; NULL: never. */
static bool either(ft_walker *walker, const char *one, const char *other, const char **both)
{
    if (!one || !other || strcmp(one, "true") == 0) {
        *both = one ? one : other;
        return true;
    }
    if (strcmp(other, "true") == 0) {
        *both = other;
        return true;
    }
    if (strlen(one) + strlen(other) > 4 * FT_MOST_ATOM)
        return fm_ft_fail(walker->context, FM_E_LIMIT, &walker->statement,
                          "the conditions of cycle and return are too long");
    *both = fm_ft_print(walker->context, "(%s) or (%s)", one, other);
    return *both != NULL;
}

bool fm_ft_walk(ft_walker *walker, const ft_statement *first, const ft_statement *end)
{
    walker->escape = NULL;
    for (const ft_statement *s = first; s && s != end; s = s->next) {
        if (!fm_ft_statement(walker, s)) return false;
        const char *escape = walker->escape;
        if (!escape) continue;
        const ft_statement *rest = s->next;
        while (rest && rest != end &&
               (rest->kind == FT_S_CONTINUE || rest->kind == FT_S_MARKER || rest->kind == FT_S_NOTHING))
            rest = rest->next;
        if (!rest || rest == end || strcmp(escape, "true") == 0) return true;
        const char *condition = fm_ft_print(walker->context, "not (%s)", escape);
        if (!condition || !fm_ft_begin_if(walker, condition, &s->place)) return false;
        return fm_ft_walk(walker, rest, end) && fm_ft_close(walker) &&
               either(walker, escape, walker->escape, &walker->escape);
    }
    return true;
}

/* ---- assignments ---- */

static bool to_scalar(ft_walker *walker, const ft_statement *s, ft_reference *left)
{
    ft_object *object = left->object;
    ft_base base = object->layout.base, right;
    const fm_form *value = NULL;
    if (object->loop)
        return fm_ft_refuse(
            walker->context, &s->place,
            "'%.100s' is the variable of a loop around this statement: it must not be assigned",
            object->symbol->name);
    if (object->symbol->constant)
        return fm_ft_fail(walker->context, FM_E_FORMAT, &s->place, "'%.100s' is a constant",
                          object->symbol->name);
    if (base == FT_INTEGER_TYPE && !fm_ft_quiet_integer(walker, s->right, &value)) return false;
    if (base == FT_LOGICAL_TYPE && s->right->kind == FT_X_LOGICAL)
        value = fm_form_number(&walker->front, s->right->operator== FT_TRUE);
    fm_region_operations before = walker->operations;
    if (!fm_ft_data(walker, s->right, NULL, &right)) return false;
    /* It computes bounds and subscripts: no operations of the program's own. */
    if (value) walker->operations = before;
    if (base == FT_INTEGER_TYPE || base == FT_LOGICAL_TYPE)
        fm_ft_set_known(
            object, value,
            value ? NULL
                  : fm_ft_print(walker->context, "what it gets in line %u is not affine", s->place.line));
    return fm_ft_touch(walker, true, left, NULL) && fm_ft_flush(walker, &s->place, true);
}

static bool assignment(ft_walker *walker, const ft_statement *s)
{
    ft_reference left;
    if (s->left->kind == FT_X_INDEX && !fm_ft_is_variable(walker, s->left))
        return fm_ft_refuse(walker->context, &s->place, "'%.100s' is not declared as an array",
                            s->left->left->text);
    if (!fm_ft_resolve(walker, s->left, &left)) return false;
    if (left.layout.base == FT_DERIVED_TYPE)
        return fm_ft_refuse(walker->context, &s->place,
                            "an assignment of a whole derived type is not followed");
    if (left.rank) return fm_ft_array_assignment(walker, s, &left);
    if (!left.memory) return to_scalar(walker, s, &left);
    ft_base base;
    if (!fm_ft_data(walker, s->right, NULL, &base)) return false;
    /* A function on the right side may have changed what the subscripts are. */
    return fm_ft_resolve(walker, s->left, &left) && fm_ft_touch(walker, true, &left, NULL) &&
           fm_ft_flush(walker, &s->place, true);
}

/* ---- if ---- */

/* The condition of a branch, with those before it. */
static bool full_condition(ft_walker *walker, const char **before, const char *own, const char **full)
{
    *full = *before && own ? fm_ft_print(walker->context, "not (%s) and (%s)", *before, own)
            : own          ? own
            : *before      ? fm_ft_print(walker->context, "not (%s)", *before)
                           : "true";
    if (!*full) return false;
    return !own || either(walker, *before, own, before);
}

static bool branch_escape(ft_walker *walker, const char *full, const char **all)
{
    const char *escape = walker->escape;
    if (!escape) return true;
    const char *both =
        strcmp(escape, "true") == 0 ? full : fm_ft_print(walker->context, "(%s) and (%s)", full, escape);
    if (both && strlen(both) > 4 * FT_MOST_ATOM)
        return fm_ft_fail(walker->context, FM_E_LIMIT, &walker->statement,
                          "the conditions of cycle and return are too long");
    return both && either(walker, *all, both, all);
}

/* A condition that depends on data, and what it does is assumed: its loads, and the branches that it takes.
 */
static bool assumed_branch(ft_walker *walker, const ft_branch *branch, fm_outcome outcome, bool *taken)
{
    ft_base base;
    *taken = outcome == FM_OUTCOME_HOLDS;
    if (!fm_ft_data(walker, branch->condition, NULL, &base) || !fm_ft_flush(walker, &branch->place, false))
        return false;
    if (outcome == FM_OUTCOME_FAILS) return true;
    if (!fm_ft_walk(walker, branch->body, NULL)) return false;
    if (walker->escape && outcome == FM_OUTCOME_BOTH)
        return fm_ft_refuse(walker->context, &branch->place,
                            "cycle or return in a branch that is assumed to be taken or not");
    return true;
}

static bool branches(ft_walker *walker, const ft_statement *s, const ft_assigned *assigned)
{
    size_t start = walker->out.size;
    bool any = false;
    const char *before = NULL, *escape = NULL;
    unsigned open = 0;
    for (const ft_branch *branch = s->branches; branch; branch = branch->next) {
        ft_condition condition = {0};
        const char *full;
        fm_outcome outcome;
        fm_ft_restore(assigned);
        if (open) {
            if (!fm_ft_write(walker, &walker->out, "%*s} else {\n",
                             (int)(2 * (walker->blocks - 1 < 20 ? walker->blocks - 1 : 20)), ""))
                return false;
        }
        if (branch->condition && fm_ft_assumed_if(walker, branch->place.line, &outcome)) {
            bool taken;
            if (!assumed_branch(walker, branch, outcome, &taken) ||
                !full_condition(walker, &before, NULL, &full) || !branch_escape(walker, full, &escape))
                return false;
            any = true;
            if (taken) break;
            continue;
        }
        if (branch->condition) {
            if (!fm_ft_condition(walker, branch->condition, &condition) ||
                !full_condition(walker, &before, condition.text, &full) ||
                !fm_ft_begin_if(walker, condition.text, &branch->place))
                return false;
            open++;
        } else if (!full_condition(walker, &before, NULL, &full)) {
            return false;
        }
        size_t before_body = walker->out.size;
        if (!fm_ft_walk(walker, branch->body, NULL) || !branch_escape(walker, full, &escape)) return false;
        any |= walker->out.size > before_body;
    }
    while (open-- > 0)
        if (!fm_ft_close(walker)) return false;
    if (!any) walker->out.size = start; /* nothing but cycle or return */
    walker->escape = escape;
    return true;
}

static bool if_statement(ft_walker *walker, const ft_statement *s)
{
    if (s == walker->exit) {
        ft_condition condition;
        if (walker->exit_first) return true;
        if (!fm_ft_condition(walker, s->branches->condition, &condition)) return false;
        walker->escape = condition.text;
        return true;
    }
    ft_assigned assigned = {0};
    bool done = true;
    for (const ft_branch *branch = s->branches; branch && done; branch = branch->next)
        done = fm_ft_assigned(walker, branch->body, &assigned);
    done = done && branches(walker, s, &assigned) && fm_ft_forget(walker, &assigned, &s->place);
    free(assigned.list);
    return done;
}

/* ---- other statements ---- */

static bool allocate(ft_walker *walker, const ft_statement *s)
{
    for (const ft_expression *a = s->left; a; a = a->next) {
        if (a->kind == FT_X_KEYWORD && strcmp(a->text, "source") != 0 && strcmp(a->text, "mold") != 0)
            continue;
        if (a->kind != FT_X_INDEX || (a->left->kind != FT_X_NAME && a->left->kind != FT_X_MEMBER))
            return fm_ft_refuse(walker->context, &a->place, "an allocation of this form is not followed");
        ft_dimension dimensions[FT_MOST_RANK];
        unsigned rank = 0;
        for (ft_expression *bound = a->arguments; bound; bound = bound->next) {
            if (rank == FT_MOST_RANK)
                return fm_ft_refuse(walker->context, &a->place, "more than %d dimensions", FT_MOST_RANK);
            bool range = bound->kind == FT_X_RANGE;
            dimensions[rank++] =
                (ft_dimension){FT_EXPLICIT, range ? bound->left : NULL, range ? bound->right : bound};
            if (!dimensions[rank - 1].high)
                return fm_ft_fail(walker->context, FM_E_FORMAT, &bound->place, "an extent is missing");
        }
        ft_object *object;
        if (a->left->kind == FT_X_NAME) {
            object = fm_ft_object_of_name(walker, a->left->text, &a->place);
        } else {
            ft_reference owner;
            uint64_t offset;
            ft_layout layout;
            if (!fm_ft_resolve(walker, a->left->left, &owner)) return false;
            if (owner.memory || !owner.layout.record)
                return fm_ft_refuse(walker->context, &a->place, "an allocation of this form is not followed");
            const ft_symbol *member =
                fm_ft_member(walker, owner.layout.record, a->left->text, &a->place, &offset, &layout);
            object = member ? fm_ft_member_object(walker, owner.object, member, &a->place) : NULL;
        }
        if (!object) return false;
        if (!object->unknown_shape || !rank)
            return fm_ft_refuse(walker->context, &a->place,
                                "this is allocated a second time, or is no allocatable array");
        if (!fm_ft_set_shape(walker, object, rank, dimensions, &a->place)) return false;
    }
    return true;
}

static bool call_statement(ft_walker *walker, const ft_statement *s)
{
    const ft_expression *name = s->left->kind == FT_X_INDEX ? s->left->left : s->left;
    if (name->kind != FT_X_NAME)
        return fm_ft_refuse(walker->context, &s->place, "a call through a derived type is not followed");
    ft_unit *unit = fm_ft_procedure(walker, walker->activation->unit, name->text);
    if (!unit)
        return fm_ft_refuse(walker->context, &s->place, "a call of '%.100s', which is not in this file",
                            name->text);
    if (unit->kind != FT_SUBROUTINE)
        return fm_ft_fail(walker->context, FM_E_FORMAT, &s->place, "'%.100s' is a function", name->text);
    return fm_ft_call(walker, s->left, unit, NULL);
}

static bool cycle(ft_walker *walker, const ft_statement *s)
{
    if (walker->loop_count == walker->outer_loops || !walker->loops)
        return fm_ft_fail(walker->context, FM_E_FORMAT, &s->place, "cycle outside of a loop");
    if (s->name && (!walker->loops->construct || strcmp(walker->loops->construct, s->name) != 0))
        return fm_ft_refuse(walker->context, &s->place,
                            "cycle of a loop that is not the innermost one is not followed");
    walker->escape = "true";
    return true;
}

static bool leave(ft_walker *walker, const ft_statement *s)
{
    const char *what = s->kind == FT_S_RETURN ? "return" : "stop";
    if (walker->loop_count > walker->outer_loops)
        return fm_ft_refuse(walker->context, &s->place,
                            "%s inside a loop: how often the loop runs is not known", what);
    if (s->kind == FT_S_STOP && walker->depth)
        return fm_ft_refuse(walker->context, &s->place, "stop in a procedure that is called");
    walker->escape = "true";
    return true;
}

bool fm_ft_statement(ft_walker *walker, const ft_statement *s)
{
    ft_context *context = walker->context;
    walker->statement = s->place;
    if (++walker->statements > MOST_STATEMENTS)
        return fm_ft_fail(context, FM_E_LIMIT, &s->place,
                          "more than %d statements: calls are put in place of each other too often",
                          MOST_STATEMENTS);
    switch (s->kind) {
    case FT_S_ASSIGN:
        return assignment(walker, s);
    case FT_S_DO:
        return fm_ft_do_loop(walker, s);
    case FT_S_CONCURRENT:
        return fm_ft_concurrent(walker, s);
    case FT_S_WHILE:
        return fm_ft_endless_loop(walker, s);
    case FT_S_IF:
        return if_statement(walker, s);
    case FT_S_CALL:
        return call_statement(walker, s);
    case FT_S_CYCLE:
        return cycle(walker, s);
    case FT_S_EXIT:
        return fm_ft_refuse(context, &s->place,
                            "exit is followed only as 'if (…) exit' directly in its loop, and once");
    case FT_S_RETURN:
    case FT_S_STOP:
        return leave(walker, s);
    case FT_S_ALLOCATE:
        return allocate(walker, s);
    case FT_S_REFUSED:
        return fm_ft_refuse(context, &s->place, "%s", s->why);
    default:
        return true;
    }
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fortran_walker.c - goes through the statements of a region once, in order, and writes them. On the way it
 * keeps what whole numbers are worth (front_middle.h): what is assigned in a loop or in one branch is not
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

static const fm_guard *escape_joined(ft_walker *walker, fm_guard_kind kind, const fm_guard *left,
                                     const fm_guard *right)
{
    return fm_ft_joined(walker, kind, left, right, &walker->statement,
                        "the conditions of cycle and return are too long");
}

/* Either of two; NULL: never. */
static bool escape_either(ft_walker *walker, const fm_guard *one, const fm_guard *other,
                          const fm_guard **both)
{
    if (!one || !other || one->kind == FM_GUARD_TRUE)
        *both = one ? one : other;
    else if (other->kind == FM_GUARD_TRUE)
        *both = other;
    else
        return (*both = escape_joined(walker, FM_GUARD_OR, one, other)) != NULL;
    return true;
}

bool fm_ft_walk(ft_walker *walker, const ft_statement *first, const ft_statement *end)
{
    fm_front *f = &walker->front;
    walker->escape = NULL;
    for (const ft_statement *s = first; s && s != end; s = s->next) {
        if (!fm_ft_statement(walker, s)) return false;
        const fm_guard *escape = walker->escape;
        if (!escape) continue;
        const ft_statement *rest = s->next;
        while (rest && rest != end &&
               (rest->kind == FT_S_CONTINUE || rest->kind == FT_S_MARKER || rest->kind == FT_S_NOTHING))
            rest = rest->next;
        if (!rest || rest == end || escape->kind == FM_GUARD_TRUE) return true;
        fm_front_list *outside = f->list;
        if (!fm_ft_begin_if(walker, fm_guard_joined(f, FM_GUARD_NOT, escape, NULL), &s->place) ||
            !fm_ft_walk(walker, rest, end))
            return false;
        fm_ft_end_if(walker, outside);
        return escape_either(walker, escape, walker->escape, &walker->escape);
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

static bool walk_assignment(ft_walker *walker, const ft_statement *s)
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

/* The condition of a branch, with those before it. own NULL: of what is behind those before. */
static bool full_condition(ft_walker *walker, const fm_guard **before, const fm_guard *own,
                           const fm_guard **full)
{
    fm_front *f = &walker->front;
    const fm_guard *none_before = *before ? fm_guard_joined(f, FM_GUARD_NOT, *before, NULL) : NULL;
    *full = none_before && own ? fm_guard_joined(f, FM_GUARD_AND, none_before, own)
            : own              ? own
            : none_before      ? none_before
                               : fm_guard_constant(f, true);
    if (!*full) return false;
    return !own || escape_either(walker, *before, own, before);
}

static bool branch_escape(ft_walker *walker, const fm_guard *full, const fm_guard **all)
{
    const fm_guard *escape = walker->escape;
    if (!escape) return true;
    const fm_guard *both =
        escape->kind == FM_GUARD_TRUE ? full : escape_joined(walker, FM_GUARD_AND, full, escape);
    return both && escape_either(walker, *all, both, all);
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

static bool walk_branches(ft_walker *walker, const ft_statement *s, const ft_assigned *assigned)
{
    fm_front *f = &walker->front;
    fm_front_list *outside = f->list;
    fm_front_node **start = outside->end, *innermost = NULL;
    const unsigned blocks = walker->blocks;
    const fm_guard *before = NULL, *escape = NULL;
    bool any = false;
    for (const ft_branch *branch = s->branches; branch; branch = branch->next) {
        const fm_guard *condition = NULL, *full;
        fm_outcome outcome;
        fm_ft_restore(assigned);
        if (innermost) f->list = &innermost->otherwise;
        if (branch->condition && fm_ft_assumed_if(walker, branch->place.line, &outcome)) {
            bool taken;
            if (!assumed_branch(walker, branch, outcome, &taken) ||
                !full_condition(walker, &before, NULL, &full) || !branch_escape(walker, full, &escape))
                return false;
            any = true;
            if (taken) break;
            continue;
        }
        if (branch->condition && !(condition = fm_ft_condition(walker, branch->condition))) return false;
        if (!full_condition(walker, &before, condition, &full) ||
            (condition && !(innermost = fm_ft_begin_if(walker, condition, &branch->place))))
            return false;
        fm_front_node **before_body = f->list->end;
        if (!fm_ft_walk(walker, branch->body, NULL) || !branch_escape(walker, full, &escape)) return false;
        any |= f->list->end != before_body;
    }
    f->list = outside;
    walker->blocks = blocks;
    if (!any) fm_front_list_cut(outside, start); /* nothing but cycle or return */
    walker->escape = escape;
    return true;
}

static bool if_statement(ft_walker *walker, const ft_statement *s)
{
    if (s == walker->exit) {
        if (walker->exit_first) return true;
        walker->escape = fm_ft_condition(walker, s->branches->condition);
        return walker->escape != NULL;
    }
    ft_assigned assigned = {0};
    bool done = true;
    for (const ft_branch *branch = s->branches; branch && done; branch = branch->next)
        done = fm_ft_assigned(walker, branch->body, &assigned);
    done = done && walk_branches(walker, s, &assigned) && fm_ft_forget(walker, &assigned, &s->place);
    free(assigned.list);
    return done;
}

/* ---- other statements ---- */

static bool walk_allocate(ft_walker *walker, const ft_statement *s)
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

static bool walk_cycle(ft_walker *walker, const ft_statement *s)
{
    if (walker->loop_count == walker->outer_loops || !walker->loops)
        return fm_ft_fail(walker->context, FM_E_FORMAT, &s->place, "cycle outside of a loop");
    if (s->name && (!walker->loops->construct || strcmp(walker->loops->construct, s->name) != 0))
        return fm_ft_refuse(walker->context, &s->place,
                            "cycle of a loop that is not the innermost one is not followed");
    walker->escape = fm_guard_constant(&walker->front, true);
    return walker->escape != NULL;
}

static bool walk_leave(ft_walker *walker, const ft_statement *s)
{
    const char *what = s->kind == FT_S_RETURN ? "return" : "stop";
    if (walker->loop_count > walker->outer_loops)
        return fm_ft_refuse(walker->context, &s->place,
                            "%s inside a loop: how often the loop runs is not known", what);
    if (s->kind == FT_S_STOP && walker->depth)
        return fm_ft_refuse(walker->context, &s->place, "stop in a procedure that is called");
    walker->escape = fm_guard_constant(&walker->front, true);
    return walker->escape != NULL;
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
        return walk_assignment(walker, s);
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
        return walk_cycle(walker, s);
    case FT_S_EXIT:
        return fm_ft_refuse(context, &s->place,
                            "exit is followed only as 'if (…) exit' directly in its loop, and once");
    case FT_S_RETURN:
    case FT_S_STOP:
        return walk_leave(walker, s);
    case FT_S_ALLOCATE:
        return walk_allocate(walker, s);
    case FT_S_REFUSED:
        return fm_ft_refuse(context, &s->place, "%s", s->why);
    default:
        return true;
    }
}

/* ---- The region's tree (front_middle.h): loops, guards, statements and accesses, as they come ---- */

enum { MOST_BLOCKS = 150 }; /* inside each other: the reader has a limit too */

fm_front_place fm_ft_front_place(const ft_walker *walker, const ft_place *place)
{
    return (fm_front_place){place->line ? &walker->files[place->file] : NULL, place->line, place->column};
}

/* That many characters more. */
static bool region_lengthen(ft_walker *walker, size_t size)
{
    walker->text += size;
    return walker->text <= walker->most_text ||
           fm_ft_fail(
               walker->context, FM_E_LIMIT, &walker->statement,
               "the region would be larger than %zu MiB: calls are put in place of each other too often",
               walker->most_text >> 20);
}

/* A node in the list at hand; NULL after a failure. */
static fm_front_node *new_block(ft_walker *walker, fm_front_node_kind kind, const ft_place *place)
{
    enum { USUAL_SIZE = 50 };
    const fm_front_place where = fm_ft_front_place(walker, place);
    fm_front_node *made = fm_front_node_new(&walker->front, kind, &where);
    if (!made || !region_lengthen(walker, USUAL_SIZE + 2 * walker->blocks)) return NULL;
    if (walker->blocks++ == MOST_BLOCKS) {
        fm_ft_fail(walker->context, FM_E_LIMIT, place, "more than %d loops and conditions inside each other",
                   MOST_BLOCKS);
        return NULL;
    }
    fm_front_append(walker->front.list, made);
    return made;
}

/* The name of a loop's variable: its own, unless a loop around it or a parameter has it. */
static const char *loop_name(ft_walker *walker, const char *name)
{
    const char *base = fm_ft_safe_name(walker, name);
    for (unsigned i = 1; base && i < 1000; i++) {
        const char *tried =
            fm_ft_intern(walker->context, i == 1 ? base : fm_ft_print(walker->context, "%s.%u", base, i));
        if (!tried) return NULL;
        bool taken = false;
        for (const ft_loop *loop = walker->loops; loop && !taken; loop = loop->outer)
            taken = loop->name == tried;
        if (!taken && !fm_atom_named(&walker->front, tried, false)) return tried;
    }
    return NULL;
}

bool fm_ft_begin_loop(ft_walker *walker, ft_loop *loop, const char *name, const char *construct,
                      const fm_form *first, const fm_form *last, int64_t step, const ft_place *place,
                      const fm_form **variable)
{
    fm_front *f = &walker->front;
    if (!first || !last) return false;
    if (walker->loop_count == FM_MOST_LOOPS)
        return fm_ft_fail(walker->context, FM_E_LIMIT, place, "more than %d loops inside each other",
                          FM_MOST_LOOPS);
    if (step == INT64_MIN) return fm_ft_refuse(walker->context, place, "the step of a loop is too large");
    const char *chosen = loop_name(walker, name);
    /* Loops that follow each other have one variable where they have one name. */
    fm_atom *counter = chosen ? fm_atom_named(f, chosen, true) : NULL;
    if (!counter) counter = fm_atom_new(f, FM_ATOM_LOOP, chosen);
    *variable = fm_form_atom(f, counter);
    fm_front_node *made = *variable ? new_block(walker, FM_FRONT_LOOP, place) : NULL;
    if (!made) return false;
    made->variable = counter;
    made->first = first;
    made->last = last;
    made->step = step;
    *loop = (ft_loop){chosen, construct, walker->loops, f->list};
    f->list = &made->body;
    walker->loops = loop;
    walker->loop_count++;
    return true;
}

void fm_ft_end_loop(ft_walker *walker)
{
    walker->front.list = walker->loops->outside;
    walker->loops = walker->loops->outer;
    walker->loop_count--;
    walker->blocks--;
}

fm_front_node *fm_ft_begin_if(ft_walker *walker, const fm_guard *condition, const ft_place *place)
{
    if (!condition || !region_lengthen(walker, condition->size)) return NULL;
    fm_front_node *made = new_block(walker, FM_FRONT_IF, place);
    if (!made) return NULL;
    made->condition = condition;
    walker->front.list = &made->body;
    return made;
}

void fm_ft_end_if(ft_walker *walker, fm_front_list *outside)
{
    walker->front.list = outside;
    walker->blocks--;
}

bool fm_ft_access(ft_walker *walker, bool store, const ft_reference *reference, const ft_positions *positions)
{
    fm_front *f = &walker->front;
    fm_front_array *memory = reference->memory;
    const ft_place *place = &reference->expression->place;
    const fm_form *subscripts[FM_MOST_DIMENSIONS];
    if (reference->rank != (positions && reference->rank ? positions->rank : 0))
        return reference->rank && !positions
                   ? fm_ft_refuse(walker->context, place, "a whole array where one element is needed")
                   : fm_ft_fail(walker->context, FM_E_FORMAT, place,
                                "arrays of %u and %u dimensions in one statement",
                                positions ? positions->rank : 0, reference->rank);
    memcpy(subscripts, reference->subscripts, sizeof subscripts);
    walker->place = *place;
    for (unsigned i = 0; i < reference->rank; i++) {
        const ft_section *section = &reference->sections[i];
        subscripts[section->dimension] =
            fm_form_plus(f, subscripts[section->dimension], positions->at[i], section->stride);
        if (!subscripts[section->dimension]) return false;
    }
    for (unsigned i = 0; i < memory->rank; i++)
        if (!subscripts[i]) return false;
    const char *source = fm_ft_text(walker->context, place);
    fm_front_touch *made = source ? fm_front_touch_new(f, f->statement, store, memory, subscripts) : NULL;
    if (!made) return false;
    made->offset = reference->offset;
    made->bytes = reference->layout.bytes;
    made->place = fm_ft_front_place(walker, place);
    made->text = source;
    enum { USUAL_SUBSCRIPT = 6, USUAL_SIZE = 24 };
    return region_lengthen(walker, strlen(source) + strlen(memory->name) + USUAL_SUBSCRIPT * memory->rank +
                                       USUAL_SIZE + 2 * walker->blocks);
}

bool fm_ft_flush(ft_walker *walker, const ft_place *place, bool always)
{
    fm_front *f = &walker->front;
    fm_front_node *statement = f->statement;
    const fm_front_place where = fm_ft_front_place(walker, place);
    statement->operations = walker->operations;
    if (!always && !fm_front_statement_counts(statement)) return true;
    f->statement = fm_front_node_new(f, FM_FRONT_STATEMENT, &where);
    if (!f->statement) return false;
    statement->place = where;
    fm_front_append(f->list, statement);
    walker->operations = (fm_region_operations){0};
    return true;
}

bool fm_ft_note(ft_walker *walker, const char *text)
{
    if (text) fm_front_note(&walker->front, "%s", text);
    return walker->context->status == FM_OK;
}

const char *fm_ft_safe_name(ft_walker *walker, const char *name)
{
    static const char *const words[] = {
        "for",   "if",         "do",      "load",     "store",   "else",   "file", "function",
        "param", "assume",     "note",    "array",    "to",      "downto", "step", "of",
        "and",   "or",         "not",     "true",     "false",   "min",    "max",  "floor",
        "ceil",  "mod",        "member",  "low",      "align",   "offset", "row",  "column",
        "adds",  "multiplies", "divides", "specials", "integers"};
    if (!name) return NULL;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strcmp(words[i], name) == 0) return fm_ft_print(walker->context, "%s$", name);
    return name;
}

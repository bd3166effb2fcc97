/* SPDX-License-Identifier: Apache-2.0 */
/*
 * clang_loops.c - for, while, do, and for over a range. One iteration is worked off with unknown values of
 * the variables that it changes. Those that change by the same amount every time are known from then on:
 * first value + amount * iteration; the others are not, and whoever needs them is refused. Then the condition
 * says how far the loop goes (front_trips.c), and the unknown values are replaced.
 */
#include "clang_maker.h"

#include "static/region/region.h"

#include <string.h>

typedef struct loop_parts {
    CXCursor where, condition, increment, body; /* null: not there */
    bool body_first;
} loop_parts;

/* A variable that an iteration changes. */
typedef struct entry {
    variable *variable;
    value before;          /* the loop */
    fm_atom *unknown;      /* at the beginning of an iteration; of a pointer: steps since the loop began */
    const fm_form *first;  /* of that: in the first iteration */
    const fm_form *amount; /* that it changes by; NULL: not the same every time */
} entry;

typedef struct entries {
    size_t count;
    entry *at;
} entries;

/* What may have to be worked off again: before one iteration. */
typedef struct beginning {
    variable_set_of changed;
    state *before;
    fm_front_list *list;
    fm_front_node **end;
} beginning;

/* Pointers that change places in every iteration: two and two of them; count 0: none. */
typedef struct swaps {
    size_t count;
    variable **variables;
    value *values;     /* before the loop */
    variable *counter; /* changes by 1 in every iteration */
} swaps;

static entries loop_enter(fm_front *f, const loop_parts *p, const variable_set_of *set);
static beginning loop_begin(fm_front *f, const loop_parts *p);
/* everything as before the iteration */
static void loop_reset(fm_front *f, const beginning *b);
/*
 * Variables that were changed though the text did not show it: those that were seen for the first time
 * inside (members, what a called function changes). Then the iteration is worked off once more, with them.
 */
static bool loop_begin_again(fm_front *f, beginning *b);
/* What each variable changes by. Amounts may use others that do not change at all. */
static void loop_find_amounts(fm_front *f, const loop_parts *p, entries *all);
static swaps loop_find_swaps(fm_front *f, const loop_parts *p, entries *all);
static void swaps_leave_out(const swaps *of, variable_set_of *set);
static void swaps_set(fm_front *f, const swaps *of, unsigned side);
static const fm_guard *swaps_condition(fm_front *f, const swaps *of, const entries *all);
static void swaps_merge(fm_front *f, const loop_parts *p, const swaps *of, const entries *all,
                        const state *even, state *odd);

/* ---- the variable that the loop is written with ---- */

static bool list_mentions(const fm_front_list *list, const fm_atom *a)
{
    for (const fm_front_node *n = list->first; n; n = n->next) {
        if ((n->first && fm_form_mentions(n->first, a)) || (n->last && fm_form_mentions(n->last, a)))
            return true;
        if (n->condition && fm_guard_mentions(n->condition, a)) return true;
        for (const fm_front_touch *x = n->accesses; x; x = x->next)
            for (unsigned i = 0; i < x->array->rank; i++)
                if (fm_form_mentions(x->subscripts[i], a)) return true;
        if (list_mentions(&n->body, a) || list_mentions(&n->otherwise, a)) return true;
    }
    return false;
}

/* The one of the condition that changes by a number, and all others that are used by multiples of it. */
static const entry *main_variable(const entries *all, const fm_guard *goes_on, const fm_front_node *loop)
{
    for (size_t i = 0; i < all->count; i++) {
        const entry *e = &all->at[i];
        int64_t amount, other;
        if (e->before.kind != VALUE_INTEGER || !e->amount || !fm_guard_mentions(goes_on, e->unknown))
            continue;
        if (!fm_form_is_number(e->amount, &amount) || amount == 0) continue;
        bool fits = true;
        for (size_t k = 0; k < all->count && amount != 1 && amount != -1; k++) {
            const entry *o = &all->at[k];
            if (o == e || !o->amount) continue;
            if (!list_mentions(&loop->body, o->unknown) && !fm_guard_mentions(goes_on, o->unknown)) continue;
            fits &= fm_form_is_number(o->amount, &other) && other % amount == 0;
        }
        if (fits) return e;
    }
    return NULL;
}

typedef struct loop_counter { /* how iterations are counted */
    fm_atom *variable;
    const fm_form *first;
    int64_t step;
} loop_counter;

/* The values of all variables in the iteration with this variable. */
static fm_replacement *replacements_of(fm_front *f, const entries *all, const entry *chosen,
                                       const loop_counter *c)
{
    fm_replacement *made = fm_front_allocate(f, all->count, sizeof *made);
    const fm_form *counted = fm_form_atom(f, c->variable);
    for (size_t i = 0; i < all->count; i++) {
        const entry *e = &all->at[i];
        made[i].atom = e->unknown;
        if (!e->amount) continue;
        if (e == chosen) {
            made[i].form = counted;
            continue;
        }
        const fm_form *way = fm_form_subtract(f, counted, c->first),
                      *exact = fm_form_exact_quotient(f, e->amount, c->step);
        const fm_form *far = exact ? fm_form_multiply(f, exact, way)
                             : c->step == 1 || c->step == -1
                                 ? fm_form_multiply(f, e->amount, fm_form_scale(f, way, c->step))
                                 : NULL;
        if (far) made[i].form = fm_form_add(f, e->first, far);
    }
    return made;
}

/* ---- behind the loop ---- */

static const fm_form *trip_count(fm_front *f, const loop_counter *c, const fm_form *last)
{
    const fm_form *way =
        c->step > 0 ? fm_form_subtract(f, last, c->first) : fm_form_subtract(f, c->first, last);
    int64_t size = c->step > 0 ? c->step : -c->step;
    const fm_form *count =
        fm_form_add(f, fm_form_divide(f, FM_ATOM_FLOOR, way, fm_form_number(f, size)), fm_form_number(f, 1));
    return fm_form_extremum(f, FM_ATOM_MAX, count, fm_form_number(f, 0));
}

static void loop_leave(fm_front *f, const loop_parts *p, const entries *all, const entry *chosen,
                       const loop_counter *c, const fm_form *last, bool certain)
{
    const fm_form *count = trip_count(f, c, last);
    for (size_t i = 0; i < all->count; i++) {
        const entry *e = &all->at[i];
        value after = data(
            fm_front_text(f, "whose value behind the loop of line %u is not known", line_of(f, p->where)));
        const fm_form *far = NULL, *end = NULL;
        if (certain && e->amount) {
            if (e == chosen && (c->step == 1 || c->step == -1)) /* max(first, last + 1) */
                end = fm_form_extremum(f, c->step > 0 ? FM_ATOM_MAX : FM_ATOM_MIN,
                                       fm_form_add(f, last, fm_form_number(f, c->step)), c->first);
            else
                far = fm_form_multiply(f, e->amount, count);
            if (far) end = fm_form_add(f, e->first, far);
        }
        if (end && e->before.kind == VALUE_INTEGER) after = integer(end);
        if (end && e->before.kind == VALUE_POINTER) {
            location at = step(f, p->where, &e->before.at, end);
            after = pointer_to(&at);
        }
        variable_set(f, e->variable, after);
    }
}

/* ---- how far it goes ---- */

static const fm_form *stated_count(fm_front *f, const loop_parts *p, const char *why)
{
    const fm_assumption *stated = fm_assumptions_find(f, FM_ASSUME_LOOP, line_of(f, p->where), NULL);
    if (!stated)
        refuse(f, p->where,
               "how often this loop runs depends on data: %s (--assume 'loop at %u runs N times' says it)",
               why ? why : "its condition", line_of(f, p->where));
    fm_front_note(f, "assumed: %s", stated->text);
    return stated->amounts[0].form;
}

static _Noreturn void no_end(fm_front *f, const loop_parts *p, const char *why)
{
    refuse(f, p->where,
           "how often this loop runs is not understood: %s (--assume 'loop at %u runs N times' says it)",
           why ? why : "nothing in its condition ends it", line_of(f, p->where));
}

/* A break: the loop goes up to the first iteration in which it happens. */
static const fm_form *end_by_break(fm_front *f, const loop_parts *p, const fm_guard *ends,
                                   const fm_replacement *known, size_t count, const loop_counter *c,
                                   const fm_form *last)
{
    fm_trips broken;
    const char *why = NULL;
    const fm_guard *stays = fm_guard_not(f, fm_guard_replace(f, ends, known, count));
    if (!fm_front_trips(f, stays, c->variable, c->first, c->step, true, &broken, &why) || broken.guard ||
        !broken.last)
        refuse(f, p->where, "when the break ends this loop is not understood%s%s", why ? ": " : "",
               why ? why : "");
    bool up = c->step > 0;
    const fm_form *end = fm_form_add(f, broken.last, fm_form_number(f, c->step));
    end = fm_form_extremum(f, up ? FM_ATOM_MAX : FM_ATOM_MIN, end, c->first);
    return last ? fm_form_extremum(f, up ? FM_ATOM_MIN : FM_ATOM_MAX, last, end) : end;
}

static bool loop_unresolved(const fm_guard *c, const entries *all, const char **why, const char **name)
{
    for (size_t i = 0; i < all->count; i++)
        if (fm_guard_mentions(c, all->at[i].unknown)) {
            *why = all->at[i].unknown->why;
            *name = all->at[i].variable->name;
            return true;
        }
    return false;
}

static void loop_finish(fm_front *f, const loop_parts *p, fm_front_node *loop, entries *all,
                        const fm_guard *goes_on, const fm_form *stated, const fm_guard *ends)
{
    loop_find_amounts(f, p, all);
    const entry *chosen = stated ? NULL : main_variable(all, goes_on, loop);
    loop_counter c = {.first = fm_form_number(f, 0), .step = 1};
    const char *name = "iteration";
    if (chosen) {
        name = chosen->variable->name;
        c.first = chosen->first;
        fm_form_is_number(chosen->amount, &c.step);
    } else {
        for (size_t i = 0; i < all->count; i++)
            if (goes_on && fm_guard_mentions(goes_on, all->at[i].unknown)) name = all->at[i].variable->name;
    }
    c.variable = fm_atom_new(f, FM_ATOM_LOOP, name);
    fm_replacement *known = replacements_of(f, all, chosen, &c);
    fm_trips far = {0};
    const char *why = NULL;
    bool certain = !ends;
    if (stated) {
        far.last = fm_form_subtract(f, stated, fm_form_number(f, 1));
    } else {
        const fm_guard *replaced = fm_guard_replace(f, goes_on, known, all->count);
        const char *unknown;
        if (loop_unresolved(replaced, all, &why, &unknown))
            no_end(f, p, fm_front_text(f, "'%s', %s", unknown, why));
        if (!fm_front_trips(f, replaced, c.variable, c.first, c.step, false, &far, &why)) no_end(f, p, why);
        if (p->body_first) { /* the condition of one iteration is the next one's */
            if (far.guard) no_end(f, p, "it is tested behind the first iteration, and does not change");
            if (far.last) {
                far.last = fm_form_add(f, far.last, fm_form_number(f, c.step));
                far.last = fm_form_extremum(f, c.step > 0 ? FM_ATOM_MAX : FM_ATOM_MIN, far.last, c.first);
            }
        }
    }
    if (ends) far.last = end_by_break(f, p, ends, known, all->count, &c, far.last);
    if (!far.last) no_end(f, p, NULL);
    loop->variable = c.variable;
    loop->first = c.first;
    loop->last = far.last;
    loop->step = c.step;
    fm_front_replace(f, &loop->body, known, all->count);
    loop_leave(f, p, all, chosen, &c, far.last, certain && !far.guard);
    if (!loop->body.first) return;
    if (p->body_first && goes_on && goes_on->kind == FM_GUARD_FALSE) { /* do … while (0) is no loop */
        const fm_replacement once = {c.variable, c.first};
        fm_front_replace(f, &loop->body, &once, 1);
        fm_front_list_join(f->list, &loop->body);
        return;
    }
    if (!far.guard || far.guard->kind == FM_GUARD_TRUE) {
        fm_front_append(f->list, loop);
        return;
    }
    fm_front_node *guarded = fm_front_node_new(f, FM_FRONT_IF, &loop->place);
    guarded->condition = far.guard;
    fm_front_append(&guarded->body, loop);
    fm_front_append(f->list, guarded);
}

static const fm_guard *loop_test(fm_front *f, const loop_parts *p, const char **why)
{
    if (clang_Cursor_isNull(p->condition)) return fm_guard_constant(f, true);
    statement_begin(f, p->condition);
    const fm_guard *c = condition_from(f, p->condition, why);
    statement_end(f);
    return c;
}

/* One iteration, as far as its variables and its breaks are concerned. */
typedef struct iteration {
    entries changed;
    fm_front_node *loop;
    const fm_guard *goes_on, *ends;
    const fm_form *stated;
} iteration;

static void check_depth(fm_front *f, CXCursor where)
{
    unsigned depth = 1;
    for (const open_loop *outer = f->own->loop; outer; outer = outer->parent) depth++;
    if (depth > FM_MOST_LOOPS) refuse(f, where, "more than %d loops inside each other", FM_MOST_LOOPS);
}

/* The body and what is behind it. */
static void work_off_inside(fm_front *f, const loop_parts *p)
{
    leaving leaves = work_off_body(f, p->body, true);
    if (leaves == LEAVES_RETURN) refuse(f, p->where, "a return inside the loop is not expressible");
    if (leaves == LEAVES_BREAK) refuse(f, p->where, "a break without a condition: this is no loop");
    if (clang_Cursor_isNull(p->increment)) return;
    f->own->quiet++;
    statement_begin(f, p->increment);
    evaluate(f, p->increment);
    statement_end(f);
    f->own->quiet--;
}

/* Twice: with pointers that change places as they are in iterations with an even number, and an odd one. */
static void work_off_sides(fm_front *f, const loop_parts *p, const swaps *swapped, const entries *changed,
                           const open_loop *opened)
{
    const state *begin = f->own->now;
    state *after[2];
    fm_front_list *list = f->list;
    fm_front_node *choice_of = front_node(f, FM_FRONT_IF, p->where);
    choice_of->condition = swaps_condition(f, swapped, changed);
    if (!choice_of->condition)
        refuse(f, p->where, "pointers change places in this loop, which does not count");
    for (unsigned side = 0; side < 2; side++) {
        f->own->now = state_copy(f, begin);
        f->list = side ? &choice_of->otherwise : &choice_of->body;
        swaps_set(f, swapped, side);
        work_off_inside(f, p);
        if (opened->ends)
            refuse(f, p->where, "a break in a loop in which pointers change places is not followed");
        after[side] = f->own->now;
    }
    f->list = list;
    fm_front_append(f->list, choice_of);
    swaps_merge(f, p, swapped, changed, after[0], after[1]);
}

static iteration work_off_once(fm_front *f, const loop_parts *p, const variable_set_of *changed,
                               const swaps *swapped)
{
    const char *why = NULL;
    fm_front_list *outside = f->list;
    iteration made = {.loop = front_node(f, FM_FRONT_LOOP, p->where), .changed = loop_enter(f, p, changed)};
    open_loop opened = {.parent = f->own->loop, .frame = f->own->frame};
    check_depth(f, p->where);
    f->list = &made.loop->body;
    f->own->loop = &opened;
    if (!p->body_first && !(made.goes_on = loop_test(f, p, &why))) made.stated = stated_count(f, p, why);
    if (swapped)
        work_off_sides(f, p, swapped, &made.changed, &opened);
    else
        work_off_inside(f, p);
    if (p->body_first && !(made.goes_on = loop_test(f, p, &why))) made.stated = stated_count(f, p, why);
    made.ends = opened.ends;
    f->own->loop = opened.parent;
    f->list = outside;
    return made;
}

static void work_off_loop(fm_front *f, const loop_parts *p)
{
    const char *why = NULL;
    beginning start = loop_begin(f, p);
    iteration one = work_off_once(f, p, &start.changed, NULL);
    while (loop_begin_again(f, &start)) one = work_off_once(f, p, &start.changed, NULL);
    swaps swapped = loop_find_swaps(f, p, &one.changed);
    if (swapped.count) {
        loop_reset(f, &start);
        swaps_leave_out(&swapped, &start.changed);
        one = work_off_once(f, p, &start.changed, &swapped);
    }
    loop_finish(f, p, one.loop, &one.changed, one.goes_on, one.stated, one.ends);
    if (!p->body_first) { /* the test that ends it */
        if (!one.stated) f->nowhere++;
        loop_test(f, p, &why);
        if (!one.stated) f->nowhere--;
    }
}

/* ---- the kinds ---- */

void work_off_for(fm_front *f, CXCursor statement)
{
    cursors all = children(f, statement);
    loop_parts p = {
        .where = statement, .condition = clang_getNullCursor(), .increment = clang_getNullCursor()};
    source_file *file;
    size_t begin, end, first = 0, second = 0;
    if (all.count == 0 || !extent(f, statement, &file, &begin, &end))
        refuse(f, statement, "this loop is not understood");
    p.body = all.at[all.count - 1];
    /* Which of its parts are there: by the two semicolons. */
    int depth = 0;
    for (size_t at = begin; at < end && !second; at++) {
        size_t next = skip_blank(file->text, at, end);
        if (next > at) at = next;
        if (at >= end) break;
        char c = file->text[at];
        if (c == '"' || c == '\'') {
            for (at++; at < end && file->text[at] != c; at++)
                if (file->text[at] == '\\') at++;
            continue;
        }
        depth += c == '(' || c == '[' || c == '{';
        depth -= c == ')' || c == ']' || c == '}';
        if (c == ';' && depth == 1) *(first ? &second : &first) = at;
    }
    if (!second) refuse(f, statement, "this loop is not understood (is it in a macro?)");
    for (size_t i = 0; i + 1 < all.count; i++) {
        source_file *other;
        size_t at, last;
        if (!extent(f, all.at[i], &other, &at, &last)) refuse(f, statement, "this loop is not understood");
        if (at > second) {
            p.increment = all.at[i];
        } else if (at > first) {
            p.condition = all.at[i];
        } else {
            f->own->quiet++;
            work_off(f, all.at[i]);
            f->own->quiet--;
        }
    }
    work_off_loop(f, &p);
}

void work_off_while(fm_front *f, CXCursor statement)
{
    cursors all = children(f, statement);
    if (all.count != 2 || !clang_isExpression(clang_getCursorKind(all.at[0])))
        refuse(f, statement, "this loop is not understood");
    loop_parts p = {
        .where = statement, .condition = all.at[0], .increment = clang_getNullCursor(), .body = all.at[1]};
    work_off_loop(f, &p);
}

void work_off_do(fm_front *f, CXCursor statement)
{
    cursors all = children(f, statement);
    if (all.count != 2) refuse(f, statement, "this loop is not understood");
    loop_parts p = {.where = statement,
                    .condition = all.at[1],
                    .increment = clang_getNullCursor(),
                    .body = all.at[0],
                    .body_first = true};
    work_off_loop(f, &p);
}

static void range_iteration(fm_front *f, const loop_parts *p, fm_front_node *loop, CXCursor element,
                            const location *here)
{
    fm_front_list *outside = f->list;
    open_loop opened = {.parent = f->own->loop, .frame = f->own->frame};
    check_depth(f, p->where);
    f->list = &loop->body;
    f->own->loop = &opened;
    variable *v = variable_of(f, element, element);
    if (classify(v->type) == TYPE_REFERENCE) {
        variable_set(f, v, (value){.kind = VALUE_LOCATION, .at = *here});
    } else {
        statement_begin(f, element);
        value loaded = load(f, element, here);
        location at = register_of(v);
        store(f, element, &at, loaded);
        statement_end(f);
    }
    leaving leaves = work_off_body(f, p->body, true);
    if ((leaves != LEAVES_NOT && leaves != LEAVES_CONTINUE) || opened.ends)
        refuse(f, p->where, "a loop over a range that is left early is not expressible");
    f->own->loop = opened.parent;
    f->list = outside;
}

/* for (T x : range): an array or a container of known elements. */
void work_off_range_for(fm_front *f, CXCursor statement)
{
    cursors all = children(f, statement);
    CXCursor element = clang_getNullCursor(), range = element;
    for (size_t i = 0; i + 1 < all.count; i++) {
        if (clang_getCursorKind(all.at[i]) == CXCursor_VarDecl) element = all.at[i];
        if (clang_isExpression(clang_getCursorKind(all.at[i]))) range = all.at[i];
    }
    if (clang_Cursor_isNull(element) || clang_Cursor_isNull(range))
        refuse(f, statement, "this loop over a range is not understood");
    location first;
    const fm_form *count;
    range_of(f, range, &first, &count);
    loop_parts p = {.where = statement,
                    .condition = clang_getNullCursor(),
                    .increment = clang_getNullCursor(),
                    .body = all.at[all.count - 1]};
    beginning start = loop_begin(f, &p);
    fm_front_node *loop;
    entries entered;
    fm_atom *position = fm_atom_new(f, FM_ATOM_ENTRY, spelling(f, element));
    location here = step(f, statement, &first, fm_form_atom(f, position));
    do {
        loop = front_node(f, FM_FRONT_LOOP, statement);
        entered = loop_enter(f, &p, &start.changed);
        range_iteration(f, &p, loop, element, &here);
    } while (loop_begin_again(f, &start));
    loop_find_amounts(f, &p, &entered);
    loop_counter c = {.variable = fm_atom_new(f, FM_ATOM_LOOP, spelling(f, element)),
                      .first = fm_form_number(f, 0),
                      .step = 1};
    fm_replacement *known = replacements_of(f, &entered, NULL, &c);
    fm_replacement here_too = {position, fm_form_atom(f, c.variable)};
    fm_front_replace(f, &loop->body, known, entered.count);
    fm_front_replace(f, &loop->body, &here_too, 1);
    loop->variable = c.variable;
    loop->first = c.first;
    loop->last = fm_form_subtract(f, count, fm_form_number(f, 1));
    loop->step = 1;
    loop_leave(f, &p, &entered, NULL, &c, loop->last, true);
    if (loop->body.first) fm_front_append(f->list, loop);
}

/*
 * What one iteration of a loop changes: variables enter it with unknown values, and are compared with what
 * they have at its end.
 */

static entries loop_enter(fm_front *f, const loop_parts *p, const variable_set_of *set)
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

static beginning loop_begin(fm_front *f, const loop_parts *p)
{
    beginning made = {.before = state_copy(f, f->own->now), .list = f->list, .end = f->list->end};
    changed_by(f, p->condition, &made.changed);
    changed_by(f, p->increment, &made.changed);
    changed_by(f, p->body, &made.changed);
    return made;
}

static void loop_reset(fm_front *f, const beginning *b)
{
    f->own->now = state_copy(f, b->before);
    f->list = b->list;
    f->list->end = b->end;
    *f->list->end = NULL;
}

static bool loop_begin_again(fm_front *f, beginning *b)
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

static void loop_find_amounts(fm_front *f, const loop_parts *p, entries *all)
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

/*
 * Two pointers that change places at the end of every iteration: double *t = a; a = b; b = t;. The body is
 * worked off twice, for iterations with an even and an odd number, with the pointers fixed in each.
 */

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

static swaps loop_find_swaps(fm_front *f, const loop_parts *p, entries *all)
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

static void swaps_leave_out(const swaps *of, variable_set_of *set)
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
static void swaps_set(fm_front *f, const swaps *of, unsigned side)
{
    for (size_t i = 0; i < of->count; i++) variable_set(f, of->variables[i], of->values[side ? i ^ 1 : i]);
}

/* Is the number of the iteration even? */
static const fm_guard *swaps_condition(fm_front *f, const swaps *of, const entries *all)
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
static void swaps_merge(fm_front *f, const loop_parts *p, const swaps *of, const entries *all,
                        const state *even, state *odd)
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

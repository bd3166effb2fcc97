/* SPDX-License-Identifier: Apache-2.0 */
/*
 * clang_branches.c - if, and statements that are worked off once for each case of a condition (forks). What
 * variables are worth behind a branch: the same, a minimum or maximum of both, or - where what follows needs
 * to know - what follows is worked off in both branches.
 */
#include "clang_maker.h"

#include <string.h>

/* (yes - no >= 0 ? yes : no) is the larger one, and so on. */
static value merge_extreme(fm_front *f, const fm_guard *c, const value *yes, const value *no)
{
    value none = {.kind = VALUE_UNSET};
    if (!c || c->kind != FM_GUARD_NOT_NEGATIVE) return none;
    const fm_form *difference = fm_form_subtract(f, yes->number, no->number);
    int64_t over;
    if (fm_form_is_number(fm_form_subtract(f, c->form, difference), &over) && (over == 0 || over == -1))
        return integer(fm_form_extremum(f, FM_ATOM_MAX, yes->number, no->number));
    if (fm_form_is_number(fm_form_add(f, c->form, difference), &over) && (over == 0 || over == -1))
        return integer(fm_form_extremum(f, FM_ATOM_MIN, yes->number, no->number));
    return none;
}

value merge_values(fm_front *f, CXCursor where, const fm_guard *c, const value *yes, const value *no)
{
    value none = {.kind = VALUE_UNSET};
    (void)where;
    if (value_equal(f, yes, no)) return *yes;
    if (yes->kind == VALUE_INTEGER && no->kind == VALUE_INTEGER) return merge_extreme(f, c, yes, no);
    return none;
}

void merge_states(fm_front *f, CXCursor where, const fm_guard *c, const state *yes, const state *no)
{
    for (variable *v = f->own->variables; v; v = v->next) {
        if (untouched(yes, no, v) && untouched(yes, f->own->now, v)) continue;
        value left = value_in(yes, v), right = value_in(no, v);
        value one = merge_values(f, where, c, &left, &right);
        if (one.kind == VALUE_UNSET)
            one = left.kind == VALUE_LOCATION || right.kind == VALUE_LOCATION
                      ? left
                      : data(fm_front_text(f, "which differs behind the branches of line %u",
                                           line_of(f, where)));
        variable_set(f, v, one);
    }
}

/* How many statements of the list have to know a number or a pointer that differs; `next` or less: none. */
static size_t needed_until(fm_front *f, CXCursor where, const fm_guard *c, const state *yes, const state *no,
                           const cursors *list, size_t next)
{
    size_t last = 0;
    for (variable *v = f->own->variables; list && v; v = v->next) {
        if (untouched(yes, no, v)) continue;
        value left = value_in(yes, v), right = value_in(no, v);
        if (left.kind != right.kind || (left.kind != VALUE_INTEGER && left.kind != VALUE_POINTER)) continue;
        if (merge_values(f, where, c, &left, &right).kind != VALUE_UNSET) continue;
        for (size_t i = next > last ? next : last; i < list->count; i++)
            if (mentions(f, list->at[i], v)) last = i + 1;
    }
    return last;
}

typedef struct branch {
    CXCursor statement; /* null: none */
    bool holds;
    fm_front_list *list;
    state *after;
    leaving leaves;
} branch;

/* Runs a branch (or, with a choice, the statement itself); f->own->now is the state before, and so
 * afterwards. */
static void branch_run(fm_front *f, branch *b, bool tail, const cursors *forked)
{
    fm_front_list *list = f->list;
    state *before = f->own->now;
    f->list = b->list;
    f->own->now = state_copy(f, before);
    if (f->own->loop) f->own->loop->guards++;
    size_t ignored = 0;
    if (forked)
        b->leaves = work_off_forked(f, b->statement, forked, &ignored, tail);
    else if (!clang_Cursor_isNull(b->statement))
        b->leaves = work_off_body(f, b->statement, tail);
    if (f->own->loop) f->own->loop->guards--;
    b->after = f->own->now;
    f->own->now = before;
    f->list = list;
}

static void run_rest(fm_front *f, branch *b, const cursors *list, size_t next, bool tail)
{
    fm_front_list *outer = f->list;
    state *before = f->own->now;
    f->list = b->list;
    f->own->now = b->after;
    if (f->own->loop) f->own->loop->guards++;
    b->leaves = work_off_list(f, list, next, tail);
    if (f->own->loop) f->own->loop->guards--;
    b->after = f->own->now;
    f->own->now = before;
    f->list = outer;
}

static void run_rest_of_both(fm_front *f, CXCursor where, branch *yes, branch *no, const cursors *list,
                             size_t *next, size_t until, bool tail)
{
    cursors part = {until, list->at};
    run_rest(f, yes, &part, *next, tail && until == list->count);
    run_rest(f, no, &part, *next, tail && until == list->count);
    *next = until;
    if (yes->leaves != no->leaves) refuse(f, where, "the branches leave in different ways: not expressible");
}

/* Both branches are worked off: joins them, with what is behind them where that is needed. */
static leaving branches_join(fm_front *f, CXCursor where, const fm_guard *c, branch *yes, branch *no,
                    const cursors *list, size_t *next, bool tail)
{
    if (yes->leaves != no->leaves) {
        branch *stays = yes->leaves == LEAVES_NOT ? yes : no, *goes = stays == yes ? no : yes;
        leaving kind = goes->leaves;
        if (!tail)
            refuse(f, where,
                   "continue, break or return inside nested statements: what is skipped is not expressible");
        if (stays->leaves != LEAVES_NOT)
            refuse(f, where, "the branches leave in different ways: not expressible");
        if (kind == LEAVES_BREAK) {
            if (f->own->loop->guards || f->own->loop->ends)
                refuse(f, where, "a break under several conditions is not expressible");
            f->own->loop->ends = goes == yes ? c : fm_guard_not(f, c);
        }
        if (list && *next < list->count) run_rest(f, stays, list, *next, tail);
        if (list) *next = list->count;
        if (stays->leaves != LEAVES_NOT && stays->leaves != kind)
            refuse(f, where, "the statements behind leave in another way: not expressible");
        if (kind == LEAVES_RETURN && f->own->frame->returns)
            refuse(f, where, "a value is returned in several places under a condition: not expressible");
    } else if (yes->leaves == LEAVES_NOT) {
        size_t until = needed_until(f, where, c, yes->after, no->after, list, *next);
        if (until > *next) run_rest_of_both(f, where, yes, no, list, next, until, tail);
    }
    merge_states(f, where, c, yes->after, no->after);
    return yes->leaves == no->leaves ? yes->leaves : LEAVES_NOT;
}

static leaving both_branches(fm_front *f, CXCursor where, const fm_guard *c, CXCursor yes, CXCursor no,
                             const cursors *list, size_t *next, bool tail)
{
    fm_front_node *made = front_node(f, FM_FRONT_IF, where);
    branch holds = {.statement = yes, .holds = true, .list = &made->body};
    branch fails = {.statement = no, .list = &made->otherwise};
    bool inner = tail && (!list || *next >= list->count);
    made->condition = c;
    branch_run(f, &holds, inner, NULL);
    branch_run(f, &fails, inner, NULL);
    leaving leaves = branches_join(f, where, c, &holds, &fails, list, next, tail);
    if (made->body.first || made->otherwise.first) fm_front_append(f->list, made);
    return leaves;
}

/* ---- conditions that depend on data ---- */

static leaving on_data(fm_front *f, CXCursor where, const char *why, CXCursor yes, CXCursor no, bool tail)
{
    const fm_assumption *stated = fm_assumptions_find(f, FM_ASSUME_IF, line_of(f, where), NULL);
    if (!stated)
        refuse(f, where,
               "the condition of 'if' depends on data: %s (--assume 'if at %u holds', 'fails' or 'both' says "
               "what happens)",
               why ? why : "", line_of(f, where));
    fm_front_note(f, "assumed: %s", stated->text);
    if (stated->outcome == FM_OUTCOME_HOLDS) return work_off_body(f, yes, tail);
    if (stated->outcome == FM_OUTCOME_FAILS)
        return clang_Cursor_isNull(no) ? LEAVES_NOT : work_off_body(f, no, tail);
    state *before = state_copy(f, f->own->now);
    if (work_off_body(f, yes, false) != LEAVES_NOT)
        refuse(f, where, "a branch that leaves cannot be one of both");
    state *after = f->own->now;
    f->own->now = before;
    if (!clang_Cursor_isNull(no) && work_off_body(f, no, false) != LEAVES_NOT)
        refuse(f, where, "a branch that leaves cannot be one of both");
    merge_states(f, where, NULL, after, state_copy(f, f->own->now));
    return LEAVES_NOT;
}

leaving work_off_if(fm_front *f, CXCursor statement, const cursors *list, size_t *next, bool tail)
{
    cursors all = children(f, statement);
    size_t at = 0;
    const char *why = NULL;
    if (all.count > 0 && clang_getCursorKind(all.at[0]) == CXCursor_DeclStmt) work_off(f, all.at[at++]);
    if (all.count - at < 2 || all.count - at > 3 || !clang_isExpression(clang_getCursorKind(all.at[at])))
        refuse(f, statement, "this 'if' is not understood");
    CXCursor yes = all.at[at + 1], no = all.count - at == 3 ? all.at[at + 2] : clang_getNullCursor();
    statement_begin(f, all.at[at]);
    const fm_guard *c = condition_from(f, all.at[at], &why);
    statement_end(f);
    bool inner = tail && (!list || *next >= list->count);
    if (!c) return on_data(f, statement, why, yes, no, inner);
    if (c->kind == FM_GUARD_TRUE) return work_off_body(f, yes, inner);
    if (c->kind == FM_GUARD_FALSE) return clang_Cursor_isNull(no) ? LEAVES_NOT : work_off_body(f, no, inner);
    return both_branches(f, statement, c, yes, no, list, next, tail);
}

/* ---- forks ---- */

static unsigned newest_atom(const fm_form *from);

static unsigned newest_of_atom(const fm_atom *a)
{
    if (a->kind == FM_ATOM_LOOP || a->kind == FM_ATOM_ENTRY) return a->number + 1;
    unsigned left = a->left ? newest_atom(a->left) : 0, right = a->right ? newest_atom(a->right) : 0;
    return left > right ? left : right;
}

static unsigned newest_atom(const fm_form *from)
{
    unsigned most = 0;
    for (size_t i = 0; i < from->count; i++)
        for (unsigned k = 0; k < from->terms[i].product->degree; k++) {
            unsigned one = newest_of_atom(from->terms[i].product->atoms[k]);
            if (one > most) most = one;
        }
    return most;
}

static unsigned newest_in(const fm_guard *c)
{
    if (c->form) return newest_atom(c->form);
    if (!c->left) return 0;
    unsigned left = newest_in(c->left), right = newest_in(c->right);
    return left > right ? left : right;
}

void fork_at(fm_front *f, CXCursor where, CXCursor cursor, const fm_guard *c)
{
    if (!f->own->fork_out || newest_in(c) > f->own->fork_atoms)
        refuse(f, where, "'%s' has two values here, and they are no minimum or maximum",
               source_text(f, where));
    f->own->fork = cursor;
    f->own->fork_condition = c;
    longjmp(*f->own->fork_out, 1);
}

/* What is changed while a statement is worked off, so that it can begin anew. */
typedef struct bookmark {
    state *now;
    fm_front_list list, *list_at;
    fm_front_node *statement, **list_end;
    open_loop *loop, loop_was;
    frame *frame;
    choice *choices;
    unsigned quiet, nowhere, expression_depth, fork_atoms;
    jmp_buf *fork_out;
} bookmark;

static leaving work_off_plain(fm_front *f, CXCursor statement, const cursors *list, size_t *next, bool tail);

/* Is there a ?: in it, or in a function of the source that it calls? */
static bool may_fork(fm_front *f, CXCursor cursor, unsigned depth)
{
    enum CXCursorKind kind = clang_getCursorKind(cursor);
    if (kind == CXCursor_ConditionalOperator) return true;
    if (kind == CXCursor_CallExpr && depth < MOST_INLINE) {
        CXCursor called = clang_getCursorReferenced(cursor);
        if (!clang_Cursor_isNull(called) && own_source(called)) {
            CXCursor body = body_of(f, called);
            if (!clang_Cursor_isNull(body) && may_fork(f, body, depth + 16)) return true;
        }
    }
    cursors all = children(f, cursor);
    for (size_t i = 0; i < all.count; i++)
        if (may_fork(f, all.at[i], depth)) return true;
    return false;
}

leaving work_off_forked(fm_front *f, CXCursor statement, const cursors *list, size_t *next, bool tail)
{
    jmp_buf out;
    if (!may_fork(f, statement, 0)) {
        jmp_buf *outer = f->own->fork_out;
        f->own->fork_out = NULL;
        leaving leaves = work_off_plain(f, statement, list, next, tail);
        f->own->fork_out = outer;
        return leaves;
    }
    bookmark *kept = fm_front_allocate(f, 1, sizeof *kept);
    *kept = (bookmark){.now = f->own->now,
                       .list_at = f->list,
                       .list_end = f->list->end,
                       .statement = f->statement,
                       .loop = f->own->loop,
                       .frame = f->own->frame,
                       .choices = f->own->choices,
                       .quiet = f->own->quiet,
                       .nowhere = f->nowhere,
                       .expression_depth = f->own->expression_depth,
                       .fork_atoms = f->own->fork_atoms,
                       .fork_out = f->own->fork_out};
    if (f->own->loop) kept->loop_was = *f->own->loop;
    state *before = state_copy(f, f->own->now);
    if (setjmp(out) == 0) {
        f->own->fork_out = &out;
        f->own->fork_atoms = f->atom_count;
        leaving leaves = work_off_plain(f, statement, list, next, tail);
        f->own->fork_out = kept->fork_out;
        f->own->fork_atoms = kept->fork_atoms;
        return leaves;
    }
    /* Once more, for each case of the condition. */
    f->list = kept->list_at;
    f->list->end = kept->list_end;
    *f->list->end = NULL;
    f->statement = kept->statement;
    f->own->loop = kept->loop;
    if (f->own->loop) *f->own->loop = kept->loop_was;
    f->own->frame = kept->frame;
    f->own->quiet = kept->quiet;
    f->nowhere = kept->nowhere;
    f->own->expression_depth = kept->expression_depth;
    f->own->fork_out = kept->fork_out;
    f->own->fork_atoms = kept->fork_atoms;
    f->own->now = before;
    fm_front_node *made = front_node(f, FM_FRONT_IF, statement);
    const fm_guard *c = made->condition = f->own->fork_condition;
    choice *one = fm_front_allocate(f, 2, sizeof *one);
    one[0] = (choice){kept->choices, f->own->fork, c, true};
    one[1] = (choice){kept->choices, f->own->fork, c, false};
    branch holds = {.statement = statement, .holds = true, .list = &made->body};
    branch fails = {.statement = statement, .list = &made->otherwise};
    cursors alone = {0};
    f->own->choices = &one[0];
    branch_run(f, &holds, false, &alone);
    f->own->choices = &one[1];
    branch_run(f, &fails, false, &alone);
    f->own->choices = kept->choices;
    leaving leaves = branches_join(f, statement, c, &holds, &fails, list, next, tail);
    if (made->body.first || made->otherwise.first) fm_front_append(f->list, made);
    return leaves;
}

static leaving work_off_plain(fm_front *f, CXCursor statement, const cursors *list, size_t *next, bool tail)
{
    if (clang_getCursorKind(statement) == CXCursor_IfStmt) return work_off_if(f, statement, list, next, tail);
    return work_off(f, statement);
}

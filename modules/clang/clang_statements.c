/* SPDX-License-Identifier: Apache-2.0 */
/*
 * clang_statements.c - statements one after the other, declarations, and the statement of the region (`do`)
 * that an expression becomes. Also what stands before #pragma scop: followed as far as it can be, else
 * forgotten.
 */
#include "clang_maker.h"

#include <inttypes.h>
#include <string.h>

/* list, *next: what stands behind it; *next goes on where that was worked off with it. */
static leaving work_off_if(fm_front *f, CXCursor statement, const cursors *list, size_t *next, bool tail);
static leaving work_off_forked(fm_front *f, CXCursor statement, const cursors *list, size_t *next, bool tail);

/* ---- the region's statements ---- */

fm_front_node *front_node(fm_front *f, fm_front_node_kind kind, CXCursor where)
{
    const fm_front_place at = place_of(f, where);
    return fm_front_node_new(f, kind, &at);
}

void statement_begin(fm_front *f, CXCursor where)
{
    f->statement = front_node(f, FM_FRONT_STATEMENT, where);
}

void statement_end(fm_front *f)
{
    fm_front_node *made = f->statement;
    f->statement = NULL;
    if (made && !f->nowhere && (made->kept || fm_front_statement_counts(made)))
        fm_front_append(f->list, made);
}

fm_region_operations *operations_of(fm_front *f)
{
    return f->statement ? &f->statement->operations : NULL;
}

void access_add(fm_front *f, CXCursor where, const location *at, bool is_store)
{
    if (f->nowhere) return;
    if (!f->statement) {
        statement_begin(f, where);
        access_add(f, where, at, is_store);
        statement_end(f);
        return;
    }
    fm_front_touch *made = fm_front_touch_new(f, f->statement, is_store, at->array, at->subscripts);
    made->offset = at->offset;
    made->bytes = bytes_of(f, where, at->shape.element);
    if (made->offset + made->bytes > at->array->bytes && !at->array->units)
        refuse(f, where, "'%s' touches %" PRIu64 " bytes of an element of '%s', which has %" PRIu64,
               source_text(f, where), made->offset + made->bytes, at->array->name, at->array->bytes);
    made->place = place_of(f, where);
    made->text = source_text(f, where);
}

/* ---- declarations ---- */

/* double a[3] = {1, 2, 3}: the values one after the other, and zeros in the rest. */
static void fill_array(fm_front *f, CXCursor where, const location *from, CXCursor list)
{
    cursors all = children(f, list);
    const fm_form *extent = from->shape.extents[0];
    int64_t count;
    if (!extent || !fm_form_is_number(extent, &count))
        refuse(f, where, "an array whose extent is not a number has a list of values");
    location row = *from;
    for (unsigned i = 1; i < from->shape.rank; i++) row.shape.extents[i - 1] = from->shape.extents[i];
    row.shape.rank--;
    for (size_t i = 0; i < all.count && (int64_t)i < count; i++) {
        location here = step(f, where, &row, fm_form_number(f, (int64_t)i));
        if (here.shape.rank > 0) {
            fill_array(f, where, &here, all.at[i]);
        } else {
            value v = evaluate(f, all.at[i]);
            store(f, where, &here, v);
        }
    }
    if ((int64_t)all.count >= count) return;
    statement_end(f);
    fm_front_list *outside = f->list;
    fm_front_node *loops[MOST_RANK];
    location here = row;
    unsigned depth = 0;
    for (;;) { /* the rest: a loop for each dimension */
        fm_front_node *loop = loops[depth++] = front_node(f, FM_FRONT_LOOP, where);
        loop->variable = fm_atom_new(f, FM_ATOM_LOOP, "zero");
        loop->first = fm_form_number(f, depth == 1 ? (int64_t)all.count : 0);
        loop->last = fm_form_subtract(f, extent, fm_form_number(f, 1));
        loop->step = 1;
        here = step(f, where, &here, fm_form_atom(f, loop->variable));
        if (here.shape.rank == 0) break;
        extent = here.shape.extents[0];
        for (unsigned i = 1; i < here.shape.rank; i++) here.shape.extents[i - 1] = here.shape.extents[i];
        here.shape.rank--;
    }
    f->list = &loops[depth - 1]->body;
    statement_begin(f, where);
    access_add(f, where, &here, true);
    statement_end(f);
    f->list = outside;
    while (depth-- > 0) {
        if (f->nowhere || !loops[depth]->body.first) continue;
        fm_front_append(depth > 0 ? &loops[depth - 1]->body : f->list, loops[depth]);
    }
    statement_begin(f, where);
}

static void declare_array(fm_front *f, CXCursor declaration, variable *v, CXCursor first)
{
    shape of = shape_of(f, declaration, v->type, declaration);
    if (!v->memory) v->memory = array_new(f, declaration, v->name, &of, false);
    value made = {.kind = VALUE_LOCATION, .at = array_begin(f, v->memory, &of)};
    variable_set(f, v, made);
    if (clang_Cursor_isNull(first)) return;
    CXCursor list = bare(f, first);
    if (clang_getCursorKind(list) == CXCursor_CallExpr && children(f, list).count == 0)
        return; /* no values */
    if (clang_getCursorKind(list) != CXCursor_InitListExpr)
        refuse(f, declaration, "the first values of '%s' are not understood", v->name);
    cursors inner = children(f, list);
    if (standard_template(f, v->type) && inner.count == 1 &&
        clang_getCursorKind(inner.at[0]) == CXCursor_InitListExpr)
        list = inner.at[0];
    fill_array(f, declaration, &made.at, list);
}

static void declare_struct(fm_front *f, CXCursor declaration, variable *v, CXCursor first)
{
    value object = {.kind = VALUE_LOCATION, .at = {.variable = v, .shape = {.element = v->type}}};
    variable_set(f, v, object);
    if (clang_Cursor_isNull(first)) return;
    CXCursor from = bare(f, first);
    if (clang_getCursorKind(from) == CXCursor_CallExpr && children(f, from).count > 0 &&
        clang_getCursorKind(bare(f, children(f, from).at[0])) == CXCursor_LambdaExpr)
        from = bare(f, children(f, from).at[0]);
    if (clang_getCursorKind(from) == CXCursor_CallExpr) {
        construct(f, declaration, &object.at, from);
        return;
    }
    if (clang_getCursorKind(from) == CXCursor_LambdaExpr)
        refuse(f, declaration, "a lambda is not followed: write the loop where it is used");
    if (clang_getCursorKind(from) != CXCursor_InitListExpr)
        refuse(f, declaration, "the first value of '%s' is not understood", v->name);
    cursors values = children(f, from), fields = fields_of(f, v->type);
    for (size_t i = 0; i < values.count && i < fields.count; i++) {
        CXCursor one = values.at[i];
        if (clang_getCursorKind(one) == CXCursor_UnexposedExpr &&
            children(f, one).count == 2) /* .name = value */
            refuse(f, declaration, "values with the names of their members are not understood");
        location at = member(f, declaration, &object.at, fields.at[i]);
        if (classify(clang_getCursorType(fields.at[i])) == TYPE_REFERENCE && at.variable) {
            declare_reference(f, at.variable, one);
            continue;
        }
        value to = evaluate(f, one);
        store(f, declaration, &at, to);
    }
}

void declare_reference(fm_front *f, variable *v, CXCursor first)
{
    CXCursor from = bare(f, first);
    enum CXCursorKind kind = clang_getCursorKind(from);
    bool designates = kind == CXCursor_DeclRefExpr || kind == CXCursor_MemberRefExpr ||
                      kind == CXCursor_ArraySubscriptExpr || kind == CXCursor_CallExpr ||
                      kind == CXCursor_UnaryOperator;
    value made = {0};
    location at = {0};
    if (kind == CXCursor_CallExpr) {
        made = call(f, from, &at);
    } else if (designates) {
        at = locate(f, from);
    } else {
        made = evaluate(f, from);
    }
    if (at.variable) {
        value now = variable_value(f, at.variable);
        if (now.kind == VALUE_POINTER && standard_template(f, at.variable->type)) {
            variable_set(f, v, now);
            return;
        }
    }
    if (at.variable || at.array) made = (value){.kind = VALUE_LOCATION, .at = at};
    variable_set(f, v, made);
}

void declare(fm_front *f, CXCursor declaration)
{
    variable *v = variable_of(f, declaration, declaration);
    CXCursor first = clang_Cursor_getVarDeclInitializer(declaration);
    bool begins = !clang_Cursor_isNull(first);
    const char *kind = standard_template(f, v->type);
    switch (classify(v->type)) {
    case TYPE_ARRAY:
        declare_array(f, declaration, v, first);
        return;
    case TYPE_RECORD:
        if (kind && strcmp(kind, "array") == 0)
            declare_array(f, declaration, v, first);
        else if (kind)
            declare_container(f, declaration, v, kind, first);
        else
            declare_struct(f, declaration, v, first);
        return;
    case TYPE_REFERENCE:
        if (!begins) refuse(f, declaration, "the reference '%s' refers to nothing", v->name);
        declare_reference(f, v, first);
        return;
    default:
        break;
    }
    if (!begins) {
        if (v->initial.kind != VALUE_INTEGER)
            variable_set(f, v, (value){.kind = VALUE_NOTHING, .why = "which has no value yet"});
        return;
    }
    if (is_allocation(f, first)) {
        variable_set(f, v, allocation(f, declaration, first, v->type, v->name));
        return;
    }
    uint64_t integers = operations_of(f) ? operations_of(f)->integers : 0;
    value to = evaluate(f, first);
    if (to.kind == VALUE_INTEGER && operations_of(f)) operations_of(f)->integers = integers;
    if (classify(v->type) == TYPE_POINTER && to.kind == VALUE_POINTER && to.at.shape.rank == 0 &&
        classify(pointee(v->type)) == TYPE_ARRAY)
        to.at.shape = shape_behind(f, declaration, v->type, declaration);
    location at = register_of(v);
    store(f, declaration, &at, to);
}

/* ---- before the region ---- */

static void forget_changes(fm_front *f, CXCursor statement)
{
    variable_set_of set = {0};
    if (clang_getCursorKind(statement) == CXCursor_VarDecl)
        variable_set_add(f, &set, variable_of(f, statement, statement));
    changed_by(f, statement, &set);
    for (size_t i = 0; i < set.count; i++) {
        type_class class = classify(set.at[i]->type);
        if (class != TYPE_FLOAT && class != TYPE_OTHER)
            variable_set(f, set.at[i], outside_value(f, statement, set.at[i]));
    }
}

/* A statement, or one variable of a declaration. */
static void work_off_before(fm_front *f, CXCursor statement)
{
    jmp_buf out;
    frame *const at = f->own->frame;
    open_loop *const loop = f->own->loop;
    fm_front_list *const list = f->list;
    const unsigned quiet = f->own->quiet, nowhere = f->nowhere;
    state *const before = state_copy(f, f->own->now);
    volatile bool fine = false;
    if (clang_getCursorKind(statement) == CXCursor_DeclStmt) {
        cursors all = children(f, statement);
        for (size_t i = 0; i < all.count; i++)
            if (clang_getCursorKind(all.at[i]) == CXCursor_VarDecl) work_off_before(f, all.at[i]);
        return;
    }
    memcpy(&out, &f->own->out, sizeof out);
    f->nowhere++;
    if (setjmp(f->own->out) == 0) {
        if (clang_getCursorKind(statement) == CXCursor_VarDecl)
            declare(f, statement);
        else
            work_off(f, statement);
        fine = true;
    }
    memcpy(&f->own->out, &out, sizeof out);
    f->nowhere = nowhere;
    f->own->quiet = quiet;
    f->own->expression_depth = 0; /* a statement before the region */
    f->own->frame = at;
    f->own->loop = loop;
    f->list = list;
    f->statement = NULL;
    f->own->fork_out = NULL;
    if (fine) return;
    if (f->own->status == FM_E_NOMEM || f->own->status == FM_E_LIMIT) longjmp(f->own->out, 1);
    f->own->status = FM_OK;
    f->own->now = before;
    forget_changes(f, statement);
}

/* ---- one after the other ---- */

static leaving one_statement(fm_front *f, const cursors *list, size_t at, bool tail, size_t *next)
{
    CXCursor statement = list->at[at];
    source_file *file;
    size_t begin, end;
    if (f->own->scop_end && extent(f, statement, &file, &begin, &end) && file == f->own->region_file &&
        !f->own->frame->parent) {
        if (begin >= f->own->scop_end) {
            *next = list->count;
            return LEAVES_NOT;
        }
        if (end <= f->own->scop_begin) {
            work_off_before(f, statement);
            return LEAVES_NOT;
        }
        if (begin < f->own->scop_begin && clang_getCursorKind(statement) != CXCursor_CompoundStmt)
            refuse(f, statement, "#pragma scop is inside this statement: put it around the whole of it");
        if (begin >= f->own->scop_begin && end > f->own->scop_end)
            refuse(f, statement, "#pragma endscop is inside this statement: put it behind it");
    }
    enum CXCursorKind kind = clang_getCursorKind(statement);
    if (kind == CXCursor_CompoundStmt) return work_off_body(f, statement, tail && at + 1 == list->count);
    return work_off_forked(f, statement, list, next, tail);
}

static leaving work_off_list(fm_front *f, const cursors *list, size_t from, bool tail)
{
    for (size_t at = from; at < list->count;) {
        size_t next = at + 1;
        leaving leaves = one_statement(f, list, at, tail, &next);
        if (leaves != LEAVES_NOT) return leaves;
        at = next;
    }
    return LEAVES_NOT;
}

leaving work_off_body(fm_front *f, CXCursor statement, bool tail)
{
    cursors list = {1, &statement};
    if (clang_getCursorKind(statement) == CXCursor_CompoundStmt) list = children(f, statement);
    return work_off_list(f, &list, 0, tail);
}

static leaving work_off_return(fm_front *f, CXCursor statement)
{
    cursors all = children(f, statement);
    if (f->own->loop && f->own->loop->frame == f->own->frame)
        refuse(f, statement, "a return inside a loop is not expressible");
    if (all.count == 0) return LEAVES_RETURN;
    statement_begin(f, statement);
    if (classify(clang_getCursorResultType(f->own->frame->function)) == TYPE_REFERENCE)
        f->own->frame->result = (value){.kind = VALUE_LOCATION, .at = locate(f, all.at[0])};
    else
        f->own->frame->result = evaluate(f, all.at[0]);
    f->own->frame->returns = true;
    statement_end(f);
    return LEAVES_RETURN;
}

leaving work_off(fm_front *f, CXCursor statement)
{
    cursors all;
    size_t ignored = 0;
    enum CXCursorKind kind = clang_getCursorKind(statement);
    switch (kind) {
    case CXCursor_CompoundStmt:
        return work_off_body(f, statement, true);
    case CXCursor_NullStmt:
        return LEAVES_NOT;
    case CXCursor_DeclStmt:
        all = children(f, statement);
        for (size_t i = 0; i < all.count; i++) {
            if (clang_getCursorKind(all.at[i]) != CXCursor_VarDecl) continue;
            statement_begin(f, all.at[i]);
            declare(f, all.at[i]);
            statement_end(f);
        }
        return LEAVES_NOT;
    case CXCursor_ForStmt:
        work_off_for(f, statement);
        return LEAVES_NOT;
    case CXCursor_WhileStmt:
        work_off_while(f, statement);
        return LEAVES_NOT;
    case CXCursor_DoStmt:
        work_off_do(f, statement);
        return LEAVES_NOT;
    case CXCursor_CXXForRangeStmt:
        work_off_range_for(f, statement);
        return LEAVES_NOT;
    case CXCursor_IfStmt:
        return work_off_if(f, statement, NULL, &ignored, true);
    case CXCursor_ReturnStmt:
        return work_off_return(f, statement);
    case CXCursor_ContinueStmt:
        return LEAVES_CONTINUE;
    case CXCursor_BreakStmt:
        return LEAVES_BREAK;
    case CXCursor_SwitchStmt:
        refuse(f, statement, "a switch is not expressible: write it with if");
    case CXCursor_GotoStmt:
    case CXCursor_IndirectGotoStmt:
    case CXCursor_LabelStmt:
        refuse(f, statement, "a goto or a label is not expressible");
    case CXCursor_GCCAsmStmt:
    case CXCursor_MSAsmStmt:
        refuse(f, statement, "assembler is not understood");
    case CXCursor_CXXTryStmt:
        refuse(f, statement, "exceptions are not expressible");
    default:
        break;
    }
    /* libclang 14 shows statements with attributes (#pragma unroll, [[likely]]) and OpenMP's as such. */
    if (!clang_isExpression(kind)) {
        all = children(f, statement);
        for (size_t i = all.count; i > 0; i--) {
            enum CXCursorKind inner = clang_getCursorKind(all.at[i - 1]);
            if (clang_isStatement(inner)) return work_off(f, all.at[i - 1]);
        }
        refuse(f, statement, "this statement is not understood");
    }
    statement_begin(f, statement);
    evaluate(f, statement);
    statement_end(f);
    return LEAVES_NOT;
}

/*
 * If, and statements that are worked off once for each case of a condition (forks). What variables are
 * worth behind a branch: the same, a minimum or maximum of both, or - where what follows needs to know -
 * what follows is worked off in both branches.
 */

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

static void merge_states(fm_front *f, CXCursor where, const fm_guard *c, const state *yes, const state *no)
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

static leaving work_off_if(fm_front *f, CXCursor statement, const cursors *list, size_t *next, bool tail)
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

static leaving work_off_forked(fm_front *f, CXCursor statement, const cursors *list, size_t *next, bool tail)
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

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * clang_calls.c - calls. Functions of the source are worked off where they are called; those of the
 * mathematical library count as special operations; memory that is allocated is an array of its own. All
 * others are refused.
 */
#include "clang_maker.h"

#include <string.h>

static bool standard_call(fm_front *f, CXCursor expression, CXCursor function, value *result,
                          location *reference);

/* ---- functions of the source ---- */

typedef struct argument {
    CXCursor cursor;
    value value;
    location at; /* by reference */
    bool by_reference;
} argument;

static bool argument_designates(fm_front *f, CXCursor expression)
{
    enum CXCursorKind kind = clang_getCursorKind(bare(f, expression));
    return kind == CXCursor_DeclRefExpr || kind == CXCursor_MemberRefExpr ||
           kind == CXCursor_ArraySubscriptExpr || kind == CXCursor_UnaryOperator ||
           kind == CXCursor_CallExpr || kind == CXCursor_CXXThisExpr;
}

static argument argument_of(fm_front *f, CXCursor cursor, CXType type)
{
    argument made = {.cursor = cursor};
    type_class class = classify(type);
    bool object = class == TYPE_RECORD && argument_designates(f, cursor);
    if ((class == TYPE_REFERENCE && argument_designates(f, cursor)) || object) {
        made.by_reference = true;
        made.at = locate(f, bare(f, cursor));
    } else {
        uint64_t integers = operations_of(f) ? operations_of(f)->integers : 0;
        made.value = evaluate(f, cursor);
        /* A number that stays a formula computes subscripts and bounds. */
        if (made.value.kind == VALUE_INTEGER && operations_of(f)) operations_of(f)->integers = integers;
    }
    return made;
}

static void bind_argument(fm_front *f, CXCursor declaration, const argument *a)
{
    variable *v = variable_of(f, declaration, declaration);
    value to = a->value;
    if (a->by_reference) {
        to = (value){.kind = VALUE_LOCATION, .at = a->at};
        if (a->at.variable) {
            value now = variable_value(f, a->at.variable);
            if (now.kind == VALUE_POINTER && standard_template(f, a->at.variable->type)) to = now;
        }
        variable_set(f, v, to);
        return;
    }
    switch (classify(v->type)) {
    case TYPE_ARRAY:
    case TYPE_POINTER:
        if (to.kind == VALUE_POINTER && classify(v->type) == TYPE_ARRAY) {
            shape of = shape_of(f, declaration, v->type, declaration);
            for (unsigned i = 1; i < of.rank; i++) of.extents[i - 1] = of.extents[i];
            of.rank--;
            to.at.shape = of;
        } else if (to.kind == VALUE_POINTER && classify(pointee(v->type)) != TYPE_VOID) {
            to.at.shape = shape_behind(f, declaration, v->type, declaration);
        }
        variable_set(f, v, to);
        break;
    case TYPE_REFERENCE: /* to something that is computed */
        variable_set(f, v, to);
        break;
    case TYPE_RECORD:
        refuse(f, a->cursor, "'%s' hands over a whole object", source_text(f, a->cursor));
    default: {
        location at = register_of(v);
        store(f, a->cursor, &at, to);
    }
    }
}

/* The expression of a function that only returns one; null cursor: it does more. */
static CXCursor returned_only(fm_front *f, CXCursor body)
{
    CXCursor only = only_child(f, body);
    if (clang_Cursor_isNull(only) || clang_getCursorKind(only) != CXCursor_ReturnStmt)
        return clang_getNullCursor();
    return only_child(f, only);
}

static void initialise_members(fm_front *f, CXCursor constructor)
{
    cursors all = children(f, constructor);
    for (size_t i = 0; i + 1 < all.count; i++) {
        if (clang_getCursorKind(all.at[i]) != CXCursor_MemberRef) continue;
        CXCursor field = clang_getCursorReferenced(all.at[i]), first = all.at[i + 1];
        location at = member(f, all.at[i], &f->own->frame->self, field);
        const char *kind = standard_template(f, clang_getCursorType(field));
        if (classify(clang_getCursorType(field)) == TYPE_REFERENCE && at.variable) {
            declare_reference(f, at.variable, first);
        } else if (kind && at.variable) {
            declare_container(f, field, at.variable, kind, first);
        } else if (is_allocation(f, first) && at.variable) {
            variable_set(f, at.variable, allocation(f, first, first, at.variable->type, at.variable->name));
        } else {
            value to = evaluate(f, first);
            store(f, all.at[i], &at, to);
        }
    }
}

static frame *frame_of(fm_front *f, CXCursor expression, CXCursor function, const location *self)
{
    frame *made = fm_front_allocate(f, 1, sizeof *made);
    made->parent = f->own->frame;
    made->function = function;
    made->depth = f->own->frame->depth + 1;
    for (const frame *outer = f->own->frame; outer; outer = outer->parent)
        if (same(clang_getCanonicalCursor(outer->function), clang_getCanonicalCursor(function)))
            refuse(f, expression, "'%s' calls itself: recursion is not expressible", spelling(f, function));
    if (++f->own->call_count > MOST_CALLS)
        give_up(f, FM_E_LIMIT, "more than %d calls would have to be inlined", MOST_CALLS);
    if (made->depth >= MOST_INLINE) refuse(f, expression, "calls are nested more than %d deep", MOST_INLINE);
    if (self) {
        made->has_self = true;
        made->self = *self;
    }
    return made;
}

static value call_inlined(fm_front *f, CXCursor expression, CXCursor function, const cursors *arguments,
                          const location *self, location *reference)
{
    CXCursor definition = clang_getCursorDefinition(function);
    CXCursor body = clang_Cursor_isNull(definition) ? definition : body_of(f, definition);
    if (clang_Cursor_isNull(body))
        refuse(f, expression, "calls '%s', whose source is not here", spelling(f, function));
    frame *made = frame_of(f, expression, definition, self);
    int parameters = clang_Cursor_getNumArguments(definition);
    if (parameters < 0 || clang_isFunctionTypeVariadic(clang_getCursorType(definition)) ||
        (size_t)parameters < arguments->count)
        refuse(f, expression, "calls '%s' with any number of arguments", spelling(f, function));
    argument *values = fm_front_allocate(f, (size_t)parameters, sizeof *values);
    for (size_t i = 0; i < arguments->count; i++)
        values[i] = argument_of(f, arguments->at[i],
                                clang_getCursorType(clang_Cursor_getArgument(definition, (unsigned)i)));
    if (arguments->count < (size_t)parameters)
        refuse(f, expression, "calls '%s' with arguments that are not written", spelling(f, function));
    frame *caller = f->own->frame;
    f->own->frame = made;
    /* Numbers first: extents of arrays may use them. */
    for (unsigned turn = 0; turn < 2; turn++)
        for (int i = 0; i < parameters; i++) {
            CXCursor declaration = clang_Cursor_getArgument(definition, (unsigned)i);
            if ((classify(clang_getCursorType(declaration)) == TYPE_INTEGER) == (turn == 0))
                bind_argument(f, declaration, &values[i]);
        }
    if (clang_getCursorKind(definition) == CXCursor_Constructor) initialise_members(f, definition);
    CXCursor only = returned_only(f, body);
    if (!clang_Cursor_isNull(only)) {
        if (classify(clang_getCursorResultType(definition)) == TYPE_REFERENCE)
            made->result = (value){.kind = VALUE_LOCATION, .at = locate(f, only)};
        else
            made->result = evaluate(f, only);
        made->returns = true;
    } else {
        fm_front_place where = f->statement ? f->statement->place : place_of(f, expression);
        jmp_buf *fork = f->own->fork_out;
        statement_end(f);
        f->own->fork_out = NULL;
        leaving leaves = work_off_body(f, body, true);
        if (leaves == LEAVES_BREAK || leaves == LEAVES_CONTINUE)
            refuse(f, expression, "leaves a loop of its caller");
        f->own->fork_out = fork;
        f->statement = fm_front_node_new(f, FM_FRONT_STATEMENT, &where);
    }
    f->own->frame = caller;
    if (made->returns && made->result.kind == VALUE_LOCATION && reference) *reference = made->result.at;
    if (!made->returns) made->result = data("which has no value");
    return made->result;
}

/* ---- allocated memory ---- */

static CXCursor allocating_call(fm_front *f, CXCursor expression)
{
    CXCursor at = bare(f, expression);
    while (clang_getCursorKind(at) == CXCursor_CStyleCastExpr ||
           clang_getCursorKind(at) == CXCursor_CXXStaticCastExpr ||
           clang_getCursorKind(at) == CXCursor_CXXReinterpretCastExpr) {
        cursors all = children(f, at);
        if (all.count == 0) break;
        at = bare(f, all.at[all.count - 1]);
    }
    return at;
}

static bool is_allocator(fm_front *f, CXCursor cursor, const char **name)
{
    static const char *const names[] = {"malloc", "calloc", "aligned_alloc"};
    if (clang_getCursorKind(cursor) != CXCursor_CallExpr) return false;
    *name = spelling(f, cursor);
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (strcmp(*name, names[i]) == 0) return true;
    return false;
}

bool is_allocation(fm_front *f, CXCursor expression)
{
    const char *name;
    CXCursor at = allocating_call(f, expression);
    return clang_getCursorKind(at) == CXCursor_CXXNewExpr || is_allocator(f, at, &name);
}

/* NULL: it is none that is known */
static const fm_form *try_number(fm_front *f, CXCursor expression)
{
    jmp_buf out;
    memcpy(&out, &f->own->out, sizeof out);
    frame *at = f->own->frame;
    unsigned quiet = f->own->quiet, nowhere = f->nowhere, depth = f->own->expression_depth;
    const fm_form *volatile made = NULL;
    f->own->quiet++;
    f->nowhere++;
    jmp_buf *fork = f->own->fork_out;
    f->own->fork_out = NULL;
    if (setjmp(f->own->out) == 0) {
        value v = evaluate(f, expression);
        if (v.kind == VALUE_INTEGER) made = v.number;
    } else if (f->own->status != FM_E_NOMEM && f->own->status != FM_E_LIMIT) {
        f->own->status = FM_OK;
    }
    memcpy(&f->own->out, &out, sizeof out);
    f->own->fork_out = fork;
    f->own->frame = at;
    f->own->quiet = quiet;
    f->nowhere = nowhere;
    f->own->expression_depth = depth;
    if (f->own->status != FM_OK) longjmp(f->own->out, 1);
    return made;
}

/* How many elements: of malloc(n * sizeof(double)), of new double[n]. NULL: not known. */
static const fm_form *allocated_elements(fm_front *f, CXCursor at, uint64_t bytes)
{
    const char *name;
    if (!is_allocator(f, at, &name)) { /* new */
        cursors all = children(f, at);
        for (size_t i = 0; i < all.count; i++)
            if (clang_isExpression(clang_getCursorKind(all.at[i]))) return try_number(f, all.at[i]);
        return fm_form_number(f, 1);
    }
    bool zeroed = strcmp(name, "calloc") == 0;
    const fm_form *size =
        try_number(f, clang_Cursor_getArgument(at, strcmp(name, "malloc") == 0 || zeroed ? 0 : 1));
    const fm_form *each = zeroed ? try_number(f, clang_Cursor_getArgument(at, 1)) : fm_form_number(f, 1);
    const fm_form *all = size && each ? fm_form_multiply(f, size, each) : NULL;
    return all ? fm_form_exact_quotient(f, all, (int64_t)bytes) : NULL;
}

value allocation(fm_front *f, CXCursor where, CXCursor expression, CXType pointer, const char *name)
{
    CXCursor at = allocating_call(f, expression);
    shape behind = shape_behind(f, where, pointer, where), whole = behind;
    const fm_assumption *rows = fm_assumptions_find(f, FM_ASSUME_MATRIX, 0, name);
    if (classify(behind.element) == TYPE_VOID) refuse(f, where, "what '%s' points to has no size", name);
    if (rows && classify(behind.element) == TYPE_POINTER) {
        CXType element = pointee(behind.element);
        whole =
            (shape){.rank = 2, .extents = {rows->amounts[0].form, rows->amounts[1].form}, .element = element};
        behind = (shape){.rank = 1, .extents = {rows->amounts[1].form}, .element = element};
        fm_front_note(f, "the rows of %s follow each other in memory (%s)", name, rows->text);
    } else {
        if (behind.rank == MOST_RANK) refuse(f, where, "'%s' has too many dimensions", name);
        const fm_form *elements = allocated_elements(f, at, bytes_of(f, where, behind.element));
        const fm_form *inner = elements_of(f, &behind);
        whole.rank++;
        for (unsigned i = 0; i < behind.rank; i++) whole.extents[i + 1] = behind.extents[i];
        whole.extents[0] = elements && inner ? fm_form_exact_term(f, elements, inner) : NULL;
    }
    if (f->own->loop)
        fm_front_note(f, "line %u: allocated in a loop, the same memory every time", line_of(f, where));
    fm_front_array *made = array_new(f, where, name, &whole, false);
    return (value){.kind = VALUE_POINTER, .at = array_begin(f, made, &behind)};
}

/* ---- the mathematical library ---- */

static bool is_mathematical(const char *name)
{
    static const char *const names[] = {
        "sqrt",   "cbrt",     "pow",       "exp",     "exp2",   "expm1",  "log",       "log2",  "log10",
        "log1p",  "sin",      "cos",       "tan",     "asin",   "acos",   "atan",      "atan2", "sinh",
        "cosh",   "tanh",     "asinh",     "acosh",   "atanh",  "hypot",  "fabs",      "fmin",  "fmax",
        "fmod",   "floor",    "ceil",      "round",   "trunc",  "rint",   "fma",       "erf",   "erfc",
        "fdim",   "ldexp",    "lround",    "llround", "lrint",  "llrint", "nearbyint", "abs",   "tgamma",
        "lgamma", "copysign", "remainder", "logb",    "scalbn", "csqrt",  "cexp",      "clog",  "cpow",
        "cabs",   "carg",     "csin",      "ccos",
    };
    if (strncmp(name, "__builtin_", 10) == 0) name += 10;
    size_t length = strlen(name);
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        size_t known = strlen(names[i]);
        if (strncmp(name, names[i], known) == 0 &&
            (length == known || (length == known + 1 && (name[known] == 'f' || name[known] == 'l'))))
            return true;
    }
    return false;
}

static bool mathematical_call(fm_front *f, CXCursor expression, const char *name, value *result)
{
    if (!is_mathematical(name)) return false;
    int count = clang_Cursor_getNumArguments(expression);
    CXType type = clang_getCursorType(expression);
    for (int i = 0; i < count; i++) {
        CXCursor one = clang_Cursor_getArgument(expression, (unsigned)i);
        value v = evaluate(f, one);
        CXType of = clang_getCursorType(one);
        if (classify(of) == TYPE_FLOAT) type = of;
        *result = v;
    }
    bool whole = classify(type) == TYPE_INTEGER;
    count_operation(f, type, 's');
    if (whole && count == 1 && result->kind == VALUE_INTEGER) /* abs(i - j) */
        *result =
            integer(fm_form_extremum(f, FM_ATOM_MAX, result->number, fm_form_scale(f, result->number, -1)));
    else
        *result = data(whole && count == 1 ? result->why : "which a mathematical function computes");
    return true;
}

/* ---- calls ---- */

static bool builtin_call(fm_front *f, CXCursor expression, const char *name, value *result)
{
    const char *why = NULL;
    if (strcmp(name, "__builtin_assume") == 0) { /* assert(n > 0) */
        f->nowhere++;
        const fm_guard *c = condition_from(f, clang_Cursor_getArgument(expression, 0), &why);
        f->nowhere--;
        if (c && !fm_guard_varies(c) && c->kind != FM_GUARD_FALSE) fm_front_assume(f, c);
        *result = data(NULL);
        return true;
    }
    if (strcmp(name, "__builtin_expect") == 0 || strcmp(name, "__builtin_assume_aligned") == 0) {
        *result = evaluate(f, clang_Cursor_getArgument(expression, 0));
        return true;
    }
    if (strcmp(name, "free") == 0) {
        *result = data(NULL);
        return true;
    }
    return false;
}

/* The object of a method, and the arguments. */
static bool object_of(fm_front *f, CXCursor expression, CXCursor function, cursors *arguments, location *self)
{
    cursors all = children(f, expression);
    int count = clang_Cursor_getNumArguments(expression);
    enum CXCursorKind kind = clang_getCursorKind(function);
    arguments->at = fm_front_allocate(f, count > 0 ? (size_t)count : 0, sizeof *arguments->at);
    for (int i = 0; i < count; i++)
        arguments->at[arguments->count++] = clang_Cursor_getArgument(expression, (unsigned)i);
    if (kind != CXCursor_CXXMethod && kind != CXCursor_ConversionFunction) return false;
    if (clang_CXXMethod_isStatic(function)) return false;
    if (strncmp(spelling(f, function), "operator", 8) == 0 && arguments->count > 0 &&
        clang_getCursorKind(all.at[0]) != CXCursor_MemberRefExpr) {
        *self = locate(f, bare(f, arguments->at[0]));
        arguments->at++;
        arguments->count--;
        return true;
    }
    CXCursor callee = all.count ? bare(f, all.at[0]) : clang_getNullCursor();
    CXCursor base = clang_getNullCursor();
    cursors inner = children(f, callee);
    for (size_t i = 0; i < inner.count; i++)
        if (clang_isExpression(clang_getCursorKind(inner.at[i]))) base = inner.at[i];
    if (clang_Cursor_isNull(base)) {
        if (!f->own->frame->has_self)
            refuse(f, expression, "the object of '%s' is not known", source_text(f, expression));
        *self = f->own->frame->self;
    } else if (classify(clang_getCursorType(base)) == TYPE_POINTER) {
        value pointer = evaluate(f, base);
        *self = behind(f, base, &pointer);
    } else {
        *self = locate(f, bare(f, base));
    }
    return true;
}

value call(fm_front *f, CXCursor expression, location *reference)
{
    CXCursor function = clang_getCursorReferenced(expression);
    value result = {0};
    if (clang_Cursor_isNull(function) || !clang_isDeclaration(clang_getCursorKind(function)) ||
        clang_getCursorKind(function) == CXCursor_VarDecl ||
        clang_getCursorKind(function) == CXCursor_ParmDecl)
        refuse(f, expression, "'%s' calls a function that is only known while the program runs",
               source_text(f, expression));
    const char *name = spelling(f, function);
    CXCursor parent = clang_getCursorSemanticParent(function);
    const char *owner = spelling(f, parent);
    if (builtin_call(f, expression, name, &result)) return result;
    if (!own_source(function) || clang_Cursor_isNull(clang_getCursorDefinition(function))) {
        if (standard_call(f, expression, function, &result, reference)) return result;
        if (mathematical_call(f, expression, name, &result)) return result;
    }
    if (clang_getCursorKind(parent) == CXCursor_ClassDecl && owner[0] == '\0')
        refuse(f, expression, "a lambda is not followed: write the loop where it is used");
    if (strncmp(owner, "(lambda", 7) == 0)
        refuse(f, expression, "a lambda is not followed: write the loop where it is used");
    if (clang_getCursorKind(function) == CXCursor_Constructor) {
        cursors all = children(f, expression);
        if (all.count == 1 && clang_isExpression(clang_getCursorKind(all.at[0])))
            return evaluate(f, all.at[0]);
        refuse(f, expression, "'%s' makes an object inside an expression", source_text(f, expression));
    }
    if (!own_source(function)) {
        bool of_class = clang_getCursorKind(function) == CXCursor_CXXMethod;
        refuse(f, expression, "calls '%s%s%s', whose source is not here", of_class ? owner : "",
               of_class ? "::" : "", name);
    }
    cursors arguments = {0};
    location self = {0};
    bool method = object_of(f, expression, function, &arguments, &self);
    return call_inlined(f, expression, function, &arguments, method ? &self : NULL, reference);
}

void construct(fm_front *f, CXCursor where, const location *object, CXCursor expression)
{
    CXCursor constructor = clang_getCursorReferenced(expression);
    cursors arguments = {0};
    int count = clang_Cursor_getNumArguments(expression);
    CXCursor definition = clang_getCursorDefinition(constructor);
    bool written = !clang_Cursor_isNull(definition) && !clang_Cursor_isNull(body_of(f, definition));
    if (!written && count <= 0) return; /* nothing is said about its members */
    if (!written) refuse(f, where, "how '%s' begins is not understood", spelling(f, where));
    arguments.at = fm_front_allocate(f, (size_t)count, sizeof *arguments.at);
    for (int i = 0; i < count; i++)
        arguments.at[arguments.count++] = clang_Cursor_getArgument(expression, (unsigned)i);
    call_inlined(f, where, constructor, &arguments, object, NULL);
}

/*
 * What C++'s library offers and kernels use: std::vector, std::array, std::span, std::min, std::max. A
 * container is a pointer to what it contains, an array of its own.
 */

static bool in_std(fm_front *f, CXCursor function)
{
    for (CXCursor parent = clang_getCursorSemanticParent(function); !clang_Cursor_isNull(parent);
         parent = clang_getCursorSemanticParent(parent)) {
        enum CXCursorKind kind = clang_getCursorKind(parent);
        if (clang_isTranslationUnit(kind)) return false;
        if (kind == CXCursor_Namespace && strcmp(spelling(f, parent), "std") == 0) return true;
    }
    return false;
}

static const fm_form *size_of_contents(fm_front *f, CXCursor where, const location *contents)
{
    fm_front_array *a = contents->array;
    if (!a || a->rank == 0) refuse(f, where, "the size of '%s' is not known", source_text(f, where));
    unsigned dimension = a->rank - 1 - contents->shape.rank - (a->units ? 1 : 0);
    if (dimension != 0) refuse(f, where, "the size of '%s' is not known", source_text(f, where));
    if (!a->extents[0]) a->extents[0] = parameter(f, fm_front_text(f, "%s.size", a->name));
    return a->extents[0];
}

static location container_contents(fm_front *f, CXCursor where, const location *object)
{
    if (object->shape.rank > 0) { /* std::array, an array */
        location made = *object;
        for (unsigned i = 1; i < object->shape.rank; i++)
            made.shape.extents[i - 1] = object->shape.extents[i];
        made.shape.rank--;
        return made;
    }
    if (object->variable) {
        value now = variable_value(f, object->variable);
        if (now.kind == VALUE_POINTER) return now.at;
        if (now.kind == VALUE_LOCATION && now.at.shape.rank > 0) return container_contents(f, where, &now.at);
    }
    refuse(f, where, "what '%s' contains is not known", source_text(f, where));
}

static const fm_form *count_of(fm_front *f, CXCursor where, const location *object)
{
    if (object->shape.rank > 0) {
        if (!object->shape.extents[0])
            refuse(f, where, "the size of '%s' is not known", source_text(f, where));
        return object->shape.extents[0];
    }
    location contents = container_contents(f, where, object);
    return size_of_contents(f, where, &contents);
}

void range_of(fm_front *f, CXCursor range, location *first, const fm_form **count)
{
    location object = locate(f, bare(f, range));
    *count = count_of(f, range, &object);
    *first = container_contents(f, range, &object);
}

void declare_container(fm_front *f, CXCursor declaration, variable *v, const char *kind, CXCursor first)
{
    if (strcmp(kind, "vector") != 0 && strcmp(kind, "valarray") != 0)
        refuse(f, declaration, "'%s' is a std::%s, which is not followed", v->name, kind);
    shape element =
        shape_of(f, declaration, clang_Type_getTemplateArgumentAsType(clang_getCanonicalType(v->type), 0),
                 clang_getNullCursor());
    if (standard_template(f, element.element))
        refuse(f, declaration, "'%s' has rows of their own, which are data: where they are is not known",
               v->name);
    if (element.rank == MOST_RANK) refuse(f, declaration, "'%s' has too many dimensions", v->name);
    shape whole = element;
    whole.rank++;
    whole.extents[0] = NULL;
    for (unsigned i = 0; i < element.rank; i++) whole.extents[i + 1] = element.extents[i];
    if (!clang_Cursor_isNull(first)) {
        CXCursor from = bare(f, first);
        int count = clang_getCursorKind(from) == CXCursor_CallExpr ? clang_Cursor_getNumArguments(from) : -1;
        CXCursor size = count > 0 ? clang_Cursor_getArgument(from, 0) : clang_getNullCursor();
        if (count > 0 && classify(clang_getCursorType(size)) != TYPE_INTEGER)
            refuse(f, declaration, "how '%s' begins is not understood", v->name);
        if (count < 0 && clang_isExpression(clang_getCursorKind(from)) &&
            classify(clang_getCursorType(from)) == TYPE_INTEGER)
            size = from;
        if (!clang_Cursor_isNull(size)) whole.extents[0] = try_number(f, size);
    }
    if (!v->memory) v->memory = array_new(f, declaration, v->name, &whole, false);
    if (!v->memory->extents[0] && whole.extents[0] && !fm_form_varies(whole.extents[0]))
        v->memory->extents[0] = whole.extents[0];
    variable_set(f, v, (value){.kind = VALUE_POINTER, .at = array_begin(f, v->memory, &element)});
}

/* ---- methods ---- */

static location object_in(fm_front *f, CXCursor expression, bool sign)
{
    if (sign) return locate(f, bare(f, clang_Cursor_getArgument(expression, 0)));
    cursors all = children(f, expression), inner = children(f, bare(f, all.at[0]));
    for (size_t i = inner.count; i > 0; i--)
        if (clang_isExpression(clang_getCursorKind(inner.at[i - 1]))) {
            if (classify(clang_getCursorType(inner.at[i - 1])) == TYPE_POINTER) {
                value pointer = evaluate(f, inner.at[i - 1]);
                return behind(f, expression, &pointer);
            }
            return locate(f, bare(f, inner.at[i - 1]));
        }
    if (f->own->frame->has_self) /* a member of this object */
        refuse(f, expression, "'%s' is not understood", source_text(f, expression));
    refuse(f, expression, "the object of '%s' is not known", source_text(f, expression));
}

static bool method_call(fm_front *f, CXCursor expression, CXCursor function, value *result,
                        location *reference)
{
    const char *name = spelling(f, function), *class = spelling(f, clang_getCursorSemanticParent(function));
    if (strcmp(class, "vector") != 0 && strcmp(class, "array") != 0 && strcmp(class, "span") != 0 &&
        strcmp(class, "valarray") != 0)
        return false;
    bool sign = strcmp(name, "operator[]") == 0;
    if (sign || strcmp(name, "at") == 0) {
        location object = object_in(f, expression, sign);
        const fm_form *index =
            number_of(f, clang_Cursor_getArgument(expression, sign ? 1 : 0),
                      fm_front_text(f, "the subscript of '%s'", source_text(f, expression)));
        location first = container_contents(f, expression, &object);
        *reference = step(f, expression, &first, index);
        return true;
    }
    if (strcmp(name, "size") == 0) {
        location object = object_in(f, expression, false);
        *result = integer(count_of(f, expression, &object));
        return true;
    }
    bool front_of = strcmp(name, "front") == 0, back = strcmp(name, "back") == 0;
    bool begin = strcmp(name, "data") == 0 || strcmp(name, "begin") == 0 || strcmp(name, "cbegin") == 0;
    if (front_of || back || begin) {
        location object = object_in(f, expression, false);
        location first = container_contents(f, expression, &object);
        if (back)
            first = step(f, expression, &first,
                         fm_form_subtract(f, count_of(f, expression, &object), fm_form_number(f, 1)));
        if (begin)
            *result = pointer_to(&first);
        else
            *reference = first;
        return true;
    }
    return false;
}

/* ---- functions ---- */

static bool smaller_or_larger(fm_front *f, CXCursor expression, const char *name, value *result)
{
    bool least = strcmp(name, "min") == 0;
    if ((!least && strcmp(name, "max") != 0) || clang_Cursor_getNumArguments(expression) != 2) return false;
    CXCursor left = clang_Cursor_getArgument(expression, 0), right = clang_Cursor_getArgument(expression, 1);
    value l = evaluate(f, left), r = evaluate(f, right);
    if (l.kind == VALUE_INTEGER && r.kind == VALUE_INTEGER) {
        *result = integer(fm_form_extremum(f, least ? FM_ATOM_MIN : FM_ATOM_MAX, l.number, r.number));
        return true;
    }
    count_operation(f, clang_getCursorType(left), '+');
    *result = data("which is the smaller or larger of two numbers that are data");
    return true;
}

static bool swap_call(fm_front *f, CXCursor expression, value *result)
{
    location left = locate(f, bare(f, clang_Cursor_getArgument(expression, 0)));
    location right = locate(f, bare(f, clang_Cursor_getArgument(expression, 1)));
    if (left.variable && right.variable) { /* pointers; containers, which change their contents */
        value one = variable_value(f, left.variable), other = variable_value(f, right.variable);
        if (one.kind == VALUE_POINTER && other.kind == VALUE_POINTER) {
            variable_set(f, left.variable, other);
            variable_set(f, right.variable, one);
            *result = data(NULL);
            return true;
        }
    }
    value l = load(f, expression, &left), r = load(f, expression, &right);
    store(f, expression, &left, r);
    store(f, expression, &right, l);
    *result = data(NULL);
    return true;
}

static bool standard_call(fm_front *f, CXCursor expression, CXCursor function, value *result,
                          location *reference)
{
    const char *name = spelling(f, function);
    if (!in_std(f, function)) return false;
    if (clang_getCursorKind(function) == CXCursor_CXXMethod)
        return method_call(f, expression, function, result, reference);
    if (smaller_or_larger(f, expression, name, result)) return true;
    if (strcmp(name, "swap") == 0 && clang_Cursor_getNumArguments(expression) == 2)
        return swap_call(f, expression, result);
    if ((strcmp(name, "size") == 0 || strcmp(name, "move") == 0) &&
        clang_Cursor_getNumArguments(expression) == 1) {
        CXCursor of = clang_Cursor_getArgument(expression, 0);
        if (name[0] == 'm') {
            *result = evaluate(f, of);
        } else {
            location object = locate(f, bare(f, of));
            *result = integer(count_of(f, expression, &object));
        }
        return true;
    }
    return false;
}

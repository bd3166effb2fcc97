/* SPDX-License-Identifier: Apache-2.0 */
/*
 * clang_places_of.c - what an expression designates: a variable, an element of an array, a member of one. And
 * loads and stores there.
 */
#include "clang_maker.h"

#include <string.h>

location register_of(variable *v)
{
    return (location){.variable = v, .shape = {.element = v->type}};
}

value pointer_to(const location *at)
{
    return (value){.kind = VALUE_POINTER, .at = *at};
}

/* An array is a pointer to its first element. */
static value decayed_array(const location *at)
{
    value made = {.kind = VALUE_POINTER, .at = *at};
    for (unsigned i = 1; i < at->shape.rank; i++) made.at.shape.extents[i - 1] = at->shape.extents[i];
    made.at.shape.rank = at->shape.rank - 1;
    return made;
}

location behind(fm_front *f, CXCursor where, const value *pointer)
{
    if (pointer->kind == VALUE_POINTER) return pointer->at;
    refuse(f, where, "'%s' points to a place that is not known%s%s", source_text(f, where),
           pointer->why ? ": " : "", pointer->why ? pointer->why : "");
}

/* ---- stepping ---- */

/* How many elements of the array one element of the shape is apart from the next; NULL: not known. */
static const fm_form *distance_of(fm_front *f, CXCursor where, const location *at)
{
    uint64_t bytes = bytes_of(f, where, at->shape.element), unit = at->array->bytes;
    const fm_form *elements = elements_of(f, &at->shape);
    if (bytes % unit)
        refuse(f, where, "'%s' walks through '%s' in steps of %llu bytes, but its elements have %llu",
               source_text(f, where), at->array->name, (unsigned long long)bytes, (unsigned long long)unit);
    return elements ? fm_form_scale(f, elements, (int64_t)(bytes / unit)) : NULL;
}

void carry(fm_front *f, const fm_front_array *of, const fm_form **subscripts)
{
    for (unsigned d = of->rank; d-- > 1 && !of->units;) {
        const fm_form *extent = of->extents[d], *rows = fm_form_number(f, 0), *from = subscripts[d];
        if (!extent || (extent->count > 0 && (extent->count > 1 || extent->constant))) return;
        for (size_t i = 0; i <= from->count; i++) {
            const fm_form *one =
                i < from->count ? fm_form_of_term(f, &from->terms[i]) : fm_form_number(f, from->constant);
            const fm_form *part = fm_form_exact_term(f, one, extent);
            if (part) rows = fm_form_add(f, rows, part);
        }
        const fm_form *whole = fm_form_multiply(f, rows, extent);
        if (!whole) return;
        subscripts[d] = fm_form_subtract(f, from, whole);
        subscripts[d - 1] = fm_form_add(f, subscripts[d - 1], rows);
    }
}

location step(fm_front *f, CXCursor where, const location *from, const fm_form *distance)
{
    location made = *from;
    int64_t none;
    if (fm_form_is_number(distance, &none) && none == 0) return made;
    if (!made.array) refuse(f, where, "'%s' steps away from a variable", source_text(f, where));
    if (made.array->rank == 0)
        refuse(f, where, "'%s' steps away from a single number", source_text(f, where));
    const fm_form *apart = distance_of(f, where, from), *stride = fm_form_number(f, 1);
    if (!apart) refuse(f, where, "'%s' needs an extent that is not known", source_text(f, where));
    unsigned expected = made.array->rank - 1 - (made.shape.rank < made.array->rank ? made.shape.rank : 0);
    const fm_form *found = NULL;
    unsigned dimension = 0;
    for (unsigned d = made.array->rank; d-- > 0;) {
        if (fm_form_equal(stride, apart) && (!found || d == expected)) {
            found = stride;
            dimension = d;
        }
        if (d > 0)
            stride = made.array->extents[d] ? fm_form_multiply(f, stride, made.array->extents[d]) : NULL;
        if (!stride) break;
    }
    if (found) {
        made.subscripts[dimension] = fm_form_add(f, made.subscripts[dimension], distance);
        return made;
    }
    const fm_form *far = fm_form_multiply(f, apart, distance);
    if (!far) refuse(f, where, "the subscript of '%s' is not affine", source_text(f, where));
    unsigned last = made.array->rank - 1;
    made.subscripts[last] = fm_form_add(f, made.subscripts[last], far);
    return made;
}

/* ---- members ---- */

static bool at_the_beginning(const location *at)
{
    int64_t number;
    for (unsigned i = 0; i < at->array->rank; i++)
        if (!fm_form_is_number(at->subscripts[i], &number) || number != 0) return false;
    return true;
}

location member(fm_front *f, CXCursor where, const location *of, CXCursor field)
{
    CXType type = clang_getCursorType(field);
    type_class class = classify(type);
    if (clang_Cursor_isBitField(field)) refuse(f, where, "'%s' is a bit field", source_text(f, where));
    if (of->variable) {
        variable *v = member_variable(f, where, of->variable, NULL, field);
        value now = variable_value(f, v);
        return now.kind == VALUE_LOCATION ? now.at : register_of(v);
    }
    /* Of the one struct that a pointer or a reference refers to: numbers of loops, pointers, containers. */
    bool single = of->array->pointer && at_the_beginning(of);
    bool data_only = class == TYPE_FLOAT || (class == TYPE_RECORD && !standard_template(f, type));
    if (single && !data_only) {
        variable *v = member_variable(f, where, NULL, of->array, field);
        value now = variable_value(f, v);
        return now.kind == VALUE_LOCATION ? now.at : register_of(v);
    }
    if (class == TYPE_POINTER || class == TYPE_REFERENCE)
        refuse(f, where, "'%s' is a pointer in an array: where it points to is data", source_text(f, where));
    long long bits = clang_Cursor_getOffsetOfField(field);
    if (bits < 0 || bits % 8 ||
        !same(clang_getCursorSemanticParent(field), clang_getTypeDeclaration(of->shape.element)))
        refuse(f, where, "where the member '%s' is in its struct is not known", spelling(f, field));
    location made = *of;
    made.shape = shape_of(f, where, type, field);
    made.offset += (uint64_t)bits / 8;
    if (made.array->units) {
        unsigned last = made.array->rank - 1;
        uint64_t units = made.offset / made.array->bytes;
        made.subscripts[last] = fm_form_add(f, made.subscripts[last], fm_form_number(f, (int64_t)units));
        made.offset %= made.array->bytes;
    } else if (made.shape.rank > 0) {
        refuse(f, where, "'%s' is an array inside a struct whose size is not known", source_text(f, where));
    }
    return made;
}

static location locate_member(fm_front *f, CXCursor expression)
{
    CXCursor field = clang_getCursorReferenced(expression);
    enum CXCursorKind kind = clang_getCursorKind(field);
    cursors all = children(f, expression);
    if (kind == CXCursor_VarDecl) return locate(f, all.count ? all.at[0] : expression); /* static member */
    if (kind != CXCursor_FieldDecl)
        refuse(f, expression, "'%s' is no member that holds data", source_text(f, expression));
    CXCursor base = clang_getNullCursor();
    for (size_t i = 0; i < all.count; i++)
        if (clang_isExpression(clang_getCursorKind(all.at[i]))) base = all.at[i];
    location object;
    if (clang_Cursor_isNull(base)) { /* this-> is not written */
        if (!f->own->frame->has_self)
            refuse(f, expression, "the object of '%s' is not known", source_text(f, expression));
        object = f->own->frame->self;
    } else if (classify(clang_getCursorType(base)) == TYPE_POINTER) {
        value pointer = evaluate(f, base);
        object = behind(f, base, &pointer);
    } else {
        object = locate(f, base);
    }
    return member(f, expression, &object, field);
}

/* ---- subscripts ---- */

static location locate_element(fm_front *f, CXCursor expression)
{
    cursors all = children(f, expression);
    if (all.count != 2) refuse(f, expression, "'%s' is not understood", source_text(f, expression));
    bool turned = classify(clang_getCursorType(all.at[0])) == TYPE_INTEGER; /* 3[a] */
    value base = evaluate(f, all.at[turned ? 1 : 0]);
    const fm_form *index = number_of(f, all.at[turned ? 0 : 1],
                                     fm_front_text(f, "the subscript of '%s'", source_text(f, expression)));
    location first = behind(f, all.at[turned ? 1 : 0], &base);
    return step(f, expression, &first, index);
}

static location locate_variable(fm_front *f, CXCursor expression)
{
    CXCursor declaration = clang_getCursorReferenced(expression);
    enum CXCursorKind kind = clang_getCursorKind(declaration);
    if (kind != CXCursor_VarDecl && kind != CXCursor_ParmDecl)
        refuse(f, expression, "'%s' is not understood", source_text(f, expression));
    variable *v = variable_of(f, expression, declaration);
    value now = variable_value(f, v);
    return now.kind == VALUE_LOCATION ? now.at : register_of(v);
}

location locate(fm_front *f, CXCursor expression)
{
    cursors all;
    switch (clang_getCursorKind(expression)) {
    case CXCursor_ParenExpr:
    case CXCursor_UnexposedExpr:
    case CXCursor_CStyleCastExpr:
    case CXCursor_CXXStaticCastExpr:
    case CXCursor_CXXConstCastExpr:
    case CXCursor_CXXFunctionalCastExpr:
        all = children(f, expression);
        for (size_t i = all.count; i > 0; i--)
            if (clang_isExpression(clang_getCursorKind(all.at[i - 1]))) return locate(f, all.at[i - 1]);
        break;
    case CXCursor_DeclRefExpr:
        all = children(f, expression);
        if (all.count == 1 && clang_isExpression(clang_getCursorKind(all.at[0]))) return locate(f, all.at[0]);
        return locate_variable(f, expression);
    case CXCursor_MemberRefExpr:
        return locate_member(f, expression);
    case CXCursor_ArraySubscriptExpr:
        return locate_element(f, expression);
    case CXCursor_UnaryOperator:
        all = children(f, expression);
        if (all.count == 1 && strcmp(operator_before(f, expression, all.at[0]), "*") == 0) {
            value pointer = evaluate(f, all.at[0]);
            return behind(f, all.at[0], &pointer);
        }
        if (all.count == 1 && (strcmp(operator_before(f, expression, all.at[0]), "++") == 0 ||
                               strcmp(operator_before(f, expression, all.at[0]), "--") == 0)) {
            evaluate(f, expression);
            return locate(f, all.at[0]);
        }
        break;
    case CXCursor_BinaryOperator:
    case CXCursor_CompoundAssignOperator: /* C++: (a = b) designates a */
        all = children(f, expression);
        if (all.count == 2 && strcmp(operator_between(f, all.at[0], all.at[1]), ",") == 0) {
            evaluate(f, all.at[0]);
            return locate(f, all.at[1]);
        }
        evaluate(f, expression);
        if (all.count == 2) return locate(f, all.at[0]);
        break;
    case CXCursor_CallExpr: {
        location made = {0};
        value result = call(f, expression, &made);
        if (made.variable || made.array) return made;
        if (result.kind == VALUE_LOCATION) return result.at;
        break;
    }
    case CXCursor_CXXThisExpr:
        if (f->own->frame->has_self) return f->own->frame->self;
        break;
    default:
        break;
    }
    refuse(f, expression, "'%s' does not designate a place in memory that can be followed",
           source_text(f, expression));
}

/* ---- loads and stores ---- */

static fm_front_array *memory_of(fm_front *f, variable *v)
{
    if (!v->memory) {
        shape of = {.element = v->type};
        if (classify(v->type) == TYPE_REFERENCE) of.element = pointee(v->type);
        v->memory = array_new(f, v->declaration, v->name, &of, false);
    }
    return v->memory;
}

/* A number that is computed while the program runs, in a variable: in memory where that is asked for. */
static void touch_scalar(fm_front *f, CXCursor where, variable *v, bool is_store)
{
    type_class class = classify(v->type);
    if (v->owner_array && class == TYPE_INTEGER && !f->nowhere) { /* of what a pointer points to */
        long long bits = clang_Cursor_getOffsetOfField(v->declaration);
        shape of = {.element = v->type};
        location at = array_begin(f, v->owner_array, &of);
        at.offset = bits > 0 ? (uint64_t)bits / 8 : 0;
        if (v->owner_array->units) {
            at.subscripts[v->owner_array->rank - 1] =
                fm_form_number(f, (int64_t)(at.offset / v->owner_array->bytes));
            at.offset %= v->owner_array->bytes;
        }
        access_add(f, where, &at, is_store);
        return;
    }
    if (!f->own->request->scalars || f->nowhere || (class != TYPE_FLOAT && class != TYPE_INTEGER)) return;
    shape of = {.element = v->type};
    location at = array_begin(f, memory_of(f, v), &of);
    access_add(f, where, &at, is_store);
}

value load(fm_front *f, CXCursor where, const location *at)
{
    if (at->variable) {
        value now = variable_value(f, at->variable);
        if (now.kind == VALUE_LOCATION && now.at.shape.rank > 0) return decayed_array(&now.at);
        if (now.kind == VALUE_LOCATION && !now.at.variable) return load(f, where, &now.at);
        if (now.kind == VALUE_NOTHING)
            return data(fm_front_text(f, "as '%s' has no value yet", at->variable->name));
        if (now.kind == VALUE_DATA) touch_scalar(f, where, at->variable, false);
        return now;
    }
    if (at->shape.rank > 0) return decayed_array(at);
    switch (classify(at->shape.element)) {
    case TYPE_POINTER:
        refuse(
            f, where,
            "'%s' is a pointer in memory: rows that pointers lead to are data, where they are is not known "
            "(--assume '%s is matrix[ROWS][COLUMNS]' if they follow each other)",
            source_text(f, where), at->array->name);
    case TYPE_VOID:
    case TYPE_OTHER:
        refuse(f, where, "'%s' is of type '%s', which is not counted", source_text(f, where),
               type_name(f, at->shape.element));
    default:
        break;
    }
    access_add(f, where, at, false);
    if (at->array->identity && at->array->rank == 1) {
        if (at->array->identity->permutation)
            fm_front_note(f, "%s, in an order that is not known: counted as if it ascended",
                          at->array->identity->text);
        else
            fm_front_note(f, "%s is identity: %s[i] is i", at->array->name, at->array->name);
        return integer(at->subscripts[0]);
    }
    return data(fm_front_text(f, "which is loaded from '%s' while the program runs", source_text(f, where)));
}

void store(fm_front *f, CXCursor where, const location *at, value to)
{
    if (!at->variable) {
        if (at->shape.rank > 0) refuse(f, where, "'%s' is assigned as a whole", source_text(f, where));
        if (classify(at->shape.element) == TYPE_POINTER)
            refuse(f, where, "'%s' is a pointer in memory that is changed", source_text(f, where));
        access_add(f, where, at, true);
        return;
    }
    variable *v = at->variable;
    switch (classify(v->type)) {
    case TYPE_INTEGER:
        if (to.kind != VALUE_INTEGER && to.kind != VALUE_DATA) to = data("which is not a number");
        break;
    case TYPE_FLOAT:
        to = data("which is a floating-point number");
        break;
    case TYPE_POINTER:
        if (to.kind != VALUE_POINTER) to = data(to.why ? to.why : "which is not known");
        break;
    case TYPE_REFERENCE:
        to = data("which is computed while the program runs");
        break;
    default:
        refuse(f, where, "'%s' is assigned as a whole", source_text(f, where));
    }
    variable_set(f, v, to);
    if (to.kind == VALUE_DATA) {
        touch_scalar(f, where, v, true);
        if (f->statement) f->statement->kept = true;
    }
}

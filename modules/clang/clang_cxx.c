/* SPDX-License-Identifier: Apache-2.0 */
/*
 * clang_cxx.c - what C++'s library offers and kernels use: std::vector, std::array, std::span, std::min,
 * std::max. A container is a pointer to what it contains, an array of its own.
 */
#include "clang_maker.h"

#include <string.h>

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

location container_contents(fm_front *f, CXCursor where, const location *object)
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

static bool method_call(fm_front *f, CXCursor expression, CXCursor function, value *result, location *reference)
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

bool standard_call(fm_front *f, CXCursor expression, CXCursor function, value *result, location *reference)
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

/* SPDX-License-Identifier: Apache-2.0 */
/* clang_types.c - sizes, extents and kinds of types; arrays that are made of them. */
#include "clang_maker.h"

#include <string.h>

type_class classify(CXType type)
{
    CXType plain = clang_getCanonicalType(type);
    switch (plain.kind) {
    case CXType_Bool:
    case CXType_Char_U:
    case CXType_UChar:
    case CXType_Char16:
    case CXType_Char32:
    case CXType_UShort:
    case CXType_UInt:
    case CXType_ULong:
    case CXType_ULongLong:
    case CXType_UInt128:
    case CXType_Char_S:
    case CXType_SChar:
    case CXType_WChar:
    case CXType_Short:
    case CXType_Int:
    case CXType_Long:
    case CXType_LongLong:
    case CXType_Int128:
    case CXType_Enum:
        return TYPE_INTEGER;
    case CXType_Float:
    case CXType_Double:
    case CXType_LongDouble:
    case CXType_Float128:
    case CXType_Half:
    case CXType_Float16:
        return TYPE_FLOAT;
    case CXType_Complex: /* counted by its parts: is_complex() */
        return classify(clang_getElementType(plain)) == TYPE_FLOAT ? TYPE_FLOAT : TYPE_OTHER;
    case CXType_Pointer:
        return TYPE_POINTER;
    case CXType_LValueReference:
    case CXType_RValueReference:
        return TYPE_REFERENCE;
    case CXType_ConstantArray:
    case CXType_IncompleteArray:
    case CXType_VariableArray:
    case CXType_DependentSizedArray:
        return TYPE_ARRAY;
    case CXType_Record:
        return TYPE_RECORD;
    case CXType_Void:
        return TYPE_VOID;
    default:
        return TYPE_OTHER;
    }
}

bool is_complex(CXType type)
{
    return clang_getCanonicalType(type).kind == CXType_Complex;
}

CXType pointee(CXType type)
{
    return clang_getPointeeType(clang_getCanonicalType(type));
}

bool is_unsigned(CXType type)
{
    enum CXTypeKind kind = clang_getCanonicalType(type).kind;
    return kind == CXType_Bool || kind == CXType_Char_U || kind == CXType_UChar || kind == CXType_UShort ||
           kind == CXType_UInt || kind == CXType_ULong || kind == CXType_ULongLong || kind == CXType_UInt128;
}

uint64_t bytes_of(fm_front *f, CXCursor where, CXType type)
{
    long long size = clang_Type_getSizeOf(type);
    if (size <= 0) refuse(f, where, "the size of the type '%s' is not known", type_name(f, type));
    return (uint64_t)size;
}

const char *standard_template(fm_front *f, CXType type)
{
    static const char *const names[] = {"vector", "array", "span", "valarray", "deque", "list", "unique_ptr"};
    CXType plain = clang_getCanonicalType(type);
    if (classify(plain) == TYPE_REFERENCE) plain = pointee(plain);
    if (plain.kind != CXType_Record) return NULL;
    CXCursor declaration = clang_getTypeDeclaration(plain),
             parent = clang_getCursorSemanticParent(declaration);
    while (clang_getCursorKind(parent) == CXCursor_Namespace && strcmp(spelling(f, parent), "std") != 0)
        parent = clang_getCursorSemanticParent(parent); /* inline namespaces of versions */
    if (clang_getCursorKind(parent) != CXCursor_Namespace) return NULL;
    const char *name = spelling(f, declaration);
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (strcmp(name, names[i]) == 0) return names[i];
    return NULL;
}

/* ---- extents ---- */

/* Expressions in the brackets of a declaration or a cast, in the order of the text. */
static cursors bracketed_extents(fm_front *f, CXCursor declaration)
{
    cursors all = children(f, declaration);
    cursors made = {0, fm_front_allocate(f, all.count, sizeof *made.at)};
    for (size_t i = 0; i < all.count; i++) {
        source_file *file;
        size_t begin, end;
        if (!clang_isExpression(clang_getCursorKind(all.at[i])) || !extent(f, all.at[i], &file, &begin, &end))
            continue;
        end = skip_blank(file->text, end, file->size);
        while (begin > 0 && strchr(" \t\r\n", file->text[begin - 1])) begin--;
        bool word =
            begin > 0 && strchr("tce", file->text[begin - 1]); /* [const n], [static n], [volatile n] */
        if (begin == 0 || end >= file->size || file->text[end] != ']' ||
            (file->text[begin - 1] != '[' && !word))
            continue;
        size_t at = made.count++;
        for (; at > 0 && clang_getCursorKind(made.at[at - 1]) != 0; at--) {
            source_file *other;
            size_t first, last;
            extent(f, made.at[at - 1], &other, &first, &last);
            if (first < begin) break;
            made.at[at] = made.at[at - 1];
        }
        made.at[at] = all.at[i];
    }
    return made;
}

static void add_extent(fm_front *f, CXCursor where, shape *made, const fm_form *extent)
{
    if (made->rank == MOST_RANK) refuse(f, where, "an array has more than %d dimensions", MOST_RANK);
    made->extents[made->rank++] = extent;
}

static const fm_form *written_extent(fm_front *f, CXCursor where, CXCursor expression)
{
    f->own->quiet++;
    const fm_form *number = number_of(f, expression, "an extent of an array");
    f->own->quiet--;
    (void)where;
    return number;
}

shape shape_of(fm_front *f, CXCursor where, CXType type, CXCursor declaration)
{
    shape made = {0};
    CXType plain = clang_getCanonicalType(type);
    unsigned sized = 0;
    for (CXType t = plain; classify(t) == TYPE_ARRAY;
         t = clang_getCanonicalType(clang_getArrayElementType(t)))
        sized += t.kind != CXType_IncompleteArray;
    cursors written = {0};
    bool looked = false;
    for (unsigned at = 0; classify(plain) == TYPE_ARRAY || standard_template(f, plain);) {
        const char *kind = standard_template(f, plain);
        CXType element = clang_getArrayElementType(plain);
        if (kind) {
            if (strcmp(kind, "array") != 0) break;
            element = clang_Type_getTemplateArgumentAsType(plain, 0);
            uint64_t bytes = bytes_of(f, where, element);
            add_extent(f, where, &made, fm_form_number(f, (int64_t)(bytes_of(f, where, plain) / bytes)));
        } else if (plain.kind == CXType_IncompleteArray) {
            add_extent(f, where, &made, NULL);
        } else if (plain.kind == CXType_ConstantArray) {
            add_extent(f, where, &made, fm_form_number(f, clang_getArraySize(plain)));
            at++;
        } else if (plain.kind == CXType_VariableArray) {
            if (!looked && !clang_Cursor_isNull(declaration)) written = bracketed_extents(f, declaration);
            looked = true;
            if (written.count != sized || !written.at)
                refuse(f, where, "the extents of '%s' are not written where it is declared",
                       type_name(f, type));
            add_extent(f, where, &made, written_extent(f, where, written.at[at++]));
        } else {
            refuse(f, where, "the size of '%s' is not known", type_name(f, type));
        }
        plain = clang_getCanonicalType(element);
    }
    made.element = plain;
    return made;
}

shape shape_behind(fm_front *f, CXCursor where, CXType pointer, CXCursor declaration)
{
    return shape_of(f, where, pointee(pointer), declaration);
}

const fm_form *elements_of(fm_front *f, const shape *of)
{
    const fm_form *product = fm_form_number(f, 1);
    for (unsigned i = 0; i < of->rank && product; i++)
        product = of->extents[i] ? fm_form_multiply(f, product, of->extents[i]) : NULL;
    return product;
}

/* ---- structs with arrays inside ---- */

typedef struct unit_search {
    fm_front *f;
    CXCursor *fields;
    size_t count, room;
} unit_search;

static enum CXVisitorResult keep_field(CXCursor field, CXClientData data)
{
    unit_search *s = data;
    if (s->fields && s->count < s->room) s->fields[s->count] = field;
    s->count++;
    return CXVisit_Continue;
}

cursors fields_of(fm_front *f, CXType record)
{
    unit_search s = {.f = f};
    clang_Type_visitFields(record, keep_field, &s);
    s.fields = fm_front_allocate(f, s.count, sizeof *s.fields);
    s.room = s.count;
    s.count = 0;
    clang_Type_visitFields(record, keep_field, &s);
    return (cursors){s.room, s.fields};
}

/* The largest number inside; arrays: whether there are any, and their elements' largest and smallest sizes;
 * the largest size that divides all sizes and alignments of numbers. */
typedef struct inside {
    uint64_t largest, largest_element, smallest_element, divisor;
} inside;

static uint64_t greatest_divisor(uint64_t a, uint64_t b)
{
    while (b) {
        uint64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

static void look_inside(fm_front *f, CXType type, bool in_array, inside *found)
{
    CXType plain = clang_getCanonicalType(type);
    if (classify(plain) == TYPE_ARRAY) {
        look_inside(f, clang_getArrayElementType(plain), true, found);
        return;
    }
    if (classify(plain) == TYPE_RECORD && !standard_template(f, plain)) {
        cursors fields = fields_of(f, plain);
        for (size_t i = 0; i < fields.count; i++)
            look_inside(f, clang_getCursorType(fields.at[i]), in_array, found);
        return;
    }
    if (standard_template(f, plain) && strcmp(standard_template(f, plain), "array") == 0) {
        look_inside(f, clang_Type_getTemplateArgumentAsType(plain, 0), true, found);
        return;
    }
    long long size = clang_Type_getSizeOf(plain);
    if (size <= 0) return;
    uint64_t bytes = (uint64_t)size;
    found->divisor = greatest_divisor(bytes, found->divisor);
    if (bytes > found->largest) found->largest = bytes;
    if (!in_array) return;
    if (bytes > found->largest_element) found->largest_element = bytes;
    if (!found->smallest_element || bytes < found->smallest_element) found->smallest_element = bytes;
}

/* In which pieces a struct with arrays inside is addressed; 0: it has none. */
static uint64_t unit_of(fm_front *f, CXType record, uint64_t bytes)
{
    inside found = {0};
    look_inside(f, record, false, &found);
    if (!found.largest_element) return 0;
    if (found.largest == found.smallest_element && bytes % found.largest == 0) return found.largest;
    /* Numbers of several sizes: in pieces that each of them begins with (member() looks at packed structs).
     */
    return greatest_divisor(bytes, found.divisor);
}

fm_front_array *array_new(fm_front *f, CXCursor where, const char *name, const shape *of, bool pointer)
{
    fm_front_array made = {.rank = of->rank, .pointer = pointer};
    made.bytes = bytes_of(f, where, of->element);
    memcpy(made.extents, of->extents, sizeof of->extents);
    made.place = place_of_name(f, where);
    for (unsigned i = 0; i < of->rank; i++) {
        if (i > 0 && !of->extents[i])
            refuse(f, where, "an inner extent of '%s' is not known: where its rows are is not known", name);
        if (of->extents[i] && fm_form_varies(of->extents[i])) {
            if (i > 0) refuse(f, where, "an inner extent of '%s' changes inside the region", name);
            made.extents[i] = NULL;
        }
    }
    if (classify(of->element) == TYPE_RECORD) {
        uint64_t unit = unit_of(f, of->element, made.bytes);
        if (unit) {
            if (made.rank == MOST_RANK) refuse(f, where, "an array has more than %d dimensions", MOST_RANK);
            made.extents[made.rank++] = fm_form_number(f, (int64_t)(made.bytes / unit));
            made.bytes = unit;
            made.units = true;
        }
    }
    made.name = free_name(f, name);
    made.identity = fm_assumptions_find(f, FM_ASSUME_IDENTITY, 0, name);
    return fm_front_array_add(f, &made);
}

location array_begin(fm_front *f, fm_front_array *a, const shape *of)
{
    location made = {.array = a, .shape = *of};
    for (unsigned i = 0; i < a->rank; i++) made.subscripts[i] = fm_form_number(f, 0);
    return made;
}

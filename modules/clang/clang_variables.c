/* SPDX-License-Identifier: Apache-2.0 */
/*
 * clang_variables.c - types: sizes, extents and kinds, and arrays that are made of them; then the variables
 * of the source, and what each is worth at the moment.
 */
#include "clang_maker.h"

#include <string.h>

static const char *free_name(fm_front *f, const char *wanted);

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
typedef struct record_inside {
    uint64_t largest, largest_element, smallest_element, divisor;
} record_inside;

static uint64_t greatest_divisor(uint64_t a, uint64_t b)
{
    while (b) {
        uint64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

static void look_inside(fm_front *f, CXType type, bool in_array, record_inside *found)
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
    record_inside found = {0};
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

/*
 * The variables of the source, and what each is worth at the moment. What a variable has when the region
 * begins: a parameter (integers), an array of its own (pointers, containers), a place in memory (arrays),
 * or something that only the running program knows.
 */

value integer(const fm_form *number)
{
    return number ? (value){.kind = VALUE_INTEGER, .number = number}
                  : data("which multiplies or divides by variables");
}

value data(const char *why)
{
    return (value){.kind = VALUE_DATA, .why = why};
}

/* ---- names ---- */

static bool is_word_of_the_text(const char *name)
{
    static const char *const words[] = {"for",   "if",    "else", "do",   "load",   "store",
                                        "param", "array", "file", "note", "assume", "function",
                                        "and",   "or",    "not",  "true", "false"};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        if (strcmp(words[i], name) == 0) return true;
    return false;
}

static const char *clean_name(fm_front *f, const char *wanted)
{
    enum { MOST = 200 };
    char *made = fm_front_allocate(f, MOST + 2, 1);
    size_t used = 0;
    for (; *wanted && used < MOST; wanted++) {
        bool fine =
            strchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.$", *wanted) != NULL;
        made[used++] = fine ? *wanted : '_';
    }
    if (is_word_of_the_text(made) || used == 0) made[used++] = '_';
    return made;
}

static const char *free_name(fm_front *f, const char *wanted)
{
    return fm_front_free_name(f, clean_name(f, wanted), false);
}

const fm_form *parameter(fm_front *f, const char *name)
{
    const fm_atom *made = fm_atom_named(f, name, false);
    if (made) return fm_form_atom(f, made);
    return fm_form_atom(f, fm_atom_new(f, FM_ATOM_PARAMETER, clean_name(f, name)));
}

static value parameter_value(fm_front *f, const char *name)
{
    const char *clean = clean_name(f, name);
    fm_atom *made = fm_atom_named(f, clean, false); /* one that the user's assumptions speak of is this one */
    if (!made || made->bound) made = fm_atom_new(f, FM_ATOM_PARAMETER, free_name(f, name));
    made->bound = true;
    return integer(fm_form_atom(f, made));
}

/* ---- what a variable has at first ---- */

static bool is_const(CXType type)
{
    return clang_isConstQualifiedType(type) || clang_isConstQualifiedType(clang_getCanonicalType(type));
}

/* What a pointer from outside points to: an array of its own. */
static value outside_pointer(fm_front *f, CXCursor where, variable *v, CXType type, CXCursor declaration)
{
    const fm_assumption *rows = fm_assumptions_find(f, FM_ASSUME_MATRIX, 0, v->name);
    shape behind = shape_behind(f, where, type, declaration), whole = {0};
    bool restricted =
        clang_isRestrictQualifiedType(type) || clang_isRestrictQualifiedType(clang_getCanonicalType(type));
    if (classify(behind.element) == TYPE_VOID ||
        clang_getCanonicalType(behind.element).kind == CXType_FunctionProto)
        return data("which is a pointer to what has no size");
    if (rows && classify(behind.element) == TYPE_POINTER && behind.rank == 0) {
        whole = (shape){.rank = 2, .extents = {rows->amounts[0].form, rows->amounts[1].form}};
        whole.element = clang_getCanonicalType(pointee(behind.element));
        fm_front_note(f, "the rows of %s follow each other in memory (%s)", v->name, rows->text);
        behind = (shape){.rank = 1, .extents = {rows->amounts[1].form}, .element = whole.element};
    } else {
        if (behind.rank == MOST_RANK) refuse(f, where, "'%s' has too many dimensions", v->name);
        whole = behind;
        whole.rank++;
        whole.extents[0] = NULL;
        for (unsigned i = 0; i < behind.rank; i++) whole.extents[i + 1] = behind.extents[i];
    }
    fm_front_array *made = array_new(f, v->declaration, v->name, &whole, true);
    made->restricted = restricted;
    return (value){.kind = VALUE_POINTER, .at = array_begin(f, made, &behind)};
}

static value outside_array(fm_front *f, CXCursor where, variable *v, bool parameter_of_function)
{
    shape of = shape_of(f, where, v->type, v->declaration);
    fm_front_array *made = array_new(f, v->declaration, v->name, &of, parameter_of_function);
    /* double A[restrict n]: not in the type that libclang shows. */
    if (parameter_of_function) made->restricted = strstr(source_text(f, v->declaration), "[restrict") != NULL;
    value result = {.kind = VALUE_LOCATION, .at = array_begin(f, made, &of)};
    if (!parameter_of_function) return result;
    /* A parameter that is written as an array is a pointer to its first row. */
    result.kind = VALUE_POINTER;
    for (unsigned i = 1; i < of.rank; i++) result.at.shape.extents[i - 1] = of.extents[i];
    result.at.shape.rank = of.rank - 1;
    return result;
}

static value outside_container(fm_front *f, CXCursor where, variable *v, CXType type)
{
    CXType plain = clang_getCanonicalType(type);
    shape element = shape_of(f, where, clang_Type_getTemplateArgumentAsType(plain, 0), clang_getNullCursor());
    if (standard_template(f, element.element))
        refuse(f, where, "'%s' has rows of their own, which are data: where they are is not known", v->name);
    shape whole = element;
    whole.rank++;
    whole.extents[0] = NULL;
    for (unsigned i = 0; i < element.rank && i + 1 < MOST_RANK; i++)
        whole.extents[i + 1] = element.extents[i];
    v->memory = array_new(f, v->declaration, v->name, &whole, false);
    return (value){.kind = VALUE_POINTER, .at = array_begin(f, v->memory, &element)};
}

static bool contents_of(const char *container)
{
    return container && (strcmp(container, "vector") == 0 || strcmp(container, "span") == 0 ||
                         strcmp(container, "valarray") == 0);
}

/* A reference from outside: what it refers to is in memory. */
static value outside_reference(fm_front *f, CXCursor where, variable *v)
{
    CXType of = pointee(v->type);
    type_class class = classify(of);
    if (contents_of(standard_template(f, of))) return outside_container(f, where, v, of);
    if (class == TYPE_INTEGER) return parameter_value(f, v->name);
    shape whole = shape_of(f, where, of, v->declaration);
    if (class == TYPE_RECORD && whole.rank == 0 && standard_template(f, of))
        return data(fm_front_text(f, "which is a std::%s", standard_template(f, of)));
    fm_front_array *made = array_new(f, v->declaration, v->name, &whole, true);
    return (value){.kind = VALUE_LOCATION, .at = array_begin(f, made, &whole)};
}

value outside_value(fm_front *f, CXCursor where, variable *v)
{
    switch (classify(v->type)) {
    case TYPE_INTEGER:
        return parameter_value(f, v->name);
    case TYPE_POINTER:
        return outside_pointer(f, where, v, v->type, v->declaration);
    case TYPE_ARRAY:
        return outside_array(f, where, v, clang_getCursorKind(v->declaration) == CXCursor_ParmDecl);
    case TYPE_REFERENCE:
        return outside_reference(f, where, v);
    case TYPE_RECORD: {
        const char *kind = standard_template(f, v->type);
        if (contents_of(kind)) return outside_container(f, where, v, v->type);
        if (kind && strcmp(kind, "array") == 0) return outside_array(f, where, v, false);
        if (kind) return data(fm_front_text(f, "which is a std::%s", kind));
        value object = {.kind = VALUE_LOCATION, .at = {.variable = v, .shape = {.element = v->type}}};
        return object;
    }
    case TYPE_FLOAT:
        return data("which is a floating-point number");
    default:
        return data(fm_front_text(f, "which is of type '%s'", type_name(f, v->type)));
    }
}

/* A constant of the source: const int n = 100; */
static bool known_constant(fm_front *f, variable *v)
{
    CXCursor definition = clang_getCursorDefinition(v->declaration);
    if (clang_getCursorKind(v->declaration) != CXCursor_VarDecl || classify(v->type) != TYPE_INTEGER)
        return false;
    if (!is_const(v->type)) return false;
    CXCursor first =
        clang_Cursor_getVarDeclInitializer(clang_Cursor_isNull(definition) ? v->declaration : definition);
    if (clang_Cursor_isNull(first)) return false;
    f->own->quiet++;
    f->nowhere++;
    v->initial = evaluate(f, first);
    f->nowhere--;
    f->own->quiet--;
    return v->initial.kind == VALUE_INTEGER;
}

/* ---- finding them ---- */

/* Calls of a function have variables of their own: by frame too. NULL: globals and members. */
static variable **alike_of(fm_front *f, CXCursor declaration, const frame *of)
{
    const uintptr_t where = (uintptr_t)of;
    return &f->own->alike[(clang_hashCursor(declaration) ^ (where >> 4) ^ (where >> 16)) % VARIABLE_HASHES];
}

static variable *variable_new(fm_front *f, CXCursor declaration, const frame *of, const char *name,
                              CXType type)
{
    variable *v = fm_front_allocate(f, 1, sizeof *v);
    v->declaration = declaration;
    v->name = name;
    v->type = type;
    v->number = f->own->variable_count++;
    v->next = f->own->variables;
    f->own->variables = v;
    variable **alike = alike_of(f, declaration, of);
    v->next_alike = *alike;
    *alike = v;
    return v;
}

static bool is_local(CXCursor declaration)
{
    CXCursor parent = clang_getCursorSemanticParent(declaration);
    enum CXCursorKind kind = clang_getCursorKind(parent);
    return kind == CXCursor_FunctionDecl || kind == CXCursor_CXXMethod || kind == CXCursor_Constructor ||
           kind == CXCursor_FunctionTemplate || kind == CXCursor_ConversionFunction ||
           clang_getCursorKind(declaration) == CXCursor_ParmDecl;
}

static variable *find_variable(fm_front *f, CXCursor declaration, const frame *of)
{
    for (variable *v = *alike_of(f, declaration, of); v; v = v->next_alike)
        if (v->frame == of && !v->owner && !v->owner_array && same(v->declaration, declaration)) return v;
    return NULL;
}

variable *variable_of(fm_front *f, CXCursor where, CXCursor declaration)
{
    declaration = clang_getCanonicalCursor(declaration);
    const frame *of = is_local(declaration) ? f->own->frame : NULL;
    variable *v = find_variable(f, declaration, of);
    if (v) return v;
    v = variable_new(f, declaration, of, spelling(f, declaration), clang_getCursorType(declaration));
    v->frame = of;
    if (known_constant(f, v)) return v;
    bool outside = !of || (clang_getCursorKind(declaration) == CXCursor_ParmDecl && !of->parent);
    v->initial = outside ? outside_value(f, where, v)
                         : (value){.kind = VALUE_NOTHING, .why = "which has no value yet"};
    return v;
}

variable *member_variable(fm_front *f, CXCursor where, const variable *owner, fm_front_array *owner_array,
                          CXCursor field)
{
    for (variable *v = *alike_of(f, field, NULL); v; v = v->next_alike)
        if (v->owner == owner && v->owner_array == owner_array && same(v->declaration, field)) return v;
    const char *name = fm_front_text(f, "%s.%s",
                                     owner         ? owner->name
                                     : owner_array ? owner_array->name
                                                   : "",
                                     spelling(f, field));
    variable *v = variable_new(f, field, NULL, name, clang_getCursorType(field));
    v->owner = owner;
    v->owner_array = owner_array;
    v->frame = owner ? owner->frame : NULL;
    bool inside = owner && owner->initial.kind == VALUE_NOTHING;
    type_class class = classify(v->type);
    if (class == TYPE_ARRAY && (owner || owner_array))
        fm_front_note(f, "arrays in '%s' are taken to begin in blocks of their own",
                      owner ? owner->name : owner_array->name);
    if (inside && class != TYPE_ARRAY && class != TYPE_RECORD)
        v->initial = (value){.kind = VALUE_NOTHING, .why = "which has no value yet"};
    else
        v->initial = outside_value(f, where, v);
    return v;
}

/* ---- their values ---- */

value value_in(const state *of, const variable *v)
{
    return v->number < of->count && of->values[v->number] ? *of->values[v->number] : v->initial;
}

bool untouched(const state *left, const state *right, const variable *v)
{
    const value *one = v->number < left->count ? left->values[v->number] : NULL;
    const value *other = v->number < right->count ? right->values[v->number] : NULL;
    return one == other;
}

value variable_value(fm_front *f, const variable *v)
{
    return value_in(f->own->now, v);
}

void variable_set(fm_front *f, variable *v, value to)
{
    state *now = f->own->now;
    if (v->number >= now->count) {
        size_t count = 2 * (size_t)v->number + 8;
        const value **bigger = fm_front_allocate(f, count, sizeof *bigger);
        if (now->count) memcpy(bigger, now->values, now->count * sizeof *bigger);
        now->values = bigger;
        now->count = count;
    }
    value *kept = fm_front_allocate(f, 1, sizeof *kept);
    *kept = to;
    now->values[v->number] = kept;
}

state *state_copy(fm_front *f, const state *from)
{
    state *made = fm_front_allocate(f, 1, sizeof *made);
    made->count = from->count;
    made->values = fm_front_allocate(f, from->count, sizeof *made->values);
    if (from->count) memcpy(made->values, from->values, from->count * sizeof *made->values);
    return made;
}

static bool location_equal(const location *left, const location *right)
{
    if (left->variable != right->variable || left->array != right->array || left->offset != right->offset)
        return false;
    for (unsigned i = 0; left->array && i < left->array->rank; i++)
        if (!fm_form_equal(left->subscripts[i], right->subscripts[i])) return false;
    return true;
}

bool value_equal(fm_front *f, const value *left, const value *right)
{
    (void)f;
    if (left->kind != right->kind) return false;
    if (left->kind == VALUE_INTEGER) return fm_form_equal(left->number, right->number);
    if (left->kind == VALUE_POINTER || left->kind == VALUE_LOCATION)
        return location_equal(&left->at, &right->at);
    return true;
}

/* ---- which ones a statement changes ---- */

void variable_set_add(fm_front *f, variable_set_of *set, variable *v)
{
    for (size_t i = 0; i < set->count; i++)
        if (set->at[i] == v) return;
    if (set->count == set->room) {
        size_t room = 2 * set->room + 8;
        variable **bigger = fm_front_allocate(f, room, sizeof *bigger);
        if (set->count) memcpy(bigger, set->at, set->count * sizeof *bigger);
        set->at = bigger;
        set->room = room;
    }
    set->at[set->count++] = v;
}

static void add_target(fm_front *f, CXCursor expression, variable_set_of *set)
{
    CXCursor target = bare(f, expression);
    enum CXCursorKind kind = clang_getCursorKind(target);
    if (kind != CXCursor_DeclRefExpr && kind != CXCursor_MemberRefExpr) return;
    CXCursor declaration = clang_getCanonicalCursor(clang_getCursorReferenced(target));
    const frame *const of[] = {NULL, f->own->frame};
    for (int i = 0; i < 2; i++)
        for (variable *v = *alike_of(f, declaration, of[i]); v; v = v->next_alike) {
            if (!same(v->declaration, declaration)) continue;
            if (v->frame && v->frame != f->own->frame && !v->owner) continue;
            value now = variable_value(f, v);
            variable_set_add(f, set, now.kind == VALUE_LOCATION && now.at.variable ? now.at.variable : v);
        }
}

typedef struct scan {
    variable_set_of *set;
    CXCursor seen[MOST_INLINE];
    unsigned count;
} scan;

static void scan_changes(fm_front *f, CXCursor cursor, scan *s);

static void scan_callee(fm_front *f, CXCursor called, scan *s)
{
    CXCursor definition = clang_getCursorDefinition(called);
    if (clang_Cursor_isNull(definition) || !own_source(definition) || s->count == MOST_INLINE) return;
    for (unsigned i = 0; i < s->count; i++)
        if (same(s->seen[i], definition)) return;
    s->seen[s->count++] = definition;
    CXCursor body = body_of(f, definition);
    if (!clang_Cursor_isNull(body)) scan_changes(f, body, s);
}

static void scan_changes(fm_front *f, CXCursor cursor, scan *s)
{
    cursors all = children(f, cursor);
    enum CXCursorKind kind = clang_getCursorKind(cursor);
    if (kind == CXCursor_UnaryOperator && all.count == 1) {
        const char *before = operator_before(f, cursor, all.at[0]);
        if (before[0] == '\0' || !strchr("-+*!~", before[0]) || before[1] != '\0')
            add_target(f, all.at[0], s->set);
    }
    if (kind == CXCursor_CompoundAssignOperator && all.count == 2) add_target(f, all.at[0], s->set);
    if (kind == CXCursor_BinaryOperator && all.count == 2 &&
        strcmp(operator_between(f, all.at[0], all.at[1]), "=") == 0)
        add_target(f, all.at[0], s->set);
    if (kind == CXCursor_CallExpr) {
        /* What is handed over by reference may be changed. */
        for (size_t i = 0; i < all.count; i++)
            if (clang_getCursorKind(all.at[i]) == CXCursor_DeclRefExpr) add_target(f, all.at[i], s->set);
        scan_callee(f, clang_getCursorReferenced(cursor), s);
    }
    for (size_t i = 0; i < all.count; i++) scan_changes(f, all.at[i], s);
}

void changed_by(fm_front *f, CXCursor statement, variable_set_of *set)
{
    scan s = {.set = set};
    if (!clang_Cursor_isNull(statement)) scan_changes(f, statement, &s);
}

bool mentions(fm_front *f, CXCursor statement, const variable *v)
{
    enum CXCursorKind kind = clang_getCursorKind(statement);
    if ((kind == CXCursor_DeclRefExpr || kind == CXCursor_MemberRefExpr) &&
        same(clang_getCanonicalCursor(clang_getCursorReferenced(statement)), v->declaration))
        return true;
    cursors all = children(f, statement);
    for (size_t i = 0; i < all.count; i++)
        if (mentions(f, all.at[i], v)) return true;
    return false;
}

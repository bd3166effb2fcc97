/* SPDX-License-Identifier: Apache-2.0 */
/*
 * clang_pick.c - which function is the region, and which lines of it. By its name; by #pragma scop and
 * endscop; or the only function of the file that has loops.
 */
#include "clang_maker.h"

#include <string.h>

typedef struct found {
    CXCursor *at;
    size_t count, room;
} found;

static bool is_function(enum CXCursorKind kind)
{
    return kind == CXCursor_FunctionDecl || kind == CXCursor_CXXMethod || kind == CXCursor_Constructor ||
           kind == CXCursor_FunctionTemplate;
}

/* Definitions in files of the user; room counts first. */
static enum CXChildVisitResult visit_functions(CXCursor cursor, CXCursor parent, CXClientData data)
{
    found *all = data;
    enum CXCursorKind kind = clang_getCursorKind(cursor);
    (void)parent;
    if (!own_source(cursor)) return CXChildVisit_Continue;
    if (is_function(kind) && clang_isCursorDefinition(cursor)) {
        if (all->at) all->at[all->count] = cursor;
        all->count++;
        return CXChildVisit_Continue;
    }
    return kind == CXCursor_Namespace || kind == CXCursor_LinkageSpec || kind == CXCursor_StructDecl ||
                   kind == CXCursor_ClassDecl || kind == CXCursor_ClassTemplate ||
                   kind == CXCursor_UnexposedDecl
               ? CXChildVisit_Recurse
               : CXChildVisit_Continue;
}

static found functions_of(fm_front *f)
{
    found all = {0};
    CXCursor root = clang_getTranslationUnitCursor(f->own->unit);
    clang_visitChildren(root, visit_functions, &all);
    all.at = fm_front_allocate(f, all.count, sizeof *all.at);
    all.count = 0;
    clang_visitChildren(root, visit_functions, &all);
    return all;
}

static bool is_loop(enum CXCursorKind kind)
{
    return kind == CXCursor_ForStmt || kind == CXCursor_WhileStmt || kind == CXCursor_DoStmt ||
           kind == CXCursor_CXXForRangeStmt;
}

static enum CXChildVisitResult look_for_loop(CXCursor cursor, CXCursor parent, CXClientData data)
{
    (void)parent;
    if (!is_loop(clang_getCursorKind(cursor))) return CXChildVisit_Recurse;
    *(bool *)data = true;
    return CXChildVisit_Break;
}

static bool has_loop(CXCursor function)
{
    bool loop = false;
    clang_visitChildren(function, look_for_loop, &loop);
    return loop;
}

CXCursor body_of(fm_front *f, CXCursor function)
{
    CXCursor definition = clang_getCursorDefinition(function);
    if (clang_Cursor_isNull(definition)) definition = function;
    cursors all = children(f, definition);
    for (size_t i = all.count; i > 0; i--)
        if (clang_getCursorKind(all.at[i - 1]) == CXCursor_CompoundStmt) return all.at[i - 1];
    return clang_getNullCursor();
}

/* ---- instantiations of a function template: those that something in the sources calls ---- */

typedef struct instances {
    CXCursor wanted;
    CXCursor at[16];
    size_t count;
} instances;

static enum CXChildVisitResult look_for_instance(CXCursor cursor, CXCursor parent, CXClientData data)
{
    instances *all = data;
    enum CXCursorKind kind = clang_getCursorKind(cursor);
    (void)parent;
    if (!own_source(cursor)) return CXChildVisit_Continue;
    if (kind == CXCursor_CallExpr || kind == CXCursor_DeclRefExpr) {
        CXCursor called = clang_getCursorReferenced(cursor);
        CXCursor from = clang_getSpecializedCursorTemplate(called);
        if (!clang_Cursor_isNull(from) && same(clang_getCanonicalCursor(from), all->wanted)) {
            bool known = false;
            for (size_t i = 0; i < all->count; i++) known |= same(all->at[i], called);
            if (!known && all->count < 16) all->at[all->count++] = called;
        }
    }
    return CXChildVisit_Recurse;
}

static CXCursor instance_of(fm_front *f, CXCursor template)
{
    instances all = {.wanted = clang_getCanonicalCursor(template)};
    clang_visitChildren(clang_getTranslationUnitCursor(f->own->unit), look_for_instance, &all);
    if (all.count == 0)
        refuse(f, template, "'%s' is a template that nothing in this source calls: its types are not known",
               spelling(f, template));
    if (all.count > 1) {
        const char *list = NULL;
        for (size_t i = 0; i < all.count; i++) {
            const char *type = type_name(f, clang_getCursorType(all.at[i]));
            list = list ? fm_front_text(f, "%s; %s", list, type) : type;
        }
        refuse(f, template, "'%s' is a template with several instances in this source: %s",
               spelling(f, template), list);
    }
    return all.at[0];
}

/* ---- pragmas ---- */

/* Where "#pragma WORD" begins next, at or behind `from`; the size of the text where it does not. */
static size_t find_pragma(const source_file *file, const char *word, size_t from)
{
    size_t at = 0, length = strlen(word);
    bool line_begins = true;
    while (at < file->size) {
        char c = file->text[at];
        if (c == '"' || c == '\'') {
            for (at++; at < file->size && file->text[at] != c && file->text[at] != '\n'; at++)
                if (file->text[at] == '\\') at++;
            at++;
            line_begins = false;
        } else if (c == '/' && at + 1 < file->size &&
                   (file->text[at + 1] == '*' || file->text[at + 1] == '/')) {
            at = skip_blank(file->text, at, file->size);
            line_begins |= at > 0 && file->text[at - 1] == '\n';
        } else if (c == '#' && line_begins) {
            size_t begin = at++, end = at;
            while (end < file->size && file->text[end] != '\n') end++;
            at += strspn(file->text + at, " \t");
            if (end - at > 6 && strncmp(file->text + at, "pragma", 6) == 0) {
                at += 6;
                at += strspn(file->text + at, " \t");
                if (begin >= from && end - at >= length && strncmp(file->text + at, word, length) == 0 &&
                    strspn(file->text + at + length, " \t\r") == end - at - length)
                    return begin;
            }
            at = end;
        } else {
            line_begins = c == '\n' || (line_begins && (c == ' ' || c == '\t'));
            at++;
        }
    }
    return file->size;
}

/* The lines between the pragmas; false: there are none in this function. */
static bool scop_in(fm_front *f, CXCursor function)
{
    source_file *file;
    size_t begin, end;
    if (!extent(f, function, &file, &begin, &end)) return false;
    size_t first = find_pragma(file, "scop", begin);
    if (first >= end) return false;
    size_t last = find_pragma(file, "endscop", first);
    fm_front_place where = {.file = &file->shown};
    unsigned column;
    original_place(file, first, &where.line, &column);
    if (last >= end)
        refuse_at(f, &where, "there is no #pragma endscop for this #pragma scop in the function");
    size_t second = find_pragma(file, "scop", first + 1);
    if (second < end) {
        original_place(file, second, &where.line, &column);
        refuse_at(f, &where, "a second #pragma scop in the same function: a region is one piece");
    }
    f->own->scop_begin = first;
    f->own->scop_end = last;
    return true;
}

/* ---- the choice ---- */

static const char *full_name(fm_front *f, CXCursor function)
{
    const char *name = spelling(f, function);
    for (CXCursor parent = clang_getCursorSemanticParent(function);
         !clang_Cursor_isNull(parent) && clang_isDeclaration(clang_getCursorKind(parent));
         parent = clang_getCursorSemanticParent(parent)) {
        const char *outer = spelling(f, parent);
        if (outer[0]) name = fm_front_text(f, "%s::%s", outer, name);
    }
    return name;
}

static _Noreturn void refuse_choice(fm_front *f, const found *all, bool loops_only, const char *why)
{
    const char *list = NULL;
    unsigned listed = 0, left = 0;
    for (size_t i = 0; i < all->count; i++) {
        if (loops_only && !has_loop(all->at[i])) continue;
        if (listed++ >= 12) {
            left++;
            continue;
        }
        const char *one = fm_front_text(f, "%s (line %u)", full_name(f, all->at[i]), line_of(f, all->at[i]));
        list = list ? fm_front_text(f, "%s, %s", list, one) : one;
    }
    if (left) list = fm_front_text(f, "%s, and %u more", list, left);
    give_up(f, FM_E_ARGUMENT, "%s%s%s", why, list ? ": " : "", list ? list : "");
}

static bool function_named(fm_front *f, CXCursor function, const char *name)
{
    return strcmp(spelling(f, function), name) == 0 || strcmp(full_name(f, function), name) == 0;
}

static CXCursor choose_function(fm_front *f, const found *all)
{
    const char *name = f->own->request->function;
    CXCursor chosen = clang_getNullCursor();
    size_t fitting = 0, marked = 0;
    if (!name)
        for (size_t i = 0; i < all->count; i++)
            if (scop_in(f, all->at[i])) {
                chosen = all->at[i];
                marked++;
            }
    f->own->scop_begin = f->own->scop_end = 0;
    if (marked == 1) return chosen;
    if (marked > 1)
        refuse_choice(f, all, true, "several functions have a #pragma scop; --function chooses one");
    for (size_t i = 0; i < all->count; i++)
        if (name ? function_named(f, all->at[i], name) : has_loop(all->at[i])) {
            chosen = all->at[i];
            fitting++;
        }
    if (fitting == 1) return chosen;
    if (name && fitting == 0)
        refuse_choice(f, all, false,
                      fm_front_text(f, "there is no function '%s' with a body; there are", name));
    if (name) refuse_choice(f, all, false, fm_front_text(f, "there are several functions '%s'", name));
    if (fitting == 0)
        give_up(f, FM_E_ARGUMENT, "no function in it has a loop: there is no region to analyse");
    refuse_choice(f, all, true, "several functions have loops; --function or #pragma scop chooses one");
}

void pick_region(fm_front *f)
{
    found all = functions_of(f);
    size_t begin, end;
    unsigned column;
    CXCursor chosen = choose_function(f, &all);
    f->own->region_function = chosen;
    if (clang_getCursorKind(chosen) == CXCursor_FunctionTemplate)
        f->own->region_function = instance_of(f, chosen);
    if (clang_Cursor_isNull(body_of(f, f->own->region_function)))
        refuse(f, chosen, "the body of '%s' is not here", spelling(f, chosen));
    if (!extent(f, chosen, &f->own->region_file, &begin, &end))
        refuse(f, chosen, "the function's lines are not known");
    if (scop_in(f, chosen)) {
        begin = f->own->scop_begin;
        end = f->own->scop_end;
    }
    original_place(f->own->region_file, begin, &f->own->first_line, &column);
    original_place(f->own->region_file, end, &f->own->last_line, &column);
}

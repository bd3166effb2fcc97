/* SPDX-License-Identifier: Apache-2.0 */
/*
 * clang_module.c - the module's entry: parses the source, expands its macros, parses again, works the region
 * off, prints it. And the ways out: refuse(), give_up().
 */
#include "clang_maker.h"

#include "base/error.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void pick_region(fm_front *f);

extern const fm_clang_module fm_clang;

static _Noreturn void module_leave(fm_front *f, fm_status status)
{
    f->own->status = status;
    longjmp(f->own->out, 1);
}

void give_up(fm_front *f, fm_status status, const char *format, ...)
{
    char reason[sizeof f->own->error->reason];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(reason, sizeof reason, format, arguments);
    va_end(arguments);
    fm_fail(f->own->error, status, f->own->request->path, "%s", reason);
    module_leave(f, status);
}

static _Noreturn void refuse_list(fm_front *f, const fm_front_place *where, const char *format,
                                  va_list arguments)
{
    char reason[sizeof f->own->error->reason];
    vsnprintf(reason, sizeof reason, format, arguments);
    if (where->file)
        fm_fail_at(f->own->error, FM_E_UNSUPPORTED, where->file->path, FM_PLACE_LINE, where->line, "%s",
                   reason);
    else
        fm_fail(f->own->error, FM_E_UNSUPPORTED, f->own->request->path, "%s", reason);
    module_leave(f, FM_E_UNSUPPORTED);
}

static void refuse_at(fm_front *f, const fm_front_place *where, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    refuse_list(f, where, format, arguments);
}

void refuse(fm_front *f, CXCursor where, const char *format, ...)
{
    fm_front_place at = place_of(f, where);
    va_list arguments;
    va_start(arguments, format);
    refuse_list(f, &at, format, arguments);
}

/* ---- what the middle cannot do: the ways out for it ---- */

static _Noreturn void module_fail(fm_front *f, fm_status status, const fm_front_place *where,
                                  const char *reason)
{
    if (where && where->file)
        fm_fail_at(f->own->error, status, where->file->path, FM_PLACE_LINE, where->line, "%s", reason);
    else
        fm_fail(f->own->error, status, f->own->request->path, "%s", reason);
    module_leave(f, status);
}

static void module_fault(fm_front *f, fm_form_fault fault)
{
    if (fault == FM_FORM_DEGREE)
        module_fail(f, FM_E_UNSUPPORTED, NULL, "a formula of the source multiplies too many variables");
    module_fail(f, FM_E_LIMIT, f->statement ? &f->statement->place : NULL,
                "a formula of the source has numbers beyond 64 bits");
}

static void module_no_memory(fm_front *f, size_t bytes)
{
    fm_fail_memory(f->own->error, bytes, "the region of a source");
    module_leave(f, FM_E_NOMEM);
}

/* ---- parsing ---- */

/* The first of the compiler's complaints. */
static void complain_of(fm_front *f, CXTranslationUnit unit)
{
    unsigned count = clang_getNumDiagnostics(unit), errors = 0, line = 0;
    char path[sizeof f->own->error->path] = "", text[sizeof f->own->error->reason] = "";
    for (unsigned i = 0; i < count; i++) {
        CXDiagnostic one = clang_getDiagnostic(unit, i);
        if (clang_getDiagnosticSeverity(one) >= CXDiagnostic_Error && errors++ == 0) {
            CXFile file;
            clang_getFileLocation(clang_getDiagnosticLocation(one), &file, &line, NULL, NULL);
            CXString what = clang_getDiagnosticSpelling(one), name = clang_getFileName(file);
            snprintf(text, sizeof text, "%.400s", clang_getCString(what));
            if (file) snprintf(path, sizeof path, "%s", clang_getCString(name));
            clang_disposeString(what);
            clang_disposeString(name);
        }
        clang_disposeDiagnostic(one);
    }
    if (errors == 0) return;
    const char *more = errors > 1 ? fm_front_text(f, " (and %u more)", errors - 1) : "";
    if (path[0])
        fm_fail_at(f->own->error, FM_E_FORMAT, path, FM_PLACE_LINE, line, "does not compile: %s%s", text,
                   more);
    else
        fm_fail(f->own->error, FM_E_FORMAT, f->own->request->path, "does not compile: %s%s", text, more);
    module_leave(f, FM_E_FORMAT);
}

static bool has_errors(CXTranslationUnit unit)
{
    bool any = false;
    for (unsigned i = 0; i < clang_getNumDiagnostics(unit); i++) {
        CXDiagnostic one = clang_getDiagnostic(unit, i);
        any |= clang_getDiagnosticSeverity(one) >= CXDiagnostic_Error;
        clang_disposeDiagnostic(one);
    }
    return any;
}

static bool is_plus_plus(const fm_clang_request *request)
{
    const char *dot = strrchr(request->path, '.');
    if (request->language) return strcmp(request->language, "c++") == 0;
    return dot && strcmp(dot, ".c") != 0 && strcmp(dot, ".h") != 0;
}

static const char **arguments_of(fm_front *f, int *count)
{
    size_t given = 0, used = 0;
    while (f->own->request->flags && f->own->request->flags[given]) given++;
    const char **made = fm_front_allocate(f, given + 7, sizeof *made);
    made[used++] = "-x";
    made[used++] = f->own->plus_plus ? "c++" : "c";
    made[used++] = f->own->plus_plus ? "-std=gnu++17" : "-std=gnu11";
    made[used++] = "-w";
    made[used++] = "-ferror-limit=0";
#ifdef FATHOM_CLANG_HEADERS
    if (access(FATHOM_CLANG_HEADERS "/include/stddef.h", R_OK) == 0)
        made[used++] = "-resource-dir=" FATHOM_CLANG_HEADERS;
#endif
    for (size_t i = 0; i < given; i++) made[used++] = f->own->request->flags[i];
    *count = (int)used;
    return made;
}

static CXTranslationUnit parse_unit(fm_front *f, struct CXUnsavedFile *changed, unsigned count,
                                    unsigned options)
{
    int argument_count;
    const char **arguments = arguments_of(f, &argument_count);
    CXTranslationUnit unit = NULL;
    enum CXErrorCode code = clang_parseTranslationUnit2(f->own->index, f->own->request->path, arguments,
                                                        argument_count, changed, count, options, &unit);
    if (code != CXError_Success || !unit)
        give_up(f, FM_E_FORMAT, "libclang cannot parse it (%s)",
                code == CXError_Crashed ? "it crashed" : "are the compiler's flags right?");
    return unit;
}

static void parse_twice(fm_front *f)
{
    FILE *readable = fopen(f->own->request->path, "r");
    if (!readable) give_up(f, FM_E_IO, "cannot open: %s", strerror(errno));
    fclose(readable);
    f->own->unit = parse_unit(f, NULL, 0, CXTranslationUnit_DetailedPreprocessingRecord);
    complain_of(f, f->own->unit);
    size_t changed = expand_macros(f, f->own->unit), next = 0;
    if (changed == 0) return;
    struct CXUnsavedFile *files = fm_front_allocate(f, changed, sizeof *files);
    for (source_file *s = f->own->files; s; s = s->next)
        if (s->segments)
            files[next++] = (struct CXUnsavedFile){s->shown.path, s->text, (unsigned long)s->size};
    CXTranslationUnit second = parse_unit(f, files, (unsigned)next, 0);
    if (has_errors(second)) { /* the original is as good, but for operators inside macros */
        clang_disposeTranslationUnit(second);
        for (source_file *s = f->own->files; s; s = s->next) {
            s->segments = NULL;
            s->text = s->original;
            s->size = s->original_size;
        }
        return;
    }
    clang_disposeTranslationUnit(f->own->unit);
    f->own->unit = second;
}

/* ---- the entry ---- */

/* The object of a method that is the region itself: as if a pointer to it were handed over. */
static void find_self(fm_front *f)
{
    CXCursor method = f->own->region_function, class = clang_getCursorSemanticParent(method);
    if (clang_getCursorKind(method) != CXCursor_CXXMethod || clang_CXXMethod_isStatic(method)) return;
    if (clang_getCursorKind(class) == CXCursor_ClassTemplate)
        refuse(f, method,
               "'%s' belongs to a template: its types are not known; --function a function that uses it",
               spelling(f, method));
    shape of = {.element = clang_getCanonicalType(clang_getCursorType(class))};
    f->own->frame->self = array_begin(f, array_new(f, method, "this", &of, true), &of);
    f->own->frame->has_self = true;
}

/* Subscripts that reach over the end of their rows. */
static void carry_all(fm_front *f, const fm_front_list *list)
{
    for (const fm_front_node *n = list->first; n; n = n->next) {
        for (const fm_front_touch *a = n->accesses; a; a = a->next) carry(f, a->array, a->subscripts);
        carry_all(f, &n->body);
        carry_all(f, &n->otherwise);
    }
}

static void make_region(fm_front *f, FILE *out)
{
    struct fm_own *own = f->own;
    fm_front_list region;
    parse_twice(f);
    fm_assumptions_read(f, own->request->assumptions);
    for (fm_assumption *a = f->assumptions; a; a = a->next)
        for (unsigned i = 0; i < 2; i++) {
            fm_amount *amount = &a->amounts[i];
            amount->form = amount->name ? parameter(f, amount->name) : fm_form_number(f, amount->number);
        }
    pick_region(f);
    fm_front_list_begin(&region);
    f->list = &region;
    own->now = fm_front_allocate(f, 1, sizeof *own->now);
    own->frame = fm_front_allocate(f, 1, sizeof *own->frame);
    own->frame->function = own->region_function;
    find_self(f);
    work_off(f, body_of(f, own->region_function));
    fm_assumptions_check(f);
    carry_all(f, &region);
    fm_front_check(f, &region);
    const fm_front_function function = {spelling(f, own->region_function), &own->region_file->shown,
                                        own->first_line, own->last_line};
    fm_front_print(f, &region, &function, out);
}

static fm_status module_region(const fm_clang_request *request, char **text, size_t *size, fm_error *error)
{
    fm_error ignored;
    const size_t bytes = sizeof(fm_front) + sizeof(struct fm_own);
    fm_front *f = calloc(1, bytes);
    *text = NULL;
    *size = 0;
    FILE *out = f ? open_memstream(text, size) : NULL;
    if (out) f->arena = fm_arena_create();
    if (!out || !f->arena) {
        if (out) fclose(out);
        free(*text);
        *text = NULL;
        free(f);
        return fm_fail_memory(error, bytes, "the front end for C and C++");
    }
    struct fm_own *own = f->own = (struct fm_own *)(f + 1);
    f->fail = module_fail;
    f->fault = module_fault;
    f->no_memory = module_no_memory;
    f->most_degree = MOST_DEGREE;
    f->most_nested = MOST_INLINE;
    f->most_nodes = MOST_NODES;
    own->request = request;
    own->error = error ? error : &ignored;
    own->plus_plus = is_plus_plus(request);
    own->index = clang_createIndex(0, 0);
    if (setjmp(own->out) == 0) make_region(f, out);
    fm_status status = own->status;
    bool written = !ferror(out);
    if (own->unit) clang_disposeTranslationUnit(own->unit);
    clang_disposeIndex(own->index);
    fm_arena_destroy(f->arena);
    free(f);
    if (fclose(out) != 0) written = false;
    if (status == FM_OK && !written) status = fm_fail_memory(error, *size, "the text of a region");
    if (status != FM_OK) {
        free(*text);
        *text = NULL;
        *size = 0;
    }
    return status;
}

__attribute__((visibility("default"))) const fm_clang_module fm_clang = {FM_CLANG_INTERFACE, module_region};

/*
 * Which function is the region, and which lines of it. By its name; by #pragma scop and endscop; or the
 * only function of the file that has loops.
 */

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

static void pick_region(fm_front *f)
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

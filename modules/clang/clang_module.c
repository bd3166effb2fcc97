/* SPDX-License-Identifier: Apache-2.0 */
/*
 * clang_module.c - the module's entry: parses the source, expands its macros, parses again, works the region
 * off, prints it. And the ways out: refuse(), give_up().
 */
#include "base/error.h"
#include "clang_maker.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

extern const fm_clang_module fm_clang;

static _Noreturn void leave(front *f, fm_status status)
{
    f->status = status;
    longjmp(f->out, 1);
}

void give_up(front *f, fm_status status, const char *format, ...)
{
    char reason[sizeof f->error->reason];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(reason, sizeof reason, format, arguments);
    va_end(arguments);
    fm_fail(f->error, status, f->request->path, "%s", reason);
    leave(f, status);
}

static _Noreturn void refuse_list(front *f, const place *where, const char *format, va_list arguments)
{
    char reason[sizeof f->error->reason];
    vsnprintf(reason, sizeof reason, format, arguments);
    if (where->file)
        fm_fail_at(f->error, FM_E_UNSUPPORTED, where->file->path, FM_PLACE_LINE, where->line, "%s", reason);
    else
        fm_fail(f->error, FM_E_UNSUPPORTED, f->request->path, "%s", reason);
    leave(f, FM_E_UNSUPPORTED);
}

void limit_at(front *f, const place *where, const char *reason)
{
    if (where && where->file)
        fm_fail_at(f->error, FM_E_LIMIT, where->file->path, FM_PLACE_LINE, where->line, "%s", reason);
    else
        fm_fail(f->error, FM_E_LIMIT, f->request->path, "%s", reason);
    leave(f, FM_E_LIMIT);
}

void refuse_at(front *f, const place *where, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    refuse_list(f, where, format, arguments);
}

void refuse(front *f, CXCursor where, const char *format, ...)
{
    place at = place_of(f, where);
    va_list arguments;
    va_start(arguments, format);
    refuse_list(f, &at, format, arguments);
}

/* ---- memory ---- */

static _Noreturn void no_memory(front *f, size_t bytes)
{
    fm_fail_memory(f->error, bytes, "the region of a source");
    leave(f, FM_E_NOMEM);
}

void *allocate(front *f, size_t count, size_t size)
{
    void *made = fm_arena_allocate(f->arena, count ? count : 1, size);
    if (!made) no_memory(f, count * size);
    return made;
}

const char *text_of(front *f, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(NULL, 0, format, arguments);
    va_end(arguments);
    char *made = allocate(f, (size_t)length + 1, 1);
    va_start(arguments, format);
    vsnprintf(made, (size_t)length + 1, format, arguments);
    va_end(arguments);
    return made;
}

const char *text_piece(front *f, const char *begin, size_t size)
{
    char *made = allocate(f, size + 1, 1);
    memcpy(made, begin, size);
    return made;
}

void note(front *f, const char *format, ...)
{
    char text[sizeof f->error->reason];
    va_list arguments;
    if (f->nowhere) return;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    text_list **end = &f->notes;
    for (; *end; end = &(*end)->next)
        if (strcmp((*end)->text, text) == 0) return;
    *end = allocate(f, 1, sizeof **end);
    (*end)->text = text_of(f, "%s", text);
}

/* ---- parsing ---- */

/* The first of the compiler's complaints. */
static void complain(front *f, CXTranslationUnit unit)
{
    unsigned count = clang_getNumDiagnostics(unit), errors = 0, line = 0;
    char path[sizeof f->error->path] = "", text[sizeof f->error->reason] = "";
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
    const char *more = errors > 1 ? text_of(f, " (and %u more)", errors - 1) : "";
    if (path[0])
        fm_fail_at(f->error, FM_E_FORMAT, path, FM_PLACE_LINE, line, "does not compile: %s%s", text, more);
    else
        fm_fail(f->error, FM_E_FORMAT, f->request->path, "does not compile: %s%s", text, more);
    leave(f, FM_E_FORMAT);
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

static const char **arguments_of(front *f, int *count)
{
    size_t given = 0, used = 0;
    while (f->request->flags && f->request->flags[given]) given++;
    const char **made = allocate(f, given + 7, sizeof *made);
    made[used++] = "-x";
    made[used++] = f->plus_plus ? "c++" : "c";
    made[used++] = f->plus_plus ? "-std=gnu++17" : "-std=gnu11";
    made[used++] = "-w";
    made[used++] = "-ferror-limit=0";
#ifdef FATHOM_CLANG_HEADERS
    if (access(FATHOM_CLANG_HEADERS "/include/stddef.h", R_OK) == 0)
        made[used++] = "-resource-dir=" FATHOM_CLANG_HEADERS;
#endif
    for (size_t i = 0; i < given; i++) made[used++] = f->request->flags[i];
    *count = (int)used;
    return made;
}

static CXTranslationUnit parse(front *f, struct CXUnsavedFile *changed, unsigned count, unsigned options)
{
    int argument_count;
    const char **arguments = arguments_of(f, &argument_count);
    CXTranslationUnit unit = NULL;
    enum CXErrorCode code = clang_parseTranslationUnit2(f->index, f->request->path, arguments, argument_count,
                                                        changed, count, options, &unit);
    if (code != CXError_Success || !unit)
        give_up(f, FM_E_FORMAT, "libclang cannot parse it (%s)",
                code == CXError_Crashed ? "it crashed" : "are the compiler's flags right?");
    return unit;
}

static void parse_twice(front *f)
{
    FILE *readable = fopen(f->request->path, "r");
    if (!readable) give_up(f, FM_E_IO, "cannot open: %s", strerror(errno));
    fclose(readable);
    f->unit = parse(f, NULL, 0, CXTranslationUnit_DetailedPreprocessingRecord);
    complain(f, f->unit);
    size_t changed = expand_macros(f, f->unit), next = 0;
    if (changed == 0) return;
    struct CXUnsavedFile *files = allocate(f, changed, sizeof *files);
    for (source_file *s = f->files; s; s = s->next)
        if (s->segments) files[next++] = (struct CXUnsavedFile){s->path, s->text, (unsigned long)s->size};
    CXTranslationUnit second = parse(f, files, (unsigned)next, 0);
    if (has_errors(second)) { /* the original is as good, but for operators inside macros */
        clang_disposeTranslationUnit(second);
        for (source_file *s = f->files; s; s = s->next) {
            s->segments = NULL;
            s->text = s->original;
            s->size = s->original_size;
        }
        return;
    }
    clang_disposeTranslationUnit(f->unit);
    f->unit = second;
}

/* ---- the entry ---- */

/* The object of a method that is the region itself: as if a pointer to it were handed over. */
static void find_self(front *f)
{
    CXCursor method = f->region_function, class = clang_getCursorSemanticParent(method);
    if (clang_getCursorKind(method) != CXCursor_CXXMethod || clang_CXXMethod_isStatic(method)) return;
    if (clang_getCursorKind(class) == CXCursor_ClassTemplate)
        refuse(f, method,
               "'%s' belongs to a template: its types are not known; --function a function that uses it",
               spelling(f, method));
    shape of = {.element = clang_getCanonicalType(clang_getCursorType(class))};
    f->frame->self = array_begin(f, array_new(f, method, "this", &of, true), &of);
    f->frame->has_self = true;
}

static void make(front *f, FILE *out)
{
    node_list region;
    parse_twice(f);
    read_assumptions(f);
    pick_region(f);
    list_begin(&region);
    f->list = &region;
    f->now = allocate(f, 1, sizeof *f->now);
    f->frame = allocate(f, 1, sizeof *f->frame);
    f->frame->function = f->region_function;
    find_self(f);
    CXCursor body = body_of(f, f->region_function);
    work_off(f, body);
    check_assumptions(f);
    tree_check(f, &region);
    region_print(f, &region, out);
}

static fm_status region(const fm_clang_request *request, char **text, size_t *size, fm_error *error)
{
    fm_error ignored;
    front *f = calloc(1, sizeof *f);
    *text = NULL;
    *size = 0;
    FILE *out = f ? open_memstream(text, size) : NULL;
    if (out) f->arena = fm_arena_create();
    if (!out || !f->arena) {
        if (out) fclose(out);
        free(*text);
        *text = NULL;
        free(f);
        return fm_fail_memory(error, sizeof *f, "the front end for C and C++");
    }
    f->request = request;
    f->error = error ? error : &ignored;
    f->plus_plus = is_plus_plus(request);
    f->arrays_end = &f->arrays;
    f->index = clang_createIndex(0, 0);
    if (setjmp(f->out) == 0) make(f, out);
    if (f->scratch) fclose(f->scratch);
    free(f->scratch_text);
    fm_status status = f->status;
    bool written = !ferror(out);
    if (f->unit) clang_disposeTranslationUnit(f->unit);
    clang_disposeIndex(f->index);
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

__attribute__((visibility("default"))) const fm_clang_module fm_clang = {FM_CLANG_INTERFACE, region};

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * clang_source.c - the source behind cursors: places, texts, operators. libclang 14 does not tell which
 * operator an expression has: the text between its operands does, once macros are expanded.
 */
#include "clang_maker.h"

#include <ctype.h>
#include <string.h>

/* ---- cursors ---- */

typedef struct collected {
    CXCursor *at;
    size_t count, room;
} collected;

static enum CXChildVisitResult count_child(CXCursor cursor, CXCursor parent, CXClientData data)
{
    (void)cursor;
    (void)parent;
    ((collected *)data)->room++;
    return CXChildVisit_Continue;
}

static enum CXChildVisitResult keep_child(CXCursor cursor, CXCursor parent, CXClientData data)
{
    collected *all = data;
    (void)parent;
    if (all->count < all->room) all->at[all->count++] = cursor;
    return CXChildVisit_Continue;
}

cursors children(fm_front *f, CXCursor cursor)
{
    collected all = {0};
    clang_visitChildren(cursor, count_child, &all);
    all.at = fm_front_allocate(f, all.room, sizeof *all.at);
    clang_visitChildren(cursor, keep_child, &all);
    return (cursors){all.count, all.at};
}

CXCursor only_child(fm_front *f, CXCursor cursor)
{
    cursors all = children(f, cursor);
    return all.count == 1 ? all.at[0] : clang_getNullCursor();
}

bool same(CXCursor left, CXCursor right)
{
    return clang_equalCursors(left, right) != 0;
}

CXCursor bare(fm_front *f, CXCursor cursor)
{
    for (;;) {
        enum CXCursorKind kind = clang_getCursorKind(cursor);
        if (kind != CXCursor_ParenExpr && kind != CXCursor_UnexposedExpr) return cursor;
        cursors all = children(f, cursor);
        if (all.count != 1 || !clang_isExpression(clang_getCursorKind(all.at[0]))) return cursor;
        cursor = all.at[0];
    }
}

const char *spelling(fm_front *f, CXCursor cursor)
{
    CXString text = clang_getCursorSpelling(cursor);
    const char *made = fm_front_text(f, "%s", clang_getCString(text) ? clang_getCString(text) : "");
    clang_disposeString(text);
    return made;
}

const char *type_name(fm_front *f, CXType type)
{
    CXString text = clang_getTypeSpelling(type);
    const char *made = fm_front_text(f, "%s", clang_getCString(text) ? clang_getCString(text) : "");
    clang_disposeString(text);
    return made;
}

bool own_source(CXCursor cursor)
{
    return !clang_Location_isInSystemHeader(clang_getCursorLocation(cursor));
}

bool constant_of(CXCursor cursor, int64_t *number)
{
    CXEvalResult result = clang_Cursor_Evaluate(cursor);
    if (!result) return false;
    bool known = clang_EvalResult_getKind(result) == CXEval_Int;
    if (known) {
        *number = clang_EvalResult_getAsLongLong(result);
        if (clang_EvalResult_isUnsignedInt(result))
            known = clang_EvalResult_getAsUnsigned(result) <= INT64_MAX;
    }
    clang_EvalResult_dispose(result);
    return known;
}

/* ---- files ---- */

static void index_lines(fm_front *f, source_file *file)
{
    size_t count = 1, next = 1;
    for (size_t i = 0; i < file->original_size; i++) count += file->original[i] == '\n';
    file->lines = fm_front_allocate(f, count, sizeof *file->lines);
    for (size_t i = 0; i < file->original_size; i++)
        if (file->original[i] == '\n') file->lines[next++] = i + 1;
    file->line_count = count;
}

static source_file *file_of(fm_front *f, CXFile file)
{
    if (!file) return NULL;
    CXString name = clang_getFileName(file);
    const char *path = clang_getCString(name);
    source_file *found = f->own->files;
    while (found && strcmp(found->shown.path, path) != 0) found = found->next;
    if (!found) {
        size_t size = 0;
        const char *text = clang_getFileContents(f->own->unit, file, &size);
        found = fm_front_allocate(f, 1, sizeof *found);
        found->shown.path = fm_front_text(f, "%s", path);
        if (text) {
            found->original = found->text = fm_front_piece(f, text, size);
            found->original_size = found->size = size;
            index_lines(f, found);
        }
        found->next = f->own->files;
        f->own->files = found;
    }
    clang_disposeString(name);
    return found;
}

static const segment *segment_at(const source_file *file, size_t offset)
{
    size_t low = 0, high = file->segment_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (file->segments[middle].end <= offset)
            low = middle + 1;
        else
            high = middle;
    }
    return low < file->segment_count && file->segments[low].begin <= offset ? &file->segments[low] : NULL;
}

void original_place(const source_file *file, size_t offset, unsigned *line, unsigned *column)
{
    const segment *piece = file->segments ? segment_at(file, offset) : NULL;
    if (piece) offset = piece->macro ? piece->from : piece->from + (offset - piece->begin);
    size_t low = 0, high = file->line_count; /* the last line that begins at or before offset */
    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;
        *(file->lines[middle] <= offset ? &low : &high) = middle;
    }
    *line = (unsigned)low + 1;
    *column = (unsigned)(offset - (file->line_count ? file->lines[low] : 0)) + 1;
}

bool extent(fm_front *f, CXCursor cursor, source_file **file, size_t *begin, size_t *end)
{
    CXSourceRange range = clang_getCursorExtent(cursor);
    CXFile first, last;
    unsigned from, to;
    clang_getFileLocation(clang_getRangeStart(range), &first, NULL, NULL, &from);
    clang_getFileLocation(clang_getRangeEnd(range), &last, NULL, NULL, &to);
    if (!first || !last || !clang_File_isEqual(first, last) || to < from) return false;
    *file = file_of(f, first);
    *begin = from;
    *end = to;
    return (*file)->text && to <= (*file)->size;
}

static fm_front_place place_at(source_file *file, size_t offset)
{
    fm_front_place made = {.file = &file->shown};
    original_place(file, offset, &made.line, &made.column);
    return made;
}

fm_front_place place_of(fm_front *f, CXCursor cursor)
{
    source_file *file;
    size_t begin, end;
    if (clang_Cursor_isNull(cursor) || !extent(f, cursor, &file, &begin, &end)) return (fm_front_place){0};
    return place_at(file, begin);
}

fm_front_place place_of_name(fm_front *f, CXCursor declaration)
{
    CXFile file;
    unsigned offset;
    clang_getFileLocation(clang_getCursorLocation(declaration), &file, NULL, NULL, &offset);
    source_file *known = file_of(f, file);
    return known ? place_at(known, offset) : (fm_front_place){0};
}

unsigned line_of(fm_front *f, CXCursor cursor)
{
    return place_of(f, cursor).line;
}

const char *source_text(fm_front *f, CXCursor cursor)
{
    enum { MOST = 200 };
    source_file *file;
    size_t begin, end, used = 0;
    if (!extent(f, cursor, &file, &begin, &end)) return "";
    char *made = fm_front_allocate(f, MOST + 4, 1);
    while (begin < end && used < MOST) {
        size_t next = skip_blank(file->text, begin, end);
        if (next > begin && used > 0) made[used++] = ' ';
        if (next < end) made[used++] = file->text[next++];
        begin = next;
    }
    if (begin < end) {
        while (used > 0 && ((unsigned char)made[used - 1] & 0xC0) == 0x80) used--; /* whole characters */
        if (used > 0 && ((unsigned char)made[used - 1] & 0x80)) used--;
        memcpy(made + used, "...", 3);
        used += 3;
    }
    made[used] = '\0';
    return made;
}

/* ---- operators ---- */

size_t skip_blank(const char *text, size_t at, size_t end)
{
    while (at < end) {
        if (strchr(" \t\r\n\f\v", text[at])) {
            at++;
        } else if (text[at] == '\\' && at + 1 < end && (text[at + 1] == '\n' || text[at + 1] == '\r')) {
            at += 2;
        } else if (text[at] == '/' && at + 1 < end && text[at + 1] == '*') {
            at += 2;
            while (at + 1 < end && !(text[at] == '*' && text[at + 1] == '/')) at++;
            at = at + 2 < end ? at + 2 : end;
        } else if (text[at] == '/' && at + 1 < end && text[at + 1] == '/') {
            while (at < end && text[at] != '\n') at++;
        } else {
            break;
        }
    }
    return at;
}

static const char *operator_in(fm_front *f, const source_file *file, size_t begin, size_t end)
{
    size_t at = skip_blank(file->text, begin, end), last = at;
    while (last < end && skip_blank(file->text, last, end) == last) last++;
    if (skip_blank(file->text, last, end) != end) return ""; /* more than one word */
    return last > at && last - at <= 3 ? fm_front_piece(f, file->text + at, last - at) : "";
}

const char *operator_between(fm_front *f, CXCursor left, CXCursor right)
{
    source_file *file, *other;
    size_t begin, end, ignored;
    if (!extent(f, left, &file, &ignored, &begin) || !extent(f, right, &other, &end, &ignored)) return "";
    return file == other && begin < end ? operator_in(f, file, begin, end) : "";
}

const char *operator_before(fm_front *f, CXCursor whole, CXCursor operand)
{
    source_file *file, *other;
    size_t begin, end, ignored;
    if (!extent(f, whole, &file, &begin, &ignored) || !extent(f, operand, &other, &end, &ignored)) return "";
    return file == other && begin < end ? operator_in(f, file, begin, end) : "";
}

const char *operator_behind(fm_front *f, CXCursor whole, CXCursor operand)
{
    source_file *file, *other;
    size_t begin, end, ignored;
    if (!extent(f, whole, &file, &ignored, &end) || !extent(f, operand, &other, &ignored, &begin)) return "";
    return file == other && begin < end ? operator_in(f, file, begin, end) : "";
}

/*
 * Expands the macros of the user's files in their texts, so that the second parse shows every operator
 * where it is. libclang gives all parts of an expanded macro one and the same place.
 *
 * What is not expanded here the compiler expands as ever: macros with # or ##, with any number of
 * arguments, macros of one word, all that is in directives. assert(x) becomes __builtin_assume(x).
 */

typedef struct macro {
    struct macro *next; /* defined before */
    const char *name;
    bool call; /* has parameters */
    size_t parameter_count;
    const char **parameters;
    const char *body;
    bool usable, busy;
} macro;

typedef struct use {
    source_file *file;
    size_t begin, end;
    const macro *of;
} use;

typedef struct expander {
    fm_front *f;
    CXTranslationUnit unit;
    macro *macros;
    use *uses;
    size_t use_count, use_room;
    unsigned depth;
    size_t made;
} expander;

typedef struct text_buffer {
    fm_front *f;
    char *bytes;
    size_t size, room;
} text_buffer;

enum { MOST_DEPTH = 40, MOST_TEXT = 1 << 24 };

static void buffer_put(text_buffer *b, const char *bytes, size_t size)
{
    if (b->size + size + 1 > b->room) {
        size_t room = 2 * (b->size + size) + 64;
        if (room > MOST_TEXT) give_up(b->f, FM_E_LIMIT, "its macros become too long a text");
        char *bigger = fm_front_allocate(b->f, room, 1);
        if (b->size) memcpy(bigger, b->bytes, b->size);
        b->bytes = bigger;
        b->room = room;
    }
    if (size) memcpy(b->bytes + b->size, bytes, size);
    b->size += size;
    b->bytes[b->size] = '\0';
}

static bool is_word_start(char c)
{
    return isalpha((unsigned char)c) || c == '_';
}

/* The end of the token that begins at `at`: a word, a number, a text in quotes, or one character. */
static size_t token_end(const char *text, size_t at, size_t end)
{
    char first = text[at];
    if (is_word_start(first)) {
        while (at < end && (isalnum((unsigned char)text[at]) || text[at] == '_')) at++;
        return at;
    }
    if (isdigit((unsigned char)first)) {
        while (at < end && (isalnum((unsigned char)text[at]) || text[at] == '_' || text[at] == '.' ||
                            ((text[at] == '+' || text[at] == '-') && strchr("eEpP", text[at - 1]))))
            at++;
        return at;
    }
    if (first == '"' || first == '\'') {
        for (at++; at < end && text[at] != first && text[at] != '\n'; at++)
            if (text[at] == '\\') at++;
        return at < end ? at + 1 : end;
    }
    return at + 1;
}

/* ---- definitions ---- */

static const char *without_ends(fm_front *f, const char *text, size_t size)
{
    char *made = fm_front_allocate(f, size + 1, 1);
    size_t used = 0, at = 0;
    while (at < size) {
        size_t next = skip_blank(text, at, size);
        if (next > at) made[used++] = ' ';
        if (next >= size) break;
        size_t end = token_end(text, next, size);
        memcpy(made + used, text + next, end - next);
        used += end - next;
        at = end;
    }
    while (used > 0 && made[used - 1] == ' ') used--;
    made[used] = '\0';
    return made;
}

static void read_parameters(fm_front *f, macro *m, const char **at)
{
    const char *text = *at + 1;
    size_t room = 1;
    for (const char *c = text; *c && *c != ')'; c++) room += *c == ',';
    m->parameters = fm_front_allocate(f, room, sizeof *m->parameters);
    while (*text && *text != ')') {
        text += strspn(text, " ,");
        size_t length = strcspn(text, " ,)");
        if (length == 0) break;
        if (text[0] == '.' || (length > 3 && strcmp(text + length - 3, "...") == 0)) m->usable = false;
        m->parameters[m->parameter_count++] = fm_front_piece(f, text, length);
        text += length;
    }
    text += strspn(text, " ");
    *at = *text == ')' ? text + 1 : text;
}

static bool one_word(const char *body)
{
    return body[0] == '\0' || token_end(body, 0, strlen(body)) == strlen(body);
}

/* text: NAME BODY, or NAME(PARAMETERS) BODY */
static macro *define_text(fm_front *f, const char *text, bool call)
{
    size_t name = token_end(text, 0, strlen(text));
    macro *m = fm_front_allocate(f, 1, sizeof *m);
    m->name = fm_front_piece(f, text, name);
    m->usable = true;
    const char *rest = text + name;
    m->call = call;
    if (m->call) {
        if (*rest != '(') return NULL;
        read_parameters(f, m, &rest);
    }
    m->body = rest + strspn(rest, " ");
    if (strchr(m->body, '#') || (!m->call && one_word(m->body))) m->usable = false;
    if (strcmp(m->name, "assert") == 0 && m->call && m->parameter_count == 1) {
        m->body = fm_front_text(f, "__builtin_assume(%s)", m->parameters[0]);
        m->usable = true;
    }
    return m;
}

static macro *define_macro(expander *e, CXCursor definition)
{
    fm_front *f = e->f;
    source_file *file;
    size_t begin, end;
    if (clang_Cursor_isMacroBuiltin(definition) || !extent(f, definition, &file, &begin, &end)) return NULL;
    return define_text(f, without_ends(f, file->text + begin, end - begin),
                       clang_Cursor_isMacroFunctionLike(definition) != 0);
}

/* -DNAME=BODY, -D NAME=BODY, -D'NAME(X)=BODY' */
static void define_by_flags(expander *e)
{
    const char *const *flags = e->f->own->request->flags;
    for (size_t i = 0; flags && flags[i]; i++) {
        if (strncmp(flags[i], "-D", 2) != 0) continue;
        const char *text = flags[i][2] ? flags[i] + 2 : flags[i + 1] ? flags[++i] : "";
        const char *equals = strchr(text, '=');
        if (!equals || !is_word_start(text[0])) continue;
        char *spaced = fm_front_allocate(e->f, strlen(text) + 1, 1);
        memcpy(spaced, text, strlen(text) + 1);
        spaced[equals - text] = ' ';
        macro *m = define_text(e->f, without_ends(e->f, spaced, strlen(spaced)), equals[-1] == ')');
        if (!m) continue;
        m->next = e->macros;
        e->macros = m;
    }
}

/* ---- expansion ---- */

static void expand_text(expander *e, const char *text, size_t size, text_buffer *out);

static macro *find_macro(const expander *e, const char *name, size_t length)
{
    for (macro *m = e->macros; m; m = m->next)
        if (strncmp(m->name, name, length) == 0 && m->name[length] == '\0') return m;
    return NULL;
}

enum { MOST_ARGUMENTS = 32 };
typedef struct argument_list {
    size_t count;
    const char *text[MOST_ARGUMENTS];
    size_t size[MOST_ARGUMENTS];
} argument_list;

/* at: behind the macro's name. Returns where the call ends, or 0 where there is none. */
static size_t read_arguments(const char *text, size_t at, size_t end, argument_list *list)
{
    unsigned depth = 0;
    at = skip_blank(text, at, end);
    if (at >= end || text[at] != '(') return 0;
    size_t begin = ++at;
    list->count = 0;
    for (; at < end; at = skip_blank(text, at, end)) {
        char c = text[at];
        if (depth == 0 && (c == ',' || c == ')')) {
            if (list->count == MOST_ARGUMENTS) return 0;
            list->text[list->count] = text + begin;
            list->size[list->count++] = at - begin;
            begin = at + 1;
            if (c == ')') return at + 1;
        }
        depth += c == '(';
        depth -= c == ')';
        at = token_end(text, at, end);
    }
    return 0;
}

static void put_body(expander *e, const macro *m, const text_buffer *arguments, text_buffer *out)
{
    size_t size = strlen(m->body), at = 0;
    text_buffer replaced = {.f = e->f};
    while (at < size) {
        size_t end = token_end(m->body, at, size), which = 0;
        while (which < m->parameter_count && !(strlen(m->parameters[which]) == end - at &&
                                               strncmp(m->parameters[which], m->body + at, end - at) == 0))
            which++;
        if (which < m->parameter_count)
            buffer_put(&replaced, arguments[which].size ? arguments[which].bytes : "", arguments[which].size);
        else
            buffer_put(&replaced, m->body + at, end - at);
        at = end;
    }
    expand_text(e, replaced.size ? replaced.bytes : "", replaced.size, out);
}

/* The macro's name is at [at, behind). Returns where its use ends; 0: not expanded. */
static size_t expand_one(expander *e, macro *m, const char *text, size_t behind, size_t end, text_buffer *out)
{
    argument_list list = {0};
    text_buffer arguments[MOST_ARGUMENTS] = {0};
    if (!m->usable || m->busy || e->depth >= MOST_DEPTH) return 0;
    size_t next = behind;
    if (m->call) {
        next = read_arguments(text, behind, end, &list);
        if (next == 0) return 0;
        if (m->parameter_count == 0 && list.count == 1) list.count = 0;
        if (list.count != m->parameter_count) return 0;
    }
    e->depth++;
    for (size_t i = 0; i < list.count; i++) {
        arguments[i].f = e->f;
        const char *trimmed = without_ends(e->f, list.text[i], list.size[i]);
        trimmed += strspn(trimmed, " ");
        expand_text(e, trimmed, strlen(trimmed), &arguments[i]);
    }
    m->busy = true;
    put_body(e, m, arguments, out);
    m->busy = false;
    e->depth--;
    return next;
}

static void expand_text(expander *e, const char *text, size_t size, text_buffer *out)
{
    size_t at = 0;
    while (at < size) {
        size_t next = skip_blank(text, at, size);
        if (next > at) buffer_put(out, " ", 1);
        if (next >= size) return;
        size_t end = token_end(text, next, size), behind = 0;
        macro *m = is_word_start(text[next]) ? find_macro(e, text + next, end - next) : NULL;
        if (m) behind = expand_one(e, m, text, end, size, out);
        if (behind == 0) buffer_put(out, text + next, end - next);
        at = behind ? behind : end;
    }
}

/* ---- files ---- */

static bool in_directive(const source_file *file, size_t at)
{
    size_t line = at;
    while (line > 0 && !(file->text[line - 1] == '\n' && !(line > 1 && file->text[line - 2] == '\\'))) line--;
    while (line < at && (file->text[line] == ' ' || file->text[line] == '\t')) line++;
    return line < file->size && file->text[line] == '#';
}

typedef struct visitor {
    CXCursor *at;
    size_t count, room;
} visitor;

static enum CXChildVisitResult visit_macros(CXCursor cursor, CXCursor parent, CXClientData data)
{
    visitor *v = data;
    enum CXCursorKind kind = clang_getCursorKind(cursor);
    (void)parent;
    if (kind != CXCursor_MacroDefinition && kind != CXCursor_MacroExpansion) return CXChildVisit_Continue;
    if (kind == CXCursor_MacroExpansion && !own_source(cursor)) return CXChildVisit_Continue;
    if (v->at) v->at[v->count] = cursor;
    v->count++;
    return CXChildVisit_Continue;
}

static void expand_file(expander *e, source_file *file)
{
    text_buffer out = {.f = e->f};
    size_t at = 0;
    file->segments = fm_front_allocate(e->f, 2 * e->use_count + 1, sizeof *file->segments);
    for (size_t i = 0; i < e->use_count; i++) {
        const use *u = &e->uses[i];
        if (u->file != file || u->begin < at || in_directive(file, u->begin)) continue;
        text_buffer made = {.f = e->f};
        size_t name = token_end(file->text, u->begin, file->size);
        macro *m = (macro *)(uintptr_t)u->of;
        size_t behind = expand_one(e, m, file->text, name, file->size, &made);
        if (behind == 0) continue;
        segment *before = &file->segments[file->segment_count++];
        *before = (segment){out.size, out.size + (u->begin - at), at, false};
        buffer_put(&out, file->text + at, u->begin - at);
        segment *here = &file->segments[file->segment_count++];
        here->begin = out.size;
        buffer_put(&out, " ", 1);
        buffer_put(&out, made.size ? made.bytes : "", made.size);
        buffer_put(&out, " ", 1);
        for (size_t k = u->begin; k < behind; k++) /* lines keep their numbers */
            if (file->text[k] == '\n') buffer_put(&out, "\n", 1);
        here->end = out.size;
        here->from = u->begin;
        here->macro = true;
        at = behind;
    }
    if (file->segment_count == 0) {
        file->segments = NULL;
        return;
    }
    file->segments[file->segment_count++] = (segment){out.size, out.size + (file->size - at) + 1, at, false};
    buffer_put(&out, file->text + at, file->size - at);
    file->text = out.bytes;
    file->size = out.size;
    e->made++;
}

size_t expand_macros(fm_front *f, CXTranslationUnit unit)
{
    expander e = {.f = f, .unit = unit};
    visitor v = {0};
    CXCursor root = clang_getTranslationUnitCursor(unit);
    clang_visitChildren(root, visit_macros, &v);
    v.at = fm_front_allocate(f, v.count, sizeof *v.at);
    v.count = 0;
    clang_visitChildren(root, visit_macros, &v);
    e.uses = fm_front_allocate(f, v.count, sizeof *e.uses);
    /* Only macros that the user's files use, by themselves or through others: what a header of the
     * system defines beyond that is none of ours. */
    define_by_flags(&e);
    for (size_t i = 0; i < v.count; i++) {
        if (clang_getCursorKind(v.at[i]) != CXCursor_MacroDefinition || !own_source(v.at[i])) continue;
        macro *m = define_macro(&e, v.at[i]);
        if (!m) continue;
        m->next = e.macros;
        e.macros = m;
    }
    for (size_t i = 0; i < v.count; i++) {
        if (clang_getCursorKind(v.at[i]) != CXCursor_MacroExpansion) continue;
        use *u = &e.uses[e.use_count];
        CXCursor definition = clang_getCursorReferenced(v.at[i]);
        if (clang_Cursor_isNull(definition) || !extent(f, v.at[i], &u->file, &u->begin, &u->end)) continue;
        u->of = find_macro(&e, spelling(f, v.at[i]), strlen(spelling(f, v.at[i])));
        macro *again =
            define_macro(&e, definition); /* the one that holds there: a name may be defined again */
        if (again) u->of = again;
        if (u->of && u->of->usable) e.use_count++;
    }
    for (source_file *s = f->own->files; s; s = s->next)
        if (e.use_count > 0) expand_file(&e, s);
    return e.made;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * clang_source.c - the source behind cursors: places, texts, operators. libclang 14 does not tell which
 * operator an expression has: the text between its operands does, once macros are expanded.
 */
#include "clang_maker.h"

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

source_file *file_of(fm_front *f, CXFile file)
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

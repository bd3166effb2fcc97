/* SPDX-License-Identifier: Apache-2.0 */
/* lines.c - lines, pieces of files, and imports of them. */
#define _GNU_SOURCE
#include "trace/lines/lines.h"

#include "base/error.h"
#include "base/memory.h"
#include "base/plain_text.h"
#include "trace/format.h"
#include "trace/lines/text_kernels.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ======== lines ======== */

/* Two of the longest records, each with room to read a good piece behind it: see fm_lines_more_of. One byte
 * more for a missing last '\n'. */
enum { CAPACITY = FM_LINES_AHEAD + FM_LINE_MAX + FM_LINES_PIECE + 1 };

/* Marks of the encoding at the beginning are no part of the first line. Some programs put one more before
 * that of another. */
static fm_status pass_byte_order_marks(fm_lines *lines, fm_error *error)
{
    const uint8_t *bytes;
    size_t count, length, passed = 0, got;
    fm_stream_peek(lines->stream, &bytes, &count);
    do {
        fm_status status = fm_byte_order_mark(bytes + passed, count - passed, lines->name, &length, error);
        if (status != FM_OK && error) error->offset = passed;
        if (status != FM_OK) return status;
        passed += length;
    } while (length > 0);
    unsigned char marks[FM_STREAM_PEEK];
    return fm_stream_read_full(lines->stream, marks, passed, &got, error);
}

fm_status fm_lines_open(fm_lines *lines, fm_stream *stream, const char *name, bool quotes, fm_error *error)
{
    memset(lines, 0, sizeof *lines);
    lines->quotes = quotes;
    lines->stream = stream;
    lines->name = name;
    lines->line = 1;
    lines->memory = calloc(1, CAPACITY + 1 + 2 * FM_TEXT_MARGIN);
    if (!lines->memory) return fm_fail_memory(error, CAPACITY + 1, "lines of text");
    lines->buffer = lines->memory + FM_TEXT_MARGIN;
    return pass_byte_order_marks(lines, error);
}

static fm_status too_long(fm_lines *lines, size_t record, fm_error *error)
{
    uint64_t line = lines->line;
    for (const char *c = lines->buffer + lines->at, *end = lines->buffer + record;
         (c = memchr(c, '\n', (size_t)(end - c))); c++)
        line++;
    lines->too_long = true;
    lines->whole = record; /* what is before it can be read */
    fm_fail_at(&lines->error, FM_E_FORMAT, lines->name, FM_PLACE_LINE, line,
               "longer than %u bytes; is this really a text format?", FM_LINE_MAX);
    if (error) *error = lines->error;
    return FM_E_FORMAT;
}

/* ---- how lines end ---- */

/* '\r' for '\n' and the other way round. */
static void exchange_ends(char *from, const char *end)
{
    for (; from < end; from++) *from = *from == '\r' ? '\n' : *from == '\n' ? '\r' : *from;
}

/* Looks for the first end in what has been read. A run of carriage returns may have a line feed behind it. */
static void learn_ends(fm_lines *lines)
{
    const char *buffer = lines->buffer;
    for (; lines->looked < lines->filled; lines->looked++) {
        const char c = buffer[lines->looked];
        if (c == '\n') lines->ends = FM_LINE_ENDS_FEED;
        if (c == '\n') return;
        if (c == '"' && lines->quotes) lines->quoted = !lines->quoted;
        if (c != '\r' || lines->quoted) continue;
        size_t behind = lines->looked + 1;
        while (behind < lines->filled && buffer[behind] == '\r') behind++;
        if (behind == lines->filled) return;
        lines->ends = buffer[behind] == '\n' ? FM_LINE_ENDS_FEED : FM_LINE_ENDS_RETURN;
        return;
    }
}

/* After bytes were read behind `old`. */
static void settle_ends(fm_lines *lines, size_t old)
{
    if (lines->ends == FM_LINE_ENDS_UNKNOWN) {
        learn_ends(lines);
        old = 0;
    }
    if (lines->ends == FM_LINE_ENDS_RETURN) exchange_ends(lines->buffer + old, lines->buffer + lines->filled);
}

fm_status fm_line_mixed(const char *name, uint64_t line, fm_error *error)
{
    return fm_fail_at(error, FM_E_FORMAT, name, FM_PLACE_LINE, line,
                      "lines end in different ways, some in a line feed and some in a carriage return alone; "
                      "tr '\\r' '\\n' makes them one");
}

fm_status fm_lines_more_of(fm_lines *lines, size_t record, fm_error *error)
{
    if (lines->too_long) {
        if (error) *error = lines->error;
        return FM_E_FORMAT;
    }
    if (lines->at > 0) {
        memmove(lines->buffer, lines->buffer + lines->at, lines->filled - lines->at);
        lines->whole -= lines->at;
        lines->filled -= lines->at;
        record -= lines->at;
        lines->at = 0;
    }
    while (!lines->ended) {
        if (lines->filled - record > FM_LINE_MAX) return too_long(lines, record, error);
        size_t got;
        fm_status status =
            fm_stream_read(lines->stream, lines->buffer + lines->filled, FM_LINES_PIECE, &got, error);
        if (status != FM_OK) return status;
        size_t old = lines->filled;
        lines->filled += got;
        if (got == 0) {
            lines->ended = true;
            if (lines->filled > lines->whole) lines->buffer[lines->filled++] = '\n';
            lines->whole = lines->filled;
            return FM_OK;
        }
        const size_t searched = lines->ends == FM_LINE_ENDS_UNKNOWN ? 0 : old;
        settle_ends(lines, old);
        const char *last = memrchr(lines->buffer + searched, '\n', lines->filled - searched);
        if (last) {
            lines->whole = (size_t)(last - lines->buffer) + 1;
            /* Only the record's first line can be too long: the others came in one piece. */
            if (lines->whole - record > FM_LINE_MAX + 1 &&
                !memchr(lines->buffer + record, '\n', FM_LINE_MAX + 1))
                return too_long(lines, record, error);
            return FM_OK;
        }
    }
    return FM_OK;
}

fm_status fm_lines_more(fm_lines *lines, fm_error *error)
{
    return fm_lines_more_of(lines, lines->at, error);
}

void fm_lines_go_on(fm_lines *lines, const char *bytes, size_t count, uint64_t line)
{
    memcpy(lines->buffer, bytes, count);
    const char *last = memrchr(lines->buffer, '\n', count);
    lines->at = 0;
    lines->whole = last ? (size_t)(last - lines->buffer) + 1 : 0;
    lines->filled = count;
    lines->line = line;
    lines->ended = false;
}

void fm_lines_close(fm_lines *lines)
{
    free(lines->memory);
    lines->memory = lines->buffer = NULL;
}

char *fm_text_quote(const char *from, size_t length, char *buffer, size_t size)
{
    enum { SHOWN = 40 };
    size_t used = 0, at = 0;
    while (length > 0 && from[length - 1] == '\r') length--;
    for (; at < length && at < SHOWN && used + 8 < size; at++) {
        unsigned char c = (unsigned char)from[at];
        if (c >= 32 && c < 127)
            buffer[used++] = (char)c;
        else
            used += (size_t)snprintf(buffer + used, size - used, "\\x%02x", c);
    }
    snprintf(buffer + used, size - used, "%s", at < length ? "..." : "");
    return buffer;
}

char *fm_line_quote(const char *from, char *buffer, size_t size)
{
    return fm_text_quote(from, strcspn(from, "\n"), buffer, size);
}

/* ======== pieces ======== */

/* The byte before the piece, and the longest line that may begin at its end, read in steps. */
enum { STEP = 4096, ROOM = 1 + FM_PIECE_BYTES + FM_LINE_MAX + STEP };

fm_status fm_line_piece_init(fm_line_piece *piece, unsigned columns, fm_error *error)
{
    /* Of the memory, what no line needs is never touched. */
    piece->memory = calloc(1, ROOM + 2 * FM_TEXT_MARGIN);
    if (!piece->memory) return fm_fail_memory(error, ROOM, "reading by several threads");
    piece->text = piece->memory + FM_TEXT_MARGIN;
    return fm_columns_allocate(&piece->columns, columns, error);
}

void fm_line_piece_clear(fm_line_piece *piece)
{
    free(piece->memory);
    fm_columns_free(&piece->columns);
    fm_string_list_free(&piece->strings);
}

fm_status fm_line_piece_parse(fm_line_piece *piece, const fm_line_parser *parser, const char *name,
                              uint64_t line, fm_error *error)
{
    fm_line_window window = {.at = piece->text,
                             .end = piece->text + piece->size,
                             .line = line,
                             .name = name,
                             .strings = &piece->strings};
    piece->columns.count = 0;
    piece->strings.count = 0;
    const fm_status status = parser->parse(parser->settings, &window, &piece->columns, error);
    piece->lines = window.line - line;
    piece->sound = status == FM_OK && window.at == window.end;
    return status;
}

/* How much of the text is whole lines, when the line at its end goes on at `offset` of the file. Reads on up
 * to its end; where that is the file's, it is left. 0: it cannot be had, or is too long. */
static size_t find_line_end(char *text, size_t have, const fm_input *input, uint64_t offset)
{
    const char *before = memrchr(text, '\n', have);
    const size_t line = before ? (size_t)(before - text) + 1 : 0; /* where it begins */
    for (size_t end = have; end - line <= FM_LINE_MAX; end += STEP, offset += STEP) {
        const size_t step = input->total - offset < STEP ? (size_t)(input->total - offset) : STEP;
        if (!fm_input_read_at(input, text + end, step, offset)) return 0;
        const char *newline = memchr(text + end, '\n', step);
        if (newline) return (size_t)(newline - text) - line <= FM_LINE_MAX ? (size_t)(newline - text) + 1 : 0;
        if (step < STEP) return line;
    }
    return 0;
}

void fm_line_piece_read(fm_line_piece *piece, const fm_input *input, uint64_t first, uint64_t from,
                        uint64_t to, const fm_line_parser *parser)
{
    fm_error error;
    char *memory = piece->memory + FM_TEXT_MARGIN;
    const uint64_t before = from > first; /* whether the byte before it tells where a line begins */
    const size_t size = (size_t)(to - from + before);
    *piece = (fm_line_piece){.memory = piece->memory, .columns = piece->columns, .strings = piece->strings};
    piece->columns.count = 0;
    piece->strings.count = 0;
    if (!fm_input_read_at(input, memory, size, from - before)) return;
    const char *newline = before ? memchr(memory, '\n', size) : memory - 1;
    piece->whole = piece->sound = true;
    if (!newline || newline == memory + size - 1) return; /* no line begins in it */
    piece->text = memory + (newline - memory) + 1;
    const size_t end = memory[size - 1] == '\n' ? size : find_line_end(memory, size, input, to);
    const size_t begin = (size_t)(piece->text - memory);
    if (end == begin && end > 0) return; /* only what is left */
    piece->whole = piece->sound = end > begin && !(parser->quotes && memchr(piece->text, '"', end - begin));
    if (!piece->whole) return;
    piece->size = end - begin;
    piece->end = from - before + end;
    (void)fm_line_piece_parse(piece, parser, input->name, 1, &error); /* in order, it is said */
}

/* ======== imports ======== */

/* The first two lines into the buffer, or one of a pipe, whose writer may take its time. A failure is met
 * again when lines are read. */
static void look_at_beginning(fm_lines *lines)
{
    fm_error error;
    fm_status status = fm_lines_more(lines, &error);
    while (status == FM_OK && lines->stream->input.seekable && !lines->ended &&
           !memchr(lines->buffer + lines->at, '\n', lines->whole - lines->at - 1))
        status = fm_lines_more_of(lines, lines->whole, &error);
}

fm_status fm_line_import_open(fm_import *import, size_t size, fm_line_parser parser,
                              const fm_reader_options *options, fm_error *error)
{
    fm_line_import *self = import->state = fm_calloc(1, size);
    if (!self) return fm_fail_memory(error, size, "a trace reader");
    self->parser = parser;
    self->threads = options->threads < FM_LINE_THREADS_MOST ? options->threads : FM_LINE_THREADS_MOST;
    import->threaded = self->threads > 1;
    self->alone = !import->threaded;
    const fm_status status = fm_lines_open(&self->lines, import->stream, import->name, parser.quotes, error);
    if (status == FM_OK) look_at_beginning(&self->lines);
    if (self->lines.ends == FM_LINE_ENDS_RETURN) { /* pieces know line feeds only */
        self->alone = true;
        import->threaded = false;
    }
    return status;
}

void fm_line_import_close(fm_import *import)
{
    fm_line_import *self = import->state;
    if (!self) return;
    fm_line_ahead_stop(self->ahead);
    fm_line_share_stop(self->share);
    fm_lines_close(&self->lines);
    fm_string_keys_free(&self->strings);
    fm_string_list_free(&self->seen);
    free(self);
    import->state = NULL;
}

/* By one thread: until there is a batch of references, or no more; or, where others read on, no more in the
 * buffer. */
static fm_status read_alone(fm_line_import *self, fm_columns *columns, fm_error *error)
{
    fm_lines *lines = &self->lines;
    bool unfinished = false;
    columns->count = 0;
    while (columns->count < FM_BATCH_MAX) {
        if (lines->at == lines->whole && columns->count > 0 && !self->alone) break;
        if (lines->at == lines->whole || unfinished) {
            const size_t before = lines->whole - lines->at;
            fm_status status = fm_lines_more(lines, error);
            if (status != FM_OK) return status;
            if (lines->whole == before && unfinished)
                return fm_fail_at(error, FM_E_FORMAT, lines->name, FM_PLACE_LINE, lines->line,
                                  "a quoted field is not closed before the end of the file");
            if (lines->whole == before) break; /* nothing came */
        }
        fm_line_window window = {.at = lines->buffer + lines->at,
                                 .end = lines->buffer + lines->whole,
                                 .line = lines->line,
                                 .name = lines->name,
                                 .strings = &self->seen};
        fm_status status = self->parser.parse(self->parser.settings, &window, columns, error);
        unfinished = window.unfinished;
        lines->at = (size_t)(window.at - lines->buffer);
        lines->line = window.line;
        if (status != FM_OK) return status;
    }
    return FM_OK;
}

/* By several. *over: there are no references to be had in this way any more. */
static fm_status read_ahead(fm_import *import, fm_columns *columns, bool *over, fm_error *error)
{
    fm_line_import *self = import->state;
    fm_status status = FM_OK;
    if (!self->ahead)
        status = fm_line_ahead_start(&self->ahead, &self->lines, &self->parser, import->info.columns,
                                     self->threads, error);
    import->reads_itself = status == FM_OK;
    do {
        if (status != FM_OK) return status;
        status = fm_line_ahead_next(self->ahead, columns, &self->seen, &import->info.bytes_read, over, error);
    } while (!*over && (columns->count == 0 || status != FM_OK));
    if (!*over) return status;
    import->reads_itself = false;
    self->alone = true;
    status = fm_line_ahead_rest(self->ahead, &self->lines, error);
    fm_line_ahead_stop(self->ahead);
    self->ahead = NULL;
    return status;
}

static fm_status read_references(fm_import *import, fm_columns *columns, fm_error *error)
{
    fm_line_import *self = import->state;
    if (self->share) {
        fm_status status = fm_line_share_rest(self->share, &self->lines, error);
        fm_line_share_stop(self->share);
        self->share = NULL;
        self->alone = true;
        if (status != FM_OK) return status;
    }
    /* What is in the buffer comes first. */
    if (!self->alone && self->lines.at == self->lines.whole && !self->lines.ended) {
        bool over;
        fm_status status = read_ahead(import, columns, &over, error);
        if (status != FM_OK || !over) return status;
    }
    return read_alone(self, columns, error);
}

fm_status fm_line_import_read(fm_import *import, fm_columns *columns, fm_error *error)
{
    fm_line_import *self = import->state;
    fm_error other;
    columns->count = 0;
    fm_status status = read_references(import, columns, error);
    fm_status noted = fm_string_keys_note_all(&self->strings, &self->seen, status == FM_OK ? error : &other);
    import->info.string_keys = self->strings.used;
    import->info.string_collisions = self->strings.collisions;
    return status == FM_OK ? noted : status;
}

fm_status fm_line_import_share(fm_import *import, unsigned workers, fm_fetches fetches, bool sites,
                               fm_supply *supply, fm_error *error)
{
    fm_line_import *self = import->state;
    (void)sites; /* lines have none */
    return fm_line_share_start(&self->share, &self->lines, &self->parser, import->info.columns, workers,
                               fetches, supply, error);
}

void fm_line_import_shared(const fm_import *import, uint64_t *skipped, uint64_t *fetched)
{
    const fm_line_import *self = import->state;
    fm_line_share_counts(self->share, skipped, fetched);
}

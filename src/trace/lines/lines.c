/* SPDX-License-Identifier: Apache-2.0 */
/* lines.c - see lines.h. */
#define _GNU_SOURCE
#include "trace/lines/lines.h"

#include "base/error.h"
#include "base/memory.h"
#include "base/plain_text.h"
#include "trace/import/text_kernels.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

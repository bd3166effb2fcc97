/* SPDX-License-Identifier: Apache-2.0 */
/*
 * import_text.c - text traces: one key a line. A decimal number or 0x and hexadecimal digits is itself;
 * anything else, numbers beyond 64 bits included, is a string and hashed (string_keys.h). Blanks around a
 * key, a '\r' and empty lines do not count. There is no comment syntax: every character may be in a key.
 */
#include "base/error.h"
#include "base/memory.h"
#include "trace/format.h"
#include "trace/lines.h"
#include "trace/numbers.h"
#include "trace/string_keys.h"

#include <stdlib.h>
#include <string.h>

typedef struct text_state {
    fm_lines lines;
    fm_string_keys strings;
} text_state;

static fm_status text_open(fm_import *import, const fm_reader_options *options, fm_error *error)
{
    (void)options;
    text_state *state = import->state = fm_calloc(1, sizeof *state);
    if (!state) return fm_fail_memory(error, sizeof *state, "a trace reader");
    return fm_lines_open(&state->lines, import->stream, import->name, error);
}

static void text_close(fm_import *import)
{
    text_state *state = import->state;
    if (!state) return;
    fm_lines_close(&state->lines);
    fm_string_keys_free(&state->strings);
    free(state);
}

static bool blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\v' || c == '\f';
}

/* The slow path: whatever is not digits up to the line's end. *keyless: an empty line. */
static fm_status other_key(fm_import *import, text_state *state, const char *from, const char *end,
                           uint64_t *key, bool *keyless, fm_error *error)
{
    while (from < end && blank(*from)) from++;
    while (end > from && blank(end[-1])) end--;
    *keyless = from == end;
    if (*keyless) return FM_OK;
    const char *stop = NULL;
    if (end - from > 2 && from[0] == '0' && (from[1] | 32) == 'x')
        stop = fm_parse_hex(from + 2, key);
    else
        stop = fm_parse_decimal(from, key);
    if (stop == end) return FM_OK;
    if (memchr(from, 0, (size_t)(end - from)))
        return fm_fail_at(error, FM_E_FORMAT, import->name, FM_PLACE_LINE, state->lines.line,
                          "expected a key, found a zero byte; is this a binary trace?");
    return fm_string_keys_add(&state->strings, from, (size_t)(end - from), key, error);
}

static fm_status text_read(fm_import *import, fm_columns *columns, fm_error *error)
{
    text_state *state = import->state;
    fm_lines *lines = &state->lines;
    fm_status status = FM_OK;
    size_t count = 0;
    while (count < FM_BATCH_MAX && status == FM_OK) {
        if (lines->at == lines->whole) {
            status = fm_lines_more(lines, error);
            if (status != FM_OK || lines->at == lines->whole) break;
        }
        const char *at = lines->buffer + lines->at, *end = lines->buffer + lines->whole;
        uint64_t line = lines->line;
        while (at < end && count < FM_BATCH_MAX) {
            uint64_t key = 0;
            const char *stop = fm_parse_decimal(at, &key);
            if (stop && *stop == '\n') {
                columns->address[count++] = key;
                at = stop + 1;
            } else if (stop && stop[0] == '\r' && stop[1] == '\n') {
                columns->address[count++] = key;
                at = stop + 2;
            } else {
                const char *newline = memchr(at, '\n', (size_t)(end - at));
                bool keyless;
                lines->line = line;
                status = other_key(import, state, at, newline, &key, &keyless, error);
                if (status != FM_OK) break;
                if (!keyless) columns->address[count++] = key;
                at = newline + 1;
            }
            line++;
        }
        lines->line = line;
        lines->at = (size_t)(at - lines->buffer);
    }
    columns->count = count;
    import->info.string_keys = state->strings.used;
    import->info.string_collisions = state->strings.collisions;
    return status;
}

static fm_status text_write(fm_export *export, const fm_batch *batch, fm_error *error)
{
    for (size_t i = 0; i < batch->count; i++) {
        char *room = fm_sink_room(export->sink, 32, error);
        if (!room) return error->status;
        char *end = fm_print_decimal(room, batch->address[i]);
        *end++ = '\n';
        fm_sink_advance(export->sink, (size_t)(end - room));
    }
    return FM_OK;
}

const fm_format fm_format_text = {
    .info = {.name = "text",
             .endings = ".txt .text",
             .summary = "one key a line: decimal, 0x hexadecimal, or any string",
             .memory_addresses = false,
             .can_write = true,
             .columns = 0},
    .open = text_open,
    .read = text_read,
    .close = text_close,
    .write = text_write,
};

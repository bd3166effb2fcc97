/* SPDX-License-Identifier: Apache-2.0 */
/*
 * import_text.c - text traces: one key a line. A decimal number or 0x and hexadecimal digits is itself;
 * anything else, numbers beyond 64 bits included, is a string and hashed (string_keys.h). Blanks around a
 * key, a '\r' and empty lines do not count. There is no comment syntax: every character may be in a key.
 */
#include "base/error.h"
#include "trace/import/csv_choice.h"
#include "trace/import/text_kernels.h"
#include "trace/lines/line_import.h"
#include "trace/numbers.h"

#include <string.h>

typedef struct text_state {
    fm_line_import import;
    /* What a line looks like, for people. */
    char line[FM_CSV_QUOTED], columns[2 * FM_CSV_QUOTED];
} text_state;

static bool text_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\v' || c == '\f';
}

/* Any line. *keyless: an empty one. */
static fm_status line_key(fm_line_window *window, char *line, const char *end, uint64_t *key, bool *keyless,
                          fm_error *error)
{
    const char *from = fm_line_pass_mark(line);
    while (from < end && text_blank(*from)) from++;
    while (end > from && text_blank(end[-1])) end--;
    *keyless = from == end;
    if (*keyless) return FM_OK;
    const char *stop = NULL;
    if (end - from > 2 && from[0] == '0' && (from[1] | 32) == 'x')
        stop = fm_parse_hex(from + 2, key);
    else
        stop = fm_parse_decimal(from, key);
    if (stop == end) return FM_OK;
    if (memchr(from, 0, (size_t)(end - from)))
        return fm_fail_at(error, FM_E_FORMAT, window->name, FM_PLACE_LINE, window->line,
                          "expected a key, found a zero byte; is this a binary trace?");
    if (fm_line_window_returns(window) && memchr(from, '\r', (size_t)(end - from)))
        return fm_line_mixed(window->name, window->line, error);
    return fm_string_list_add(window->strings, from, (size_t)(end - from), key, error);
}

static fm_status text_parse(const void *settings, fm_line_window *window, fm_columns *columns,
                            fm_error *error)
{
    const fm_text_kernels *kernels = settings;
    uint64_t *keys = columns->address;
    fm_text_pause pause = {0};
    while (window->at < window->end && columns->count < FM_BATCH_MAX) {
        const char *at = window->at;
        if (kernels && !fm_text_pauses(&pause)) {
            const size_t found =
                kernels->decimals(&at, window->end, keys + columns->count, FM_BATCH_MAX - columns->count);
            fm_text_found(&pause, found);
            columns->count += found;
            window->line += found;
            window->at += at - window->at;
            if (at == window->end || columns->count == FM_BATCH_MAX) break;
        }
        char *newline = memchr(at, '\n', (size_t)(window->end - at));
        bool keyless;
        fm_status status = line_key(window, window->at, newline, &keys[columns->count], &keyless, error);
        if (status != FM_OK) return status;
        columns->count += !keyless;
        window->line++;
        window->at = newline + 1;
    }
    return FM_OK;
}

/* By what the line could be parted into columns; 0: nothing usual is in it. */
static char find_delimiter(const char *line, const char *end)
{
    static const char candidates[] = {'\t', ',', ';', '|', ' '};
    size_t most = 0;
    char best = 0;
    for (size_t i = 0; i < sizeof candidates; i++) {
        size_t count = 0;
        for (const char *c = line; c < end; c++) count += *c == candidates[i];
        if (count > most) best = candidates[i];
        if (count > most) most = count;
    }
    return best;
}

/* What the second line holds (the first one may be a title), if it is there. */
static void look_at_lines(fm_import *import)
{
    enum { ROWS = 3 };
    text_state *state = import->state;
    fm_lines *lines = &state->import.lines;
    char *const first = lines->buffer + lines->at, *from = first, *end = lines->buffer + lines->whole;
    if (from == end) return;
    char *second = (char *)memchr(from, '\n', (size_t)(end - from)) + 1;
    if (second < end) from = second;
    char *stop = memchr(from, '\n', (size_t)(end - from)), *behind = stop + 1;
    for (size_t row = 1; row < ROWS && behind < end; row++)
        behind = (char *)memchr(behind, '\n', (size_t)(end - behind)) + 1;
    fm_line_quote(from, state->line, sizeof state->line);
    import->info.key_values = state->line;
    import->info.columns_seen = state->columns;
    import->info.columns_delimiter = find_delimiter(from, stop);
    const fm_csv_rows rows = {.from = from, .end = behind, .delimiter = import->info.columns_delimiter};
    const fm_csv_rows all = {.from = first, .end = behind, .delimiter = rows.delimiter};
    uint64_t columns = 0, of_first = 0;
    bool ignored;
    if (!rows.delimiter) return;
    fm_csv_look_at_row(&rows, from, &columns, &ignored);
    fm_csv_look_at_row(&all, first, &of_first, &ignored);
    import->info.columns_from_second = columns != of_first;
    fm_csv_list_columns(&rows, false, state->columns, sizeof state->columns);
}

static fm_status text_open(fm_import *import, const fm_reader_options *options, fm_error *error)
{
    const fm_line_parser parser = {.parse = text_parse, .settings = fm_text_kernels_at(0)};
    const fm_status status = fm_line_import_open(import, sizeof(text_state), parser, options, error);
    if (status == FM_OK) look_at_lines(import);
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
    .share = fm_line_import_share,
    .shared = fm_line_import_shared,
    .read = fm_line_import_read,
    .close = fm_line_import_close,
    .write = text_write,
};

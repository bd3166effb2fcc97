/* SPDX-License-Identifier: Apache-2.0 */
/* import_text.c - text: keys by line, dinero's and lackey's. */
#include "base/error.h"
#include "trace/format.h"
#include "trace/import/csv.h"
#include "trace/lines/lines.h"
#include "trace/lines/text_kernels.h"

#include <string.h>

/* ======== keys ======== */

/*
 * Text traces: one key a line. A decimal number or 0x and hexadecimal digits is itself;
 * anything else, numbers beyond 64 bits included, is a string and hashed (string_keys.h). Blanks around a
 * key, a '\r' and empty lines do not count. There is no comment syntax: every character may be in a key.
 */

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

/* ======== dinero ======== */

/*
 * Dinero's traditional "din" text: a label and a hexadecimal address on each line.
 *
 *     0 read · 1 write · 2 instruction fetch · 3 access of unknown kind (counted as a read)
 *     4 cache flush: no reference, passed over
 *
 * What follows the address on a line (Dinero calls it comment) is ignored, as Dinero does. There are no
 * sizes: each line touches exactly one block.
 */

static const char *skip_blanks(const char *at)
{
    while (*at == ' ' || *at == '\t' || *at == '\r') at++;
    return at;
}

static fm_status bad_din_line(const fm_line_window *window, fm_error *error)
{
    char quote[256];
    return fm_fail_at(error, FM_E_FORMAT, window->name, FM_PLACE_LINE, window->line,
                      "expected a label 0 to 4 and a hexadecimal address, found '%s'",
                      fm_line_quote(window->at, quote, sizeof quote));
}

/* Not at its beginning or end, where it is a blank. */
static bool din_has_return(const char *line, const char *newline)
{
    line = skip_blanks(line);
    while (newline > line && newline[-1] == '\r') newline--;
    return memchr(line, '\r', (size_t)(newline - line));
}

/* False where the line is not right. *label 4 also stands for an empty line. */
static bool parse_din_line(const char *line, unsigned *label, uint64_t *address)
{
    const char *at = skip_blanks(line);
    *label = 4;
    if (*at == '\n') return true;
    *label = (unsigned char)*at - (unsigned)'0';
    if (*label > 4) return false;
    const char *behind = skip_blanks(at + 1);
    if (behind == at + 1) return false;
    if (*label == 4 && *behind == '\n') return true;
    if (behind[0] == '0' && (behind[1] | 32) == 'x') behind += 2;
    at = fm_parse_hex(behind, address);
    return at && (*at == ' ' || *at == '\t' || *at == '\r' || *at == '\n');
}

static fm_status din_parse(const void *settings, fm_line_window *window, fm_columns *columns, fm_error *error)
{
    static const uint8_t kinds[4] = {FM_KIND_LOAD, FM_KIND_STORE, FM_KIND_FETCH, FM_KIND_LOAD};
    const fm_text_kernels *kernels = settings;
    while (window->at < window->end && columns->count < FM_BATCH_MAX) {
        const size_t count = columns->count;
        if (kernels) {
            const char *at = window->at;
            const size_t found = kernels->din(&at, window->end, columns->address + count,
                                              columns->kind + count, FM_BATCH_MAX - count);
            columns->count += found;
            window->line += found;
            window->at += at - window->at;
            if (found > 0) continue;
        }
        unsigned label;
        uint64_t address = 0;
        char *line = fm_line_pass_mark(window->at),
             *newline = memchr(line, '\n', (size_t)(window->end - line));
        if (din_has_return(line, newline)) return fm_line_mixed(window->name, window->line, error);
        if (!parse_din_line(line, &label, &address)) return bad_din_line(window, error);
        window->at = newline + 1;
        window->line++;
        if (label > 3) continue;
        columns->address[count] = address;
        columns->kind[count] = kinds[label];
        columns->count++;
    }
    return FM_OK;
}

static fm_status din_open(fm_import *import, const fm_reader_options *options, fm_error *error)
{
    const fm_line_parser parser = {.parse = din_parse, .settings = fm_text_kernels_at(0)};
    return fm_line_import_open(import, sizeof(fm_line_import), parser, options, error);
}

/* A modification is one reference: it is written as a write. */
static fm_status din_write(fm_export *export, const fm_batch *batch, fm_error *error)
{
    for (size_t i = 0; i < batch->count; i++) {
        char *room = fm_sink_room(export->sink, 32, error);
        if (!room) return error->status;
        room[0] = "0112"[batch->kind ? batch->kind[i] & 3 : 0];
        room[1] = ' ';
        char *end = fm_print_hex(room + 2, batch->address[i], 1);
        *end++ = '\n';
        fm_sink_advance(export->sink, (size_t)(end - room));
    }
    return FM_OK;
}

const fm_format fm_format_din = {
    .info = {.name = "din",
             .endings = ".din",
             .summary = "Dinero text: a label and a hexadecimal address a line",
             .memory_addresses = true,
             .can_write = true,
             .columns = FM_COLUMN_KIND},
    .open = din_open,
    .share = fm_line_import_share,
    .shared = fm_line_import_shared,
    .read = fm_line_import_read,
    .close = fm_line_import_close,
    .write = din_write,
};

/* ======== lackey ======== */

/*
 * What `valgrind --tool=lackey --trace-mem=yes` prints:
 *
 *     I  04015e40,3        instruction fetch: address in hexadecimal, size in decimal
 *      L 1ffefff8a8,8      load
 *      S 1ffefff8a0,8      store
 *      M 0421c7cc,4        modify: a load and a store of the same place, one reference
 *
 * Valgrind's own messages (==pid== …) and empty lines are passed over; anything else is an error, for it
 * may be the traced program's output in the middle of a line.
 */

enum { NO_REFERENCE = 4 }; /* among the kinds */

/* Whether the line is Valgrind talking (==123==, --123--, **123**) or empty. */
static bool is_message(const char *line)
{
    if ((line[0] == '=' || line[0] == '-' || line[0] == '*') && line[1] == line[0]) return true;
    while (*line == ' ' || *line == '\t' || *line == '\r') line++;
    return *line == '\n';
}

/* Not at its end. */
static bool lackey_has_return(const char *line, const char *end)
{
    const char *newline = memchr(line, '\n', (size_t)(end - line));
    while (newline > line && newline[-1] == '\r') newline--;
    return memchr(line, '\r', (size_t)(newline - line));
}

static fm_status bad_lackey_line(const fm_line_window *window, fm_error *error)
{
    char quote[256];
    return fm_fail_at(error, FM_E_FORMAT, window->name, FM_PLACE_LINE, window->line,
                      "expected ' L address,size', ' S', ' M' or 'I ' likewise, found '%s'",
                      fm_line_quote(window->at, quote, sizeof quote));
}

/* Address and size behind the letter; returns the next line, or NULL where they are not right. */
static const char *parse_access(const char *at, uint64_t *address, uint64_t *size)
{
    if (*at != ' ') return NULL;
    at = fm_parse_hex(at + 1, address);
    if (!at || *at != ',') return NULL;
    at = fm_parse_decimal(at + 1, size);
    if (!at || *size == 0 || *size > UINT32_MAX) return NULL;
    if (*at == '\r') at++;
    return *at == '\n' ? at + 1 : NULL;
}

/* Any line. *next: behind it; NULL: it is not right. *kind NO_REFERENCE: it is none. */
static void parse_lackey_line(char *at, const char *end, char **next, uint64_t *address, uint64_t *size,
                              unsigned *kind)
{
    const char *behind = NULL;
    *kind = FM_KIND_FETCH;
    if (at[0] == ' ' && (at[1] == 'L' || at[1] == 'S' || at[1] == 'M')) {
        *kind = at[1] == 'L' ? FM_KIND_LOAD : at[1] == 'S' ? FM_KIND_STORE : FM_KIND_MODIFY;
        behind = parse_access(at + 2, address, size);
    } else if (at[0] == 'I' && at[1] == ' ') {
        behind = parse_access(at + 2, address, size);
    } else if (is_message(at)) {
        *kind = NO_REFERENCE;
        behind = (const char *)memchr(at, '\n', (size_t)(end - at)) + 1;
    }
    *next = behind ? at + (behind - at) : NULL;
}

static fm_status lackey_parse(const void *settings, fm_line_window *window, fm_columns *columns,
                              fm_error *error)
{
    const fm_text_kernels *kernels = settings;
    while (window->at < window->end && columns->count < FM_BATCH_MAX) {
        const size_t count = columns->count;
        if (kernels) {
            const char *at = window->at;
            const size_t found =
                kernels->lackey(&at, window->end, columns->address + count, columns->size + count,
                                columns->kind + count, FM_BATCH_MAX - count);
            columns->count += found;
            window->line += found;
            window->at += at - window->at;
            if (found > 0) continue;
        }
        uint64_t address, size;
        unsigned kind;
        char *next;
        char *line = fm_line_pass_mark(window->at);
        parse_lackey_line(line, window->end, &next, &address, &size, &kind);
        if ((!next || kind == NO_REFERENCE) && lackey_has_return(line, window->end))
            return fm_line_mixed(window->name, window->line, error);
        if (!next) return bad_lackey_line(window, error);
        window->at = next;
        window->line++;
        if (kind == NO_REFERENCE) continue;
        columns->address[count] = address;
        columns->size[count] = (uint32_t)size;
        columns->kind[count] = (uint8_t)kind;
        columns->count++;
    }
    return FM_OK;
}

static fm_status lackey_open(fm_import *import, const fm_reader_options *options, fm_error *error)
{
    const fm_line_parser parser = {.parse = lackey_parse, .settings = fm_text_kernels_at(0)};
    return fm_line_import_open(import, sizeof(fm_line_import), parser, options, error);
}

/* A trace without sizes is written as accesses of one byte, one without kinds as loads. */
static fm_status lackey_write(fm_export *export, const fm_batch *batch, fm_error *error)
{
    for (size_t i = 0; i < batch->count; i++) {
        char *room = fm_sink_room(export->sink, 48, error);
        if (!room) return error->status;
        unsigned kind = batch->kind ? batch->kind[i] : FM_KIND_LOAD;
        memcpy(room, &" L  S  M I  "[(size_t)3 * (kind & 3)], 3);
        char *end = fm_print_hex(room + 3, batch->address[i], 8);
        *end++ = ',';
        end = fm_print_decimal(end, batch->size && batch->size[i] ? batch->size[i] : 1);
        *end++ = '\n';
        fm_sink_advance(export->sink, (size_t)(end - room));
    }
    return FM_OK;
}

const fm_format fm_format_lackey = {
    .info = {.name = "lackey",
             .endings = ".lackey",
             .summary = "text of valgrind --tool=lackey --trace-mem=yes",
             .memory_addresses = true,
             .can_write = true,
             .columns = FM_COLUMN_SIZE | FM_COLUMN_KIND},
    .open = lackey_open,
    .share = fm_line_import_share,
    .shared = fm_line_import_shared,
    .read = fm_line_import_read,
    .close = fm_line_import_close,
    .write = lackey_write,
};

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * import_csv.c - tables of text (RFC 4180: quoted fields may hold delimiters, quotes and line ends). One
 * column is the key; a second may be the size of a request, in units of so many bytes, so that traces of
 * block devices become ranges of bytes. All other columns are ignored.
 *
 * Without a size column and a unit, a key may be any string, as in text traces; otherwise it must be a
 * number. A row that lacks a column or has no number where one is needed ends the reading: a table whose
 * columns moved would give wrong answers from there on.
 */
#include "base/error.h"
#include "base/memory.h"
#include "trace/format.h"
#include "trace/lines.h"
#include "trace/numbers.h"
#include "trace/string_keys.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

typedef struct csv_state {
    fm_lines lines;
    fm_string_keys strings;
    char delimiter;
    uint64_t key_column, size_column; /* from 1; size_column 0: none */
    uint64_t key_unit, size_unit;
    bool numeric;    /* keys must be numbers */
    fm_status early; /* a failure of the stream while looking at the first rows */
    fm_error early_error;
} csv_state;

typedef struct csv_field {
    char *from, *end; /* without its quotes; doubled quotes still doubled */
    bool quoted;
} csv_field;

typedef enum csv_step { CSV_FIELD, CSV_LAST, CSV_INCOMPLETE, CSV_BROKEN } csv_step;

/*
 * The field at *at; *at moves behind it and its delimiter or line end. CSV_INCOMPLETE: a quoted field goes
 * on behind the window. *lines counts line ends.
 */
static csv_step next_field(char **at, char *end, char delimiter, csv_field *field, uint64_t *lines)
{
    char *next = *at;
    while (*next == ' ' && delimiter != ' ') next++;
    field->quoted = *next == '"';
    if (field->quoted) {
        field->from = ++next;
        while ((next = memchr(next, '"', (size_t)(end - next))) && next[1] == '"') next += 2;
        if (!next) return CSV_INCOMPLETE; /* a quote is never the window's last byte: that is a line end */
        field->end = next++;
        for (char *c = field->from; (c = memchr(c, '\n', (size_t)(field->end - c))); c++) (*lines)++;
        while ((*next == ' ' || *next == '\r') && *next != delimiter) next++;
        if (*next != delimiter && *next != '\n') return CSV_BROKEN;
    } else {
        field->from = next;
        while (*next != delimiter && *next != '\n') next++;
        field->end = next;
        while (field->end > field->from && (field->end[-1] == ' ' || field->end[-1] == '\r')) field->end--;
    }
    bool last = *next == '\n';
    if (last) (*lines)++;
    *at = next + 1;
    return last ? CSV_LAST : CSV_FIELD;
}

static void unquote(csv_field *field)
{
    if (!field->quoted) return;
    char *to = field->from;
    for (const char *c = field->from; c < field->end; c++) {
        *to++ = *c;
        if (*c == '"') c++;
    }
    field->end = to;
}

static bool number_of(const csv_field *field, uint64_t *value)
{
    const char *from = field->from, *stop;
    if (field->end - from > 2 && from[0] == '0' && (from[1] | 32) == 'x')
        stop = fm_parse_hex(from + 2, value);
    else
        stop = fm_parse_decimal(from, value);
    return stop == field->end;
}

static fm_status fail_row(const csv_state *state, uint64_t line, fm_error *error, const char *expected,
                          uint64_t column, const csv_field *field)
{
    char quote[256] = "";
    if (field) fm_text_quote(field->from, (size_t)(field->end - field->from), quote, sizeof quote);
    return fm_fail_at(error, FM_E_FORMAT, state->lines.name, FM_PLACE_LINE, line,
                      "expected %s in column %" PRIu64 ", found %s%s%s", expected, column, field ? "'" : "",
                      field ? quote : "fewer columns", field ? "'" : "");
}

/* ---- the first rows ---- */

/* The delimiter that the first line has most of. */
static char guess_delimiter(const char *line)
{
    static const char candidates[] = {',', ';', '\t'};
    char best = ',';
    size_t most = 0;
    for (size_t i = 0; i < sizeof candidates; i++) {
        size_t count = 0;
        bool quoted = false;
        for (const char *c = line; *c != '\n'; c++) {
            if (*c == '"') quoted = !quoted;
            if (!quoted && *c == candidates[i]) count++;
        }
        if (count > most) {
            most = count;
            best = candidates[i];
        }
    }
    return best;
}

/* Looks at one row without taking it: whether any of its fields is a number. Returns the row behind it, or
 * NULL where there is no whole row. */
static char *look_at_row(const csv_state *state, char *at, bool *has_number)
{
    char *end = state->lines.buffer + state->lines.whole;
    uint64_t lines = 0, number;
    csv_step step = CSV_FIELD;
    *has_number = false;
    if (at >= end) return NULL;
    while (step == CSV_FIELD) {
        csv_field field;
        step = next_field(&at, end, state->delimiter, &field, &lines);
        if ((step == CSV_FIELD || step == CSV_LAST) && number_of(&field, &number)) *has_number = true;
    }
    return step == CSV_LAST ? at : NULL;
}

static bool first_row_is_header(csv_state *state)
{
    bool first, second;
    char *next = look_at_row(state, state->lines.buffer + state->lines.at, &first);
    return next && !first && look_at_row(state, next, &second) && second;
}

/* Compares without changing the field: the header is looked at more than once. */
static bool is_named(const csv_field *field, const char *name)
{
    const char *at = field->from;
    for (; at < field->end && *name; at++, name++) {
        if (*at != *name) return false;
        if (field->quoted && *at == '"') at++;
    }
    return at >= field->end && *name == '\0';
}

/* Number of the column of this name in the header at hand; 0: none. Where list is given, the names go there.
 */
static uint64_t find_column(const csv_state *state, const char *name, char *list, size_t list_size)
{
    char *at = state->lines.buffer + state->lines.at, *end = state->lines.buffer + state->lines.whole;
    uint64_t lines = 0, found = 0, number = 1;
    size_t used = 0;
    csv_step step = CSV_FIELD;
    for (; step == CSV_FIELD && at < end; number++) { /* there may be no line at all */
        csv_field field;
        step = next_field(&at, end, state->delimiter, &field, &lines);
        if (step != CSV_FIELD && step != CSV_LAST) break;
        if (!found && is_named(&field, name)) found = number;
        char quote[128];
        fm_text_quote(field.from, (size_t)(field.end - field.from), quote, sizeof quote);
        if (list && used < list_size)
            used += (size_t)snprintf(list + used, list_size - used, "%s%s", used ? ", " : "", quote);
    }
    return found;
}

static bool is_number(const char *text)
{
    size_t digits = strspn(text, "0123456789");
    return digits > 0 && text[digits] == '\0';
}

/* A column said by number or by name. */
static fm_status resolve(const csv_state *state, const char *said, bool header, uint64_t *column,
                         fm_error *error)
{
    if (is_number(said)) {
        *column = strtoull(said, NULL, 10);
        if (*column == 0 || *column > FM_LINE_MAX)
            return fm_fail(error, FM_E_ARGUMENT, NULL, "column number %s; expected 1 to %u", said,
                           FM_LINE_MAX);
        return FM_OK;
    }
    if (!header)
        return fm_fail(error, FM_E_ARGUMENT, NULL,
                       "column '%s' is said by name, but the table is said to have no header", said);
    char names[320] = "";
    *column = find_column(state, said, names, sizeof names);
    if (*column > 0) return FM_OK;
    return fm_fail_at(error, FM_E_FORMAT, state->lines.name, FM_PLACE_LINE, state->lines.line,
                      "expected a column '%s', found: %s", said, names[0] ? names : "an empty file");
}

/* Puts two rows, or all there is, into the window. */
static void look_ahead(csv_state *state)
{
    for (;;) {
        bool ignored;
        char *at = state->lines.buffer + state->lines.at;
        if (state->lines.whole > state->lines.at && !state->delimiter) state->delimiter = guess_delimiter(at);
        char *next = look_at_row(state, at, &ignored);
        if ((next && look_at_row(state, next, &ignored)) || state->lines.ended) return;
        const size_t record = (size_t)((next ? next : at) - state->lines.buffer);
        state->early = fm_lines_more_of(&state->lines, record, &state->early_error);
        if (state->early != FM_OK) return;
    }
}

static fm_status csv_open(fm_import *import, const fm_reader_options *options, fm_error *error)
{
    csv_state *state = import->state = fm_calloc(1, sizeof *state);
    if (!state) return fm_fail_memory(error, sizeof *state, "a trace reader");
    fm_status status = fm_lines_open(&state->lines, import->stream, import->name, error);
    if (status != FM_OK) return status;
    const char *key = options->csv_key ? options->csv_key : "1", *size = options->csv_size;
    state->delimiter = options->csv_delimiter;
    state->key_unit = options->csv_key_unit ? options->csv_key_unit : 1;
    state->size_unit = options->csv_size_unit ? options->csv_size_unit : 1;
    state->numeric = size || state->key_unit != 1;
    import->info.columns = size ? FM_COLUMN_SIZE : 0;
    if (state->delimiter == '"' || state->delimiter == '\n' || state->delimiter == '\r')
        return fm_fail(error, FM_E_ARGUMENT, NULL, "a quote or a line end cannot separate columns");
    look_ahead(state);
    /* The stream's damage before the first row is whole: that is what there is to tell, not a missing column.
     */
    if (state->early != FM_OK && state->lines.whole == state->lines.at) return FM_OK;
    if (!state->delimiter) state->delimiter = ',';
    bool named = !is_number(key) || (size && !is_number(size));
    bool header =
        options->csv_header > 0 || (options->csv_header < 0 && (named || first_row_is_header(state)));
    status = resolve(state, key, header, &state->key_column, error);
    if (status == FM_OK && size) status = resolve(state, size, header, &state->size_column, error);
    if (status != FM_OK || !header) return status;
    csv_step step = CSV_FIELD;
    char *at = state->lines.buffer + state->lines.at, *end = state->lines.buffer + state->lines.whole;
    while (step == CSV_FIELD && at < end) {
        csv_field field;
        step = next_field(&at, end, state->delimiter, &field, &state->lines.line);
    }
    if (step == CSV_LAST) state->lines.at = (size_t)(at - state->lines.buffer);
    return FM_OK;
}

static void csv_close(fm_import *import)
{
    csv_state *state = import->state;
    if (!state) return;
    fm_lines_close(&state->lines);
    fm_string_keys_free(&state->strings);
    free(state);
}

/* ---- all other rows ---- */

static fm_status take_key(csv_state *state, csv_field *field, uint64_t line, uint64_t *key, fm_error *error)
{
    unquote(field);
    if (number_of(field, key)) {
        if (__builtin_mul_overflow(*key, state->key_unit, key))
            return fail_row(state, line, error, "a key that fits 64 bits after its unit", state->key_column,
                            field);
        return FM_OK;
    }
    if (state->numeric) return fail_row(state, line, error, "a number", state->key_column, field);
    size_t length = (size_t)(field->end - field->from);
    if (length == 0) return fail_row(state, line, error, "a key", state->key_column, field);
    if (memchr(field->from, 0, length))
        return fm_fail_at(error, FM_E_FORMAT, state->lines.name, FM_PLACE_LINE, line,
                          "expected a key, found a zero byte; is this a binary trace?");
    return fm_string_keys_add(&state->strings, field->from, length, key, error);
}

static fm_status take_size(csv_state *state, csv_field *field, uint64_t line, uint64_t key, uint32_t *size,
                           fm_error *error)
{
    uint64_t bytes;
    unquote(field);
    if (!number_of(field, &bytes)) return fail_row(state, line, error, "a size", state->size_column, field);
    if (__builtin_mul_overflow(bytes, state->size_unit, &bytes) || bytes > UINT32_MAX)
        return fail_row(state, line, error, "a size below 4 GiB", state->size_column, field);
    if (bytes > 0 && key + (bytes - 1) < key)
        return fail_row(state, line, error, "a size that does not reach beyond 64-bit addresses",
                        state->size_column, field);
    *size = (uint32_t)bytes;
    return FM_OK;
}

/* One row at *at. FM_OK with *got false: a row without content, or (*at NULL) a row that is not whole. */
static fm_status take_row(csv_state *state, char **at, char *end, uint64_t *key, uint32_t *size, bool *got,
                          fm_error *error)
{
    csv_field wanted[2] = {{NULL, NULL, false}, {NULL, NULL, false}}, field;
    char *next = *at;
    uint64_t lines = 0, number = 1;
    csv_step step = CSV_FIELD;
    bool content = false;
    *got = false;
    for (; step == CSV_FIELD; number++) {
        step = next_field(&next, end, state->delimiter, &field, &lines);
        if (step == CSV_INCOMPLETE) {
            *at = NULL;
            return FM_OK;
        }
        if (step == CSV_BROKEN)
            return fm_fail_at(error, FM_E_FORMAT, state->lines.name, FM_PLACE_LINE, state->lines.line + lines,
                              "expected a delimiter behind the quoted field of column %" PRIu64, number);
        content |= field.quoted || field.end > field.from || step == CSV_FIELD;
        if (number == state->key_column) wanted[0] = field;
        if (number == state->size_column) wanted[1] = field;
    }
    uint64_t line = state->lines.line;
    state->lines.line += lines;
    *at = next;
    if (!content) return FM_OK;
    if (!wanted[0].from) return fail_row(state, line, error, "a key", state->key_column, NULL);
    if (state->size_column && !wanted[1].from)
        return fail_row(state, line, error, "a size", state->size_column, NULL);
    fm_status status = take_key(state, &wanted[0], line, key, error);
    if (status == FM_OK && wanted[1].from) status = take_size(state, &wanted[1], line, *key, size, error);
    *got = status == FM_OK;
    return status;
}

static fm_status csv_read(fm_import *import, fm_columns *columns, fm_error *error)
{
    csv_state *state = import->state;
    fm_lines *lines = &state->lines;
    fm_status status = FM_OK;
    bool incomplete = false;
    size_t count = 0;
    while (count < FM_BATCH_MAX && status == FM_OK) {
        if (lines->at == lines->whole || incomplete) {
            size_t before = lines->whole - lines->at;
            status = state->early;
            if (status != FM_OK)
                *error = state->early_error;
            else
                status = fm_lines_more(lines, error);
            if (status != FM_OK) break;
            if (lines->whole == before) { /* nothing came */
                if (incomplete)
                    status = fm_fail_at(error, FM_E_FORMAT, lines->name, FM_PLACE_LINE, lines->line,
                                        "a quoted field is not closed before the end of the file");
                break;
            }
            incomplete = false;
        }
        char *at = lines->buffer + lines->at, *end = lines->buffer + lines->whole;
        while (at < end && count < FM_BATCH_MAX && status == FM_OK) {
            uint32_t size = 0;
            bool got;
            char *row = at;
            status = take_row(state, &row, end, &columns->address[count], &size, &got, error);
            incomplete = status == FM_OK && !row;
            if (incomplete || status != FM_OK) break;
            at = row;
            if (!got) continue;
            if (columns->size) columns->size[count] = size;
            count++;
        }
        lines->at = (size_t)(at - lines->buffer);
    }
    columns->count = count;
    import->info.string_keys = state->strings.used;
    import->info.string_collisions = state->strings.collisions;
    return status;
}

static fm_status csv_start(fm_export *export, fm_error *error)
{
    bool sizes = export->columns & FM_COLUMN_SIZE;
    const char *header = export->memory_addresses ? (sizes ? "address,size\n" : "address\n")
                                                  : (sizes ? "key,size\n" : "key\n");
    return fm_sink_write(export->sink, header, strlen(header), error);
}

static fm_status csv_write(fm_export *export, const fm_batch *batch, fm_error *error)
{
    bool sizes = export->columns & FM_COLUMN_SIZE;
    for (size_t i = 0; i < batch->count; i++) {
        char *room = fm_sink_room(export->sink, 48, error);
        if (!room) return error->status;
        char *end = fm_print_decimal(room, batch->address[i]);
        if (sizes) {
            *end++ = ',';
            end = fm_print_decimal(end, batch->size[i]);
        }
        *end++ = '\n';
        fm_sink_advance(export->sink, (size_t)(end - room));
    }
    return FM_OK;
}

const fm_format fm_format_csv = {
    .info = {.name = "csv",
             .endings = ".csv",
             .summary = "a table of text; columns of the key and the size by name or number",
             .memory_addresses = false,
             .can_write = true,
             .columns = FM_COLUMN_SIZE},
    .open = csv_open,
    .read = csv_read,
    .close = csv_close,
    .start = csv_start,
    .write = csv_write,
};

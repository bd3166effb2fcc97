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
#include "trace/import/csv_choice.h"
#include "trace/import/csv_fields.h"
#include "trace/lines.h"
#include "trace/string_keys.h"

#include <inttypes.h>
#include <stdlib.h>

typedef struct csv_state {
    fm_lines lines;
    fm_string_keys strings;
    char delimiter;
    fm_csv_choice choice;
    uint64_t key_unit, size_unit;
    bool numeric;    /* keys must be numbers */
    fm_status early; /* a failure of the stream while looking at the first rows */
    fm_error early_error;
} csv_state;

static void unquote(fm_csv_field *field)
{
    if (!field->quoted) return;
    char *to = field->from;
    for (const char *c = field->from; c < field->end; c++) {
        *to++ = *c;
        if (*c == '"') c++;
    }
    field->end = to;
}

static fm_status fail_row(const csv_state *state, uint64_t line, fm_error *error, const char *expected,
                          uint64_t column, const fm_csv_field *field)
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

static fm_csv_rows rows_at_hand(const csv_state *state)
{
    const fm_lines *lines = &state->lines;
    return (fm_csv_rows){.from = lines->buffer + lines->at,
                         .end = lines->buffer + lines->whole,
                         .delimiter = state->delimiter,
                         .file = lines->name,
                         .line = lines->line};
}

/* Rows without content before the first one are none. */
static void pass_leading_blanks(csv_state *state)
{
    const fm_csv_rows rows = rows_at_hand(state);
    char *first = fm_csv_pass_blank(&rows, rows.from);
    for (char *c = rows.from; c < first; c++) state->lines.line += *c == '\n';
    state->lines.at = (size_t)(first - state->lines.buffer);
}

/* Puts two rows into the window, or all there is; where they are short, a few more, to be shown. */
static void look_ahead(csv_state *state)
{
    enum { NEEDED = 2, WANTED = 5, SHORT = 64 << 10 };
    fm_lines *lines = &state->lines;
    for (;;) {
        pass_leading_blanks(state);
        char *next = lines->buffer + lines->at, *record = next;
        if (lines->whole > lines->at && !state->delimiter) state->delimiter = guess_delimiter(next);
        const fm_csv_rows rows = rows_at_hand(state);
        size_t count = 0;
        for (; next && count < WANTED; count += next != NULL) {
            uint64_t fields;
            bool ignored;
            record = fm_csv_pass_blank(&rows, next);
            next = fm_csv_look_at_row(&rows, next, &fields, &ignored);
        }
        /* Megabytes of nothing behind the first row are not looked through. */
        const size_t most = count < NEEDED ? FM_LINES_AHEAD : SHORT;
        if (next || lines->ended || (size_t)(record - rows.from) > most) return;
        state->early = fm_lines_more_of(lines, (size_t)(record - lines->buffer), &state->early_error);
        if (state->early != FM_OK) return;
    }
}

/* Up to the first row of values. */
static void pass_header(csv_state *state, const fm_csv_rows *rows)
{
    uint64_t fields;
    bool ignored;
    char *behind = fm_csv_look_at_row(rows, rows->from, &fields, &ignored);
    if (!behind) return;
    for (char *c = rows->from; c < behind; c++) state->lines.line += *c == '\n';
    state->lines.at = (size_t)(behind - state->lines.buffer);
}

static fm_status csv_open(fm_import *import, const fm_reader_options *options, fm_error *error)
{
    csv_state *state = import->state = fm_calloc(1, sizeof *state);
    if (!state) return fm_fail_memory(error, sizeof *state, "a trace reader");
    fm_status status = fm_lines_open(&state->lines, import->stream, import->name, error);
    if (status != FM_OK) return status;
    state->delimiter = options->csv_delimiter;
    state->key_unit = options->csv_key_unit ? options->csv_key_unit : 1;
    state->size_unit = options->csv_size_unit ? options->csv_size_unit : 1;
    state->numeric = options->csv_size || state->key_unit != 1;
    import->info.columns = options->csv_size ? FM_COLUMN_SIZE : 0;
    if (state->delimiter == '"' || state->delimiter == '\n' || state->delimiter == '\r')
        return fm_fail(error, FM_E_ARGUMENT, NULL, "a quote or a line end cannot separate columns");
    look_ahead(state);
    /* The stream's damage before the first row is whole: that is reported, not a missing column.
     */
    if (state->early != FM_OK && state->lines.whole == state->lines.at) return FM_OK;
    if (!state->delimiter) state->delimiter = ',';
    const fm_csv_rows rows = rows_at_hand(state);
    status = fm_csv_choose(&rows, options, &state->choice, error);
    if (status != FM_OK) return status;
    import->info.key_column = state->choice.key_column;
    import->info.key_found = state->choice.found;
    import->info.key_unit_unknown = state->choice.unknown_unit;
    import->info.key_name = state->choice.key_name;
    import->info.key_values = state->choice.key_values;
    if (state->choice.header) pass_header(state, &rows);
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

static fm_status parse_key(csv_state *state, fm_csv_field *field, uint64_t line, uint64_t *key,
                           fm_error *error)
{
    unquote(field);
    if (fm_csv_number(field, key)) {
        if (__builtin_mul_overflow(*key, state->key_unit, key))
            return fail_row(state, line, error, "a key that fits 64 bits after its unit",
                            state->choice.key_column, field);
        return FM_OK;
    }
    if (state->numeric) return fail_row(state, line, error, "a number", state->choice.key_column, field);
    size_t length = (size_t)(field->end - field->from);
    if (length == 0) return fail_row(state, line, error, "a key", state->choice.key_column, field);
    if (memchr(field->from, 0, length))
        return fm_fail_at(error, FM_E_FORMAT, state->lines.name, FM_PLACE_LINE, line,
                          "expected a key, found a zero byte; is this a binary trace?");
    return fm_string_keys_add(&state->strings, field->from, length, key, error);
}

static fm_status parse_size(csv_state *state, fm_csv_field *field, uint64_t line, uint64_t key,
                            uint32_t *size, fm_error *error)
{
    uint64_t bytes = 0;
    unquote(field);
    if (!fm_csv_number(field, &bytes))
        return fail_row(state, line, error, "a size", state->choice.size_column, field);
    if (__builtin_mul_overflow(bytes, state->size_unit, &bytes) || bytes > UINT32_MAX)
        return fail_row(state, line, error, "a size below 4 GiB", state->choice.size_column, field);
    if (bytes > 0 && key + (bytes - 1) < key)
        return fail_row(state, line, error, "a size that does not reach beyond 64-bit addresses",
                        state->choice.size_column, field);
    *size = (uint32_t)bytes;
    return FM_OK;
}

/* One row at *at. FM_OK with *got false: a row without content, or (*at NULL) a row that is not whole. */
static fm_status parse_row(csv_state *state, char **at, char *end, uint64_t *key, uint32_t *size, bool *got,
                           fm_error *error)
{
    fm_csv_field wanted[2] = {{NULL, NULL, false}, {NULL, NULL, false}}, field;
    char *next = *at;
    uint64_t lines = 0, number = 1;
    fm_csv_step step = FM_CSV_FIELD;
    bool content = false;
    *got = false;
    for (; step == FM_CSV_FIELD; number++) {
        step = fm_csv_next(&next, end, state->delimiter, &field, &lines);
        if (step == FM_CSV_INCOMPLETE) {
            *at = NULL;
            return FM_OK;
        }
        if (step == FM_CSV_BROKEN)
            return fm_fail_at(error, FM_E_FORMAT, state->lines.name, FM_PLACE_LINE, state->lines.line + lines,
                              "expected a delimiter behind the quoted field of column %" PRIu64, number);
        content |= field.quoted || field.end > field.from || step == FM_CSV_FIELD;
        if (number == state->choice.key_column) wanted[0] = field;
        if (number == state->choice.size_column) wanted[1] = field;
    }
    uint64_t line = state->lines.line;
    state->lines.line += lines;
    *at = next;
    if (!content) return FM_OK;
    if (state->choice.only && number > (state->choice.size_column ? 3 : 2))
        return fm_fail_at(error, FM_E_FORMAT, state->lines.name, FM_PLACE_LINE, line,
                          "expected no more columns than in the first row, found %" PRIu64
                          "; --key COLUMN says which is the key, --delimiter and quotes what is one column",
                          number - 1);
    if (!wanted[0].from) return fail_row(state, line, error, "a key", state->choice.key_column, NULL);
    if (state->choice.size_column && !wanted[1].from)
        return fail_row(state, line, error, "a size", state->choice.size_column, NULL);
    fm_status status = parse_key(state, &wanted[0], line, key, error);
    if (status == FM_OK && wanted[1].from) status = parse_size(state, &wanted[1], line, *key, size, error);
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
            status = parse_row(state, &row, end, &columns->address[count], &size, &got, error);
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

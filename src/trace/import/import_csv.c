/* SPDX-License-Identifier: Apache-2.0 */
/*
 * import_csv.c - tables of text (RFC 4180: quoted fields may hold delimiters, quotes and line ends). One
 * column is the key, or several together are; another may be the size of a request, in units of so many
 * bytes, so that traces of block devices become ranges of bytes. All other columns are ignored.
 *
 * Without a size column and a unit, a key may be any string, as in text traces; otherwise it must be a
 * number. A row that lacks a column or has no number where one is needed ends the reading: a table whose
 * columns moved would give wrong answers from there on.
 */
#include "base/error.h"
#include "base/memory.h"
#include "trace/import/csv.h"
#include "trace/lines/lines.h"
#include "trace/lines/text_kernels.h"

#include <inttypes.h>
#include <stdlib.h>

typedef struct csv_state {
    fm_line_import import;
    char delimiter;
    fm_csv_choice choice;
    uint64_t key_unit, size_unit;
    bool numeric; /* keys must be numbers; of several columns, the last one */
    const fm_text_kernels *kernels;
    fm_row_plan plan; /* the same, for them */
} csv_state;

static void csv_unquote(fm_csv_field *field)
{
    if (!field->quoted) return;
    char *to = field->from;
    for (const char *c = field->from; c < field->end; c++) {
        *to++ = *c;
        if (*c == '"') c++;
    }
    field->end = to;
}

static fm_status fail_row(const fm_line_window *window, fm_error *error, const char *expected,
                          uint64_t column, const fm_csv_field *field)
{
    char quote[256] = "";
    if (field) fm_text_quote(field->from, (size_t)(field->end - field->from), quote, sizeof quote);
    return fm_fail_at(error, FM_E_FORMAT, window->name, FM_PLACE_LINE, window->line,
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
    const fm_lines *lines = &state->import.lines;
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
    for (char *c = rows.from; c < first; c++) state->import.lines.line += *c == '\n';
    state->import.lines.at = (size_t)(first - state->import.lines.buffer);
}

/* Puts two rows into the window, or all there is; where they are short, a few more, to be shown. A failure of
 * the stream, or a line that is too long, is met again when rows are read. */
static fm_status look_ahead(csv_state *state)
{
    enum { NEEDED = 2, WANTED = 5, SHORT = 64 << 10 };
    fm_lines *lines = &state->import.lines;
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
        if (next || lines->ended || (size_t)(record - rows.from) > most) return FM_OK;
        fm_error error;
        const fm_status status = fm_lines_more_of(lines, (size_t)(record - lines->buffer), &error);
        if (status != FM_OK) return status;
    }
}

/* Up to the first row of values. */
static void pass_header(csv_state *state, const fm_csv_rows *rows)
{
    uint64_t fields;
    bool ignored;
    char *behind = fm_csv_look_at_row(rows, rows->from, &fields, &ignored);
    if (!behind) return;
    for (char *c = rows->from; c < behind; c++) state->import.lines.line += *c == '\n';
    state->import.lines.at = (size_t)(behind - state->import.lines.buffer);
}

static fm_status csv_parse(const void *settings, fm_line_window *window, fm_columns *columns,
                           fm_error *error);

static fm_status csv_open(fm_import *import, const fm_reader_options *options, fm_error *error)
{
    const fm_line_parser parser = {.parse = csv_parse, .quotes = true};
    fm_status status = fm_line_import_open(import, sizeof(csv_state), parser, options, error);
    if (status != FM_OK) return status;
    csv_state *state = import->state;
    state->import.parser.settings = state;
    state->delimiter = options->csv_delimiter;
    state->key_unit = options->csv_key_unit ? options->csv_key_unit : 1;
    state->size_unit = options->csv_size_unit ? options->csv_size_unit : 1;
    state->numeric = options->csv_size || state->key_unit != 1;
    import->info.columns = options->csv_size ? FM_COLUMN_SIZE : 0;
    if (state->delimiter == '"' || state->delimiter == '\n' || state->delimiter == '\r')
        return fm_fail(error, FM_E_ARGUMENT, NULL, "a quote or a line end cannot separate columns");
    /* The stream's damage before the first row is whole: that is reported, not a missing column.
     */
    if (look_ahead(state) != FM_OK && state->import.lines.whole == state->import.lines.at) return FM_OK;
    if (!state->delimiter) state->delimiter = ',';
    const fm_csv_rows rows = rows_at_hand(state);
    status = fm_csv_choose(&rows, options, &state->choice, error);
    if (status != FM_OK) return status;
    import->info.key_column = state->choice.key_column;
    import->info.key_found = state->choice.found;
    import->info.key_unit_unknown = state->choice.unknown_unit;
    import->info.key_name = state->choice.key_name;
    import->info.key_values = state->choice.key_values;
    import->info.key_columns = state->choice.key_column > 0 ? state->choice.part_count : 0;
    import->info.key_identity = state->choice.identity || (state->choice.part_count > 1 && !state->numeric);
    import->info.columns_seen = state->choice.columns;
    if (state->choice.header) pass_header(state, &rows);
    /* Kernels look at one key column and at the size, and at nothing else. */
    const bool plain = state->choice.part_count == 1 && state->choice.beside_count == 0;
    state->kernels = state->choice.key_column > 0 && plain ? fm_text_kernels_at(0) : NULL;
    state->plan = (fm_row_plan){.delimiter = state->delimiter,
                                .key_column = state->choice.key_column,
                                .size_column = state->choice.size_column,
                                .columns = state->choice.only ? (state->choice.size_column ? 2 : 1) : 0,
                                .key_unit = state->key_unit,
                                .size_unit = state->size_unit};
    return FM_OK;
}

/* ---- all other rows ---- */

static fm_status parse_key(const csv_state *state, const fm_line_window *window, fm_csv_field *field,
                           uint64_t *key, fm_error *error)
{
    csv_unquote(field);
    if (fm_csv_number(field, key)) {
        if (__builtin_mul_overflow(*key, state->key_unit, key))
            return fail_row(window, error, "a key that fits 64 bits after its unit", state->choice.key_column,
                            field);
        return FM_OK;
    }
    if (state->numeric) return fail_row(window, error, "a number", state->choice.key_column, field);
    size_t length = (size_t)(field->end - field->from);
    if (length == 0) return fail_row(window, error, "a key", state->choice.key_column, field);
    if (memchr(field->from, 0, length))
        return fm_fail_at(error, FM_E_FORMAT, window->name, FM_PLACE_LINE, window->line,
                          "expected a key, found a zero byte; is this a binary trace?");
    return fm_string_list_add(window->strings, field->from, length, key, error);
}

/* ---- keys of several columns ---- */

/* The fields of a row that make its key, in the order in which the options name them. */
typedef struct key_parts {
    fm_csv_field field[FM_CSV_PARTS_MOST]; /* from NULL: the row has none */
} key_parts;

/* The window's row is whole, and was not changed. */
static void find_parts(const csv_state *state, const fm_line_window *window, key_parts *parts)
{
    const fm_csv_choice *choice = &state->choice;
    char *next = fm_line_pass_mark(window->at);
    fm_csv_step step = FM_CSV_FIELD;
    memset(parts, 0, sizeof *parts);
    for (uint64_t column = 1; step == FM_CSV_FIELD; column++) {
        fm_csv_field field = {NULL, NULL, false};
        uint64_t lines = 0;
        step = fm_csv_next(&next, window->end, state->delimiter, &field, &lines);
        for (size_t i = 0; i < choice->part_count; i++)
            if (choice->part[i] == column) parts->field[i] = field;
    }
}

/* Parts as words that differ where one of them does: numbers as they are, text by 128 bits of hash, and first
 * which is which. */
typedef struct part_words {
    uint64_t word[1 + 2 * FM_CSV_PARTS_MOST];
    size_t count;
} part_words;

static void add_part(part_words *words, size_t number, fm_csv_field *field)
{
    uint64_t value = 0;
    csv_unquote(field);
    if (fm_csv_number(field, &value)) {
        words->word[words->count++] = value;
        return;
    }
    const size_t length = (size_t)(field->end - field->from);
    words->word[0] |= UINT64_C(1) << number;
    words->word[words->count++] = XXH3_64bits(field->from, length);
    words->word[words->count++] = XXH3_64bits_withSeed(field->from, length, UINT64_C(0x6661746F6D));
}

/* Where the key is a place, what the other columns say is an address space of its own. These begin at
 * multiples of 1 MiB below 2^63, by their hash. */
enum { SPACE_BITS = 20, PLACE_BITS = 62 };

static fm_status parse_place(const csv_state *state, const fm_line_window *window, const part_words *space,
                             fm_csv_field *field, uint64_t *key, fm_error *error)
{
    const uint64_t begin = XXH3_64bits(space->word, space->count * sizeof *space->word) >> 1;
    uint64_t place = 0;
    csv_unquote(field);
    if (!fm_csv_number(field, &place))
        return fail_row(window, error, "a number", state->choice.key_column, field);
    if (__builtin_mul_overflow(place, state->key_unit, &place) || place >> PLACE_BITS)
        return fail_row(window, error, "a key below 2^62 after its unit", state->choice.key_column, field);
    *key = (begin >> SPACE_BITS << SPACE_BITS) + place;
    return FM_OK;
}

static fm_status parse_parts(const csv_state *state, const fm_line_window *window, uint64_t *key,
                             fm_error *error)
{
    const size_t count = state->choice.part_count;
    key_parts parts;
    part_words words = {.count = 1};
    find_parts(state, window, &parts);
    for (size_t i = 0; i < count; i++) {
        if (!parts.field[i].from)
            return fail_row(window, error, "a part of the key", state->choice.part[i], NULL);
        if (state->numeric && i + 1 == count)
            return parse_place(state, window, &words, &parts.field[i], key, error);
        add_part(&words, i, &parts.field[i]);
    }
    return fm_string_list_add(window->strings, (const char *)words.word, words.count * sizeof *words.word,
                              key, error);
}

/* Columns that say where a key is stay the same, where the options do not say that the key is without them.
 */
static fm_status check_beside(const csv_state *state, const fm_line_window *window, fm_error *error)
{
    const fm_csv_choice *choice = &state->choice;
    char *next = fm_line_pass_mark(window->at);
    fm_csv_step step = FM_CSV_FIELD;
    for (uint64_t column = 1; step == FM_CSV_FIELD; column++) {
        fm_csv_field field = {NULL, NULL, false};
        uint64_t lines = 0;
        step = fm_csv_next(&next, window->end, state->delimiter, &field, &lines);
        for (size_t i = 0; i < choice->beside_count; i++)
            if (choice->beside[i].column == column && choice->beside[i].hash != fm_csv_hash(&field))
                return fm_csv_refuse_alone(choice, &choice->beside[i], window->name, window->line, error);
    }
    return FM_OK;
}

static fm_status parse_size(const csv_state *state, const fm_line_window *window, fm_csv_field *field,
                            uint64_t key, uint32_t *size, fm_error *error)
{
    uint64_t bytes = 0;
    csv_unquote(field);
    if (!fm_csv_number(field, &bytes))
        return fail_row(window, error, "a size", state->choice.size_column, field);
    if (__builtin_mul_overflow(bytes, state->size_unit, &bytes) || bytes > UINT32_MAX)
        return fail_row(window, error, "a size below 4 GiB", state->choice.size_column, field);
    if (bytes > 0 && key + (bytes - 1) < key)
        return fail_row(window, error, "a size that does not reach beyond 64-bit addresses",
                        state->choice.size_column, field);
    *size = (uint32_t)bytes;
    return FM_OK;
}

/* Whether a field that is not quoted has a '\r' in it, which is not at the end of its line. */
static bool has_return_within(const csv_state *state, char *row, char *end)
{
    fm_csv_step step = FM_CSV_FIELD;
    while (step == FM_CSV_FIELD) {
        fm_csv_field field;
        uint64_t lines = 0;
        char *from = row;
        step = fm_csv_next(&row, end, state->delimiter, &field, &lines);
        char *stop = row - 1; /* the delimiter, or '\n' */
        while (step == FM_CSV_LAST && stop > from && (stop[-1] == '\r' || stop[-1] == ' ')) stop--;
        if (!field.quoted && memchr(from, '\r', (size_t)(stop - from))) return true;
    }
    return false;
}

/* One row. FM_OK with *got false: a row without content, or (window->unfinished) a row that is not whole. */
static fm_status parse_row(const csv_state *state, fm_line_window *window, uint64_t *key, uint32_t *size,
                           bool *got, fm_error *error)
{
    fm_csv_field wanted[2] = {{NULL, NULL, false}, {NULL, NULL, false}}, field;
    char *next = fm_line_pass_mark(window->at);
    uint64_t lines = 0, number = 1;
    fm_csv_step step = FM_CSV_FIELD;
    bool content = false;
    *got = false;
    for (; step == FM_CSV_FIELD; number++) {
        step = fm_csv_next(&next, window->end, state->delimiter, &field, &lines);
        window->unfinished = step == FM_CSV_INCOMPLETE;
        if (window->unfinished) return FM_OK;
        if (step == FM_CSV_BROKEN)
            return fm_fail_at(error, FM_E_FORMAT, window->name, FM_PLACE_LINE, window->line + lines,
                              "expected a delimiter behind the quoted field of column %" PRIu64, number);
        content |= field.quoted || field.end > field.from || step == FM_CSV_FIELD;
        if (number == state->choice.key_column) wanted[0] = field;
        if (number == state->choice.size_column) wanted[1] = field;
    }
    if (content && fm_line_window_returns(window) && has_return_within(state, window->at, window->end))
        return fm_line_mixed(window->name, window->line, error);
    if (content && state->choice.only && number > (state->choice.size_column ? 3 : 2))
        return fm_fail_at(
            error, FM_E_FORMAT, window->name, FM_PLACE_LINE, window->line,
            "expected no more columns than in the first row, found %" PRIu64
            "; csv_key=COLUMN says which is the key, csv_delimiter and quotes what is one column",
            number - 1);
    if (content && !wanted[0].from) return fail_row(window, error, "a key", state->choice.key_column, NULL);
    if (content && state->choice.size_column && !wanted[1].from)
        return fail_row(window, error, "a size", state->choice.size_column, NULL);
    fm_status status = FM_OK;
    if (content && state->choice.beside_count > 0) status = check_beside(state, window, error);
    if (content && status == FM_OK)
        status = state->choice.part_count > 1 ? parse_parts(state, window, key, error)
                                              : parse_key(state, window, &wanted[0], key, error);
    if (status == FM_OK && wanted[1].from && content)
        status = parse_size(state, window, &wanted[1], *key, size, error);
    if (status != FM_OK) return status;
    *got = content;
    window->line += lines;
    window->at = next;
    return FM_OK;
}

static fm_status csv_parse(const void *settings, fm_line_window *window, fm_columns *columns, fm_error *error)
{
    const csv_state *state = settings;
    fm_status status = FM_OK;
    fm_text_pause pause = {0};
    while (window->at < window->end && columns->count < FM_BATCH_MAX && !window->unfinished &&
           status == FM_OK) {
        size_t count = columns->count;
        if (state->kernels && !fm_text_pauses(&pause)) {
            const char *at = window->at;
            const size_t found =
                state->kernels->rows(&state->plan, &at, window->end, columns->address + count,
                                     columns->size ? columns->size + count : NULL, FM_BATCH_MAX - count);
            count = columns->count += found;
            window->line += found;
            window->at += at - window->at;
            fm_text_found(&pause, found);
            if (window->at == window->end || columns->count == FM_BATCH_MAX) break;
        }
        uint32_t size = 0;
        bool got;
        status = parse_row(state, window, &columns->address[count], &size, &got, error);
        if (!got) continue;
        if (columns->size) columns->size[count] = size;
        columns->count++;
    }
    return status;
}

static fm_status csv_start(fm_export *export, fm_error *error)
{
    bool sizes = export->columns & FM_COLUMN_SIZE;
    /* What has a size is a range, so that the key is a place. */
    const char *header = export->memory_addresses ? (sizes ? "address,size\n" : "address\n")
                                                  : (sizes ? "offset,size\n" : "key\n");
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
    .share = fm_line_import_share,
    .shared = fm_line_import_shared,
    .read = fm_line_import_read,
    .close = fm_line_import_close,
    .start = csv_start,
    .write = csv_write,
};

/* SPDX-License-Identifier: Apache-2.0 */
/* csv_choice.c - see csv_choice.h. Looks at the rows without changing them. */
#include "trace/import/csv_choice.h"

#include "base/error.h"
#include "trace/import/column_names.h"
#include "trace/import/csv_fields.h"
#include "trace/lines/lines.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

/* Values of a column that are shown. */
enum { SHOWN = 3, LISTED = 2 };

char *fm_csv_pass_blank(const fm_csv_rows *rows, char *at)
{
    while (at < rows->end) {
        char *next = at;
        while (*next == ' ' || *next == '\r') next++;
        if (*next != '\n') break;
        at = next + 1;
    }
    return at;
}

char *fm_csv_look_at_row(const fm_csv_rows *rows, char *at, uint64_t *fields, bool *has_number)
{
    uint64_t lines = 0, number;
    fm_csv_step step = FM_CSV_FIELD;
    *fields = 0;
    *has_number = false;
    at = fm_csv_pass_blank(rows, at);
    if (at >= rows->end) return NULL;
    while (step == FM_CSV_FIELD) {
        fm_csv_field field;
        step = fm_csv_next(&at, rows->end, rows->delimiter, &field, &lines);
        if (step != FM_CSV_FIELD && step != FM_CSV_LAST) continue;
        ++*fields;
        if (fm_csv_number(&field, &number)) *has_number = true;
    }
    return step == FM_CSV_LAST ? at : NULL;
}

/* A field of the row, columns counted from 1. False: the row has fewer. */
static bool field_of(const fm_csv_rows *rows, char *row, uint64_t column, fm_csv_field *field)
{
    uint64_t lines = 0;
    fm_csv_step step = FM_CSV_FIELD;
    row = fm_csv_pass_blank(rows, row);
    for (uint64_t number = 1; step == FM_CSV_FIELD && row < rows->end; number++) {
        step = fm_csv_next(&row, rows->end, rows->delimiter, field, &lines);
        if (step != FM_CSV_FIELD && step != FM_CSV_LAST) return false;
        if (number == column) return true;
    }
    return false;
}

static size_t length_of(const fm_csv_field *field)
{
    return (size_t)(field->end - field->from);
}

/* ---- text for people ---- */

typedef struct text {
    char *to;
    size_t size, used;
} text;

static void add(text *into, const char *words)
{
    if (into->used + 1 < into->size)
        into->used += (size_t)snprintf(into->to + into->used, into->size - into->used, "%s", words);
}

static void add_field(text *into, const fm_csv_field *field)
{
    char quote[FM_CSV_QUOTED];
    add(into, fm_text_quote(field->from, length_of(field), quote, sizeof quote));
}

/* The first values of a column, up to `most`. */
static void add_values(const fm_csv_rows *rows, bool header, uint64_t column, size_t most, text *into)
{
    uint64_t fields;
    bool ignored;
    char *row = header ? fm_csv_look_at_row(rows, rows->from, &fields, &ignored) : rows->from;
    size_t shown = 0;
    for (; row; row = fm_csv_look_at_row(rows, row, &fields, &ignored)) {
        fm_csv_field field;
        if (!field_of(rows, row, column, &field)) continue;
        if (shown == most) {
            add(into, ", ...");
            break;
        }
        add(into, shown++ ? ", " : "");
        add_field(into, &field);
    }
    if (shown == 0) add(into, "no value");
}

/* Every column with a few values. */
static void add_columns(const fm_csv_rows *rows, bool header, text *into)
{
    uint64_t fields;
    bool ignored;
    fm_csv_field name;
    fm_csv_look_at_row(rows, rows->from, &fields, &ignored);
    for (uint64_t column = 1; column <= fields && into->used + 1 < into->size; column++) {
        char number[32];
        snprintf(number, sizeof number, "%" PRIu64, column);
        add(into, column > 1 ? "; " : "");
        if (header && field_of(rows, rows->from, column, &name) && length_of(&name) > 0)
            add_field(into, &name);
        else
            add(into, number);
        add(into, " (");
        add_values(rows, header, column, LISTED, into);
        add(into, ")");
    }
    if (into->used + 1 >= into->size) memcpy(into->to + into->size - 4, "...", 4);
}

/* ---- a column that the options name ---- */

static bool is_number(const char *said)
{
    size_t digits = strspn(said, "0123456789");
    return digits > 0 && said[digits] == '\0';
}

/* Compares without changing the field. */
static bool is_named(const fm_csv_field *field, const char *name)
{
    const char *at = field->from;
    for (; at < field->end && *name; at++, name++) {
        if (*at != *name) return false;
        if (field->quoted && *at == '"') at++;
    }
    return at >= field->end && *name == '\0';
}

static fm_status resolve(const fm_csv_rows *rows, const char *said, bool header, uint64_t *column,
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
    text list = {.to = names, .size = sizeof names};
    fm_csv_field field;
    for (*column = 1; field_of(rows, rows->from, *column, &field); ++*column) {
        if (is_named(&field, said)) return FM_OK;
        add(&list, list.used ? ", " : "");
        add_field(&list, &field);
    }
    return fm_fail_at(error, FM_E_FORMAT, rows->file, FM_PLACE_LINE, rows->line,
                      "expected a column '%s', found: %s", said, names[0] ? names : "an empty file");
}

/* ---- a key that the options do not name ---- */

static fm_key_likeness likeness(const fm_csv_rows *rows, uint64_t column)
{
    fm_csv_field name;
    return field_of(rows, rows->from, column, &name) ? fm_column_is_key(name.from, length_of(&name))
                                                     : FM_KEY_NO;
}

/* The one column that looks like a key, and none does more; 0: none, or several. */
static uint64_t find_key(const fm_csv_rows *rows, uint64_t fields, uint64_t size_column)
{
    uint64_t found = 0;
    fm_key_likeness best = FM_KEY_NO;
    for (uint64_t column = 1; column <= fields; column++) {
        const fm_key_likeness like = column == size_column ? FM_KEY_NO : likeness(rows, column);
        if (like == FM_KEY_NO || like < best) continue;
        found = like > best ? column : 0;
        best = like;
    }
    return found;
}

static bool names_a_key(const fm_csv_rows *rows)
{
    fm_csv_field name;
    for (uint64_t column = 1; field_of(rows, rows->from, column, &name); column++)
        if (fm_column_is_key(name.from, length_of(&name)) != FM_KEY_NO) return true;
    return false;
}

/* No number in the first row, and one in the second. Or, where the options name no key, the name of one. */
static bool first_row_is_header(const fm_csv_rows *rows, bool key_said)
{
    uint64_t fields;
    bool first, second;
    char *next = fm_csv_look_at_row(rows, rows->from, &fields, &first);
    if (!next || first) return false;
    if (!key_said && names_a_key(rows)) return true;
    return fm_csv_look_at_row(rows, next, &fields, &second) && second;
}

static fm_status refuse_to_guess(const fm_csv_rows *rows, uint64_t fields, const fm_csv_choice *choice,
                                 fm_error *error)
{
    char columns[360] = "";
    text list = {.to = columns, .size = sizeof columns};
    size_t alike = 0;
    for (uint64_t column = 1; choice->header && column <= fields; column++)
        if (column != choice->size_column) alike += likeness(rows, column) != FM_KEY_NO;
    add_columns(rows, choice->header, &list);
    return fm_fail_at(error, FM_E_ARGUMENT, rows->file, FM_PLACE_LINE, rows->line,
                      "which column is the key? %s; say --key %s, of these: %s",
                      !choice->header ? "Nothing names them"
                      : alike > 1     ? "Several might be"
                                      : "No name tells",
                      choice->header ? "COLUMN" : "NUMBER", columns);
}

static fm_status choose_key(const fm_csv_rows *rows, fm_csv_choice *choice, fm_error *error)
{
    uint64_t fields, more;
    bool ignored;
    char *next = fm_csv_look_at_row(rows, rows->from, &fields, &ignored);
    choice->key_column = 1;
    if (!next) return FM_OK; /* nothing to choose from: an empty table */
    /* The header may be shorter than the rows: then it is none. */
    if (fm_csv_look_at_row(rows, next, &more, &ignored) && more > fields) fields = more;
    const bool size_is_one = choice->size_column > 0 && choice->size_column <= fields;
    if (fields - (size_is_one ? 1 : 0) == 1) {
        choice->key_column = choice->size_column == 1 ? 2 : 1;
        choice->only = true;
        return FM_OK;
    }
    choice->key_column = choice->header ? find_key(rows, fields, choice->size_column) : 0;
    choice->found = true;
    return choice->key_column ? FM_OK : refuse_to_guess(rows, fields, choice, error);
}

/* ---- units ---- */

/* An address in blocks and a size in bytes would be another request. */
static fm_status check_units(const fm_csv_rows *rows, const fm_reader_options *options, fm_csv_choice *choice,
                             fm_error *error)
{
    fm_csv_field key, size;
    if (!choice->header || !field_of(rows, rows->from, choice->key_column, &key)) return FM_OK;
    choice->unknown_unit = !options->csv_key_unit && fm_column_key_counts_units(key.from, length_of(&key));
    if (!choice->size_column || !field_of(rows, rows->from, choice->size_column, &size)) return FM_OK;
    const bool unknown_size =
        !options->csv_size_unit && fm_column_size_counts_units(size.from, length_of(&size));
    if (!choice->unknown_unit && !unknown_size) return FM_OK;
    char quote[FM_CSV_QUOTED];
    const fm_csv_field *which = choice->unknown_unit ? &key : &size;
    return fm_fail_at(
        error, FM_E_ARGUMENT, rows->file, FM_PLACE_LINE, rows->line,
        "by its name, column '%s' counts sectors, blocks or the like, and a request is a range of "
        "bytes: say how many bytes one is, with %s%s (512 for sectors of 512 bytes, 1 where "
        "they are bytes)",
        fm_text_quote(which->from, length_of(which), quote, sizeof quote),
        choice->unknown_unit ? "--key-unit" : "--size-unit",
        choice->unknown_unit && unknown_size ? " and --size-unit" : "");
}

fm_status fm_csv_choose(const fm_csv_rows *rows, const fm_reader_options *options, fm_csv_choice *choice,
                        fm_error *error)
{
    const char *key = options->csv_key, *size = options->csv_size;
    const bool named = (key && !is_number(key)) || (size && !is_number(size));
    fm_status status = FM_OK;
    *choice = (fm_csv_choice){.header = options->csv_header > 0};
    if (options->csv_header < 0) choice->header = named || first_row_is_header(rows, key);
    if (size) status = resolve(rows, size, choice->header, &choice->size_column, error);
    if (status == FM_OK)
        status = key ? resolve(rows, key, choice->header, &choice->key_column, error)
                     : choose_key(rows, choice, error);
    if (status == FM_OK) status = check_units(rows, options, choice, error);
    fm_csv_field name;
    if (status != FM_OK || !field_of(rows, rows->from, choice->key_column, &name)) return status;
    if (choice->header) fm_text_quote(name.from, length_of(&name), choice->key_name, sizeof choice->key_name);
    text values = {.to = choice->key_values, .size = sizeof choice->key_values};
    add_values(rows, choice->header, choice->key_column, SHOWN, &values);
    return FM_OK;
}

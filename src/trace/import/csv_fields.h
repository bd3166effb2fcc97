/* SPDX-License-Identifier: Apache-2.0 */
/* csv_fields.h - one field of a table after the other, where every line in the window ends in '\n'. */
#ifndef FATHOM_TRACE_CSV_FIELDS_H
#define FATHOM_TRACE_CSV_FIELDS_H

#include "trace/numbers.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <xxhash.h>

typedef struct fm_csv_field {
    char *from, *end; /* without its quotes; doubled quotes still doubled */
    bool quoted;
} fm_csv_field;

typedef enum fm_csv_step { FM_CSV_FIELD, FM_CSV_LAST, FM_CSV_INCOMPLETE, FM_CSV_BROKEN } fm_csv_step;

/*
 * The field at *at; *at moves behind it and its delimiter or line end. FM_CSV_INCOMPLETE: a quoted field goes
 * on behind the window. *lines counts line ends.
 */
static inline fm_csv_step fm_csv_next(char **at, char *end, char delimiter, fm_csv_field *field,
                                      uint64_t *lines)
{
    char *next = *at;
    while (*next == ' ' && delimiter != ' ') next++;
    field->quoted = *next == '"';
    if (field->quoted) {
        field->from = ++next;
        while ((next = memchr(next, '"', (size_t)(end - next))) && next[1] == '"') next += 2;
        if (!next) return FM_CSV_INCOMPLETE; /* a quote is never the window's last byte: that is a line end */
        field->end = next++;
        for (char *c = field->from; (c = memchr(c, '\n', (size_t)(field->end - c))); c++) (*lines)++;
        while ((*next == ' ' || *next == '\r') && *next != delimiter) next++;
        if (*next != delimiter && *next != '\n') return FM_CSV_BROKEN;
    } else {
        field->from = next;
        while (*next != delimiter && *next != '\n') next++;
        field->end = next;
        while (field->end > field->from && (field->end[-1] == ' ' || field->end[-1] == '\r')) field->end--;
    }
    bool last = *next == '\n';
    if (last) (*lines)++;
    *at = next + 1;
    return last ? FM_CSV_LAST : FM_CSV_FIELD;
}

static inline bool fm_csv_number(const fm_csv_field *field, uint64_t *value)
{
    const char *from = field->from, *stop;
    if (field->end - from > 2 && from[0] == '0' && (from[1] | 32) == 'x')
        stop = fm_parse_hex(from + 2, value);
    else
        stop = fm_parse_decimal(from, value);
    return stop == field->end;
}

/* Of its text as it stands there. */
static inline uint64_t fm_csv_hash(const fm_csv_field *field)
{
    return XXH3_64bits(field->from, (size_t)(field->end - field->from));
}

#endif

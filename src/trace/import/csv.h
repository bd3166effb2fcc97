/* SPDX-License-Identifier: Apache-2.0 */
/* csv.h - tables of text: which column is what. Internal. */
#ifndef FATHOM_TRACE_IMPORT_CSV_H
#define FATHOM_TRACE_IMPORT_CSV_H

#include "trace/format.h"

#include <fathom/trace.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <xxhash.h>

/* ======== names of columns ======== */

/*
 * What the name of a column in a table of requests means, by the words that people use:
 * whether it is what a cache is asked for, and whether its numbers are bytes. Names are cut into words at
 * anything that is no letter or digit and where small letters turn into capitals; case and a unit behind the
 * name do not count: "Offset (bytes)", "byte_offset" and "ByteOffset" are an offset in bytes.
 */

typedef enum fm_key_likeness {
    FM_KEY_NO = 0,
    FM_KEY_PERHAPS, /* an id, a path, …: the key where nothing else looks like one */
    FM_KEY_YES,     /* an offset, an address, a block, a key, an object, a URL */
} fm_key_likeness;

fm_key_likeness fm_column_is_key(const char *name, size_t length);

/* Whether its values only tell things apart, as an id, a hash, a name or a URL does: they have no neighbours,
 * and no size can be added to them. Not so of offsets, addresses and numbers of blocks. */
bool fm_column_is_identity(const char *name, size_t length);
/* Whether its values are places: offsets, addresses, numbers of blocks. */
bool fm_column_is_place(const char *name, size_t length);
/* Whether it says where a key is: the relation of a block, the disk or the file of an offset, the bucket of
 * an object. place: of places, not of identities. */
bool fm_column_is_container(const char *name, size_t length, bool place);

/* Whether the numbers of a key, or of a size, count sectors, blocks, pages or kilobytes, not bytes. */
bool fm_column_key_counts_units(const char *name, size_t length);
bool fm_column_size_counts_units(const char *name, size_t length);

/* ======== the choice ======== */

/*
 * Which columns of a table are meant: whether the first row names them, where the key and the
 * size are, and whether they can be put together. What the options do not say is taken from the names, where
 * they are plain; where they are not, that is an error that shows what there is: a column that happens to
 * stand first would give an answer to another question.
 */

enum {
    FM_CSV_QUOTED = 200,
    FM_CSV_PARTS_MOST = 8,  /* columns of a key */
    FM_CSV_BESIDE_MOST = 8, /* columns beside it that are watched */
};

/* The rows in the buffer, all whole: the first two at least, if there are so many. */
typedef struct fm_csv_rows {
    char *from, *end;
    char delimiter;
    const char *file; /* for messages */
    uint64_t line;    /* of the first */
} fm_csv_rows;

/* A column beside the key that says where a key is: as long as it stays the same, the key need not have it.
 */
typedef struct fm_csv_beside {
    uint64_t column, hash; /* of its value in the first row */
    char name[FM_CSV_QUOTED];
} fm_csv_beside;

typedef struct fm_csv_choice {
    bool header;
    bool found;        /* the key was found by its name: the options do not name it */
    bool only;         /* the key is the only column: found by looking, so every row must be like that */
    bool unknown_unit; /* of the key, which by its name counts something else than bytes */
    bool identity;     /* by its name or its values, the key is no place: it has no neighbours */
    uint64_t key_column, size_column; /* from 1; size_column 0: none */
    /* Where the key is several columns, these, the last one being key_column; else part_count is 1. */
    uint64_t part[FM_CSV_PARTS_MOST];
    size_t part_count;
    fm_csv_beside beside[FM_CSV_BESIDE_MOST];
    size_t beside_count;
    /* For people. */
    char key_name[FM_CSV_QUOTED];       /* "": there is no header */
    char key_values[2 * FM_CSV_QUOTED]; /* the first few */
    char columns[2 * FM_CSV_QUOTED];    /* all columns with a few values; "": there is one only */
    char together[FM_CSV_QUOTED];       /* how to say that the columns beside the key belong to it */
} fm_csv_choice;

/* Rows without content do not count. */
char *fm_csv_pass_blank(const fm_csv_rows *rows, char *at);
/* What follows the row at `at`, or NULL where that is not whole; its fields, and whether any is a number. */
char *fm_csv_look_at_row(const fm_csv_rows *rows, char *at, uint64_t *fields, bool *has_number);

/* The error for a column beside the key that does not stay the same. */
fm_status fm_csv_refuse_alone(const fm_csv_choice *choice, const fm_csv_beside *beside, const char *file,
                              uint64_t line, fm_error *error);

/* Every column of the rows with a few values, for people: "time (1, 2, ...); key (5, 5, ...)". */
void fm_csv_list_columns(const fm_csv_rows *rows, bool header, char *to, size_t size);

/* FM_E_ARGUMENT: an option is missing, or has another value than the table allows. FM_E_FORMAT: no such
 * column. */
fm_status fm_csv_choose(const fm_csv_rows *rows, const fm_reader_options *options, fm_csv_choice *choice,
                        fm_error *error);

/* ======== fields ======== */

/* One field of a table after the other, where every line in the window ends in '\n'. */

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

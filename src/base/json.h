/* SPDX-License-Identifier: Apache-2.0 */
/* json.h - JSON that is read and written. */
#ifndef FATHOM_BASE_JSON_H
#define FATHOM_BASE_JSON_H

#include <fathom/status.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* ======== reading ======== */

/*
 * JSON read piece by piece, in the order it stands in the file.
 *
 * Not a general JSON library: the caller knows what should come next and asks for it. In return it
 * needs no tree (a profile may have millions of bins), holds whole numbers of all 64 bits, and knows
 * the byte of every mistake. A failed allocation is never mistaken for bad input; a tree builder that
 * drops the end of a token when memory is short, as jansson does, would not do here.
 */

enum { FM_JSON_BUFFER = 1 << 16, FM_JSON_DEEPEST = 64 };

typedef struct fm_json_scan {
    const char *path; /* for messages */
    fm_error *error;
    int descriptor;
    uint64_t offset; /* of buffer[0] in the file */
    size_t at, filled;
    fm_status failure; /* of a read, FM_OK so far */
    unsigned char buffer[FM_JSON_BUFFER];
} fm_json_scan;

typedef enum fm_json_kind {
    FM_JSON_OBJECT,
    FM_JSON_ARRAY,
    FM_JSON_STRING,
    FM_JSON_NUMBER,
    FM_JSON_TRUTH,
    FM_JSON_NULL,
} fm_json_kind;

/* "an object", "a number", …, for messages. */
const char *fm_json_kind_name(fm_json_kind kind);

/* path "-": standard input. */
fm_status fm_json_scan_open(fm_json_scan *scan, const char *path, fm_error *error);
void fm_json_scan_close(fm_json_scan *scan);

/* FM_E_FORMAT at the place reached so far. */
fm_status fm_json_refuse(fm_json_scan *scan, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* What comes next; nothing of it is taken. */
fm_status fm_json_peek(fm_json_scan *scan, fm_json_kind *kind);

/*
 * Objects and arrays: enter takes the opening bracket. Then more, before each element, says whether
 * there is one, and takes the comma or the closing bracket. In objects, key takes the name and colon;
 * a name that does not fit is cut.
 */
typedef struct fm_json_list {
    char close;
    bool begun;
} fm_json_list;
fm_status fm_json_enter(fm_json_scan *scan, fm_json_list *list);
/* The same where only an object, or only an array, will do. */
fm_status fm_json_enter_object(fm_json_scan *scan, const char *what, fm_json_list *list);
fm_status fm_json_enter_array(fm_json_scan *scan, const char *what, fm_json_list *list);
fm_status fm_json_more(fm_json_scan *scan, fm_json_list *list, bool *more);
fm_status fm_json_key(fm_json_scan *scan, char *name, size_t size);
/* The two together: the key of an object's next field, whose value is then to be taken; if there is one more.
 */
fm_status fm_json_field(fm_json_scan *scan, fm_json_list *list, char *name, size_t size, bool *more);

/* An array, and nothing else: a function takes the value of each element. */
typedef fm_status (*fm_json_take_element)(fm_json_scan *scan, const char *what, void *context);
fm_status fm_json_read_elements(fm_json_scan *scan, const char *what, fm_json_take_element take,
                                void *context);

/* Values. `what` names the value in messages. */
fm_status fm_json_whole(fm_json_scan *scan, const char *what, uint64_t *value);
fm_status fm_json_real(fm_json_scan *scan, const char *what, double *value);
fm_status fm_json_share(fm_json_scan *scan, const char *what, double *value);   /* from 0 to 1 */
fm_status fm_json_seconds(fm_json_scan *scan, const char *what, double *value); /* from 0 on, and finite */
fm_status fm_json_truth(fm_json_scan *scan, const char *what, bool *value);
/* A whole number below 2^32 - 1, or null, which is FM_NONE. */
fm_status fm_json_index(fm_json_scan *scan, const char *what, uint32_t *value);
/* New memory; *text is released and replaced only on success. */
fm_status fm_json_text(fm_json_scan *scan, const char *what, char **text);
/* The same, but null is no text: *text stays as it was. */
fm_status fm_json_optional_text(fm_json_scan *scan, const char *what, char **text);
fm_status fm_json_skip(fm_json_scan *scan);
/* Nothing but blanks up to the end of the file. */
fm_status fm_json_end(fm_json_scan *scan);

/* ======== writing ======== */

/*
 * Writing JSON as a stream, without a tree in memory: a histogram may have millions of
 * bins. Output errors stay in the FILE for whoever opened it to check.
 */

typedef enum fm_json_place {
    FM_JSON_PLAIN,   /* a JSON file */
    FM_JSON_IN_HTML, /* inside a <script> element: nothing in it may look like markup */
} fm_json_place;

/* A quoted string, or null for NULL. Bytes that are not UTF-8 become U+FFFD. In a page, which is for people
 * to read, characters that are not seen or reorder others are written as <U+202E> (plain_text.h), but for
 * newlines and tabs. */
void fm_json_write_string(FILE *out, const char *text, fm_json_place place);
/* A number that JSON can hold: not finite ones become null. Reads back as the same double. */
void fm_json_write_real(FILE *out, double value);

/* ======== fields ======== */

/* The fields of an object, written one after the other. */
typedef struct fm_json_fields {
    FILE *out;
    const char *indent; /* of the object, whose fields are in lines of their own; NULL: all are in one line */
    bool begun;         /* there is a field already */
} fm_json_fields;

void fm_json_begin_field(fm_json_fields *of, const char *key);
/* Nothing for NULL. */
void fm_json_text_field(fm_json_fields *of, const char *key, const char *text);
void fm_json_number_field(fm_json_fields *of, const char *key, uint64_t value);
void fm_json_real_field(fm_json_fields *of, const char *key, double value);

/*
 * The fields of a struct by a table: an object is read and written by it, and what it owns released. Fields
 * are written in the table's order, and read in any; unknown ones are skipped. Only those that are `always`
 * there are written where they are 0 or false.
 */

typedef enum fm_json_type {
    FM_JSON_OTHER,         /* by the functions of the member; NULL: not read, not written */
    FM_JSON_WHOLE,         /* uint64_t */
    FM_JSON_WHOLE32,       /* uint32_t */
    FM_JSON_INT,           /* int, from 0 on; where it is always there, -1 is none, which it begins as */
    FM_JSON_SHARE,         /* double, from 0 to 1 */
    FM_JSON_SECONDS,       /* double, finite, from 0 on; always there */
    FM_JSON_BOOL,          /* bool */
    FM_JSON_NAME,          /* char[FM_JSON_NAME_SIZE], always there */
    FM_JSON_TEXT,          /* char *, owned, always there: no null; written as "" where it is NULL */
    FM_JSON_OPTIONAL_TEXT, /* char *, owned; NULL: none */
    FM_JSON_NOTES,         /* the same; "" is none, too */
    FM_JSON_STRUCT,        /* a pointer to a struct with a table of its own, owned; NULL: none */
} fm_json_type;

enum { FM_JSON_NAME_SIZE = 32 };

struct fm_json_table;

typedef struct fm_json_member {
    const char *name;
    fm_json_type type;
    size_t offset; /* in the struct */
    bool always;
    bool only_written;                 /* skipped when it is read */
    const char *too_large;             /* FM_JSON_WHOLE32: said of more, in place of the numbers */
    const struct fm_json_table *table; /* FM_JSON_STRUCT */
    /* Where it is not read or written as others of its type; `at` is the value in the struct. */
    fm_status (*read)(fm_json_scan *scan, const char *what, void *at);
    void (*write)(fm_json_fields *of, const char *name, const void *at);
    bool (*given)(const void *object); /* whether it is written; NULL: by its value */
} fm_json_member;

/* A member that is called in JSON as it is in the struct. */
#define FM_JSON_FIELD(of, field, kind)                                                                       \
    {                                                                                                        \
        .name = #field, .type = FM_JSON_##kind, .offset = offsetof(of, field)                                \
    }
#define FM_JSON_ALWAYS(of, field, kind)                                                                      \
    {                                                                                                        \
        .name = #field, .type = FM_JSON_##kind, .offset = offsetof(of, field), .always = true                \
    }

typedef struct fm_json_table {
    const char *words; /* what there is no memory for: "a profile's run" */
    size_t size;       /* of the struct */
    bool plain;        /* in messages, fields have no names of their own */
    fm_status (*check)(fm_json_scan *scan, const char *what,
                       void *object); /* when all is read; may be NULL */
    size_t count;
    const fm_json_member *members;
} fm_json_table;
#define FM_JSON_LIST(list) .members = (list), .count = sizeof(list) / sizeof *(list)

/* The fields of one object; `what`, in quotes, names it in messages, and "what.name" its fields. When it
 * fails, what was read so far is in the object, for its owner to release. */
fm_status fm_json_read_fields(fm_json_scan *scan, const char *what, const fm_json_table *table, void *object);
/* The member of that name that can be read; NULL: none. */
const fm_json_member *fm_json_find_member(const fm_json_table *table, const char *name);
fm_status fm_json_read_member(fm_json_scan *scan, const char *what, const fm_json_member *member,
                              void *object);
/* With braces; no newline at the end. Output errors stay in the FILE. */
void fm_json_write_fields(FILE *out, const fm_json_table *table, const void *object, const char *indent);
/* Without. */
void fm_json_write_members(fm_json_fields *of, const fm_json_table *table, const void *object);
/* Releases the texts of the object; the second one the object, too (NULL is fine). */
void fm_json_clear_fields(const fm_json_table *table, void *object);
void fm_json_destroy(const fm_json_table *table, void *object);

#endif

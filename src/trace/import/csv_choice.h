/* SPDX-License-Identifier: Apache-2.0 */
/*
 * csv_choice.h - which columns of a table are meant: whether the first row names them, where the key and the
 * size are, and whether they can be put together. What the options do not say is taken from the names, where
 * they are plain; where they are not, that is an error that shows what there is: a column that happens to
 * stand first would give an answer to another question.
 */
#ifndef FATHOM_TRACE_CSV_CHOICE_H
#define FATHOM_TRACE_CSV_CHOICE_H

#include <fathom/trace.h>

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

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* fortran_context.h - what all files of the Fortran reader share: memory, files, flags, the first failure. */
#ifndef FATHOM_STATIC_FORTRAN_CONTEXT_H
#define FATHOM_STATIC_FORTRAN_CONTEXT_H

#include "base/plain_text.h"
#include "base/table.h"

#include <fathom/static.h>

enum {
    FT_MOST_FILES = 64,      /* the file and those that it includes */
    FT_MOST_BYTES = 4 << 20, /* of all of them */
    FT_MOST_SYMBOLS = 20000, /* of a unit */
    FT_MOST_UNITS = 2000,
    FT_MOST_STATEMENT = 1 << 18, /* characters */
    FT_MOST_NAME = 200,          /* bytes: room is left for what is put before and behind */
    FT_MOST_OPERATORS = 1000,    /* of a statement */
    FT_MOST_PARENTHESES = 200,   /* inside each other */
    FT_MOST_BLOCKS = 100,        /* inside each other */
};

/* Where something is, and the bytes of the source that it is: begin up to end. */
typedef struct ft_place {
    uint32_t file, line, column; /* all from 1 */
    const char *begin, *end;
} ft_place;

typedef struct ft_file {
    const char *path;
    fm_text_file text;
} ft_file;

typedef struct ft_context {
    fm_arena *arena;
    fm_error *error;
    fm_status status; /* of the first failure: whatever comes later is not reported */
    const fm_region_options *options;
    ft_file files[FT_MOST_FILES];
    uint32_t file_count;
    size_t bytes;                           /* of all files */
    const char *name_of[FT_MOST_FILES + 1]; /* by number: also files that line markers name */
    uint32_t name_count;
    /* Flags. */
    bool fixed;
    uint32_t line_length; /* of fixed form */
    bool real_8, integer_8, double_8;
} ft_context;

/* Notes a failure, the first one only. Returns false, so that callers can write `return fm_ft_fail(…)`. */
bool fm_ft_fail(ft_context *context, fm_status status, const ft_place *place, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
/* The usual one: FM_E_UNSUPPORTED. */
#define fm_ft_refuse(context, place, ...) fm_ft_fail(context, FM_E_UNSUPPORTED, place, __VA_ARGS__)
bool fm_ft_no_memory(ft_context *context);

/* count * size bytes, zeroed; NULL after noting that memory is short. */
void *fm_ft_allocate(ft_context *context, size_t count, size_t size);
const char *fm_ft_intern(ft_context *context, const char *text);
/* A new text in the arena, printed; NULL after noting that memory is short. */
const char *fm_ft_print(ft_context *context, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Source text of a place as one line, as it is where it is on one line. */
const char *fm_ft_text(ft_context *context, const ft_place *place);

/* Understands options->flags. */
bool fm_ft_flags(ft_context *context, const char *path);

#endif

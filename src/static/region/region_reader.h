/* SPDX-License-Identifier: Apache-2.0 */
/* region_reader.h - what the two files share that read a region's text (docs/STATIC-IR.md). */
#ifndef FATHOM_STATIC_REGION_READER_H
#define FATHOM_STATIC_REGION_READER_H

#include "static/region/region.h"

#include "base/table.h"

#include <fathom/status.h>

/* ---- words ---- */

typedef enum fm_token_kind {
    FM_TOKEN_END,
    FM_TOKEN_NAME,   /* text */
    FM_TOKEN_NUMBER, /* number */
    FM_TOKEN_TEXT,   /* text: what is in the quotes */
    FM_TOKEN_SIGN,   /* sign: one character, or one of the enum below */
} fm_token_kind;

enum { FM_SIGN_AT_MOST = 256, FM_SIGN_AT_LEAST, FM_SIGN_EQUAL, FM_SIGN_UNEQUAL }; /* <= >= == != */

typedef struct fm_lexer {
    const char *at, *end;
    const char *path;
    uint64_t line;
    fm_arena *arena; /* texts and names */
    /* The word at hand. */
    fm_token_kind kind;
    const char *text;
    int64_t number;
    int sign;
} fm_lexer;

/* On to the next word. */
fm_status fm_lexer_next(fm_lexer *lexer, fm_error *error);
/* FM_E_FORMAT: something else was expected than the word at hand. */
fm_status fm_lexer_unexpected(const fm_lexer *lexer, const char *expected, fm_error *error);
/* FM_E_FORMAT in this line. */
fm_status fm_lexer_fail(const fm_lexer *lexer, fm_error *error, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

bool fm_lexer_is_sign(const fm_lexer *lexer, int sign);
bool fm_lexer_is_word(const fm_lexer *lexer, const char *word);

/* ---- the reader ---- */

enum { FM_MOST_NESTING = 200, FM_MOST_TERMS = 2000 }; /* parentheses and blocks; operators of an expression */

typedef struct fm_region_reader {
    fm_lexer lexer;
    fm_region *region;
    unsigned nesting;
    unsigned terms;
    /* Loops around the place at hand: numbers of their variables. */
    uint32_t loops[FM_MOST_LOOPS];
    unsigned loop_count;
    size_t file_room, parameter_room, array_room, variable_room, assumption_room, note_room;
} fm_region_reader;

/* The word at hand must be this sign, and is passed. */
fm_status fm_fir_expect(fm_region_reader *reader, int sign, const char *expected, fm_error *error);

fm_status fm_fir_expression(fm_region_reader *reader, const fm_expr **expression, fm_error *error);
fm_status fm_fir_condition(fm_region_reader *reader, const fm_condition **condition, fm_error *error);

#endif

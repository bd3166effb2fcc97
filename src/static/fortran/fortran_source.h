/* SPDX-License-Identifier: Apache-2.0 */
/* fortran_source.h - files as a list of statements, each a list of words. */
#ifndef FATHOM_STATIC_FORTRAN_SOURCE_H
#define FATHOM_STATIC_FORTRAN_SOURCE_H

#include "static/fortran/fortran_context.h"

typedef enum ft_token_kind {
    FT_END, /* of the statement */
    FT_NAME,
    FT_INTEGER,
    FT_REAL,
    FT_STRING,
    FT_SIGN, /* sign: a character, or one of the enum below */
    FT_BAD,  /* no word of Fortran */
} ft_token_kind;

enum {
    FT_POWER = 256, /* ** */
    FT_CONCATENATE, /* // */
    FT_EQ,          /* == .eq. */
    FT_NE,
    FT_LT,
    FT_LE,
    FT_GT,
    FT_GE,
    FT_AND,
    FT_OR,
    FT_NOT,
    FT_EQV,
    FT_NEQV,
    FT_TRUE,
    FT_FALSE,
    FT_COLONS, /* :: */
    FT_ARROW,  /* => */
};

typedef struct ft_token {
    ft_token_kind kind;
    int sign;
    const char *text; /* names in lower case; others as they are */
    ft_place place;
} ft_token;

typedef enum ft_marker { FT_NO_MARKER, FT_REGION_BEGIN, FT_REGION_END } ft_marker;

typedef struct ft_line {
    uint32_t label;   /* 0: none */
    ft_marker marker; /* a comment that chooses a region: no words */
    bool fixed;       /* words may be glued to each other */
    ft_place place;   /* of the first word */
    ft_token *tokens; /* the last one is FT_END; in fixed form there is room for FT_SPLITS more */
    size_t count;     /* without it */
} ft_line;

enum { FT_SPLITS = 8 };

typedef struct ft_source {
    ft_line *lines; /* malloc */
    size_t count, room;
} ft_source;

/* A character of a statement and where it came from. */
typedef struct ft_character {
    char character;
    uint32_t line, column;
    const char *origin;
} ft_character;

bool fm_ft_read_source(ft_context *context, const char *path, ft_source *source);

/* One statement's characters into words. */
bool fm_ft_lex(ft_context *context, uint32_t file, const ft_character *characters, size_t count, bool fixed,
               ft_line *line);

#endif

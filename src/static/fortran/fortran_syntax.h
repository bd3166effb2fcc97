/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fortran_syntax.h - Fortran as trees: program units with their declarations, statements and expressions.
 * They live in the context's arena. A statement that was not understood is there as one that is refused, with
 * the reason. From the bottom: what all files of the reader share, words, trees, and what makes them.
 */
#ifndef FATHOM_STATIC_FORTRAN_SYNTAX_H
#define FATHOM_STATIC_FORTRAN_SYNTAX_H

#include "base/plain_text.h"
#include "base/table.h"

#include <fathom/static.h>

/* ---- Memory, files, flags, the first failure ---- */

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

/* ---- Files as a list of statements, each a list of words ---- */

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

/* ---- Trees ---- */

typedef enum ft_expression_kind {
    FT_X_INTEGER, /* text */
    FT_X_REAL,    /* text */
    FT_X_LOGICAL, /* operator: FT_TRUE, FT_FALSE */
    FT_X_STRING,
    FT_X_COMPLEX, /* (left, right) */
    FT_X_NAME,    /* text */
    FT_X_INDEX,   /* left(arguments): an element, a section, a call */
    FT_X_MEMBER,  /* left%text */
    FT_X_UNARY,   /* operator left */
    FT_X_BINARY,  /* left operator right */
    FT_X_RANGE,   /* left:right:third, each may be NULL */
    FT_X_KEYWORD, /* text = left, as an argument */
} ft_expression_kind;

typedef struct ft_expression {
    ft_expression_kind kind;
    int operator; /* as ft_token.sign */
    ft_place place;
    const char *text;
    struct ft_expression *left, *right, *third;
    struct ft_expression *arguments; /* the first one */
    struct ft_expression *next;      /* argument */
} ft_expression;

typedef enum ft_statement_kind {
    FT_S_ASSIGN,     /* left = right */
    FT_S_DO,         /* do left = first, last, step */
    FT_S_CONCURRENT, /* do concurrent, forall */
    FT_S_WHILE,      /* do while (right), or do without anything: right is NULL */
    FT_S_IF,         /* branches */
    FT_S_CALL,       /* left(arguments) */
    FT_S_CONTINUE,
    FT_S_CYCLE, /* name: of the loop, or NULL */
    FT_S_EXIT,
    FT_S_RETURN,
    FT_S_STOP,
    FT_S_ALLOCATE, /* left->arguments */
    FT_S_NOTHING,  /* deallocate and the like: touches no data */
    FT_S_REFUSED,  /* why */
    FT_S_MARKER,
} ft_statement_kind;

typedef struct ft_branch {
    ft_place place;
    ft_expression *condition; /* NULL: else */
    struct ft_statement *body;
    struct ft_branch *next;
} ft_branch;

/* An index of do concurrent: text = left, of an FT_X_KEYWORD whose left is an FT_X_RANGE. */
typedef struct ft_statement {
    ft_statement_kind kind;
    ft_place place;
    uint32_t label;
    ft_marker marker;
    const char *name; /* of the construct; of the loop that cycle and exit mean */
    ft_expression *left, *right;
    ft_expression *first, *last, *step;
    ft_expression *indices, *mask; /* of do concurrent */
    bool forall;
    ft_branch *branches;
    struct ft_statement *body;
    const char *why;
    struct ft_statement *next;
} ft_statement;

typedef enum ft_base {
    FT_INTEGER_TYPE,
    FT_REAL_TYPE,
    FT_COMPLEX_TYPE,
    FT_LOGICAL_TYPE,
    FT_CHARACTER_TYPE,
    FT_DERIVED_TYPE,
    FT_NO_TYPE, /* polymorphic, procedures */
} ft_base;

typedef struct ft_type {
    ft_base base;
    bool twice;            /* double precision */
    ft_expression *kind;   /* NULL: the default one */
    ft_expression *length; /* of characters; NULL: 1 */
    bool star;             /* kind is a number of bytes: real*8 */
    bool any_length;       /* of characters */
    const char *derived;
} ft_type;

typedef enum ft_bound_kind {
    FT_EXPLICIT, /* low:high */
    FT_ASSUMED_SIZE,
    FT_ASSUMED_SHAPE, /* or deferred */
} ft_bound_kind;

typedef struct ft_dimension {
    ft_bound_kind kind;
    ft_expression *low, *high; /* low NULL: 1 */
} ft_dimension;

enum { FT_MOST_RANK = 15 };

typedef struct ft_symbol {
    const char *name;
    struct ft_unit *unit; /* whose it is */
    ft_place place;
    bool typed;
    ft_type type;
    unsigned rank;
    ft_dimension *dimensions;
    bool dummy, intent_in, constant, allocatable, pointer, target, external, equivalenced, saved, by_value,
        optional;
    const char *common; /* the block's name; "" is the blank one */
    unsigned common_index;
    ft_expression *value;           /* of a constant, or a first value */
    ft_expression *function;        /* of a statement function */
    const char *use_name;           /* of another module's symbol, by use with a new name */
    unsigned number;                /* of a dummy argument, from 0 */
    struct ft_symbol *next, *chain; /* in order; of the same hash */
} ft_symbol;

typedef struct ft_use {
    const char *module;
    ft_place place;
    bool only;
    ft_expression *names; /* FT_X_KEYWORD text => left, or FT_X_NAME */
    struct ft_use *next;
} ft_use;

/* A derived type. */
typedef struct ft_record {
    const char *name;
    ft_place place;
    const char *why; /* not understood because … */
    struct ft_unit *unit;
    ft_symbol *members; /* in order */
    bool measuring;
    struct ft_record *next;
} ft_record;

typedef enum ft_unit_kind { FT_PROGRAM, FT_SUBROUTINE, FT_FUNCTION, FT_MODULE, FT_BLOCK_DATA } ft_unit_kind;

enum { FT_SYMBOL_BUCKETS = 64 };

typedef struct ft_unit {
    ft_unit_kind kind;
    const char *name, *result;
    ft_place place;
    uint32_t last_line;
    struct ft_unit *host, *children, *next;
    ft_symbol *symbols, *last_symbol;
    unsigned symbol_count;
    ft_symbol *buckets[FT_SYMBOL_BUCKETS];
    unsigned dummy_count;
    ft_symbol **dummies;
    ft_record *records;
    ft_use *uses;
    bool implicit_none;
    bool implicit_set[26];
    ft_type implicit[26];
    const char *why; /* a declaration was not understood */
    ft_place why_place;
    ft_statement *body;
    bool has_loops, has_regions, elemental;
    bool active;      /* being walked: recursion */
    unsigned scanned; /* see fm_ft_assigned() */
} ft_unit;

/* All units of a source; NULL after a failure was noted. */
ft_unit *fm_ft_parse(ft_context *context, const ft_source *source);

/* The symbol of that name in this unit itself; made where it is not there. */
ft_symbol *fm_ft_own_symbol(ft_context *context, ft_unit *unit, const char *name, bool make);

/* ---- What the files that make trees out of statements share ---- */

typedef struct ft_parser {
    ft_context *context;
    const ft_source *source;
    size_t line;                     /* number of the statement at hand */
    ft_token *at;                    /* the current word */
    ft_token nothing;                /* behind the last line */
    unsigned operators, parentheses; /* of the statement */
    unsigned blocks;
    unsigned units;
    uint32_t closed_label; /* of the labelled do that was closed last */
    const char *why;       /* this statement is not understood; NULL: it is, so far */
    ft_place why_place;
} ft_parser;

ft_line *fm_ft_line(const ft_parser *parser); /* NULL: the source is at its end */
/* The first word of the statement at hand is at hand. */
void fm_ft_restart(ft_parser *parser);
void fm_ft_advance(ft_parser *parser); /* to the next statement */

/* Not understood: keeps the first reason. Returns false. */
bool fm_ft_puzzled(ft_parser *parser, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Expected something else. */
bool fm_ft_unexpected(ft_parser *parser, const char *expected);

/* Passes the word if it is at hand. In fixed form it may be glued to the next. */
bool fm_ft_word(ft_parser *parser, const char *word);
bool fm_ft_sign(ft_parser *parser, int sign);
bool fm_ft_expect_sign(ft_parser *parser, int sign, const char *shown);
const char *fm_ft_name(ft_parser *parser); /* NULL: puzzled */
bool fm_ft_at_sign(const ft_parser *parser, int sign);
bool fm_ft_at_end(const ft_parser *parser);

/* Is the statement at hand an assignment (to a variable that may be called like a keyword)? */
bool fm_ft_is_assignment(const ft_parser *parser);

/* NULL: puzzled. */
ft_expression *fm_ft_expression(ft_parser *parser);
/* Arguments, behind "(", up to and with ")". False: puzzled. */
bool fm_ft_arguments(ft_parser *parser, ft_expression **first);
ft_expression *fm_ft_new_expression(ft_parser *parser, ft_expression_kind kind);

/* A declaration, or another statement that only tells: true where it was one (understood or not). */
bool fm_ft_declaration(ft_parser *parser, ft_unit *unit);
/* `integer(8)` and the like, at hand: false where it is none. */
bool fm_ft_type_spec(ft_parser *parser, ft_type *type);

/* Executable statements up to one that ends the block; that one is at hand. */
ft_statement *fm_ft_block(ft_parser *parser, ft_unit *unit, uint32_t label);

#endif

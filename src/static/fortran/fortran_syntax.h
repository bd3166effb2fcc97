/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fortran_syntax.h - Fortran as trees: program units with their declarations, statements and expressions.
 * They live in the context's arena. A statement that was not understood is there as one that is refused, with
 * the reason.
 */
#ifndef FATHOM_STATIC_FORTRAN_SYNTAX_H
#define FATHOM_STATIC_FORTRAN_SYNTAX_H

#include "static/fortran/fortran_source.h"

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
    unsigned scanned; /* see fortran_assigned.c */
} ft_unit;

/* All units of a source; NULL after a failure was noted. */
ft_unit *fm_ft_parse(ft_context *context, const ft_source *source);

/* The symbol of that name in this unit itself; made where it is not there. */
ft_symbol *fm_ft_own_symbol(ft_context *context, ft_unit *unit, const char *name, bool make);

#endif

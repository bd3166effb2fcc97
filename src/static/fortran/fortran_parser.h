/* SPDX-License-Identifier: Apache-2.0 */
/* fortran_parser.h - what the files that make trees out of statements share. */
#ifndef FATHOM_STATIC_FORTRAN_PARSER_H
#define FATHOM_STATIC_FORTRAN_PARSER_H

#include "static/fortran/fortran_syntax.h"

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
/* What follows its word: kinds, lengths. */
bool fm_ft_type_parameters(ft_parser *parser, ft_type *type);

/* Executable statements up to one that ends the block; that one is at hand. */
ft_statement *fm_ft_block(ft_parser *parser, ft_unit *unit, uint32_t label);

#endif

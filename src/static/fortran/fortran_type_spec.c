/* SPDX-License-Identifier: Apache-2.0 */
/* fortran_type_spec.c - `integer`, `real*8`, `character(len=3)`, `type(t)` in declarations. */
#include "static/fortran/fortran_parser.h"

#include <string.h>

/* (8), (kind=8), (len=3, kind=1), *8, *(*) */
bool fm_ft_type_parameters(ft_parser *parser, ft_type *type)
{
    bool character = type->base == FT_CHARACTER_TYPE;
    if (fm_ft_sign(parser, '*')) {
        if (fm_ft_sign(parser, '(')) {
            type->any_length = fm_ft_sign(parser, '*') || fm_ft_sign(parser, ':');
            if (!type->any_length && !(type->length = fm_ft_expression(parser))) return false;
            return fm_ft_expect_sign(parser, ')', "')'");
        }
        if (parser->at->kind != FT_INTEGER) return fm_ft_unexpected(parser, "a number of bytes");
        ft_expression *number = fm_ft_new_expression(parser, FT_X_INTEGER);
        if (!number) return false;
        number->text = parser->at++->text;
        if (character)
            type->length = number;
        else
            type->kind = number;
        type->star = !character;
        return true;
    }
    if (type->twice || !fm_ft_sign(parser, '(')) return true;
    bool first = true;
    do {
        bool is_kind = !character || !first;
        if (parser->at->kind == FT_NAME && parser->at[1].kind == FT_SIGN && parser->at[1].sign == '=') {
            is_kind = strcmp(parser->at->text, "kind") == 0;
            parser->at += 2;
        }
        if (!is_kind && (fm_ft_sign(parser, '*') || fm_ft_sign(parser, ':'))) {
            type->any_length = true;
        } else {
            ft_expression *value = fm_ft_expression(parser);
            if (!value) return false;
            *(is_kind ? &type->kind : &type->length) = value;
        }
        first = false;
    } while (fm_ft_sign(parser, ','));
    return fm_ft_expect_sign(parser, ')', "')'");
}

bool fm_ft_type_spec(ft_parser *parser, ft_type *type)
{
    *type = (ft_type){.base = FT_NO_TYPE};
    ft_token *start = parser->at;
    if (fm_ft_word(parser, "integer")) {
        type->base = FT_INTEGER_TYPE;
    } else if (fm_ft_word(parser, "real")) {
        type->base = FT_REAL_TYPE;
    } else if (fm_ft_word(parser, "doubleprecision") ||
               (fm_ft_word(parser, "double") && fm_ft_word(parser, "precision"))) {
        type->base = FT_REAL_TYPE;
        type->twice = true;
    } else if (fm_ft_word(parser, "doublecomplex") || (parser->at > start && fm_ft_word(parser, "complex"))) {
        type->base = FT_COMPLEX_TYPE;
        type->twice = true;
    } else if (fm_ft_word(parser, "complex")) {
        type->base = FT_COMPLEX_TYPE;
    } else if (fm_ft_word(parser, "logical")) {
        type->base = FT_LOGICAL_TYPE;
    } else if (fm_ft_word(parser, "character")) {
        type->base = FT_CHARACTER_TYPE;
    } else if (parser->at->kind == FT_NAME && parser->at[1].kind == FT_SIGN && parser->at[1].sign == '(' &&
               (strcmp(parser->at->text, "type") == 0 || strcmp(parser->at->text, "class") == 0)) {
        bool class = parser->at->text[0] == 'c';
        parser->at += 2;
        if (fm_ft_sign(parser, '*')) {
            type->base = FT_NO_TYPE;
        } else {
            type->base = class ? FT_NO_TYPE : FT_DERIVED_TYPE;
            if (!(type->derived = fm_ft_name(parser))) return true;
        }
        fm_ft_expect_sign(parser, ')', "')'");
        return true;
    } else {
        parser->at = start;
        return false;
    }
    fm_ft_type_parameters(parser, type);
    return true;
}

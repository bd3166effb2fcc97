/* SPDX-License-Identifier: Apache-2.0 */
/* fortran_expressions.c - expressions as trees, by the precedence of Fortran's operators. */
#include "static/fortran/fortran_parser.h"

#include <string.h>

ft_expression *fm_ft_new_expression(ft_parser *parser, ft_expression_kind kind)
{
    ft_expression *made = fm_ft_allocate(parser->context, 1, sizeof *made);
    if (!made) {
        fm_ft_puzzled(parser, "out of memory");
        return NULL;
    }
    made->kind = kind;
    made->place = parser->at->place;
    return made;
}

/* The words up to the one at hand belong to it. */
static ft_expression *closed_expression(const ft_parser *parser, ft_expression *expression)
{
    if (expression) expression->place.end = parser->at[-1].place.end;
    return expression;
}

/* An argument: an expression, a range, or keyword = expression. */
static ft_expression *parse_argument(ft_parser *parser)
{
    ft_expression *made;
    if (parser->at->kind == FT_NAME && parser->at[1].kind == FT_SIGN &&
        (parser->at[1].sign == '=' || parser->at[1].sign == FT_ARROW)) {
        made = fm_ft_new_expression(parser, FT_X_KEYWORD);
        if (!made) return NULL;
        made->text = parser->at->text;
        parser->at += 2;
        made->left = parse_argument(parser);
        return made->left ? closed_expression(parser, made) : NULL;
    }
    ft_expression *first = NULL;
    made = NULL;
    if (fm_ft_at_sign(parser, '*') || (fm_ft_at_sign(parser, FT_POWER)))
        return fm_ft_puzzled(parser, "expected an argument, found '*'"), NULL;
    if (fm_ft_at_sign(parser, ':') || fm_ft_at_sign(parser, FT_COLONS)) {
        made = fm_ft_new_expression(parser, FT_X_RANGE);
    } else {
        first = fm_ft_expression(parser);
        if (!first || !(fm_ft_at_sign(parser, ':') || fm_ft_at_sign(parser, FT_COLONS))) return first;
        made = fm_ft_new_expression(parser, FT_X_RANGE);
        if (made) made->place = first->place;
    }
    if (!made) return NULL;
    made->left = first;
    bool step = fm_ft_sign(parser, FT_COLONS); /* a::2 */
    if (!step) {
        parser->at++;
        if (!fm_ft_at_sign(parser, ',') && !fm_ft_at_sign(parser, ')') && !fm_ft_at_sign(parser, ':') &&
            !(made->right = fm_ft_expression(parser)))
            return NULL;
        step = fm_ft_sign(parser, ':');
    }
    if (step && !(made->third = fm_ft_expression(parser))) return NULL;
    return closed_expression(parser, made);
}

bool fm_ft_arguments(ft_parser *parser, ft_expression **first)
{
    *first = NULL;
    if (fm_ft_sign(parser, ')')) return true;
    ft_expression **link = first;
    do {
        ft_expression *made = parse_argument(parser);
        if (!made) return false;
        *link = made;
        link = &made->next;
    } while (fm_ft_sign(parser, ','));
    return fm_ft_expect_sign(parser, ')', "')' or ','");
}

/* a, a(i), a(i)%b, a%b(i) */
static ft_expression *parse_designator(ft_parser *parser)
{
    ft_expression *made = fm_ft_new_expression(parser, FT_X_NAME);
    if (!made) return NULL;
    ft_place begin = made->place;
    made->text = parser->at++->text;
    closed_expression(parser, made);
    for (;;) {
        ft_expression *outer;
        if (fm_ft_sign(parser, '(')) {
            if (made->kind == FT_X_INDEX) return fm_ft_puzzled(parser, "a substring is not followed"), NULL;
            outer = fm_ft_new_expression(parser, FT_X_INDEX);
            if (!outer || !fm_ft_arguments(parser, &outer->arguments)) return NULL;
        } else if (fm_ft_at_sign(parser, '%')) {
            outer = fm_ft_new_expression(parser, FT_X_MEMBER);
            parser->at++;
            if (!outer || !(outer->text = fm_ft_name(parser))) return NULL;
        } else {
            return made;
        }
        if (++parser->operators > FT_MOST_OPERATORS)
            return fm_ft_puzzled(parser, "more than %d operators in one statement", FT_MOST_OPERATORS), NULL;
        outer->left = made;
        outer->place = begin;
        made = closed_expression(parser, outer);
    }
}

static ft_expression *parse_parenthesis(ft_parser *parser)
{
    if (parser->at[1].kind == FT_SIGN && (parser->at[1].sign == '/' || parser->at[1].sign == FT_CONCATENATE))
        return fm_ft_puzzled(parser, "an array constructor is not followed"), NULL;
    ft_place begin = parser->at->place;
    parser->at++;
    ft_expression *inner = fm_ft_expression(parser);
    if (inner && fm_ft_sign(parser, ',')) {
        ft_expression *number = fm_ft_new_expression(parser, FT_X_COMPLEX);
        if (!number || !(number->right = fm_ft_expression(parser))) return NULL;
        number->left = inner;
        inner = number;
    }
    if (!inner || !fm_ft_expect_sign(parser, ')', "')'")) return NULL;
    /* An access is shown without the parentheses around it. */
    bool access = inner->kind == FT_X_NAME || inner->kind == FT_X_INDEX || inner->kind == FT_X_MEMBER;
    if (access) return inner;
    inner->place = begin;
    return closed_expression(parser, inner);
}

static ft_expression *parse_primary(ft_parser *parser)
{
    const ft_token *at = parser->at;
    ft_expression *made = NULL;
    if (at->kind == FT_NAME) {
        made = parse_designator(parser);
    } else if (at->kind == FT_INTEGER || at->kind == FT_REAL || at->kind == FT_STRING) {
        made = fm_ft_new_expression(parser, at->kind == FT_INTEGER ? FT_X_INTEGER
                                            : at->kind == FT_REAL  ? FT_X_REAL
                                                                   : FT_X_STRING);
        if (!made) return NULL;
        made->text = at->text;
        parser->at++;
    } else if (fm_ft_at_sign(parser, FT_TRUE) || fm_ft_at_sign(parser, FT_FALSE)) {
        made = fm_ft_new_expression(parser, FT_X_LOGICAL);
        if (!made) return NULL;
        made->operator= at->sign;
        parser->at++;
    } else if (fm_ft_at_sign(parser, '(')) {
        made = parse_parenthesis(parser);
    } else if (fm_ft_at_sign(parser, '[')) {
        fm_ft_puzzled(parser, "an array constructor is not followed");
    } else {
        fm_ft_unexpected(parser, "an operand");
    }
    return made;
}

enum { LOOSEST = 0, NOT_LEVEL = 3, SUM_LEVEL = 6, PRODUCT_LEVEL = 7, POWER_LEVEL = 8 };

/* How tightly a binary operator binds; -1: it is none. */
static int level_of(const ft_token *token)
{
    if (token->kind != FT_SIGN) return -1;
    switch (token->sign) {
    case FT_EQV:
    case FT_NEQV:
        return 0;
    case FT_OR:
        return 1;
    case FT_AND:
        return 2;
    case FT_EQ:
    case FT_NE:
    case FT_LT:
    case FT_LE:
    case FT_GT:
    case FT_GE:
        return 4;
    case FT_CONCATENATE:
        return 5;
    case '+':
    case '-':
        return SUM_LEVEL;
    case '*':
    case '/':
        return PRODUCT_LEVEL;
    case FT_POWER:
        return POWER_LEVEL;
    default:
        return -1;
    }
}

static ft_expression *parse_climb(ft_parser *parser, int level);

static ft_expression *parse_operand(ft_parser *parser, int level)
{
    if (++parser->operators > FT_MOST_OPERATORS)
        return fm_ft_puzzled(parser, "more than %d operators in one statement", FT_MOST_OPERATORS), NULL;
    bool sum = (fm_ft_at_sign(parser, '-') || fm_ft_at_sign(parser, '+')) && level <= SUM_LEVEL;
    bool negation = fm_ft_at_sign(parser, FT_NOT) && level <= NOT_LEVEL;
    if (!sum && !negation) return parse_primary(parser);
    ft_expression *made = fm_ft_new_expression(parser, FT_X_UNARY);
    if (!made) return NULL;
    made->operator= parser->at->sign;
    parser->at++;
    made->left = parse_climb(parser, sum ? PRODUCT_LEVEL : NOT_LEVEL + 1);
    return made->left ? closed_expression(parser, made) : NULL;
}

/* Operators that bind at least as tightly as level. */
static ft_expression *parse_climb(ft_parser *parser, int level)
{
    if (++parser->parentheses > FT_MOST_PARENTHESES) {
        fm_ft_puzzled(parser, "more than %d levels of parentheses", FT_MOST_PARENTHESES);
        return NULL;
    }
    ft_expression *left = parse_operand(parser, level);
    for (int found; left && (found = level_of(parser->at)) >= level;) {
        ft_expression *made = fm_ft_new_expression(parser, FT_X_BINARY);
        if (!made) return NULL;
        made->operator= parser->at->sign;
        made->place = left->place;
        made->left = left;
        parser->at++;
        made->right = parse_climb(parser, found == POWER_LEVEL ? POWER_LEVEL : found + 1);
        left = made->right ? closed_expression(parser, made) : NULL;
    }
    parser->parentheses--;
    return left;
}

ft_expression *fm_ft_expression(ft_parser *parser)
{
    return parse_climb(parser, LOOSEST);
}

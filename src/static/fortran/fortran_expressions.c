/* SPDX-License-Identifier: Apache-2.0 */
/* fortran_expressions.c - words of a statement, one after the other, and expressions as trees. */
#include "static/fortran/fortran_syntax.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

ft_line *fm_ft_line(const ft_parser *parser)
{
    return parser->line < parser->source->count ? &parser->source->lines[parser->line] : NULL;
}

void fm_ft_restart(ft_parser *parser)
{
    ft_line *line = fm_ft_line(parser);
    parser->nothing = (ft_token){0};
    parser->at = line ? line->tokens : &parser->nothing;
    parser->operators = parser->parentheses = 0;
    parser->why = NULL;
}

void fm_ft_advance(ft_parser *parser)
{
    parser->line++;
    fm_ft_restart(parser);
}

bool fm_ft_puzzled(ft_parser *parser, const char *format, ...)
{
    if (parser->why) return false;
    char reason[300];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(reason, sizeof reason, format, arguments);
    va_end(arguments);
    parser->why = fm_ft_print(parser->context, "%s", reason);
    if (!parser->why) parser->why = "out of memory";
    parser->why_place = parser->at->place;
    return false;
}

bool fm_ft_unexpected(ft_parser *parser, const char *expected)
{
    if (fm_ft_at_end(parser))
        return fm_ft_puzzled(parser, "expected %s, found the end of the statement", expected);
    const ft_place *place = &parser->at->place;
    int length = place->end - place->begin < 40 ? (int)(place->end - place->begin) : 40;
    return fm_ft_puzzled(parser, "expected %s, found '%.*s'", expected, length, place->begin);
}

/* Cuts the name at hand behind `length` characters; digits that follow become a word of their own. */
static bool split_word(ft_parser *parser, size_t length)
{
    ft_line *line = fm_ft_line(parser);
    ft_token *at = parser->at;
    size_t digits = length;
    while (at->text[digits] >= '0' && at->text[digits] <= '9') digits++;
    size_t pieces = digits > length && at->text[digits] ? 2 : 1;
    size_t used = 0;
    for (const ft_token *token = line->tokens; token->kind != FT_END; token++) used++;
    if (used + pieces > line->count + FT_SPLITS) return false;
    memmove(at + 1 + pieces, at + 1, (used - (size_t)(at - line->tokens)) * sizeof *at);
    size_t begin = length;
    for (size_t i = 1; i <= pieces; i++) {
        size_t end = i < pieces || (digits > length && pieces == 1) ? digits : strlen(at->text);
        char text[FT_MOST_NAME + 2];
        snprintf(text, sizeof text, "%.*s", (int)(end - begin), at->text + begin);
        at[i] = (ft_token){.kind = digits > length && i == 1 ? FT_INTEGER : FT_NAME,
                           .text = fm_ft_intern(parser->context, text),
                           .place = at->place};
        if (!at[i].text) return false;
        begin = end;
    }
    return true;
}

bool fm_ft_word(ft_parser *parser, const char *word)
{
    ft_token *at = parser->at;
    ft_line *line = fm_ft_line(parser);
    if (at->kind != FT_NAME) return false;
    size_t length = strlen(word);
    if (strncmp(at->text, word, length) != 0) return false;
    if (at->text[length]) {
        if (!line->fixed || !split_word(parser, length)) return false;
        at->text = fm_ft_intern(parser->context, word);
        if (!at->text) return false;
    }
    parser->at++;
    return true;
}

bool fm_ft_at_sign(const ft_parser *parser, int sign)
{
    return parser->at->kind == FT_SIGN && parser->at->sign == sign;
}

bool fm_ft_sign(ft_parser *parser, int sign)
{
    if (!fm_ft_at_sign(parser, sign)) return false;
    parser->at++;
    return true;
}

bool fm_ft_expect_sign(ft_parser *parser, int sign, const char *shown)
{
    return fm_ft_sign(parser, sign) || fm_ft_unexpected(parser, shown);
}

const char *fm_ft_name(ft_parser *parser)
{
    if (parser->at->kind != FT_NAME) {
        fm_ft_unexpected(parser, "a name");
        return NULL;
    }
    return parser->at++->text;
}

bool fm_ft_at_end(const ft_parser *parser)
{
    return parser->at->kind == FT_END;
}

/* Behind the parenthesis that is at hand; NULL: it is not closed. */
static const ft_token *behind_parenthesis(const ft_token *at)
{
    for (unsigned depth = 0; at->kind != FT_END; at++) {
        if (at->kind != FT_SIGN) continue;
        if (at->sign == '(') depth++;
        if (at->sign == ')' && --depth == 0) return at + 1;
    }
    return NULL;
}

static bool is_sign(const ft_token *token, int sign)
{
    return token->kind == FT_SIGN && token->sign == sign;
}

bool fm_ft_is_assignment(const ft_parser *parser)
{
    const ft_token *at = parser->at;
    if (at->kind != FT_NAME) return false;
    for (at++;;) {
        while (is_sign(at, '('))
            if (!(at = behind_parenthesis(at))) return false;
        if (!is_sign(at, '%') || at[1].kind != FT_NAME) break;
        at += 2;
    }
    if (!is_sign(at, '=') && !is_sign(at, FT_ARROW)) return false;
    for (at++; at->kind != FT_END; at++) {
        if (is_sign(at, ',')) return false; /* do 10 i = 1, n */
        if (is_sign(at, '(') || is_sign(at, '[')) {
            int depth = 0;
            for (; at->kind != FT_END; at++) {
                depth += is_sign(at, '(') || is_sign(at, '[');
                depth -= is_sign(at, ')') || is_sign(at, ']');
                if (depth == 0) break;
            }
            if (at->kind == FT_END) break;
        }
    }
    return true;
}

/* ---- Expressions as trees, by the precedence of Fortran's operators ---- */

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

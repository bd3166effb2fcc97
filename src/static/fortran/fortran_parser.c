/* SPDX-License-Identifier: Apache-2.0 */
/* fortran_parser.c - words of a statement, one after the other; see fortran_parser.h. */
#include "static/fortran/fortran_parser.h"

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

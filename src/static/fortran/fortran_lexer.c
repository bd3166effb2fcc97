/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fortran_lexer.c - a statement's characters into words. What is no word of Fortran becomes FT_BAD: it is a
 * fault only where somebody needs the statement.
 */
#include "static/fortran/fortran_source.h"

#include <ctype.h>
#include <string.h>

typedef struct scanner {
    ft_context *context;
    uint32_t file;
    const ft_character *at, *end;
    bool fixed;
} scanner;

static bool is_letter(char character)
{
    return isalpha((unsigned char)character) || character == '_';
}

static bool is_digit(char character)
{
    return character >= '0' && character <= '9';
}

static char peek(const scanner *s, size_t ahead)
{
    return (size_t)(s->end - s->at) > ahead ? s->at[ahead].character : 0;
}

/* .eq. and the like; its length, 0: none. */
static size_t dot_word(const scanner *s, int *sign)
{
    static const struct {
        const char *word;
        int sign;
    } words[] = {{"eq", FT_EQ},     {"ne", FT_NE},     {"lt", FT_LT},      {"le", FT_LE},   {"gt", FT_GT},
                 {"ge", FT_GE},     {"and", FT_AND},   {"or", FT_OR},      {"not", FT_NOT}, {"eqv", FT_EQV},
                 {"true", FT_TRUE}, {"neqv", FT_NEQV}, {"false", FT_FALSE}};
    if (peek(s, 0) != '.') return 0;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        size_t length = strlen(words[i].word), j = 0;
        while (j < length && tolower((unsigned char)peek(s, j + 1)) == words[i].word[j]) j++;
        if (j == length && peek(s, length + 1) == '.') {
            *sign = words[i].sign;
            return length + 2;
        }
    }
    return 0;
}

static size_t number_length(const scanner *s, bool *real)
{
    size_t n = 0;
    int ignored;
    *real = false;
    while (is_digit(peek(s, n))) n++;
    scanner dot = *s;
    dot.at += n;
    if (peek(s, n) == '.' && !dot_word(&dot, &ignored)) {
        *real = true;
        n++;
        while (is_digit(peek(s, n))) n++;
    }
    char exponent = (char)tolower((unsigned char)peek(s, n));
    /* In fixed form blanks are gone: `real*8 d0` must not become a number. */
    bool glued = n > 0 && (size_t)(s->end - s->at) > n &&
                 (s->at[n].origin == s->at[n - 1].origin + 1 || s->at[n].line != s->at[n - 1].line);
    if ((exponent == 'e' || exponent == 'd' || exponent == 'q') && glued) {
        size_t digits = n + 1 + (peek(s, n + 1) == '+' || peek(s, n + 1) == '-');
        if (is_digit(peek(s, digits))) {
            *real = true;
            n = digits;
            while (is_digit(peek(s, n))) n++;
        }
    }
    if (peek(s, n) == '_' && (is_letter(peek(s, n + 1)) || is_digit(peek(s, n + 1)))) {
        n++;
        while (is_letter(peek(s, n)) || is_digit(peek(s, n))) n++;
    }
    return n;
}

/* A text in quotes; 0: it has no end. */
static size_t string_length(const scanner *s)
{
    char quote = peek(s, 0);
    size_t room = (size_t)(s->end - s->at);
    for (size_t n = 1; n < room; n++) {
        if (s->at[n].character != quote) continue;
        if (peek(s, n + 1) != quote) return n + 1;
        n++;
    }
    return 0;
}

static size_t sign_length(const scanner *s, int *sign)
{
    static const struct {
        char text[3];
        int sign;
    } pairs[] = {{"**", FT_POWER}, {"//", FT_CONCATENATE}, {"==", FT_EQ},    {"/=", FT_NE},
                 {"<=", FT_LE},    {">=", FT_GE},          {"=>", FT_ARROW}, {"::", FT_COLONS}};
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++)
        if (peek(s, 0) == pairs[i].text[0] && peek(s, 1) == pairs[i].text[1]) {
            *sign = pairs[i].sign;
            return 2;
        }
    *sign = (unsigned char)peek(s, 0);
    if (*sign == '<') *sign = FT_LT;
    if (*sign == '>') *sign = FT_GT;
    return strchr("+-*/()[],:%=<>", peek(s, 0)) ? 1 : 0;
}

static bool scan(scanner *s, ft_token *token)
{
    size_t length = 0;
    bool real;
    char first = peek(s, 0);
    token->kind = FT_BAD;
    if (is_letter(first)) {
        token->kind = FT_NAME;
        while (is_letter(peek(s, length)) || is_digit(peek(s, length)) || peek(s, length) == '$') length++;
    } else if (is_digit(first) || (first == '.' && is_digit(peek(s, 1)))) {
        length = number_length(s, &real);
        token->kind = real ? FT_REAL : FT_INTEGER;
    } else if (first == '\'' || first == '"') {
        length = string_length(s);
        if (length) token->kind = FT_STRING;
    } else {
        length = dot_word(s, &token->sign);
        if (!length) length = sign_length(s, &token->sign);
        if (length) token->kind = FT_SIGN;
    }
    if (!length)
        length = token->kind == FT_BAD && (first == '\'' || first == '"') ? (size_t)(s->end - s->at) : 1;
    token->place = (ft_place){.file = s->file,
                              .line = s->at->line,
                              .column = s->at->column,
                              .begin = s->at->origin,
                              .end = s->at[length - 1].origin + 1};
    if (token->kind == FT_NAME || token->kind == FT_INTEGER || token->kind == FT_REAL) {
        char buffer[FT_MOST_NAME + 2];
        if (length > FT_MOST_NAME)
            return fm_ft_fail(s->context, FM_E_FORMAT, &token->place,
                              "a name or number has more than %d characters", FT_MOST_NAME);
        for (size_t i = 0; i < length; i++) buffer[i] = (char)tolower((unsigned char)s->at[i].character);
        buffer[length] = 0;
        token->text = fm_ft_intern(s->context, buffer);
    } else if (token->kind == FT_STRING) {
        char *text = fm_ft_allocate(s->context, length, 1);
        if (text)
            for (size_t i = 1; i + 1 < length; i++) text[i - 1] = s->at[i].character;
        token->text = text;
    } else {
        token->text = "";
    }
    s->at += length;
    return token->text != NULL;
}

bool fm_ft_lex(ft_context *context, uint32_t file, const ft_character *characters, size_t count, bool fixed,
               ft_line *line)
{
    scanner s = {context, file, characters, characters + count, fixed};
    /* Counted first, so that no list must grow. */
    for (int pass = 0; pass < 2; pass++) {
        s.at = characters;
        size_t words = 0;
        for (;; words++) {
            while (s.at < s.end && (s.at->character == ' ' || s.at->character == '\t')) s.at++;
            if (s.at == s.end) break;
            ft_token token = {0};
            if (!scan(&s, &token)) return false;
            if (pass) line->tokens[words] = token;
        }
        if (pass) break;
        line->count = words;
        line->tokens = fm_ft_allocate(context, words + 1 + (fixed ? FT_SPLITS : 0), sizeof *line->tokens);
        if (!line->tokens) return false;
    }
    line->fixed = fixed;
    if (line->count) {
        line->place = line->tokens[0].place;
        line->tokens[line->count].place = line->tokens[line->count - 1].place;
        line->tokens[line->count].place.begin = line->tokens[line->count].place.end;
        line->place.end = line->tokens[line->count].place.end;
    }
    return true;
}

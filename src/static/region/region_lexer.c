/* SPDX-License-Identifier: Apache-2.0 */
/* region_lexer.c - see region_lexer.h. */
#include "static/region/region_lexer.h"

#include "base/error.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { MOST_NAME = 255, MOST_TEXT = 4096 }; /* bytes */

fm_status fm_lexer_fail(const fm_lexer *lexer, fm_error *error, const char *format, ...)
{
    char reason[400];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(reason, sizeof reason, format, arguments);
    va_end(arguments);
    return fm_fail_at(error, FM_E_FORMAT, lexer->path, FM_PLACE_LINE, lexer->line, "%s", reason);
}

fm_status fm_lexer_unexpected(const fm_lexer *lexer, const char *expected, fm_error *error)
{
    static const char *const signs[] = {"<=", ">=", "==", "!="};
    switch (lexer->kind) {
    case FM_TOKEN_END:
        return fm_lexer_fail(lexer, error, "expected %s, found the end", expected);
    case FM_TOKEN_NAME:
        return fm_lexer_fail(lexer, error, "expected %s, found '%.60s'", expected, lexer->text);
    case FM_TOKEN_TEXT:
        return fm_lexer_fail(lexer, error, "expected %s, found a text", expected);
    case FM_TOKEN_NUMBER:
        return fm_lexer_fail(lexer, error, "expected %s, found %lld", expected, (long long)lexer->number);
    case FM_TOKEN_SIGN:
        break;
    }
    if (lexer->sign >= FM_SIGN_AT_MOST)
        return fm_lexer_fail(lexer, error, "expected %s, found '%s'", expected,
                             signs[lexer->sign - FM_SIGN_AT_MOST]);
    return fm_lexer_fail(lexer, error, "expected %s, found '%c'", expected, lexer->sign);
}

bool fm_lexer_is_sign(const fm_lexer *lexer, int sign)
{
    return lexer->kind == FM_TOKEN_SIGN && lexer->sign == sign;
}

bool fm_lexer_is_word(const fm_lexer *lexer, const char *word)
{
    return lexer->kind == FM_TOKEN_NAME && strcmp(lexer->text, word) == 0;
}

static bool begins_name(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static void skip_blanks(fm_lexer *lexer)
{
    for (; lexer->at < lexer->end; lexer->at++) {
        if (*lexer->at == '#')
            while (lexer->at + 1 < lexer->end && lexer->at[1] != '\n') lexer->at++;
        else if (*lexer->at == '\n')
            lexer->line++;
        else if (*lexer->at != ' ' && *lexer->at != '\t' && *lexer->at != '\r')
            return;
    }
}

static fm_status keep(fm_lexer *lexer, const char *text, fm_error *error)
{
    lexer->text = fm_arena_intern(lexer->arena, text);
    return lexer->text ? FM_OK : fm_fail(error, FM_E_NOMEM, NULL, "out of memory: no room for a name");
}

static fm_status read_name(fm_lexer *lexer, fm_error *error)
{
    char name[MOST_NAME + 1];
    size_t length = 0;
    for (; lexer->at < lexer->end; lexer->at++) {
        char c = *lexer->at;
        if (!begins_name(c) && !is_digit(c) && c != '$' && c != '.') break;
        if (length == MOST_NAME)
            return fm_lexer_fail(lexer, error, "a name has more than %d characters", MOST_NAME);
        name[length++] = c;
    }
    name[length] = '\0';
    lexer->kind = FM_TOKEN_NAME;
    return keep(lexer, name, error);
}

static fm_status read_number(fm_lexer *lexer, fm_error *error)
{
    lexer->kind = FM_TOKEN_NUMBER;
    lexer->number = 0;
    for (; lexer->at < lexer->end && is_digit(*lexer->at); lexer->at++)
        if (__builtin_mul_overflow(lexer->number, 10, &lexer->number) ||
            __builtin_add_overflow(lexer->number, *lexer->at - '0', &lexer->number))
            return fm_lexer_fail(lexer, error, "a number is larger than 2^63 - 1");
    if (lexer->at < lexer->end && begins_name(*lexer->at))
        return fm_lexer_fail(lexer, error, "a number is followed by '%c'", *lexer->at);
    return FM_OK;
}

static fm_status read_text(fm_lexer *lexer, fm_error *error)
{
    char text[MOST_TEXT + 1];
    size_t length = 0;
    for (lexer->at++; lexer->at < lexer->end && *lexer->at != '"'; lexer->at++) {
        char c = *lexer->at;
        if (c == '\n') break;
        if (c == '\\' && lexer->at + 1 < lexer->end) {
            c = *++lexer->at;
            if (c == 'n')
                c = '\n';
            else if (c != '"' && c != '\\')
                return fm_lexer_fail(lexer, error, "there is no '\\%c' in texts", c);
        }
        if (c == '\0') return fm_lexer_fail(lexer, error, "a text has a 0 byte");
        if (length == MOST_TEXT)
            return fm_lexer_fail(lexer, error, "a text has more than %d bytes", MOST_TEXT);
        text[length++] = c;
    }
    if (lexer->at == lexer->end || *lexer->at != '"')
        return fm_lexer_fail(lexer, error, "a text does not end in its line");
    lexer->at++;
    text[length] = '\0';
    lexer->kind = FM_TOKEN_TEXT;
    return keep(lexer, text, error);
}

static fm_status read_sign(fm_lexer *lexer, fm_error *error)
{
    char c = *lexer->at++;
    lexer->kind = FM_TOKEN_SIGN;
    lexer->sign = (unsigned char)c;
    bool equals = lexer->at < lexer->end && *lexer->at == '=';
    static const char doubled[] = "<>=!";
    const char *found = equals && c ? strchr(doubled, c) : NULL;
    if (found) {
        lexer->at++;
        lexer->sign = FM_SIGN_AT_MOST + (int)(found - doubled);
        return FM_OK;
    }
    if (c && strchr("+-*/%()[]{}<>=,:@", c)) return FM_OK;
    if (c > ' ' && c < 127) return fm_lexer_fail(lexer, error, "'%c' means nothing here", c);
    return fm_lexer_fail(lexer, error, "the byte 0x%02x means nothing here", (unsigned char)c);
}

fm_status fm_lexer_next(fm_lexer *lexer, fm_error *error)
{
    skip_blanks(lexer);
    if (lexer->at == lexer->end) {
        lexer->kind = FM_TOKEN_END;
        return FM_OK;
    }
    if (begins_name(*lexer->at)) return read_name(lexer, error);
    if (is_digit(*lexer->at)) return read_number(lexer, error);
    if (*lexer->at == '"') return read_text(lexer, error);
    return read_sign(lexer, error);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* region_words.c - the words of a region's text, and expressions made of them. */
#include "static/region/region_reader.h"

#include "base/error.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* ---- words ---- */

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

static fm_status keep_text(fm_lexer *lexer, const char *text, fm_error *error)
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
    return keep_text(lexer, name, error);
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
    return keep_text(lexer, text, error);
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

/* ---- expressions and conditions ---- */

static fm_status made_or_failed(const void *node, fm_error *error)
{
    return node ? FM_OK : fm_fail(error, FM_E_NOMEM, NULL, "out of memory: no room for an expression");
}

static fm_status enter_nesting(fm_region_reader *reader, fm_error *error)
{
    if (reader->nesting == FM_MOST_NESTING)
        return fm_lexer_fail(&reader->lexer, error, "more than %d parentheses and blocks inside each other",
                             FM_MOST_NESTING);
    reader->nesting++;
    return FM_OK;
}

/* Trees are walked by recursion: they must not be deep. */
static fm_status one_more(fm_region_reader *reader, fm_error *error)
{
    if (reader->terms == FM_MOST_TERMS)
        return fm_lexer_fail(&reader->lexer, error, "an expression has more than %d operators",
                             FM_MOST_TERMS);
    reader->terms++;
    return FM_OK;
}

static fm_status read_sum(fm_region_reader *reader, const fm_expr **expression, fm_error *error);

static fm_status read_known(fm_region_reader *reader, const fm_expr **expression, fm_error *error)
{
    const fm_region *region = reader->region;
    const char *name = reader->lexer.text;
    for (unsigned i = reader->loop_count; i-- > 0;)
        if (strcmp(region->variables[reader->loops[i]], name) == 0) {
            *expression = fm_expr_variable(region->arena, reader->loops[i]);
            return made_or_failed(*expression, error);
        }
    for (size_t i = 0; i < region->parameter_count; i++)
        if (strcmp(region->parameters[i].name, name) == 0) {
            *expression = fm_expr_parameter(region->arena, (uint32_t)i);
            return made_or_failed(*expression, error);
        }
    return fm_lexer_fail(&reader->lexer, error,
                         "there is no parameter and no loop here with the name '%.60s'", name);
}

/* The name is passed; "(" is at hand. */
static fm_status read_call(fm_region_reader *reader, const char *name, const fm_expr **expression,
                           fm_error *error)
{
    fm_arena *arena = reader->region->arena;
    static const struct {
        const char *name;
        fm_expr_kind kind;
    } functions[] = {{"floor", FM_EXPR_FLOOR},
                     {"ceil", FM_EXPR_FLOOR},
                     {"mod", FM_EXPR_MODULO},
                     {"min", FM_EXPR_MIN},
                     {"max", FM_EXPR_MAX}};
    size_t which = 0, most = sizeof functions / sizeof functions[0];
    while (which < most && strcmp(functions[which].name, name) != 0) which++;
    if (which == most) return fm_lexer_fail(&reader->lexer, error, "there is no function '%.60s'", name);
    bool several = which >= 3, ceiling = which == 1;
    fm_status status = fm_lexer_next(&reader->lexer, error);
    if (status == FM_OK) status = read_sum(reader, expression, error);
    unsigned count = 1;
    for (; status == FM_OK && fm_lexer_is_sign(&reader->lexer, ','); count++) {
        const fm_expr *other = NULL;
        if (count == 2 && !several) break;
        status = one_more(reader, error);
        if (status == FM_OK) status = fm_lexer_next(&reader->lexer, error);
        if (status == FM_OK) status = read_sum(reader, &other, error);
        if (status != FM_OK) break;
        /* ceil(a, b) == floor(a + b - 1, b) */
        if (ceiling)
            *expression =
                fm_expr_add(arena, *expression, fm_expr_add(arena, other, fm_expr_number(arena, -1)));
        *expression = fm_expr_binary(arena, functions[which].kind, *expression, other);
        status = made_or_failed(*expression, error);
    }
    if (status != FM_OK) return status;
    if (count < 2) return fm_lexer_unexpected(&reader->lexer, "',' and another number", error);
    return fm_fir_expect(reader, ')', "')'", error);
}

static fm_status read_primary(fm_region_reader *reader, const fm_expr **expression, fm_error *error)
{
    fm_lexer *lexer = &reader->lexer;
    fm_arena *arena = reader->region->arena;
    fm_status status = enter_nesting(reader, error);
    if (status == FM_OK) status = one_more(reader, error);
    if (status != FM_OK) return status;
    if (lexer->kind == FM_TOKEN_NUMBER) {
        *expression = fm_expr_number(arena, lexer->number);
        status = made_or_failed(*expression, error);
        if (status == FM_OK) status = fm_lexer_next(lexer, error);
    } else if (fm_lexer_is_sign(lexer, '-') || fm_lexer_is_sign(lexer, '+')) {
        int64_t factor = lexer->sign == '-' ? -1 : 1;
        status = fm_lexer_next(lexer, error);
        if (status == FM_OK) status = read_primary(reader, expression, error);
        if (status == FM_OK) *expression = fm_expr_scale(arena, factor, *expression);
        if (status == FM_OK) status = made_or_failed(*expression, error);
    } else if (fm_lexer_is_sign(lexer, '(')) {
        status = fm_lexer_next(lexer, error);
        if (status == FM_OK) status = read_sum(reader, expression, error);
        if (status == FM_OK) status = fm_fir_expect(reader, ')', "')'", error);
    } else if (lexer->kind == FM_TOKEN_NAME) {
        const char *name = lexer->text, *rest = lexer->at;
        while (rest < lexer->end && (*rest == ' ' || *rest == '\t')) rest++;
        bool call = rest < lexer->end && *rest == '(';
        status = call ? FM_OK : read_known(reader, expression, error);
        if (status == FM_OK) status = fm_lexer_next(lexer, error);
        if (status == FM_OK && call) status = read_call(reader, name, expression, error);
    } else {
        status = fm_lexer_unexpected(lexer, "a number, a name or '('", error);
    }
    FM_ASSERT(reader->nesting > 0);
    reader->nesting--;
    return status;
}

static fm_status read_product(fm_region_reader *reader, const fm_expr **expression, fm_error *error)
{
    fm_lexer *lexer = &reader->lexer;
    fm_status status = read_primary(reader, expression, error);
    while (status == FM_OK && lexer->kind == FM_TOKEN_SIGN &&
           (lexer->sign == '*' || lexer->sign == '/' || lexer->sign == '%')) {
        fm_expr_kind kind = lexer->sign == '*'   ? FM_EXPR_MULTIPLY
                            : lexer->sign == '/' ? FM_EXPR_QUOTIENT
                                                 : FM_EXPR_REMAINDER;
        const fm_expr *right;
        status = fm_lexer_next(lexer, error);
        if (status == FM_OK) status = read_primary(reader, &right, error);
        if (status != FM_OK) return status;
        if (kind == FM_EXPR_MULTIPLY && fm_expr_has_variable(*expression) && fm_expr_has_variable(right))
            return fm_lexer_fail(lexer, error, "a product of two sides with variables is not affine");
        if (kind != FM_EXPR_MULTIPLY && fm_expr_has_variable(right))
            return fm_lexer_fail(lexer, error, "a division by something with a variable is not affine");
        *expression = fm_expr_binary(reader->region->arena, kind, *expression, right);
        status = made_or_failed(*expression, error);
    }
    return status;
}

static fm_status read_sum(fm_region_reader *reader, const fm_expr **expression, fm_error *error)
{
    fm_lexer *lexer = &reader->lexer;
    fm_arena *arena = reader->region->arena;
    fm_status status = read_product(reader, expression, error);
    while (status == FM_OK && (fm_lexer_is_sign(lexer, '+') || fm_lexer_is_sign(lexer, '-'))) {
        bool minus = lexer->sign == '-';
        const fm_expr *right;
        status = fm_lexer_next(lexer, error);
        if (status == FM_OK) status = read_product(reader, &right, error);
        if (status != FM_OK) return status;
        *expression =
            minus ? fm_expr_subtract(arena, *expression, right) : fm_expr_add(arena, *expression, right);
        status = made_or_failed(*expression, error);
    }
    return status;
}

fm_status fm_fir_expression(fm_region_reader *reader, const fm_expr **expression, fm_error *error)
{
    reader->terms = 0;
    return read_sum(reader, expression, error);
}

/* ---- conditions ---- */

static fm_status read_or(fm_region_reader *reader, const fm_condition **condition, fm_error *error);

static fm_status read_comparison(fm_region_reader *reader, const fm_condition **condition, fm_error *error)
{
    fm_lexer *lexer = &reader->lexer;
    fm_arena *arena = reader->region->arena;
    const fm_expr *left, *right;
    fm_status status = read_sum(reader, &left, error);
    if (status != FM_OK) return status;
    int sign = lexer->kind == FM_TOKEN_SIGN ? lexer->sign : 0;
    if (sign != '<' && sign != '>' && sign < FM_SIGN_AT_MOST)
        return fm_lexer_unexpected(lexer, "a comparison", error);
    status = fm_lexer_next(lexer, error);
    if (status == FM_OK) status = read_sum(reader, &right, error);
    if (status != FM_OK) return status;
    bool swapped = sign == '<' || sign == FM_SIGN_AT_MOST;
    const fm_expr *difference =
        swapped ? fm_expr_subtract(arena, right, left) : fm_expr_subtract(arena, left, right);
    if (sign == '<' || sign == '>') difference = fm_expr_add(arena, difference, fm_expr_number(arena, -1));
    bool equality = sign == FM_SIGN_EQUAL || sign == FM_SIGN_UNEQUAL;
    *condition = fm_condition_of(arena, equality ? FM_CONDITION_ZERO : FM_CONDITION_NOT_NEGATIVE, difference);
    if (sign == FM_SIGN_UNEQUAL) *condition = fm_condition_join(arena, FM_CONDITION_NOT, *condition, NULL);
    return made_or_failed(*condition, error);
}

/*
 * Is the "(" at hand that of a condition, or that of an expression which is compared? Looks for a comparison
 * or a word of conditions before the parenthesis is closed.
 */
static bool parenthesis_of_condition(const fm_lexer *lexer)
{
    fm_lexer ahead = *lexer;
    fm_error ignored;
    for (unsigned depth = 0;;) {
        if (fm_lexer_is_sign(&ahead, '(')) depth++;
        if (fm_lexer_is_sign(&ahead, ')') && --depth == 0) return false;
        if (ahead.kind == FM_TOKEN_SIGN &&
            (ahead.sign == '<' || ahead.sign == '>' || ahead.sign >= FM_SIGN_AT_MOST))
            return true;
        if (fm_lexer_is_word(&ahead, "not") || fm_lexer_is_word(&ahead, "true") ||
            fm_lexer_is_word(&ahead, "false"))
            return true;
        if (ahead.kind == FM_TOKEN_END || fm_lexer_is_sign(&ahead, '{')) return false;
        if (fm_lexer_next(&ahead, &ignored) != FM_OK) return false;
    }
}

static fm_status read_not(fm_region_reader *reader, const fm_condition **condition, fm_error *error)
{
    fm_lexer *lexer = &reader->lexer;
    fm_arena *arena = reader->region->arena;
    fm_status status = enter_nesting(reader, error);
    if (status == FM_OK) status = one_more(reader, error);
    if (status != FM_OK) return status;
    if (fm_lexer_is_word(lexer, "not")) {
        status = fm_lexer_next(lexer, error);
        if (status == FM_OK) status = read_not(reader, condition, error);
        if (status == FM_OK) *condition = fm_condition_join(arena, FM_CONDITION_NOT, *condition, NULL);
        if (status == FM_OK) status = made_or_failed(*condition, error);
    } else if (fm_lexer_is_word(lexer, "true") || fm_lexer_is_word(lexer, "false")) {
        *condition = fm_condition_constant(arena, fm_lexer_is_word(lexer, "true"));
        status = made_or_failed(*condition, error);
        if (status == FM_OK) status = fm_lexer_next(lexer, error);
    } else if (fm_lexer_is_sign(lexer, '(') && parenthesis_of_condition(lexer)) {
        status = fm_lexer_next(lexer, error);
        if (status == FM_OK) status = read_or(reader, condition, error);
        if (status == FM_OK) status = fm_fir_expect(reader, ')', "')'", error);
    } else {
        status = read_comparison(reader, condition, error);
    }
    FM_ASSERT(reader->nesting > 0);
    reader->nesting--;
    return status;
}

static fm_status read_joined(fm_region_reader *reader, bool any, const fm_condition **condition,
                             fm_error *error)
{
    fm_status status =
        any ? read_joined(reader, false, condition, error) : read_not(reader, condition, error);
    while (status == FM_OK && fm_lexer_is_word(&reader->lexer, any ? "or" : "and")) {
        const fm_condition *right;
        status = fm_lexer_next(&reader->lexer, error);
        if (status == FM_OK)
            status = any ? read_joined(reader, false, &right, error) : read_not(reader, &right, error);
        if (status != FM_OK) return status;
        *condition = fm_condition_join(reader->region->arena, any ? FM_CONDITION_OR : FM_CONDITION_AND,
                                       *condition, right);
        status = made_or_failed(*condition, error);
    }
    return status;
}

static fm_status read_or(fm_region_reader *reader, const fm_condition **condition, fm_error *error)
{
    return read_joined(reader, true, condition, error);
}

fm_status fm_fir_condition(fm_region_reader *reader, const fm_condition **condition, fm_error *error)
{
    reader->terms = 0;
    return read_or(reader, condition, error);
}

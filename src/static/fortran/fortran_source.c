/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fortran_source.c - files as statements: continuations are joined, comments left out, labels taken off,
 * `include` lines followed, line markers of a preprocessor understood. In fixed form blanks mean nothing, and
 * are gone.
 *
 * Directives of a preprocessor are refused: what they choose is not known here.
 */
#include "static/fortran/fortran_syntax.h"

#include "base/memory.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* One statement's characters into words. */
static bool lex_statement(ft_context *context, uint32_t file, const ft_character *characters, size_t count,
                          bool fixed, ft_line *line);

enum { MOST_INCLUDES = 16 }; /* inside each other */

typedef struct reader {
    ft_context *context;
    ft_source *source;
    ft_character *characters; /* of the statement at hand; malloc */
    size_t count, room;
    uint32_t label;
    char quote;     /* inside a text that began with it; 0: not */
    bool continued; /* free form: the line before ended with & */
    bool pending;   /* fixed form: a statement may go on */
    uint32_t file;  /* number, for places */
    unsigned depth; /* of includes */
} reader;

/* A line of the file, without its end. */
typedef struct physical {
    const char *begin, *end;
    uint32_t number;
} physical;

static ft_place place_of(const reader *r, const physical *line)
{
    return (ft_place){r->file, line->number, 1, line->begin, line->end};
}

static bool put_character(reader *r, const physical *line, const char *at)
{
    if (r->count == FT_MOST_STATEMENT) {
        ft_place place = place_of(r, line);
        return fm_ft_fail(r->context, FM_E_FORMAT, &place, "a statement has more than %d characters",
                          FT_MOST_STATEMENT);
    }
    if (fm_array_reserve((void **)&r->characters, &r->room, r->count + 1, sizeof *r->characters))
        return fm_ft_no_memory(r->context);
    r->characters[r->count++] = (ft_character){.character = *at == '\t' ? ' ' : *at,
                                               .line = line->number,
                                               .column = (uint32_t)(at - line->begin) + 1,
                                               .origin = at};
    return true;
}

static ft_line *add_line(reader *r)
{
    ft_source *source = r->source;
    if (fm_array_reserve((void **)&source->lines, &source->room, source->count + 1, sizeof *source->lines)) {
        fm_ft_no_memory(r->context);
        return NULL;
    }
    ft_line *line = &source->lines[source->count];
    *line = (ft_line){0};
    return line;
}

/* The statement is whole. */
static bool finish_statement(reader *r, bool fixed)
{
    size_t from = 0;
    uint32_t label = r->label;
    while (from < r->count && r->characters[from].character == ' ') from++;
    if (!fixed && from < r->count && isdigit((unsigned char)r->characters[from].character)) {
        while (from < r->count && isdigit((unsigned char)r->characters[from].character)) {
            if (label < 1000000) label = label * 10 + (uint32_t)(r->characters[from].character - '0');
            from++;
        }
    }
    ft_line *line = add_line(r);
    if (!line || (from < r->count &&
                  !lex_statement(r->context, r->file, r->characters + from, r->count - from, fixed, line)))
        return false;
    line->label = label;
    if (line->count) r->source->count++;
    r->count = 0;
    r->label = 0;
    r->quote = 0;
    r->continued = r->pending = false;
    return true;
}

/* ---- comments that mean something ---- */

static ft_marker marker_of(const char *at, const char *end)
{
    static const struct {
        const char *first, *second;
        ft_marker marker;
    } markers[] = {{"$fathom", "begin", FT_REGION_BEGIN},
                   {"$fathom", "end", FT_REGION_END},
                   {"$scop", "", FT_REGION_BEGIN},
                   {"$endscop", "", FT_REGION_END}};
    for (size_t i = 0; i < sizeof markers / sizeof *markers; i++) {
        const char *a = at;
        size_t length = strlen(markers[i].first);
        if ((size_t)(end - a) < length || strncasecmp(a, markers[i].first, length) != 0) continue;
        a += length;
        while (a < end && (*a == ' ' || *a == '\t')) a++;
        length = strlen(markers[i].second);
        if ((size_t)(end - a) < length || strncasecmp(a, markers[i].second, length) != 0) continue;
        a += length;
        if (a == end || *a == ' ' || *a == '\t') return markers[i].marker;
    }
    return FT_NO_MARKER;
}

/* at: behind the sign of the comment. */
static bool is_comment(reader *r, const physical *line, const char *at, bool fixed)
{
    ft_marker marker = marker_of(at, line->end);
    if (marker == FT_NO_MARKER) return true;
    if (fixed && r->pending && !finish_statement(r, true)) return false;
    ft_line *made = add_line(r);
    if (!made) return false;
    made->marker = marker;
    made->place = place_of(r, line);
    made->tokens = fm_ft_allocate(r->context, 1, sizeof *made->tokens);
    r->source->count += made->tokens != NULL;
    return made->tokens != NULL;
}

/* ---- directives and includes ---- */

static uint32_t number_of_file(ft_context *context, const char *path)
{
    for (uint32_t i = 1; i <= context->name_count; i++)
        if (strcmp(context->name_of[i], path) == 0) return i;
    if (context->name_count == FT_MOST_FILES) return 0;
    const char *kept = fm_ft_intern(context, path);
    if (!kept) return 0;
    context->name_of[++context->name_count] = kept;
    return context->name_count;
}

/* "# 12 "kernel.F90" 2": the next line is line 12 of that file. */
static bool line_marker(reader *r, const physical *line, uint32_t *next)
{
    const char *at = line->begin + 1;
    while (at < line->end && *at == ' ') at++;
    uint64_t number = 0;
    bool digits = false;
    for (; at < line->end && isdigit((unsigned char)*at) && number < 100000000; at++, digits = true)
        number = number * 10 + (uint64_t)(*at - '0');
    while (at < line->end && *at == ' ') at++;
    ft_place place = place_of(r, line);
    if (!digits || at == line->end || *at != '"')
        return fm_ft_refuse(
            r->context, &place,
            "a directive of the preprocessor: what it chooses is not known; preprocess the file "
            "first (gfortran -E)");
    const char *close = memchr(at + 1, '"', (size_t)(line->end - at - 1));
    char path[512];
    if (!close || (size_t)(close - at) > sizeof path)
        return fm_ft_fail(r->context, FM_E_FORMAT, &place, "a line marker without a file name");
    snprintf(path, sizeof path, "%.*s", (int)(close - at - 1), at + 1);
    if (path[0] != '<') {
        uint32_t file = number_of_file(r->context, path);
        if (!file)
            return fm_ft_fail(r->context, FM_E_LIMIT, &place, "line markers name more than %d files",
                              FT_MOST_FILES);
        r->file = file;
    }
    *next = (uint32_t)number;
    return true;
}

static bool read_file(reader *r, const char *path, const ft_place *from);

/* `include "x"`: is it one, and of which file? */
static bool is_include(const physical *line, char *path, size_t size)
{
    const char *at = line->begin;
    while (at < line->end && (*at == ' ' || *at == '\t')) at++;
    if ((size_t)(line->end - at) < 10 || strncasecmp(at, "include", 7) != 0) return false;
    at += 7;
    while (at < line->end && (*at == ' ' || *at == '\t')) at++;
    if (at == line->end || (*at != '\'' && *at != '"')) return false;
    const char *close = memchr(at + 1, *at, (size_t)(line->end - at - 1));
    if (!close || (size_t)(close - at) > size || close == at + 1) return false;
    snprintf(path, size, "%.*s", (int)(close - at - 1), at + 1);
    for (at = close + 1; at < line->end && *at != '!'; at++)
        if (*at != ' ' && *at != '\t') return false;
    return true;
}

static bool file_exists(const char *path)
{
    FILE *file = fopen(path, "rb");
    if (file) fclose(file);
    return file != NULL;
}

/* Beside the file that includes it, then in the folders of -I. */
static bool include_file(reader *r, const physical *line, const char *name)
{
    ft_place place = place_of(r, line);
    const char *includer = r->context->name_of[r->file], *slash = strrchr(includer, '/');
    const char *path = name[0] == '/' || !slash
                           ? name
                           : fm_ft_print(r->context, "%.*s/%s", (int)(slash - includer), includer, name);
    const char *const *flags = r->context->options ? r->context->options->flags : NULL;
    for (; path && !file_exists(path) && flags && *flags; flags++) {
        if (strncmp(*flags, "-I", 2) != 0) continue;
        const char *folder = *flags + 2;
        if (!*folder && flags[1]) folder = *++flags;
        const char *other = fm_ft_print(r->context, "%s/%s", folder, name);
        if (other && file_exists(other)) path = other;
    }
    if (!path) return false;
    if (r->depth == MOST_INCLUDES)
        return fm_ft_fail(r->context, FM_E_LIMIT, &place,
                          "include '%.100s': more than %d files inside each other", name, MOST_INCLUDES);
    reader inner = *r;
    inner.characters = NULL;
    inner.count = inner.room = 0;
    inner.pending = inner.continued = false;
    inner.depth++;
    bool done = read_file(&inner, path, &place);
    free(inner.characters);
    return done;
}

/* ---- free form ---- */

static bool free_line(reader *r, const physical *line)
{
    const char *at = line->begin, *end = line->end;
    while (at < end && (*at == ' ' || *at == '\t')) at++;
    if (at == end) return true;
    if (*at == '!' && !r->quote) return is_comment(r, line, at + 1, false);
    if (r->continued) {
        if (*at == '&')
            at++;
        else if (!put_character(r, line, at)) /* words do not go on without & */
            return false;
        else
            r->characters[r->count - 1].character = ' ';
        r->continued = false;
    }
    for (; at < end; at++) {
        if (r->quote) {
            const char *rest = at + 1;
            while (rest < end && (*rest == ' ' || *rest == '\t')) rest++;
            if (*at == '&' && rest == end) {
                r->continued = true;
                return true;
            }
            if (*at == r->quote) r->quote = 0; /* a doubled one opens it again */
        } else if (*at == '!') {
            break;
        } else if (*at == '&') {
            const char *rest = at + 1;
            while (rest < end && (*rest == ' ' || *rest == '\t')) rest++;
            if (rest == end || *rest == '!') {
                r->continued = true;
                return true;
            }
        } else if (*at == ';') {
            if (!finish_statement(r, false)) return false;
            continue;
        } else if (*at == '\'' || *at == '"') {
            r->quote = *at;
        }
        if (!put_character(r, line, at)) return false;
    }
    return finish_statement(r, false);
}

/* ---- fixed form ---- */

/* Columns 1 to 6. *at: where the statement begins. */
static bool fixed_head(reader *r, const physical *line, const char **at, bool *continuation, uint32_t *label)
{
    const char *c = line->begin;
    *label = 0;
    *continuation = false;
    for (; c < line->end && c < line->begin + 5; c++) {
        if (*c == '\t') { /* as if it led to column 7, or to a digit of continuation */
            c++;
            *continuation = c < line->end && *c >= '1' && *c <= '9';
            *at = *continuation ? c + 1 : c;
            return true;
        }
        if (isdigit((unsigned char)*c)) {
            *label = *label * 10 + (uint32_t)(*c - '0');
        } else if (*c != ' ') {
            ft_place place = place_of(r, line);
            return fm_ft_fail(
                r->context, FM_E_FORMAT, &place,
                "column %d: '%c' is no digit of a label; is this file in free form (-ffree-form)?",
                (int)(c - line->begin) + 1, isprint((unsigned char)*c) ? *c : '?');
        }
    }
    if (c < line->end && *c == '\t') {
        c++;
    } else if (c < line->end) {
        *continuation = *c != ' ' && *c != '0';
        c++;
    }
    *at = c;
    return true;
}

static bool fixed_line(reader *r, const physical *line)
{
    const char *at = line->begin, *end = line->end;
    if (at < end && strchr("cC*!", *at)) return is_comment(r, line, at + 1, true);
    while (at < end && (*at == ' ' || *at == '\t')) at++;
    if (at == end) return true;
    if (*at == '!' && at - line->begin != 5) return is_comment(r, line, at + 1, true);
    bool continuation;
    uint32_t label;
    if (!fixed_head(r, line, &at, &continuation, &label)) return false;
    ft_place place = place_of(r, line);
    if (continuation && !r->pending)
        return fm_ft_fail(r->context, FM_E_FORMAT, &place,
                          "a line of continuation, but no statement before it");
    if (!continuation) {
        if (r->pending && !finish_statement(r, true)) return false;
        r->label = label;
    }
    r->pending = true;
    uint32_t length = r->context->line_length;
    if ((size_t)(end - line->begin) > length) end = line->begin + length;
    for (; at < end; at++) {
        if (r->quote) {
            if (*at == r->quote) r->quote = 0;
        } else if (*at == '!') {
            break;
        } else if (*at == ';') {
            if (!finish_statement(r, true)) return false;
            r->pending = true;
            continue;
        } else if (*at == ' ' || *at == '\t') {
            continue;
        } else if (*at == '\'' || *at == '"') {
            r->quote = *at;
        }
        if (!put_character(r, line, at)) return false;
    }
    return true;
}

/* ---- files ---- */

static bool read_lines(reader *r, const char *begin, const char *end)
{
    uint32_t number = 1;
    bool fixed = r->context->fixed;
    for (const char *at = begin; at < end; number++) {
        const char *stop = memchr(at, '\n', (size_t)(end - at));
        physical line = {at, stop ? stop : end, number};
        if (line.end > line.begin && line.end[-1] == '\r') line.end--;
        at = stop ? stop + 1 : end;
        char name[512];
        uint32_t next = 0;
        bool done;
        if (line.begin < line.end && *line.begin == '#' && !r->quote) {
            done = line_marker(r, &line, &next);
            if (next) number = next - 1;
        } else if (!r->continued && !r->quote && is_include(&line, name, sizeof name)) {
            done = (!r->pending || finish_statement(r, true)) && include_file(r, &line, name);
        } else {
            done = fixed ? fixed_line(r, &line) : free_line(r, &line);
        }
        if (!done) return false;
    }
    /* A statement whose continuation never came is finished as it is: what is missing will show. */
    return r->count == 0 || finish_statement(r, fixed);
}

static bool read_file(reader *r, const char *path, const ft_place *from)
{
    ft_context *context = r->context;
    if (context->file_count == FT_MOST_FILES)
        return fm_ft_fail(context, FM_E_LIMIT, from, "more than %d files are included", FT_MOST_FILES);
    ft_file *file = &context->files[context->file_count];
    fm_status status = fm_text_file_read(&file->text, path, UINT64_MAX, context->error);
    context->file_count++; /* to be cleared in any case */
    file->path = path;
    if (status != FM_OK) {
        context->status = status;
        return false;
    }
    if (file->text.why[0])
        return from ? fm_ft_fail(context, FM_E_IO, from, "include '%.200s' cannot be read: %s", path,
                                 file->text.why)
                    : fm_ft_fail(context, FM_E_IO, NULL, "cannot read: %s", file->text.why);
    context->bytes += file->text.size;
    if (context->bytes > FT_MOST_BYTES)
        return fm_ft_fail(context, FM_E_LIMIT, from, "more than %d MiB of source", FT_MOST_BYTES >> 20);
    r->file = number_of_file(context, path);
    if (!r->file)
        return context->status == FM_OK
                   ? fm_ft_fail(context, FM_E_LIMIT, from, "more than %d files", FT_MOST_FILES)
                   : false;
    const char *bytes = file->text.bytes;
    size_t mark = file->text.size >= 3 && memcmp(bytes, "\xEF\xBB\xBF", 3) == 0 ? 3 : 0;
    return read_lines(r, bytes + mark, bytes + file->text.size);
}

bool fm_ft_read_source(ft_context *context, const char *path, ft_source *source)
{
    reader r = {.context = context, .source = source};
    bool done = read_file(&r, path, NULL);
    free(r.characters);
    return done;
}

/*
 * A statement's characters into words. What is no word of Fortran becomes FT_BAD: it is a fault only where
 * somebody needs the statement.
 */

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

static char scan_peek(const scanner *s, size_t ahead)
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
    if (scan_peek(s, 0) != '.') return 0;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        size_t length = strlen(words[i].word), j = 0;
        while (j < length && tolower((unsigned char)scan_peek(s, j + 1)) == words[i].word[j]) j++;
        if (j == length && scan_peek(s, length + 1) == '.') {
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
    while (is_digit(scan_peek(s, n))) n++;
    scanner dot = *s;
    dot.at += n;
    if (scan_peek(s, n) == '.' && !dot_word(&dot, &ignored)) {
        *real = true;
        n++;
        while (is_digit(scan_peek(s, n))) n++;
    }
    char exponent = (char)tolower((unsigned char)scan_peek(s, n));
    /* In fixed form blanks are gone: `real*8 d0` must not become a number. */
    bool glued = n > 0 && (size_t)(s->end - s->at) > n &&
                 (s->at[n].origin == s->at[n - 1].origin + 1 || s->at[n].line != s->at[n - 1].line);
    if ((exponent == 'e' || exponent == 'd' || exponent == 'q') && glued) {
        size_t digits = n + 1 + (scan_peek(s, n + 1) == '+' || scan_peek(s, n + 1) == '-');
        if (is_digit(scan_peek(s, digits))) {
            *real = true;
            n = digits;
            while (is_digit(scan_peek(s, n))) n++;
        }
    }
    if (scan_peek(s, n) == '_' && (is_letter(scan_peek(s, n + 1)) || is_digit(scan_peek(s, n + 1)))) {
        n++;
        while (is_letter(scan_peek(s, n)) || is_digit(scan_peek(s, n))) n++;
    }
    return n;
}

/* A text in quotes; 0: it has no end. */
static size_t string_length(const scanner *s)
{
    char quote = scan_peek(s, 0);
    size_t room = (size_t)(s->end - s->at);
    for (size_t n = 1; n < room; n++) {
        if (s->at[n].character != quote) continue;
        if (scan_peek(s, n + 1) != quote) return n + 1;
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
        if (scan_peek(s, 0) == pairs[i].text[0] && scan_peek(s, 1) == pairs[i].text[1]) {
            *sign = pairs[i].sign;
            return 2;
        }
    *sign = scan_peek(s, 0);
    if (*sign == '<') *sign = FT_LT;
    if (*sign == '>') *sign = FT_GT;
    return strchr("+-*/()[],:%=<>", scan_peek(s, 0)) ? 1 : 0;
}

static bool scan_token(scanner *s, ft_token *token)
{
    size_t length = 0;
    bool real;
    char first = scan_peek(s, 0);
    token->kind = FT_BAD;
    if (is_letter(first)) {
        token->kind = FT_NAME;
        while (is_letter(scan_peek(s, length)) || is_digit(scan_peek(s, length)) ||
               scan_peek(s, length) == '$')
            length++;
    } else if (is_digit(first) || (first == '.' && is_digit(scan_peek(s, 1)))) {
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

static bool lex_statement(ft_context *context, uint32_t file, const ft_character *characters, size_t count,
                          bool fixed, ft_line *line)
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
            if (!scan_token(&s, &token)) return false;
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

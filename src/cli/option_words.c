/* SPDX-License-Identifier: Apache-2.0 */
/*
 * option_words.c - see option_words.h. A member is told by its struct (fm_reader_options.format), or by the
 * prefix of those that only tables have (csv_key). Its option has the same name with dashes, but for a few.
 */
#include "option_words.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

enum { LONGEST = 64 };

static bool is_word(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
}

static size_t word_length(const char *at)
{
    size_t length = 0;
    while (is_word(at[length])) length++;
    return length;
}

/* The name of a member at `at`, and how long it is with its struct; 0: there is none. */
static size_t find_member(const char *at, const char **member, size_t *length)
{
    *length = word_length(at);
    *member = at;
    if (strncmp(at, "csv_", 4) == 0) return *length;
    if (strncmp(at, "fm_", 3) != 0 || at[*length] != '.') return 0;
    const size_t before = *length + 1;
    *member = at + before;
    *length = word_length(*member);
    return *length > 0 ? before + *length : 0;
}

static void name_option(const char *member, size_t length, char option[LONGEST])
{
    static const char *const others[][2] = {
        {"csv_size", "--size-column"}, {"fetches", "--instructions"}, {"engine_options", "--engine-option"}};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (strlen(others[i][0]) == length && memcmp(others[i][0], member, length) == 0) {
            snprintf(option, LONGEST, "%s", others[i][1]);
            return;
        }
    if (length > 4 && memcmp(member, "csv_", 4) == 0) member += 4, length -= 4;
    snprintf(option, LONGEST, "--%.*s", (int)(length < LONGEST - 3 ? length : LONGEST - 3), member);
    for (char *c = option; *c; c++)
        if (*c == '_') *c = '-';
}

char *cli_option_words(const char *text, char *to, size_t size)
{
    size_t used = 0;
    bool quoted = false, inside = false; /* a word */
    for (const char *at = text; *at && used + LONGEST < size;) {
        const char *member;
        size_t length, whole = 0;
        if (!quoted && !inside && is_word(*at)) whole = find_member(at, &member, &length);
        if (whole > 0) {
            name_option(member, length, to + used);
            used += strlen(to + used);
            at += whole;
            continue;
        }
        if (*at == '\'') quoted = !quoted;
        inside = is_word(*at);
        to[used++] = *at++;
    }
    to[used] = '\0';
    return to;
}

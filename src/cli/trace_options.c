/* SPDX-License-Identifier: Apache-2.0 */
/*
 * trace_options.c - the options about a trace's format, shared by every verb that reads one, and what
 * there is to say about a trace after it was read.
 */
#include "cli.h"

#include <inttypes.h>
#include <string.h>

static int check_format(const char *name)
{
    const char *best = NULL;
    size_t best_distance = SIZE_MAX;
    const fm_format_info *format;
    for (size_t i = 0; (format = fm_format_at(i)); i++) {
        if (strcmp(format->name, name) == 0) return -1;
        cli_nearest_consider(name, format->name, &best, &best_distance);
    }
    if (best) return cli_misuse("--format: unknown format '%s'; did you mean '%s'?", name, best);
    char list[256] = "";
    size_t used = 0;
    for (size_t i = 0; (format = fm_format_at(i)) && used < sizeof list; i++) {
        int length = snprintf(list + used, sizeof list - used, "%s%s", i ? ", " : "", format->name);
        if (length > 0) used += (size_t)length;
    }
    return cli_misuse("--format: unknown format '%s'; expected one of %s", name, list);
}

/* Whether an option that only CSV has was given; its name, or NULL. */
static const char *csv_option_given(const cli_trace_options *trace)
{
    if (trace->key) return "key";
    if (trace->size_column) return "size-column";
    if (trace->key_unit) return "key-unit";
    if (trace->size_unit) return "size-unit";
    if (trace->delimiter) return "delimiter";
    if (trace->header) return "header";
    return NULL;
}

static int translate_delimiter(const char *text, char *delimiter)
{
    if (strcmp(text, "tab") == 0 || strcmp(text, "\\t") == 0)
        *delimiter = '\t';
    else if (text[0] != '\0' && text[1] == '\0' && text[0] != '"' && text[0] != '\n' && text[0] != '\r')
        *delimiter = text[0];
    else
        return cli_misuse("--delimiter: expected one character or 'tab', found '%s'", text);
    return -1;
}

/* Of "key=a,b,size=3" the next one's value, cut out of the text: what has no name and = belongs to the value
 * before it. NULL: there is none. */
static char *next_setting(char **rest, const char *const *names, size_t count, size_t *which)
{
    char *setting = *rest, *end = setting;
    if (!setting) return NULL;
    for (*rest = NULL; (end = strchr(end, ',')) && !*rest; end++)
        for (size_t i = 0; i < count && !*rest; i++) {
            const size_t length = strlen(names[i]);
            if (strncmp(end + 1, names[i], length) != 0 || end[1 + length] != '=') continue;
            *end = '\0';
            *rest = end + 1;
        }
    for (*which = 0; *which < count; ++*which) {
        const size_t length = strlen(names[*which]);
        if (strncmp(setting, names[*which], length) == 0 && setting[length] == '=')
            return setting + length + 1;
    }
    return setting;
}

/* "csv:key=2,size=3": the format, and what other options say alone. trace keeps pointers into text. */
static int read_settings(cli_trace_options *trace, char *text)
{
    static const char *const names[] = {"key",      "size",      "delimiter",   "header",
                                        "key-unit", "size-unit", "instructions"};
    enum { TEXTS = 4, UNITS = 6, COUNT = 7 };
    const char **const texts[] = {&trace->key, &trace->size_column, &trace->delimiter, &trace->header};
    char *rest = strchr(text, ':'), *value;
    size_t which;
    if (rest) *rest++ = '\0';
    trace->format = text[0] ? text : NULL;
    while ((value = next_setting(&rest, names, COUNT, &which))) {
        uint64_t *unit = which == UNITS - 1 ? &trace->size_unit : &trace->key_unit;
        if (which == COUNT)
            return cli_misuse("--format: expected key, size, key-unit, size-unit, delimiter, header or "
                              "instructions and = after '%s:', found '%s'",
                              text, value);
        if (which < TEXTS)
            *texts[which] = value;
        else if (which == UNITS)
            trace->instructions = value;
        else if (!cli_parse_bytes(value, unit))
            return cli_misuse("--format: %s: expected a number of bytes, found '%s'", names[which], value);
    }
    return -1;
}

int cli_reader_options(const cli_trace_options *trace, fm_reader_options *options)
{
    static char settings[1024]; /* the reader's options point into it */
    cli_trace_options said = *trace;
    *options = (fm_reader_options){0};
    if (said.format) {
        if ((size_t)snprintf(settings, sizeof settings, "%s", said.format) >= sizeof settings)
            return cli_misuse("--format: too much of it");
        int code = read_settings(&said, settings);
        if (code < 0 && said.format) code = check_format(said.format);
        if (code >= 0) return code;
    }
    if (said.format) {
        const char *given = csv_option_given(&said);
        if (given && strcmp(said.format, "csv") != 0)
            return cli_misuse("--%s is for csv traces, and --format says '%s'", given, said.format);
        options->format = said.format;
    }
    if (said.instructions) {
        if (strcmp(said.instructions, "skip") == 0)
            options->fetches = FM_FETCHES_SKIP;
        else if (strcmp(said.instructions, "only") == 0)
            options->fetches = FM_FETCHES_ONLY;
        else if (strcmp(said.instructions, "all") == 0)
            options->fetches = FM_FETCHES_ALL;
        else
            return cli_misuse("--instructions: expected skip, only or all, found '%s'", said.instructions);
    }
    if (said.delimiter) {
        int code = translate_delimiter(said.delimiter, &options->csv_delimiter);
        if (code >= 0) return code;
    }
    if (said.header) {
        if (strcmp(said.header, "yes") == 0)
            options->csv_header = FM_CSV_HEADER_YES;
        else if (strcmp(said.header, "no") == 0)
            options->csv_header = FM_CSV_HEADER_NO;
        else
            return cli_misuse("--header: expected yes or no, found '%s'", said.header);
    }
    if (said.size_unit && !said.size_column)
        return cli_misuse("--size-unit needs --size-column: there is no size to apply it to");
    options->csv_key = said.key;
    options->csv_size = said.size_column;
    options->csv_key_unit = said.key_unit;
    options->csv_size_unit = said.size_unit;
    return -1;
}

int cli_check_level(uint64_t given, bool store, int *level)
{
    *level = store ? -1 : given == UINT64_MAX ? CLI_LEVEL : (int)given;
    if (given == UINT64_MAX) return -1;
    if (given < 1 || given > 22) return cli_misuse("--level: expected 1 to 22, found %" PRIu64, given);
    return store ? cli_misuse("--level and --store contradict each other") : -1;
}

/* ---- the library's words ---- */

/* A member is told by its struct (fm_reader_options.format), and its option has the same name with dashes,
 * but for a few; or by the prefix of those that only tables have: csv_key=2 is --format csv:key=2, and where
 * it stands behind "--format csv " or a comma, what is missing of that. */
enum { MEMBER_LENGTH = 64 };

static bool is_word_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
}

static size_t word_length(const char *at)
{
    size_t length = 0;
    while (is_word_letter(at[length])) length++;
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

static bool is_of_tables(const char *member, size_t length)
{
    return length > 4 && memcmp(member, "csv_", 4) == 0;
}

static void name_option(const char *member, size_t length, char option[MEMBER_LENGTH])
{
    static const char *const others[][2] = {
        {"fetches", "--instructions"}, {"engine_options", "--engine-option"}, {"method", "--sampler"}};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (strlen(others[i][0]) == length && memcmp(others[i][0], member, length) == 0) {
            snprintf(option, MEMBER_LENGTH, "%s", others[i][1]);
            return;
        }
    const bool of_tables = is_of_tables(member, length);
    if (of_tables) member += 4, length -= 4;
    snprintf(option, MEMBER_LENGTH, "%s%.*s", of_tables ? "" : "--",
             (int)(length < MEMBER_LENGTH - 3 ? length : MEMBER_LENGTH - 3), member);
    for (char *c = option; *c; c++)
        if (*c == '_') *c = '-';
}

/* What comes before the name of a table's setting; so much is said then. */
static size_t begin_setting(char *to, size_t used)
{
    static const char format[] = "--format csv:";
    const size_t length = sizeof format - 1;
    if (used > 0 && to[used - 1] == ',') return used;
    if (used >= length && memcmp(to + used - length, format, length - 1) == 0)
        used -= length; /* with a space behind it */
    memcpy(to + used, format, length);
    return used + length;
}

char *cli_option_words(const char *text, char *to, size_t size)
{
    size_t used = 0;
    bool quoted = false, inside = false; /* a word */
    for (const char *at = text; *at && used + sizeof "--format csv:" + MEMBER_LENGTH < size;) {
        const char *member;
        size_t length, whole = 0;
        if (!quoted && !inside && is_word_letter(*at)) whole = find_member(at, &member, &length);
        if (whole > 0) {
            if (is_of_tables(member, length)) used = begin_setting(to, used);
            name_option(member, length, to + used);
            used += strlen(to + used);
            at += whole;
            continue;
        }
        if (*at == '\'') quoted = !quoted;
        inside = is_word_letter(*at);
        to[used++] = *at++;
    }
    to[used] = '\0';
    return to;
}

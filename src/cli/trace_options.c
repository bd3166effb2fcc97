/* SPDX-License-Identifier: Apache-2.0 */
/*
 * trace_options.c - the options about a trace's format, shared by every verb that reads one, and what
 * there is to say about a trace after it was read.
 */
#include "cli.h"
#include "nearest.h"

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

int cli_reader_options(const cli_trace_options *trace, fm_reader_options *options)
{
    *options = (fm_reader_options){0};
    if (trace->format) {
        int code = check_format(trace->format);
        if (code >= 0) return code;
        const char *given = csv_option_given(trace);
        if (given && strcmp(trace->format, "csv") != 0)
            return cli_misuse("--%s is for csv traces, and --format says '%s'", given, trace->format);
        options->format = trace->format;
    }
    if (trace->instructions) {
        if (strcmp(trace->instructions, "skip") == 0)
            options->fetches = FM_FETCHES_SKIP;
        else if (strcmp(trace->instructions, "only") == 0)
            options->fetches = FM_FETCHES_ONLY;
        else if (strcmp(trace->instructions, "all") == 0)
            options->fetches = FM_FETCHES_ALL;
        else
            return cli_misuse("--instructions: expected skip, only or all, found '%s'", trace->instructions);
    }
    if (trace->delimiter) {
        int code = translate_delimiter(trace->delimiter, &options->csv_delimiter);
        if (code >= 0) return code;
    }
    if (trace->header) {
        if (strcmp(trace->header, "yes") == 0)
            options->csv_header = FM_CSV_HEADER_YES;
        else if (strcmp(trace->header, "no") == 0)
            options->csv_header = FM_CSV_HEADER_NO;
        else
            return cli_misuse("--header: expected yes or no, found '%s'", trace->header);
    }
    if (trace->size_unit && !trace->size_column)
        return cli_misuse("--size-unit needs --size-column: there is no size to apply it to");
    options->csv_key = trace->key;
    options->csv_size = trace->size_column;
    options->csv_key_unit = trace->key_unit;
    options->csv_size_unit = trace->size_unit;
    return -1;
}

int cli_check_level(uint64_t given, bool store, int *level)
{
    *level = store ? -1 : given == UINT64_MAX ? CLI_LEVEL : (int)given;
    if (given == UINT64_MAX) return -1;
    if (given < 1 || given > 22) return cli_misuse("--level: expected 1 to 22, found %" PRIu64, given);
    return store ? cli_misuse("--level and --store contradict each other") : -1;
}

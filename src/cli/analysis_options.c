/* SPDX-License-Identifier: Apache-2.0 */
/*
 * analysis_options.c - checks the options about how references are analysed and turns them into those of
 * an analyzer. Says what is wrong before any work is done.
 */
#include "analysis_options.h"

#include <inttypes.h>
#include <string.h>

/* What the program needs beside the analyzers: itself, the reader's buffers. */
#define PROGRAM_MEMORY (UINT64_C(16) << 20)

static int parse_granularities(const char *list, cli_analysis *analysis)
{
    char text[256];
    if ((size_t)snprintf(text, sizeof text, "%s", list) >= sizeof text)
        return cli_misuse("--granularity: the list is too long");
    char *rest = text;
    while (rest) {
        char *part = strsep(&rest, ",");
        uint64_t value;
        if (!cli_parse_count(part, &value) || value == 0 || (value & (value - 1)))
            return cli_misuse("--granularity: expected a power of two such as 64 or 4K, found '%s'", part);
        for (size_t i = 0; i < analysis->count; i++)
            if (analysis->granularity[i] == value)
                return cli_misuse("--granularity: %s is named twice", part);
        if (analysis->count == CLI_MOST_GRANULARITIES)
            return cli_misuse("--granularity: at most %d at a time", CLI_MOST_GRANULARITIES);
        analysis->granularity[analysis->count++] = value;
    }
    return -1;
}

static int parse_bins(const char *name, fm_bins *bins)
{
    if (!name || fm_bins_from_name(name, bins)) return -1;
    return cli_misuse("--bins: expected exact, log2 or loglinear, found '%s'", name);
}

static int check_engine(const char *name)
{
    char names[256] = "";
    const fm_engine_info *info;
    for (size_t i = 0; (info = fm_engine_at(i)); i++) {
        if (!name || strcmp(info->name, name) == 0) return -1;
        size_t length = strlen(names);
        snprintf(names + length, sizeof names - length, "%s%s", length ? ", " : "", info->name);
    }
    return cli_misuse("--engine: there is no engine '%s'; there are %s", name, names);
}

static int check_isa(const char *name)
{
    char names[256] = "";
    const char *isa;
    for (size_t i = 0; (isa = fm_isa_at(i)); i++) {
        if (!name || strcmp(isa, name) == 0) return -1;
        size_t length = strlen(names);
        snprintf(names + length, sizeof names - length, "%s%s", length ? ", " : "", isa);
    }
    return cli_misuse("--isa: this machine cannot run '%s'; it can run %s", name, names);
}

int cli_analysis_check(const cli_analysis_options *options, cli_analysis *analysis)
{
    int code;
    fm_analyzer_options *analyzer = &analysis->analyzer;
    *analysis = (cli_analysis){0};
    if (options->granularity && (code = parse_granularities(options->granularity, analysis)) >= 0)
        return code;
    if ((code = parse_bins(options->bins, &analyzer->bins)) >= 0) return code;
    if ((code = check_engine(options->engine)) >= 0) return code;
    if ((code = check_isa(options->isa)) >= 0) return code;
    if (options->bound && (!cli_parse_count(options->bound, &analyzer->bound) || analyzer->bound == 0))
        return cli_misuse("--bound: expected a number of blocks, at least 1, found '%s'", options->bound);
    if (options->max_memory == 0) return cli_misuse("--max-memory: expected at least 1 byte");
    analysis->max_memory = options->max_memory == UINT64_MAX ? 0 : options->max_memory;
    analyzer->engine = options->engine;
    analyzer->isa = options->isa;
    analyzer->time_distances = options->time;
    return -1;
}

int cli_analysis_share_memory(const cli_analysis *analysis, size_t count, uint64_t *share)
{
    *share = 0;
    if (analysis->max_memory == 0) return -1;
    if (analysis->max_memory > PROGRAM_MEMORY) *share = (analysis->max_memory - PROGRAM_MEMORY) / count;
    if (*share > 0) return -1;
    cli_complain("--max-memory %" PRIu64 " cannot be kept: the program itself needs %" PRIu64 " bytes",
                 analysis->max_memory, (uint64_t)PROGRAM_MEMORY);
    return CLI_FAILED;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * analysis_options.c - checks the options about how references are analysed and turns them into those of
 * an analyzer. Says what is wrong before any work is done.
 */
#include "analysis_options.h"

#include <inttypes.h>
#include <stdlib.h>
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

static const fm_engine_info *find_engine(const char *name)
{
    const fm_engine_info *info;
    for (size_t i = 0; (info = fm_engine_at(i)); i++)
        if (!name || strcmp(info->name, name) == 0) return info; /* the first is the default */
    return NULL;
}

const fm_engine_info *cli_analysis_engine(const cli_analysis *analysis)
{
    return find_engine(analysis->analyzer.engine);
}

void cli_analysis_choose_engine(cli_analysis *analysis, uint64_t references)
{
    if (analysis->analyzer.engine && strcmp(analysis->analyzer.engine, "auto") == 0)
        analysis->analyzer.engine = fm_engine_choose(references);
}

static int check_hp_rda(const cli_analysis_options *options)
{
    const fm_engine_info *info = find_engine(options->engine);
    const fm_hp_rda_options *hp_rda = &options->hp_rda;
    const bool given = hp_rda->trace_size || hp_rda->thread_trace_size || hp_rda->hash_size ||
                       hp_rda->pool_size || hp_rda->disable_adjusting;
    if (given && (!info || strncmp(info->name, "hp-rda", 6) != 0))
        return cli_misuse(
            "--trace-size, --thread-trace-size, --hash-size, --pool-size and --disable-adjusting need "
            "--engine hp-rda or hp-rda-gpu");
    return -1;
}

static int check_engine(const char *name)
{
    char names[256] = "";
    if (name && strcmp(name, "auto") == 0) return -1;
    const fm_engine_info *info;
    for (size_t i = 0; (info = fm_engine_at(i)); i++) {
        if (!name || strcmp(info->name, name) == 0) return -1;
        size_t length = strlen(names);
        snprintf(names + length, sizeof names - length, "%s%s", length ? ", " : "", info->name);
    }
    return cli_misuse("--engine: there is no engine '%s'; there are %s, auto", name, names);
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

/* ---- approximation ---- */

static bool is_engine(const cli_analysis_options *options, const char *name)
{
    return options->engine && strcmp(options->engine, name) == 0;
}

/* Distances below this are exact: below 0, none. */
static int parse_cutoff(const char *text, uint64_t *value)
{
    if (!text || cli_parse_count(text, value)) return -1;
    return cli_misuse("--cutoff: expected a number of blocks, found '%s'", text);
}

static int parse_blocks(const char *option, const char *text, uint64_t *value)
{
    if (!text || (cli_parse_count(text, value) && *value > 0)) return -1;
    return cli_misuse("--%s: expected a number of blocks, at least 1, found '%s'", option, text);
}

static int parse_error(const char *text, double *value)
{
    char *end;
    if (!text) return -1;
    *value = strtod(text, &end);
    if (end != text && *end == '\0' && *value > 0 && *value < 1) return -1;
    return cli_misuse("--error: expected a number between 0 and 1, both excluded, found '%s'", text);
}

/* An option that only some engines know. */
typedef struct engine_option {
    const char *name, *given;
    const char *engines[2];
} engine_option;

static int check_engine_option(const cli_analysis_options *options, const engine_option *option)
{
    if (!option->given || is_engine(options, option->engines[0])) return -1;
    if (option->engines[1] && is_engine(options, option->engines[1])) return -1;
    return cli_misuse("--%s: goes with --engine %s%s%s only", option->name, option->engines[0],
                      option->engines[1] ? " or " : "", option->engines[1] ? option->engines[1] : "");
}

static int check_sampling(const cli_analysis_options *options, fm_approximation *approximation)
{
    uint64_t hashes = 0;
    if (options->rate && options->samples)
        return cli_misuse("--rate and --samples: one of them sizes the samples, not both");
    char *end;
    if (options->rate) {
        approximation->rate = strtod(options->rate, &end);
        if (end == options->rate || *end || !(approximation->rate > 0 && approximation->rate <= 1))
            return cli_misuse("--rate: expected a number over 0 and up to 1, found '%s'", options->rate);
    }
    int code = parse_blocks("samples", options->samples, &approximation->samples);
    if (code >= 0) return code;
    if (approximation->samples > UINT64_C(1) << 30)
        return cli_misuse("--samples: expected at most 1G blocks, found '%s'", options->samples);
    if (options->hashes &&
        (!cli_parse_count(options->hashes, &hashes) || hashes == 0 || hashes > FM_MOST_HASHES))
        return cli_misuse("--hashes: expected a number from 1 to %d, found '%s'", FM_MOST_HASHES,
                          options->hashes);
    approximation->hashes = (unsigned)hashes;
    if (options->exact_below && strcmp(options->exact_below, "0") == 0) {
        approximation->exact_below = FM_NOTHING_EXACT;
        return -1;
    }
    return parse_blocks("exact-below", options->exact_below, &approximation->exact_below);
}

static int check_approximation(const cli_analysis_options *options, fm_approximation *approximation)
{
    const engine_option own[] = {{"error", options->error, {"approx", NULL}},
                                 {"abs-error", options->absolute_error, {"approx", NULL}},
                                 {"cutoff", options->cutoff, {"approx", NULL}},
                                 {"rate", options->rate, {"shards", "aet"}},
                                 {"samples", options->samples, {"shards", NULL}},
                                 {"hashes", options->hashes, {"shards", NULL}},
                                 {"exact-below", options->exact_below, {"shards", NULL}}};
    for (size_t i = 0; i < sizeof own / sizeof *own; i++) {
        int code = check_engine_option(options, &own[i]);
        if (code >= 0) return code;
    }
    if (options->error && options->absolute_error)
        return cli_misuse("--error and --abs-error: one of them bounds the error, not both");
    if (options->cutoff && !options->absolute_error)
        return cli_misuse("--cutoff: goes with --abs-error only");
    int code = parse_error(options->error, &approximation->relative_error);
    if (code < 0) code = parse_blocks("abs-error", options->absolute_error, &approximation->absolute_error);
    if (code < 0) code = parse_cutoff(options->cutoff, &approximation->cutoff);
    return code < 0 ? check_sampling(options, approximation) : code;
}

/* What the engine cannot do. */
static int check_abilities(const cli_analysis_options *options, cli_analysis *analysis)
{
    const fm_engine_info *info;
    for (size_t i = 0; (info = fm_engine_at(i)); i++) {
        if (!is_engine(options, info->name)) continue;
        if (options->bound && info->unbounded)
            return cli_misuse("--bound: the engine %s takes none", info->name);
        if (options->time && info->histogram_only)
            return cli_misuse("--time: the engine %s tells the histogram of distances only", info->name);
        analysis->histogram_only = info->histogram_only;
    }
    return -1;
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
    if ((code = check_hp_rda(options)) >= 0) return code;
    if ((code = check_isa(options->isa)) >= 0) return code;
    if ((code = check_approximation(options, &analyzer->approximation)) >= 0) return code;
    if ((code = check_abilities(options, analysis)) >= 0) return code;
    if ((code = parse_blocks("bound", options->bound, &analyzer->bound)) >= 0) return code;
    if (options->max_memory == 0) return cli_misuse("--max-memory: expected at least 1 byte");
    analysis->max_memory = options->max_memory == UINT64_MAX ? 0 : options->max_memory;
    analyzer->engine = options->engine;
    analyzer->isa = options->isa;
    analyzer->hp_rda = options->hp_rda;
    analyzer->time_distances = options->time;
    return -1;
}

/* As people write it: 32M. */
static const char *count_text(uint64_t count, char *text, size_t size)
{
    static const char suffixes[] = "TGMK";
    for (unsigned i = 0; i < 4; i++) {
        const uint64_t unit = UINT64_C(1) << (40 - 10 * i);
        if (count < unit || count % unit != 0) continue;
        snprintf(text, size, "%" PRIu64 "%c", count / unit, suffixes[i]);
        return text;
    }
    snprintf(text, size, "%" PRIu64, count);
    return text;
}

int cli_analysis_share_memory(const cli_analysis *analysis, size_t count, uint64_t *share)
{
    *share = 0;
    if (analysis->max_memory == 0) return -1;
    char all[32], own[32], parts[64] = "";
    count_text(analysis->max_memory, all, sizeof all);
    count_text(PROGRAM_MEMORY, own, sizeof own);
    if (count > 1) snprintf(parts, sizeof parts, ", and the rest is for %zu analyses", count);
    cli_explain_limit("--max-memory %s, of which the program itself takes %s%s", all, own, parts);
    if (analysis->max_memory > PROGRAM_MEMORY) *share = (analysis->max_memory - PROGRAM_MEMORY) / count;
    if (*share > 0) return -1;
    cli_complain("--max-memory %s cannot be kept: the program itself needs %s", all, own);
    return CLI_FAILED;
}

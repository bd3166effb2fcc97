/* SPDX-License-Identifier: Apache-2.0 */
/*
 * analysis_options.c - checks the options about how references are analysed and turns them into those of
 * an analyzer. Says what is wrong before any work is done.
 */
#include "cli.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static int parse_granularities(const char *list, cli_analysis *analysis)
{
    char text[256];
    if ((size_t)snprintf(text, sizeof text, "%s", list) >= sizeof text)
        return cli_misuse("--granularity: the list is too long");
    char *rest = text;
    analysis->analyzer.elements = strcmp(text, "element") == 0;
    if (analysis->analyzer.elements) {
        analysis->granularity[analysis->count++] = 1;
        return -1;
    }
    while (rest) {
        char *part = strsep(&rest, ",");
        uint64_t value;
        if (strcmp(part, "element") == 0)
            return cli_misuse(
                "--granularity: element goes alone: sizes of caches are in elements then, not bytes");
        if (!cli_parse_bytes(part, &value) || value == 0 || (value & (value - 1)))
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

/* ---- options of one engine ---- */

/* The name nearest to one that the engine does not know; NULL where nothing is near, or all are known. */
static const char *nearest_option(const char *engine, const char *text)
{
    char names[sizeof(cli_joined)];
    snprintf(names, sizeof names, "%s", text);
    for (char *rest = names, *name; (name = strsep(&rest, ","));) {
        name[strcspn(name, "=")] = '\0';
        const fm_engine_option *option;
        const char *best = NULL;
        size_t best_distance = SIZE_MAX;
        for (size_t i = 0; (option = fm_engine_option_at(engine, i)); i++)
            cli_nearest_consider(name, option->name, &best, &best_distance);
        if (best && strcmp(best, name) != 0) return best;
    }
    return NULL;
}

static int check_engine_options(const cli_analysis_options *options)
{
    fm_error error;
    const char *text = options->engine_options.text;
    if (!text[0]) return -1;
    if (options->engine && strcmp(options->engine, "auto") == 0)
        return cli_misuse("--engine-option: goes with an engine that is named, not with auto");
    if (fm_engine_options_check(options->engine, text, &error) == FM_OK) return -1;
    const char *meant = nearest_option(options->engine, text);
    return cli_misuse("%s%s%s%s", error.reason, meant ? "; did you mean '" : "", meant ? meant : "",
                      meant ? "'?" : "");
}

static int parse_blocks(const char *option, const char *text, uint64_t *value)
{
    if (!text || (cli_parse_count(text, value) && *value > 0)) return -1;
    return cli_misuse("--%s: expected a number of blocks, at least 1, found '%s'", option, text);
}

/* What the engine cannot do. */
static int check_abilities(const cli_analysis_options *options, cli_analysis *analysis)
{
    const fm_engine_info *info;
    for (size_t i = 0; (info = fm_engine_at(i)); i++) {
        if (!options->engine || strcmp(options->engine, info->name) != 0) continue;
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
    if ((code = check_isa(options->isa)) >= 0) return code;
    if ((code = check_engine_options(options)) >= 0) return code;
    if ((code = check_abilities(options, analysis)) >= 0) return code;
    if ((code = parse_blocks("bound", options->bound, &analyzer->bound)) >= 0) return code;
    if (options->max_memory == 0) return cli_misuse("--max-memory: expected at least 1 byte");
    analysis->max_memory = options->max_memory == UINT64_MAX ? 0 : options->max_memory;
    analyzer->engine = options->engine;
    analyzer->isa = options->isa;
    if (options->engine_options.text[0]) analyzer->engine_options = options->engine_options.text;
    analyzer->time_distances = options->time;
    return -1;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * analysis_options.h - the options about how references are analysed, shared by every verb that does so.
 */
#ifndef FATHOM_CLI_ANALYSIS_OPTIONS_H
#define FATHOM_CLI_ANALYSIS_OPTIONS_H

#include "cli.h"

enum { CLI_MOST_GRANULARITIES = 16 };

/* As given on the command line. max_memory must start as UINT64_MAX: not given. */
typedef struct cli_analysis_options {
    const char *granularity, *engine, *bins, *bound, *isa;
    bool time;
    uint64_t max_memory;
    cli_joined engine_options;
} cli_analysis_options;

/* Older spellings of what --engine-option takes. */
#define CLI_OLD_ENGINE_OPTION(name, takes)                                                                   \
    {                                                                                                        \
        (name), CLI_OLD_PART, .argument = (takes), .now = "engine-option"                                    \
    }

#define CLI_ANALYSIS_OPTIONS(a)                                                                              \
    {"engine-option", CLI_TO(&(a)->engine_options)}, {"bound", CLI_TO(&(a)->bound)},                         \
        {"bins", CLI_TO(&(a)->bins)}, {"time", CLI_TO(&(a)->time)}, {"isa", CLI_TO(&(a)->isa)},              \
        CLI_OLD_ENGINE_OPTION("error", "SHARE"), CLI_OLD_ENGINE_OPTION("abs-error", "BLOCKS"),               \
        CLI_OLD_ENGINE_OPTION("cutoff", "BLOCKS"), CLI_OLD_ENGINE_OPTION("rate", "SHARE"),                   \
        CLI_OLD_ENGINE_OPTION("samples", "BLOCKS"), CLI_OLD_ENGINE_OPTION("hashes", "N"),                    \
        CLI_OLD_ENGINE_OPTION("exact-below", "BLOCKS"), CLI_OLD_ENGINE_OPTION("trace-size", "N"),            \
        CLI_OLD_ENGINE_OPTION("thread-trace-size", "N"), CLI_OLD_ENGINE_OPTION("hash-size", "N"),            \
        CLI_OLD_ENGINE_OPTION("pool-size", "N"), CLI_OLD_ENGINE_OPTION("disable-adjusting", NULL)

/* Checked and translated: one set of options for an analyzer per granularity. */
typedef struct cli_analysis {
    size_t count; /* 0: no granularity was named */
    uint64_t granularity[CLI_MOST_GRANULARITIES];
    fm_analyzer_options analyzer; /* everything but the granularity */
    uint64_t max_memory;          /* of the whole program; 0: no limit */
    bool histogram_only;          /* the engine gives no single distances */
} cli_analysis;

/* What --engine auto means for so many references; 0: nobody knows how many. Before any analyzer is made. */
void cli_analysis_choose_engine(cli_analysis *analysis, uint64_t references);
/* What is known of the engine; NULL: it is still to be chosen. */
const fm_engine_info *cli_analysis_engine(const cli_analysis *analysis);
/* -1, or an exit code after a message. */
int cli_analysis_check(const cli_analysis_options *options, cli_analysis *analysis);
/* The smallest block size; 1 where there is none yet. */
uint64_t cli_analysis_least_granularity(const cli_analysis *analysis);
#endif

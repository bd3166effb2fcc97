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
#define CLI_OLD_ENGINE_OPTION(a, name, argument)                                                             \
    {                                                                                                        \
        name, 0, CLI_JOIN_NAMED, &(a)->engine_options, argument, NULL                                        \
    }

#define CLI_ANALYSIS_OPTIONS(a)                                                                              \
    {"granularity",                                                                                          \
     'g',                                                                                                    \
     CLI_STRING,                                                                                             \
     &(a)->granularity,                                                                                      \
     "BYTES",                                                                                                \
     "block size, a power of two; several as 8,64,4096 in one pass\n"                                        \
     "(default 64 for memory addresses, 1 for keys); element: an\n"                                          \
     "access is one reference to its address, whatever its size"},                                           \
        {"engine",                                                                                           \
         'e',                                                                                                \
         CLI_STRING,                                                                                         \
         &(a)->engine,                                                                                       \
         "NAME",                                                                                             \
         "exact (default), tree (Olken's splay tree), list (Mattson's\n"                                     \
         "stack), parda (PARDA's chunks, in parallel), approx (within a\n"                                   \
         "guaranteed error), shards (samples with a confidence band),\n"                                     \
         "aet (by a model from reuse times), gpu (exact, on an NVIDIA\n"                                     \
         "graphics card), auto (gpu where it pays, otherwise exact),\n"                                      \
         "hp-rda (approximate; a paper's), hp-rda-gpu (the same on a card)"},                                \
        {"engine-option",                                                                                    \
         0,                                                                                                  \
         CLI_JOIN,                                                                                           \
         &(a)->engine_options,                                                                               \
         "NAME=VALUE",                                                                                       \
         "an option of that engine alone, several separated by commas;\n"                                    \
         "`fathom help engines` lists them"},                                                                \
        {"bound",     0,        CLI_STRING,                                                                  \
         &(a)->bound, "BLOCKS", "distances from here on are one class, `beyond`; memory is\nbounded by it"}, \
        {"bins",                                                                                             \
         0,                                                                                                  \
         CLI_STRING,                                                                                         \
         &(a)->bins,                                                                                         \
         "NAME",                                                                                             \
         "histogram resolution: loglinear (default; exact below 1024,\n"                                     \
         "then 64 bins per power of two), log2, exact"},                                                     \
        {"time", 0, CLI_FLAG, &(a)->time, NULL, "count time distances too"},                                 \
        {"max-memory",                                                                                       \
         0,                                                                                                  \
         CLI_COUNT,                                                                                          \
         &(a)->max_memory,                                                                                   \
         "BYTES",                                                                                            \
         "never use more; stop with a message when that cannot be kept\n(analyze without --engine: go on "   \
         "with samples instead)"},                                                                           \
        {"isa",                                                                                              \
         0,                                                                                                  \
         CLI_STRING,                                                                                         \
         &(a)->isa,                                                                                          \
         "NAME",                                                                                             \
         "instruction set of the exact engine: avx512, avx2, portable\n"                                     \
         "(default: the best this machine has)"},                                                            \
        CLI_OLD_ENGINE_OPTION(a, "error", "SHARE"), CLI_OLD_ENGINE_OPTION(a, "abs-error", "BLOCKS"),         \
        CLI_OLD_ENGINE_OPTION(a, "cutoff", "BLOCKS"), CLI_OLD_ENGINE_OPTION(a, "rate", "SHARE"),             \
        CLI_OLD_ENGINE_OPTION(a, "samples", "BLOCKS"), CLI_OLD_ENGINE_OPTION(a, "hashes", "N"),              \
        CLI_OLD_ENGINE_OPTION(a, "exact-below", "BLOCKS"), CLI_OLD_ENGINE_OPTION(a, "trace-size", "N"),      \
        CLI_OLD_ENGINE_OPTION(a, "thread-trace-size", "N"), CLI_OLD_ENGINE_OPTION(a, "hash-size", "N"),      \
        CLI_OLD_ENGINE_OPTION(a, "pool-size", "N"), CLI_OLD_ENGINE_OPTION(a, "disable-adjusting", NULL)

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

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
} cli_analysis_options;

#define CLI_ANALYSIS_OPTIONS(a)                                                                              \
    {"granularity",                                                                                          \
     'g',                                                                                                    \
     CLI_STRING,                                                                                             \
     &(a)->granularity,                                                                                      \
     "BYTES",                                                                                                \
     "block size, a power of two; several as 8,64,4096 in one pass\n"                                        \
     "(default 64 for memory addresses, 1 for keys)"},                                                       \
        {"engine",                                                                                           \
         'e',                                                                                                \
         CLI_STRING,                                                                                         \
         &(a)->engine,                                                                                       \
         "NAME",                                                                                             \
         "exact (default), tree (Olken's splay tree), list (Mattson's\n"                                     \
         "stack), parda (PARDA's chunks, in parallel)"},                                                     \
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
        {"max-memory",     0,       CLI_COUNT,                                                               \
         &(a)->max_memory, "BYTES", "never use more; stop with a message when that cannot be kept"},         \
    {                                                                                                        \
        "isa", 0, CLI_STRING, &(a)->isa, "NAME",                                                             \
            "instruction set of the exact engine: avx512, avx2, portable\n"                                  \
            "(default: the best this machine has)"                                                           \
    }

/* Checked and translated: one set of options for an analyzer per granularity. */
typedef struct cli_analysis {
    size_t count; /* 0: no granularity was named */
    uint64_t granularity[CLI_MOST_GRANULARITIES];
    fm_analyzer_options analyzer; /* everything but the granularity */
    uint64_t max_memory;          /* of the whole program; 0: no limit */
} cli_analysis;

/* -1, or an exit code after a message. */
int cli_analysis_check(const cli_analysis_options *options, cli_analysis *analysis);
/* What each of `count` analyzers may use so that the program keeps --max-memory; 0: no limit. -1, or an exit
 * code. */
int cli_analysis_share_memory(const cli_analysis *analysis, size_t count, uint64_t *share);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* sample_live.h - fathom sample -- PROGRAM: samples of a program that runs. */
#ifndef FATHOM_CLI_SAMPLE_LIVE_H
#define FATHOM_CLI_SAMPLE_LIVE_H

#include "pass_status.h"
#include "sample/sample_simulate.h"

typedef struct cli_live_options {
    const char *json, *report, *output, *overhead, *pid, *region, *function, *method;
    double rate, duration; /* -1: not given */
    bool no_source, follow_children, no_watches, mean_rate, call_paths, progress;
} cli_live_options;

/* To be set before options are parsed. */
#define CLI_LIVE_START                                                                                       \
    {                                                                                                        \
        .rate = -1, .duration = -1                                                                           \
    }

/* To be put into the verb's table of options; --json is the verb's own. */
#define CLI_LIVE_OPTIONS(l)                                                                                  \
    {"pid", 'p', CLI_STRING, &(l)->pid, "PID", "a process that runs already; it runs on afterwards"},        \
        {"report", 0, CLI_OUTPUT, &(l)->report, "FILE", "write a page to look at, as fathom report does"},   \
        {"no-source", 0, CLI_FLAG, &(l)->no_source, NULL, "no text of source files on that page"},           \
        {"output",                                                                                           \
         'o',                                                                                                \
         CLI_OUTPUT,                                                                                         \
         &(l)->output,                                                                                       \
         "FILE",                                                                                             \
         "where the text goes that is shown at the end\n(default: standard error); - for standard output"},  \
        {"function",     0,      CLI_STRING,                                                                 \
         &(l)->function, "NAME", "only while this function, or one that it calls, runs"},                    \
        {"region",     0,      CLI_STRING,                                                                   \
         &(l)->region, "NAME", "only between FATHOM_BEGIN(\"NAME\") and FATHOM_END\n(fathom/markers.h)"},    \
        {"overhead",                                                                                         \
         0,                                                                                                  \
         CLI_STRING,                                                                                         \
         &(l)->overhead,                                                                                     \
         "PERCENT",                                                                                          \
         "take as many samples as slow the program down by so much\n"                                        \
         "(default 2%; with --rate or --period: no limit)"},                                                 \
        {"method",                                                                                           \
         0,                                                                                                  \
         CLI_STRING,                                                                                         \
         &(l)->method,                                                                                       \
         "NAME",                                                                                             \
         "pmu: single accesses, by performance counters; software:\n"                                        \
         "bursts, by a clock (default: software; pmu for words of at most 8\n"                               \
         "bytes where that can be done)"},                                                                   \
        {"rate", 0, CLI_REAL, &(l)->rate, "HZ", "samples a second of each thread's processor time"},         \
        {"duration",                                                                                         \
         0,                                                                                                  \
         CLI_REAL,                                                                                           \
         &(l)->duration,                                                                                     \
         "SECONDS",                                                                                          \
         "take samples for so long; then the program runs on without\n"                                      \
         "(with --pid: the result comes then)"},                                                             \
        {"follow-children",     0,    CLI_FLAG,                                                              \
         &(l)->follow_children, NULL, "the processes that the program starts, too"},                         \
        {"call-paths", 0, CLI_FLAG, &(l)->call_paths, NULL, "tell code apart by the calls that led there"},  \
        {"mean-rate",                                                                                        \
         0,                                                                                                  \
         CLI_FLAG,                                                                                           \
         &(l)->mean_rate,                                                                                    \
         NULL,                                                                                               \
         "one rate of accesses for the whole run: clock samples stay\nbiased towards slow code (to "         \
         "compare)"},                                                                                        \
    {                                                                                                        \
        "no-watches", 0, CLI_FLAG, &(l)->no_watches, NULL,                                                   \
            "no debug registers: only what bursts see is known"                                              \
    }

/* The whole verb, once options are parsed: the exit code. end: how the program ended. */
int cli_sample_live(const cli_live_options *live, const cli_estimate_options *estimate,
                    const cli_attribution_options *attribution, uint64_t seed, char **command,
                    cli_program_end *end);

#endif

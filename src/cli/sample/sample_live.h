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
    {"pid", CLI_TO(&(l)->pid)}, {"report", CLI_TO(&(l)->report)}, {"no-source", CLI_TO(&(l)->no_source)},    \
        {"output", CLI_TO(&(l)->output)}, {"function", CLI_TO(&(l)->function)},                              \
        {"region", CLI_TO(&(l)->region)}, {"overhead", CLI_TO(&(l)->overhead)},                              \
        {"sampler", CLI_TO(&(l)->method)}, {"rate", CLI_TO(&(l)->rate)},                                     \
        {"limit-time", CLI_TO(&(l)->duration)}, {"follow-children", CLI_TO(&(l)->follow_children)},          \
        {"call-paths", CLI_TO(&(l)->call_paths)}, {"mean-rate", CLI_TO(&(l)->mean_rate)},                    \
        {"no-watches", CLI_TO(&(l)->no_watches)}, {"method", CLI_OLD("sampler")},                            \
    {                                                                                                        \
        "duration", CLI_OLD("limit-time")                                                                    \
    }

/* The whole verb, once options are parsed: the exit code. end: how the program ended. */
int cli_sample_live(const cli_live_options *live, const cli_estimate_options *estimate,
                    const cli_attribution_options *attribution, uint64_t seed, char **command,
                    cli_program_end *end);

#endif

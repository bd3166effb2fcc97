/* SPDX-License-Identifier: Apache-2.0 */
/* sample_options.h - options of samples: of a program, and of a stored trace. */
#ifndef FATHOM_CLI_SAMPLE_OPTIONS_H
#define FATHOM_CLI_SAMPLE_OPTIONS_H

#include "results.h"

/* sample_simulate.h - fathom simulate: a sampler that is shown a stored trace instead of a program. */

typedef struct cli_sample_simulation {
    const char *trace; /* NULL: a program is sampled */
    uint64_t registers, seed;
    const char *bursts, *reservoir;
    bool even;
    cli_trace_options reading;
} cli_sample_simulation;

/* What estimates are made by, for programs and for traces. */
typedef struct cli_estimate_options {
    const char *estimator, *conversion, *granularity;
    uint64_t period; /* UINT64_MAX: not given */
    uint64_t bootstrap;
} cli_estimate_options;

/* To be set before options are parsed. */
#define CLI_SIMULATION_START                                                                                 \
    {                                                                                                        \
        .registers = 4                                                                                       \
    }
#define CLI_ESTIMATE_START                                                                                   \
    {                                                                                                        \
        .period = UINT64_MAX, .bootstrap = 200                                                               \
    }

/* To be put into the verb's table of options. */
#define CLI_ESTIMATE_OPTIONS(e)                                                                              \
    {"granularity", CLI_TO(&(e)->granularity)}, {"estimator", CLI_TO(&(e)->estimator)},                      \
        {"conversion", CLI_TO(&(e)->conversion)}, {"period", CLI_TO(&(e)->period)},                          \
    {                                                                                                        \
        "bootstrap", CLI_TO(&(e)->bootstrap)                                                                 \
    }

/* As --simulate of fathom sample had them, beside its own. */
#define CLI_OLD_SIMULATION_OPTIONS(s)                                                                        \
    {"simulate", CLI_TO(&(s)->trace), .argument = "TRACE", .now = "simulate", .role = CLI_INPUT_TRACE},      \
        {"registers", CLI_TO(&(s)->registers), .argument = "K", .now = "simulate"},                          \
        {"bursts", CLI_TO(&(s)->bursts), .argument = "LENGTH[:STEPS]", .now = "simulate"},                   \
        {"reservoir", CLI_TO(&(s)->reservoir), .argument = "NAME", .now = "simulate"},                       \
        {"even", CLI_TO(&(s)->even), .now = "simulate"},                                                     \
        {"format", CLI_TO(&(s)->reading.format), .argument = "NAME", .now = "simulate"},                     \
        CLI_OLD_TRACE_OPTIONS(&(s)->reading)

/* The whole verb, once options are parsed: the exit code. json: NULL, or where the profile goes. */
int cli_sample_simulate(const cli_sample_simulation *how, const cli_estimate_options *estimating,
                        const cli_results *results, bool progress);

/* fathom sample -- PROGRAM: samples of a program that runs. */

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
                    fm_job_end *end);

#endif

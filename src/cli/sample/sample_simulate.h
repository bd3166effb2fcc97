/* SPDX-License-Identifier: Apache-2.0 */
/* sample_simulate.h - fathom sample --simulate: a sampler that is shown a stored trace instead of a program.
 */
#ifndef FATHOM_CLI_SAMPLE_SIMULATE_H
#define FATHOM_CLI_SAMPLE_SIMULATE_H

#include "attribution_output.h"
#include "cli.h"

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
    {                                                                                                        \
        "granularity", 'g',                                                                                  \
        CLI_STRING,    &(e)->granularity,                                                                    \
        "BYTES",       "size of a block, a power of two; of programs several: 8,64\n(default 64)"},          \
        {"estimator",                                                                                        \
         0,                                                                                                  \
         CLI_STRING,                                                                                         \
         &(e)->estimator,                                                                                    \
         "NAME",                                                                                             \
         "capped (default), rdx (the paper's), rdx-trapped (the same\n"                                      \
         "without proportional attribution), kaplan-meier,\nhorvitz-thompson"},                              \
        {"conversion",                                                                                       \
         0,                                                                                                  \
         CLI_STRING,                                                                                         \
         &(e)->conversion,                                                                                   \
         "NAME",                                                                                             \
         "from time distances to distances: aet (default), shen (default\nof rdx and rdx-trapped)"},         \
        {"period", 0, CLI_COUNT, &(e)->period, "N", "references from sample to sample, in the mean"},        \
    {                                                                                                        \
        "bootstrap", 0, CLI_COUNT, &(e)->bootstrap, "N",                                                     \
            "rounds that the confidence band is made of (default 200); 1:\nno band"                          \
    }
#define CLI_SIMULATION_OPTIONS(s)                                                                            \
    {"simulate",                                                                                             \
     0,                                                                                                      \
     CLI_INPUT_TRACE,                                                                                        \
     &(s)->trace,                                                                                            \
     "TRACE",                                                                                                \
     "sample this stored trace, not a program, by a virtual counter\nand virtual debug registers"},          \
        {"registers", 0, CLI_COUNT, &(s)->registers, "K", "simulate: debug registers, 1 to 16 (default 4)"}, \
        {"bursts",                                                                                           \
         0,                                                                                                  \
         CLI_STRING,                                                                                         \
         &(s)->bursts,                                                                                       \
         "LENGTH[:STEPS]",                                                                                   \
         "simulate: a sample is a burst of LENGTH references; with STEPS,\n"                                 \
         "one in four is four times as long, one in 16 sixteen times, …"},                                   \
        {"reservoir", 0,                                                                                     \
         CLI_STRING,  &(s)->reservoir,                                                                       \
         "NAME",      "simulate: capped (default) or plain (the paper's; default of\nrdx and rdx-trapped)"}, \
        {"seed", 0, CLI_COUNT, &(s)->seed, "N", "simulate: of the random choices (default 0)"},              \
    {                                                                                                        \
        "even", 0, CLI_FLAG, &(s)->even, NULL,                                                               \
            "simulate: all periods are the same; without it, one sample in\neach, at a random place"         \
    }

/* The whole verb, once options are parsed: the exit code. json: NULL, or where the profile goes. */
int cli_sample_simulate(const cli_sample_simulation *how, const cli_estimate_options *estimating,
                        const cli_attribution_options *attribution, const char *json, bool progress);

#endif

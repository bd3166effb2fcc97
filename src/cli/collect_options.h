/* SPDX-License-Identifier: Apache-2.0 */
/*
 * collect_options.h - the options about which program is run and what of it is watched, shared by run and
 * record, and what there is to say about the run afterwards.
 */
#ifndef FATHOM_CLI_COLLECT_OPTIONS_H
#define FATHOM_CLI_COLLECT_OPTIONS_H

#include "cli.h"

typedef struct cli_collect_options {
    const char *collector, *function, *region, *at_limit;
    bool loads, stores, no_stack, follow_children;
    uint64_t limit;
    double limit_time;
} cli_collect_options;

#define CLI_COLLECT_OPTIONS(c)                                                                               \
    {"collector", CLI_TO(&(c)->collector)}, {"function", CLI_TO(&(c)->function)},                            \
        {"region", CLI_TO(&(c)->region)}, {"loads", CLI_TO(&(c)->loads)}, {"stores", CLI_TO(&(c)->stores)},  \
        {"no-stack", CLI_TO(&(c)->no_stack)}, {"follow-children", CLI_TO(&(c)->follow_children)},            \
        {"limit", CLI_TO(&(c)->limit)}, {"limit-time", CLI_TO(&(c)->limit_time)},                            \
    {                                                                                                        \
        "at-limit", CLI_TO(&(c)->at_limit)                                                                   \
    }

/* Checks and translates. limit must start as UINT64_MAX, limit_time as -1: not given. -1, or an exit code. */
int cli_collect_check(const cli_collect_options *given, char **command, fm_collect_options *options);

#endif

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
    {"collector",                                                                                            \
     0,                                                                                                      \
     CLI_STRING,                                                                                             \
     &(c)->collector,                                                                                        \
     "NAME",                                                                                                 \
     "valgrind (any program), compiler (built by fathom cc);\n"                                              \
     "default: compiler where the program was built so"},                                                    \
        {"function",     0,      CLI_STRING,                                                                 \
         &(c)->function, "NAME", "only while this function, or one that it calls, runs"},                    \
        {"region",     0,      CLI_STRING,                                                                   \
         &(c)->region, "NAME", "only between FATHOM_BEGIN(\"NAME\") and FATHOM_END\n(fathom/markers.h)"},    \
        {"loads", 0, CLI_FLAG, &(c)->loads, NULL, "only accesses that read"},                                \
        {"stores", 0, CLI_FLAG, &(c)->stores, NULL, "only accesses that write"},                             \
        {"no-stack", 0, CLI_FLAG, &(c)->no_stack, NULL, "leave out accesses to the running thread's stack"}, \
        {"follow-children",     0,    CLI_FLAG,                                                              \
         &(c)->follow_children, NULL, "the processes that the program starts, too"},                         \
        {"limit", 0, CLI_COUNT, &(c)->limit, "N", "end tracing after N accesses"},                           \
        {"limit-time", 0, CLI_REAL, &(c)->limit_time, "SECONDS", "end tracing after so many seconds"},       \
    {                                                                                                        \
        "at-limit", 0, CLI_STRING, &(c)->at_limit, "WHAT",                                                   \
            "continue (default): the program runs on, untraced;\nstop: it is ended"                          \
    }

/* Checks and translates. limit must start as UINT64_MAX, limit_time as -1: not given. -1, or an exit code. */
int cli_collect_check(const cli_collect_options *given, char **command, fm_collect_options *options);

#endif

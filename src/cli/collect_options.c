/* SPDX-License-Identifier: Apache-2.0 */
/*
 * collect_options.c - what run and record share: the options about the traced program, and the words
 * about how it ended.
 */
#include "cli.h"

#include <string.h>

static int choose_collector(const char *name, fm_collector *collector)
{
    static const struct {
        const char *name;
        fm_collector collector;
    } table[] = {{"auto", FM_COLLECTOR_AUTO},
                 {"valgrind", FM_COLLECTOR_VALGRIND},
                 {"compiler", FM_COLLECTOR_COMPILER}};
    if (!name) return -1;
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        if (strcmp(table[i].name, name) != 0) continue;
        *collector = table[i].collector;
        return -1;
    }
    return cli_misuse("--collector: expected auto, valgrind or compiler, found '%s'", name);
}

int cli_collect_check(const cli_collect_options *given, char **command, fm_collect_options *options)
{
    *options = (fm_collect_options){.command = command,
                                    .no_stack = given->no_stack,
                                    .function = given->function,
                                    .region = given->region,
                                    .follow_children = given->follow_children,
                                    .signals = true};
    int code = choose_collector(given->collector, &options->collector);
    if (code >= 0) return code;
    /* Both named: both wanted, as without either. */
    options->no_loads = given->stores && !given->loads;
    options->no_stores = given->loads && !given->stores;
    if (given->limit == 0) return cli_misuse("--limit: expected at least 1 reference");
    if (given->limit != UINT64_MAX) options->limit = given->limit;
    if (given->limit_time != -1) {
        if (!(given->limit_time > 0)) return cli_misuse("--limit-time: expected more than 0 seconds");
        options->limit_seconds = given->limit_time;
    }
    if (given->at_limit) {
        if (!options->limit && !(options->limit_seconds > 0))
            return cli_misuse("--at-limit needs --limit or --limit-time");
        if (strcmp(given->at_limit, "stop") == 0)
            options->stop_at_limit = true;
        else if (strcmp(given->at_limit, "continue") != 0)
            return cli_misuse("--at-limit: expected continue or stop, found '%s'", given->at_limit);
    }
    return -1;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* help_engines.c - fathom help engines: every engine and the options that it has alone, from their tables. */
#include "help_engines.h"

#include "cli.h"

static void print_engine_option(const fm_engine_option *option)
{
    char range[100];
    printf("      %-18s %s\n%25s%s", option->name, option->meaning, "",
           fm_engine_option_range(option, range, sizeof range));
    if (option->usual) printf("; default %s", option->usual);
    if (option->excludes) printf("; not with %s", option->excludes);
    if (option->needs) printf("; with %s only", option->needs);
    putchar('\n');
}

int cli_help_engines(void)
{
    fputs("Usage: fathom analyze --engine NAME --engine-option NAME=VALUE,... TRACE\n"
          "\n"
          "Engines (for run and analyze; the first is the default), and below each the options that it\n"
          "has alone. A whole number takes the suffixes K, M, G, T = 2^10, 2^20, ...; the name of a\n"
          "yes-or-no option alone means yes.\n"
          "\n",
          stdout);
    const fm_engine_info *engine;
    for (size_t i = 0; (engine = fm_engine_at(i)); i++) {
        printf("  %-11s %s\n", engine->name, engine->summary);
        const fm_engine_option *option;
        for (size_t k = 0; (option = fm_engine_option_at(engine->name, k)); k++) print_engine_option(option);
    }
    fputs("  auto        gpu where that pays, otherwise exact\n"
          "\n"
          "Example:\n"
          "  fathom analyze --engine shards --engine-option rate=0.01,hashes=8 trace.fathom\n",
          stdout);
    return cli_finish(CLI_COMPLETE);
}

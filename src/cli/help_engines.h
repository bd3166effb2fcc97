/* SPDX-License-Identifier: Apache-2.0 */
/* help_engines.h - fathom help engines. */
#ifndef FATHOM_CLI_HELP_ENGINES_H
#define FATHOM_CLI_HELP_ENGINES_H

/* Prints all engines and their options on standard output. Returns the exit code. */
int cli_help_engines(void);

#endif

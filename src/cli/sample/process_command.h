/* SPDX-License-Identifier: Apache-2.0 */
/* process_command.h - the process that -p names, and how it was started. */
#ifndef FATHOM_CLI_PROCESS_COMMAND_H
#define FATHOM_CLI_PROCESS_COMMAND_H

#include "cli.h"

/* The number; CLI_USAGE with a message where it is none. -1: fine. */
int cli_process_number(const char *text, uint32_t *pid);
/* Its arguments, NULL at the end; in one piece of memory, to be freed. NULL: they are not known. */
char **cli_process_command(uint32_t pid);

#endif

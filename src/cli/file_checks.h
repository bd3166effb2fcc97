/* SPDX-License-Identifier: Apache-2.0 */
/* file_checks.h - files that a command line names, before anything is done: whether inputs are what the verb
 * reads, and outputs nothing that would be missed. */
#ifndef FATHOM_CLI_FILE_CHECKS_H
#define FATHOM_CLI_FILE_CHECKS_H

#include "cli.h"

/*
 * All of a parsed command line: its options whose roles are CLI_OUTPUT and CLI_INPUT_…, its positional
 * arguments, and standard input. An output must not be one of the inputs, nor another output; nor a profile,
 * a trace or a model unless cli_force. An input that is known to be of a kind that the verb does not read is
 * refused. -1, or an exit code after a message.
 */
int cli_check_files(const cli_command *command, char **arguments, size_t count);
/* An output whose name the verb made itself; option: that it made it from. */
int cli_check_output(const char *option, const char *path);

#endif

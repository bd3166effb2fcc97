/* SPDX-License-Identifier: Apache-2.0 */
/* program_called.h - programs by the name that they were started by, where that is a link to their file. */
#ifndef FATHOM_PROCESS_PROGRAM_CALLED_H
#define FATHOM_PROCESS_PROGRAM_CALLED_H

#include <stdbool.h>
#include <stdint.h>

/*
 * "/usr/bin/redis-server" for a program that was started as `typed` ("redis-server", the first word of its
 * command line, perhaps with what it wrote behind it) and whose file is `program`,
 * "/usr/bin/redis-check-rdb". NULL: the name is that of the file, does not lead to it, or memory is short.
 * The caller frees it.
 */
char *fm_program_called(const char *typed, const char *program);
/* The same for a process that runs. */
char *fm_process_called(uint32_t pid, const char *program);

#endif

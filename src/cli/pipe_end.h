/* SPDX-License-Identifier: Apache-2.0 */
/* pipe_end.h - what happens when whoever reads our output goes away (fathom … | head). */
#ifndef FATHOM_CLI_PIPE_END_H
#define FATHOM_CLI_PIPE_END_H

#include <stdbool.h>

/* From here on a broken pipe is remembered instead of killing the program at once: verbs see the
 * failed write, clean up their unfinished files, and return. Does nothing where the parent chose to
 * ignore SIGPIPE: then a broken pipe is an ordinary write error with a message. */
void cli_pipe_watch(void);
/* Whether it happened. Messages about failed writes are then left out. */
bool cli_pipe_broken(void);
/* At the very end: where a pipe broke, ends the process by SIGPIPE as any filter does. */
void cli_pipe_leave(void);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* progress_line.h - so that a message and the progress line do not write into each other. */
#ifndef FATHOM_CLI_PROGRESS_LINE_H
#define FATHOM_CLI_PROGRESS_LINE_H

/* Clears a progress line that stands on the terminal; the next update draws it anew. */
void cli_progress_make_room(void);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * closing_text.h - where the text goes that a verb shows after the program that it ran. Standard output is
 * the program's: the text goes to standard error, or to a file, or to standard output where that is asked
 * for.
 */
#ifndef FATHOM_CLI_CLOSING_TEXT_H
#define FATHOM_CLI_CLOSING_TEXT_H

#include "cli.h"

typedef struct cli_closing_text {
    FILE *stream;         /* to write to */
    fm_view_options view; /* what can be shown there */
    fm_output *file;      /* NULL: a standard stream */
} cli_closing_text;

/* path: NULL for standard error, "-" for standard output. file_width: of text in a file. -1, or an exit code
 * after a message; then there is nothing to close. */
int cli_closing_text_open(cli_closing_text *text, const char *path, unsigned file_width);
/*
 * Checks that all of it was written; what goes to standard output is checked by cli_finish. code >= 0: it is
 * not whole, and a file is not made. -1, or an exit code after a message.
 */
int cli_closing_text_close(cli_closing_text *text, int code);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * output.h - checked writing of a file that appears under its name only when it is complete.
 *
 * A regular file is written under a temporary name in the same directory and renamed by
 * fm_output_commit. What is not a regular file (a terminal, a FIFO, /dev/full, standard output) is
 * written in place. No buffering: callers hand over large pieces.
 */
#ifndef FATHOM_BASE_OUTPUT_H
#define FATHOM_BASE_OUTPUT_H

#include <fathom/status.h>

typedef struct fm_output {
    int descriptor;
    bool owned;
    const char *name; /* for messages */
    char *path;       /* where the file shall end up */
    char *temporary;  /* where it is now; NULL: written in place */
    uint64_t written;
} fm_output;

/* path "-" is standard output. */
fm_status fm_output_open(fm_output *output, const char *path, fm_error *error);
fm_status fm_output_write(fm_output *output, const void *from, size_t bytes, fm_error *error);
/* Closes, checks, renames. The output is closed afterwards in any case. */
fm_status fm_output_commit(fm_output *output, fm_error *error);
/* Closes and removes what was written; does nothing after a commit. */
void fm_output_abandon(fm_output *output);

#endif

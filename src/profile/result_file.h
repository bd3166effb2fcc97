/* SPDX-License-Identifier: Apache-2.0 */
/*
 * result_file.h - a file that appears under its name only when it is whole.
 *
 * A regular file (or a new one) is written to a temporary beside it and renamed at the end. Anything
 * else, such as /dev/stdout or a FIFO, and "-", which is standard output, is written in place.
 */
#ifndef FATHOM_PROFILE_RESULT_FILE_H
#define FATHOM_PROFILE_RESULT_FILE_H

#include <fathom/status.h>

#include <stdio.h>

typedef struct fm_result_file {
    FILE *file;
    const char *path; /* as the caller named it, for messages */
    char *final;      /* where the temporary goes; NULL: written in place */
    char *temporary;
} fm_result_file;

/* path must outlive the result. */
fm_status fm_result_file_open(fm_result_file *result, const char *path, fm_error *error);
/* Flushes, checks, closes, renames. Whatever it returns, nothing is left to release. */
fm_status fm_result_file_commit(fm_result_file *result, fm_error *error);
/* Closes and removes what was written. */
void fm_result_file_abandon(fm_result_file *result);

#endif

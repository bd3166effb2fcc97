/* SPDX-License-Identifier: Apache-2.0 */
/*
 * text_file.h - a whole text file in memory, of which somebody else chose the name: only regular files are
 * read, none is waited for, never more than a fixed number of bytes, and nothing that is no text.
 */
#ifndef FATHOM_BASE_TEXT_FILE_H
#define FATHOM_BASE_TEXT_FILE_H

#include <fathom/status.h>

#include <time.h>

enum { FM_LARGEST_TEXT = 32 << 20 }; /* bytes */

typedef struct fm_text_file {
    char why[160];            /* it could not be read, because …; "": it was */
    bool missing;             /* … there is no such file */
    bool resized;             /* … it does not have the size that was asked for */
    struct timespec modified; /* known for every regular file */
    char *bytes;              /* followed by a 0 byte */
    size_t size;
} fm_text_file;

/* size: the file is read only if it has that many bytes; UINT64_MAX: any number of them. FM_OK also where
 * there is nothing to read: then file->why says so. To be cleared in any case. */
fm_status fm_text_file_read(fm_text_file *file, const char *path, uint64_t size, fm_error *error);
void fm_text_file_clear(fm_text_file *file);

#endif

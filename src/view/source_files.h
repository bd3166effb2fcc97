/* SPDX-License-Identifier: Apache-2.0 */
/*
 * source_files.h - the source files that a report shows: which lines of which files are wanted, and their
 * text as it is on disk when the page is written.
 *
 * Files are named by a profile, which may come from anyone: only regular files are read, never more than a
 * sane number of bytes, nothing that is no text; and whoever writes the page can say that no file is read.
 */
#ifndef FATHOM_VIEW_SOURCE_FILES_H
#define FATHOM_VIEW_SOURCE_FILES_H

#include "view/numbering.h"

#include <fathom/view.h>

typedef struct fm_source_file {
    size_t wanted_count, wanted_room;
    uint32_t *wanted; /* numbers of lines, in any order, also repeated */
    double weight;    /* files of more weight come first where not all have room */
} fm_source_file;

typedef struct fm_source_files {
    const fm_report_options *options;
    fm_numbering paths;
    fm_source_file *files; /* as many as there are paths */
    size_t room;
} fm_source_files;

/* The number of a file; UINT32_MAX: no memory. */
uint32_t fm_source_files_add(fm_source_files *files, const char *path);
/* The page refers to this line. Returns 0, or -1: no memory. */
int fm_source_files_want(fm_source_files *files, uint32_t file, uint32_t line);
void fm_source_files_weigh(fm_source_files *files, uint32_t file, double weight);
/*
 * An array, one element for each file, those of most weight first:
 *   {"path":…,"number":…,"why":…} where there is no text, else
 *   {"path":…,"number":…,"found":…,"modified":…,"lines":…,"text":[[first,["line","line",…]],…],"cut":true}
 * found: where it was found, if not under its path. cut: the page had no room for all that was wanted of it.
 */
fm_status fm_source_files_write(FILE *out, const fm_source_files *files, fm_error *error);
void fm_source_files_clear(fm_source_files *files);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * source_files.h - the source files that a report shows: which lines of which files are wanted, and their
 * text.
 *
 * Files are named by a profile, which may come from anyone. Text is shown of a file only that has the
 * checksum which the profile recorded (fm_source): it is the one that the lines belong to, and whoever made
 * the profile had it. Or the text is in the profile itself. See text_file.h for what is read at all; and
 * whoever writes the page can say that no file is read.
 */
#ifndef FATHOM_VIEW_SOURCE_FILES_H
#define FATHOM_VIEW_SOURCE_FILES_H

#include "view/numbering.h"

#include <fathom/view.h>

typedef struct fm_source_file {
    const fm_source *source; /* what the profile knows of it; NULL: nothing, */
    bool recorded;           /* but it knows others */
    size_t wanted_count, wanted_room;
    uint32_t *wanted; /* numbers of lines, in any order, also repeated */
    double weight;    /* files of more weight come first where not all have room */
} fm_source_file;

typedef struct fm_source_files {
    const fm_report_options *options;
    const fm_attribution
        *whole;            /* of the profile whose part is being added: it may know the files; or NULL */
    fm_numbering paths;    /* with their sums: two profiles may have two states of one file */
    fm_source_file *files; /* as many as there are paths */
    size_t room;
} fm_source_files;

/* The number of a file that an attribution names; UINT32_MAX: no memory. The attribution must live on. */
uint32_t fm_source_files_add(fm_source_files *files, const fm_attribution *of, const char *path);
/* The page refers to this line. Returns 0, or -1: no memory. */
int fm_source_files_want(fm_source_files *files, uint32_t file, uint32_t line);
void fm_source_files_weigh(fm_source_files *files, uint32_t file, double weight);
/*
 * An array, one element for each file, those of most weight first:
 *   {"path":…,"number":…,"why":…} where there is no text, else
 *   {"path":…,"number":…,"found":…,"embedded":true,"newer":true,"lines":…,
 *    "text":[[first,["line","line",…]],…],"cut":true}
 * found: where it was found, if not under its path. embedded: the text was in the profile. newer: see
 * fm_source. cut: the page had no room for all that was wanted of it. options->notes gets its line.
 */
fm_status fm_source_files_write(FILE *out, const fm_source_files *files, fm_error *error);
void fm_source_files_clear(fm_source_files *files);

#endif

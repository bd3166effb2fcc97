/* SPDX-License-Identifier: Apache-2.0 */
/*
 * source_files.h - the text of source files that a profile names; and the files that a report shows: which of
 * their lines are wanted.
 *
 * Files are named by a profile, which may come from anyone. Text is shown of a file only that has the
 * checksum which the profile recorded (fm_source): it is the one that the lines belong to, and whoever made
 * the profile had it. Or the text is in the profile itself. See text_file.h for what is read at all; and
 * whoever writes the page can say that no file is read.
 */
#ifndef FATHOM_VIEW_SOURCE_FILES_H
#define FATHOM_VIEW_SOURCE_FILES_H

#include <fathom/view.h>

#include "base/table.h"

#include <limits.h>
#include <stddef.h>
#include <stdint.h>

/*
 * ======== numbering ========
 * Numbers byte strings 0, 1, 2, … in order of appearance; equal ones get equal numbers. A page
 * names a file or a function once and refers to it by number from then on.
 */

/* All zero is an empty one. */
typedef struct fm_numbering {
    fm_table table; /* of fm_bytes, which are in the arena */
    struct fm_arena *bytes;
} fm_numbering;

/* UINT32_MAX: no memory, or too many. */
uint32_t fm_numbering_add(fm_numbering *numbering, const void *bytes, size_t length);
uint32_t fm_numbering_add_text(fm_numbering *numbering, const char *text);
/* What has a number; a 0 byte follows it. */
fm_bytes fm_numbering_bytes(const fm_numbering *numbering, size_t number);
const char *fm_numbering_text(const fm_numbering *numbering, size_t number);
void fm_numbering_clear(fm_numbering *numbering);

/*
 * ======== source text ========
 * The text of one source file that a profile names: the text in the profile, or that of a
 * file which has the checksum in it; else why there is none. Files that only have the name are never taken.
 */

/* Why there is no text; those that a note states come first. */
typedef enum fm_source_lack {
    FM_SOURCE_CHANGED,
    FM_SOURCE_MISSING,
    FM_SOURCE_UNREADABLE,
    FM_SOURCE_DIFFERENT,
    FM_SOURCE_UNRECORDED,
    FM_SOURCE_TOLD_LACKS,
    FM_SOURCE_UNTOLD = FM_SOURCE_TOLD_LACKS
} fm_source_lack;

typedef struct fm_source_text {
    char found[PATH_MAX]; /* the name that was opened; "": the text was in the profile */
    char why[240];        /* there is no text because …; "": there is */
    fm_source_lack what;
    const char *bytes;
    size_t size;
    char *owned; /* the bytes, where they were read from a file */
    size_t line_count;
    size_t *lines; /* where each begins; one more for the end */
} fm_source_text;

/* source: what the profile knows of the file; NULL: nothing, though it knows others where `recorded` is set.
 * text is zeroed by the caller, and cleared by it. */
fm_status fm_source_text_read(fm_source_text *text, const fm_report_options *options, const fm_source *source,
                              bool recorded, fm_error *error);
void fm_source_text_clear(fm_source_text *text);
/* A line, numbered from 0, without its end. */
const char *fm_source_text_line(const fm_source_text *text, size_t line, size_t *length);

/* A line of a file, numbered from 1, as text: not indented, tabs as blanks; "" where it is not there. */
enum { FM_SOURCE_LINE = 400 };
fm_status fm_source_line(char text[FM_SOURCE_LINE], const fm_report_options *options,
                         const fm_attribution *of, const char *path, uint32_t line, fm_error *error);

/* ======== source files ======== */

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

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * source_text.h - the text of one source file that a profile names: the text in the profile, or that of a
 * file which has the checksum in it; else why there is none. Files that only have the name are never taken.
 */
#ifndef FATHOM_VIEW_SOURCE_TEXT_H
#define FATHOM_VIEW_SOURCE_TEXT_H

#include <fathom/view.h>
#include <limits.h>

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

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * line_sums.h - a short checksum of every line of a source file, so that lines of two states of the file can
 * be matched where the older text is there no more. Internal.
 *
 * Six hexadecimal digits for each line: FNV-1a (32 bits, the upper eight folded into the lower 24) of its
 * bytes without blanks at both ends. Lines that are equal have equal sums; others nearly never.
 */
#ifndef FATHOM_PROFILE_LINE_SUMS_H
#define FATHOM_PROFILE_LINE_SUMS_H

#include <fathom/attribution.h>

enum { FM_LINE_SUM = 6, FM_MOST_LINE_SUMS = 50000 };

/* The sum of one line, blanks and the line's end at its ends not counted. */
uint32_t fm_line_sum(const char *line, size_t length);

/* Adds those of a text, in the attribution's memory; nothing for a file of more than FM_MOST_LINE_SUMS lines.
 * The table is sorted by its maker. False: no memory. */
bool fm_line_sums_record(fm_attribution *attribution, size_t *room, const char *path, const char *bytes,
                         size_t size);
/* Adds a row; texts belong to the attribution. */
bool fm_line_sums_add(fm_attribution *attribution, size_t *room, const char *path, const char *sums);
void fm_line_sums_sort(fm_attribution *attribution);
/* What is known of a file: six digits a line; NULL: nothing. */
const char *fm_line_sums_of(const fm_attribution *attribution, const char *path);
/* Digits only, in sixes. */
bool fm_line_sums_sound(const char *sums);

#endif

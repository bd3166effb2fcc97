/* SPDX-License-Identifier: Apache-2.0 */
/*
 * line_match.h - which line of a file is which line of its later state, as diff(1) finds it: by Myers' greedy
 * algorithm (E. W. Myers, "An O(ND) difference algorithm and its variations", 1986) on checksums of lines.
 * Time and space: lines × differences, at most MOST_DIFFERENCES of them.
 */
#ifndef FATHOM_VIEW_LINE_MATCH_H
#define FATHOM_VIEW_LINE_MATCH_H

#include <fathom/status.h>
#include <stddef.h>
#include <stdint.h>

typedef struct fm_line_match {
    size_t before_count, after_count; /* lines */
    uint32_t *to_after;               /* by line from 0: the line it became; UINT32_MAX: none */
    uint32_t *to_before;
    bool given_up; /* the two differ too much: only their beginnings and ends are matched */
} fm_line_match;

/*
 * Lines are matched where they are equal; and where as many lines in a row were taken out as put in, those
 * are matched in their order: they are lines that were changed.
 */
fm_status fm_line_match_make(fm_line_match *match, const uint32_t *before, size_t before_count,
                             const uint32_t *after, size_t after_count, fm_error *error);
void fm_line_match_clear(fm_line_match *match);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * code_lines.h - sites joined into lines of code. A line is told apart by function, file and line number, and
 * by the functions it was inlined into: std::vector's operator[] in two lines of a program is two lines. Call
 * paths are not told apart, nor what a reader is not shown: what lies inside or between the system's headers.
 * A site without a line number is a line of its own. Code of the system's modules is told by its function.
 */
#ifndef FATHOM_VIEW_CODE_LINES_H
#define FATHOM_VIEW_CODE_LINES_H

#include <fathom/attribution.h>

typedef struct fm_code_lines {
    size_t count;
    uint32_t *of_site; /* the line of each site */
    uint32_t *site;    /* one site of each line */
} fm_code_lines;

fm_status fm_code_lines_make(fm_code_lines *lines, const fm_attribution *of, fm_error *error);
void fm_code_lines_clear(fm_code_lines *lines);

/* The function of code in one of the system's modules (*module), which is all that is told of it; NULL: it is
 * not there, or its function is not known. */
const char *fm_code_system_function(const fm_attribution *of, const fm_site *site, const char **module);

/* FM_NONE stays FM_NONE. */
static inline uint32_t fm_code_line(const fm_code_lines *lines, uint32_t site)
{
    return site == FM_NONE ? FM_NONE : lines->of_site[site];
}

#endif

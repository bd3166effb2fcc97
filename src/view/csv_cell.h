/* SPDX-License-Identifier: Apache-2.0 */
/*
 * csv_cell.h - text from outside (names of functions, files, caches) in cells of CSV (RFC 4180, but for the
 * line ends, which are those of Unix), the one way for every table that is written.
 *
 * A table is shown on terminals and opened in spreadsheets. So characters that control a terminal, are not
 * seen or reorder others are written as what they are (base/visible.h; a line feed is left, in a quoted
 * cell); and a cell that would begin like a formula (=, +, -, @) begins with an apostrophe, which
 * spreadsheets take for text.
 */
#ifndef FATHOM_VIEW_CSV_CELL_H
#define FATHOM_VIEW_CSV_CELL_H

#include <stdio.h>

/* A cell, quoted where it must be; NULL: an empty one. */
void fm_csv_write_cell(FILE *out, const char *text);

/* A cell of several texts, always quoted: begin, parts, end. Bytes that are not from outside may be written
 * between the parts. */
void fm_csv_begin_cell(FILE *out);
void fm_csv_write_first(FILE *out, const char *text);
void fm_csv_write_part(FILE *out, const char *text);
void fm_csv_end_cell(FILE *out);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * line_import.h - what the formats of lines have in common: reading by one thread or by several, and strings
 * as keys. A format gives a parser (line_parser.h), and what it needs for itself.
 */
#ifndef FATHOM_TRACE_LINE_IMPORT_H
#define FATHOM_TRACE_LINE_IMPORT_H

#include "trace/lines/line_ahead.h"
#include "trace/lines/line_share.h"

/* import->state of these formats points to one, or to a struct that begins with one. */
typedef struct fm_line_import {
    fm_lines lines;
    fm_line_parser parser;
    fm_string_keys strings;
    fm_string_list seen;
    unsigned threads;
    fm_line_ahead *ahead; /* NULL: not yet, or no more */
    fm_line_share *share; /* likewise */
    bool alone;           /* one thread reads the rest */
} fm_line_import;

/* Allocates `size` bytes of state, of which an fm_line_import is the beginning, and opens the lines. */
fm_status fm_line_import_open(fm_import *import, size_t size, fm_line_parser parser,
                              const fm_reader_options *options, fm_error *error);
void fm_line_import_close(fm_import *import);
/* These are functions of fm_format. */
fm_status fm_line_import_read(fm_import *import, fm_columns *columns, fm_error *error);
fm_status fm_line_import_share(fm_import *import, unsigned workers, fm_fetches fetches, bool sites,
                               fm_supply *supply, fm_error *error);
void fm_line_import_shared(const fm_import *import, uint64_t *skipped, uint64_t *fetched);

#endif

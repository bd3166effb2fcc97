/* SPDX-License-Identifier: Apache-2.0 */
/*
 * attribution_rows.h - the rows of an attribution's tables in JSON, one at a time. Internal to the reader
 * (attribution_read.c).
 *
 * The tables may come in any order (other programs sort fields), so what refers to a table is kept as a
 * number until all are there: a text as its number + 1 in the place of the pointer, a range as its number in
 * bin.lo.
 */
#ifndef FATHOM_PROFILE_ATTRIBUTION_ROWS_H
#define FATHOM_PROFILE_ATTRIBUTION_ROWS_H

#include <fathom/profile.h>

#include "base/json.h"

typedef enum fm_attribution_table {
    FM_TABLE_LATE_FROM, /* a number */
    FM_TABLE_EDGES,
    FM_TABLE_STRINGS,
    FM_TABLE_MODULES,
    FM_TABLE_SITES,
    FM_TABLE_PATHS,
    FM_TABLE_PAIRS,
    FM_TABLE_OBJECTS,
    FM_TABLE_OBJECT_USES,
    FM_TABLE_SOURCES,
    FM_TABLE_LATENCIES,
    FM_TABLE_PAIR_ERRORS,
    FM_TABLES,
} fm_attribution_table;

typedef struct fm_table_reader {
    fm_json_scan *scan;
    const char *where; /* in messages, before the names of tables */
    fm_attribution *made;
    unsigned seen; /* bits of the tables so far */
    const char **strings;
    size_t string_count;
    size_t capacity[FM_TABLES]; /* of the arrays in the arena */
    size_t line_sum_room;
    fm_frame *frames; /* of the site that is being read; from malloc */
    size_t frame_capacity;
    char what[128]; /* the row that is being read, for messages */
} fm_table_reader;

/* There is a table of source files, and be it an empty one. */
fm_status fm_table_begin_sources(fm_table_reader *from);
/* Reads the next row of a table and appends it. */
fm_status fm_table_read_row(fm_table_reader *from, fm_attribution_table which);

#endif

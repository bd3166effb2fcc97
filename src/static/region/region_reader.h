/* SPDX-License-Identifier: Apache-2.0 */
/* region_reader.h - what the files that read a region's text share. */
#ifndef FATHOM_STATIC_REGION_READER_H
#define FATHOM_STATIC_REGION_READER_H

#include "static/region/region_lexer.h"
#include "static/region/region_text.h"

enum { FM_MOST_NESTING = 200, FM_MOST_TERMS = 2000 }; /* parentheses and blocks; operators of an expression */

typedef struct fm_region_reader {
    fm_lexer lexer;
    fm_region *region;
    unsigned nesting;
    unsigned terms;
    /* Loops around the place at hand: numbers of their variables. */
    uint32_t loops[FM_MOST_LOOPS];
    unsigned loop_count;
    size_t file_room, parameter_room, array_room, variable_room, assumption_room, note_room;
} fm_region_reader;

/* The word at hand must be this sign, and is passed. */
fm_status fm_fir_expect(fm_region_reader *reader, int sign, const char *expected, fm_error *error);
/* Makes room for one more element behind `count`, in the region's arena. */
fm_status fm_fir_room(fm_region_reader *reader, void *array, size_t *room, size_t count, size_t size,
                      fm_error *error);
/* "@1:20:5", where one follows; else *place is all 0. */
fm_status fm_fir_place(fm_region_reader *reader, fm_region_place *place, fm_error *error);

fm_status fm_fir_expression(fm_region_reader *reader, const fm_expr **expression, fm_error *error);
fm_status fm_fir_condition(fm_region_reader *reader, const fm_condition **condition, fm_error *error);

/* The parts of a region, up to its end. */
fm_status fm_fir_declarations(fm_region_reader *reader, fm_error *error);
fm_status fm_fir_statements(fm_region_reader *reader, fm_error *error);

#endif

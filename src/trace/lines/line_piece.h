/* SPDX-License-Identifier: Apache-2.0 */
/*
 * line_piece.h - a piece of a trace of lines, with what one thread needs to read it: some bytes of a file and
 * the references in them.
 *
 * It knows sound lines only. Where anything is the matter (a line that the parser refuses, one that is too
 * long, quotes between which a record may go on in the next line, a file that became shorter) it is not
 * sound, and whoever reads in order goes on alone from there, and says what is wrong.
 */
#ifndef FATHOM_TRACE_LINE_PIECE_H
#define FATHOM_TRACE_LINE_PIECE_H

#include "base/input.h"
#include "trace/lines/line_parser.h"

/* Bytes in which the lines of a piece begin. The shortest reference takes two, so that they fit a batch. */
enum { FM_PIECE_BYTES = 2 * FM_BATCH_MAX - 2 };

typedef struct fm_line_piece {
    char *memory, *text; /* with margins for the kernels */
    size_t size;         /* of the text: whole lines */
    uint64_t end;        /* behind its last line, in a plain file; 0: no line begins in it */
    uint64_t lines;      /* how many were read */
    fm_columns columns;
    fm_string_list strings;
    bool whole; /* its lines are there */
    bool sound; /* and became references */
} fm_line_piece;

fm_status fm_line_piece_init(fm_line_piece *piece, unsigned columns, fm_error *error);
void fm_line_piece_clear(fm_line_piece *piece);

/* The lines that begin in [from, to) of the file, where a line begins at `first` <= from. to - from is at
 * most FM_PIECE_BYTES. A last line without its '\n' is left: it may be about to be written. */
void fm_line_piece_read(fm_line_piece *piece, const fm_input *input, uint64_t first, uint64_t from,
                        uint64_t to, const fm_line_parser *parser);
/* Makes references of the piece's text, whose first line has this number. name: of the file. */
fm_status fm_line_piece_parse(fm_line_piece *piece, const fm_line_parser *parser, const char *name,
                              uint64_t line, fm_error *error);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * line_ahead.h - a trace of lines read by several threads, and taken in order.
 *
 * Of a plain file, each thread reads pieces of its own and finds where their lines begin. Of anything else
 * (pipes, compressed content), one thread at a time cuts the next piece out of the stream, and the others
 * read the lines of those before it.
 *
 * Where a piece cannot be had in this way (quotes, long lines, the end), it is over, and the one who takes
 * goes on alone: fm_line_ahead_rest says from where.
 */
#ifndef FATHOM_TRACE_LINE_AHEAD_H
#define FATHOM_TRACE_LINE_AHEAD_H

#include "trace/lines/line_piece.h"
#include "trace/lines/lines.h"

enum { FM_LINE_THREADS_MOST = 64 };

typedef struct fm_line_ahead fm_line_ahead;

/* lines: read so far, in order; there is no whole line in its buffer. Its stream and the parser outlive it.
 * threads: at least 2, at most FM_LINE_THREADS_MOST; the one that takes is one of them. */
fm_status fm_line_ahead_start(fm_line_ahead **made, const fm_lines *lines, const fm_line_parser *parser,
                              unsigned columns, unsigned threads, fm_error *error);
void fm_line_ahead_stop(fm_line_ahead *ahead); /* NULL is fine */
/*
 * The next references, in *columns, whose arrays are exchanged for others of the same size, and what was a
 * string among them. *stored: how far the file has been read, in bytes as stored. *over: there are none to be
 * had in this way; see fm_line_ahead_rest. Fails where the parser does, with the references before.
 */
fm_status fm_line_ahead_next(fm_line_ahead *ahead, fm_columns *columns, fm_string_list *strings,
                             uint64_t *stored, bool *over, fm_error *error);
/* When it is over: puts lines to where the next line begins. No thread runs any more. */
fm_status fm_line_ahead_rest(fm_line_ahead *ahead, fm_lines *lines, fm_error *error);

#endif

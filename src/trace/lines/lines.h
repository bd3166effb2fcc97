/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lines.h - whole lines of text out of a stream, many at a time, so that parsers run over one stretch of
 * memory and never ask whether a byte is there: every line in the window ends in '\n'.
 *
 * Lines end in a line feed, with or without carriage returns before it, or all of them in a carriage return
 * alone: the first end that is met says which. In a text of the second kind the two bytes are exchanged as
 * they come in, so that parsers know one kind only, and what would be an end of the other kind is in both a
 * '\r' within a line, which they refuse (fm_line_mixed). Such a text is read by one thread.
 */
#ifndef FATHOM_TRACE_LINES_H
#define FATHOM_TRACE_LINES_H

#include "trace/format.h"
#include "trace/stream.h"

/* The longest line (or quoted CSV record) that is accepted. */
#define FM_LINE_MAX (1U << 20)

typedef enum fm_line_ends { FM_LINE_ENDS_UNKNOWN = 0, FM_LINE_ENDS_FEED, FM_LINE_ENDS_RETURN } fm_line_ends;

typedef struct fm_lines {
    fm_stream *stream;
    const char *name;
    char *memory; /* that the buffer lies in, with FM_TEXT_MARGIN bytes before and behind it */
    char *buffer;
    size_t at;     /* the parser's place; it moves this */
    size_t whole;  /* [at, whole) is whole lines */
    size_t filled; /* [whole, filled) is the beginning of the next line */
    uint64_t line; /* number of the line at `at`, from 1; the parser counts */
    bool ended;    /* nothing follows what is in the buffer */
    bool too_long; /* a line was: that stays */
    bool quotes;   /* between quotes, no line ends */
    bool quoted;   /* where the first end is still looked for: it is between quotes */
    fm_line_ends ends;
    size_t looked; /* so much of the buffer has none; while that is not known, `at` is 0 */
    fm_error error;
} fm_lines;

/* name must outlive lines. Passes over byte order marks of UTF-8; FM_E_FORMAT where there is that of another
 * encoding. quotes: between quotes, no line ends. */
fm_status fm_lines_open(fm_lines *lines, fm_stream *stream, const char *name, bool quotes, fm_error *error);
/*
 * Adds at least one more line to [at, whole), or leaves it as it is at the end of the content. What the
 * stream's failure left of a line is not a line. Moves the buffer's content: pointers into it become void.
 */
fm_status fm_lines_more(fm_lines *lines, fm_error *error);
/*
 * The same for a parser that has passed one whole record and wants to look at the one behind it too, which
 * begins at buffer[record] and is not whole: that one must not be longer than FM_LINE_MAX, and is reported by
 * its own line. record - at must not be more than FM_LINES_AHEAD.
 */
#define FM_LINES_PIECE (256U << 10) /* read at once */
#define FM_LINES_AHEAD (FM_LINE_MAX + FM_LINES_PIECE)
fm_status fm_lines_more_of(fm_lines *lines, size_t record, fm_error *error);
void fm_lines_close(fm_lines *lines);

/* Goes on behind what was read otherwise: the next bytes of the stream come after the `count` bytes at
 * `bytes`, at most FM_LINES_AHEAD, and the first of these begins line number `line`. */
void fm_lines_go_on(fm_lines *lines, const char *bytes, size_t count, uint64_t line);

/* A byte order mark of UTF-8 in front of a line, where files were put together, is no part of it. */
static inline char *fm_line_pass_mark(char *line)
{
    while (line[0] == '\xef' && line[1] == '\xbb' && line[2] == '\xbf') line += 3;
    return line;
}

/* The error for a '\r' within a line. */
fm_status fm_line_mixed(const char *name, uint64_t line, fm_error *error);

/* A short, printable quotation of the line at from (up to its '\n'), for messages. Returns buffer. */
char *fm_line_quote(const char *from, char *buffer, size_t size);
/* The same for a stretch of known length. */
char *fm_text_quote(const char *from, size_t length, char *buffer, size_t size);

#endif

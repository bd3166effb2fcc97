/* SPDX-License-Identifier: Apache-2.0 */
/* lines.h - what formats of lines share. Internal. */
#ifndef FATHOM_TRACE_LINES_LINES_H
#define FATHOM_TRACE_LINES_LINES_H

#include "base/input.h"
#include "trace/format.h"
#include "trace/stream.h"
#include "trace/supply.h"

#include <string.h>

/* ======== lines ======== */

/*
 * Whole lines of text out of a stream, many at a time, so that parsers run over one stretch of
 * memory and never ask whether a byte is there: every line in the window ends in '\n'.
 *
 * Lines end in a line feed, with or without carriage returns before it, or all of them in a carriage return
 * alone: the first end that is met says which. In a text of the second kind the two bytes are exchanged as
 * they come in, so that parsers know one kind only, and what would be an end of the other kind is in both a
 * '\r' within a line, which they refuse (fm_line_mixed). Such a text is read by one thread.
 */

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

/* ======== parsers ======== */

/*
 * What a format of lines gives to whoever reads its traces: a function from whole lines to
 * references, which knows nothing of files, buffers and threads, so that several threads can use it at the
 * same time, each for lines of its own.
 */

/* Some whole lines, each with its '\n'. FM_TEXT_MARGIN bytes before and behind them can be read. */
typedef struct fm_line_window {
    char *at, *end;          /* the parser moves `at` behind what it has read */
    uint64_t line;           /* number of the line at `at`; the parser counts */
    const char *name;        /* of the file, for messages */
    fm_string_list *strings; /* where keys go that are strings */
    bool unfinished;         /* set by the parser: the record at `at` goes on behind the window */
    enum { FM_RETURNS_UNKNOWN = 0, FM_RETURNS_NONE, FM_RETURNS_SOME } returns; /* see below */
} fm_line_window;

/* Whether there is any '\r' in the rest of the window: it is looked for once, so that where there is none no
 * line need be searched. */
static inline bool fm_line_window_returns(fm_line_window *window)
{
    if (window->returns == FM_RETURNS_UNKNOWN)
        window->returns =
            memchr(window->at, '\r', (size_t)(window->end - window->at)) ? FM_RETURNS_SOME : FM_RETURNS_NONE;
    return window->returns == FM_RETURNS_SOME;
}

typedef struct fm_line_parser {
    /*
     * Adds references to columns until there are FM_BATCH_MAX of them, or the window is at its end. On
     * failure window->at is at the line that is wrong, and the references before it are sound.
     */
    fm_status (*parse)(const void *settings, fm_line_window *window, fm_columns *columns, fm_error *error);
    const void *settings; /* the parser's own; they do not change while anybody reads */
    bool quotes;          /* a record may have line ends between quotes */
} fm_line_parser;

/* ======== pieces ======== */

/*
 * A piece of a trace of lines, with what one thread needs to read it: some bytes of a file and
 * the references in them.
 *
 * It knows sound lines only. Where anything is the matter (a line that the parser refuses, one that is too
 * long, quotes between which a record may go on in the next line, a file that became shorter) it is not
 * sound, and whoever reads in order goes on alone from there, and says what is wrong.
 */

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

/* ======== several threads for one ======== */

/*
 * A trace of lines read by several threads, and taken in order.
 *
 * Of a plain file, each thread reads pieces of its own and finds where their lines begin. Of anything else
 * (pipes, compressed content), one thread at a time cuts the next piece out of the stream, and the others
 * read the lines of those before it.
 *
 * Where a piece cannot be had in this way (quotes, long lines, the end), it is over, and the one who takes
 * goes on alone: fm_line_ahead_rest says from where.
 */

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

/* ======== threads that read their own ======== */

/*
 * A plain file of lines for several threads, each of which claims ranges of it and reads
 * them for itself (fm_supply in trace/supply.h). It knows sound lines only, and numbers: where there is
 * anything else, a fetch fails, and all is to be read in order.
 */

typedef struct fm_line_share fm_line_share;

/* FM_E_UNSUPPORTED: it is not a plain file, or has strings or quotes at its beginning. lines: opened, some of
 * them may be in its buffer. Its stream and the parser outlive it. */
fm_status fm_line_share_start(fm_line_share **made, const fm_lines *lines, const fm_line_parser *parser,
                              unsigned columns, unsigned workers, fm_fetches fetches, fm_supply *supply,
                              fm_error *error);
void fm_line_share_stop(fm_line_share *share); /* NULL is fine */
/* When nobody fetches any more: puts lines to where the next line begins that was not fetched. */
fm_status fm_line_share_rest(const fm_line_share *share, fm_lines *lines, fm_error *error);
/* Instruction fetches that were passed over, and references that were fetched. */
void fm_line_share_counts(const fm_line_share *share, uint64_t *skipped, uint64_t *fetched);

/* ======== imports ======== */

/*
 * What the formats of lines have in common: reading by one thread or by several, and strings
 * as keys. A format gives a parser (line_parser.h), and what it needs for itself.
 */

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

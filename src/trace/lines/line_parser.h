/* SPDX-License-Identifier: Apache-2.0 */
/*
 * line_parser.h - what a format of lines gives to whoever reads its traces: a function from whole lines to
 * references, which knows nothing of files, buffers and threads, so that several threads can use it at the
 * same time, each for lines of its own.
 */
#ifndef FATHOM_TRACE_LINE_PARSER_H
#define FATHOM_TRACE_LINE_PARSER_H

#include "trace/format.h"
#include "trace/string_keys.h"

#include <string.h>

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

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * text_kernels.h - the usual lines of text traces, many at a time, for processors that compare 32 bytes at
 * once.
 *
 * A kernel finds line ends and delimiters 64 bytes at a time, and makes numbers of what is between them
 * without looking at one digit after the other. It knows the plain form of a line only. At the first line
 * that is anything else (blanks, quotes, strings, errors, thousands of bytes) it stops, and the parser of the
 * format, which knows everything, reads that one; so results and messages are those of the parser.
 *
 * Text is whole lines, each with its '\n'. FM_TEXT_MARGIN bytes before and behind it can be read.
 */
#ifndef FATHOM_TRACE_TEXT_KERNELS_H
#define FATHOM_TRACE_TEXT_KERNELS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { FM_TEXT_MARGIN = 64 };

/* Which columns of a table are wanted, numbered from 1. */
typedef struct fm_row_plan {
    char delimiter;
    uint64_t key_column;
    uint64_t size_column; /* 0: none */
    uint64_t columns;     /* that a row must have; 0: any number */
    uint64_t key_unit, size_unit;
} fm_row_plan;

/* Each returns how many lines it has read, at most `room`, and moves *at behind them. */
typedef struct fm_text_kernels {
    const char *isa;
    bool (*usable)(void);
    /* Decimal numbers, one a line. */
    size_t (*decimals)(const char **at, const char *end, uint64_t *keys, size_t room);
    /* Rows of a table. sizes: NULL where the plan has no size column. */
    size_t (*rows)(const fm_row_plan *plan, const char **at, const char *end, uint64_t *keys, uint32_t *sizes,
                   size_t room);
    /* " L 1ffefff8a8,8" and the like; kinds are FM_KIND_…. */
    size_t (*lackey)(const char **at, const char *end, uint64_t *addresses, uint32_t *sizes, uint8_t *kinds,
                     size_t room);
    /* "0 1ffefff8a8" and the like, labels 0 to 3. */
    size_t (*din)(const char **at, const char *end, uint64_t *addresses, uint8_t *kinds, size_t room);
} fm_text_kernels;

/*
 * To be tried costs a kernel some lines' time. Where most lines are odd ones, the parser reads more and more
 * of them before it asks a kernel again.
 */
typedef struct fm_text_pause {
    unsigned lines, left; /* how many; 0: none */
} fm_text_pause;

enum { FM_TEXT_FEW = 4, FM_TEXT_PAUSE_MOST = 63 };

/* Whether the parser is to read the next line. */
static inline bool fm_text_pauses(fm_text_pause *pause)
{
    if (pause->left == 0) return false;
    pause->left--;
    return true;
}

/* After a kernel has read so many lines. */
static inline void fm_text_found(fm_text_pause *pause, size_t lines)
{
    if (lines > FM_TEXT_FEW)
        pause->lines = 0;
    else if (pause->lines < FM_TEXT_PAUSE_MOST)
        pause->lines = 2 * pause->lines + 1;
    pause->left = pause->lines;
}

extern const fm_text_kernels fm_text_avx2, fm_text_avx512;

/* Those that this machine can run, best first; NULL: there are no more, or none at all. */
const fm_text_kernels *fm_text_kernels_at(size_t index);

#endif

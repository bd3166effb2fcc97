/* SPDX-License-Identifier: Apache-2.0 */
/*
 * text_kernels.h - the usual lines of text traces, many at a time, for processors that compare 32 bytes at
 * once.
 *
 * A kernel finds line ends and delimiters 64 bytes at a time, and makes numbers of what is between them
 * without looking at one digit after the other. It knows the plain form of a line only. At the first line
 * that is anything else (blanks, quotes, strings, more digits, errors) it stops, and the parser of the
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

extern const fm_text_kernels fm_text_avx2;

/* The best that this machine can run; NULL: none. */
const fm_text_kernels *fm_text_kernels_find(void);

#endif

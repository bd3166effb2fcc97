/* SPDX-License-Identifier: Apache-2.0 */
/*
 * native_ahead.h - the blocks of a native trace, decoded by several threads and taken in the order of the
 * file.
 *
 * It knows sound blocks only. Where anything else comes (damage of any kind, the module table, the index, the
 * end of the file) it stops, and whoever walks through the trace goes on from there alone, one piece after
 * the other: so there is one place that reports what is wrong, and in the same words however many threads
 * read.
 *
 * Memory is a fixed amount for each thread: two batches, and what decoding one block takes.
 */
#ifndef FATHOM_TRACE_NATIVE_AHEAD_H
#define FATHOM_TRACE_NATIVE_AHEAD_H

#include "trace/native/native_at.h"

enum { FM_NATIVE_THREADS_MOST = 64 };

typedef struct fm_native_ahead fm_native_ahead;

/* input: a regular file, which outlives it; nothing is read behind input->to. columns: FM_COLUMN_… of the
 * trace. threads: at least 2 and at most FM_NATIVE_THREADS_MOST; the one that takes is one of them. */
fm_status fm_native_ahead_start(fm_native_ahead **made, const fm_input *input, unsigned columns,
                                fm_native_place from, unsigned threads, fm_error *error);
/* Waits for threads that are within a block. NULL is fine. */
void fm_native_ahead_stop(fm_native_ahead *ahead);
/*
 * The next block: its header, and its references in *columns, whose arrays are exchanged for others of the
 * same size. False: what comes next is not a sound block.
 */
bool fm_native_ahead_next(fm_native_ahead *ahead, fm_columns *columns, fm_native_block *block);

#endif

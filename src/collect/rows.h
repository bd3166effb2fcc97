/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rows.h - the batch that is being filled: one array for each column that is wanted. Kernels store whole
 * vectors at the end of a column, so there is room behind the last row.
 */
#ifndef FATHOM_COLLECT_ROWS_H
#define FATHOM_COLLECT_ROWS_H

#include "collect/protocol.h"

#include <fathom/trace.h>

enum {
    FM_CHUNK_WORDS = FM_CHUNK_BYTES / 8,
    /* A batch is delivered when it holds so many rows: with size and tag 128 KiB, well inside L2 beside the
     * chunk that is read. What was looked through is finished (of the Valgrind tool FM_DECODE_WORDS words,
     * which tell of eight accesses each at most, and a block that began before), hence the room. */
    FM_ROWS_FULL = 8192,
    FM_DECODE_WORDS = 2048, /* words looked through at a time: they stay in the first-level cache */
    FM_ROWS_MOST = FM_ROWS_FULL + FM_CHUNK_WORDS + FM_BLOCK_ACCESSES,
    FM_ROWS_ROOM = FM_ROWS_MOST + 64,
};
_Static_assert(FM_BLOCK_EIGHT *(int)FM_DECODE_WORDS <= (int)FM_CHUNK_WORDS, "there is room for all accesses");
_Static_assert((int)FM_ROWS_MOST <= (int)FM_BATCH_MAX, "batches are not larger than promised");

/* All columns in one piece, so that a kernel needs one pointer. What is not wanted is never touched. */
typedef struct fm_row_memory {
    uint64_t address[FM_ROWS_ROOM];
    uint64_t site[FM_ROWS_ROOM];
    uint32_t size[FM_ROWS_ROOM];
    uint32_t tag[FM_ROWS_ROOM];
    uint32_t thread[FM_ROWS_ROOM]; /* the same number in all rows */
    uint8_t kind[FM_ROWS_ROOM];
} fm_row_memory;

typedef struct fm_rows {
    size_t count;
    unsigned columns; /* FM_COLUMN_… */
    fm_row_memory *at;
    uint32_t thread_number;
} fm_rows;

fm_status fm_rows_create(fm_rows *rows, unsigned columns, fm_error *error);
void fm_rows_free(fm_rows *rows);
void fm_rows_set_thread(fm_rows *rows, uint32_t number); /* of an empty batch */

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * native_at.h - single blocks of a native trace, from any place of its file: for threads that each read their
 * own (native_ahead.h, native_share.h). Sound blocks only: whoever meets anything else leaves it to the walk
 * (native_blocks.h), which reports what is wrong.
 */
#ifndef FATHOM_TRACE_NATIVE_AT_H
#define FATHOM_TRACE_NATIVE_AT_H

#include "base/input.h"
#include "trace/format.h"
#include "trace/native/native_column.h"
#include "trace/native/native_layout.h"

typedef struct fm_native_place {
    uint64_t offset;    /* of a block in the file */
    uint64_t reference; /* number of its first reference */
} fm_native_place;

/* The header of the block at a place: false where there is none, or not the one that belongs there, or where
 * the file ends within the block. */
bool fm_native_header_at(const fm_input *input, unsigned columns, fm_native_place place,
                         fm_native_block *block);
/* The place behind a block. */
fm_native_place fm_native_place_behind(fm_native_place place, const fm_native_block *block);

/* What decoding takes; all 0 before init. One thread at a time. */
typedef struct fm_native_block_reader {
    fm_native_unpacker *unpacker;
    uint8_t *payload;
    size_t capacity;
} fm_native_block_reader;

bool fm_native_block_reader_init(fm_native_block_reader *reader); /* false: no memory */
void fm_native_block_reader_clear(fm_native_block_reader *reader);
/* Reads, checks and decodes the block at a place, whose header is known. False: it cannot be had. */
bool fm_native_block_reader_read(fm_native_block_reader *reader, const fm_input *input, fm_native_place place,
                                 const fm_native_block *block, fm_columns *columns);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * native_column.h - the columns of one block, in and out of bytes. Works in memory only; the coding is
 * described in native_pack.c and docs/FORMAT.md.
 */
#ifndef FATHOM_TRACE_NATIVE_COLUMN_H
#define FATHOM_TRACE_NATIVE_COLUMN_H

#include "trace/format.h"
#include "trace/native/native_layout.h"

typedef struct fm_native_packer fm_native_packer;
/* level: of zstd; 0 the default, -1 stores without zstd. NULL when memory is short. */
fm_native_packer *fm_native_packer_create(int level);
void fm_native_packer_destroy(fm_native_packer *packer); /* NULL is fine */
/* The most bytes one column of FM_NATIVE_BLOCK_MAX references takes, as anyone may write it. */
size_t fm_native_raw_most(void);
/* The most bytes a block takes that is packed here, with its header. */
size_t fm_native_packed_most(unsigned columns);
/*
 * Packs a block of columns->count references (1 to FM_NATIVE_BLOCK_MAX) with its header. mask: FM_COLUMN_….
 * Returns the bytes written to `to`, which has room for fm_native_packed_most(mask). Always the same bytes
 * for the same references and level.
 */
size_t fm_native_pack(fm_native_packer *packer, const fm_columns *columns, unsigned mask,
                      uint64_t first_reference, uint8_t *to);

typedef struct fm_native_unpacker fm_native_unpacker;
fm_native_unpacker *fm_native_unpacker_create(void);
void fm_native_unpacker_destroy(fm_native_unpacker *unpacker);
/* A block's payload into columns. False: the bytes are not what the block's header says, and *reason says why
 * (a fixed string). */
bool fm_native_unpack(fm_native_unpacker *unpacker, const uint8_t *payload, const fm_native_block *block,
                      fm_columns *columns, const char **reason);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * native_column.h - the values of one column of one block, in and out of bytes. Works in memory only; the
 * coding is described in native_column.c and docs/FORMAT.md.
 */
#ifndef FATHOM_TRACE_NATIVE_COLUMN_H
#define FATHOM_TRACE_NATIVE_COLUMN_H

#include "trace/native_layout.h"

typedef struct fm_native_packer fm_native_packer;
/* level: of zstd; 0 the default, -1 stores without zstd. NULL when memory is short. */
fm_native_packer *fm_native_packer_create(int level);
void fm_native_packer_destroy(fm_native_packer *packer); /* NULL is fine */
/* The most bytes one column of FM_NATIVE_BLOCK_MAX references takes. */
size_t fm_native_packed_most(void);
/* Packs count values (1 to FM_NATIVE_BLOCK_MAX) of column part->column and fills *part. Returns the bytes
 * written to `to`, which has room for fm_native_packed_most(), or 0 when memory is short. */
size_t fm_native_pack(fm_native_packer *packer, const uint64_t *values, size_t count, fm_native_part *part,
                      uint8_t *to);

typedef struct fm_native_unpacker fm_native_unpacker;
fm_native_unpacker *fm_native_unpacker_create(void);
void fm_native_unpacker_destroy(fm_native_unpacker *unpacker);
/* Values into an array of the column's width (uint64_t, uint32_t, uint8_t). False: the bytes are not what
 * part says, and *reason tells (a fixed string). */
bool fm_native_unpack(fm_native_unpacker *unpacker, const uint8_t *from, const fm_native_part *part,
                      size_t count, void *to, const char **reason);

#endif

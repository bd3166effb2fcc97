/* SPDX-License-Identifier: Apache-2.0 */
/* native_planes.h - one column of a block: bytes by their place, looking back, and frames. Internal. */
#ifndef FATHOM_TRACE_NATIVE_NATIVE_PLANES_H
#define FATHOM_TRACE_NATIVE_NATIVE_PLANES_H

#include "trace/format.h"
#include "trace/native/native_layout.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ======== frames ======== */

/*
 * A zstd frame whose first bytes are stored as they are.
 *
 * The low bytes of keys without order are as good as random: zstd's entropy coder makes them a few percent
 * smaller, and reading them takes longer than all else together. Within a frame each block says for itself
 * whether it is compressed, so that those can stay as they are and the rest need not; whatever reads zstd
 * reads that.
 */

/* Whether coding each byte by its frequency would save less than one in twelve of them. */
bool fm_native_bytes_are_random(const uint8_t *bytes, size_t count);

/* Bytes that a frame takes, at most, beside those it stores and those of the frame it goes on with. */
size_t fm_native_frame_extra(size_t plain_bytes);
/*
 * One frame of plain[0 … plain_bytes), as they are, and of what the frame `rest` holds: rest_raw bytes,
 * without a checksum or a dictionary. Returns how many bytes were written to `to`; 0: `rest` is not such a
 * frame.
 */
size_t fm_native_frame_join(const uint8_t *plain, size_t plain_bytes, const uint8_t *rest, size_t rest_bytes,
                            size_t rest_raw, uint8_t *to);

/* ======== planes ======== */

/*
 * Numbers in byte planes: the low bytes of all numbers, then the next ones, and so on, so
 * that zstd sees the constant high bytes as runs. The few numbers that are longer than the rest become
 * exceptions, so that they do not add planes to all. docs/FORMAT.md has the layout.
 */

/* A signed difference as a number: small ones of either sign are small. And back. */
static inline uint64_t fm_zigzag(uint64_t difference)
{
    return difference << 1 ^ (0 - (difference >> 63));
}

static inline uint64_t fm_unzigzag(uint64_t code)
{
    return code >> 1 ^ (0 - (code & 1));
}

/* The low `planes` bytes of count numbers: planes * count bytes at `to`. */
void fm_native_planes_store(const uint64_t *numbers, size_t count, unsigned planes, uint8_t *to);
void fm_native_planes_load(const uint8_t *from, size_t count, unsigned planes, uint64_t *numbers);

/* Chooses how many planes, and stores planes and exceptions; fills part->planes and ->exceptions. Returns the
 * bytes used, at most count * 9 or so: exceptions are at most every 64th number. */
size_t fm_native_numbers_store(const uint64_t *numbers, size_t count, fm_native_part *part, uint8_t *to);
/* False: an exception lies outside. */
bool fm_native_numbers_load(const uint8_t *from, size_t count, const fm_native_part *part, uint64_t *numbers);

/* A table: differences from each entry to the next, in eight planes: 8 * count bytes. Storing uses up the
 * values. */
void fm_native_table_store(uint64_t *values, size_t count, uint8_t *to);
void fm_native_table_load(const uint8_t *from, size_t count, uint64_t *values);

/* ======== looking back ======== */

/*
 * Chooses, for each value of a column, an earlier one that it is close to: the LOOKBACK
 * encoding. The same choices on every machine.
 */

typedef struct fm_native_lookback fm_native_lookback;
/* isa: as fm_isa_at names them; NULL: the best this machine has. NULL when memory is short. */
fm_native_lookback *fm_native_lookback_create(const char *isa);
void fm_native_lookback_destroy(fm_native_lookback *lookback);
/* For each value how many values back (0: the one before), and the zigzag difference to that. */
void fm_native_lookback_choose(fm_native_lookback *lookback, const uint64_t *values, size_t count,
                               uint8_t *back, uint64_t *codes);

/* ======== columns ======== */

/*
 * The columns of one block, in and out of bytes. Works in memory only; the coding is
 * described in native_pack.c and docs/FORMAT.md.
 */

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

/* ======== sites ======== */

/*
 * Numbers the code sites of one block, in order of appearance, so that the site column is a
 * table and an index for each reference.
 *
 * What an instruction does is nearly always the same: so many bytes, a load or a store. So size, kind and
 * thread are numbered together with the site, and then follow from the index.
 */

enum { FM_NATIVE_SITES_MOST = 16384 }; /* in one block */

typedef struct fm_native_sites fm_native_sites;
fm_native_sites *fm_native_sites_create(void); /* NULL when memory is short */
void fm_native_sites_destroy(fm_native_sites *sites);
/*
 * The index of each reference: two have the same one if and only if they have the same site and the same of
 * the columns `with` (FM_COLUMN_SIZE, …KIND, …THREAD; those that are there). Returns how many different ones
 * there are, or 0 when those are more than `most` (at most FM_NATIVE_SITES_MOST).
 */
size_t fm_native_sites_index(fm_native_sites *sites, const fm_columns *columns, unsigned with, size_t most,
                             uint16_t *indices);
/* Which reference was the first of each index. */
const uint16_t *fm_native_sites_first(const fm_native_sites *sites);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * native_blocks.h - walks a native trace block by block, past damage. The reader and the checker both
 * stand on it; neither sees bytes.
 */
#ifndef FATHOM_TRACE_NATIVE_BLOCKS_H
#define FATHOM_TRACE_NATIVE_BLOCKS_H

#include "trace/format.h"
#include "trace/native/native_column.h"
#include "trace/native/native_layout.h"

typedef struct fm_native_blocks fm_native_blocks;

/* Reads the file's header. name must outlive it. */
fm_status fm_native_blocks_open(fm_native_blocks **blocks, fm_stream *stream, const char *name,
                                fm_native_header *header, fm_error *error);
void fm_native_blocks_close(fm_native_blocks *blocks); /* NULL is fine */

/*
 * Before the first call of next: walks through part number `part` of `parts` only, whole blocks by the word
 * of the index. The modules are known in every part; what stands behind the blocks is checked by the last
 * one. references, bytes: of the part, as stored. The stream's file is a regular one and not compressed.
 * FM_E_UNSUPPORTED where there is no sound index.
 */
fm_status fm_native_blocks_divide(fm_native_blocks *blocks, uint32_t part, uint32_t parts,
                                  uint64_t *references, uint64_t *bytes, fm_error *error);

/* Before the first call of next: so many threads decode, the caller among them. 0, 1: the caller alone. The
 * stream's file is a regular one that was opened by its name, and not compressed. What next does and says is
 * the same; it fails where memory for the threads is short. */
void fm_native_blocks_use_threads(fm_native_blocks *blocks, unsigned threads);

/*
 * Before the first call of next: blocks for several threads, which each decode their own. The stream's file
 * is as above. references: to be expected. Lives until the next call of next, which goes on behind what was
 * claimed, or until close.
 */
fm_status fm_native_blocks_share(fm_native_blocks *blocks, unsigned workers, uint64_t references,
                                 fm_fetches fetches, bool sites, fm_supply *supply, fm_error *error);
/* Instruction fetches that were passed over, and references fetched, in all that was shared. */
void fm_native_blocks_shared(const fm_native_blocks *blocks, uint64_t *skipped, uint64_t *fetched);

/* What a call of fm_native_blocks_next came upon. */
typedef struct fm_native_event {
    uint64_t offset;       /* of the block, the index, or the damage, in the content */
    uint64_t stored_bytes; /* of the block with its header; of what was skipped */
    uint64_t references;   /* of the block; for damage, those known to be missing */
    bool block;            /* a block, sound or not, with a sound header */
} fm_native_event;

/*
 * The next block's references into columns. FM_OK with count 0 is the end: index and footer were sound
 * and agreed with the blocks, or the part ended as the index says. Damage is reported once for each place and
 * walking goes on behind it.
 */
fm_status fm_native_blocks_next(fm_native_blocks *blocks, fm_columns *columns, fm_native_event *event,
                                fm_error *error);
/* After the end or a failure: whether an index was met, and whether it was good. */
void fm_native_blocks_index(const fm_native_blocks *blocks, bool *present, bool *sound);

/* The module table, once it was passed; they live as long as the walk. present: there was one, though perhaps
 * a damaged one. */
void fm_native_blocks_modules(const fm_native_blocks *blocks, const fm_trace_module **modules, size_t *count,
                              bool *present);

#endif

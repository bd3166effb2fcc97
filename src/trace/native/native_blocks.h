/* SPDX-License-Identifier: Apache-2.0 */
/* native_blocks.h - blocks of native traces: read, walked through, by several threads, written. Internal. */
#ifndef FATHOM_TRACE_NATIVE_NATIVE_BLOCKS_H
#define FATHOM_TRACE_NATIVE_NATIVE_BLOCKS_H

#include "base/input.h"
#include "trace/format.h"
#include "trace/native/native_layout.h"
#include "trace/native/native_planes.h"

#include <xxhash.h>

/* ======== from any place ======== */

/*
 * Single blocks of a native trace, from any place of its file: for threads that each read their
 * own (native_ahead.h, native_share.h). Sound blocks only: whoever meets anything else leaves it to the walk
 * (native_blocks.h), which reports what is wrong.
 */

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

/* ======== several threads for one ======== */

/*
 * The blocks of a native trace, decoded by several threads and taken in the order of the
 * file.
 *
 * It knows sound blocks only. Where anything else comes (damage of any kind, the module table, the index, the
 * end of the file) it stops, and whoever walks through the trace goes on from there alone, one piece after
 * the other: so there is one place that reports what is wrong, and in the same words however many threads
 * read.
 *
 * Memory is a fixed amount for each thread: two batches, and what decoding one block takes.
 */

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

/* ======== threads that decode their own ======== */

/*
 * The blocks of a native trace for several threads, each of which claims stretches of the
 * file and decodes them for itself (fm_supply in trace/supply.h).
 *
 * Claiming walks from header to header, which says where the next one is, so that no index is needed. As
 * native_ahead.h, it knows sound blocks only: it stops at the first header that is none, and the walk goes on
 * from there alone.
 */

typedef struct fm_native_share fm_native_share;

/* Called for each block that is claimed, in order. */
typedef void (*fm_native_passed)(void *context, fm_native_place place, const fm_native_block *block);

typedef struct fm_native_sharing {
    unsigned columns; /* of the trace */
    unsigned workers;
    fm_fetches fetches;
    bool sites; /* are delivered, if it has any */
} fm_native_sharing;

/* input: a regular file, which outlives it. references: to be expected in all; 0: nobody knows. */
fm_status fm_native_share_start(fm_native_share **made, const fm_input *input, const fm_native_sharing *what,
                                fm_native_place from, uint64_t references, fm_native_passed passed,
                                void *context, fm_error *error);
void fm_native_share_stop(fm_native_share *share); /* NULL is fine */
void fm_native_share_supply(fm_native_share *share, fm_supply *supply);
/* Instruction fetches that were passed over, and references that were fetched, so far. */
void fm_native_share_counts(const fm_native_share *share, uint64_t *skipped, uint64_t *fetched);

/* ======== blocks ======== */

/*
 * Walks a native trace block by block, past damage. The reader and the checker both
 * stand on it; neither sees bytes.
 */

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

/* ======== damage ======== */

/*
 * The state of a walk through a native trace, and the steps that all pieces of a file share:
 * having bytes in the buffer, passing over them, reporting damage, finding the next sound header. For
 * native_blocks.c, native_tail.c and native_divide.c only.
 */

struct fm_native_blocks {
    fm_stream *stream;
    const char *name;
    unsigned columns;
    fm_native_unpacker *unpacker;
    uint8_t *buffer; /* content [offset, offset + filled - at) is at [at, filled) */
    size_t capacity, at, filled;
    uint64_t offset;
    uint64_t expected;  /* number of the next reference */
    uint64_t met;       /* blocks met */
    XXH3_state_t *seen; /* of what the index should say */
    bool damaged;       /* some damage was reported: the index cannot agree */
    bool ended, index_present, index_sound;
    fm_trace_module *modules; /* NULL: no sound module table was met */
    size_t module_count;
    uint64_t modules_bytes; /* of the module table that was met, with its header; 0: none */
    bool misplaced;         /* it was reported that blocks follow the module table */
    unsigned threads;       /* that are to decode; 0, 1: the walk does it alone */
    fm_native_ahead *ahead; /* they are at it; NULL: not yet, or no longer */
    fm_native_share *share; /* others decode, each for itself; NULL: not yet, or no longer */
    /* Where a part ends that is not the last one, and what the index says of the blocks up to there. */
    uint64_t limit;           /* offset; UINT64_MAX: the walk goes on to the end of the file */
    uint64_t limit_reference; /* number of the first reference behind it */
    uint64_t limit_seen;      /* what `seen` comes to */
};

/* Makes at least `bytes` bytes of content available at `at`, if there are as many: *have says. Failures of
 * the stream are returned when they are why there are fewer. */
fm_status fm_walk_need(fm_native_blocks *blocks, size_t bytes, size_t *have, fm_error *error);
void fm_walk_skip(fm_native_blocks *blocks, size_t bytes);
/* Whether a magic is at a place of the buffer. */
bool fm_walk_begins(const fm_native_blocks *blocks, size_t at, const char *magic);
/* Whether the bytes look like the beginning of an index: its magic, and bytes of a module table that are none
 * or possible. */
bool fm_walk_index_begins(const uint8_t *bytes);

/* How many references lie between the last sound block and one that begins with number first. */
uint64_t fm_walk_gap(fm_native_blocks *blocks, uint64_t first);
/* Fills in what every damage has: the number of missing references, and that the walk saw damage. Returns
 * status. */
fm_status fm_walk_damage(fm_native_blocks *blocks, fm_native_event *event, uint64_t lost, fm_status status,
                         fm_error *error);
/* The content ends, too early unless it is the end of a part. The place is where the incomplete piece begins,
 * as for all other damage. */
fm_status fm_walk_cut(fm_native_blocks *blocks, fm_native_event *event, const char *within, uint64_t lost,
                      fm_error *error);
/* Nothing sound is here: says so and goes to the next sound header of a block or of the module table, or to
 * the index. */
fm_status fm_walk_stray(fm_native_blocks *blocks, fm_native_event *event, fm_error *error);
/* A payload's checksum was wrong: whether skipping it whole leads to the next thing or the end. */
bool fm_walk_skips_well(fm_native_blocks *blocks, size_t payload);

/* Behind the blocks (native_tail.c). The magic is in the buffer, and `have` bytes. FM_OK of the module table:
 * it was read, and walking goes on behind it; of the index: this is the end. */
fm_status fm_walk_modules(fm_native_blocks *blocks, size_t have, fm_native_event *event, fm_error *error);
fm_status fm_walk_index(fm_native_blocks *blocks, fm_native_event *event, fm_error *error);

/* At the limit (native_divide.c), with or without a piece of something before it. FM_OK: the blocks were
 * those that the index says. */
fm_status fm_walk_limit(fm_native_blocks *blocks, fm_native_event *event, fm_error *error);

/* ======== writing ======== */

/*
 * Blocks of references in, packed blocks out in the same order, packed by the caller or by
 * threads of its own.
 *
 *     fm_columns *room = fm_native_encoder_room(encoder);   fill it, set room->count
 *     fm_native_encoder_submit(encoder, &error);            room is another one from here on
 *     fm_native_encoder_drain(encoder, &error);             everything was handed on
 *
 * Only packing is done elsewhere: `write` is called by the thread that submits or drains, so that what fails
 * there is returned at once. It does not know files.
 */

typedef struct fm_native_encoder fm_native_encoder;

/* Gets each packed block, header and all, in the order of submission. */
typedef fm_status (*fm_native_block_write)(void *context, const uint8_t *block, size_t bytes,
                                           size_t references, fm_error *error);

/* threads: 0 or 1 packs in submit; else so many threads (at most FM_NATIVE_THREADS_MOST) do it meanwhile,
 * from the first full block on. The blocks are the same. */
fm_status fm_native_encoder_create(fm_native_encoder **encoder, unsigned columns, int level, unsigned threads,
                                   fm_native_block_write write, void *context, fm_error *error);
/* Ends the threads and frees everything, at any time; what was not handed on is lost. NULL is fine. */
void fm_native_encoder_destroy(fm_native_encoder *encoder);

/* Where the next block's references go; empty (count 0) after each submission. */
fm_columns *fm_native_encoder_room(fm_native_encoder *encoder);
/* The room's references become a block; none: nothing happens. Waits while too many blocks are not packed
 * yet. After a failure only destroy may follow. */
fm_status fm_native_encoder_submit(fm_native_encoder *encoder, fm_error *error);
/* Waits until every submitted block was handed on. */
fm_status fm_native_encoder_drain(fm_native_encoder *encoder, fm_error *error);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * native_walk.h - the state of a walk through a native trace, and the steps that all pieces of a file share:
 * having bytes in the buffer, passing over them, reporting damage, finding the next sound header. For
 * native_blocks.c, native_tail.c and native_divide.c only.
 */
#ifndef FATHOM_TRACE_NATIVE_WALK_H
#define FATHOM_TRACE_NATIVE_WALK_H

#include "trace/native/native_ahead.h"
#include "trace/native/native_blocks.h"
#include "trace/native/native_share.h"

#include <xxhash.h>

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

#endif

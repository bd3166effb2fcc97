/* SPDX-License-Identifier: Apache-2.0 */
/*
 * native_blocks.c - see native_blocks.h.
 *
 * The content passes through one buffer that holds the block being read. Every block header has its own
 * checksum and the number of its first reference: a sound header says how far to skip when the payload is
 * bad, and after unsound headers the next sound one says how many references are missing between.
 */
#include "trace/native/native_walk.h"

#include "base/bytes.h"
#include "base/error.h"
#include "base/memory.h"

#include <inttypes.h>
#include <stdlib.h>

enum { FIRST_CAPACITY = 1 << 20 };

fm_status fm_native_blocks_open(fm_native_blocks **blocks_out, fm_stream *stream, const char *name,
                                fm_native_header *header, fm_error *error)
{
    *blocks_out = NULL;
    fm_native_blocks *blocks = fm_calloc(1, sizeof *blocks);
    if (!blocks) return fm_fail_memory(error, sizeof *blocks, "a trace reader");
    blocks->stream = stream;
    blocks->name = name;
    blocks->limit = UINT64_MAX;
    blocks->unpacker = fm_native_unpacker_create();
    blocks->seen = XXH3_createState();
    fm_status status = FM_OK;
    if (!blocks->unpacker || !blocks->seen || XXH3_64bits_reset(blocks->seen) == XXH_ERROR ||
        fm_array_reserve((void **)&blocks->buffer, &blocks->capacity, FIRST_CAPACITY, 1) != 0)
        status = fm_fail_memory(error, FIRST_CAPACITY, "a trace reader");
    size_t have = 0;
    if (status == FM_OK) status = fm_walk_need(blocks, FM_NATIVE_HEADER_SIZE, &have, error);
    if (status == FM_OK) status = fm_native_header_load(blocks->buffer, have, name, header, error);
    if (status != FM_OK) {
        fm_native_blocks_close(blocks);
        return status;
    }
    blocks->columns = header->columns;
    fm_walk_skip(blocks, FM_NATIVE_HEADER_SIZE);
    *blocks_out = blocks;
    return FM_OK;
}

void fm_native_blocks_close(fm_native_blocks *blocks)
{
    if (!blocks) return;
    fm_native_ahead_stop(blocks->ahead);
    fm_native_share_stop(blocks->share);
    fm_native_unpacker_destroy(blocks->unpacker);
    XXH3_freeState(blocks->seen);
    free(blocks->modules);
    free(blocks->buffer);
    free(blocks);
}

void fm_native_blocks_index(const fm_native_blocks *blocks, bool *present, bool *sound)
{
    *present = blocks->index_present;
    *sound = blocks->index_sound;
}

void fm_native_blocks_modules(const fm_native_blocks *blocks, const fm_trace_module **modules, size_t *count,
                              bool *present)
{
    *modules = blocks->modules;
    *count = blocks->module_count;
    *present = blocks->modules_bytes > 0;
}

static void note_for_index(fm_native_blocks *blocks, uint64_t offset, const fm_native_block *block)
{
    uint8_t entry[FM_NATIVE_INDEX_ENTRY];
    fm_store64(entry, offset);
    fm_store32(entry + 8, block->references);
    fm_store32(entry + 12, (uint32_t)block->header_bytes + block->payload_bytes);
    XXH3_64bits_update(blocks->seen, entry, sizeof entry);
    blocks->met++;
}

void fm_native_blocks_use_threads(fm_native_blocks *blocks, unsigned threads)
{
    blocks->threads = threads < FM_NATIVE_THREADS_MOST ? threads : FM_NATIVE_THREADS_MOST;
}

static void pass_shared(void *context, fm_native_place place, const fm_native_block *block)
{
    fm_native_blocks *blocks = context;
    note_for_index(blocks, place.offset, block);
    place = fm_native_place_behind(place, block);
    blocks->offset = place.offset;
    blocks->expected = place.reference;
}

fm_status fm_native_blocks_share(fm_native_blocks *blocks, unsigned workers, uint64_t references,
                                 fm_fetches fetches, bool sites, fm_supply *supply, fm_error *error)
{
    const fm_native_place here = {blocks->offset, blocks->expected};
    const fm_native_sharing what = {
        .columns = blocks->columns, .workers = workers, .fetches = fetches, .sites = sites};
    fm_status status = fm_native_share_start(&blocks->share, &blocks->stream->input, &what, here, references,
                                             pass_shared, blocks, error);
    if (status == FM_OK) fm_native_share_supply(blocks->share, supply);
    return status;
}

void fm_native_blocks_shared(const fm_native_blocks *blocks, uint64_t *skipped, uint64_t *fetched)
{
    fm_native_share_counts(blocks->share, skipped, fetched);
}

/* The walk goes on, alone, behind what was shared. */
static fm_status end_sharing(fm_native_blocks *blocks, fm_error *error)
{
    fm_native_share_stop(blocks->share);
    blocks->share = NULL;
    blocks->threads = 0;
    blocks->at = blocks->filled = 0;
    return fm_stream_pass(blocks->stream, blocks->offset, error);
}

/* The threads begin where the walk stands. What the buffer holds they read again. */
static fm_status start_threads(fm_native_blocks *blocks, fm_error *error)
{
    blocks->at = blocks->filled = 0;
    fm_status status = fm_stream_pass(blocks->stream, blocks->offset, error);
    if (status != FM_OK) return status;
    return fm_native_ahead_start(&blocks->ahead, &blocks->stream->input, blocks->columns,
                                 (fm_native_place){blocks->offset, blocks->expected}, blocks->threads, error);
}

/* A block that the threads have decoded; the walk then stands behind it, and the stream too. *taken false:
 * what comes next is not for them, and they are gone. */
static fm_status next_decoded(fm_native_blocks *blocks, fm_columns *columns, fm_native_event *event,
                              bool *taken, fm_error *error)
{
    fm_native_block block;
    *taken = false;
    if (!blocks->ahead) {
        fm_status status = start_threads(blocks, error);
        if (status != FM_OK) {
            blocks->ended = true;
            return status;
        }
    }
    if (!fm_native_ahead_next(blocks->ahead, columns, &block)) {
        fm_native_ahead_stop(blocks->ahead);
        blocks->ahead = NULL;
        blocks->threads = 0;
        return FM_OK;
    }
    *taken = true;
    *event = (fm_native_event){.offset = blocks->offset,
                               .stored_bytes = block.header_bytes + block.payload_bytes,
                               .references = block.references,
                               .block = true};
    note_for_index(blocks, blocks->offset, &block);
    blocks->offset += event->stored_bytes;
    blocks->expected += block.references;
    fm_status status = fm_stream_pass(blocks->stream, blocks->offset, error);
    if (status == FM_OK) return FM_OK;
    columns->count = 0;
    blocks->ended = true;
    return status;
}

/* A block whose header is sound and in the buffer. */
static fm_status read_block(fm_native_blocks *blocks, const fm_native_block *block, fm_columns *columns,
                            fm_native_event *event, fm_error *error)
{
    uint64_t lost = fm_walk_gap(blocks, block->first_reference);
    if (lost > 0) { /* the block itself comes with the next call */
        fm_fail_at(error, FM_E_CORRUPT, blocks->name, FM_PLACE_BYTE, blocks->offset,
                   "blocks are missing before this one: expected reference %" PRIu64 ", found %" PRIu64,
                   blocks->expected - lost, block->first_reference);
        return fm_walk_damage(blocks, event, lost, FM_E_CORRUPT, error);
    }
    size_t whole = block->header_bytes + block->payload_bytes, have;
    event->block = true;
    event->stored_bytes = whole;
    event->references = block->references;
    note_for_index(blocks, event->offset, block);
    fm_status status = fm_walk_need(blocks, whole, &have, error);
    if (status != FM_OK) {
        if (fm_status_is_damage(status)) fm_walk_damage(blocks, event, block->references, status, error);
        blocks->ended = true;
        return status;
    }
    if (have < whole) return fm_walk_cut(blocks, event, "within a block", block->references, error);
    fm_walk_skip(blocks, block->header_bytes);
    if (block->first_reference < blocks->expected) {
        fm_walk_skip(blocks, block->payload_bytes);
        fm_fail_at(error, FM_E_CORRUPT, blocks->name, FM_PLACE_BYTE, event->offset,
                   "a block stands in the wrong place: expected reference %" PRIu64 ", found %" PRIu64,
                   blocks->expected, block->first_reference);
        return fm_walk_damage(blocks, event, 0, FM_E_CORRUPT, error);
    }
    blocks->expected += block->references;
    const uint8_t *payload = blocks->buffer + blocks->at;
    uint64_t checksum = XXH3_64bits(payload, block->payload_bytes);
    const char *reason = NULL;
    if (checksum == block->payload_checksum) {
        bool good = fm_native_unpack(blocks->unpacker, payload, block, columns, &reason);
        fm_walk_skip(blocks, block->payload_bytes);
        if (good) {
            columns->count = block->references;
            return FM_OK;
        }
        fm_fail_at(error, FM_E_CORRUPT, blocks->name, FM_PLACE_BYTE, event->offset, "a block is damaged: %s",
                   reason);
    } else {
        fm_fail_at(error, FM_E_CORRUPT, blocks->name, FM_PLACE_BYTE, event->offset,
                   "a block of %" PRIu32 " references is damaged: expected checksum %016" PRIx64
                   ", found %016" PRIx64,
                   block->references, block->payload_checksum, checksum);
        if (fm_walk_skips_well(blocks, block->payload_bytes)) fm_walk_skip(blocks, block->payload_bytes);
    }
    return fm_walk_damage(blocks, event, block->references, FM_E_CORRUPT, error);
}

/* A block whose magic is in the buffer; its header need not be sound, nor whole. */
static fm_status meet_block(fm_native_blocks *blocks, size_t have, fm_columns *columns,
                            fm_native_event *event, fm_error *error)
{
    fm_native_block block;
    if (have < fm_native_block_header_size(blocks->columns))
        return fm_walk_cut(blocks, event, "within a block's header", 0, error);
    if (!fm_native_block_load(blocks->buffer + blocks->at, blocks->columns, &block))
        return fm_walk_stray(blocks, event, error);
    if (blocks->modules_bytes > 0 && !blocks->misplaced) { /* the block itself comes with the next call */
        blocks->misplaced = true;
        fm_fail_at(error, FM_E_CORRUPT, blocks->name, FM_PLACE_BYTE, event->offset,
                   "a block stands behind the module table, which should be the last before the index");
        return fm_walk_damage(blocks, event, 0, FM_E_CORRUPT, error);
    }
    return read_block(blocks, &block, columns, event, error);
}

fm_status fm_native_blocks_next(fm_native_blocks *blocks, fm_columns *columns, fm_native_event *event,
                                fm_error *error)
{
    columns->count = 0;
    if (blocks->share) {
        fm_status status = end_sharing(blocks, error);
        if (status != FM_OK) return status;
    }
    if (blocks->threads > 1 && !blocks->ended) {
        bool taken;
        fm_status status = next_decoded(blocks, columns, event, &taken, error);
        if (status != FM_OK || taken) return status;
    }
    for (;;) {
        *event = (fm_native_event){.offset = blocks->offset};
        if (blocks->ended) return FM_OK;
        size_t have;
        fm_status status = fm_walk_need(blocks, fm_native_block_header_size(blocks->columns), &have, error);
        if (status != FM_OK) {
            /* The stream's own damage: compressed around us. */
            blocks->ended = true;
            return status;
        }
        if (have == 0)
            return fm_walk_cut(blocks, event, "without an index (it was cut, or its writer was stopped)", 0,
                               error);
        if (have < 4) return fm_walk_cut(blocks, event, "within a block's header", 0, error);
        if (fm_walk_begins(blocks, blocks->at, FM_NATIVE_INDEX_MAGIC)) {
            status = fm_walk_index(blocks, event, error);
            if (status != FM_OK && status != FM_E_CORRUPT) blocks->ended = true;
            return status;
        }
        if (fm_walk_begins(blocks, blocks->at, FM_NATIVE_BLOCK_MAGIC))
            return meet_block(blocks, have, columns, event, error);
        if (!fm_walk_begins(blocks, blocks->at, FM_NATIVE_MODULES_MAGIC))
            return fm_walk_stray(blocks, event, error);
        status = fm_walk_modules(blocks, have, event, error);
        if (status != FM_OK) return status;
    }
}

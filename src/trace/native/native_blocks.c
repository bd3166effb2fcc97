/* SPDX-License-Identifier: Apache-2.0 */
/* native_blocks.c - blocks of native traces: read, and walked through where something is damaged. */
#include "trace/native/native_blocks.h"

#include "base/bytes.h"
#include "base/error.h"
#include "base/memory.h"
#include "trace/native/native_layout.h"

#include <inttypes.h>
#include <stdlib.h>

/* ======== damage ======== */

fm_status fm_walk_need(fm_native_blocks *blocks, size_t bytes, size_t *have, fm_error *error)
{
    *have = blocks->filled - blocks->at;
    if (*have >= bytes) return FM_OK;
    if (blocks->capacity - blocks->at < bytes) {
        memmove(blocks->buffer, blocks->buffer + blocks->at, *have);
        blocks->filled = *have;
        blocks->at = 0;
        if (fm_array_reserve((void **)&blocks->buffer, &blocks->capacity, bytes, 1) != 0)
            return fm_fail_memory(error, bytes, "a block of the trace");
    }
    while (*have < bytes) {
        size_t got;
        fm_status status = fm_stream_read(blocks->stream, blocks->buffer + blocks->filled,
                                          blocks->capacity - blocks->filled, &got, error);
        if (status != FM_OK) return status;
        if (got == 0) break;
        blocks->filled += got;
        *have += got;
    }
    return FM_OK;
}

void fm_walk_skip(fm_native_blocks *blocks, size_t bytes)
{
    blocks->at += bytes;
    blocks->offset += bytes;
}

fm_status fm_walk_damage(fm_native_blocks *blocks, fm_native_event *event, uint64_t lost, fm_status status,
                         fm_error *error)
{
    blocks->damaged = true;
    event->references = lost;
    error->lost = lost;
    return status;
}

fm_status fm_walk_cut(fm_native_blocks *blocks, fm_native_event *event, const char *within, uint64_t lost,
                      fm_error *error)
{
    uint64_t end = blocks->offset + (blocks->filled - blocks->at);
    if (end == blocks->limit) return fm_walk_limit(blocks, event, error);
    blocks->ended = true;
    fm_fail_at(error, FM_E_TRUNCATED, blocks->name, FM_PLACE_BYTE, event->offset,
               "the trace ends %s, at byte %" PRIu64, within, end);
    return fm_walk_damage(blocks, event, lost, FM_E_TRUNCATED, error);
}

bool fm_walk_begins(const fm_native_blocks *blocks, size_t at, const char *magic)
{
    return memcmp(blocks->buffer + at, magic, 4) == 0;
}

uint64_t fm_walk_gap(fm_native_blocks *blocks, uint64_t first)
{
    uint64_t lost = first > blocks->expected ? first - blocks->expected : 0;
    if (lost > 0) blocks->expected = first;
    return lost;
}

bool fm_walk_index_begins(const uint8_t *bytes)
{
    return memcmp(bytes, FM_NATIVE_INDEX_MAGIC, 4) == 0 &&
           fm_load32(bytes + 4) <= FM_NATIVE_MODULES_FIXED + FM_NATIVE_MODULES_PAYLOAD_MAX;
}

/* Moves to the next sound header of a block or of the module table, or to the index, or to the end of the
 * content. */
static fm_status walk_resynchronise(fm_native_blocks *blocks, uint64_t *lost, fm_error *error)
{
    size_t header = fm_native_block_header_size(blocks->columns), have;
    _Static_assert(FM_NATIVE_BLOCK_FIXED + FM_NATIVE_COLUMN_SIZE + 8 >= FM_NATIVE_MODULES_FIXED,
                   "what is enough for a block's header is enough for the others");
    *lost = 0;
    fm_walk_skip(blocks, 1);
    for (;;) {
        fm_status status = fm_walk_need(blocks, header, &have, error);
        if (status != FM_OK) return status;
        const uint8_t *from = blocks->buffer + blocks->at;
        const uint8_t *found = have > 0 ? memchr(from, FM_NATIVE_BLOCK_MAGIC[0], have) : NULL;
        if (!found) {
            fm_walk_skip(blocks, have);
            if (have >= header) continue;
            if (blocks->offset == blocks->limit) *lost = fm_walk_gap(blocks, blocks->limit_reference);
            return FM_OK;
        }
        fm_walk_skip(blocks, (size_t)(found - from));
        status = fm_walk_need(blocks, header, &have, error);
        if (status != FM_OK) return status;
        fm_native_block block;
        if (have >= header && fm_native_block_load(blocks->buffer + blocks->at, blocks->columns, &block)) {
            *lost = fm_walk_gap(blocks, block.first_reference);
            return FM_OK;
        }
        fm_native_modules_header modules;
        if (have >= FM_NATIVE_MODULES_FIXED &&
            fm_native_modules_header_load(blocks->buffer + blocks->at, &modules)) {
            *lost = fm_walk_gap(blocks, modules.references);
            return FM_OK;
        }
        if (have >= FM_NATIVE_INDEX_FIXED && fm_walk_index_begins(blocks->buffer + blocks->at)) {
            *lost = fm_walk_gap(blocks, fm_load64(blocks->buffer + blocks->at + 16));
            return FM_OK;
        }
        fm_walk_skip(blocks, 1);
    }
}

fm_status fm_walk_stray(fm_native_blocks *blocks, fm_native_event *event, fm_error *error)
{
    uint64_t from = blocks->offset, lost;
    uint8_t found[4];
    memcpy(found, blocks->buffer + blocks->at, 4);
    bool block = memcmp(found, FM_NATIVE_BLOCK_MAGIC, 4) == 0,
         modules = memcmp(found, FM_NATIVE_MODULES_MAGIC, 4) == 0;
    fm_error cause;
    fm_status status = walk_resynchronise(blocks, &lost, &cause);
    if (status != FM_OK && !fm_status_is_damage(status)) {
        *error = cause;
        return status;
    }
    /* Damage of the stream behind this one stays with the stream and is reported next. */
    bool more = blocks->filled > blocks->at || status != FM_OK || blocks->offset == blocks->limit;
    event->stored_bytes = blocks->offset - from;
    if (!more) blocks->ended = true;
    const char *after = more ? "" : "; nothing sound follows";
    if (block || modules)
        fm_fail_at(error, FM_E_CORRUPT, blocks->name, FM_PLACE_BYTE, from,
                   "%s header is damaged; %" PRIu64 " bytes were passed over%s",
                   block ? "a block's" : "the module table's", event->stored_bytes, after);
    else
        fm_fail_at(error, FM_E_CORRUPT, blocks->name, FM_PLACE_BYTE, from,
                   "expected a block or the index, found %02x %02x %02x %02x; %" PRIu64
                   " bytes were passed over%s",
                   found[0], found[1], found[2], found[3], event->stored_bytes, after);
    return fm_walk_damage(blocks, event, lost, FM_E_CORRUPT, error);
}

bool fm_walk_skips_well(fm_native_blocks *blocks, size_t payload)
{
    size_t have;
    fm_error ignored;
    if (fm_walk_need(blocks, payload + 4, &have, &ignored) != FM_OK || have < payload + 4) return true;
    size_t behind = blocks->at + payload;
    return fm_walk_begins(blocks, behind, FM_NATIVE_BLOCK_MAGIC) ||
           fm_walk_begins(blocks, behind, FM_NATIVE_INDEX_MAGIC) ||
           fm_walk_begins(blocks, behind, FM_NATIVE_MODULES_MAGIC);
}

/* ======== blocks ======== */

/*
 * The content passes through one buffer that holds the block being read. Every block header has its own
 * checksum and the number of its first reference: a sound header says how far to skip when the payload is
 * bad, and after unsound headers the next sound one says how many references are missing between.
 */

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

/* ======== the end ======== */

/*
 * What stands behind the blocks of a native trace: the module table, the index, the footer.
 * None of them is needed to read references; they are checked against what was met.
 */

/* The module table whose header is sound and in the buffer. */
static fm_status read_modules(fm_native_blocks *blocks, const fm_native_modules_header *header,
                              fm_native_event *event, fm_error *error)
{
    uint64_t lost = fm_walk_gap(blocks, header->references);
    if (lost > 0) { /* the table itself comes with the next call */
        fm_fail_at(error, FM_E_CORRUPT, blocks->name, FM_PLACE_BYTE, blocks->offset,
                   "blocks are missing before the module table: expected %" PRIu64
                   " references so far, found %" PRIu64,
                   header->references, blocks->expected - lost);
        return fm_walk_damage(blocks, event, lost, FM_E_CORRUPT, error);
    }
    size_t whole = FM_NATIVE_MODULES_FIXED + header->payload_bytes, have;
    event->stored_bytes = whole;
    fm_status status = fm_walk_need(blocks, whole, &have, error);
    if (status != FM_OK) {
        if (fm_status_is_damage(status)) fm_walk_damage(blocks, event, 0, status, error);
        blocks->ended = true;
        return status;
    }
    if (have < whole) return fm_walk_cut(blocks, event, "within its module table", 0, error);
    bool again = blocks->modules_bytes > 0, misplaced = header->references != blocks->expected;
    blocks->modules_bytes = whole;
    fm_walk_skip(blocks, FM_NATIVE_MODULES_FIXED);
    const uint8_t *payload = blocks->buffer + blocks->at;
    uint64_t checksum = XXH3_64bits(payload, header->payload_bytes);
    const char *reason = NULL;
    if (again || misplaced) {
        fm_walk_skip(blocks, header->payload_bytes);
        fm_fail_at(error, FM_E_CORRUPT, blocks->name, FM_PLACE_BYTE, event->offset,
                   again ? "there is a second module table; the first one counts"
                         : "the module table stands in the wrong place");
    } else if (checksum != header->payload_checksum) {
        fm_fail_at(error, FM_E_CORRUPT, blocks->name, FM_PLACE_BYTE, event->offset,
                   "the module table is damaged: expected checksum %016" PRIx64 ", found %016" PRIx64,
                   header->payload_checksum, checksum);
        if (fm_walk_skips_well(blocks, header->payload_bytes)) fm_walk_skip(blocks, header->payload_bytes);
    } else {
        bool good = fm_native_modules_load(payload, header->payload_bytes, header->modules, &blocks->modules,
                                           &reason);
        fm_walk_skip(blocks, header->payload_bytes);
        if (good) {
            blocks->module_count = header->modules;
            return FM_OK;
        }
        if (!reason) {
            blocks->ended = true;
            return fm_fail_memory(error, header->payload_bytes, "the module table of the trace");
        }
        fm_fail_at(error, FM_E_CORRUPT, blocks->name, FM_PLACE_BYTE, event->offset,
                   "the module table is damaged: %s", reason);
    }
    return fm_walk_damage(blocks, event, 0, FM_E_CORRUPT, error);
}

fm_status fm_walk_modules(fm_native_blocks *blocks, size_t have, fm_native_event *event, fm_error *error)
{
    fm_native_modules_header header;
    if (have < FM_NATIVE_MODULES_FIXED)
        return fm_walk_cut(blocks, event, "within its module table", 0, error);
    if (!fm_native_modules_header_load(blocks->buffer + blocks->at, &header))
        return fm_walk_stray(blocks, event, error);
    return read_modules(blocks, &header, event, error);
}

static fm_status bad_index(fm_native_blocks *blocks, fm_native_event *event, const char *reason,
                           fm_error *error)
{
    blocks->ended = true;
    fm_fail_at(error, FM_E_CORRUPT, blocks->name, FM_PLACE_BYTE, event->offset, "%s", reason);
    return fm_walk_damage(blocks, event, 0, FM_E_CORRUPT, error);
}

/* Passes over the index, however long it says it is, in small steps. *agrees: checksum and entries are good.
 */
static fm_status pass_index(fm_native_blocks *blocks, uint64_t entries, bool *whole, bool *sound,
                            bool *agrees, fm_error *error)
{
    XXH3_state_t *all = XXH3_createState(), *said = XXH3_createState();
    fm_status status = FM_OK;
    *whole = *sound = *agrees = false;
    if (!all || !said || XXH3_64bits_reset(all) == XXH_ERROR || XXH3_64bits_reset(said) == XXH_ERROR) {
        status = fm_fail_memory(error, FM_NATIVE_HASH_BYTES, "the index of the trace");
        goto out;
    }
    XXH3_64bits_update(all, blocks->buffer + blocks->at, FM_NATIVE_INDEX_FIXED);
    fm_walk_skip(blocks, FM_NATIVE_INDEX_FIXED);
    size_t have;
    while (entries > 0) {
        size_t piece = entries > 4096 ? 4096 : (size_t)entries, bytes = piece * FM_NATIVE_INDEX_ENTRY;
        status = fm_walk_need(blocks, bytes, &have, error);
        if (status != FM_OK || have < bytes) goto out;
        XXH3_64bits_update(all, blocks->buffer + blocks->at, bytes);
        XXH3_64bits_update(said, blocks->buffer + blocks->at, bytes);
        fm_walk_skip(blocks, bytes);
        entries -= piece;
    }
    status = fm_walk_need(blocks, 8, &have, error);
    if (status != FM_OK || have < 8) goto out;
    *whole = true;
    *sound = fm_load64(blocks->buffer + blocks->at) == XXH3_64bits_digest(all);
    *agrees = XXH3_64bits_digest(said) == XXH3_64bits_digest(blocks->seen);
    fm_walk_skip(blocks, 8);
out:
    XXH3_freeState(all);
    XXH3_freeState(said);
    return status;
}

fm_status fm_walk_index(fm_native_blocks *blocks, fm_native_event *event, fm_error *error)
{
    size_t have;
    fm_status status = fm_walk_need(blocks, FM_NATIVE_INDEX_FIXED, &have, error);
    if (status != FM_OK) return status;
    if (have < FM_NATIVE_INDEX_FIXED) return fm_walk_cut(blocks, event, "within its index", 0, error);
    const uint8_t *fixed = blocks->buffer + blocks->at;
    uint64_t entries = fm_load64(fixed + 8), references = fm_load64(fixed + 16);
    uint32_t modules_bytes = fm_load32(fixed + 4);
    if (!fm_walk_index_begins(fixed)) return fm_walk_stray(blocks, event, error);
    blocks->index_present = true;
    bool whole, sound, agrees;
    status = pass_index(blocks, entries, &whole, &sound, &agrees, error);
    if (status != FM_OK) return status;
    /* A count that is too large makes a sound file look cut; the blocks met tell the two apart. */
    if (!whole && entries != blocks->met && !blocks->damaged)
        return bad_index(blocks, event, "the index is damaged: it counts other blocks than there are", error);
    if (!whole) return fm_walk_cut(blocks, event, "within its index", 0, error);
    if (!sound) return bad_index(blocks, event, "the index is damaged: its checksum is wrong", error);
    uint64_t lost = fm_walk_gap(blocks, references);
    if (lost > 0 || ((!agrees || references != blocks->expected) && !blocks->damaged)) {
        bad_index(blocks, event, "the index tells of other blocks than there are", error);
        return fm_walk_damage(blocks, event, lost, FM_E_CORRUPT, error);
    }
    if (modules_bytes != blocks->modules_bytes && !blocks->damaged)
        return bad_index(blocks, event, "the index tells of another module table than there is", error);
    status = fm_walk_need(blocks, FM_NATIVE_FOOTER_SIZE + 1, &have, error);
    if (status != FM_OK) return status;
    if (have < FM_NATIVE_FOOTER_SIZE) return fm_walk_cut(blocks, event, "within its footer", 0, error);
    fm_native_footer footer;
    if (!fm_native_footer_load(blocks->buffer + blocks->at, &footer) ||
        footer.index_offset != event->offset || footer.references != references)
        return bad_index(blocks, event, "the footer behind the index is damaged", error);
    if (have > FM_NATIVE_FOOTER_SIZE)
        return bad_index(blocks, event, "something follows the end of the trace", error);
    fm_walk_skip(blocks, FM_NATIVE_FOOTER_SIZE);
    blocks->index_sound = true;
    blocks->ended = true;
    return FM_OK;
}

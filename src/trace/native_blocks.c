/* SPDX-License-Identifier: Apache-2.0 */
/*
 * native_blocks.c - see native_blocks.h.
 *
 * The content passes through one buffer that holds the block being read. Every block header has its own
 * checksum and the number of its first reference: a sound header tells how far to skip when the payload is
 * bad, and after unsound headers the next sound one tells how many references are missing between.
 */
#include "trace/native_blocks.h"

#include "base/bytes.h"
#include "base/error.h"
#include "base/memory.h"

#include <inttypes.h>
#include <stdlib.h>
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
    bool damaged;       /* some damage was told: the index cannot agree */
    bool ended, index_present, index_sound;
};

enum { FIRST_CAPACITY = 1 << 20 };

/* Makes at least `bytes` bytes of content available at `at`, if there are as many: *have tells. Failures of
 * the stream are returned when they are why there are fewer. */
static fm_status need(fm_native_blocks *blocks, size_t bytes, size_t *have, fm_error *error)
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

static void skip(fm_native_blocks *blocks, size_t bytes)
{
    blocks->at += bytes;
    blocks->offset += bytes;
}

fm_status fm_native_blocks_open(fm_native_blocks **blocks_out, fm_stream *stream, const char *name,
                                fm_native_header *header, fm_error *error)
{
    *blocks_out = NULL;
    fm_native_blocks *blocks = fm_calloc(1, sizeof *blocks);
    if (!blocks) return fm_fail_memory(error, sizeof *blocks, "a trace reader");
    blocks->stream = stream;
    blocks->name = name;
    blocks->unpacker = fm_native_unpacker_create();
    blocks->seen = XXH3_createState();
    fm_status status = FM_OK;
    if (!blocks->unpacker || !blocks->seen || XXH3_64bits_reset(blocks->seen) == XXH_ERROR ||
        fm_array_reserve((void **)&blocks->buffer, &blocks->capacity, FIRST_CAPACITY, 1) != 0)
        status = fm_fail_memory(error, FIRST_CAPACITY, "a trace reader");
    size_t have = 0;
    if (status == FM_OK) status = need(blocks, FM_NATIVE_HEADER_SIZE, &have, error);
    if (status == FM_OK) status = fm_native_header_load(blocks->buffer, have, name, header, error);
    if (status != FM_OK) {
        fm_native_blocks_close(blocks);
        return status;
    }
    blocks->columns = header->columns;
    skip(blocks, FM_NATIVE_HEADER_SIZE);
    *blocks_out = blocks;
    return FM_OK;
}

void fm_native_blocks_close(fm_native_blocks *blocks)
{
    if (!blocks) return;
    fm_native_unpacker_destroy(blocks->unpacker);
    XXH3_freeState(blocks->seen);
    free(blocks->buffer);
    free(blocks);
}

void fm_native_blocks_index(const fm_native_blocks *blocks, bool *present, bool *sound)
{
    *present = blocks->index_present;
    *sound = blocks->index_sound;
}

/* Fills in what every damage has: the number of missing references, and that the walk saw damage. */
static fm_status damage(fm_native_blocks *blocks, fm_native_event *event, uint64_t lost, fm_status status,
                        fm_error *error)
{
    blocks->damaged = true;
    event->references = lost;
    error->lost = lost;
    return status;
}

/* The content ends too early. The place is where the incomplete piece begins, as for all other damage. */
static fm_status cut(fm_native_blocks *blocks, fm_native_event *event, const char *within, uint64_t lost,
                     fm_error *error)
{
    blocks->ended = true;
    uint64_t end = blocks->offset + (blocks->filled - blocks->at);
    fm_fail_at(error, FM_E_TRUNCATED, blocks->name, FM_PLACE_BYTE, event->offset,
               "the trace ends %s, at byte %" PRIu64, within, end);
    return damage(blocks, event, lost, FM_E_TRUNCATED, error);
}

static bool begins(const fm_native_blocks *blocks, size_t at, const char *magic)
{
    return memcmp(blocks->buffer + at, magic, 4) == 0;
}

/* How many references lie between the last sound block and one that begins with number first. */
static uint64_t gap(fm_native_blocks *blocks, uint64_t first)
{
    uint64_t lost = first > blocks->expected ? first - blocks->expected : 0;
    if (lost > 0) blocks->expected = first;
    return lost;
}

/* Moves to the next sound block header or to the index; have 0 there: to the end of the content. */
static fm_status resynchronise(fm_native_blocks *blocks, uint64_t *lost, fm_error *error)
{
    size_t header = fm_native_block_header_size(blocks->columns), have;
    *lost = 0;
    skip(blocks, 1);
    for (;;) {
        fm_status status = need(blocks, header, &have, error);
        if (status != FM_OK) return status;
        const uint8_t *from = blocks->buffer + blocks->at;
        const uint8_t *found = have > 0 ? memchr(from, FM_NATIVE_BLOCK_MAGIC[0], have) : NULL;
        if (!found) {
            skip(blocks, have);
            if (have < header) return FM_OK;
            continue;
        }
        skip(blocks, (size_t)(found - from));
        status = need(blocks, header, &have, error);
        if (status != FM_OK) return status;
        fm_native_block block;
        if (have >= header && fm_native_block_load(blocks->buffer + blocks->at, blocks->columns, &block)) {
            *lost = gap(blocks, block.first_reference);
            return FM_OK;
        }
        if (have >= FM_NATIVE_INDEX_FIXED && begins(blocks, blocks->at, FM_NATIVE_INDEX_MAGIC) &&
            fm_load32(blocks->buffer + blocks->at + 4) == 0) {
            *lost = gap(blocks, fm_load64(blocks->buffer + blocks->at + 16));
            return FM_OK;
        }
        skip(blocks, 1);
    }
}

/* Neither block nor index is here: says so and goes to the next that is. */
static fm_status stray(fm_native_blocks *blocks, fm_native_event *event, fm_error *error)
{
    uint64_t from = blocks->offset, lost;
    uint8_t found[4];
    memcpy(found, blocks->buffer + blocks->at, 4);
    bool header = memcmp(found, FM_NATIVE_BLOCK_MAGIC, 4) == 0;
    fm_error cause;
    fm_status status = resynchronise(blocks, &lost, &cause);
    if (status != FM_OK && !fm_status_is_damage(status)) {
        *error = cause;
        return status;
    }
    /* Damage of the stream behind this one stays with the stream and is told next. */
    bool more = blocks->filled > blocks->at || status != FM_OK;
    event->stored_bytes = blocks->offset - from;
    if (!more) blocks->ended = true;
    const char *after = more ? "" : "; nothing sound follows";
    if (header)
        fm_fail_at(error, FM_E_CORRUPT, blocks->name, FM_PLACE_BYTE, from,
                   "a block's header is damaged; %" PRIu64 " bytes were passed over%s", event->stored_bytes,
                   after);
    else
        fm_fail_at(error, FM_E_CORRUPT, blocks->name, FM_PLACE_BYTE, from,
                   "expected a block or the index, found %02x %02x %02x %02x; %" PRIu64
                   " bytes were passed over%s",
                   found[0], found[1], found[2], found[3], event->stored_bytes, after);
    return damage(blocks, event, lost, FM_E_CORRUPT, error);
}

static void *column_of(const fm_columns *columns, unsigned column)
{
    switch (column) {
    case FM_NATIVE_ADDRESS:
        return columns->address;
    case FM_NATIVE_SIZE:
        return columns->size;
    case FM_NATIVE_KIND:
        return columns->kind;
    case FM_NATIVE_THREAD:
        return columns->thread;
    default:
        return columns->site;
    }
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

/* The payload's checksum was wrong: whether skipping it whole leads to a block or the index or the end. */
static bool skips_well(fm_native_blocks *blocks, size_t payload)
{
    size_t have;
    fm_error ignored;
    if (need(blocks, payload + 4, &have, &ignored) != FM_OK || have < payload + 4) return true;
    return begins(blocks, blocks->at + payload, FM_NATIVE_BLOCK_MAGIC) ||
           begins(blocks, blocks->at + payload, FM_NATIVE_INDEX_MAGIC);
}

/* A block whose header is sound and at hand. */
static fm_status read_block(fm_native_blocks *blocks, const fm_native_block *block, fm_columns *columns,
                            fm_native_event *event, fm_error *error)
{
    uint64_t lost = gap(blocks, block->first_reference);
    if (lost > 0) { /* the block itself comes with the next call */
        fm_fail_at(error, FM_E_CORRUPT, blocks->name, FM_PLACE_BYTE, blocks->offset,
                   "blocks are missing before this one: expected reference %" PRIu64 ", found %" PRIu64,
                   blocks->expected - lost, block->first_reference);
        return damage(blocks, event, lost, FM_E_CORRUPT, error);
    }
    size_t whole = block->header_bytes + block->payload_bytes, have;
    event->block = true;
    event->stored_bytes = whole;
    event->references = block->references;
    note_for_index(blocks, event->offset, block);
    fm_status status = need(blocks, whole, &have, error);
    if (status != FM_OK) {
        if (fm_status_is_damage(status)) damage(blocks, event, block->references, status, error);
        blocks->ended = true;
        return status;
    }
    if (have < whole) return cut(blocks, event, "within a block", block->references, error);
    skip(blocks, block->header_bytes);
    if (block->first_reference < blocks->expected) {
        skip(blocks, block->payload_bytes);
        fm_fail_at(error, FM_E_CORRUPT, blocks->name, FM_PLACE_BYTE, event->offset,
                   "a block stands in the wrong place: expected reference %" PRIu64 ", found %" PRIu64,
                   blocks->expected, block->first_reference);
        return damage(blocks, event, 0, FM_E_CORRUPT, error);
    }
    blocks->expected += block->references;
    const uint8_t *payload = blocks->buffer + blocks->at;
    uint64_t checksum = XXH3_64bits(payload, block->payload_bytes);
    const char *reason = NULL;
    if (checksum == block->payload_checksum) {
        for (size_t i = 0; i < block->part_count && !reason; i++) {
            const fm_native_part *part = &block->parts[i];
            fm_native_unpack(blocks->unpacker, payload, part, block->references,
                             column_of(columns, part->column), &reason);
            payload += part->stored_bytes;
        }
        skip(blocks, block->payload_bytes);
        if (!reason) {
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
        if (skips_well(blocks, block->payload_bytes)) skip(blocks, block->payload_bytes);
    }
    return damage(blocks, event, block->references, FM_E_CORRUPT, error);
}

static fm_status bad_index(fm_native_blocks *blocks, fm_native_event *event, const char *reason,
                           fm_error *error)
{
    blocks->ended = true;
    fm_fail_at(error, FM_E_CORRUPT, blocks->name, FM_PLACE_BYTE, event->offset, "%s", reason);
    return damage(blocks, event, 0, FM_E_CORRUPT, error);
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
    skip(blocks, FM_NATIVE_INDEX_FIXED);
    size_t have;
    while (entries > 0) {
        size_t piece = entries > 4096 ? 4096 : (size_t)entries, bytes = piece * FM_NATIVE_INDEX_ENTRY;
        status = need(blocks, bytes, &have, error);
        if (status != FM_OK || have < bytes) goto out;
        XXH3_64bits_update(all, blocks->buffer + blocks->at, bytes);
        XXH3_64bits_update(said, blocks->buffer + blocks->at, bytes);
        skip(blocks, bytes);
        entries -= piece;
    }
    status = need(blocks, 8, &have, error);
    if (status != FM_OK || have < 8) goto out;
    *whole = true;
    *sound = fm_load64(blocks->buffer + blocks->at) == XXH3_64bits_digest(all);
    *agrees = XXH3_64bits_digest(said) == XXH3_64bits_digest(blocks->seen);
    skip(blocks, 8);
out:
    XXH3_freeState(all);
    XXH3_freeState(said);
    return status;
}

static fm_status read_index(fm_native_blocks *blocks, fm_native_event *event, fm_error *error)
{
    size_t have;
    fm_status status = need(blocks, FM_NATIVE_INDEX_FIXED, &have, error);
    if (status != FM_OK) return status;
    if (have < FM_NATIVE_INDEX_FIXED) return cut(blocks, event, "within its index", 0, error);
    const uint8_t *fixed = blocks->buffer + blocks->at;
    uint64_t entries = fm_load64(fixed + 8), references = fm_load64(fixed + 16);
    if (fm_load32(fixed + 4) != 0) return stray(blocks, event, error);
    blocks->index_present = true;
    bool whole, sound, agrees;
    status = pass_index(blocks, entries, &whole, &sound, &agrees, error);
    if (status != FM_OK) return status;
    /* A count that is too large makes a sound file look cut; the blocks met tell the two apart. */
    if (!whole && entries != blocks->met && !blocks->damaged)
        return bad_index(blocks, event, "the index is damaged: it counts other blocks than there are", error);
    if (!whole) return cut(blocks, event, "within its index", 0, error);
    if (!sound) return bad_index(blocks, event, "the index is damaged: its checksum is wrong", error);
    uint64_t lost = gap(blocks, references);
    if (lost > 0 || (!agrees && !blocks->damaged)) {
        bad_index(blocks, event, "the index tells of other blocks than there are", error);
        return damage(blocks, event, lost, FM_E_CORRUPT, error);
    }
    status = need(blocks, FM_NATIVE_FOOTER_SIZE + 1, &have, error);
    if (status != FM_OK) return status;
    if (have < FM_NATIVE_FOOTER_SIZE) return cut(blocks, event, "within its footer", 0, error);
    fm_native_footer footer;
    if (!fm_native_footer_load(blocks->buffer + blocks->at, &footer) ||
        footer.index_offset != event->offset || footer.references != references)
        return bad_index(blocks, event, "the footer behind the index is damaged", error);
    if (have > FM_NATIVE_FOOTER_SIZE)
        return bad_index(blocks, event, "something follows the end of the trace", error);
    skip(blocks, FM_NATIVE_FOOTER_SIZE);
    blocks->index_sound = true;
    blocks->ended = true;
    return FM_OK;
}

fm_status fm_native_blocks_next(fm_native_blocks *blocks, fm_columns *columns, fm_native_event *event,
                                fm_error *error)
{
    columns->count = 0;
    *event = (fm_native_event){.offset = blocks->offset};
    if (blocks->ended) return FM_OK;
    size_t header = fm_native_block_header_size(blocks->columns), have;
    fm_status status = need(blocks, header, &have, error);
    if (status != FM_OK) {
        /* The stream's own damage: compressed around us. */
        blocks->ended = true;
        return status;
    }
    if (have == 0)
        return cut(blocks, event, "without an index (it was cut, or its writer was stopped)", 0, error);
    if (have < 4) return cut(blocks, event, "within a block's header", 0, error);
    if (begins(blocks, blocks->at, FM_NATIVE_INDEX_MAGIC)) {
        status = read_index(blocks, event, error);
        if (status != FM_OK && status != FM_E_CORRUPT) blocks->ended = true;
        return status;
    }
    if (begins(blocks, blocks->at, FM_NATIVE_BLOCK_MAGIC)) {
        if (have < header) return cut(blocks, event, "within a block's header", 0, error);
        fm_native_block block;
        if (fm_native_block_load(blocks->buffer + blocks->at, blocks->columns, &block))
            return read_block(blocks, &block, columns, event, error);
    }
    return stray(blocks, event, error);
}

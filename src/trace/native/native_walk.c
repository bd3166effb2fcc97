/* SPDX-License-Identifier: Apache-2.0 */
/* native_walk.c - see native_walk.h. */
#include "trace/native/native_walk.h"

#include "base/bytes.h"
#include "base/error.h"
#include "base/memory.h"

#include <inttypes.h>

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

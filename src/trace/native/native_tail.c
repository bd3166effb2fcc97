/* SPDX-License-Identifier: Apache-2.0 */
/*
 * native_tail.c - what stands behind the blocks of a native trace: the module table, the index, the footer.
 * None of them is needed to read references; they are checked against what was met.
 */
#include "trace/native/native_walk.h"

#include "base/bytes.h"
#include "base/error.h"
#include "trace/native/native_modules.h"

#include <inttypes.h>

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

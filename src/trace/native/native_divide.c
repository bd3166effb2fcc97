/* SPDX-License-Identifier: Apache-2.0 */
/* native_divide.c - parts of native traces, and blocks from any place. */
#include "base/bytes.h"
#include "base/error.h"
#include "base/memory.h"
#include "trace/format.h"
#include "trace/native/native_blocks.h"
#include "trace/native/native_layout.h"

#include <stdlib.h>
#include <xxhash.h>

/* ======== from any place ======== */

enum { FIRST_CAPACITY = 256 << 10 };

bool fm_native_header_at(const fm_input *input, unsigned columns, fm_native_place place,
                         fm_native_block *block)
{
    uint8_t bytes[FM_NATIVE_BLOCK_HEADER_MAX];
    const size_t header = fm_native_block_header_size(columns);
    const uint64_t end = input->total < input->to ? input->total : input->to;
    const uint64_t room = end > place.offset ? end - place.offset : 0;
    return room >= header && fm_input_read_at(input, bytes, header, place.offset) &&
           fm_native_block_load(bytes, columns, block) && block->first_reference == place.reference &&
           room - header >= block->payload_bytes;
}

fm_native_place fm_native_place_behind(fm_native_place place, const fm_native_block *block)
{
    return (fm_native_place){.offset = place.offset + block->header_bytes + block->payload_bytes,
                             .reference = place.reference + block->references};
}

bool fm_native_block_reader_init(fm_native_block_reader *reader)
{
    reader->unpacker = fm_native_unpacker_create();
    return reader->unpacker &&
           fm_array_reserve((void **)&reader->payload, &reader->capacity, FIRST_CAPACITY, 1) == 0;
}

void fm_native_block_reader_clear(fm_native_block_reader *reader)
{
    fm_native_unpacker_destroy(reader->unpacker);
    free(reader->payload);
    *reader = (fm_native_block_reader){0};
}

bool fm_native_block_reader_read(fm_native_block_reader *reader, const fm_input *input, fm_native_place place,
                                 const fm_native_block *block, fm_columns *columns)
{
    const char *reason;
    if (fm_array_reserve((void **)&reader->payload, &reader->capacity, block->payload_bytes, 1) != 0 ||
        !fm_input_read_at(input, reader->payload, block->payload_bytes, place.offset + block->header_bytes) ||
        XXH3_64bits(reader->payload, block->payload_bytes) != block->payload_checksum ||
        !fm_native_unpack(reader->unpacker, reader->payload, block, columns, &reason))
        return false;
    columns->count = block->references;
    return true;
}

/* ======== parts ======== */

/*
 * A walk through one part of a native trace. The index says where the blocks are, so a
 * part is found without a look at any block; it is believed only if it is sound in itself and covers the file
 * without a gap. A part that is not the last ends between two blocks, at the walk's limit, and is compared
 * there with what the index says, as the whole is at its end.
 *
 * Finding a part costs one pass over the index: 16 bytes for each block, which is 65536 references.
 */

typedef struct trace_index {
    uint8_t fixed[FM_NATIVE_INDEX_FIXED]; /* as stored */
    uint64_t offset, blocks, references, modules_bytes;
} trace_index;

/* A place between two blocks, or before the first, or behind the last. */
typedef struct block_edge {
    uint64_t blocks, references; /* before it */
    uint64_t offset;
} block_edge;

/* Which blocks are a part's: those whose middle is in its share of the references, so that each of its edges
 * is the one nearest to where the share ends. */
typedef struct block_range {
    uint64_t begin, end; /* the share: references [begin, end) */
    block_edge from, to;
} block_range;

static fm_status refuse_index(const fm_native_blocks *blocks, fm_error *error)
{
    return fm_part_refuse(blocks->name, "its index is damaged", error);
}

/* By the footer. Afterwards the index has exactly the room between its offset and the footer. */
static fm_status find_index(const fm_native_blocks *blocks, trace_index *index, fm_error *error)
{
    const fm_input *input = &blocks->stream->input;
    uint8_t end[FM_NATIVE_FOOTER_SIZE];
    fm_native_footer footer;
    if (input->total < sizeof end || !fm_input_read_at(input, end, sizeof end, input->total - sizeof end) ||
        !fm_native_footer_load(end, &footer))
        return fm_part_refuse(blocks->name,
                              "it has no index at its end (it was cut, or its writer was stopped)", error);
    uint64_t least = FM_NATIVE_INDEX_FIXED + 8 + FM_NATIVE_FOOTER_SIZE;
    if (footer.index_offset < FM_NATIVE_HEADER_SIZE || footer.index_offset > input->total ||
        input->total - footer.index_offset < least ||
        !fm_input_read_at(input, index->fixed, sizeof index->fixed, footer.index_offset) ||
        memcmp(index->fixed, FM_NATIVE_INDEX_MAGIC, 4) != 0)
        return refuse_index(blocks, error);
    uint64_t room = input->total - footer.index_offset - least;
    index->offset = footer.index_offset;
    index->modules_bytes = fm_load32(index->fixed + 4);
    index->blocks = fm_load64(index->fixed + 8);
    index->references = fm_load64(index->fixed + 16);
    if (room % FM_NATIVE_INDEX_ENTRY != 0 || index->blocks != room / FM_NATIVE_INDEX_ENTRY ||
        index->references != footer.references)
        return refuse_index(blocks, error);
    return FM_OK;
}

/* Takes the block of an entry into account; false: the entry cannot be right. */
static bool pass_entry(fm_native_blocks *blocks, const uint8_t *entry, block_edge *here, block_range *range,
                       XXH3_state_t *said)
{
    uint32_t references = fm_load32(entry + 8), whole = fm_load32(entry + 12);
    if (fm_load64(entry) != here->offset || references == 0 || references > FM_NATIVE_BLOCK_MAX ||
        whole < fm_native_block_header_size(blocks->columns))
        return false;
    uint64_t middle = here->references + references / 2;
    here->blocks++;
    here->references += references;
    here->offset += whole;
    if (middle < range->begin) {
        range->from = *here;
        XXH3_64bits_update(blocks->seen, entry, FM_NATIVE_INDEX_ENTRY);
    }
    if (middle < range->end) {
        range->to = *here;
        XXH3_64bits_update(said, entry, FM_NATIVE_INDEX_ENTRY);
    }
    return true;
}

/* all, said: states for the checksum of the index and of the entries up to range->to. The walk's `seen`
 * becomes what it would be had it met the blocks before range->from. */
static fm_status pass_index(fm_native_blocks *blocks, const trace_index *index, block_range *range,
                            XXH3_state_t *all, XXH3_state_t *said, fm_error *error)
{
    const fm_input *input = &blocks->stream->input;
    size_t most = blocks->capacity / FM_NATIVE_INDEX_ENTRY;
    uint64_t at = index->offset + FM_NATIVE_INDEX_FIXED;
    block_edge here = range->from;
    XXH3_64bits_update(all, index->fixed, sizeof index->fixed);
    while (here.blocks < index->blocks) {
        uint64_t left = index->blocks - here.blocks;
        size_t piece = left < most ? (size_t)left : most, bytes = piece * FM_NATIVE_INDEX_ENTRY;
        if (!fm_input_read_at(input, blocks->buffer, bytes, at)) return refuse_index(blocks, error);
        XXH3_64bits_update(all, blocks->buffer, bytes);
        at += bytes;
        for (size_t i = 0; i < piece; i++)
            if (!pass_entry(blocks, blocks->buffer + i * FM_NATIVE_INDEX_ENTRY, &here, range, said))
                return refuse_index(blocks, error);
    }
    uint8_t checksum[8];
    if (!fm_input_read_at(input, checksum, sizeof checksum, at) ||
        fm_load64(checksum) != XXH3_64bits_digest(all) || here.references != index->references ||
        here.offset + index->modules_bytes != index->offset)
        return refuse_index(blocks, error);
    blocks->limit_seen = XXH3_64bits_digest(said);
    return FM_OK;
}

static fm_status find_range(fm_native_blocks *blocks, const trace_index *index, block_range *range,
                            fm_error *error)
{
    XXH3_state_t *all = XXH3_createState(), *said = XXH3_createState();
    fm_status status;
    if (!all || !said || XXH3_64bits_reset(all) == XXH_ERROR || XXH3_64bits_reset(said) == XXH_ERROR)
        status = fm_fail_memory(error, FM_NATIVE_HASH_BYTES, "the index of the trace");
    else
        status = pass_index(blocks, index, range, all, said, error);
    XXH3_freeState(all);
    XXH3_freeState(said);
    return status;
}

/* For parts that do not come upon the module table. The last one does, and reports what is wrong with it;
 * here a damaged table is none. */
static fm_status look_at_modules(fm_native_blocks *blocks, const trace_index *index, fm_error *error)
{
    size_t whole = (size_t)index->modules_bytes;
    if (whole < FM_NATIVE_MODULES_FIXED || whole > FM_NATIVE_MODULES_FIXED + FM_NATIVE_MODULES_PAYLOAD_MAX)
        return FM_OK;
    if (fm_array_reserve((void **)&blocks->buffer, &blocks->capacity, whole, 1) != 0)
        return fm_fail_memory(error, whole, "the module table of the trace");
    fm_native_modules_header header;
    const uint8_t *payload = blocks->buffer + FM_NATIVE_MODULES_FIXED;
    if (!fm_input_read_at(&blocks->stream->input, blocks->buffer, whole, index->offset - whole) ||
        !fm_native_modules_header_load(blocks->buffer, &header) || header.references != index->references ||
        header.payload_bytes != whole - FM_NATIVE_MODULES_FIXED ||
        header.payload_checksum != XXH3_64bits(payload, header.payload_bytes))
        return FM_OK;
    const char *reason;
    if (fm_native_modules_load(payload, header.payload_bytes, header.modules, &blocks->modules, &reason))
        blocks->module_count = header.modules;
    else if (!reason)
        return fm_fail_memory(error, whole, "the module table of the trace");
    return FM_OK;
}

fm_status fm_native_blocks_divide(fm_native_blocks *blocks, uint32_t part, uint32_t parts,
                                  uint64_t *references, uint64_t *bytes, fm_error *error)
{
    trace_index index = {0};
    bool last = part + 1 == parts;
    blocks->at = blocks->filled = 0; /* the buffer is lent to the index and the module table */
    fm_status status = find_index(blocks, &index, error);
    if (status != FM_OK) return status;
    const block_edge first = {.offset = FM_NATIVE_HEADER_SIZE};
    block_range range = {.begin = fm_part_begin(index.references, part, parts),
                         .end = fm_part_begin(index.references, part + 1, parts),
                         .from = first,
                         .to = first};
    status = find_range(blocks, &index, &range, error);
    if (status == FM_OK && !last) status = look_at_modules(blocks, &index, error);
    if (status != FM_OK) return status;
    blocks->offset = range.from.offset;
    blocks->expected = range.from.references;
    blocks->met = range.from.blocks;
    blocks->limit = last ? UINT64_MAX : range.to.offset;
    blocks->limit_reference = range.to.references;
    uint64_t end = last ? blocks->stream->input.total : range.to.offset;
    *references = range.to.references - range.from.references;
    *bytes = end - range.from.offset;
    return fm_stream_restrict(blocks->stream, range.from.offset, end, error);
}

fm_status fm_walk_limit(fm_native_blocks *blocks, fm_native_event *event, fm_error *error)
{
    bool agrees = blocks->offset == blocks->limit && blocks->expected == blocks->limit_reference &&
                  XXH3_64bits_digest(blocks->seen) == blocks->limit_seen;
    uint64_t lost = fm_walk_gap(blocks, blocks->limit_reference);
    blocks->ended = true;
    if (lost == 0 && (agrees || blocks->damaged)) return FM_OK;
    fm_fail_at(error, FM_E_CORRUPT, blocks->name, FM_PLACE_BYTE, event->offset,
               "the index tells of other blocks than there are");
    return fm_walk_damage(blocks, event, lost, FM_E_CORRUPT, error);
}

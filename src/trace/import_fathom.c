/* SPDX-License-Identifier: Apache-2.0 */
/*
 * import_fathom.c - the native format as one of the trace formats: reading (by native_blocks.c) and
 * writing (by native_pack.c). What the bytes mean is in docs/FORMAT.md.
 */
#include "base/bytes.h"
#include "base/error.h"
#include "base/memory.h"
#include "trace/columns.h"
#include "trace/native_blocks.h"

#include <stdlib.h>
#include <xxhash.h>

/* Where the file is a plain one on disk, its end tells how many references there are. */
static void look_at_footer(fm_import *import)
{
    uint8_t bytes[FM_NATIVE_FOOTER_SIZE];
    fm_native_footer footer;
    const fm_input *input = &import->stream->input;
    if (import->stream->compression == FM_COMPRESSION_NONE && input->total >= sizeof bytes &&
        fm_input_read_at(input, bytes, sizeof bytes, input->total - sizeof bytes) &&
        fm_native_footer_load(bytes, &footer))
        import->info.references_total = footer.references;
}

static fm_status fathom_open(fm_import *import, const fm_reader_options *options, fm_error *error)
{
    (void)options;
    fm_native_header header;
    fm_native_blocks *blocks;
    fm_status status = fm_native_blocks_open(&blocks, import->stream, import->name, &header, error);
    if (status != FM_OK) return status;
    import->state = blocks;
    import->info.columns = header.columns;
    import->info.memory_addresses = header.memory_addresses;
    look_at_footer(import);
    return FM_OK;
}

static fm_status fathom_read(fm_import *import, fm_columns *columns, fm_error *error)
{
    fm_native_event event;
    return fm_native_blocks_next(import->state, columns, &event, error);
}

static void fathom_close(fm_import *import)
{
    fm_native_blocks_close(import->state);
}

/* ---- writing ---- */

typedef struct writer_state {
    fm_native_packer *packer;
    uint8_t *packed; /* a block's header and columns on their way out */
    size_t packed_size;
    uint64_t *values; /* a narrow column, widened */
    fm_columns waiting;
    uint64_t references; /* in blocks written */
    uint8_t *index;      /* entries as stored; one per block written */
    size_t index_bytes, index_capacity;
} writer_state;

static fm_status fathom_start(fm_export *export, fm_error *error)
{
    writer_state *state = export->state = fm_calloc(1, sizeof *state);
    if (!state) return fm_fail_memory(error, sizeof *state, "a trace writer");
    fm_status status = fm_columns_allocate(&state->waiting, export->columns, error);
    if (status != FM_OK) return status;
    state->packer = fm_native_packer_create(export->level);
    state->values = fm_calloc(FM_NATIVE_BLOCK_MAX, sizeof *state->values);
    state->packed_size =
        FM_NATIVE_BLOCK_HEADER_MAX + fm_native_column_count(export->columns) * fm_native_packed_most();
    state->packed = malloc(state->packed_size);
    if (!state->packer || !state->values || !state->packed)
        return fm_fail_memory(error, state->packed_size, "a trace writer");
    uint8_t header[FM_NATIVE_HEADER_SIZE];
    fm_native_header_store(header, &(fm_native_header){.columns = export->columns,
                                                       .memory_addresses = export->memory_addresses});
    return fm_sink_write(export->sink, header, sizeof header, error);
}

/* The waiting column as 64-bit numbers. */
static const uint64_t *widened(const writer_state *state, unsigned column)
{
    const fm_columns *waiting = &state->waiting;
    switch (column) {
    case FM_NATIVE_ADDRESS:
        return waiting->address;
    case FM_NATIVE_SITE:
        return waiting->site;
    case FM_NATIVE_KIND:
        for (size_t i = 0; i < waiting->count; i++) state->values[i] = waiting->kind[i];
        break;
    default: {
        const uint32_t *narrow = column == FM_NATIVE_SIZE ? waiting->size : waiting->thread;
        for (size_t i = 0; i < waiting->count; i++) state->values[i] = narrow[i];
    }
    }
    return state->values;
}

static fm_status write_block(fm_export *export, fm_error *error)
{
    writer_state *state = export->state;
    size_t count = state->waiting.count;
    if (count == 0) return FM_OK;
    if (fm_array_reserve((void **)&state->index, &state->index_capacity,
                         state->index_bytes + FM_NATIVE_INDEX_ENTRY, 1) != 0)
        return fm_fail_memory(error, state->index_bytes, "the index of the trace");
    size_t header = fm_native_block_header_size(export->columns);
    uint8_t *at = state->packed + header;
    fm_native_block block = {.references = (uint32_t)count, .first_reference = state->references};
    for (unsigned column = 0; column < FM_NATIVE_COLUMNS_MAX; column++) {
        if (column > 0 && !(export->columns & 1U << (column - 1))) continue;
        fm_native_part *part = &block.parts[block.part_count++];
        part->column = (uint8_t)column;
        at += fm_native_pack(state->packer, widened(state, column), count, part, at);
    }
    size_t whole = (size_t)(at - state->packed);
    block.payload_bytes = (uint32_t)(whole - header);
    block.payload_checksum = XXH3_64bits(state->packed + header, whole - header);
    fm_native_block_store(state->packed, &block);
    uint8_t *entry = state->index + state->index_bytes;
    fm_store64(entry, fm_sink_offset(export->sink));
    fm_store32(entry + 8, (uint32_t)count);
    fm_store32(entry + 12, (uint32_t)whole);
    fm_status status = fm_sink_write(export->sink, state->packed, whole, error);
    if (status != FM_OK) return status;
    state->index_bytes += FM_NATIVE_INDEX_ENTRY;
    state->references += count;
    state->waiting.count = 0;
    return FM_OK;
}

static fm_status fathom_write(fm_export *export, const fm_batch *batch, fm_error *error)
{
    writer_state *state = export->state;
    fm_columns *waiting = &state->waiting;
    for (size_t done = 0; done < batch->count;) {
        size_t room = FM_NATIVE_BLOCK_MAX - waiting->count, left = batch->count - done;
        size_t piece = left < room ? left : room, to = waiting->count;
        memcpy(waiting->address + to, batch->address + done, piece * sizeof *waiting->address);
        if (waiting->size) memcpy(waiting->size + to, batch->size + done, piece * sizeof *waiting->size);
        if (waiting->kind) memcpy(waiting->kind + to, batch->kind + done, piece);
        if (waiting->thread)
            memcpy(waiting->thread + to, batch->thread + done, piece * sizeof *waiting->thread);
        if (waiting->site) memcpy(waiting->site + to, batch->site + done, piece * sizeof *waiting->site);
        if (waiting->kind)
            for (size_t i = 0; i < piece; i++)
                if (waiting->kind[to + i] > FM_KIND_FETCH)
                    return fm_fail(error, FM_E_ARGUMENT, NULL, "a reference is of kind %u; expected 0 to 3",
                                   waiting->kind[to + i]);
        waiting->count += piece;
        done += piece;
        if (waiting->count == FM_NATIVE_BLOCK_MAX) {
            fm_status status = write_block(export, error);
            if (status != FM_OK) return status;
        }
    }
    return FM_OK;
}

static fm_status fathom_finish(fm_export *export, fm_error *error)
{
    writer_state *state = export->state;
    fm_status status = write_block(export, error);
    if (status != FM_OK) return status;
    fm_native_footer footer = {.index_offset = fm_sink_offset(export->sink), .references = state->references};
    uint8_t fixed[FM_NATIVE_INDEX_FIXED] = FM_NATIVE_INDEX_MAGIC, checksum[8], end[FM_NATIVE_FOOTER_SIZE];
    fm_store64(fixed + 8, state->index_bytes / FM_NATIVE_INDEX_ENTRY);
    fm_store64(fixed + 16, state->references);
    XXH3_state_t *hash = XXH3_createState();
    if (!hash) return fm_fail_memory(error, FM_NATIVE_HASH_BYTES, "the index of the trace");
    XXH3_64bits_reset(hash);
    XXH3_64bits_update(hash, fixed, sizeof fixed);
    if (state->index_bytes > 0) XXH3_64bits_update(hash, state->index, state->index_bytes);
    fm_store64(checksum, XXH3_64bits_digest(hash));
    XXH3_freeState(hash);
    fm_native_footer_store(end, &footer);
    status = fm_sink_write(export->sink, fixed, sizeof fixed, error);
    if (status == FM_OK && state->index_bytes > 0)
        status = fm_sink_write(export->sink, state->index, state->index_bytes, error);
    if (status == FM_OK) status = fm_sink_write(export->sink, checksum, sizeof checksum, error);
    if (status == FM_OK) status = fm_sink_write(export->sink, end, sizeof end, error);
    return status;
}

static void fathom_abandon(fm_export *export)
{
    writer_state *state = export->state;
    if (!state) return;
    fm_native_packer_destroy(state->packer);
    fm_columns_free(&state->waiting);
    free(state->values);
    free(state->packed);
    free(state->index);
    free(state);
}

const fm_format fm_format_fathom = {
    .info = {.name = "fathom",
             .endings = ".fathom",
             .summary = "the native format: compressed columns in checked blocks",
             .memory_addresses = true,
             .can_write = true,
             .columns = FM_COLUMN_SIZE | FM_COLUMN_KIND | FM_COLUMN_THREAD | FM_COLUMN_SITE},
    .resumes = true,
    .open = fathom_open,
    .read = fathom_read,
    .close = fathom_close,
    .start = fathom_start,
    .write = fathom_write,
    .finish = fathom_finish,
    .abandon = fathom_abandon,
};

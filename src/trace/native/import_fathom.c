/* SPDX-License-Identifier: Apache-2.0 */
/* import_fathom.c - native traces, read and checked. */
#include "base/bytes.h"
#include "base/error.h"
#include "base/memory.h"
#include "trace/format.h"
#include "trace/native/native_blocks.h"
#include "trace/native/native_layout.h"

#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

/* ======== reading ======== */

/*
 * The native format as one of the trace formats: reading (by native_blocks.c) and
 * writing (by native_encoder.c). What the bytes mean is in docs/FORMAT.md.
 */

/* Where the file is a plain one on disk, its end says how many references there are. Returns the number of
 * blocks, which follows from the room that the index has; UINT64_MAX where nobody knows. */
static uint64_t look_at_footer(fm_import *import)
{
    uint8_t bytes[FM_NATIVE_FOOTER_SIZE];
    fm_native_footer footer;
    const fm_input *input = &import->stream->input;
    if (import->stream->compression != FM_COMPRESSION_NONE || input->total < sizeof bytes ||
        !fm_input_read_at(input, bytes, sizeof bytes, input->total - sizeof bytes) ||
        !fm_native_footer_load(bytes, &footer))
        return UINT64_MAX;
    import->info.references_total = footer.references;
    const uint64_t rest = FM_NATIVE_INDEX_FIXED + 8 + FM_NATIVE_FOOTER_SIZE;
    if (footer.index_offset > input->total || input->total - footer.index_offset < rest) return UINT64_MAX;
    return (input->total - footer.index_offset - rest) / FM_NATIVE_INDEX_ENTRY;
}

/* Threads take whole blocks, from any place of the file. Standard input may be read by others too. */
static unsigned threads_for(const fm_import *import, unsigned wanted, uint64_t blocks)
{
    if (!fm_stream_at_any_place(import->stream)) return 1;
    return wanted < blocks ? wanted : (unsigned)blocks;
}

static fm_status fathom_open(fm_import *import, const fm_reader_options *options, fm_error *error)
{
    fm_native_header header;
    fm_native_blocks *blocks;
    fm_status status = fm_native_blocks_open(&blocks, import->stream, import->name, &header, error);
    if (status != FM_OK) return status;
    import->state = blocks;
    import->info.columns = header.columns;
    import->info.memory_addresses = header.memory_addresses;
    const unsigned threads = threads_for(import, options->threads, look_at_footer(import));
    import->threaded = threads > 1;
    fm_native_blocks_use_threads(blocks, threads);
    return FM_OK;
}

static fm_status fathom_divide(fm_import *import, uint32_t part, uint32_t parts, fm_error *error)
{
    return fm_native_blocks_divide(import->state, part, parts, &import->info.references_total,
                                   &import->info.bytes_total, error);
}

static fm_status fathom_share(fm_import *import, unsigned workers, fm_fetches fetches, bool sites,
                              fm_supply *supply, fm_error *error)
{
    if (!fm_stream_at_any_place(import->stream))
        return fm_fail(error, FM_E_UNSUPPORTED, import->name, "can be read in order only");
    return fm_native_blocks_share(import->state, workers, import->info.references_total, fetches, sites,
                                  supply, error);
}

static void fathom_shared(const fm_import *import, uint64_t *skipped, uint64_t *fetched)
{
    fm_native_blocks_shared(import->state, skipped, fetched);
}

static fm_status fathom_read(fm_import *import, fm_columns *columns, fm_error *error)
{
    fm_native_event event;
    bool present;
    fm_status status = fm_native_blocks_next(import->state, columns, &event, error);
    fm_native_blocks_modules(import->state, &import->modules, &import->module_count, &present);
    return status;
}

static void fathom_close(fm_import *import)
{
    fm_native_blocks_close(import->state);
}

/* ---- writing ---- */

typedef struct writer_state {
    fm_native_encoder *encoder;
    uint64_t references; /* in blocks written */
    uint8_t *index;      /* entries as stored; one per block written */
    size_t index_bytes, index_capacity;
    uint8_t *modules; /* payload of the module table; NULL: there will be none */
    size_t modules_bytes, module_count;
} writer_state;

/* A packed block goes to the file and into the index. */
static fm_status write_block(void *context, const uint8_t *block, size_t bytes, size_t references,
                             fm_error *error)
{
    fm_export *export = context;
    writer_state *state = export->state;
    if (fm_array_reserve((void **)&state->index, &state->index_capacity,
                         state->index_bytes + FM_NATIVE_INDEX_ENTRY, 1) != 0)
        return fm_fail_memory(error, state->index_bytes, "the index of the trace");
    uint8_t *entry = state->index + state->index_bytes;
    fm_store64(entry, fm_sink_offset(export->sink));
    fm_store32(entry + 8, (uint32_t)references);
    fm_store32(entry + 12, (uint32_t)bytes);
    fm_status status = fm_sink_write(export->sink, block, bytes, error);
    if (status != FM_OK) return status;
    state->index_bytes += FM_NATIVE_INDEX_ENTRY;
    state->references += references;
    return FM_OK;
}

static fm_status fathom_start(fm_export *export, fm_error *error)
{
    writer_state *state = export->state = fm_calloc(1, sizeof *state);
    if (!state) return fm_fail_memory(error, sizeof *state, "a trace writer");
    fm_status status = fm_native_encoder_create(&state->encoder, export->columns, export->level,
                                                export->threads, write_block, export, error);
    if (status != FM_OK) return status;
    uint8_t header[FM_NATIVE_HEADER_SIZE];
    fm_native_header_store(header, &(fm_native_header){.columns = export->columns,
                                                       .memory_addresses = export->memory_addresses});
    return fm_sink_write(export->sink, header, sizeof header, error);
}

static fm_status check_kinds(const uint8_t *kinds, size_t count, fm_error *error)
{
    unsigned all = 0;
    for (size_t i = 0; i < count; i++) all |= kinds[i];
    if (all <= FM_KIND_FETCH) return FM_OK;
    size_t i = 0;
    while (kinds[i] <= FM_KIND_FETCH) i++;
    return fm_fail(error, FM_E_ARGUMENT, NULL, "a reference is of kind %u; expected 0 to 3", kinds[i]);
}

static fm_status fathom_write(fm_export *export, const fm_batch *batch, fm_error *error)
{
    writer_state *state = export->state;
    for (size_t done = 0; done < batch->count;) {
        fm_columns *room = fm_native_encoder_room(state->encoder);
        size_t free_room = FM_NATIVE_BLOCK_MAX - room->count, left = batch->count - done;
        size_t piece = left < free_room ? left : free_room, to = room->count;
        memcpy(room->address + to, batch->address + done, piece * sizeof *room->address);
        if (room->size) memcpy(room->size + to, batch->size + done, piece * sizeof *room->size);
        if (room->thread) memcpy(room->thread + to, batch->thread + done, piece * sizeof *room->thread);
        if (room->site) memcpy(room->site + to, batch->site + done, piece * sizeof *room->site);
        if (room->kind) {
            fm_status status = check_kinds(batch->kind + done, piece, error);
            if (status != FM_OK) return status;
            memcpy(room->kind + to, batch->kind + done, piece);
        }
        room->count += piece;
        done += piece;
        if (room->count == FM_NATIVE_BLOCK_MAX) {
            fm_status status = fm_native_encoder_submit(state->encoder, error);
            if (status != FM_OK) return status;
        }
    }
    return FM_OK;
}

static fm_status fathom_set_modules(fm_export *export, const fm_trace_module *modules, size_t count,
                                    fm_error *error)
{
    writer_state *state = export->state;
    uint8_t *payload;
    size_t bytes;
    fm_status status = fm_native_modules_store(modules, count, &payload, &bytes, error);
    if (status != FM_OK) return status;
    free(state->modules);
    state->modules = payload;
    state->modules_bytes = bytes;
    state->module_count = count;
    return FM_OK;
}

/* *bytes: of the module table, with its header; 0: there is none. */
static fm_status write_modules(fm_export *export, uint32_t *bytes, fm_error *error)
{
    const writer_state *state = export->state;
    *bytes = 0;
    if (!state->modules) return FM_OK;
    uint8_t header[FM_NATIVE_MODULES_FIXED];
    fm_native_modules_header_store(
        header,
        &(fm_native_modules_header){.modules = (uint32_t)state->module_count,
                                    .payload_bytes = (uint32_t)state->modules_bytes,
                                    .references = state->references,
                                    .payload_checksum = XXH3_64bits(state->modules, state->modules_bytes)});
    *bytes = (uint32_t)(sizeof header + state->modules_bytes);
    fm_status status = fm_sink_write(export->sink, header, sizeof header, error);
    return status == FM_OK ? fm_sink_write(export->sink, state->modules, state->modules_bytes, error)
                           : status;
}

static fm_status write_index(fm_export *export, uint32_t modules_bytes, fm_error *error)
{
    const writer_state *state = export->state;
    fm_native_footer footer = {.index_offset = fm_sink_offset(export->sink), .references = state->references};
    uint8_t fixed[FM_NATIVE_INDEX_FIXED] = FM_NATIVE_INDEX_MAGIC, checksum[8], end[FM_NATIVE_FOOTER_SIZE];
    fm_store32(fixed + 4, modules_bytes);
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
    fm_status status = fm_sink_write(export->sink, fixed, sizeof fixed, error);
    if (status == FM_OK && state->index_bytes > 0)
        status = fm_sink_write(export->sink, state->index, state->index_bytes, error);
    if (status == FM_OK) status = fm_sink_write(export->sink, checksum, sizeof checksum, error);
    if (status == FM_OK) status = fm_sink_write(export->sink, end, sizeof end, error);
    return status;
}

static fm_status fathom_finish(fm_export *export, fm_error *error)
{
    writer_state *state = export->state;
    uint32_t modules_bytes = 0;
    fm_status status = fm_native_encoder_submit(state->encoder, error);
    if (status == FM_OK) status = fm_native_encoder_drain(state->encoder, error);
    if (status == FM_OK) status = write_modules(export, &modules_bytes, error);
    return status == FM_OK ? write_index(export, modules_bytes, error) : status;
}

static void fathom_abandon(fm_export *export)
{
    writer_state *state = export->state;
    if (!state) return;
    fm_native_encoder_destroy(state->encoder);
    free(state->index);
    free(state->modules);
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
    .divide = fathom_divide,
    .share = fathom_share,
    .shared = fathom_shared,
    .read = fathom_read,
    .close = fathom_close,
    .start = fathom_start,
    .write = fathom_write,
    .set_modules = fathom_set_modules,
    .finish = fathom_finish,
    .abandon = fathom_abandon,
};

/* ======== checking ======== */

/*
 * Verifies a stored native trace: every block is read and decoded, every damage reported, and
 * the index compared with what is there.
 */

typedef struct trace_checker {
    fm_stream *stream;
    fm_native_blocks *blocks;
    fm_columns columns;
} trace_checker;

static fm_status open_all(trace_checker *checker, const char *path, fm_check_result *result, fm_error *error)
{
    fm_native_header header = {0};
    fm_status status = fm_stream_open(&checker->stream, path, false, error);
    if (status == FM_OK)
        status = fm_native_blocks_open(&checker->blocks, checker->stream, checker->stream->input.name,
                                       &header, error);
    if (status == FM_OK) status = fm_columns_allocate(&checker->columns, header.columns, error);
    result->columns = header.columns;
    result->memory_addresses = header.memory_addresses;
    return status;
}

static fm_status check_all(const char *path, void (*visit)(void *context, const fm_block_report *report),
                           void *context, fm_check_result *result, fm_error *error)
{
    trace_checker checker = {0};
    fm_error here;
    fm_status worst = FM_OK, status = open_all(&checker, path, result, &here);
    while (status == FM_OK || fm_status_is_damage(status)) {
        if (!checker.blocks) break;
        fm_native_event event;
        status = fm_native_blocks_next(checker.blocks, &checker.columns, &event, &here);
        if (status == FM_OK && checker.columns.count == 0) break;
        bool damage = status != FM_OK;
        if (event.block) result->blocks++;
        if (damage && fm_status_is_damage(status)) {
            bool present, sound;
            fm_native_blocks_index(checker.blocks, &present, &sound);
            if (!present) result->bad_blocks++;
            result->lost += here.lost;
        }
        if (!damage) result->references += checker.columns.count;
        if (damage && worst == FM_OK) {
            worst = status;
            if (error) *error = here;
        }
        if (visit) {
            fm_block_report report = {.index = result->blocks - (event.block ? 1 : 0),
                                      .offset = event.offset,
                                      .stored_bytes = event.stored_bytes,
                                      .references = event.references,
                                      .status = status,
                                      .reason = damage ? here.reason : NULL};
            visit(context, &report);
        }
    }
    if (checker.blocks) {
        const fm_trace_module *modules;
        size_t count;
        fm_native_blocks_index(checker.blocks, &result->index_present, &result->index_sound);
        fm_native_blocks_modules(checker.blocks, &modules, &count, &result->modules_present);
        result->modules_sound = modules != NULL;
        result->modules = count;
    }
    if (checker.stream) result->stored_bytes = fm_stream_stored_offset(checker.stream);
    if (status != FM_OK && (worst == FM_OK || !fm_status_is_damage(status))) {
        worst = status; /* what kept us from going on outweighs damage */
        if (error) *error = here;
    }
    fm_native_blocks_close(checker.blocks);
    fm_stream_close(checker.stream);
    fm_columns_free(&checker.columns);
    return worst;
}

fm_status fm_trace_check_sized(size_t result_size, const char *path,
                               void (*visit)(void *context, const fm_block_report *report), void *context,
                               fm_check_result *result, fm_error *error)
{
    fm_check_result found = {0};
    fm_status status = check_all(path, visit, context, &found, error);
    fm_sized_copy(result, result_size, &found, sizeof found);
    return status;
}

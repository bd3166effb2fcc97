/* SPDX-License-Identifier: Apache-2.0 */
/* record_import.c - records of one size, and u64, which has nothing else. */
#include "trace/import/record_import.h"

#include "base/bytes.h"
#include "base/error.h"
#include "base/memory.h"
#include "trace/format.h"

#include <inttypes.h>
#include <stdlib.h>

/* ======== records ======== */

/*
 * A file whose length is no multiple of a record was cut: the bytes of
 * the record that was belong to the last part, and are left by threads to the one that reads what is left.
 */

/* Records that are read at a time. */
enum { RECORDS = 8192 };

/* What a thread reads: RECORDS of each. */
typedef struct record_worker {
    uint64_t *keys;
    uint8_t *records; /* NULL: they are keys and nothing else */
} record_worker;

/* Several threads that fetch. */
typedef struct record_share {
    const fm_record_shape *shape;
    const fm_input *input;
    uint64_t next, end; /* bytes that are to be claimed */
    uint64_t fetched;   /* references: atomic */
    unsigned workers;
    record_worker worker[];
} record_share;

typedef struct record_import {
    const fm_record_shape *shape;
    uint8_t *records;    /* as in record_worker */
    record_share *share; /* NULL: nobody fetches, or no more */
} record_import;

static bool are_keys(const fm_record_shape *shape)
{
    return shape->bytes == sizeof(uint64_t);
}

static fm_status records_reserve(uint8_t **records, const fm_record_shape *shape, fm_error *error)
{
    if (are_keys(shape)) return FM_OK;
    *records = fm_malloc_array(RECORDS, shape->bytes);
    return *records ? FM_OK : fm_fail_memory(error, RECORDS * shape->bytes, "a trace reader");
}

static void take_keys(const fm_record_shape *shape, const uint8_t *records, size_t count, uint64_t *to)
{
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    if (are_keys(shape)) return; /* they were read there */
#endif
    for (size_t i = 0; i < count; i++) to[i] = fm_load64(records + i * shape->bytes + shape->key_at);
}

fm_status fm_record_import_open(fm_import *import, const fm_record_shape *shape, fm_error *error)
{
    record_import *self = import->state = fm_calloc(1, sizeof *self);
    if (!self) return fm_fail_memory(error, sizeof *self, "a trace reader");
    self->shape = shape;
    fm_status status = records_reserve(&self->records, shape, error);
    if (status == FM_OK) return FM_OK;
    free(self);
    import->state = NULL;
    return status;
}

/* ---- several threads ---- */

static bool records_claim(void *context, uint64_t wanted, fm_trace_range *range)
{
    record_share *share = context;
    const uint64_t left = (share->end - share->next) / share->shape->bytes;
    *range = (fm_trace_range){.at = share->next, .left = wanted < left ? wanted : left};
    share->next += range->left * share->shape->bytes;
    return range->left > 0;
}

static fm_status records_fetch(void *context, unsigned worker, fm_trace_range *range, fm_batch *batch,
                               fm_error *error)
{
    record_share *share = context;
    const record_worker *self = &share->worker[worker];
    const size_t count = range->left < RECORDS ? (size_t)range->left : RECORDS,
                 bytes = count * share->shape->bytes;
    uint8_t *records = self->records ? self->records : (uint8_t *)self->keys;
    if (!fm_input_read_at(share->input, records, bytes, range->at))
        return fm_fail_at(error, FM_E_LIMIT, share->input->name, FM_PLACE_BYTE, range->at,
                          "cannot be read from here by several threads");
    take_keys(share->shape, records, count, self->keys);
    range->at += bytes;
    range->left -= count;
    __atomic_fetch_add(&share->fetched, count, __ATOMIC_RELAXED);
    *batch = (fm_batch){.count = count, .address = self->keys};
    return FM_OK;
}

static uint64_t left_of(const void *context)
{
    const record_share *share = context;
    return (share->end - share->next) / share->shape->bytes;
}

static void stop_sharing(record_import *self)
{
    record_share *share = self->share;
    if (!share) return;
    for (unsigned i = 0; i < share->workers; i++) {
        free(share->worker[i].keys);
        free(share->worker[i].records);
    }
    free(share);
    self->share = NULL;
}

fm_status fm_record_import_share(fm_import *import, unsigned workers, fm_fetches fetches, bool sites,
                                 fm_supply *supply, fm_error *error)
{
    record_import *self = import->state;
    const fm_stream *stream = import->stream;
    const fm_input *input = &stream->input;
    const size_t bytes = sizeof(record_share) + workers * sizeof(record_worker);
    (void)fetches; /* records are data, without code sites */
    (void)sites;
    if (!fm_stream_at_any_place(stream))
        return fm_fail(error, FM_E_UNSUPPORTED, import->name, "can be read in order only");
    record_share *share = self->share = fm_calloc(1, bytes);
    if (!share) return fm_fail_memory(error, bytes, "reading by several threads");
    share->shape = self->shape;
    share->input = input;
    share->next = stream->offset;
    share->end = input->to < input->total ? input->to : input->total;
    share->workers = workers;
    fm_status status = FM_OK;
    for (unsigned i = 0; i < workers && status == FM_OK; i++) {
        record_worker *worker = &share->worker[i];
        worker->keys = fm_malloc_array(RECORDS, sizeof *worker->keys);
        if (!worker->keys) status = fm_fail_memory(error, RECORDS * sizeof *worker->keys, "a trace reader");
        if (status == FM_OK) status = records_reserve(&worker->records, self->shape, error);
    }
    if (status != FM_OK) {
        stop_sharing(self);
        return status;
    }
    *supply = (fm_supply){.context = share,
                          .workers = workers,
                          .claim = records_claim,
                          .fetch = records_fetch,
                          .left = left_of};
    return FM_OK;
}

void fm_record_import_shared(const fm_import *import, uint64_t *skipped, uint64_t *fetched)
{
    const record_import *self = import->state;
    *skipped = 0;
    *fetched = self->share->fetched;
}

void fm_record_import_close(fm_import *import)
{
    record_import *self = import->state;
    if (!self) return;
    stop_sharing(self);
    free(self->records);
    free(self);
}

/* ---- one thread ---- */

/* What threads have fetched is passed over. */
static fm_status end_sharing(const fm_import *import, fm_error *error)
{
    record_import *self = import->state;
    fm_status status = self->share ? fm_stream_pass(import->stream, self->share->next, error) : FM_OK;
    stop_sharing(self);
    return status;
}

/* Bytes between the end of what there was to read and the end of the part; 0 for whole files, which end where
 * they end. */
static uint64_t missing_of_part(const fm_stream *stream)
{
    return stream->input.to == UINT64_MAX ? 0 : stream->input.to - stream->offset;
}

/* The end, behind `rest` bytes of a record; or a failure of the stream that explains them better. */
static fm_status look_at_end(const fm_import *import, size_t rest, fm_error *error)
{
    const fm_record_shape *shape = ((record_import *)import->state)->shape;
    const fm_stream *stream = import->stream;
    const uint64_t missing = missing_of_part(stream);
    char more;
    size_t none;
    if (rest == 0 && missing == 0) return FM_OK;
    fm_status status = fm_stream_read(import->stream, &more, 1, &none, error);
    if (status != FM_OK) return status;
    if (missing == 0)
        return fm_fail_at(error, FM_E_TRUNCATED, import->name, FM_PLACE_BYTE, stream->offset - rest,
                          "ends within a %s: expected %zu bytes, found %zu", shape->name, shape->bytes, rest);
    fm_fail_at(error, FM_E_TRUNCATED, import->name, FM_PLACE_BYTE, stream->offset,
               "became shorter while it was read: expected %" PRIu64 " more bytes of this part", missing);
    error->lost = (missing + rest) / shape->bytes;
    return FM_E_TRUNCATED;
}

fm_status fm_record_import_read(fm_import *import, fm_columns *columns, fm_error *error)
{
    const record_import *self = import->state;
    const fm_record_shape *shape = self->shape;
    fm_status status = end_sharing(import, error);
    while (status == FM_OK && columns->count < FM_BATCH_MAX) {
        const size_t left = FM_BATCH_MAX - columns->count,
                     wanted = (left < RECORDS ? left : RECORDS) * shape->bytes;
        uint64_t *to = columns->address + columns->count;
        uint8_t *records = self->records ? self->records : (uint8_t *)to;
        size_t got;
        status = fm_stream_read_full(import->stream, records, wanted, &got, error);
        if (status != FM_OK) break;
        take_keys(shape, records, got / shape->bytes, to);
        columns->count += got / shape->bytes;
        if (got < wanted) return look_at_end(import, got % shape->bytes, error);
    }
    return status;
}

fm_status fm_record_import_divide(fm_import *import, uint32_t part, uint32_t parts, fm_error *error)
{
    const uint64_t bytes = ((record_import *)import->state)->shape->bytes;
    const uint64_t total = import->stream->input.total, records = total / bytes;
    const uint64_t first = fm_part_begin(records, part, parts), end = fm_part_begin(records, part + 1, parts);
    const uint64_t from = first * bytes, to = part + 1 == parts ? total : end * bytes;
    import->info.references_total = end - first;
    import->info.bytes_total = to - from;
    return fm_stream_restrict(import->stream, from, to, error);
}

/* ======== u64 ======== */

/*
 * Raw traces: one little-endian 64-bit key after the other, nothing else. An empty file
 * is an empty trace. A file whose length is no multiple of 8 was cut.
 */

static fm_status u64_open(fm_import *import, const fm_reader_options *options, fm_error *error)
{
    static const fm_record_shape shape = {.bytes = sizeof(uint64_t), .name = "key"};
    (void)options;
    return fm_record_import_open(import, &shape, error);
}

static fm_status u64_write(fm_export *export, const fm_batch *batch, fm_error *error)
{
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    for (size_t i = 0; i < batch->count; i++) {
        char *room = fm_sink_room(export->sink, 8, error);
        if (!room) return error->status;
        fm_store64(room, batch->address[i]);
        fm_sink_advance(export->sink, 8);
    }
    return FM_OK;
#else
    return fm_sink_write(export->sink, batch->address, batch->count * sizeof(uint64_t), error);
#endif
}

const fm_format fm_format_u64 = {
    .info = {.name = "u64",
             .endings = ".u64",
             .summary = "raw little-endian 64-bit keys",
             .memory_addresses = false,
             .can_write = true,
             .columns = 0},
    .binary = true,
    .open = u64_open,
    .divide = fm_record_import_divide,
    .share = fm_record_import_share,
    .shared = fm_record_import_shared,
    .read = fm_record_import_read,
    .close = fm_record_import_close,
    .write = u64_write,
};

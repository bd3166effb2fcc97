/* SPDX-License-Identifier: Apache-2.0 */
/*
 * import_u64.c - raw traces: one little-endian 64-bit key after the other, nothing else. An empty file
 * is an empty trace. A file whose length is no multiple of 8 was cut.
 */
#include "base/bytes.h"
#include "base/error.h"
#include "trace/format.h"
#include "trace/part.h"

#include <inttypes.h>

/* Bytes between the end of what there was to read and the end of the part; 0 for whole files, which end where
 * they end. */
static uint64_t missing_of_part(const fm_stream *stream)
{
    return stream->input.to == UINT64_MAX ? 0 : stream->input.to - stream->offset;
}

static fm_status u64_read(fm_import *import, fm_columns *columns, fm_error *error)
{
    size_t got;
    fm_status status =
        fm_stream_read_full(import->stream, columns->address, FM_BATCH_MAX * sizeof(uint64_t), &got, error);
    if (status != FM_OK) return status;
    columns->count = got / sizeof(uint64_t);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    for (size_t i = 0; i < columns->count; i++) columns->address[i] = le64toh(columns->address[i]);
#endif
    size_t rest = got % sizeof(uint64_t);
    uint64_t missing = got < FM_BATCH_MAX * sizeof(uint64_t) ? missing_of_part(import->stream) : 0;
    if (rest == 0 && missing == 0) return FM_OK;
    /* Either the end, or a failure of the stream that explains the rest better. */
    char more;
    size_t none;
    status = fm_stream_read(import->stream, &more, 1, &none, error);
    if (status != FM_OK) return status;
    if (missing == 0)
        return fm_fail_at(error, FM_E_TRUNCATED, import->name, FM_PLACE_BYTE, import->stream->offset - rest,
                          "ends within a key: expected 8 bytes, found %zu", rest);
    fm_fail_at(error, FM_E_TRUNCATED, import->name, FM_PLACE_BYTE, import->stream->offset,
               "became shorter while it was read: expected %" PRIu64 " more bytes of this part", missing);
    error->lost = (missing + rest) / sizeof(uint64_t);
    return FM_E_TRUNCATED;
}

/* The bytes of a key that was cut belong to the last part, which reports them. */
static fm_status u64_divide(fm_import *import, uint32_t part, uint32_t parts, fm_error *error)
{
    uint64_t total = import->stream->input.total, keys = total / sizeof(uint64_t);
    uint64_t from = fm_part_begin(keys, part, parts), to = fm_part_begin(keys, part + 1, parts);
    import->info.references_total = to - from;
    from *= sizeof(uint64_t);
    to = part + 1 == parts ? total : to * sizeof(uint64_t);
    import->info.bytes_total = to - from;
    return fm_stream_restrict(import->stream, from, to, error);
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
    .divide = u64_divide,
    .read = u64_read,
    .write = u64_write,
};

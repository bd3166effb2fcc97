/* SPDX-License-Identifier: Apache-2.0 */
/*
 * import_u64.c - raw traces: one little-endian 64-bit key after the other, nothing else. An empty file
 * is an empty trace. A file whose length is no multiple of 8 was cut.
 */
#include "base/bytes.h"
#include "base/error.h"
#include "trace/format.h"

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
    if (rest == 0) return FM_OK;
    /* Either the end, or a failure of the stream that explains the rest better. */
    char more;
    size_t none;
    status = fm_stream_read(import->stream, &more, 1, &none, error);
    if (status != FM_OK) return status;
    return fm_fail_at(error, FM_E_TRUNCATED, import->name, FM_PLACE_BYTE, import->stream->offset - rest,
                      "ends within a key: expected 8 bytes, found %zu", rest);
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
    .read = u64_read,
    .write = u64_write,
};

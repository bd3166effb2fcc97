/* SPDX-License-Identifier: Apache-2.0 */
/*
 * import_u64.c - raw traces: one little-endian 64-bit key after the other, nothing else. An empty file
 * is an empty trace. A file whose length is no multiple of 8 was cut.
 */
#include "base/bytes.h"
#include "trace/import/record_import.h"

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

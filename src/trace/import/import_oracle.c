/* SPDX-License-Identifier: Apache-2.0 */
/*
 * import_oracle.c - libCacheSim's oracleGeneral: binary records of 24 bytes, little-endian:
 *
 *     time u32 | object u64 | size u32 | next access i64
 *
 * The object is the key. The size is that of a cached object, not a range of addresses, so it is left
 * out, as are the times. Read only.
 */
#include "base/bytes.h"
#include "base/error.h"
#include "base/memory.h"
#include "trace/format.h"

#include <stdlib.h>

#define RECORD ((size_t)24)
#define RECORDS ((size_t)8192)

static fm_status oracle_open(fm_import *import, const fm_reader_options *options, fm_error *error)
{
    (void)options;
    import->state = malloc(RECORD * RECORDS);
    return import->state ? FM_OK : fm_fail_memory(error, RECORD * RECORDS, "a trace reader");
}

static void oracle_close(fm_import *import)
{
    free(import->state);
}

static fm_status oracle_read(fm_import *import, fm_columns *columns, fm_error *error)
{
    const uint8_t *records = import->state;
    while (columns->count < FM_BATCH_MAX) {
        size_t got;
        fm_status status = fm_stream_read_full(import->stream, import->state, RECORD * RECORDS, &got, error);
        if (status != FM_OK || got == 0) return status;
        for (size_t at = 0; at + RECORD <= got; at += RECORD)
            columns->address[columns->count++] = fm_load64(records + at + 4);
        if (got % RECORD == 0) continue;
        char more;
        size_t none;
        status = fm_stream_read(import->stream, &more, 1, &none, error);
        if (status != FM_OK) return status;
        return fm_fail_at(error, FM_E_TRUNCATED, import->name, FM_PLACE_BYTE,
                          import->stream->offset - got % RECORD,
                          "ends within a record: expected %zu bytes, found %zu", RECORD, got % RECORD);
    }
    return FM_OK;
}

const fm_format fm_format_oracle = {
    .info = {.name = "oracle",
             .endings = ".oracleGeneral .oracleGeneral.bin .oracle",
             .summary = "libCacheSim oracleGeneral, 24-byte records; read only",
             .memory_addresses = false,
             .can_write = false,
             .columns = 0},
    .binary = true,
    .open = oracle_open,
    .read = oracle_read,
    .close = oracle_close,
};

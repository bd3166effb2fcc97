/* SPDX-License-Identifier: Apache-2.0 */
/*
 * import_oracle.c - libCacheSim's oracleGeneral: binary records of 24 bytes, little-endian:
 *
 *     time u32 | object u64 | size u32 | next access i64
 *
 * The object is the key. The size is that of a cached object, not a range of addresses, so it is left
 * out, as are the times. Read only.
 */
#include "trace/import/record_import.h"

static fm_status oracle_open(fm_import *import, const fm_reader_options *options, fm_error *error)
{
    static const fm_record_shape shape = {.bytes = 24, .key_at = 4, .name = "record"};
    (void)options;
    return fm_record_import_open(import, &shape, error);
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
    .divide = fm_record_import_divide,
    .share = fm_record_import_share,
    .shared = fm_record_import_shared,
    .read = fm_record_import_read,
    .close = fm_record_import_close,
};

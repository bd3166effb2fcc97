/* SPDX-License-Identifier: Apache-2.0 */
/*
 * record_import.h - what the formats of nothing but binary records of one size have in common: reading them
 * in order, in parts, and by several threads that each fetch their own. A format gives the shape of its
 * records.
 */
#ifndef FATHOM_TRACE_RECORD_IMPORT_H
#define FATHOM_TRACE_RECORD_IMPORT_H

#include "trace/format.h"

/* Each has a key of 8 bytes, little-endian, and what is left out. */
typedef struct fm_record_shape {
    size_t bytes, key_at;
    const char *name; /* for messages: "key" */
} fm_record_shape;

fm_status fm_record_import_open(fm_import *import, const fm_record_shape *shape, fm_error *error);
/* These are functions of fm_format. */
void fm_record_import_close(fm_import *import);
fm_status fm_record_import_divide(fm_import *import, uint32_t part, uint32_t parts, fm_error *error);
fm_status fm_record_import_share(fm_import *import, unsigned workers, fm_fetches fetches, bool sites,
                                 fm_supply *supply, fm_error *error);
void fm_record_import_shared(const fm_import *import, uint64_t *skipped, uint64_t *fetched);
fm_status fm_record_import_read(fm_import *import, fm_columns *columns, fm_error *error);

#endif

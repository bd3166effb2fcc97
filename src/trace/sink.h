/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sink.h - where a writer's bytes go: buffered, compressed where the name says so, into a file that
 * appears only when it is complete (fathom/output.h).
 */
#ifndef FATHOM_TRACE_SINK_H
#define FATHOM_TRACE_SINK_H

#include "trace/stream.h"

#include <fathom/output.h>

typedef struct fm_sink fm_sink;

/* level: of zstd or gzip; 0 the default. */
fm_status fm_sink_open(fm_sink **sink, const char *path, fm_compression compression, int level,
                       fm_error *error);
fm_status fm_sink_write(fm_sink *sink, const void *from, size_t bytes, fm_error *error);
/*
 * Room for up to bytes (at most FM_SINK_ROOM) that the caller fills in place, then gives its number to
 * fm_sink_advance: for formats that print numbers. NULL after a failure to write.
 */
#define FM_SINK_ROOM (64U << 10)
char *fm_sink_room(fm_sink *sink, size_t bytes, fm_error *error);
void fm_sink_advance(fm_sink *sink, size_t bytes);
/* Uncompressed bytes taken so far. */
uint64_t fm_sink_offset(const fm_sink *sink);
/* Everything out, checked, and the file under its name. */
fm_status fm_sink_commit(fm_sink *sink, fm_error *error);
void fm_sink_close(fm_sink *sink); /* without a commit, nothing is left behind; NULL is fine */

#endif

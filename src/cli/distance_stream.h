/* SPDX-License-Identifier: Apache-2.0 */
/*
 * distance_stream.h - a trace as a stream of blocks with their distances, for the verbs that look at single
 * ones (predict, phases).
 */
#ifndef FATHOM_CLI_DISTANCE_STREAM_H
#define FATHOM_CLI_DISTANCE_STREAM_H

#include "reading.h"

typedef struct cli_distance_stream {
    cli_reading heard; /* silent: not the first pass */
    const char *path;
    fm_reader_options reading;
    uint64_t granularity; /* 0: what suits the trace; then filled in */
    bool elements;        /* as in fm_analyzer_options */
    bool progress;
    /* Every reference in order, one for each block that an access touches; it returns FM_OK to go on. */
    fm_distance_sink take;
    void *context;
    const bool *enough; /* NULL: all of the trace; else, once it is true, the rest is only counted */
    /* Results. */
    uint64_t references;
} cli_distance_stream;

/* -1, or an exit code after a message. */
int cli_distance_stream_run(cli_distance_stream *stream);

#endif

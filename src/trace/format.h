/* SPDX-License-Identifier: Apache-2.0 */
/*
 * format.h - the one interface behind which every trace format lives.
 *
 * A format turns a stream of bytes into columns (import), and, where it can be written, batches into
 * bytes (export). It knows nothing of files, compression, threads or other formats. To add one, write
 * src/trace/import_<name>.c with an fm_format and add a line to format_table.c; docs/TRACES.md shows how.
 */
#ifndef FATHOM_TRACE_FORMAT_H
#define FATHOM_TRACE_FORMAT_H

#include "trace/sink.h"
#include "trace/stream.h"
#include "trace/supply.h"

/* Room for FM_BATCH_MAX references: what an import fills. Columns the trace lacks are NULL. */
typedef struct fm_columns {
    size_t count;
    uint64_t *address;
    uint32_t *size;
    uint8_t *kind;
    uint32_t *thread;
    uint64_t *site;
} fm_columns;

/* One open trace as its format sees it. */
typedef struct fm_import {
    fm_stream *stream;
    const char *name;   /* of the file, for messages */
    fm_trace_info info; /* the format sets columns, memory_addresses and the counts it knows of */
    void *state;        /* the format's own */
    bool threaded;      /* set in open: several threads decode ahead of read, so that no other one need to */
    bool reads_itself;  /* threads of the format read the stream, and read sets info.bytes_read */
    /* Which files lay where, for formats that store it: set by the time the end is reported. */
    const fm_trace_module *modules;
    size_t module_count;
} fm_import;

typedef struct fm_export {
    fm_sink *sink;
    unsigned columns;
    bool memory_addresses;
    int level;
    unsigned threads;
    void *state;
} fm_export;

/* In read, write and finish, error is never NULL. */
typedef struct fm_format {
    fm_format_info info;
    bool binary;  /* content may begin with any bytes, even those of a compressed file */
    bool resumes; /* read may be called again after damage and goes on behind it */

    /* Looks at the beginning and sets import->info. options are valid during this call only. May be NULL. */
    fm_status (*open)(fm_import *import, const fm_reader_options *options, fm_error *error);
    /*
     * After open: goes to part number `part` of `parts` (from 1 on), reads that only, and sets bytes_total
     * and references_total of it. The file is a regular one and not compressed. FM_E_UNSUPPORTED: this file
     * cannot be divided. NULL: none of this format can.
     */
    fm_status (*divide)(fm_import *import, uint32_t part, uint32_t parts, fm_error *error);
    /*
     * After open, before read: what fm_reader_share promises. shared reports, before the next read, what was
     * fetched. NULL, both: not for this format; and FM_E_UNSUPPORTED: not for this file.
     */
    fm_status (*share)(fm_import *import, unsigned workers, fm_fetches fetches, bool sites, fm_supply *supply,
                       fm_error *error);
    void (*shared)(const fm_import *import, uint64_t *skipped, uint64_t *fetched);
    /*
     * Fills columns and sets columns->count; FM_OK with count 0 is the end. A failure may come with
     * count > 0: those references are sound and are delivered before the failure is returned.
     */
    fm_status (*read)(fm_import *import, fm_columns *columns, fm_error *error);
    void (*close)(fm_import *import); /* frees import->state; may be NULL */

    /* Writing: NULL where the format is read only. start, finish and abandon may be NULL. */
    fm_status (*start)(fm_export *export, fm_error *error);
    fm_status (*write)(fm_export *export, const fm_batch *batch, fm_error *error);
    /* Before finish, at any time; NULL where the format has no place for modules. */
    fm_status (*set_modules)(fm_export *export, const fm_trace_module *modules, size_t count,
                             fm_error *error);
    fm_status (*finish)(fm_export *export, fm_error *error);
    void (*abandon)(fm_export *export); /* frees export->state, after finish too */
} fm_format;

extern const fm_format fm_format_u64;
extern const fm_format fm_format_text;
extern const fm_format fm_format_csv;
extern const fm_format fm_format_lackey;
extern const fm_format fm_format_din;
extern const fm_format fm_format_oracle;
extern const fm_format fm_format_fathom;

/* By the name in --format; NULL where there is none. */
const fm_format *fm_format_find(const char *name);
/* By a file's name, compression endings removed first; NULL where the ending is not known. */
const fm_format *fm_format_of_path(const char *path);
/* "u64, text, csv, …" for messages. Returns buffer. */
char *fm_format_names(char *buffer, size_t size, bool writable_only);

#endif

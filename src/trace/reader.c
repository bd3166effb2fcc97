/* SPDX-License-Identifier: Apache-2.0 */
/* reader.c - readers. */
#include "base/error.h"
#include "base/memory.h"
#include "trace/format.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* ======== columns ======== */

fm_status fm_columns_allocate(fm_columns *columns, unsigned mask, fm_error *error)
{
    memset(columns, 0, sizeof *columns);
    bool enough = (columns->address = fm_malloc_array(FM_BATCH_MAX, sizeof *columns->address)) != NULL;
    if (enough && mask & FM_COLUMN_SIZE)
        enough = (columns->size = fm_malloc_array(FM_BATCH_MAX, sizeof *columns->size)) != NULL;
    if (enough && mask & FM_COLUMN_KIND)
        enough = (columns->kind = fm_malloc_array(FM_BATCH_MAX, sizeof *columns->kind)) != NULL;
    if (enough && mask & FM_COLUMN_THREAD)
        enough = (columns->thread = fm_malloc_array(FM_BATCH_MAX, sizeof *columns->thread)) != NULL;
    if (enough && mask & FM_COLUMN_SITE)
        enough = (columns->site = fm_malloc_array(FM_BATCH_MAX, sizeof *columns->site)) != NULL;
    if (enough) return FM_OK;
    fm_columns_free(columns);
    return fm_fail_memory(error, FM_BATCH_MAX * sizeof(uint64_t), "a batch of references");
}

void fm_columns_free(fm_columns *columns)
{
    free(columns->address);
    free(columns->size);
    free(columns->kind);
    free(columns->thread);
    free(columns->site);
    memset(columns, 0, sizeof *columns);
}

void fm_columns_batch(const fm_columns *columns, fm_batch *batch)
{
    *batch = (fm_batch){.count = columns->count,
                        .address = columns->address,
                        .size = columns->size,
                        .kind = columns->kind,
                        .thread = columns->thread,
                        .site = columns->site};
}

uint64_t fm_columns_filter(fm_columns *columns, fm_fetches fetches)
{
    if (!columns->kind || fetches == FM_FETCHES_ALL) return 0;
    bool only = fetches == FM_FETCHES_ONLY;
    /* Most traces have no fetches at all. */
    if (!only && !memchr(columns->kind, FM_KIND_FETCH, columns->count)) return 0;
    size_t kept = 0;
    uint64_t skipped = 0;
    for (size_t i = 0; i < columns->count; i++) {
        bool fetch = columns->kind[i] == FM_KIND_FETCH;
        if (fetch != only) {
            skipped += fetch;
            continue;
        }
        columns->address[kept] = columns->address[i];
        columns->kind[kept] = columns->kind[i];
        if (columns->size) columns->size[kept] = columns->size[i];
        if (columns->thread) columns->thread[kept] = columns->thread[i];
        if (columns->site) columns->site[kept] = columns->site[i];
        kept++;
    }
    columns->count = kept;
    return skipped;
}

/* ======== readers ======== */

/*
 * The public reader: finds the format, opens it, on a part of the file where that is asked for,
 * delivers its batches, with or without a thread that decodes ahead (or several, where the format has them).
 *
 * A format hands over references and a failure together; here they are delivered one after the other. What a
 * format does after damage (go on or end) is stated in its fm_format.
 */

struct fm_reader {
    const fm_format *format;
    fm_import import; /* belongs to the thread while one runs */
    fm_fetches fetches;
    fm_reader_options options; /* to open it once more; its strings are the reader's own */
    bool opened;               /* format->open was called */
    bool read_ahead;
    bool finished; /* by the filler: nothing more comes from the format */
    fm_read_ahead *ahead;
    fm_slot own;         /* without a thread */
    const fm_slot *slot; /* being delivered; NULL: none */
    bool reported;       /* slot->status was returned */
    bool shared;         /* others fetch, or have fetched, most of it: see fm_reader_share */
    bool ended;
    fm_status final; /* a failure that stays */
    fm_error final_error;
    fm_trace_info info; /* as of the last delivery */
};

/* Which format it is: by word, by content, by name. */
static fm_status find_format(fm_reader *reader, const char *path, const fm_reader_options *options,
                             fm_error *error)
{
    char names[128];
    const fm_format *format = NULL;
    if (options->format) {
        format = fm_format_find(options->format);
        if (!format)
            return fm_fail(error, FM_E_ARGUMENT, NULL, "there is no trace format '%s'; expected one of %s",
                           options->format, fm_format_names(names, sizeof names, false));
    } else {
        format = fm_format_of_path(path);
    }
    fm_status status = fm_stream_open(&reader->import.stream, path, format && format->binary, error);
    if (status != FM_OK) return status;
    reader->import.name = reader->import.stream->input.name;
    status = fm_stream_use_threads(reader->import.stream, options->threads, error);
    if (status != FM_OK) return status;
    if (!options->format) {
        const uint8_t *bytes;
        size_t count;
        fm_stream_peek(reader->import.stream, &bytes, &count);
        if (count >= FM_NATIVE_MAGIC_SIZE && memcmp(bytes, FM_NATIVE_MAGIC, FM_NATIVE_MAGIC_SIZE) == 0)
            format = &fm_format_fathom;
    }
    if (!format)
        return fm_fail(error, FM_E_FORMAT, reader->import.name,
                       "neither the name nor the content tells the trace format; say it with "
                       "fm_reader_options.format NAME, one of %s",
                       fm_format_names(names, sizeof names, false));
    reader->format = format;
    return FM_OK;
}

/* Before anything is opened: opening and closing a FIFO would be noticed at its other end. */
static fm_status refuse_pipes(const char *path, fm_error *error)
{
    struct stat about;
    if (strcmp(path, "-") == 0)
        return fm_part_refuse("standard input", "that takes a regular file with a name", error);
    if (stat(path, &about) == 0 && !S_ISREG(about.st_mode) && !S_ISDIR(about.st_mode))
        return fm_part_refuse(path, "it is not a regular file", error);
    return FM_OK; /* other trouble is reported when it is opened */
}

static fm_status refuse_indivisible(const fm_reader *reader, fm_error *error)
{
    const fm_stream *stream = reader->import.stream;
    char reason[128];
    if (!stream->input.seekable)
        return fm_part_refuse(reader->import.name, "it is not a regular file", error);
    if (!reader->format->divide)
        snprintf(reason, sizeof reason, "traces of format %s are read from their beginning only",
                 reader->format->info.name);
    else if (stream->compression != FM_COMPRESSION_NONE)
        snprintf(reason, sizeof reason, "it is compressed as a whole (%s)",
                 fm_compression_name(stream->compression));
    else
        return FM_OK;
    return fm_part_refuse(reader->import.name, reason, error);
}

static fm_status open_format(fm_reader *reader, const fm_reader_options *options, fm_error *error)
{
    fm_import *import = &reader->import;
    reader->fetches = options->fetches;
    import->info.format = reader->format->info.name;
    import->info.compression = fm_compression_name(import->stream->compression);
    import->info.memory_addresses = reader->format->info.memory_addresses;
    import->info.columns = reader->format->info.columns;
    import->info.bytes_total = import->stream->input.total;
    fm_status status = options->parts > 0 ? refuse_indivisible(reader, error) : FM_OK;
    if (status != FM_OK) return status;
    reader->opened = true;
    if (reader->format->open) status = reader->format->open(import, options, error);
    if (status == FM_OK && options->parts > 0)
        status = reader->format->divide(import, options->part, options->parts, error);
    if (status != FM_OK) return status;
    reader->info = import->info;
    if (import->threaded) reader->read_ahead = false;
    return reader->read_ahead ? FM_OK
                              : fm_columns_allocate(&reader->own.columns, import->info.columns, error);
}

static fm_status keep_options(fm_reader *reader, const fm_reader_options *options, fm_error *error)
{
    fm_reader_options *kept = &reader->options;
    *kept = *options;
    kept->format = NULL; /* that is known then */
    kept->csv_key = options->csv_key ? strdup(options->csv_key) : NULL;
    kept->csv_size = options->csv_size ? strdup(options->csv_size) : NULL;
    if ((options->csv_key && !kept->csv_key) || (options->csv_size && !kept->csv_size))
        return fm_fail_memory(error, strlen(options->csv_key ? options->csv_key : ""), "a column's name");
    return FM_OK;
}

/* options->parts 0: the whole trace, which need not be divisible. */
static fm_status open_reader(fm_reader **reader_out, const char *path, const fm_reader_options *options,
                             fm_error *error)
{
    fm_status status = options->parts > 0 ? refuse_pipes(path, error) : FM_OK;
    if (status != FM_OK) return status;
    fm_reader *reader = fm_calloc(1, sizeof *reader);
    if (!reader) return fm_fail_memory(error, sizeof *reader, "a trace reader");
    reader->read_ahead = options->read_ahead;
    status = keep_options(reader, options, error);
    if (status == FM_OK) status = find_format(reader, path, options, error);
    if (status == FM_OK) status = open_format(reader, options, error);
    if (status != FM_OK) {
        fm_reader_close(reader);
        return status;
    }
    *reader_out = reader;
    return FM_OK;
}

/* What the caller chose, or what is usual. */
static fm_status reader_choose(fm_reader_options *chosen, const fm_reader_options *options,
                               size_t options_size, fm_error *error)
{
    const fm_status status =
        fm_sized_read(chosen, sizeof *chosen, options, options_size, "fm_reader_options", error);
    if (status != FM_OK) return status;
    if (chosen->csv_header == -1) chosen->csv_header = FM_CSV_HEADER_LOOK;
    const fm_status known =
        fm_check_choice(chosen->csv_header, FM_CSV_HEADER_NO, "fm_reader_options.csv_header", error);
    if (known != FM_OK) return known;
    return fm_check_choice(chosen->fetches, FM_FETCHES_ALL, "fm_reader_options.fetches", error);
}

fm_status fm_reader_open_sized(size_t options_size, fm_reader **reader, const char *path,
                               const fm_reader_options *options, fm_error *error)
{
    *reader = NULL;
    fm_reader_options chosen;
    fm_status status = reader_choose(&chosen, options, options_size, error);
    if (status != FM_OK) return status;
    if (chosen.part > 0 && chosen.part >= chosen.parts)
        return fm_fail(error, FM_E_ARGUMENT, NULL,
                       "there is no part number %" PRIu32 " of %" PRIu32 "; they are numbered from 0",
                       chosen.part, chosen.parts);
    if (chosen.parts == 1) chosen.parts = 0;
    return open_reader(reader, path, &chosen, error);
}

fm_status fm_trace_divisible_sized(size_t options_size, size_t extent_size, const char *path,
                                   const fm_reader_options *options, fm_trace_extent *extent, fm_error *error)
{
    fm_trace_extent found = {0};
    fm_reader_options all;
    fm_sized_copy(extent, extent_size, &found, sizeof found);
    fm_status status = reader_choose(&all, options, options_size, error);
    if (status != FM_OK) return status;
    all.part = 0;
    all.parts = 1;
    all.read_ahead = false;
    all.threads = 0;
    fm_reader *reader = NULL;
    status = open_reader(&reader, path, &all, error);
    if (!reader) return status;
    found.references = reader->info.references_total;
    found.bytes = reader->import.stream->input.total;
    fm_sized_copy(extent, extent_size, &found, sizeof found);
    fm_reader_close(reader);
    return FM_OK;
}

fm_status fm_reader_share(fm_reader *reader, unsigned workers, bool sites, fm_supply *supply, fm_error *error)
{
    if (!reader->format->share || reader->slot || reader->shared || workers == 0)
        return fm_fail(error, FM_E_UNSUPPORTED, reader->import.name, "can be read in order only");
    fm_status status = reader->format->share(&reader->import, workers, reader->fetches, sites, supply, error);
    reader->shared = status == FM_OK;
    if (status == FM_OK) reader->read_ahead = false; /* what is left is little */
    if (status == FM_OK && !reader->own.columns.address)
        status = fm_columns_allocate(&reader->own.columns, reader->import.info.columns, error);
    return status;
}

/* What others have fetched counts as delivered. */
static void count_shared(fm_reader *reader)
{
    uint64_t skipped, fetched;
    reader->format->shared(&reader->import, &skipped, &fetched);
    reader->import.info.fetches_skipped += skipped;
    reader->info.references += fetched;
    reader->shared = false;
}

/* The next references of the kinds asked for. A batch of nothing but what is passed over is not the end. */
static fm_status read_wanted(fm_reader *reader, fm_slot *slot)
{
    fm_import *import = &reader->import;
    fm_columns *columns = &slot->columns;
    fm_status status;
    size_t count;
    do {
        status = reader->format->read(import, columns, &slot->error);
        count = columns->count;
        import->info.fetches_skipped += fm_columns_filter(columns, reader->fetches);
    } while (status == FM_OK && count > 0 && columns->count == 0);
    return status;
}

static void reader_fill(void *context, fm_slot *slot)
{
    fm_reader *reader = context;
    fm_import *import = &reader->import;
    slot->columns.count = 0;
    slot->status = FM_OK;
    if (!reader->finished) slot->status = read_wanted(reader, slot);
    if (slot->status == FM_OK ? slot->columns.count == 0
                              : !fm_status_is_damage(slot->status) || !reader->format->resumes)
        reader->finished = true;
    if (!import->reads_itself) import->info.bytes_read = fm_stream_stored_offset(import->stream);
    slot->info = import->info;
    slot->last = reader->finished;
}

static fm_status next_slot(fm_reader *reader, fm_error *error)
{
    if (reader->shared) count_shared(reader);
    if (!reader->read_ahead) {
        reader_fill(reader, &reader->own);
        reader->slot = &reader->own;
    } else {
        if (!reader->ahead) {
            fm_status status = fm_input_allow_interrupt(&reader->import.stream->input, error);
            if (status == FM_OK)
                status = fm_read_ahead_start(&reader->ahead, reader->import.info.columns, reader_fill, reader,
                                             error);
            if (status != FM_OK) return status;
        }
        reader->slot = fm_read_ahead_next(reader->ahead);
    }
    uint64_t delivered = reader->info.references;
    reader->info = reader->slot->info;
    reader->info.references = delivered;
    reader->reported = false;
    return FM_OK;
}

fm_status fm_reader_next(fm_reader *reader, fm_batch *batch, fm_error *error)
{
    FM_REQUIRE(reader, error);
    memset(batch, 0, sizeof *batch);
    if (reader->final != FM_OK) {
        if (error) *error = reader->final_error;
        return reader->final;
    }
    for (;;) {
        const fm_slot *slot = reader->slot;
        if (slot && slot->status != FM_OK && !reader->reported) {
            reader->reported = true;
            if (error) *error = slot->error;
            if (!fm_status_is_damage(slot->status)) {
                reader->final = slot->status;
                reader->final_error = slot->error;
            }
            return slot->status;
        }
        if (slot && slot->last) reader->ended = true;
        if (reader->ended) return FM_OK;
        fm_status status = next_slot(reader, error);
        if (status != FM_OK) return status;
        if (reader->slot->columns.count > 0) {
            fm_columns_batch(&reader->slot->columns, batch);
            reader->info.references += batch->count;
            return FM_OK;
        }
    }
}

void fm_reader_info_sized(size_t info_size, const fm_reader *reader, fm_trace_info *info)
{
    fm_sized_copy(info, info_size, &reader->info, sizeof reader->info);
}

void fm_reader_modules(const fm_reader *reader, const fm_trace_module **modules, size_t *count)
{
    /* Until the end they are the thread's, where there is one. */
    *modules = reader->ended ? reader->import.modules : NULL;
    *count = reader->ended ? reader->import.module_count : 0;
}

/* All that it holds. */
static void reader_release(fm_reader *reader)
{
    if (reader->ahead) fm_input_interrupt(&reader->import.stream->input);
    fm_read_ahead_stop(reader->ahead);
    if (reader->opened && reader->format->close) reader->format->close(&reader->import);
    fm_stream_close(reader->import.stream);
    fm_columns_free(&reader->own.columns);
    free((char *)reader->options.csv_key);
    free((char *)reader->options.csv_size);
}

void fm_reader_close(fm_reader *reader)
{
    if (!reader) return;
    reader_release(reader);
    free(reader);
}

bool fm_reader_can_restart(const fm_reader *reader)
{
    const fm_input *input = &reader->import.stream->input;
    return reader->format->share && input->seekable && input->owned;
}

const char *fm_reader_name(const fm_reader *reader)
{
    return reader->import.name;
}

fm_status fm_reader_restart(fm_reader *reader, fm_error *error)
{
    char *path = strdup(reader->import.name);
    if (!path) return fm_fail_memory(error, strlen(reader->import.name) + 1, "a file name");
    fm_reader_options options = reader->options;
    options.format = reader->format->info.name;
    fm_reader *anew = NULL;
    const fm_status status = open_reader(&anew, path, &options, error);
    reader_release(reader);
    *reader = anew ? *anew : (fm_reader){.final = status};
    if (!anew && error) reader->final_error = *error;
    free(anew);
    free(path);
    return status;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* writer.c - writers. */
#include "base/error.h"
#include "base/memory.h"
#include "trace/format.h"
#include "trace/supply.h"

#include <stdlib.h>
#include <string.h>
#include <zlib.h>
#include <zstd.h>

/* ======== sinks ======== */

enum { PLAIN_CAPACITY = 256 << 10, PACKED_CAPACITY = 256 << 10 };

struct fm_sink {
    fm_output *output; /* NULL once it is committed */
    fm_compression compression;
    char *plain; /* bytes taken, not yet handed on */
    size_t filled;
    uint64_t flushed; /* uncompressed bytes handed on */
    char *packed;     /* compressed output on its way to the file */
    ZSTD_CCtx *zstd;
    z_stream gzip;
    bool gzip_ready;
};

static fm_status sink_prepare(fm_sink *sink, int level, fm_error *error)
{
    sink->plain = malloc(PLAIN_CAPACITY);
    if (!sink->plain) return fm_fail_memory(error, PLAIN_CAPACITY, "a trace writer");
    if (sink->compression == FM_COMPRESSION_NONE) return FM_OK;
    sink->packed = malloc(PACKED_CAPACITY);
    if (!sink->packed) return fm_fail_memory(error, PACKED_CAPACITY, "a trace writer");
    if (sink->compression == FM_COMPRESSION_ZSTD) {
        sink->zstd = ZSTD_createCCtx();
        if (!sink->zstd) return fm_fail_memory(error, PACKED_CAPACITY, "a zstd compressor");
        size_t result = ZSTD_CCtx_setParameter(sink->zstd, ZSTD_c_compressionLevel, level);
        if (!ZSTD_isError(result)) result = ZSTD_CCtx_setParameter(sink->zstd, ZSTD_c_checksumFlag, 1);
        if (ZSTD_isError(result))
            return fm_fail(error, FM_E_ARGUMENT, NULL, "zstd refuses level %d: %s", level,
                           ZSTD_getErrorName(result));
        return FM_OK;
    }
    int gzip_level = level <= 0 ? Z_DEFAULT_COMPRESSION : level > 9 ? 9 : level;
    if (deflateInit2(&sink->gzip, gzip_level, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) != Z_OK)
        return fm_fail_memory(error, PACKED_CAPACITY, "a gzip compressor");
    sink->gzip_ready = true;
    return FM_OK;
}

fm_status fm_sink_open(fm_sink **sink_out, const char *path, fm_compression compression, int level,
                       fm_error *error)
{
    *sink_out = NULL;
    fm_sink *sink = fm_calloc(1, sizeof *sink);
    if (!sink) return fm_fail_memory(error, sizeof *sink, "a trace writer");
    sink->compression = compression;
    fm_status status = sink_prepare(sink, level, error);
    if (status == FM_OK) status = fm_output_open(&sink->output, path, error);
    if (status != FM_OK) {
        fm_sink_close(sink);
        return status;
    }
    *sink_out = sink;
    return FM_OK;
}

static fm_status pack_zstd(fm_sink *sink, const void *from, size_t bytes, bool last, fm_error *error)
{
    ZSTD_inBuffer in = {from, bytes, 0};
    for (;;) {
        ZSTD_outBuffer out = {sink->packed, PACKED_CAPACITY, 0};
        size_t left = ZSTD_compressStream2(sink->zstd, &out, &in, last ? ZSTD_e_end : ZSTD_e_continue);
        if (ZSTD_isError(left))
            return fm_fail(error, FM_E_NOMEM, fm_output_name(sink->output), "zstd cannot compress: %s",
                           ZSTD_getErrorName(left));
        fm_status status = fm_output_write(sink->output, sink->packed, out.pos, error);
        if (status != FM_OK) return status;
        if (last ? left == 0 : in.pos == in.size) return FM_OK;
    }
}

static fm_status pack_gzip(fm_sink *sink, const void *from, size_t bytes, bool last, fm_error *error)
{
    z_stream *gzip = &sink->gzip;
    const char *next = from;
    for (;;) {
        /* zlib counts in 32 bits. */
        size_t piece = bytes > (1U << 30) ? 1U << 30 : bytes;
        gzip->next_in = (Bytef *)(uintptr_t)next;
        gzip->avail_in = (uInt)piece;
        gzip->next_out = (Bytef *)sink->packed;
        gzip->avail_out = PACKED_CAPACITY;
        int result = deflate(gzip, last && piece == bytes ? Z_FINISH : Z_NO_FLUSH);
        if (result == Z_STREAM_ERROR)
            return fm_fail(error, FM_E_IO, fm_output_name(sink->output), "gzip cannot compress");
        next += piece - gzip->avail_in;
        bytes -= piece - gzip->avail_in;
        fm_status status =
            fm_output_write(sink->output, sink->packed, PACKED_CAPACITY - gzip->avail_out, error);
        if (status != FM_OK) return status;
        if (last ? result == Z_STREAM_END : bytes == 0 && gzip->avail_out > 0) return FM_OK;
    }
}

static fm_status hand_on(fm_sink *sink, const void *from, size_t bytes, bool last, fm_error *error)
{
    sink->flushed += bytes;
    switch (sink->compression) {
    case FM_COMPRESSION_ZSTD:
        return pack_zstd(sink, from, bytes, last, error);
    case FM_COMPRESSION_GZIP:
        return pack_gzip(sink, from, bytes, last, error);
    case FM_COMPRESSION_NONE:
        break;
    }
    return fm_output_write(sink->output, from, bytes, error);
}

static fm_status sink_flush(fm_sink *sink, bool last, fm_error *error)
{
    size_t bytes = sink->filled;
    sink->filled = 0;
    return bytes > 0 || last ? hand_on(sink, sink->plain, bytes, last, error) : FM_OK;
}

fm_status fm_sink_write(fm_sink *sink, const void *from, size_t bytes, fm_error *error)
{
    if (bytes > PLAIN_CAPACITY - sink->filled) {
        fm_status status = sink_flush(sink, false, error);
        if (status != FM_OK) return status;
        if (bytes >= PLAIN_CAPACITY) return hand_on(sink, from, bytes, false, error);
    }
    memcpy(sink->plain + sink->filled, from, bytes);
    sink->filled += bytes;
    return FM_OK;
}

char *fm_sink_room(fm_sink *sink, size_t bytes, fm_error *error)
{
    if (bytes > PLAIN_CAPACITY - sink->filled && sink_flush(sink, false, error) != FM_OK) return NULL;
    return sink->plain + sink->filled;
}

void fm_sink_advance(fm_sink *sink, size_t bytes)
{
    sink->filled += bytes;
}

uint64_t fm_sink_offset(const fm_sink *sink)
{
    return sink->flushed + sink->filled;
}

fm_status fm_sink_commit(fm_sink *sink, fm_error *error)
{
    fm_status status = sink_flush(sink, true, error);
    if (status != FM_OK) return status;
    fm_output *output = sink->output;
    sink->output = NULL;
    return fm_output_commit(output, error);
}

void fm_sink_close(fm_sink *sink)
{
    if (!sink) return;
    fm_output_abandon(sink->output);
    ZSTD_freeCCtx(sink->zstd);
    if (sink->gzip_ready) deflateEnd(&sink->gzip);
    free(sink->plain);
    free(sink->packed);
    free(sink);
}

/* ======== writers ======== */

/*
 * The public writer: finds the format and compression by the name, checks what is promised,
 * and leaves the rest to the format and to the sink.
 */

struct fm_writer {
    const fm_format *format;
    fm_export export;
    fm_sink *sink;
    bool started, finished;
    fm_status failed; /* after a failure the file cannot become whole */
    fm_error error;
};

static fm_status find_format(fm_writer *writer, const char *path, const fm_writer_options *options,
                             fm_error *error)
{
    char names[128];
    const fm_format *format = options->format ? fm_format_find(options->format) : fm_format_of_path(path);
    if (!format && options->format)
        return fm_fail(error, FM_E_ARGUMENT, NULL, "there is no trace format '%s'; expected one of %s",
                       options->format, fm_format_names(names, sizeof names, true));
    if (!format)
        return fm_fail(error, FM_E_ARGUMENT, path,
                       "the name does not tell the trace format to write; expected an ending such as .fathom "
                       "or .u64, or the name of a format: %s",
                       fm_format_names(names, sizeof names, true));
    if (!format->info.can_write)
        return fm_fail(error, FM_E_ARGUMENT, path,
                       "traces of format %s can be read, not written; expected one of %s", format->info.name,
                       fm_format_names(names, sizeof names, true));
    static const struct {
        unsigned column;
        const char *name;
    } columns[] = {{FM_COLUMN_SIZE, "sizes"},
                   {FM_COLUMN_KIND, "kinds"},
                   {FM_COLUMN_THREAD, "threads"},
                   {FM_COLUMN_SITE, "code sites"}};
    unsigned known = 0;
    for (size_t i = 0; i < sizeof columns / sizeof columns[0]; i++) known |= columns[i].column;
    if (options->columns & ~known)
        return fm_fail(error, FM_E_ARGUMENT, NULL,
                       "fm_writer_options.columns: there are no columns 0x%x to store; expected some of 0x%x",
                       options->columns & ~known, known);
    for (size_t i = 0; i < sizeof columns / sizeof columns[0]; i++)
        if (options->columns & ~format->info.columns & columns[i].column)
            return fm_fail(error, FM_E_ARGUMENT, path, "traces of format %s cannot hold %s",
                           format->info.name, columns[i].name);
    if (options->level < -1 || options->level > ZSTD_maxCLevel())
        return fm_fail(error, FM_E_ARGUMENT, NULL, "compression level %d; expected -1 (none) to %d",
                       options->level, ZSTD_maxCLevel());
    writer->format = format;
    return FM_OK;
}

fm_status fm_writer_open_sized(size_t given_size, fm_writer **writer_out, const char *path,
                               const fm_writer_options *given, fm_error *error)
{
    *writer_out = NULL;
    fm_writer_options known;
    fm_status status = fm_sized_read(&known, sizeof known, given, given_size, "fm_writer_options", error);
    if (status != FM_OK) return status;
    const fm_writer_options *options = &known;
    fm_writer *writer = fm_calloc(1, sizeof *writer);
    if (!writer) return fm_fail_memory(error, sizeof *writer, "a trace writer");
    status = find_format(writer, path, options, error);
    if (status == FM_OK) {
        size_t length;
        fm_compression compression = fm_compression_of_name(path, &length);
        int level = options->level < 0 ? 0 : options->level;
        /* Compressing the native format again would only slow down its reader. */
        if (writer->format == &fm_format_fathom && compression != FM_COMPRESSION_NONE)
            status =
                fm_fail(error, FM_E_ARGUMENT, path,
                        "the native format is compressed already; expected a name without %s", path + length);
        else
            status = fm_sink_open(&writer->sink, path, compression, level, error);
    }
    if (status == FM_OK) {
        writer->export = (fm_export){.sink = writer->sink,
                                     .columns = options->columns,
                                     .memory_addresses = options->memory_addresses,
                                     .level = options->level,
                                     .threads = options->threads};
        writer->started = true;
        if (writer->format->start) status = writer->format->start(&writer->export, error);
    }
    if (status != FM_OK) {
        fm_writer_close(writer);
        return status;
    }
    *writer_out = writer;
    return FM_OK;
}

static fm_status writer_keep(fm_writer *writer, fm_status status, fm_error *error)
{
    writer->failed = status;
    if (status != FM_OK && error) *error = writer->error;
    return status;
}

fm_status fm_writer_append(fm_writer *writer, const fm_batch *batch, fm_error *error)
{
    FM_REQUIRE(writer, error);
    if (writer->failed != FM_OK) return writer_keep(writer, writer->failed, error);
    if (writer->finished)
        return fm_fail(error, FM_E_ARGUMENT, NULL, "references were appended to a trace that is finished");
    unsigned columns = writer->export.columns;
    if (batch->count > 0 &&
        (!batch->address || (columns & FM_COLUMN_SIZE && !batch->size) ||
         (columns & FM_COLUMN_KIND && !batch->kind) || (columns & FM_COLUMN_THREAD && !batch->thread) ||
         (columns & FM_COLUMN_SITE && !batch->site)))
        return fm_fail(error, FM_E_ARGUMENT, NULL, "a batch lacks a column that was promised to the writer");
    if (batch->count == 0) return FM_OK;
    return writer_keep(writer, writer->format->write(&writer->export, batch, &writer->error), error);
}

fm_status fm_writer_set_modules(fm_writer *writer, const fm_trace_module *modules, size_t count,
                                fm_error *error)
{
    FM_REQUIRE(writer, error);
    if (writer->failed != FM_OK) return writer_keep(writer, writer->failed, error);
    if (writer->finished)
        return fm_fail(error, FM_E_ARGUMENT, NULL, "modules were told of a trace that is finished");
    if (!writer->format->set_modules)
        return fm_fail(error, FM_E_UNSUPPORTED, NULL, "traces of format %s have no place for modules",
                       writer->format->info.name);
    /* The references are not touched by it: a failure here is not the file's. */
    return writer->format->set_modules(&writer->export, modules, count, error);
}

fm_status fm_writer_finish(fm_writer *writer, fm_error *error)
{
    FM_REQUIRE(writer, error);
    if (writer->failed != FM_OK) return writer_keep(writer, writer->failed, error);
    if (writer->finished) return FM_OK;
    fm_status status =
        writer->format->finish ? writer->format->finish(&writer->export, &writer->error) : FM_OK;
    if (status == FM_OK) status = fm_sink_commit(writer->sink, &writer->error);
    writer->finished = status == FM_OK;
    return writer_keep(writer, status, error);
}

void fm_writer_close(fm_writer *writer)
{
    if (!writer) return;
    if (writer->started && writer->format->abandon) writer->format->abandon(&writer->export);
    fm_sink_close(writer->sink);
    free(writer);
}

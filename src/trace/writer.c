/* SPDX-License-Identifier: Apache-2.0 */
/*
 * writer.c - the public writer: finds the format and compression by the name, checks what is promised,
 * and leaves the rest to the format and to the sink.
 */
#include "base/error.h"
#include "base/memory.h"
#include "trace/format.h"

#include <stdlib.h>
#include <string.h>
#include <zstd.h>

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

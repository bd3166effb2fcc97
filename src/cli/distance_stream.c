/* SPDX-License-Identifier: Apache-2.0 */
/* distance_stream.c - see distance_stream.h. */
#include "distance_stream.h"

static fm_status pass_on(void *context, const uint64_t *blocks, const uint64_t *distances, size_t count,
                         fm_error *error)
{
    cli_distance_stream *stream = context;
    stream->references += count;
    return stream->take(stream->context, blocks, distances, count, error);
}

static bool wants(void *context, const fm_batch *batch)
{
    cli_distance_stream *stream = context;
    if (!stream->enough || !*stream->enough) return true;
    stream->references += stream->elements ? batch->count : fm_batch_references(batch, stream->granularity);
    return false;
}

static fm_status read_all(cli_distance_stream *stream, fm_reader *reader, fm_error *error)
{
    const fm_analyze_options how = {
        .context = stream, .damage = cli_reading_damage, .progress = cli_reading_progress, .wants = wants};
    const fm_analyzer_options options = {.granularity = stream->granularity, .elements = stream->elements};
    fm_analyzer *analyzer;
    fm_status status = fm_analyzer_create(&analyzer, &options, error);
    if (status == FM_OK) status = fm_analyzer_set_sink(analyzer, pass_on, stream, error);
    cli_progress_start(&stream->heard.progress, "references", stream->progress);
    if (status == FM_OK) status = fm_analyze(reader, &analyzer, 1, &how, error);
    cli_progress_end(&stream->heard.progress);
    fm_analyzer_destroy(analyzer);
    return status;
}

int cli_distance_stream_run(cli_distance_stream *stream)
{
    fm_error error;
    fm_reader *reader;
    fm_trace_info info;
    const bool again = stream->heard.silent;
    stream->references = stream->heard.damages = stream->heard.lost = 0;
    stream->reading.read_ahead = fm_analyzer_processors() > 1;
    if (fm_reader_open(&reader, stream->path, &stream->reading, &error)) return cli_fail(&error);
    if (!again) cli_trace_key_notes(reader, stream->granularity);
    fm_reader_info(reader, &info);
    if (stream->granularity == 0) stream->granularity = info.memory_addresses ? 64 : 1;
    const int code = read_all(stream, reader, &error) ? cli_fail(&error) : -1;
    if (code < 0 && !again) cli_trace_notes(reader);
    if (code < 0 && !again) cli_trace_note_new_keys(reader);
    fm_reader_close(reader);
    return code;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* distance_stream.c - see distance_stream.h. */
#include "distance_stream.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct run {
    cli_distance_stream *stream;
    fm_reader *reader;
    fm_analyzer *analyzer;
} run;

static fm_status pass_on(void *context, const uint64_t *blocks, const uint64_t *distances, size_t count,
                         fm_error *error)
{
    cli_distance_stream *stream = context;
    stream->references += count;
    return stream->take(stream->context, blocks, distances, count, error);
}

static fm_status feed(run *self, const fm_batch *batch, fm_error *error)
{
    if (!self->stream->enough || !*self->stream->enough)
        return fm_analyzer_feed(self->analyzer, batch, error);
    self->stream->references += fm_batch_references(batch, self->stream->granularity);
    return FM_OK;
}

static void note_damage(cli_distance_stream *stream, const fm_error *error)
{
    char message[1200];
    fm_error_message(error, message, sizeof message);
    if (!stream->again) cli_complain("%s", message);
    if (!stream->incomplete) stream->first_damage = *error;
    stream->incomplete = true;
    stream->lost += error->lost;
}

static int read_all(run *self)
{
    cli_progress progress;
    fm_error error;
    fm_status status = FM_OK;
    cli_progress_start(&progress, "references", self->stream->progress);
    while (status == FM_OK) {
        fm_batch batch;
        status = fm_reader_next(self->reader, &batch, &error);
        if (fm_status_is_damage(status)) {
            note_damage(self->stream, &error);
            status = FM_OK;
            continue;
        }
        if (status || batch.count == 0) break;
        status = feed(self, &batch, &error);
        if (fm_status_is_damage(status)) { /* sizes that no trace has: what came before counts */
            snprintf(error.path, sizeof error.path, "%s", self->stream->path);
            note_damage(self->stream, &error);
            status = FM_OK;
            break;
        }
        fm_trace_info info;
        fm_reader_info(self->reader, &info);
        cli_progress_update_read(&progress, &info);
    }
    cli_progress_end(&progress);
    return status ? cli_fail(&error) : -1;
}

int cli_distance_stream_run(cli_distance_stream *stream)
{
    fm_error error;
    fm_trace_info info;
    run self = {.stream = stream};
    stream->references = stream->lost = 0;
    stream->incomplete = false;
    int code = fm_reader_open(&self.reader, stream->path, &stream->reading, &error) ? cli_fail(&error) : -1;
    if (code < 0) {
        if (!stream->again) cli_trace_key_notes(self.reader, stream->granularity);
        fm_reader_info(self.reader, &info);
        if (stream->granularity == 0) stream->granularity = info.memory_addresses ? 64 : 1;
        fm_analyzer_options options = {.granularity = stream->granularity};
        if (fm_analyzer_create(&self.analyzer, &options, &error)) code = cli_fail(&error);
    }
    if (code < 0) {
        code =
            fm_analyzer_set_sink(self.analyzer, pass_on, stream, &error) ? cli_fail(&error) : read_all(&self);
    }
    if (code < 0 && !stream->again) cli_trace_notes(self.reader);
    fm_analyzer_destroy(self.analyzer);
    fm_reader_close(self.reader);
    return code;
}

int cli_distance_stream_mark(const cli_distance_stream *stream, fm_profile *profile)
{
    if (!stream->incomplete) return -1;
    char message[1200], both[2600];
    fm_error_message(&stream->first_damage, message, sizeof message);
    snprintf(both, sizeof both, "%s%s%s", profile->what_missing ? profile->what_missing : "",
             profile->what_missing ? "; " : "", message);
    char *what = strdup(both);
    if (!what) {
        cli_complain("out of memory");
        return CLI_FAILED;
    }
    free(profile->what_missing);
    profile->what_missing = what;
    profile->complete = false;
    profile->lost += stream->lost;
    return -1;
}

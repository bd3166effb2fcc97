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
    unsigned shift;
    uint64_t *blocks;
    size_t delivered; /* of the blocks that were fed last */
} run;

static fm_status pass_on(void *context, const uint64_t *distances, size_t count, fm_error *error)
{
    run *self = context;
    const uint64_t *blocks = self->blocks + self->delivered;
    self->delivered += count;
    return self->stream->take(self->stream->context, blocks, distances, count, error);
}

static bool is_enough(const run *self)
{
    return self->stream->enough && *self->stream->enough;
}

static fm_status feed_blocks(run *self, size_t count, fm_error *error)
{
    self->stream->references += count;
    if (is_enough(self)) return FM_OK;
    self->delivered = 0;
    return fm_analyzer_feed_blocks(self->analyzer, self->blocks, count, error);
}

/* An access that straddles blocks is one reference to each of them, in ascending order; none reaches beyond
 * the last address. As fm_analyzer_feed has it. */
static fm_status feed(run *self, const fm_batch *batch, fm_error *error)
{
    size_t count = 0;
    for (size_t i = 0; i < batch->count; i++) {
        const uint64_t address = batch->address[i];
        const uint64_t more = batch->size && batch->size[i] > 1 ? batch->size[i] - 1 : 0;
        const uint64_t end = address > UINT64_MAX - more ? UINT64_MAX : address + more;
        const uint64_t first = address >> self->shift, last = end >> self->shift;
        if (is_enough(self)) {
            self->stream->references += last - first + 1;
            continue;
        }
        for (uint64_t block = first;; block++) {
            if (count == FM_BATCH_MAX) {
                fm_status status = feed_blocks(self, count, error);
                if (status != FM_OK) return status;
                count = 0;
            }
            self->blocks[count++] = block;
            if (block == last) break;
        }
    }
    return feed_blocks(self, count, error);
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
            char message[1200];
            fm_error_message(&error, message, sizeof message);
            if (!self->stream->again) cli_complain("%s", message);
            if (!self->stream->incomplete) self->stream->first_damage = error;
            self->stream->incomplete = true;
            self->stream->lost += error.lost;
            status = FM_OK;
            continue;
        }
        if (status || batch.count == 0) break;
        status = feed(self, &batch, &error);
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
    run self = {.stream = stream, .blocks = malloc(FM_BATCH_MAX * sizeof *self.blocks)};
    stream->references = stream->lost = 0;
    stream->incomplete = false;
    if (!self.blocks) {
        cli_complain("out of memory");
        return CLI_FAILED;
    }
    int code = fm_reader_open(&self.reader, stream->path, &stream->reading, &error) ? cli_fail(&error) : -1;
    if (code < 0) {
        if (!stream->again) cli_trace_key_notes(self.reader, stream->granularity);
        fm_reader_info(self.reader, &info);
        if (stream->granularity == 0) stream->granularity = info.memory_addresses ? 64 : 1;
        self.shift = (unsigned)__builtin_ctzll(stream->granularity);
        fm_analyzer_options options = {0};
        if (fm_analyzer_create(&self.analyzer, &options, &error)) code = cli_fail(&error);
    }
    if (code < 0) {
        fm_analyzer_set_sink(self.analyzer, pass_on, &self);
        code = read_all(&self);
    }
    if (code < 0 && !stream->again) cli_trace_notes(self.reader);
    fm_analyzer_destroy(self.analyzer);
    fm_reader_close(self.reader);
    free(self.blocks);
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

/* SPDX-License-Identifier: Apache-2.0 */
/* line_import.c - see line_import.h. */
#include "trace/lines/line_import.h"

#include "base/error.h"
#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

/* The first two lines into the buffer, or one of a pipe, whose writer may take its time. A failure is met
 * again when lines are read. */
static void look_at_beginning(fm_lines *lines)
{
    fm_error error;
    fm_status status = fm_lines_more(lines, &error);
    while (status == FM_OK && lines->stream->input.seekable && !lines->ended &&
           !memchr(lines->buffer + lines->at, '\n', lines->whole - lines->at - 1))
        status = fm_lines_more_of(lines, lines->whole, &error);
}

fm_status fm_line_import_open(fm_import *import, size_t size, fm_line_parser parser,
                              const fm_reader_options *options, fm_error *error)
{
    fm_line_import *self = import->state = fm_calloc(1, size);
    if (!self) return fm_fail_memory(error, size, "a trace reader");
    self->parser = parser;
    self->threads = options->threads < FM_LINE_THREADS_MOST ? options->threads : FM_LINE_THREADS_MOST;
    import->threaded = self->threads > 1;
    self->alone = !import->threaded;
    const fm_status status = fm_lines_open(&self->lines, import->stream, import->name, parser.quotes, error);
    if (status == FM_OK) look_at_beginning(&self->lines);
    if (self->lines.ends == FM_LINE_ENDS_RETURN) { /* pieces know line feeds only */
        self->alone = true;
        import->threaded = false;
    }
    return status;
}

void fm_line_import_close(fm_import *import)
{
    fm_line_import *self = import->state;
    if (!self) return;
    fm_line_ahead_stop(self->ahead);
    fm_line_share_stop(self->share);
    fm_lines_close(&self->lines);
    fm_string_keys_free(&self->strings);
    fm_string_list_free(&self->seen);
    free(self);
    import->state = NULL;
}

/* By one thread: until there is a batch of references, or no more; or, where others read on, no more in the
 * buffer. */
static fm_status read_alone(fm_line_import *self, fm_columns *columns, fm_error *error)
{
    fm_lines *lines = &self->lines;
    bool unfinished = false;
    columns->count = 0;
    while (columns->count < FM_BATCH_MAX) {
        if (lines->at == lines->whole && columns->count > 0 && !self->alone) break;
        if (lines->at == lines->whole || unfinished) {
            const size_t before = lines->whole - lines->at;
            fm_status status = fm_lines_more(lines, error);
            if (status != FM_OK) return status;
            if (lines->whole == before && unfinished)
                return fm_fail_at(error, FM_E_FORMAT, lines->name, FM_PLACE_LINE, lines->line,
                                  "a quoted field is not closed before the end of the file");
            if (lines->whole == before) break; /* nothing came */
        }
        fm_line_window window = {.at = lines->buffer + lines->at,
                                 .end = lines->buffer + lines->whole,
                                 .line = lines->line,
                                 .name = lines->name,
                                 .strings = &self->seen};
        fm_status status = self->parser.parse(self->parser.settings, &window, columns, error);
        unfinished = window.unfinished;
        lines->at = (size_t)(window.at - lines->buffer);
        lines->line = window.line;
        if (status != FM_OK) return status;
    }
    return FM_OK;
}

/* By several. *over: there are no references to be had in this way any more. */
static fm_status read_ahead(fm_import *import, fm_columns *columns, bool *over, fm_error *error)
{
    fm_line_import *self = import->state;
    fm_status status = FM_OK;
    if (!self->ahead)
        status = fm_line_ahead_start(&self->ahead, &self->lines, &self->parser, import->info.columns,
                                     self->threads, error);
    import->reads_itself = status == FM_OK;
    do {
        if (status != FM_OK) return status;
        status = fm_line_ahead_next(self->ahead, columns, &self->seen, &import->info.bytes_read, over, error);
    } while (!*over && (columns->count == 0 || status != FM_OK));
    if (!*over) return status;
    import->reads_itself = false;
    self->alone = true;
    status = fm_line_ahead_rest(self->ahead, &self->lines, error);
    fm_line_ahead_stop(self->ahead);
    self->ahead = NULL;
    return status;
}

static fm_status read_references(fm_import *import, fm_columns *columns, fm_error *error)
{
    fm_line_import *self = import->state;
    if (self->share) {
        fm_status status = fm_line_share_rest(self->share, &self->lines, error);
        fm_line_share_stop(self->share);
        self->share = NULL;
        self->alone = true;
        if (status != FM_OK) return status;
    }
    /* What is in the buffer comes first. */
    if (!self->alone && self->lines.at == self->lines.whole && !self->lines.ended) {
        bool over;
        fm_status status = read_ahead(import, columns, &over, error);
        if (status != FM_OK || !over) return status;
    }
    return read_alone(self, columns, error);
}

fm_status fm_line_import_read(fm_import *import, fm_columns *columns, fm_error *error)
{
    fm_line_import *self = import->state;
    fm_error other;
    columns->count = 0;
    fm_status status = read_references(import, columns, error);
    fm_status noted = fm_string_keys_note_all(&self->strings, &self->seen, status == FM_OK ? error : &other);
    import->info.string_keys = self->strings.used;
    import->info.string_collisions = self->strings.collisions;
    return status == FM_OK ? noted : status;
}

fm_status fm_line_import_share(fm_import *import, unsigned workers, fm_fetches fetches, bool sites,
                               fm_supply *supply, fm_error *error)
{
    fm_line_import *self = import->state;
    (void)sites; /* lines have none */
    return fm_line_share_start(&self->share, &self->lines, &self->parser, import->info.columns, workers,
                               fetches, supply, error);
}

void fm_line_import_shared(const fm_import *import, uint64_t *skipped, uint64_t *fetched)
{
    const fm_line_import *self = import->state;
    fm_line_share_counts(self->share, skipped, fetched);
}

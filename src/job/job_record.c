/* SPDX-License-Identifier: Apache-2.0 */
/*
 * job_record.c - a program that is run, and whose references are stored in the native format, to be analysed
 * later and as often as one likes. Each process has a file of its own: the first the one that was named, the
 * others the same name with their process number in it.
 */
#define _GNU_SOURCE /* asprintf */
#include "job/job_internal.h"

#include "base/error.h"
#include "base/memory.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct fm_job_recording {
    fm_record_options options;
    char *command;       /* the program, as it was named */
    fm_writer **writers; /* by process */
    char **paths;
    size_t count;
};

enum { COLUMNS = FM_COLUMN_SIZE | FM_COLUMN_KIND | FM_COLUMN_THREAD | FM_COLUMN_SITE };

void fm_job_recording_destroy(struct fm_job_recording *recording)
{
    if (!recording) return;
    for (size_t i = 0; i < recording->count; i++) {
        fm_writer_close(recording->writers[i]);
        free(recording->paths[i]);
    }
    free(recording->command);
    free(recording->writers);
    free(recording->paths);
    free(recording);
}

/* same: how many processes had that number, with this one. */
static char *process_path(const char *named, uint32_t pid, unsigned same)
{
    const char *slash = strrchr(named, '/'), *dot = strchr(slash ? slash : named, '.');
    const int stem = dot ? (int)(dot - named) : (int)strlen(named);
    char *path, which[16] = "";
    if (same > 1) snprintf(which, sizeof which, "-%u", same);
    return asprintf(&path, "%.*s.%" PRIu32 "%s%s", stem, named, pid, which, dot ? dot : "") < 0 ? NULL : path;
}

/* "run.fathom" for the first process, "run.1234.fathom" for process 1234; a process after exec has the same
 * number as before: "run.1234-2.fathom". */
static char *path_of(const fm_job *job, size_t index)
{
    const char *named = job->recording->options.path;
    if (index == 0) return strdup(named);
    fm_collected_process process, other;
    fm_collection_process(job->collection, index, &process);
    unsigned same = 0;
    for (size_t i = 0; i < index; i++) {
        fm_collection_process(job->collection, i, &other);
        same += other.pid == process.pid;
    }
    char *path = NULL;
    do {
        free(path);
        path = process_path(named, process.pid, ++same);
    } while (path && !job->recording->options.overwrite &&
             access(path, F_OK) == 0); /* a trace of a process of long ago */
    return path;
}

static fm_status open_writer(fm_job *job, fm_error *error)
{
    enum { MOST_WRITING = 8 };
    struct fm_job_recording *self = job->recording;
    fm_writer **writers = realloc(self->writers, (self->count + 1) * sizeof *writers);
    if (writers) self->writers = writers;
    char **paths = realloc(self->paths, (self->count + 1) * sizeof *paths);
    if (paths) self->paths = paths;
    char *path = writers && paths ? path_of(job, self->count) : NULL;
    if (!path) return fm_fail_memory(error, (self->count + 1) * sizeof *paths, "a trace");
    self->writers[self->count] = NULL;
    self->paths[self->count++] = path;
    const unsigned processors = fm_analyzer_processors();
    const fm_writer_options options = {.format = fm_format_of_name(path) ? NULL : "fathom",
                                       .columns = COLUMNS,
                                       .memory_addresses = true,
                                       .threads = processors < MOST_WRITING ? processors : MOST_WRITING,
                                       .level = self->options.level};
    return fm_writer_open(&self->writers[self->count - 1], path, &options, error);
}

static fm_status store_collected(void *context, const fm_collected *collected, fm_error *error)
{
    fm_job *job = context;
    struct fm_job_recording *self = job->recording;
    fm_error failure;
    fm_status status = FM_OK;
    while (status == FM_OK && self->count <= collected->process) status = open_writer(job, &failure);
    if (status == FM_OK && collected->event == FM_COLLECTED_REFERENCES)
        status = fm_writer_append(self->writers[collected->process], &collected->batch, &failure);
    if (status == FM_OK) return FM_OK;
    /* Whoever looks for the reason why the program is gone finds it here. */
    if (job->options.failed) job->options.failed(job->options.context, &failure);
    fm_job_warn(
        job, "%s was ended for that: its references could no longer be stored; nothing of the trace is left",
        self->command);
    if (error) *error = failure;
    return status;
}

static fm_status finish_writer(fm_job *job, size_t index, fm_error *error)
{
    fm_writer *writer = job->recording->writers[index];
    const size_t count = fm_collection_modules(job->collection, index, NULL, 0);
    fm_trace_module *modules = fm_calloc(count + 1, sizeof *modules);
    if (!modules) return fm_fail_memory(error, (count + 1) * sizeof *modules, "modules of a trace");
    fm_collection_modules(job->collection, index, modules, count);
    fm_status status = fm_writer_set_modules(writer, modules, count, error);
    free(modules);
    return status == FM_OK ? fm_writer_finish(writer, error) : status;
}

static fm_status record_program(fm_job *job, const fm_collect_options *program, fm_error *error)
{
    /* Before the program starts: a name that cannot be written is refused at once. */
    fm_status status = open_writer(job, error);
    if (status == FM_OK) status = fm_collection_start(&job->collection, program, error);
    if (status == FM_OK) status = fm_job_receive(job, program, store_collected, job, error);
    for (size_t i = 0; status == FM_OK && i < job->recording->count; i++)
        status = finish_writer(job, i, error);
    return status;
}

fm_status fm_job_record_sized(size_t options_size, size_t program_size, fm_job *job,
                              const fm_record_options *options, const fm_collect_options *program,
                              fm_error *error)
{
    fm_collect_options own;
    FM_REQUIRE(job, error);
    fm_status status = fm_job_begin_program(job, FM_JOB_RECORDING, &own, program, program_size, error);
    if (status != FM_OK) return status;
    struct fm_job_recording *self = job->recording = fm_calloc(1, sizeof *self);
    if (!self) return fm_fail_memory(error, sizeof *self, "a recording");
    status = fm_sized_read(&self->options, sizeof self->options, options, options ? options_size : 0,
                           "fm_record_options", error);
    if (status == FM_OK && !self->options.path)
        status = fm_fail(error, FM_E_ARGUMENT, NULL, "fm_record_options.path: where to?");
    if (status != FM_OK) return status;
    self->command = strdup(own.command[0]);
    if (!self->command) return fm_fail_memory(error, strlen(own.command[0]), "a name");
    fm_job_note_program(job, &own);
    own.columns = COLUMNS;
    status = record_program(job, &own, error);
    fm_job_find_end(job);
    return status;
}

void fm_job_show_recording(const fm_job *job, FILE *out, const fm_view_options *view)
{
    const struct fm_job_recording *self = job->recording;
    for (size_t i = 0; i < self->count; i++) {
        char ending[FM_JOB_ENDING];
        fm_collected_process process;
        fm_collection_process(job->collection, i, &process);
        const bool was = process.given_up || (process.ended && process.signal);
        const bool known = was || process.ended || process.became;
        fm_view_text(out, self->paths[i], view);
        fprintf(out, ": %" PRIu64 " accesses of process %" PRIu32 " (", process.references, process.pid);
        fm_view_text(out, process.program ? process.program : self->command, view);
        fprintf(out, "), %s %s\n",
                was     ? "which was"
                : known ? "which"
                        : "whose end is",
                fm_job_ending_text(&process, ending, sizeof ending));
    }
}

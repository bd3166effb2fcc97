/* SPDX-License-Identifier: Apache-2.0 */
/*
 * job.c - the handle of a job: its analysis, who listens to it, how many threads it has, and the words for a
 * program that ran. It joins rooms; it computes nothing itself.
 */
#define _GNU_SOURCE /* sigabbrev_np */
#include "job/job_internal.h"

#include "base/error.h"
#include "base/memory.h"

#include <inttypes.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

/* What the program needs beside the analyzers: itself, the reader's buffers. */
#define PROGRAM_MEMORY (UINT64_C(16) << 20)

/* ---- the handle ---- */

static fm_status job_take_options(fm_job *job, fm_error *error)
{
    const fm_job_options *given = &job->options;
    if (given->granularity_count > FM_JOB_GRANULARITIES || given->cache_count > FM_JOB_CACHES)
        return fm_fail(error, FM_E_ARGUMENT, NULL, "at most %d granularities and %d caches",
                       FM_JOB_GRANULARITIES, FM_JOB_CACHES);
    for (size_t i = 0; i < given->granularity_count; i++) job->granularity[i] = given->granularity[i];
    job->count = given->granularity_count;
    if (given->elements && job->count == 0) job->granularity[job->count++] = 1;
    job->analyzer = (fm_analyzer_options){.engine = given->engine,
                                          .engine_options = given->engine_options,
                                          .bound = given->bound,
                                          .bins = given->bins,
                                          .time_distances = given->time_distances,
                                          .isa = given->isa,
                                          .elements = given->elements};
    return FM_OK;
}

fm_status fm_job_create_sized(size_t options_size, fm_job **job, const fm_job_options *options,
                              fm_error *error)
{
    fm_job *self = *job = fm_calloc(1, sizeof *self);
    if (!self) return fm_fail_memory(error, sizeof *self, "a job");
    fm_status status = fm_sized_read(&self->options, sizeof self->options, options,
                                     options ? options_size : 0, "fm_job_options", error);
    if (status == FM_OK) status = job_take_options(self, error);
    if (status != FM_OK) {
        fm_job_destroy(self);
        *job = NULL;
    }
    return status;
}

void fm_job_destroy(fm_job *job)
{
    if (!job) return;
    for (size_t i = 0; i < FM_JOB_GRANULARITIES; i++) fm_profile_destroy(job->profile[i]);
    fm_job_recording_destroy(job->recording);
    fm_collection_close(job->collection);
    fm_sampled_run_close(job->sampled);
    fm_output_abandon(job->distances);
    fm_job_check_destroy(job->check);
    fm_job_code_destroy(job->code);
    fm_job_phases_destroy(job->phases);
    free(job);
}

fm_status fm_job_begin(fm_job *job, fm_job_source source, fm_error *error)
{
    if (job->source != FM_JOB_NOTHING)
        return fm_fail(error, FM_E_ARGUMENT, NULL, "a job has one source, and this one has it already");
    job->source = source;
    return FM_OK;
}

bool fm_job_is_complete(const fm_job *job)
{
    return !job->incomplete && job->damage.places == 0;
}

size_t fm_job_profiles(const fm_job *job, const fm_profile *const **profiles)
{
    *profiles = (const fm_profile *const *)job->profile;
    return job->profile[0] ? job->count : 0;
}

size_t fm_job_caches(const fm_job *job, const fm_cache **caches)
{
    *caches = job->caches;
    return job->cache_count;
}

fm_job_end fm_job_program_end(const fm_job *job)
{
    return job->end;
}

/* ---- who listens ---- */

typedef void (*job_listener)(void *context, const char *line);

static void job_tell(fm_job *job, job_listener tell, const char *format, va_list arguments)
{
    char text[FM_JOB_LINE];
    if (!tell) return;
    vsnprintf(text, sizeof text, format, arguments);
    tell(job->options.context, text);
}

void fm_job_note(fm_job *job, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    job_tell(job, job->options.note, format, arguments);
    va_end(arguments);
}

void fm_job_warn(fm_job *job, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    job_tell(job, job->options.warn, format, arguments);
    va_end(arguments);
}

/* Whether it was said before: what is true of two processes or two granularities need be said once. */
static bool job_line_is_known(fm_job *job, const char *text)
{
    uint64_t sum = UINT64_C(14695981039346656037); /* FNV-1a */
    for (; *text; text++) sum = (sum ^ (unsigned char)*text) * UINT64_C(1099511628211);
    for (size_t i = 0; i < job->line_count; i++)
        if (job->lines_known[i] == sum) return true;
    if (job->line_count < FM_JOB_LINES_KNOWN) job->lines_known[job->line_count++] = sum;
    return false;
}

void fm_job_lines_open(fm_job *job, fm_job_lines *lines)
{
    *lines = (fm_job_lines){0};
    if (job->options.note) lines->stream = open_memstream(&lines->text, &lines->size);
}

void fm_job_lines_close(fm_job *job, fm_job_lines *lines, bool tell)
{
    if (!lines->stream) return;
    if (fclose(lines->stream) == 0 && tell)
        for (char *rest = lines->text, *line; (line = strsep(&rest, "\n"));)
            if (line[0] != '\0' && !job_line_is_known(job, line)) fm_job_note(job, "%s", line);
    free(lines->text);
    *lines = (fm_job_lines){0};
}

void fm_job_note_lines(fm_job *job, const char *text)
{
    while (*text) {
        const size_t length = strcspn(text, "\n");
        fm_job_note(job, "%.*s", (int)length, text);
        text += length + (text[length] == '\n');
    }
}

static void job_tell_progress(fm_job *job, fm_job_stage stage, uint64_t done, double fraction)
{
    job->progress.stage = stage;
    job->progress.done = done;
    job->progress.fraction = fraction;
    if (job->options.progress) job->options.progress(job->options.context, &job->progress);
}

void fm_job_progress_begin(fm_job *job, const char *noun, bool beside)
{
    job->progress = (fm_job_progress){.noun = noun, .beside = beside};
    job_tell_progress(job, FM_JOB_BEGINS, 0, -1);
}

void fm_job_progress_at(fm_job *job, uint64_t done, double fraction)
{
    job_tell_progress(job, FM_JOB_GOES_ON, done, fraction);
}

void fm_job_progress_end(fm_job *job)
{
    job_tell_progress(job, FM_JOB_ENDS, job->progress.done, job->progress.fraction);
}

fm_status fm_job_opened(fm_job *job, bool memory_addresses, fm_error *error)
{
    if (!job->options.opened) return FM_OK;
    fm_job_input input = {.memory_addresses = memory_addresses,
                          .elements = job->analyzer.elements,
                          .least_granularity = job->granularity[0]};
    for (size_t i = 1; i < job->count; i++)
        if (job->granularity[i] < input.least_granularity) input.least_granularity = job->granularity[i];
    return job->options.opened(job->options.context, &input, error);
}

/* ---- the analysis ---- */

const fm_engine_info *fm_job_engine(const fm_job *job)
{
    const char *name = job->analyzer.engine;
    const fm_engine_info *info;
    for (size_t i = 0; (info = fm_engine_at(i)); i++)
        if (!name || strcmp(info->name, name) == 0) return info; /* the first is the default */
    return NULL;
}

void fm_job_choose_engine(fm_job *job, uint64_t references)
{
    if (job->analyzer.engine && strcmp(job->analyzer.engine, "auto") == 0)
        job->analyzer.engine = fm_engine_choose(references);
}

void fm_job_granularity_default(fm_job *job, uint64_t granularity)
{
    if (job->count == 0) job->granularity[job->count++] = granularity;
}

void fm_job_note_bytes(fm_job *job)
{
    enum { WORD = 8 };
    for (size_t i = 0; i < job->count && !job->analyzer.elements; i++) {
        const uint64_t bytes = job->granularity[i];
        if (bytes >= WORD) continue;
        fm_job_note(job,
                    "fm_job_options.granularity %" PRIu64 ": an access of %d bytes counts as %" PRIu64
                    " references, one to each %s; element instead of %" PRIu64 " counts accesses as they are",
                    bytes, WORD, WORD / bytes, bytes == 1 ? "byte" : "block", bytes);
        return;
    }
}

static bool engine_has_option(const char *engine, const char *name)
{
    const fm_engine_option *option;
    for (size_t i = 0; (option = fm_engine_option_at(engine, i)); i++)
        if (strcmp(option->name, name) == 0) return true;
    return false;
}

/* Engines on graphics cards: an analyzer that is alone counts on all of them, the others, which have numbers,
 * on one each. What the user said counts more: the last mention of a name does. */
static void job_place_engine(fm_job *job, size_t number, bool alone, fm_analyzer_options *options)
{
    const char *given = job->analyzer.engine_options ? job->analyzer.engine_options : "";
    const char *comma = given[0] ? "," : "";
    if (alone && engine_has_option(options->engine, "cards"))
        snprintf(job->engine_place, sizeof job->engine_place, "cards=0%s%s", comma, given);
    else if (engine_has_option(options->engine, "card"))
        snprintf(job->engine_place, sizeof job->engine_place, "card=%zu%s%s", number, comma, given);
    else
        return;
    options->engine_options = job->engine_place;
}

/* As people write it: 32M. */
static const char *count_text(uint64_t count, char *text, size_t size)
{
    static const char suffixes[] = "TGMK";
    for (unsigned i = 0; i < 4; i++) {
        const uint64_t unit = UINT64_C(1) << (40 - 10 * i);
        if (count < unit || count % unit != 0) continue;
        snprintf(text, size, "%" PRIu64 "%c", count / unit, suffixes[i]);
        return text;
    }
    snprintf(text, size, "%" PRIu64, count);
    return text;
}

fm_status fm_job_explain_limit(const fm_job *job, fm_status status, fm_error *error)
{
    if (status != FM_E_LIMIT || !error || job->options.max_memory == 0) return status;
    char all[32], own[32], parts[64] = "", message[sizeof error->path + sizeof error->reason + 64];
    count_text(job->options.max_memory, all, sizeof all);
    count_text(PROGRAM_MEMORY, own, sizeof own);
    if (job->count > 1) snprintf(parts, sizeof parts, ", and the rest is for %zu analyses", job->count);
    fm_error_message(error, message, sizeof message);
    return fm_fail(error, status, NULL,
                   "fm_job_options.max_memory %s, of which the program itself takes %s%s: %s", all, own,
                   parts, message);
}

fm_status fm_job_analyzer_of(fm_job *job, size_t granularity, bool alone, fm_analyzer_options *options,
                             fm_error *error)
{
    const uint64_t all = job->options.max_memory;
    *options = job->analyzer;
    options->granularity = job->granularity[granularity];
    job_place_engine(job, granularity, alone, options);
    if (all == 0) return FM_OK;
    if (all > PROGRAM_MEMORY) options->max_memory = (all - PROGRAM_MEMORY) / job->count;
    if (options->max_memory > 0) return FM_OK;
    char limit[32], own[32];
    return fm_fail(error, FM_E_LIMIT, NULL,
                   "fm_job_options.max_memory %s cannot be kept: the program itself needs %s",
                   count_text(all, limit, sizeof limit), count_text(PROGRAM_MEMORY, own, sizeof own));
}

void fm_job_find_caches(fm_job *job, bool machine)
{
    fm_error error;
    job->cache_count = job->options.caches ? job->options.cache_count : 0;
    if (job->cache_count) memcpy(job->caches, job->options.caches, job->cache_count * sizeof job->caches[0]);
    if (job->options.caches || !machine) return;
    if (fm_machine_caches(job->caches, FM_JOB_CACHES, &job->cache_count, &error)) {
        job->cache_count = 0;
        fm_job_note(job, "this machine's caches are left out: %s", error.reason);
    }
}

/* Late is what misses the smallest of the caches. */
void fm_job_cut_edges(fm_job *job)
{
    uint64_t smallest = UINT64_MAX;
    job->edge_count =
        fm_cache_edges(job->caches, job->cache_count, job->granularity[0], job->edges, FM_JOB_EDGES);
    for (size_t i = 0; i < job->cache_count; i++) {
        const uint64_t blocks = job->caches[i].bytes / job->granularity[0];
        if (blocks > 0 && blocks < smallest) smallest = blocks;
    }
    if (smallest == UINT64_MAX) smallest = 512;
    job->late_range = 0;
    while (job->late_range + 1 < job->edge_count && job->edges[job->late_range] < smallest) job->late_range++;
    job->late_from = job->edges[job->late_range];
}

fm_status fm_job_write_distances(void *output, const uint64_t *blocks, const uint64_t *distances,
                                 size_t count, fm_error *error)
{
    (void)blocks;
    return fm_output_write(output, distances, count * sizeof *distances, error);
}

/* ---- threads ---- */

unsigned fm_job_threads(const fm_job *job)
{
    enum { MOST = 1024 };
    const uint64_t threads = job->options.threads ? job->options.threads : fm_analyzer_processors();
    return threads < MOST ? (unsigned)threads : MOST;
}

/* The program and the thread that receives have a processor each; more threads than six have nothing to do.
 * With one processor for all, none: what another thread would do takes less time in the one that receives.
 * Each has memory of its own: one where memory is limited, or where there may be any number of processes. */
unsigned fm_job_threads_beside(const fm_job *job, bool any_processes)
{
    enum { TAKEN = 2, USEFUL = 6 };
    if (job->options.threads) return (unsigned)job->options.threads;
    const unsigned processors = fm_analyzer_processors();
    if (processors == 1) return 0;
    if (job->options.max_memory || any_processes || processors <= TAKEN + 1) return 1;
    return processors - TAKEN < USEFUL ? processors - TAKEN : USEFUL;
}

/* ---- words for a program that ran ---- */

static void write_quoted(FILE *out, const char *word)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_@%+=:,./-";
    if (word[0] != '\0' && strspn(word, plain) == strlen(word)) {
        fputs(word, out);
        return;
    }
    fputc('\'', out);
    for (; *word; word++) {
        if (*word == '\'')
            fputs("'\\''", out);
        else
            fputc(*word, out);
    }
    fputc('\'', out);
}

char *fm_job_command_text(char *const *command, bool more)
{
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    if (!out) return NULL;
    for (size_t i = 0; command[i]; i++) {
        if (i > 0) fputc(' ', out);
        write_quoted(out, command[i]);
    }
    if (more) fputs(" …", out);
    bool failed = ferror(out) != 0;
    if (fclose(out) == 0 && !failed) return text;
    free(text);
    return NULL;
}

char *fm_job_ending_text(const fm_collected_process *process, char *buffer, size_t size)
{
    if (process->given_up)
        snprintf(buffer, size, "ended by Valgrind, not by itself");
    else if (process->became)
        snprintf(buffer, size, "became %s by exec", process->became);
    else if (!process->ended)
        snprintf(buffer, size, "not known");
    else if (process->signal) {
        const char *name = sigabbrev_np(process->signal);
        snprintf(buffer, size, "killed by SIG%s (%s)", name ? name : "?", strsignal(process->signal));
    } else
        snprintf(buffer, size, "exited with %d", process->exit_code);
    return buffer;
}

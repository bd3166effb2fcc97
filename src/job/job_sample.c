/* SPDX-License-Identifier: Apache-2.0 */
/*
 * job_sample.c - a program that runs at nearly its own speed, or one that runs already, with the sampler
 * inside; and profiles of what that saw. It joins run, estimator and attribution; it computes nothing itself.
 */
#define _GNU_SOURCE /* asprintf */
#include "job/job_internal.h"

#include "base/error.h"
#include "base/memory.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum {
    FEW_BURSTS = 20,    /* with fewer, nothing is said without a warning */
    FEW_ACCESSES = 100, /* the same of single accesses */
    LONG_SECONDS = 2,   /* enough for samples, if it works */
    WATCHED_BYTES = 8,  /* by a debug register */
};

typedef struct sample_job {
    fm_job *job;
    fm_sampled_run_options options;
    fm_estimate_options estimating;
    char *const *command; /* of the program; of one that runs already as /proc tells it, or NULL */
    char **found_command; /* the same, to be freed */
    fm_sampled_run_state state;
    fm_sampled_run_known known;
} sample_job;

/* ---- a process that runs already ---- */

/* Its arguments, NULL at the end; in one piece of memory, to be freed. NULL: they are not known. */
static char **read_command(uint32_t pid)
{
    enum { MOST_BYTES = 64 << 10, MOST_WORDS = 4096 };
    char path[64];
    snprintf(path, sizeof path, "/proc/%" PRIu32 "/cmdline", pid);
    FILE *file = fopen(path, "re");
    char **words = malloc(MOST_WORDS * sizeof *words + MOST_BYTES);
    char *text = words ? (char *)(words + MOST_WORDS) : NULL;
    size_t count = 0, bytes = 0;
    if (file && text) bytes = fread(text, 1, MOST_BYTES - 1, file);
    if (file) fclose(file);
    if (bytes == 0) {
        free(words);
        return NULL;
    }
    text[bytes] = '\0';
    for (size_t at = 0; at < bytes && count + 1 < MOST_WORDS; at += strlen(text + at) + 1)
        words[count++] = text + at;
    words[count] = NULL;
    return words;
}

static const char *program_name(const sample_job *self)
{
    return self->command && self->command[0] ? self->command[0] : "the program";
}

/* ---- the run ---- */

static fm_status watch_run(sample_job *self, fm_error *error)
{
    fm_job *job = self->job;
    bool ended = false;
    fm_status status = fm_sampled_run_start(&job->sampled, &self->options, error);
    if (status != FM_OK) return status;
    fm_job_find_caches(job, true);
    fm_job_cut_edges(job);
    fm_job_progress_begin(job, "samples", false);
    while (status == FM_OK && !ended) {
        status = fm_sampled_run_wait(job->sampled, 0.1, &ended, error);
        fm_sampled_run_state_get(job->sampled, &self->state);
        fm_job_progress_at(job, self->state.bursts, -1);
    }
    fm_job_progress_end(job);
    return status;
}

/* Counters that were used, and what they missed. */
static void note_counters(const sample_job *self)
{
    fm_job *job = self->job;
    const fm_sampled_run_state *state = &self->state;
    if (state->counter_error)
        fm_job_note(job, "threads could not have counters (%s): nothing is known of them. Remedy: %s",
                    strerror(state->counter_error),
                    state->counter_error == EPERM ? "more memory for perf events (kernel.perf_event_mlock_kb)"
                                                  : "fm_sampled_run_options.method software");
    if (state->counters_shared)
        fm_job_note(
            job, "the counters stood still now and then, as other programs use them too: distances are told "
                 "too short");
    if (state->method == FM_SAMPLED_RUN_PMU && job->granularity[0] > WATCHED_BYTES)
        fm_job_note(
            job,
            "counters and debug registers see single words: uses of a word's neighbours in its block are "
            "missed, and distances look longer than they are. fm_job_options.granularity 8 is about words; "
            "fm_sampled_run_options.method software sees whole blocks");
    if (state->overrun)
        fm_job_note(job,
                    "%" PRIu64
                    " samples of the counters were lost: the kernel had no room for them, or they came "
                    "too late",
                    state->overrun);
    if (state->throttled)
        fm_job_note(job,
                    "the kernel took fewer samples than were asked for, %" PRIu64
                    " times (kernel.perf_event_max_sample_rate)",
                    state->throttled);
}

/* What could not be done, and what to do about it. */
static void note_troubles(const sample_job *self)
{
    fm_job *job = self->job;
    const fm_sampled_run_state *state = &self->state;
    fm_job_note_lines(job, state->notes);
    if (state->clock_error && state->clock == FM_SAMPLED_RUN_TIMER)
        fm_job_note(
            job,
            "perf events were refused (%s): a timer took their place, and nothing was watched beyond the "
            "bursts. Remedy: sysctl kernel.perf_event_paranoid=2 or less; in a container "
            "--cap-add=PERFMON, and a seccomp profile that allows perf_event_open",
            strerror(state->clock_error));
    else if (state->watch_error)
        fm_job_note(job, "some debug registers could not be had (%s): less is known beyond the bursts",
                    strerror(state->watch_error));
    note_counters(self);
    if (state->left_out)
        fm_job_note(job, "%" PRIu64 " samples were left out: they came faster than they could be read",
                    state->left_out);
}

/* Says what is missing. */
static void look_at_processes(const sample_job *self)
{
    fm_job *job = self->job;
    for (size_t i = 0; i < fm_sampled_run_processes(job->sampled); i++) {
        fm_sampled_run_process process;
        fm_sampled_run_process_get(job->sampled, i, &process);
        if (process.complete) continue;
        job->incomplete = true;
        fm_job_warn(job, "incomplete: process %" PRIu32 " (%s): %s", process.pid,
                    process.program ? process.program : "?", process.what_missing);
    }
}

/* ---- profiles ---- */

/* What a process had become when it ended. */
static fm_sampled_run_process last_program(const fm_sampled_run *run, fm_sampled_run_process process)
{
    for (size_t i = 0; i < fm_sampled_run_processes(run); i++) {
        fm_sampled_run_process next;
        fm_sampled_run_process_get(run, i, &next);
        if (next.pid == process.pid && next.by_exec && !next.became) return next;
    }
    return process;
}

/* As of a program that is run. NULL: no memory. */
static char *what_was_sampled(const fm_sampled_run_options *options)
{
    char *text = NULL;
    const char *function = options->function, *region = options->region;
    if (asprintf(&text, "samples of %sreferences%s%s%s%s%s%s", function || region ? "" : "all ",
                 function ? ", in function " : "", function ? function : "",
                 function ? " and what it calls" : "", region ? ", in region \"" : "", region ? region : "",
                 region ? "\"" : "") < 0)
        return NULL;
    return text;
}

/* whole: the profile is of all processes, of which this is the first. */
static fm_status describe_run(const sample_job *self, size_t index, bool whole, fm_profile *profile,
                              fm_error *error)
{
    const fm_sampled_run *sampled = self->job->sampled;
    fm_sampled_run_process process;
    char ending[FM_JOB_ENDING];
    fm_run *run = profile->run = fm_calloc(1, sizeof *run);
    if (!run) return fm_fail_memory(error, sizeof *run, "a run");
    fm_sampled_run_process_get(sampled, index, &process);
    if (index == 0 && self->command) run->command = fm_job_command_text(self->command, false);
    run->collector = strdup(self->state.method == FM_SAMPLED_RUN_PMU    ? "sampling (counters)"
                            : self->state.clock == FM_SAMPLED_RUN_TIMER ? "sampling (timer)"
                                                                        : "sampling (perf)");
    run->what = what_was_sampled(&self->options);
    run->notes = strdup(self->state.notes);
    run->seconds = self->state.seconds;
    run->process = process.pid;
    run->parent = index > 0 ? process.parent_pid : 0;
    run->by_exec = process.by_exec;
    const fm_sampled_run_process last = whole ? last_program(sampled, process) : process;
    run->exit_code = last.ended && !last.signal ? last.exit_code : -1;
    run->signal = last.signal;
    const fm_collected_process end = {
        .ended = last.ended, .exit_code = last.exit_code, .signal = last.signal, .became = last.became};
    run->ending =
        strdup(self->options.pid && self->state.running ? "runs on"
                                                        : fm_job_ending_text(&end, ending, sizeof ending));
    profile->name = strdup(process.program ? process.program : program_name(self));
    if (!process.complete) {
        profile->complete = false;
        profile->what_missing = strdup(process.what_missing);
    }
    return profile->name && (profile->complete || profile->what_missing) ? FM_OK
                                                                         : fm_fail_memory(error, 1, "a name");
}

/* Context of describe_sites. */
typedef struct described {
    sample_job *self;
    const fm_estimate *estimate;
    bool whole;
} described;

static fm_status describe_sites(void *context, fm_attribution *attribution, const uint32_t **map,
                                size_t *map_count, fm_error *error)
{
    const described *what = context;
    return fm_sampled_run_describe(what->self->job->sampled, what->estimate, attribution, map, map_count,
                                   what->whole ? &what->self->known : NULL, error);
}

static fm_status attach_sites(sample_job *self, const fm_estimate *estimate, bool whole, fm_error *error)
{
    fm_job *job = self->job;
    if (job->options.no_sites) return FM_OK;
    described what = {self, estimate, whole};
    return fm_job_attribute(job, estimate->profile, estimate->raw, estimate->raw_count, job->late_from,
                            describe_sites, &what, !whole, error);
}

/* The profile of a process, or of all (described as the first). */
static fm_status take_profile(sample_job *self, size_t granularity, size_t process, fm_profile **profile,
                              fm_error *error)
{
    fm_job *job = self->job;
    fm_estimate *estimate = NULL;
    fm_estimate_options options = self->estimating;
    const bool whole = process == FM_SAMPLED_RUN_ALL;
    options.edges = granularity == 0 ? job->edges : NULL;
    options.edge_count = granularity == 0 ? job->edge_count : 0;
    options.late_from = job->late_from;
    fm_status status =
        fm_sampled_run_estimate(job->sampled, granularity, process, &options, &estimate, error);
    if (status != FM_OK) return status;
    status = describe_run(self, whole ? 0 : process, whole, estimate->profile, error);
    if (status == FM_OK && granularity == 0) status = attach_sites(self, estimate, whole, error);
    /* Latencies are those of all processes together. */
    if (status == FM_OK && !whole && estimate->profile->attribution)
        estimate->profile->attribution->latency_count = 0;
    if (status == FM_OK) {
        *profile = estimate->profile;
        estimate->profile = NULL;
    }
    fm_estimate_destroy(estimate);
    return status;
}

static fm_status add_parts(sample_job *self, size_t granularity, fm_profile *whole, fm_error *error)
{
    const size_t count = fm_sampled_run_processes(self->job->sampled);
    if (count < 2) return FM_OK;
    whole->parts = fm_calloc(count, sizeof(fm_profile *));
    if (!whole->parts) return fm_fail_memory(error, count * sizeof(fm_profile *), "parts of a profile");
    for (size_t i = 0; i < count; i++) {
        fm_sampled_run_process process;
        fm_sampled_run_process_get(self->job->sampled, i, &process);
        if (process.bursts == 0) continue;
        fm_status status = take_profile(self, granularity, i, &whole->parts[whole->part_count], error);
        if (status != FM_OK) return status;
        whole->part_count++;
    }
    return FM_OK;
}

static fm_status take_profiles(sample_job *self, fm_error *error)
{
    fm_job *job = self->job;
    fm_status status = FM_OK;
    for (size_t i = 0; i < job->count && status == FM_OK; i++) {
        status = take_profile(self, i, FM_SAMPLED_RUN_ALL, &job->profile[i], error);
        if (status == FM_OK) status = add_parts(self, i, job->profile[i], error);
    }
    if (status != FM_OK || job->options.no_sites) return status;
    return fm_job_record_sources(job, job->profile[0], error);
}

/* How much is known of objects; in the profile, too. */
static fm_status note_objects(sample_job *self, fm_error *error)
{
    enum { KNOWN_ENOUGH = 90 };
    fm_job *job = self->job;
    const double known = self->known.share * 100;
    fm_run *run = job->profile[0]->run;
    char text[600] = "", small[200] = "", *all;
    if (job->options.no_sites) return FM_OK;
    if (!self->state.heap_seen)
        snprintf(text, sizeof text,
                 "no allocation came through the sampler: blocks of the heap are not told apart (the program "
                 "allocates nothing, or has an allocator of its own%s)",
                 self->options.pid ? ", or had allocated all of them before sampling began" : "");
    else if (self->known.one_in > 1)
        snprintf(small, sizeof small,
                 "; of small heap blocks one in %.0f was recorded, and stands for the others",
                 self->known.one_in);
    if (!text[0] && (small[0] || known < KNOWN_ENOUGH))
        snprintf(text, sizeof text, "the data object is known of %.0f %% of the misses%s%s", known, small,
                 self->options.pid
                     ? "; where heap blocks come from that were allocated before sampling began "
                       "is not known"
                     : "");
    if (!text[0]) return FM_OK;
    fm_job_note(job, "%s", text);
    if (asprintf(&all, "%s%s\n", run->notes ? run->notes : "", text) < 0)
        return fm_fail_memory(error, sizeof text, "a note");
    free(run->notes);
    run->notes = all;
    return FM_OK;
}

/* Not one sample: why. */
static fm_status fail_without_samples(const sample_job *self, fm_error *error)
{
    const fm_sampled_run_state *state = &self->state;
    const char *name = program_name(self);
    if (state->blocked)
        return fm_fail(error, FM_E_UNSUPPORTED, NULL,
                       "no sample was taken in %.3f s: %.200s did not let its clock's signal through",
                       state->seconds, name);
    if (self->options.pid && state->running)
        return fm_fail(error, FM_E_UNSUPPORTED, NULL,
                       "no sample was taken in %.3f s: %.200s (process %" PRIu32
                       ") used too little processor "
                       "time. fm_sampled_run_options.rate 1000 takes more samples",
                       state->seconds, name, self->options.pid);
    return fm_fail(error, FM_E_UNSUPPORTED, NULL,
                   "%.200s ended after %.3f s, before a sample was taken: %s. `fathom run` measures it "
                   "exactly; fm_sampled_run_options.rate 1000 takes more samples",
                   name, state->seconds,
                   state->seconds < LONG_SECONDS ? "too short to tell anything"
                   : self->options.follow_children
                       ? "it used too little processor time to tell anything"
                       : "it used too little processor time itself to tell anything "
                         "(fm_sampled_run_options.follow_children is about processes that it starts)");
}

/* What is shown of the samples themselves. */
static void keep_facts(const sample_job *self)
{
    const fm_sampled_run_state *state = &self->state;
    self->job->facts = (fm_sampled_facts){.seconds = state->seconds,
                                          .share = state->share,
                                          .received = state->received,
                                          .threads = state->threads,
                                          .clock = state->method == FM_SAMPLED_RUN_PMU    ? state->counters
                                                   : state->clock == FM_SAMPLED_RUN_TIMER ? "software timer"
                                                                                          : "software clock"};
}

static fm_status make_profiles(sample_job *self, fm_error *error)
{
    fm_job *job = self->job;
    const fm_sampled_run_state *state = &self->state;
    uint64_t understood = 0;
    note_troubles(self);
    look_at_processes(self);
    for (size_t i = 0; i < fm_sampled_run_processes(job->sampled); i++) {
        fm_sampled_run_process process;
        fm_sampled_run_process_get(job->sampled, i, &process);
        understood += process.bursts;
    }
    if (understood == 0) return fail_without_samples(self, error);
    if (state->bursts < (state->method == FM_SAMPLED_RUN_PMU ? FEW_ACCESSES : FEW_BURSTS))
        fm_job_note(job,
                    "only %" PRIu64
                    " samples: too short a run to tell much. `fathom run` measures it exactly; "
                    "fm_sampled_run_options.rate 1000 takes more samples",
                    state->bursts);
    keep_facts(self);
    fm_status status = take_profiles(self, error);
    if (status == FM_OK) status = note_objects(self, error);
    return status == FM_OK ? fm_job_settle(job, error) : status;
}

static void find_end(fm_job *job)
{
    if (!job->sampled || fm_sampled_run_processes(job->sampled) == 0) return;
    fm_sampled_run_process first;
    fm_sampled_run_process_get(job->sampled, 0, &first);
    const fm_sampled_run_process last = last_program(job->sampled, first);
    job->end = (fm_job_end){.known = last.ended, .exit_code = last.exit_code, .signal = last.signal};
}

fm_status fm_job_sample_sized(size_t program_size, size_t estimate_size, fm_job *job,
                              const fm_sampled_run_options *program, const fm_estimate_options *estimate,
                              fm_error *error)
{
    sample_job self = {.job = job};
    FM_REQUIRE(job, error);
    fm_status status = fm_sized_read(&self.options, sizeof self.options, program, program ? program_size : 0,
                                     "fm_sampled_run_options", error);
    if (status == FM_OK)
        status = fm_sized_read(&self.estimating, sizeof self.estimating, estimate,
                               estimate ? estimate_size : 0, "fm_estimate_options", error);
    if (status == FM_OK) status = fm_job_begin(job, FM_JOB_SAMPLES, error);
    if (status != FM_OK) return status;
    fm_job_granularity_default(job, 64);
    status = fm_job_opened(job, true, error);
    if (status != FM_OK) return status;
    if (self.options.pid) self.found_command = read_command(self.options.pid);
    self.command = self.options.pid ? self.found_command : self.options.command;
    self.options.granularities = job->granularity;
    self.options.granularity_count = job->count;
    self.options.objects = !job->options.no_sites;
    status = watch_run(&self, error);
    if (status == FM_OK) status = make_profiles(&self, error);
    find_end(job);
    free(self.found_command);
    return status;
}

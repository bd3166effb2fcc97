/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sample_live.c - fathom sample -- PROGRAM: runs it with the sampler inside, and makes profiles of what that
 * saw. It joins run, estimator, attribution and views; it computes nothing itself.
 */
#define _GNU_SOURCE /* sigabbrev_np */
#include "sample/sample_live.h"
#include "analysis_options.h"
#include "closing_text.h"
#include "collect_options.h"
#include "sample/process_command.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum {
    FEW_BURSTS = 20,    /* with fewer, nothing is said without a warning */
    FEW_ACCESSES = 100, /* the same of single accesses */
    LATENCY_LINES = 5,  /* that are shown */
    LONG_SECONDS = 2,   /* enough for samples, if it works */
    WATCHED_BYTES = 8,  /* by a debug register */
};

typedef struct live_run {
    const cli_live_options *how;
    const cli_estimate_options *estimating;
    const cli_attribution_options *attribution;
    cli_analysis analysis; /* granularities */
    fm_sampled_run_options options;
    char **command; /* of the program; with --pid as /proc tells it, or NULL */
    fm_sampled_run *run;
    fm_sampled_run_state state;
    cli_attribution_caches caches;
    uint64_t edges[CLI_MOST_EDGES];
    size_t edge_count;
    uint64_t late_from; /* what misses the smallest of the caches is late */
    fm_sampled_run_known known;
    fm_profile *profile[CLI_MOST_GRANULARITIES];
} live_run;

/* ---- options ---- */

static int check_overhead(live_run *self)
{
    const char *text = self->how->overhead;
    if (!text) return -1;
    char number[32];
    double value;
    const size_t length = strlen(text), digits = length && text[length - 1] == '%' ? length - 1 : length;
    snprintf(number, sizeof number, "%.*s", (int)digits, text);
    if (digits >= sizeof number || !cli_parse_real(number, &value) || !(value > 0 && value <= 100))
        return cli_misuse("--overhead: expected a percentage above 0 such as 2%%, found '%s'", text);
    self->options.overhead = value / 100;
    return -1;
}

static int check_numbers(live_run *self)
{
    const cli_live_options *how = self->how;
    const uint64_t period = self->estimating->period;
    if (how->rate != -1 && !(how->rate > 0 && how->rate <= 4000))
        return cli_misuse("--rate: expected more than 0 and at most 4000 samples a second");
    if (how->rate != -1 && period != UINT64_MAX)
        return cli_misuse("--rate and --period: samples are taken by time or by accesses, not by both");
    if (period == 0) return cli_misuse("--period: expected at least 1 access");
    if (how->duration != -1 && !(how->duration > 0))
        return cli_misuse("--limit-time: expected more than 0 seconds");
    if (self->estimating->bootstrap < 1 || self->estimating->bootstrap > UINT32_MAX)
        return cli_misuse("--bootstrap: expected 1 or more rounds");
    self->options.rate = how->rate > 0 ? how->rate : 0;
    self->options.period = period == UINT64_MAX ? 0 : period;
    self->options.limit_seconds = how->duration > 0 ? how->duration : 0;
    return check_overhead(self);
}

/* The estimator, and the method that has samples for it. */
static int check_method(live_run *self)
{
    const char *method = self->how->method, *name = self->estimating->estimator;
    fm_sampled_run_method *chosen = &self->options.method;
    if (method && strcmp(method, "software") != 0 && strcmp(method, "pmu") != 0)
        return cli_misuse("--sampler: expected pmu or software, found '%s'", method);
    *chosen = !method                      ? FM_SAMPLED_RUN_ANY
              : strcmp(method, "pmu") == 0 ? FM_SAMPLED_RUN_PMU
                                           : FM_SAMPLED_RUN_SOFTWARE;
    if (self->how->no_watches && *chosen == FM_SAMPLED_RUN_PMU)
        return cli_misuse("--no-watches: with --sampler pmu there is nothing but what is watched");
    if (self->how->mean_rate && *chosen == FM_SAMPLED_RUN_PMU)
        return cli_misuse("--mean-rate: with --sampler pmu samples are by accesses, and need no rate");
    if (self->how->mean_rate) *chosen = FM_SAMPLED_RUN_SOFTWARE;
    const fm_estimator_info *info = fm_estimator_at(0);
    for (size_t i = 1; name && info && strcmp(name, info->name) != 0; i++) info = fm_estimator_at(i);
    if (!info) return cli_misuse("--estimator: there is none called '%s'", name);
    self->options.plain_reservoir = info->plain_reservoir;
    if (info->bursts) return -1;
    if (*chosen == FM_SAMPLED_RUN_SOFTWARE || self->how->no_watches)
        return cli_misuse(
            "--estimator: %s is for samples of single accesses, that is for --sampler pmu; a clock "
            "samples bursts",
            name);
    *chosen = FM_SAMPLED_RUN_PMU;
    return -1;
}

/* The program: a command, or a process that runs. */
static int check_program(live_run *self, char **command)
{
    const cli_live_options *how = self->how;
    self->command = command;
    self->options.command = command;
    if (!how->pid) return -1;
    const int code = cli_process_number(how->pid, &self->options.pid);
    if (code >= 0) return code;
    if (command) return cli_misuse("--pid: a process that runs is sampled, or a program is run, not both");
    if (how->follow_children)
        return cli_misuse("--follow-children: children of a process that runs already are not sampled");
    self->command = cli_process_command(self->options.pid);
    return -1;
}

static const char *program_name(const live_run *self)
{
    return self->command && self->command[0] ? self->command[0] : "the program";
}

static int check(live_run *self, char **command, uint64_t seed)
{
    const cli_live_options *how = self->how;
    const cli_analysis_options analysis = {.granularity = self->estimating->granularity,
                                           .max_memory = UINT64_MAX};
    int code = cli_analysis_check(&analysis, &self->analysis);
    if (code < 0) code = check_numbers(self);
    if (code < 0) code = check_method(self);
    if (code < 0) code = cli_attribution_check(self->attribution, how->json);
    if (code >= 0) return code;
    if (self->analysis.count == 0) self->analysis.granularity[self->analysis.count++] = 64;
    code = cli_check_sizes(self->attribution->sizes, cli_analysis_least_granularity(&self->analysis), NULL);
    if (code >= 0) return code;
    if (how->call_paths && self->attribution->no_sites)
        return cli_misuse("--call-paths and --no-sites contradict each other");
    if (cli_is_stdout(how->json) + cli_is_stdout(how->report) + cli_is_stdout(how->output) +
            cli_attribution_takes_stdout(self->attribution) >
        1)
        return cli_misuse("only one result can go to standard output");
    if (how->no_source && !how->report)
        return cli_misuse("--no-source is about the page that --report writes");
    if (how->report && !fm_report_available())
        return cli_misuse("--report: this build has no report page (it was built with FATHOM_REPORT=OFF)");
    code = check_program(self, command);
    if (code >= 0) return code;
    self->options.granularities = self->analysis.granularity;
    self->options.granularity_count = self->analysis.count;
    self->options.follow_children = how->follow_children;
    self->options.no_watches = how->no_watches;
    self->options.mean_rate = how->mean_rate;
    self->options.objects = !self->attribution->no_sites;
    self->options.call_paths = how->call_paths;
    self->options.signals = true;
    self->options.seed = seed;
    self->options.region = how->region;
    self->options.function = how->function;
    return -1;
}

/* ---- the run ---- */

static int watch_run(live_run *self)
{
    fm_error error;
    cli_progress progress;
    bool ended = false;
    if (fm_sampled_run_start(&self->run, &self->options, &error)) return cli_fail(&error);
    int code = cli_attribution_find_caches(self->attribution, &self->caches);
    self->edge_count = cli_attribution_edges(&self->caches, self->analysis.granularity[0], self->edges);
    self->late_from = self->edges[cli_attribution_late_range(&self->caches, self->analysis.granularity[0],
                                                             self->edges, self->edge_count)];
    cli_progress_start(&progress, "samples", self->how->progress);
    while (code < 0 && !ended) {
        if (fm_sampled_run_wait(self->run, 0.1, &ended, &error)) code = cli_fail(&error);
        fm_sampled_run_state_get(self->run, &self->state);
        cli_progress_update(&progress, self->state.bursts, -1);
    }
    cli_progress_end(&progress);
    return code;
}

/* What could not be done, and what to do about it. */
static void say_troubles(const live_run *self)
{
    const fm_sampled_run_state *state = &self->state;
    for (const char *line = state->notes; *line;) {
        const size_t length = strcspn(line, "\n");
        cli_note("%.*s", (int)length, line);
        line += length + (line[length] == '\n');
    }
    if (state->clock_error && state->clock == FM_SAMPLED_RUN_TIMER)
        cli_note(
            "perf events were refused (%s): a timer took their place, and nothing was watched beyond the "
            "bursts. Remedy: sysctl kernel.perf_event_paranoid=2 or less; in a container "
            "--cap-add=PERFMON, and a seccomp profile that allows perf_event_open",
            strerror(state->clock_error));
    else if (state->watch_error)
        cli_note("some debug registers could not be had (%s): less is known beyond the bursts",
                 strerror(state->watch_error));
    if (state->counter_error)
        cli_note("threads could not have counters (%s): nothing is known of them. Remedy: %s",
                 strerror(state->counter_error),
                 state->counter_error == EPERM ? "more memory for perf events (kernel.perf_event_mlock_kb)"
                                               : "--sampler software");
    if (state->counters_shared)
        cli_note(
            "the counters stood still now and then, as other programs use them too: distances are told too "
            "short");
    if (state->method == FM_SAMPLED_RUN_PMU && self->analysis.granularity[0] > WATCHED_BYTES)
        cli_note(
            "counters and debug registers see single words: uses of a word's neighbours in its block are "
            "missed, and distances look longer than they are. -g 8 is about words; --sampler software sees "
            "whole blocks");
    if (state->overrun)
        cli_note("%" PRIu64
                 " samples of the counters were lost: the kernel had no room for them, or they came "
                 "too late",
                 state->overrun);
    if (state->throttled)
        cli_note("the kernel took fewer samples than were asked for, %" PRIu64
                 " times (kernel.perf_event_max_sample_rate)",
                 state->throttled);
    if (state->left_out)
        cli_note("%" PRIu64 " samples were left out: they came faster than they could be read",
                 state->left_out);
}

/* Says what is missing. The exit code. */
static int completeness(const live_run *self)
{
    int code = CLI_COMPLETE;
    for (size_t i = 0; i < fm_sampled_run_processes(self->run); i++) {
        fm_sampled_run_process process;
        fm_sampled_run_process_get(self->run, i, &process);
        if (process.complete) continue;
        code = CLI_INCOMPLETE;
        cli_complain("incomplete: process %" PRIu32 " (%s): %s", process.pid,
                     process.program ? process.program : "?", process.what_missing);
    }
    return code;
}

/* ---- profiles ---- */

/* What a process had become when it ended. */
static fm_sampled_run_process last_program(const live_run *self, fm_sampled_run_process process)
{
    for (size_t i = 0; i < fm_sampled_run_processes(self->run); i++) {
        fm_sampled_run_process next;
        fm_sampled_run_process_get(self->run, i, &next);
        if (next.pid == process.pid && next.by_exec && !next.became) return next;
    }
    return process;
}

/* As of `fathom run`. NULL: no memory. */
static char *what_was_sampled(const cli_live_options *how)
{
    char *text = NULL;
    const char *function = how->function, *region = how->region;
    if (asprintf(&text, "samples of %sreferences%s%s%s%s%s%s", function || region ? "" : "all ",
                 function ? ", in function " : "", function ? function : "",
                 function ? " and what it calls" : "", region ? ", in region \"" : "", region ? region : "",
                 region ? "\"" : "") < 0)
        return NULL;
    return text;
}

/* whole: the profile is of all processes, of which this is the first. */
static int describe_run(const live_run *self, size_t index, bool whole, fm_profile *profile)
{
    const cli_live_options *how = self->how;
    fm_sampled_run_process process;
    char ending[CLI_ENDING];
    fm_run *run = profile->run = calloc(1, sizeof *run);
    if (!run) return cli_out_of_memory();
    fm_sampled_run_process_get(self->run, index, &process);
    if (index == 0 && self->command) run->command = cli_collect_command(self->command, false);
    run->collector = strdup(self->state.method == FM_SAMPLED_RUN_PMU    ? "sampling (counters)"
                            : self->state.clock == FM_SAMPLED_RUN_TIMER ? "sampling (timer)"
                                                                        : "sampling (perf)");
    run->what = what_was_sampled(how);
    run->notes = strdup(self->state.notes);
    run->seconds = self->state.seconds;
    run->process = process.pid;
    run->parent = index > 0 ? process.parent_pid : 0;
    run->by_exec = process.by_exec;
    const fm_sampled_run_process last = whole ? last_program(self, process) : process;
    run->exit_code = last.ended && !last.signal ? last.exit_code : -1;
    run->signal = last.signal;
    const fm_collected_process end = {
        .ended = last.ended, .exit_code = last.exit_code, .signal = last.signal, .became = last.became};
    run->ending =
        strdup(self->options.pid && self->state.running ? "runs on"
                                                        : cli_collect_ending(&end, ending, sizeof ending));
    profile->name = strdup(process.program ? process.program : program_name(self));
    if (process.complete) return profile->name ? -1 : cli_out_of_memory();
    profile->complete = false;
    profile->what_missing = strdup(process.what_missing);
    return profile->name && profile->what_missing ? -1 : cli_out_of_memory();
}

typedef struct described {
    live_run *self;
    const fm_estimate *estimate;
    bool whole;
} described;

static fm_status describe_sites(void *context, fm_attribution *attribution, const uint32_t **map,
                                size_t *map_count, fm_error *error)
{
    const described *what = context;
    return fm_sampled_run_describe(what->self->run, what->estimate, attribution, map, map_count,
                                   what->whole ? &what->self->known : NULL, error);
}

static int attach_sites(live_run *self, const fm_estimate *estimate, bool quiet)
{
    if (self->attribution->no_sites) return -1;
    described what = {self, estimate, !quiet};
    return cli_attribution_attach(estimate->profile, estimate->raw, estimate->raw_count, self->edges,
                                  self->edge_count, self->late_from, describe_sites, &what, quiet);
}

/* The profile of a process, or of all (described as the first). */
static int take_profile(live_run *self, size_t granularity, size_t process, fm_profile **profile)
{
    fm_error error;
    fm_estimate *estimate = NULL;
    const fm_estimate_options options = {
        .estimator = self->estimating->estimator,
        .conversion = self->estimating->conversion,
        .bootstrap = (unsigned)self->estimating->bootstrap,
        .edges = granularity == 0 ? self->edges : NULL,
        .edge_count = granularity == 0 ? self->edge_count : 0,
        .late_from = self->late_from,
    };
    if (fm_sampled_run_estimate(self->run, granularity, process, &options, &estimate, &error))
        return cli_fail(&error);
    int code = -1;
    const bool whole = process == FM_SAMPLED_RUN_ALL;
    if (code < 0) code = describe_run(self, whole ? 0 : process, whole, estimate->profile);
    if (code < 0 && granularity == 0) code = attach_sites(self, estimate, !whole);
    /* Latencies are those of all processes together. */
    if (code < 0 && !whole && estimate->profile->attribution)
        estimate->profile->attribution->latency_count = 0;
    if (code < 0) {
        *profile = estimate->profile;
        estimate->profile = NULL;
    }
    fm_estimate_destroy(estimate);
    return code;
}

static int add_parts(live_run *self, size_t granularity, fm_profile *whole)
{
    const size_t count = fm_sampled_run_processes(self->run);
    if (count < 2) return -1;
    whole->parts = calloc(count, sizeof(fm_profile *));
    if (!whole->parts) return cli_out_of_memory();
    for (size_t i = 0; i < count; i++) {
        fm_sampled_run_process process;
        fm_sampled_run_process_get(self->run, i, &process);
        if (process.bursts == 0) continue;
        int code = take_profile(self, granularity, i, &whole->parts[whole->part_count]);
        if (code >= 0) return code;
        whole->part_count++;
    }
    return -1;
}

static int take_profiles(live_run *self)
{
    for (size_t i = 0; i < self->analysis.count; i++) {
        int code = take_profile(self, i, FM_SAMPLED_RUN_ALL, &self->profile[i]);
        if (code < 0) code = add_parts(self, i, self->profile[i]);
        if (code >= 0) return code;
    }
    return self->attribution->no_sites ? -1
                                       : cli_attribution_record_sources(self->attribution, self->profile[0]);
}

/* How much is known of objects; in the profile, too. */
static int note_objects(const live_run *self)
{
    enum { KNOWN_ENOUGH = 90 };
    const double known = self->known.share * 100;
    fm_run *run = self->profile[0]->run;
    char text[600] = "", small[200] = "", *all;
    if (self->attribution->no_sites) return -1;
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
    if (!text[0]) return -1;
    cli_note("%s", text);
    if (asprintf(&all, "%s%s\n", run->notes ? run->notes : "", text) < 0) return cli_out_of_memory();
    free(run->notes);
    run->notes = all;
    return -1;
}

/* ---- results ---- */

static int show(FILE *out, const fm_view_options *view, const live_run *self)
{
    const fm_sampled_facts facts = {.seconds = self->state.seconds,
                                    .share = self->state.share,
                                    .received = self->state.received,
                                    .threads = self->state.threads,
                                    .clock = self->state.method == FM_SAMPLED_RUN_PMU ? self->state.counters
                                             : self->state.clock == FM_SAMPLED_RUN_TIMER ? "software timer"
                                                                                         : "software clock"};
    static const char also[] = "also: --pairs (who used it last), --histogram, --by function,\n"
                               "      --report page.html, fathom mrc, fathom diff before.json after.json\n";
    fm_view_sampled(out, self->profile[0], &facts, view);
    fputc('\n', out);
    const int code =
        cli_attribution_show(out, view, self->attribution, (const fm_profile *const *)self->profile,
                             self->analysis.count, &self->caches, also);
    if (code < 0 && self->profile[0]->attribution)
        fm_view_latencies(out, self->profile[0]->attribution, LATENCY_LINES, view);
    return code;
}

static int show_text(const live_run *self)
{
    enum { FILE_WIDTH = 100 };
    cli_closing_text text;
    const int code = cli_closing_text_open(&text, self->how->output, FILE_WIDTH);
    if (code >= 0) return code;
    return cli_closing_text_close(&text, show(text.stream, &text.view, self));
}

/* A result that cannot be written does not take the others with it: the run may have taken long. */
static int deliver(const live_run *self)
{
    fm_error error;
    const cli_live_options *how = self->how;
    const fm_profile *const *profiles = (const fm_profile *const *)self->profile;
    int code = cli_profiles_check(self->profile, self->analysis.count);
    if (code < 0) code = cli_attribution_keep_caches(&self->caches, self->profile, self->analysis.count);
    if (code >= 0) return code;
    if (how->json && fm_profile_write(how->json, profiles, self->analysis.count, &error))
        code = cli_fail(&error);
    if (self->profile[0]->attribution)
        code = cli_worse(code, cli_attribution_write(self->attribution, self->profile[0], &self->caches));
    if (how->report) {
        const fm_report_options page = {.no_source = how->no_source};
        code = cli_worse(code,
                         cli_write_page(how->report, &page, profiles, self->analysis.count, &self->caches));
    }
    const bool taken = cli_is_stdout(how->json) || cli_is_stdout(how->report) ||
                       cli_attribution_takes_stdout(self->attribution);
    if (how->output || !taken) code = cli_worse(code, show_text(self));
    return code;
}

static int finish(live_run *self)
{
    say_troubles(self);
    const int complete = completeness(self);
    const fm_sampled_run_state *state = &self->state;
    uint64_t understood = 0;
    for (size_t i = 0; i < fm_sampled_run_processes(self->run); i++) {
        fm_sampled_run_process process;
        fm_sampled_run_process_get(self->run, i, &process);
        understood += process.bursts;
    }
    if (understood == 0) {
        if (state->blocked)
            cli_complain("no sample was taken in %.3f s: %s did not let its clock's signal through",
                         state->seconds, program_name(self));
        else if (self->options.pid && state->running)
            cli_complain("no sample was taken in %.3f s: %s (process %" PRIu32 ") used too little processor "
                         "time. --rate 1000 takes more samples",
                         state->seconds, program_name(self), self->options.pid);
        else
            cli_complain("%s ended after %.3f s, before a sample was taken: %s. `fathom run` measures it "
                         "exactly; --rate 1000 takes more samples",
                         program_name(self), state->seconds,
                         state->seconds < LONG_SECONDS ? "too short to tell anything"
                         : self->options.follow_children
                             ? "it used too little processor time to tell anything"
                             : "it used too little processor time itself to tell anything "
                               "(--follow-children is about processes that it starts)");
        return CLI_FAILED;
    }
    if (state->bursts < (state->method == FM_SAMPLED_RUN_PMU ? FEW_ACCESSES : FEW_BURSTS))
        cli_note("only %" PRIu64 " samples: too short a run to tell much. `fathom run` measures it exactly; "
                 "--rate 1000 takes more samples",
                 state->bursts);
    int code = take_profiles(self);
    if (code < 0) code = note_objects(self);
    if (code < 0) code = deliver(self);
    return code < 0 ? complete : code;
}

static void find_end(const live_run *self, cli_program_end *end)
{
    if (fm_sampled_run_processes(self->run) == 0) return;
    fm_sampled_run_process first;
    fm_sampled_run_process_get(self->run, 0, &first);
    const fm_sampled_run_process last = last_program(self, first);
    *end = (cli_program_end){.known = last.ended, .exit_code = last.exit_code, .signal = last.signal};
}

int cli_sample_live(const cli_live_options *live, const cli_estimate_options *estimate,
                    const cli_attribution_options *attribution, uint64_t seed, char **command,
                    cli_program_end *end)
{
    live_run *self = calloc(1, sizeof *self);
    if (!self) return cli_out_of_memory();
    self->how = live;
    self->estimating = estimate;
    self->attribution = attribution;
    int code = check(self, command, seed);
    if (code < 0) code = watch_run(self);
    if (code < 0) code = finish(self);
    if (self->run) find_end(self, end);
    for (size_t i = 0; i < self->analysis.count; i++) fm_profile_destroy(self->profile[i]);
    fm_sampled_run_close(self->run);
    if (self->command != command) free(self->command);
    free(self);
    return code;
}

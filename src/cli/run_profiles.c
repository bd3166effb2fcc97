/* SPDX-License-Identifier: Apache-2.0 */
/*
 * run_profiles.c - feeds what a collection delivers into analyzers and makes profiles of them at the end.
 *
 * The analysis is in threads of its own (fathom/experimental/pipeline.h). It knows processes and threads, but
 * not how their references were obtained nor how distances are found.
 */
#include "run_profiles.h"
#include "pass_status.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

typedef struct process_analysis {
    fm_analyzer *analyzer[CLI_MOST_GRANULARITIES];
    fm_analyzer **threads; /* by number; NULL where a thread made no reference */
    size_t thread_room;
} process_analysis;

struct cli_run_profiles {
    cli_run_setup setup;
    fm_collection *collection;
    fm_pipeline *pipeline;
    size_t count;
    process_analysis *processes;
    uint64_t edges[CLI_MOST_EDGES];
    size_t edge_count;
    uint32_t late_range; /* objects are counted from this range on */
};

/* Which references a batch holds: its process, and the number of the first in it. */
typedef struct batch_label {
    uint64_t begin;
    uint32_t process;
} batch_label;

static fm_status count_late(void *context, const void *label, const uint64_t *address, const fm_late *late,
                            size_t count, fm_error *error)
{
    const batch_label *of = label;
    const fm_collected collected = {.process = of->process, .begin = of->begin, .batch.address = address};
    return fm_collection_count_late(context, &collected, late, count, error);
}

int cli_run_profiles_create(cli_run_profiles **profiles, const cli_run_setup *setup,
                            fm_collection *collection)
{
    cli_run_profiles *self = *profiles = calloc(1, sizeof *self);
    if (!self) return cli_out_of_memory();
    self->setup = *setup;
    self->collection = collection;
    if (setup->sites) {
        self->edge_count = cli_attribution_edges(setup->caches, setup->analysis->granularity[0], self->edges);
        self->late_range = (uint32_t)cli_attribution_late_range(
            setup->caches, setup->analysis->granularity[0], self->edges, self->edge_count);
    }
    fm_error error;
    const fm_pipeline_options options = {.threads = setup->threads,
                                         .late = setup->sites ? count_late : NULL,
                                         .context = collection,
                                         .label_size = sizeof(batch_label),
                                         .in_caller = setup->threads == 0};
    return fm_pipeline_create(&self->pipeline, &options, &error) ? cli_fail(&error) : -1;
}

static int make_analyzer(cli_run_profiles *self, size_t granularity, bool attributed, fm_analyzer **analyzer)
{
    fm_error error;
    fm_analyzer_options options = self->setup.analysis->analyzer;
    options.granularity = self->setup.analysis->granularity[granularity];
    cli_joined text;
    cli_analysis_place(&options, granularity, false, &text);
    int code =
        cli_analysis_share_memory(self->setup.analysis, self->setup.analysis->count, &options.max_memory);
    if (code >= 0) return code;
    if (attributed) {
        options.edges = self->edges;
        options.edge_count = self->edge_count;
    }
    if (fm_analyzer_create(analyzer, &options, &error)) return cli_fail(&error);
    if (attributed && fm_pipeline_report_late(self->pipeline, *analyzer, self->late_range, &error))
        return cli_fail(&error);
    return -1;
}

static int add_process(cli_run_profiles *self)
{
    process_analysis *grown = realloc(self->processes, (self->count + 1) * sizeof *grown);
    if (!grown) return cli_out_of_memory();
    self->processes = grown;
    process_analysis *process = &grown[self->count++];
    *process = (process_analysis){0};
    for (size_t i = 0; i < self->setup.analysis->count; i++) {
        int code = make_analyzer(self, i, self->setup.sites && i == 0, &process->analyzer[i]);
        if (code >= 0) return code;
    }
    fm_error error;
    if (self->setup.distances && self->count == 1 &&
        fm_analyzer_set_sink(process->analyzer[0], cli_write_distances, self->setup.distances, &error))
        return cli_fail(&error);
    return -1;
}

static int thread_analyzer(cli_run_profiles *self, process_analysis *process, uint32_t thread,
                           fm_analyzer **found)
{
    if (thread >= process->thread_room) {
        size_t room = (size_t)thread + 16;
        fm_analyzer **grown = realloc(process->threads, room * sizeof(fm_analyzer *));
        if (!grown) return cli_out_of_memory();
        memset(grown + process->thread_room, 0, (room - process->thread_room) * sizeof(fm_analyzer *));
        process->threads = grown;
        process->thread_room = room;
    }
    int code = -1;
    if (!process->threads[thread]) code = make_analyzer(self, 0, false, &process->threads[thread]);
    *found = process->threads[thread];
    return code;
}

int cli_run_profiles_feed(cli_run_profiles *profiles, const fm_collected *collected)
{
    int code = -1;
    while (code < 0 && profiles->count <= collected->process) code = add_process(profiles);
    if (code >= 0 || collected->event != FM_COLLECTED_REFERENCES) return code;
    process_analysis *process = &profiles->processes[collected->process];
    fm_analyzer *to[CLI_MOST_GRANULARITIES + 1];
    size_t count = profiles->setup.analysis->count;
    memcpy(to, process->analyzer, count * sizeof to[0]);
    if (profiles->setup.threads_private)
        code = thread_analyzer(profiles, process, collected->thread, &to[count++]);
    if (code >= 0) return code;
    fm_error error;
    const batch_label label = {.process = collected->process, .begin = collected->begin};
    return fm_pipeline_feed(profiles->pipeline, &collected->batch, to, count, &label, &error)
               ? cli_fail(&error)
               : -1;
}

/* ---- profiles of what was fed ---- */

/* Context of describe_process. */
typedef struct described {
    fm_collection *collection;
    size_t process;
} described;

static fm_status describe_process(void *context, fm_attribution *attribution, const uint32_t **map,
                                  size_t *map_count, fm_error *error)
{
    const described *what = context;
    return fm_collection_describe(what->collection, what->process, attribution, map, map_count, error);
}

static int attach(cli_run_profiles *self, size_t process, fm_profile *profile)
{
    fm_raw_pair *pairs;
    size_t count;
    fm_error error;
    if (fm_analyzer_pairs(self->processes[process].analyzer[0], &pairs, &count, &error))
        return cli_fail(&error);
    described what = {self->collection, process};
    int code = cli_attribution_attach(profile, pairs, count, self->edges, self->edge_count,
                                      self->edges[self->late_range], describe_process, &what, process > 0);
    free(pairs);
    return code;
}

/* How a process ended. */
static void describe_end(const fm_collected_process *process, fm_run *run)
{
    char ending[CLI_ENDING];
    free(run->ending);
    run->ending = strdup(cli_collect_ending(process, ending, sizeof ending));
    run->signal = process->ended ? process->signal : 0;
    run->exit_code = process->ended && !process->signal ? process->exit_code : -1;
}

/* The process that started one: not the program that it was before an exec. */
static uint32_t parent_pid(const fm_collection *collection, const fm_collected_process *process)
{
    fm_collected_process at = *process;
    size_t steps = fm_collection_processes(collection); /* whatever they tell of each other, it ends */
    while (at.by_exec && at.parent != FM_NONE && steps-- > 0)
        fm_collection_process(collection, at.parent, &at);
    if (at.parent == FM_NONE) return 0;
    fm_collection_process(collection, at.parent, &at);
    return at.pid;
}

/* The pid; where that is not to be told, the number of the first process that had it, from 1 on. */
static uint32_t shown_pid(const cli_run_profiles *self, uint32_t pid)
{
    if (!self->setup.reproducible || pid == 0) return pid;
    const size_t count = fm_collection_processes(self->collection);
    for (size_t i = 0; i < count; i++) {
        fm_collected_process process;
        fm_collection_process(self->collection, i, &process);
        if (process.pid == pid) return (uint32_t)i + 1;
    }
    return 0;
}

/* The run that a process's profile describes. */
static fm_run *describe_run(const cli_run_profiles *self, const fm_collect_options *options, size_t index,
                            const fm_collected_process *process)
{
    char what[512];
    fm_run *run = calloc(1, sizeof *run);
    fm_collection_state state;
    fm_collection_state_get(self->collection, &state);
    if (!run) return NULL;
    if (index == 0)
        run->command = cli_collect_command(options->command, false);
    else if (process->arguments)
        run->command = cli_collect_command(process->arguments, process->more_arguments);
    run->collector = strdup(state.collector == FM_COLLECTOR_COMPILER ? "compiler" : "valgrind");
    run->what = strdup(cli_collect_what(options, what, sizeof what));
    run->notes = strdup(state.notes);
    run->seconds = self->setup.reproducible ? 0 : state.seconds;
    run->process = shown_pid(self, process->pid);
    run->parent = shown_pid(self, parent_pid(self->collection, process));
    run->by_exec = process->by_exec;
    describe_end(process, run);
    return run;
}

static int name_profile(const cli_run_profiles *self, const fm_collect_options *options, size_t index,
                        uint32_t thread, fm_profile *profile)
{
    fm_collected_process process;
    fm_collection_process(self->collection, index, &process);
    profile->run = describe_run(self, options, index, &process);
    if (!profile->run) return cli_out_of_memory();
    profile->run->thread = thread;
    profile->name = strdup(process.program ? process.program : options->command[0]);
    if (!process.complete) {
        profile->complete = false;
        profile->lost = process.lost;
        profile->what_missing = strdup(process.what_missing ? process.what_missing : "its end was not seen");
    }
    return profile->name && (profile->complete || profile->what_missing) ? -1 : cli_out_of_memory();
}

static int add_part(fm_profile *whole, fm_profile *part)
{
    fm_profile **grown = realloc(whole->parts, (whole->part_count + 1) * sizeof *grown);
    if (!grown) {
        fm_profile_destroy(part);
        return cli_out_of_memory();
    }
    whole->parts = grown;
    whole->parts[whole->part_count++] = part;
    return -1;
}

static int take_threads(cli_run_profiles *self, const fm_collect_options *options, size_t index,
                        fm_profile *whole)
{
    const process_analysis *process = &self->processes[index];
    for (size_t thread = 0; thread < process->thread_room; thread++) {
        fm_error error;
        fm_profile *part;
        if (!process->threads[thread]) continue;
        if (fm_analyzer_profile(process->threads[thread], &part, &error)) return cli_fail(&error);
        int code = name_profile(self, options, index, (uint32_t)thread, part);
        if (code >= 0) {
            fm_profile_destroy(part);
            return code;
        }
        if ((code = add_part(whole, part)) >= 0) return code;
    }
    return -1;
}

static int take_process(cli_run_profiles *self, const fm_collect_options *options, size_t index,
                        size_t granularity, bool with_threads, fm_profile **profile)
{
    fm_error error;
    if (fm_analyzer_profile(self->processes[index].analyzer[granularity], profile, &error))
        return cli_fail(&error);
    int code = name_profile(self, options, index, 0, *profile);
    if (code < 0 && granularity == 0 && self->setup.sites) code = attach(self, index, *profile);
    if (code < 0 && granularity == 0 && with_threads && self->setup.threads_private)
        code = take_threads(self, options, index, *profile);
    return code;
}

/* The sum of all processes, each of which becomes a part. The first one is taken twice: it starts the sum. */
static int take_sum(cli_run_profiles *self, const fm_collect_options *options, size_t granularity,
                    fm_profile **sum)
{
    fm_error error;
    int code = take_process(self, options, 0, granularity, false, sum);
    if (code < 0) {
        fm_collected_process last;
        cli_collect_last_program(self->collection, &last);
        describe_end(&last, (*sum)->run);
    }
    for (size_t i = 0; code < 0 && i < self->count; i++) {
        fm_profile *part = NULL;
        code = take_process(self, options, i, granularity, true, &part);
        if (code < 0 && i > 0 && fm_profile_merge(*sum, part, &error)) code = cli_fail(&error);
        if (code < 0)
            code = add_part(*sum, part);
        else
            fm_profile_destroy(part);
    }
    return code;
}

int cli_run_profiles_take(cli_run_profiles *profiles, const fm_collect_options *options, fm_profile **result)
{
    fm_error error;
    int code = fm_pipeline_drain(profiles->pipeline, &error) ? cli_fail(&error) : -1;
    /* A program that ended before its first reference still has a profile: an empty one. */
    while (code < 0 && profiles->count < fm_collection_processes(profiles->collection))
        code = add_process(profiles);
    for (size_t i = 0; code < 0 && i < profiles->setup.analysis->count; i++)
        code = profiles->count > 1 ? take_sum(profiles, options, i, &result[i])
                                   : take_process(profiles, options, 0, i, true, &result[i]);
    return code;
}

void cli_run_profiles_destroy(cli_run_profiles *profiles)
{
    if (!profiles) return;
    fm_pipeline_destroy(profiles->pipeline);
    for (size_t i = 0; i < profiles->count; i++) {
        process_analysis *process = &profiles->processes[i];
        for (size_t g = 0; g < CLI_MOST_GRANULARITIES; g++) fm_analyzer_destroy(process->analyzer[g]);
        for (size_t t = 0; t < process->thread_room; t++) fm_analyzer_destroy(process->threads[t]);
        free(process->threads);
    }
    free(profiles->processes);
    free(profiles);
}

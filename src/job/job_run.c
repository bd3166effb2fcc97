/* SPDX-License-Identifier: Apache-2.0 */
/*
 * job_run.c - a program that is run, and analysed while it runs: an analyzer for each process and
 * granularity, one for each thread where asked for; at the end a tree of profiles. It joins a collection and
 * a pipeline; it knows neither how references are obtained nor how distances are found.
 *
 * One thing goes back to the collection: which references were late, since only it knows what object was at
 * an address at that time (docs/ARCHITECTURE.md).
 */
#include "job/job_internal.h"

#include "base/error.h"
#include "base/memory.h"

#include <fathom/experimental/pipeline.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct process_analysis {
    fm_analyzer *analyzer[FM_JOB_GRANULARITIES];
    fm_analyzer **threads; /* by number; NULL where a thread made no reference */
    size_t thread_room;
} process_analysis;

typedef struct run_job {
    fm_job *job;
    const fm_collect_options *program;
    unsigned threads; /* that analyse; 0: the one that receives does */
    bool sites;       /* attribution, of the first granularity */
    fm_pipeline *pipeline;
    size_t count;
    process_analysis *processes;
} run_job;

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

static fm_status create_pipeline(run_job *self, fm_error *error)
{
    const fm_pipeline_options options = {.threads = self->threads,
                                         .late = self->sites ? count_late : NULL,
                                         .context = self->job->collection,
                                         .label_size = sizeof(batch_label),
                                         .in_caller = self->threads == 0};
    if (self->sites) fm_job_cut_edges(self->job);
    return fm_pipeline_create(&self->pipeline, &options, error);
}

static fm_status make_analyzer(run_job *self, size_t granularity, bool attributed, fm_analyzer **analyzer,
                               fm_error *error)
{
    fm_job *job = self->job;
    fm_analyzer_options options;
    fm_status status = fm_job_analyzer_of(job, granularity, false, &options, error);
    if (status != FM_OK) return status;
    if (attributed) {
        options.edges = job->edges;
        options.edge_count = job->edge_count;
    }
    status = fm_job_explain_limit(job, fm_analyzer_create(analyzer, &options, error), error);
    if (status == FM_OK && attributed)
        status = fm_pipeline_report_late(self->pipeline, *analyzer, (uint32_t)job->late_range, error);
    return status;
}

static fm_status add_process(run_job *self, fm_error *error)
{
    fm_job *job = self->job;
    process_analysis *grown = realloc(self->processes, (self->count + 1) * sizeof *grown);
    if (!grown) return fm_fail_memory(error, (self->count + 1) * sizeof *grown, "the analysis of a process");
    self->processes = grown;
    process_analysis *process = &grown[self->count++];
    *process = (process_analysis){0};
    fm_status status = FM_OK;
    for (size_t i = 0; i < job->count && status == FM_OK; i++)
        status = make_analyzer(self, i, self->sites && i == 0, &process->analyzer[i], error);
    if (status == FM_OK && job->distances && self->count == 1)
        status = fm_analyzer_set_sink(process->analyzer[0], fm_job_write_distances, job->distances, error);
    return status;
}

static fm_status thread_analyzer(run_job *self, process_analysis *process, uint32_t thread,
                                 fm_analyzer **found, fm_error *error)
{
    fm_status status = FM_OK;
    if (thread >= process->thread_room) {
        const size_t room = (size_t)thread + 16;
        fm_analyzer **grown = realloc(process->threads, room * sizeof(fm_analyzer *));
        if (!grown) return fm_fail_memory(error, room * sizeof(fm_analyzer *), "the analyses of threads");
        memset(grown + process->thread_room, 0, (room - process->thread_room) * sizeof(fm_analyzer *));
        process->threads = grown;
        process->thread_room = room;
    }
    if (!process->threads[thread]) status = make_analyzer(self, 0, false, &process->threads[thread], error);
    *found = process->threads[thread];
    return status;
}

static fm_status feed_collected(void *context, const fm_collected *collected, fm_error *error)
{
    run_job *self = context;
    fm_status status = FM_OK;
    while (status == FM_OK && self->count <= collected->process) status = add_process(self, error);
    if (status != FM_OK || collected->event != FM_COLLECTED_REFERENCES) return status;
    process_analysis *process = &self->processes[collected->process];
    fm_analyzer *to[FM_JOB_GRANULARITIES + 1];
    size_t count = self->job->count;
    memcpy(to, process->analyzer, count * sizeof to[0]);
    if (self->job->options.threads_private)
        status = thread_analyzer(self, process, collected->thread, &to[count++], error);
    if (status != FM_OK) return status;
    const batch_label label = {.process = collected->process, .begin = collected->begin};
    status = fm_pipeline_feed(self->pipeline, &collected->batch, to, count, &label, error);
    return fm_job_explain_limit(self->job, status, error);
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

static fm_status attach_sites(run_job *self, size_t process, fm_profile *profile, fm_error *error)
{
    fm_job *job = self->job;
    fm_raw_pair *pairs;
    size_t count;
    fm_status status = fm_analyzer_pairs(self->processes[process].analyzer[0], &pairs, &count, error);
    if (status != FM_OK) return status;
    described what = {job->collection, process};
    status = fm_job_attribute(job, profile, pairs, count, job->late_from, describe_process, &what,
                              process > 0, error);
    free(pairs);
    return status;
}

/* How a process ended. */
static void describe_end(const fm_collected_process *process, fm_run *run)
{
    char ending[FM_JOB_ENDING];
    free(run->ending);
    run->ending = strdup(fm_job_ending_text(process, ending, sizeof ending));
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
static uint32_t shown_pid(const fm_job *job, uint32_t pid)
{
    if (!job->options.reproducible || pid == 0) return pid;
    const size_t count = fm_collection_processes(job->collection);
    for (size_t i = 0; i < count; i++) {
        fm_collected_process process;
        fm_collection_process(job->collection, i, &process);
        if (process.pid == pid) return (uint32_t)i + 1;
    }
    return 0;
}

/* What was watched: "loads, without stacks, in function f and what it calls". */
static char *what_text(const fm_collect_options *program)
{
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    if (!out) return NULL;
    fputs(program->no_stores ? "loads" : program->no_loads ? "stores" : "all references", out);
    if (program->no_stack) fputs(", without stacks", out);
    if (program->function) fprintf(out, ", in function %s and what it calls", program->function);
    if (program->region) fprintf(out, ", in region \"%s\"", program->region);
    if (program->limit) fprintf(out, ", the first %" PRIu64 " accesses", program->limit);
    if (program->limit_seconds > 0) fprintf(out, ", the first %g s", program->limit_seconds);
    if (fclose(out) == 0) return text;
    free(text);
    return NULL;
}

/* The run that a process's profile describes. */
static fm_run *describe_run(const run_job *self, size_t index, const fm_collected_process *process)
{
    const fm_job *job = self->job;
    fm_run *run = calloc(1, sizeof *run);
    fm_collection_state state;
    fm_collection_state_get(job->collection, &state);
    if (!run) return NULL;
    if (index == 0)
        run->command = fm_job_command_text(self->program->command, false);
    else if (process->arguments)
        run->command = fm_job_command_text(process->arguments, process->more_arguments);
    run->collector = strdup(state.collector == FM_COLLECTOR_COMPILER ? "compiler" : "valgrind");
    run->what = what_text(self->program);
    run->notes = strdup(state.notes);
    run->seconds = job->options.reproducible ? 0 : state.seconds;
    run->process = shown_pid(job, process->pid);
    run->parent = shown_pid(job, parent_pid(job->collection, process));
    run->by_exec = process->by_exec;
    describe_end(process, run);
    return run;
}

static fm_status name_profile(const run_job *self, size_t index, uint32_t thread, fm_profile *profile,
                              fm_error *error)
{
    fm_collected_process process;
    fm_collection_process(self->job->collection, index, &process);
    profile->run = describe_run(self, index, &process);
    if (!profile->run) return fm_fail_memory(error, sizeof *profile->run, "a run");
    profile->run->thread = thread;
    profile->name = strdup(process.program ? process.program : self->program->command[0]);
    if (!process.complete) {
        profile->complete = false;
        profile->lost = process.lost;
        profile->what_missing = strdup(process.what_missing ? process.what_missing : "its end was not seen");
    }
    return profile->name && (profile->complete || profile->what_missing) ? FM_OK
                                                                         : fm_fail_memory(error, 1, "a name");
}

static fm_status add_part(fm_profile *whole, fm_profile *part, fm_error *error)
{
    fm_profile **grown = realloc(whole->parts, (whole->part_count + 1) * sizeof *grown);
    if (!grown) {
        fm_profile_destroy(part);
        return fm_fail_memory(error, (whole->part_count + 1) * sizeof *grown, "parts of a profile");
    }
    whole->parts = grown;
    whole->parts[whole->part_count++] = part;
    return FM_OK;
}

static fm_status take_threads(run_job *self, size_t index, fm_profile *whole, fm_error *error)
{
    const process_analysis *process = &self->processes[index];
    fm_status status = FM_OK;
    for (size_t thread = 0; thread < process->thread_room && status == FM_OK; thread++) {
        fm_profile *part;
        if (!process->threads[thread]) continue;
        status = fm_analyzer_profile(process->threads[thread], &part, error);
        if (status != FM_OK) return status;
        status = name_profile(self, index, (uint32_t)thread, part, error);
        if (status == FM_OK)
            status = add_part(whole, part, error);
        else
            fm_profile_destroy(part);
    }
    return status;
}

static fm_status take_process(run_job *self, size_t index, size_t granularity, bool with_threads,
                              fm_profile **profile, fm_error *error)
{
    fm_status status = fm_analyzer_profile(self->processes[index].analyzer[granularity], profile, error);
    if (status == FM_OK) status = name_profile(self, index, 0, *profile, error);
    if (status == FM_OK && granularity == 0 && self->sites)
        status = attach_sites(self, index, *profile, error);
    if (status == FM_OK && granularity == 0 && with_threads && self->job->options.threads_private)
        status = take_threads(self, index, *profile, error);
    return status;
}

/* What the first process had become when it ended: its status is that of the whole run. */
static void find_last_program(const fm_collection *collection, fm_collected_process *last)
{
    const size_t count = fm_collection_processes(collection);
    size_t steps = count; /* whatever they tell of each other, it ends */
    fm_collection_process(collection, 0, last);
    for (size_t at = 0, i = 0; i < count && steps > 0; i++) {
        fm_collected_process next;
        fm_collection_process(collection, i, &next);
        if (!next.by_exec || next.parent != at) continue;
        *last = next;
        at = i;
        steps--;
        i = SIZE_MAX; /* they need not stand in their order: once more from the first */
    }
}

/* The sum of all processes, each of which becomes a part. The first one is taken twice: it starts the sum. */
static fm_status take_sum(run_job *self, size_t granularity, fm_profile **sum, fm_error *error)
{
    fm_status status = take_process(self, 0, granularity, false, sum, error);
    if (status == FM_OK) {
        fm_collected_process last;
        find_last_program(self->job->collection, &last);
        describe_end(&last, (*sum)->run);
    }
    for (size_t i = 0; status == FM_OK && i < self->count; i++) {
        fm_profile *part = NULL;
        status = take_process(self, i, granularity, true, &part, error);
        if (status == FM_OK && i > 0) status = fm_profile_merge(*sum, part, error);
        if (status == FM_OK)
            status = add_part(*sum, part, error);
        else
            fm_profile_destroy(part);
    }
    return status;
}

static fm_status take_profiles(run_job *self, fm_error *error)
{
    fm_job *job = self->job;
    fm_status status = fm_job_explain_limit(job, fm_pipeline_drain(self->pipeline, error), error);
    /* A program that ended before its first reference still has a profile: an empty one. */
    while (status == FM_OK && self->count < fm_collection_processes(job->collection))
        status = add_process(self, error);
    for (size_t i = 0; status == FM_OK && i < job->count; i++)
        status = self->count > 1 ? take_sum(self, i, &job->profile[i], error)
                                 : take_process(self, 0, i, true, &job->profile[i], error);
    return status;
}

static void run_clear(run_job *self)
{
    fm_pipeline_destroy(self->pipeline);
    for (size_t i = 0; i < self->count; i++) {
        process_analysis *process = &self->processes[i];
        for (size_t g = 0; g < FM_JOB_GRANULARITIES; g++) fm_analyzer_destroy(process->analyzer[g]);
        for (size_t t = 0; t < process->thread_room; t++) fm_analyzer_destroy(process->threads[t]);
        free(process->threads);
    }
    free(self->processes);
}

/* ---- the run ---- */

/* Whether it is a script: a program that another one reads. */
static bool is_script(const char *path)
{
    char begin[3] = "";
    const int file =
        strchr(path, '/') ? open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK) : -1; /* it may be a pipe */
    const bool script =
        file >= 0 && read(file, begin, 3) == 3 && begin[0] == '#' && begin[1] == '!' && begin[2] != '\n';
    if (file >= 0) close(file);
    return script;
}

fm_status fm_job_begin_program(fm_job *job, fm_job_source source, fm_collect_options *own,
                               const fm_collect_options *program, size_t program_size, fm_error *error)
{
    fm_status status =
        fm_sized_read(own, sizeof *own, program, program ? program_size : 0, "fm_collect_options", error);
    if (status == FM_OK && (!own->command || !own->command[0]))
        status = fm_fail(error, FM_E_ARGUMENT, NULL, "fm_collect_options.command: there is none");
    return status == FM_OK ? fm_job_begin(job, source, error) : status;
}

/* What a reader of the result would stumble over. */
void fm_job_note_program(fm_job *job, const fm_collect_options *options)
{
    static const struct {
        const char *name, *package;
    } interpreters[] = {{"python", "python3-dbg"},     {"perl", "perl-debug"},   {"ruby", "ruby's -dbgsym"},
                        {"node", "nodejs-dbgsym"},     {"php", "php's -dbgsym"}, {"lua", "lua's -dbgsym"},
                        {"Rscript", "r-base-core-dbg"}};
    const char *program = options->command[0];
    const char *slash = strrchr(program, '/'), *base = slash ? slash + 1 : program;
    if (!options->follow_children && is_script(program))
        fm_job_note(
            job,
            "%s is a script: what is profiled is its interpreter, without the programs that it starts; "
            "fm_collect_options.follow_children profiles those too",
            base);
    if (options->collector == FM_COLLECTOR_COMPILER) return; /* libraries are what is profiled */
    for (size_t i = 0; i < sizeof interpreters / sizeof *interpreters; i++) {
        if (strncmp(base, interpreters[i].name, strlen(interpreters[i].name)) != 0) continue;
        fm_job_note(
            job,
            "%s is an interpreter: lines are those of its own C code, with its debug symbols (Debian package "
            "%s); which line of the script ran is not known",
            base, interpreters[i].package);
        break;
    }
}

/* Tells what the collection has to say, and of which process something is missing. */
static void look_back(fm_job *job)
{
    fm_collection_state state;
    fm_collection_state_get(job->collection, &state);
    fm_job_note_lines(job, state.notes);
    const size_t count = fm_collection_processes(job->collection);
    for (size_t i = 0; i < count; i++) {
        fm_collected_process process;
        fm_collection_process(job->collection, i, &process);
        if (process.complete) continue;
        job->incomplete = true;
        fm_job_warn(job, "incomplete: process %" PRIu32 " (%s): %s", process.pid,
                    process.program ? process.program : "?",
                    process.what_missing ? process.what_missing : "its end was not seen");
    }
}

fm_status fm_job_receive(fm_job *job, const fm_collect_options *program, fm_job_receiver take, void *context,
                         fm_error *error)
{
    fm_collected collected = {.event = FM_COLLECTED_IDLE};
    fm_status status = FM_OK;
    fm_job_progress_begin(job, "accesses", true);
    while (status == FM_OK) {
        status = fm_collection_next(job->collection, &collected, error);
        if (status != FM_OK || collected.event == FM_COLLECTED_END) break;
        if (collected.event != FM_COLLECTED_IDLE) status = take(context, &collected, error);
        fm_collection_state state;
        fm_collection_state_get(job->collection, &state);
        fm_job_progress_at(job, state.references,
                           program->limit ? (double)state.references / (double)program->limit : -1);
    }
    fm_job_progress_end(job);
    if (status != FM_OK) return status;
    look_back(job);
    return fm_collection_processes(job->collection) > 0
               ? FM_OK
               : fm_fail(error, FM_E_UNSUPPORTED, program->command[0], "nothing of it was seen");
}

/* Also where the job fails: whoever hands the status on wants to know. */
void fm_job_find_end(fm_job *job)
{
    fm_collected_process last;
    if (!job->collection || fm_collection_processes(job->collection) == 0) return;
    find_last_program(job->collection, &last);
    job->end = (fm_job_end){.known = last.ended, .exit_code = last.exit_code, .signal = last.signal};
}

static fm_status start_run(run_job *self, fm_collect_options *program, fm_error *error)
{
    fm_job *job = self->job;
    const fm_job_options *options = &job->options;
    fm_status status = FM_OK;
    program->columns = FM_COLUMN_SIZE | (self->sites ? FM_COLUMN_TAG : 0);
    program->objects = self->sites;
    /* Looking for those of the machine takes longer than short programs do: it is done while this one runs.
     */
    if (options->distances) status = fm_output_open(&job->distances, options->distances, error);
    if (status == FM_OK) status = fm_collection_start(&job->collection, program, error);
    if (status != FM_OK) return status;
    fm_job_find_caches(job, !job->analyzer.elements);
    return create_pipeline(self, error);
}

static fm_status run_program(run_job *self, fm_collect_options *program, fm_error *error)
{
    fm_job *job = self->job;
    fm_status status = start_run(self, program, error);
    if (status == FM_OK) status = fm_job_receive(job, program, feed_collected, self, error);
    if (status == FM_OK) status = take_profiles(self, error);
    if (status == FM_OK && self->sites) status = fm_job_record_sources(job, job->profile[0], error);
    return status == FM_OK ? fm_job_settle(job, error) : status;
}

fm_status fm_job_run_sized(size_t program_size, fm_job *job, const fm_collect_options *program,
                           fm_error *error)
{
    fm_collect_options own;
    FM_REQUIRE(job, error);
    fm_status status = fm_job_begin_program(job, FM_JOB_PROGRAM, &own, program, program_size, error);
    if (status != FM_OK) return status;
    fm_job_note_program(job, &own);
    fm_job_granularity_default(job, 64);
    fm_job_choose_engine(job, 0);
    const fm_engine_info *engine = fm_job_engine(job);
    if (!engine)
        return fm_fail(error, FM_E_ARGUMENT, NULL, "there is no engine '%.60s'", job->analyzer.engine);
    status = fm_job_opened(job, true, error);
    if (status != FM_OK) return status;
    fm_job_note_bytes(job);
    if (engine->no_sites && !job->options.no_sites)
        fm_job_note(job, "code sites are left out: the engine %s does not tell them apart", engine->name);
    run_job self = {.job = job,
                    .program = &own,
                    .threads = fm_job_threads_beside(job, own.follow_children),
                    .sites = !job->options.no_sites && !engine->histogram_only && !engine->no_sites};
    if (strcmp(engine->name, "exact") != 0) { /* only for that one is there anything to prepare */
        job->analyzer.threads = self.threads > 0 ? self.threads : 1;
        self.threads = 1;
    }
    status = run_program(&self, &own, error);
    fm_job_find_end(job);
    run_clear(&self);
    return status;
}

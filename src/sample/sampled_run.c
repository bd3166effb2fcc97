/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sampled_run.c - starts a program with the sampling runtime in it and looks after it: processes that attach,
 * their clocks, their ends. sample_drain.c takes the samples, in a thread of its own.
 */
#define _GNU_SOURCE
#include "sample/sampled_run_state.h"

#include "base/error.h"
#include "base/input.h"
#include "base/memory.h"
#include "base/table.h"
#include "process/program_file.h"
#include "sample/sampled_thread.h"

#include <errno.h>
#include <inttypes.h>
#include <linux/futex.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <linux/perf_event.h>

static const char runtime_name[] = "libfathom-sample.so";
enum { LONGEST_TICK = 5000000 }; /* nanoseconds */

void fm_sampled_run_note(fm_sampled_run *run, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    fm_notes_add(&run->notes, format, arguments);
    va_end(arguments);
}

/* ---- the program ---- */

/* Can it be sampled at all? */
static fm_status check_program(const fm_program_file *program, fm_error *error)
{
    const char *file = program->file;
    switch (program->rights) {
    case FM_RIGHTS_NONE:
        break;
    case FM_RIGHTS_CAPABILITIES:
    case FM_RIGHTS_SETUID:
    case FM_RIGHTS_SETGID:
        return fm_fail(
            error, FM_E_UNSUPPORTED, file,
            "%s: the loader preloads nothing into such programs; a copy without (cp makes one) can "
            "be sampled",
            program->rights == FM_RIGHTS_CAPABILITIES ? "has capabilities of its own"
            : program->rights == FM_RIGHTS_SETUID     ? "is setuid (set-user-ID)"
                                                      : "is setgid (set-group-ID)");
    }
    const fm_status status = fm_program_refuse(program, "sampled", "sampling", error);
    if (status != FM_OK) return status;
    if (!program->loader[0])
        return fm_fail(error, FM_E_UNSUPPORTED, file,
                       "is linked statically: the sampling runtime cannot be loaded into it. Link it "
                       "dynamically, or measure it exactly with `fathom run`");
    return FM_OK;
}

static fm_status check_proc(const fm_sampled_run *run, fm_error *error)
{
    char path[64];
    fm_sample_memory_path(&run->memory, path, sizeof path);
    return fm_proc_shows(run->memory.file, path, "sampling", error);
}

fm_status fm_sampled_runtime_find(const fm_sampled_run *run, char *path, size_t size, fm_error *error)
{
    if (fm_part_find(run->options.parts, runtime_name, path, size)) return FM_OK;
    if (path[0]) return fm_fail(error, FM_E_UNSUPPORTED, path, "there is no sampling runtime here");
    return fm_fail(error, FM_E_UNSUPPORTED, NULL,
                   "this fathom has no sampling runtime: install Zydis (Debian package libzydis-dev) and "
                   "build fathom again, or measure with `fathom run`");
}

/* The time and the time-stamp counter at the same moment: nobody else had the processor in between. */
static double now_with_ticks(uint64_t *ticks)
{
    enum { TRIES = 100 };
    double now = 0, best = 0;
    uint64_t least = UINT64_MAX;
    for (int i = 0; i < TRIES; i++) {
        const uint64_t before = __builtin_ia32_rdtsc();
        now = fm_now();
        const uint64_t took = __builtin_ia32_rdtsc() - before;
        if (took >= least) continue;
        least = took;
        best = now;
        *ticks = before + took / 2;
    }
    return best;
}

/* How fast the time-stamp counter is, from a few milliseconds. */
static uint64_t counter_frequency(void)
{
    uint64_t first = 0, last = 0;
    const double begin = now_with_ticks(&first);
    while (fm_now() - begin < 0.003) {
    }
    const double end = now_with_ticks(&last);
    return (uint64_t)((double)(last - first) / (end - begin));
}

static fm_status set_up(fm_sampled_run *run, fm_error *error)
{
    const fm_sampled_run_options *options = &run->options;
    fm_status status =
        options->pid ? fm_sampled_attach_begin(run, error) : fm_sample_memory_create(&run->memory, error);
    if (status != FM_OK) return status;
    fm_sample_session *session = run->memory.session;
    session->wants = (options->follow_children ? FM_SAMPLE_WANT_CHILDREN : 0u) |
                     (options->no_watches ? 0u : FM_SAMPLE_WANT_WATCHES) |
                     (options->objects ? FM_SAMPLE_WANT_OBJECTS : 0u) |
                     (options->call_paths || options->function ? FM_SAMPLE_WANT_PATHS : 0u);
    if (options->region) {
        session->wants |= FM_SAMPLE_WANT_REGION;
        snprintf(session->region, sizeof session->region, "%s", options->region);
    }
    session->interval = options->rate > 0 ? (uint64_t)(1e9 / options->rate) : 0;
    session->period = options->period;
    session->budget = (uint64_t)(options->overhead * 1e6);
    if (!session->budget && !session->interval && !session->period) session->budget = 20000;
    /* Bursts are a whole number of ticks apart: a few more ticks than bursts, so that these are at random. */
    uint64_t tick = session->interval ? session->interval / 2 : LONGEST_TICK;
    if (session->period) tick = 1000000;
    status = fm_sampled_run_choose(run, error);
    if (status != FM_OK) return status;
    if (tick > LONGEST_TICK || run->context.counters) tick = LONGEST_TICK; /* to meet new threads */
    if (tick < FM_SAMPLED_SHORTEST_TICK) tick = FM_SAMPLED_SHORTEST_TICK;
    session->tick = run->tick = tick;
    session->seed = options->seed ? options->seed : fm_random_seed();
    session->frequency = counter_frequency();
    run->context.memory = &run->memory;
    run->context.code = &run->code;
    run->context.objects = &run->objects;
    run->context.with_objects = options->objects;
    run->context.take_heap = fm_sample_heap_take;
    run->context.run = run;
    run->context.mean_rate = options->mean_rate;
    run->context.with_paths = options->call_paths || options->function;
    run->context.tell_paths = options->call_paths;
    run->code.program.function = options->function;
    if (options->function) run->context.function = &run->function;
    run->context.nanoseconds = 1e9 / (double)session->frequency;
    run->context.ceiling = fm_access_ceiling();
    run->context.granularity_count = options->granularity_count;
    for (size_t i = 0; i < options->granularity_count; i++)
        run->context.shifts[i] = (unsigned)__builtin_ctzll(options->granularities[i]);
    run->context.log = malloc(fm_sample_class_bytes(FM_SAMPLE_CLASSES - 1));
    run->context.touches = malloc((size_t)FM_BURST_ACCESSES_MOST * sizeof *run->context.touches);
    if (!run->context.log || !run->context.touches)
        return fm_fail_memory(error, FM_BURST_ACCESSES_MOST * sizeof *run->context.touches, "bursts");
    return fm_burst_table_create(&run->context.table, error);
}

static fm_status launch_program(fm_sampled_run *run, fm_error *error)
{
    char runtime[PATH_MAX], path[64], session[96];
    fm_program_file program;
    fm_status status = check_proc(run, error);
    if (status == FM_OK) status = fm_program_find(run->options.command[0], &program, error);
    if (status == FM_OK) status = fm_program_look(&program, error);
    if (status == FM_OK) status = check_program(&program, error);
    if (status == FM_OK) status = fm_sampled_runtime_find(run, runtime, sizeof runtime, error);
    if (status != FM_OK) return status;
    fm_sample_memory_path(&run->memory, path, sizeof path);
    snprintf(session, sizeof session, FM_SAMPLE_ENVIRONMENT "=%s", path);
    const char *const variables[] = {session, NULL};
    run->program = strdup(program.path);
    if (!run->program) return fm_fail_memory(error, PATH_MAX, "the program's path");
    return fm_watch_start(&run->watch,
                          &(fm_start){.path = program.path,
                                      .arguments = run->options.command,
                                      .variables = variables,
                                      .preload = runtime},
                          error);
}

static fm_status check_options(const fm_sampled_run_options *options, fm_error *error)
{
    if (!options->pid && (!options->command || !options->command[0]))
        return fm_fail(error, FM_E_ARGUMENT, NULL, "there is no program to be sampled");
    if (options->pid && (options->command || options->follow_children))
        return fm_fail(error, FM_E_ARGUMENT, NULL,
                       "a process that runs already is sampled by itself: no command, no children");
    if (options->granularity_count > 0 && !options->granularities)
        return fm_fail(error, FM_E_ARGUMENT, NULL,
                       "fm_sampled_run_options.granularity_count is %zu, and there are no granularities",
                       options->granularity_count);
    if (options->granularity_count > FM_SAMPLED_RUN_GRANULARITIES)
        return fm_fail(error, FM_E_ARGUMENT, NULL, "1 to %d granularities can be sampled at a time, not %zu",
                       FM_SAMPLED_RUN_GRANULARITIES, options->granularity_count);
    for (size_t i = 0; i < options->granularity_count; i++) {
        const uint64_t granularity = options->granularities[i];
        if (granularity == 0 || (granularity & (granularity - 1)))
            return fm_fail(error, FM_E_ARGUMENT, NULL, "a granularity must be a power of two, not %" PRIu64,
                           granularity);
    }
    if (options->region && strlen(options->region) >= FM_SAMPLE_REGION_BYTES)
        return fm_fail(error, FM_E_ARGUMENT, NULL, "the name of a region has at most %d bytes",
                       FM_SAMPLE_REGION_BYTES - 1);
    if (!(options->rate >= 0) || !(options->overhead >= 0) || !(options->limit_seconds >= 0))
        return fm_fail(error, FM_E_ARGUMENT, NULL, "rate, overhead and time are 0 or more");
    return fm_check_choice(options->method, FM_SAMPLED_RUN_ANY, "fm_sampled_run_options.method", error);
}

fm_status fm_sampled_run_start_sized(size_t given_size, fm_sampled_run **run,
                                     const fm_sampled_run_options *given, fm_error *error)
{
    *run = NULL;
    fm_sampled_run_options options;
    fm_status status =
        fm_sized_read(&options, sizeof options, given, given_size, "fm_sampled_run_options", error);
    if (status == FM_OK) status = check_options(&options, error);
    if (status != FM_OK) return status;
    static const uint64_t usual = 64;
    if (options.granularity_count == 0) {
        options.granularities = &usual;
        options.granularity_count = 1;
    }
    fm_sampled_run *made = fm_calloc(1, sizeof *made);
    if (!made) return fm_fail_memory(error, sizeof *made, "the sampler");
    made->options = options;
    status = set_up(made, error);
    if (status == FM_OK) {
        const fm_watch_options watching = {.signals = options.signals,
                                           .orphans = true,
                                           .limit_seconds = options.limit_seconds,
                                           .wake = &made->memory.session->wake};
        status = fm_watch_begin(&made->watch, &watching, error);
    }
    if (status == FM_OK && options.pid) status = fm_watch_adopt(&made->watch, (pid_t)options.pid, error);
    if (status == FM_OK)
        status = options.pid ? fm_sampled_attach_enter(made, error) : launch_program(made, error);
    if (status == FM_OK) status = fm_sample_drain_begin(made, error);
    if (status != FM_OK) {
        fm_sampled_run_close(made);
        return status;
    }
    *run = made;
    return FM_OK;
}

/* ---- processes ---- */

fm_sampled_process *fm_sampled_process_numbered(const fm_sampled_run *run, uint32_t serial)
{
    for (size_t i = run->process_count; i-- > 0;)
        if (run->processes[i]->serial == serial) return run->processes[i];
    return NULL;
}

/* The file that a process executes. */
static char *program_of(uint32_t pid)
{
    char path[PATH_MAX];
    return fm_proc_program(pid, path, sizeof path) ? strdup(path) : NULL;
}

/* A process that has claimed its place. */
static fm_status attach_process(fm_sampled_run *run, uint32_t place, fm_error *error)
{
    enum { MOST_PROCESSES = 65536 };
    const fm_sample_process shared = run->memory.session->processes[place]; /* read once */
    if (shared.pid == 0 || run->process_count >= MOST_PROCESSES) return FM_OK;
    fm_sampled_process *made = fm_calloc(1, sizeof *made);
    if (!made) return fm_fail_memory(error, sizeof *made, "a process");
    *made = (fm_sampled_process){.place = place,
                                 .serial = shared.serial,
                                 .parent_pid = shared.parent_pid,
                                 .parent = shared.parent,
                                 .attached = true,
                                 .watched = {.pid = shared.pid, .order = shared.serial},
                                 .code = {.pid = shared.pid, .alive = true}};
    pthread_mutex_lock(&run->lock);
    fm_status status = FM_OK;
    if (fm_array_reserve((void **)&run->processes, &run->process_capacity, run->process_count + 1,
                         sizeof(fm_sampled_process *)) != 0)
        status = fm_fail_memory(error, (run->process_count + 1) * sizeof(void *), "the processes");
    else if (fm_sampled_process_numbered(run, shared.serial) == NULL) {
        run->processes[run->process_count++] = made;
        run->places[place] = made;
    }
    pthread_mutex_unlock(&run->lock);
    if (status != FM_OK || run->places[place] != made) { /* a serial number that is there already: damage */
        free(made);
        return status;
    }
    fm_watched_process *same;
    made->watched.owner = made;
    status = fm_watch_add(&run->watch, &made->watched, &same, error);
    if (status != FM_OK) return status;
    made->by_exec = same != NULL;
    if (!made->watched.ours) return FM_OK; /* whatever it is, nothing is done to it */
    made->program = program_of(shared.pid);
    if (made->program) made->called = fm_process_called(shared.pid, made->program);
    pthread_mutex_lock(&run->code_lock);
    status = fm_sampled_maps_read(&made->code.maps, &run->code, shared.pid, error);
    if (status == FM_OK && made->called && !fm_program_call(&run->code.program, made->program, made->called))
        status = fm_fail_memory(error, strlen(made->called), "the program's name");
    /* It waits for its clock meanwhile. */
    if (status == FM_OK && run->context.function && !run->attachment)
        status = fm_function_filter_prepare(&run->function, &run->code.program, error);
    pthread_mutex_unlock(&run->code_lock);
    return status;
}

static void answer_clock(fm_sample_process *shared, uint32_t state)
{
    __atomic_store_n(&shared->clock, state, __ATOMIC_RELEASE);
    syscall(SYS_futex, &shared->clock, FUTEX_WAKE, INT32_MAX, NULL, NULL, 0);
}

static void stop_clock(fm_sampled_process *process)
{
    for (size_t i = 0; i < process->clock_count; i++)
        ioctl(process->clocks[i], PERF_EVENT_IOC_DISABLE, PERF_IOC_FLAG_GROUP);
    for (size_t i = 0; i < process->clock_count; i++) close(process->clocks[i]);
    process->clock_count = 0;
}

int fm_sampled_clock_add(fm_sampled_run *run, fm_sampled_process *process, uint32_t thread)
{
    if (fm_array_reserve((void **)&process->clocks, &process->clock_capacity, process->clock_count + 1,
                         sizeof *process->clocks) != 0)
        return -ENOMEM;
    const int file = fm_sample_clock_open(thread, run->tick, FM_SAMPLE_TRAP_CLOCK);
    if (file < 0) return file;
    process->clocks[process->clock_count++] = file;
    return 0;
}

static void start_clock(fm_sampled_run *run, fm_sampled_process *process, fm_sample_process *shared)
{
    const uint32_t thread = __atomic_load_n(&shared->tid, __ATOMIC_RELAXED);
    int why = -ESRCH;
    /* Only in what we have started, and in no other thread than its first. */
    if (process->watched.ours && thread == process->watched.pid && !run->attachment)
        why = fm_sampled_clock_add(run, process, thread);
    process->clock_kind = why == 0 ? FM_SAMPLED_RUN_PERF : FM_SAMPLED_RUN_NO_CLOCK;
    if (why != 0) {
        process->clock_error = -why;
        shared->clock_error = -why;
    }
    answer_clock(shared, why == 0 ? FM_SAMPLE_CLOCK_RUNS : FM_SAMPLE_CLOCK_REFUSED);
}

fm_status fm_sampled_run_look(fm_sampled_run *run, fm_error *error)
{
    fm_sample_session *session = run->memory.session;
    fm_status status = FM_OK;
    for (uint32_t i = 0; i < FM_SAMPLE_PROCESSES && status == FM_OK; i++) {
        fm_sample_process *shared = &session->processes[i];
        if (__atomic_load_n(&shared->state, __ATOMIC_ACQUIRE) != FM_SAMPLE_OPEN) continue;
        if (!run->places[i]) status = attach_process(run, i, error);
        fm_sampled_process *process = run->places[i];
        if (status != FM_OK || !process) continue;
        const uint32_t clock = __atomic_load_n(&shared->clock, __ATOMIC_ACQUIRE);
        if (clock == FM_SAMPLE_CLOCK_ASKED && process->clock_count == 0 && !run->stopped)
            start_clock(run, process, shared);
        if (clock == FM_SAMPLE_CLOCK_STOP) {
            stop_clock(process);
            answer_clock(shared, FM_SAMPLE_CLOCK_STOPPED);
        }
        if (clock == FM_SAMPLE_CLOCK_TIMER) process->clock_kind = FM_SAMPLED_RUN_TIMER;
        process->trouble |= __atomic_load_n(&shared->trouble, __ATOMIC_RELAXED);
        run->region_met |= __atomic_load_n(&shared->region_met, __ATOMIC_RELAXED) != 0;
        process->watch_error = __atomic_load_n(&shared->watch_error, __ATOMIC_RELAXED);
        process->counter_error = __atomic_load_n(&shared->pmu_error, __ATOMIC_RELAXED);
        process->refused_threads = __atomic_load_n(&shared->refused_threads, __ATOMIC_RELAXED);
    }
    return status;
}

/* What the command has become by exec, where that is not followed. */
static void look_for_exec(fm_sampled_run *run)
{
    const double now = fm_now();
    fm_sampled_process *process = run->process_count ? run->processes[0] : NULL;
    if (!process || run->options.follow_children || process->executed || now < run->exec_next ||
        process->watched.gone || !process->program)
        return;
    run->exec_next = now + 0.05;
    char *program = program_of(process->watched.pid);
    if (program && strcmp(program, process->program) != 0) {
        process->executed = true;
        fm_sampled_run_note(run, "%s executed %s, which was not sampled: only children that are followed are",
                            fm_program_shown(process->program, process->called), program);
    }
    free(program);
}

/* Those that are gone: the drain takes what they left, and then their places are free. */
static void look_at_ends(fm_sampled_run *run)
{
    for (uint32_t i = 0; i < FM_SAMPLE_PROCESSES; i++) {
        fm_sampled_process *process = run->places[i];
        if (!process || !process->watched.gone) continue;
        const fm_sample_process *shared = &run->memory.session->processes[i];
        run->region_met |= __atomic_load_n(&shared->region_met, __ATOMIC_RELAXED) != 0;
        process->refused_threads = __atomic_load_n(&shared->refused_threads, __ATOMIC_RELAXED);
        process->trouble |= __atomic_load_n(&shared->trouble, __ATOMIC_RELAXED);
        process->ended_at = __atomic_load_n(&shared->ended_at, __ATOMIC_RELAXED);
        process->peak_memory = __atomic_load_n(&shared->peak_memory, __ATOMIC_RELAXED);
        stop_clock(process);
        __atomic_store_n(&process->code.alive, false, __ATOMIC_RELEASE);
        if (!__atomic_load_n(&process->drained, __ATOMIC_ACQUIRE)) continue;
        run->places[i] = NULL;
        __atomic_store_n(&run->memory.session->processes[i].state, FM_SAMPLE_FREE, __ATOMIC_RELEASE);
    }
}

static bool any_is_left(const fm_sampled_run *run)
{
    if (!run->watch.child_gone) return true;
    for (uint32_t i = 0; i < FM_SAMPLE_PROCESSES; i++)
        if (run->places[i]) return true;
    return false;
}

/* What was cut short may not have come to the region. */
static fm_status check_region(const fm_sampled_run *run, fm_error *error)
{
    if (!run->options.region || run->region_met || run->watch.interrupted || run->limit_reached) return FM_OK;
    return fm_fail(
        error, FM_E_ARGUMENT, NULL,
        "the program never came to a FATHOM_BEGIN(\"%s\") that can be seen here: those of programs "
        "that were compiled with -fno-pie are seen by `fathom run` only",
        run->options.region);
}

fm_status fm_sampled_run_wait(fm_sampled_run *run, double seconds, bool *ended, fm_error *error)
{
    FM_REQUIRE(run, error);
    const double until = fm_now() + seconds;
    *ended = run->ended;
    while (!run->ended) {
        /* The wake-up call is raised before we look: what comes later ends the sleep at once. */
        __atomic_store_n(&run->memory.session->receiver_waits, 1, __ATOMIC_SEQ_CST);
        fm_status status = fm_sampled_run_look(run, error);
        if (status == FM_OK) status = fm_sample_drain_status(run, error);
        if (status != FM_OK) return status;
        fm_watch_attend(&run->watch);
        fm_watch_look(&run->watch);
        look_for_exec(run);
        fm_sampled_look_at_signals(run);
        look_at_ends(run);
        if (run->watch.time_over && !run->stopped) {
            run->limit_reached = true;
            fm_sampled_run_stop(run);
        }
        if (run->attachment && (run->stopped || run->watch.interrupted)) {
            fm_sampled_run_stop(run);
            fm_sampled_attach_leave(run);
            run->left = true;
        }
        if (run->left || !any_is_left(run)) {
            run->ended = *ended = true;
            run->seconds = fm_now() - run->watch.started;
            status = fm_sample_drain_end(run, error);
            fm_sampled_note_unseen(run);
            if (status == FM_OK && run->options.function)
                status = fm_function_filter_check(&run->function, &run->code.program, error);
            return status == FM_OK ? check_region(run, error) : status;
        }
        const double left = until - fm_now();
        if (left <= 0) return FM_OK;
        fm_watch_wait(&run->watch, left);
    }
    return FM_OK;
}

void fm_sampled_run_stop(fm_sampled_run *run)
{
    if (run->stopped) return;
    run->stopped = true;
    if (run->sampled_seconds == 0) run->sampled_seconds = fm_now() - run->watch.started;
    __atomic_store_n(&run->memory.session->order, FM_SAMPLE_HALT, __ATOMIC_SEQ_CST);
    for (size_t i = 0; i < run->process_count; i++) stop_clock(run->processes[i]);
}

/* ---- the end ---- */

void fm_sampled_run_close(fm_sampled_run *run)
{
    if (!run) return;
    if (run->memory.session) fm_sampled_run_stop(run);
    fm_sampled_attach_leave(run);
    fm_watch_end(&run->watch);
    fm_sample_drain_abandon(run);
    for (size_t i = 0; i < run->thread_count; i++) fm_sampled_thread_destroy(run->threads[i], &run->context);
    free(run->threads);
    free(run->owners);
    for (size_t i = 0; i < run->process_count; i++) {
        stop_clock(run->processes[i]);
        free(run->processes[i]->clocks);
        fm_sampled_maps_free(&run->processes[i]->code.maps);
        fm_sampled_memory_free(&run->processes[i]->memory);
        free(run->processes[i]->program);
        free(run->processes[i]->called);
        free(run->processes[i]->missing);
        free(run->processes[i]);
    }
    free(run->processes);
    fm_function_filter_free(&run->function);
    fm_sampled_code_free(&run->code);
    fm_latencies_free(&run->context.latencies);
    fm_sampled_objects_free(&run->objects);
    free(run->tag_codes);
    free(run->tag_objects);
    fm_burst_table_destroy(run->context.table);
    free(run->context.log);
    free(run->context.touches);
    fm_sample_memory_destroy(&run->memory);
    free(run->program);
    free(run->notes);
    free(run);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* sampled_results.c - what a sampled run has to tell: its processes, its state, its observations. */
#define _GNU_SOURCE
#include "base/error.h"
#include "base/memory.h"
#include "process/program_file.h"
#include "profile/profile_parts.h"
#include "sample/sampled_run_state.h"

#include <inttypes.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>

/* ---- the state ---- */

static void sum_threads(const fm_sampled_run *run, fm_sampled_run_state *state)
{
    double own = 0, work = 0; /* of the sampler, and of the program: also what it did inside bursts */
    for (size_t i = 0; i < run->thread_count; i++) {
        const fm_sampled_thread *thread = run->threads[i];
        double inside = 0, slowed = 0;
        if (fm_sampled_thread_effects(thread, &inside, &slowed, NULL) != FM_OK) inside = slowed = 0;
        inside = fmin(inside, (double)thread->own);
        own += (double)thread->own - inside + slowed;
        work += (double)(run->context.counters ? thread->time : thread->work) + inside - slowed;
        state->left_out += thread->crowded + thread->lost + thread->damaged;
        state->overrun += thread->overrun;
        state->throttled += thread->throttled;
    }
    if (work > 0) {
        state->share = own / work;
        state->received = (double)run->drain_time / work;
    }
}

void fm_sampled_run_state_get_sized(size_t state_size, fm_sampled_run *run, fm_sampled_run_state *state)
{
    fm_sampled_run_state now = {
        .seconds = run->ended ? run->seconds : fm_now() - run->watch.started,
        .bursts = __atomic_load_n(&run->context.bursts, __ATOMIC_RELAXED),
        .watches = __atomic_load_n(&run->context.watches, __ATOMIC_RELAXED),
        .accesses = __atomic_load_n(&run->context.accesses, __ATOMIC_RELAXED),
        .left_out = __atomic_load_n(&run->context.left_out, __ATOMIC_RELAXED),
        .threads = (uint32_t)__atomic_load_n(&run->thread_count, __ATOMIC_RELAXED),
        .interrupted = run->watch.interrupted,
        .limit_reached = run->limit_reached,
        .running = !run->watch.child_gone,
        .blocked = run->blocked == FM_SAMPLED_BLOCKED,
        .notes = run->notes ? run->notes : "",
        .method = run->context.counters ? FM_SAMPLED_RUN_PMU : FM_SAMPLED_RUN_SOFTWARE,
        .counters = run->context.counters ? run->counters : NULL,
    };
    for (size_t i = 0; i < run->process_count; i++) {
        const fm_sampled_process *process = run->processes[i];
        if (now.clock == FM_SAMPLED_RUN_NO_CLOCK) now.clock = process->clock_kind;
        if (process->clock_error) now.clock_error = process->clock_error;
        if (process->watch_error) now.watch_error = process->watch_error;
        if (process->counter_error) now.counter_error = process->counter_error;
        if (process->trouble & FM_SAMPLE_TROUBLE_SHARED) now.counters_shared = true;
        now.heap_seen |= process->heap_seen;
    }
    if (run->ended) sum_threads(run, &now);
    fm_sized_copy(state, state_size, &now, sizeof now);
}

/* ---- processes ---- */

size_t fm_sampled_run_processes(const fm_sampled_run *run)
{
    return run->process_count ? run->process_count : 1;
}

static const char *missing_of(const fm_sampled_run *run, const fm_sampled_run_process *process,
                              uint32_t trouble)
{
    if (!process->attached) return "the sampling runtime was never loaded into it";
    if (run->watch.interrupted && !run->options.pid) return "it was interrupted before its end";
    if (trouble & FM_SAMPLE_TROUBLE_SECCOMP)
        return "it gave up system calls (seccomp): sampling ended there, as it would have been killed for it";
    if (trouble & FM_SAMPLE_TROUBLE_TIMER) return "there was no clock for it";
    if (process->ended && process->signal && !fm_signal_is_crash(process->signal) && !run->limit_reached)
        return "it was killed before its end";
    return NULL;
}

/* The program that a process became. */
static const char *became_program(const fm_sampled_run *run, const fm_sampled_process *process)
{
    const fm_sampled_process *next = NULL;
    for (size_t i = 0; i < run->process_count; i++) {
        const fm_sampled_process *other = run->processes[i];
        if (other->watched.pid == process->watched.pid && other->serial > process->serial &&
            (!next || other->serial < next->serial))
            next = other;
    }
    return next && process->watched.replaced ? fm_program_shown(next->program, next->called) : NULL;
}

/* Bursts whose logs could be read; accesses that counters sampled. */
static uint64_t understood_bursts(const fm_sampled_thread *thread)
{
    uint64_t count = thread->use_count;
    for (size_t i = 0; i < thread->burst_count; i++) count += thread->bursts[i]->views[0].uses > 0;
    return count;
}

void fm_sampled_run_process_get_sized(size_t process_size, const fm_sampled_run *run, size_t index,
                                      fm_sampled_run_process *process)
{
    fm_sampled_run_process known = {0};
    uint32_t trouble = 0;
    int status = 0;
    if (index < run->process_count) {
        const fm_sampled_process *seen = run->processes[index];
        known = (fm_sampled_run_process){.pid = seen->watched.pid,
                                         .parent_pid = seen->parent_pid,
                                         .program = fm_program_shown(seen->program, seen->called),
                                         .by_exec = seen->by_exec,
                                         .became = became_program(run, seen),
                                         .attached = true,
                                         .threads = seen->threads,
                                         .ended = seen->watched.ended && !seen->watched.replaced};
        status = seen->watched.wait_status;
        trouble = seen->trouble;
        for (size_t i = 0; i < run->thread_count; i++)
            if (run->owners[i] == seen) known.bursts += understood_bursts(run->threads[i]);
    } else {
        known =
            (fm_sampled_run_process){.pid = run->options.pid ? run->options.pid : (uint32_t)run->watch.child,
                                     .program = run->program,
                                     .ended = run->watch.child_gone};
        status = run->watch.child_status;
    }
    if (known.ended) fm_wait_status_read(status, &known.exit_code, &known.signal);
    known.what_missing = missing_of(run, &known, trouble);
    known.complete = !known.what_missing;
    fm_sized_copy(process, process_size, &known, sizeof known);
}

/* ---- observations ---- */

/* Of all threads together: where a thread has none of its own. */
static double mean_rate(const fm_sampled_run *run)
{
    double accesses = 0, nanoseconds = 0;
    for (size_t i = 0; i < run->thread_count; i++)
        fm_sampled_thread_counted(run->threads[i], &accesses, &nanoseconds);
    return nanoseconds > 0 ? accesses / nanoseconds : 1;
}

static fm_status take_observations(fm_sampled_run *run, size_t granularity, size_t process,
                                   fm_samples **samples, fm_error *error)
{
    *samples = NULL;
    if (!run->ended || granularity >= run->context.granularity_count)
        return fm_fail(error, FM_E_ARGUMENT, NULL, "the run has not ended, or has no such granularity");
    fm_status status = fm_sampled_samples_create(samples, UINT64_C(1) << run->context.shifts[granularity],
                                                 run->context.counters, error);
    const double rate = mean_rate(run);
    for (size_t i = 0; i < run->thread_count && status == FM_OK; i++) {
        if (process != FM_SAMPLED_RUN_ALL &&
            (process >= run->process_count || run->owners[i] != run->processes[process]))
            continue;
        if (run->threads[i]->burst_count == 0 && run->threads[i]->work == 0) continue;
        status =
            fm_sampled_thread_observe(run->threads[i], &run->context, granularity, rate, *samples, error);
    }
    if (status != FM_OK) {
        fm_sampled_samples_destroy(*samples);
        *samples = NULL;
    }
    return status;
}

/* ---- estimates ---- */

/* What tags have in common, for estimates. */
static fm_status tell_tags(fm_sampled_run *run, fm_estimate_options *options, fm_error *error)
{
    const fm_sampled_code *code = &run->code;
    if (!run->tag_codes) run->tag_codes = fm_calloc(code->tags.count + 1, sizeof *run->tag_codes);
    if (!run->tag_objects) run->tag_objects = fm_calloc(code->tags.count + 1, sizeof *run->tag_objects);
    if (!run->tag_codes || !run->tag_objects)
        return fm_fail_memory(error, code->tags.count * sizeof *run->tag_codes, "the tags of the samples");
    for (size_t i = 0; i < code->tags.count; i++) {
        const uint32_t tag = (uint32_t)i + 1;
        run->tag_codes[tag] = fm_sampled_code_instruction(code, tag);
        run->tag_objects[tag] = fm_sampled_objects_group(&run->objects, code, tag);
    }
    options->codes = run->tag_codes;
    options->groups = options->edges ? run->tag_objects : NULL;
    options->tag_count = code->tags.count + 1;
    return FM_OK;
}

/* ---- what limits estimates ---- */

enum { PAGE = 4096 };

/*
 * Memory of so many bytes has at most so many blocks that were touched; of blocks larger than a page, one for
 * each page. What is given back to the kernel and had anew at another address, and pages that are only read
 * before anything is written to them, are not in the peak: programs whose footprint is mostly these are told
 * one that is too small.
 */
static uint64_t blocks_in(uint64_t bytes, uint64_t granularity)
{
    const uint64_t unit = granularity < PAGE ? granularity : PAGE;
    return bytes / unit + (bytes % unit > 0);
}

/* The largest of all processes that were waited for, and not less than that of this one, which started them.
 */
static uint64_t largest_memory(void)
{
    struct rusage used;
    if (getrusage(RUSAGE_CHILDREN, &used) != 0 || used.ru_maxrss <= 0) return 0;
    return (uint64_t)used.ru_maxrss * 1024;
}

/* Peak memory of the processes that were sampled: as they told it at their exits, else as much as that of
 * any. 0: not known. */
static uint64_t peak_memory(const fm_sampled_run *run, size_t process)
{
    const uint64_t largest = largest_memory();
    uint64_t sum = 0;
    if (run->options.pid) return run->peak_memory;
    for (size_t i = 0; i < run->process_count; i++) {
        if (process != FM_SAMPLED_RUN_ALL && process != i) continue;
        const uint64_t told = run->processes[i]->peak_memory, peak = told ? told : largest;
        if (peak == 0 || __builtin_add_overflow(sum, peak, &sum)) return 0;
    }
    return sum;
}

/* Footprints of the granularities that are known already, and this one, nest. */
static void limit_by_others(const fm_sampled_run *run, size_t granularity, fm_estimate_options *options)
{
    const unsigned shift = run->context.shifts[granularity];
    for (size_t i = 0; i < run->context.granularity_count; i++) {
        const uint64_t blocks = run->footprints[i];
        const unsigned other = run->context.shifts[i];
        uint64_t least, most;
        if (i == granularity || blocks == 0) continue;
        if (other <= shift) {
            least = ((blocks - 1) >> (shift - other)) + 1;
            most = blocks;
        } else {
            least = blocks;
            most = blocks > UINT64_MAX >> (other - shift) ? UINT64_MAX : blocks << (other - shift);
        }
        if (least > options->blocks_least) options->blocks_least = least;
        if (options->blocks_most == 0 || most < options->blocks_most) options->blocks_most = most;
    }
}

static void set_limits(const fm_sampled_run *run, size_t granularity, size_t process,
                       fm_estimate_options *options)
{
    const uint64_t bytes = peak_memory(run, process);
    const uint64_t blocks = blocks_in(bytes, UINT64_C(1) << run->context.shifts[granularity]);
    if (blocks > 0 && (options->blocks_most == 0 || blocks < options->blocks_most))
        options->blocks_most = blocks;
    if (process == FM_SAMPLED_RUN_ALL) limit_by_others(run, granularity, options);
}

/* Threads whose rates were more than a core can do. */
static fm_status tell_rates(const fm_sampled_run *run, fm_profile *profile, fm_error *error)
{
    size_t limited = 0;
    for (size_t i = 0; i < run->thread_count; i++) limited += run->threads[i]->too_fast;
    if (limited == 0 || !profile->accuracy) return FM_OK;
    return fm_accuracy_add(
        profile->accuracy, error,
        "%zu thread%s measured to make more than the %.1f G accesses a second that a core of this "
        "machine can: taken as that many, so the number of references is a maximum",
        limited, limited == 1 ? " was" : "s were", run->context.ceiling);
}

fm_status fm_sampled_run_estimate_sized(size_t given_size, fm_sampled_run *run, size_t granularity,
                                        size_t process, const fm_estimate_options *given,
                                        fm_estimate **estimate, fm_error *error)
{
    *estimate = NULL;
    FM_REQUIRE(run, error);
    /* Accesses: what a watch that is timed by a clock tells is no use below. */
    enum { BELIEVED_FROM = 100000 };
    fm_estimate_options options;
    fm_samples *samples = NULL;
    fm_status status =
        fm_sized_read(&options, sizeof options, given, given_size, "fm_estimate_options", error);
    if (status == FM_OK) status = take_observations(run, granularity, process, &samples, error);
    if (status == FM_OK) status = tell_tags(run, &options, error);
    if (options.reach == 0 && !run->context.counters) options.reach = BELIEVED_FROM;
    if (status == FM_OK) set_limits(run, granularity, process, &options);
    if (status == FM_OK) status = fm_estimate_create(estimate, samples, &options, error);
    if (status == FM_OK) status = tell_rates(run, (*estimate)->profile, error);
    if (status == FM_OK && process == FM_SAMPLED_RUN_ALL)
        run->footprints[granularity] = (*estimate)->profile->distinct;
    fm_sampled_samples_destroy(samples);
    return status;
}

fm_status fm_sampled_run_describe(const fm_sampled_run *run, const fm_estimate *estimate,
                                  fm_attribution *attribution, const uint32_t **map, size_t *map_count,
                                  fm_sampled_run_known *known, fm_error *error)
{
    FM_REQUIRE(run, error);
    FM_REQUIRE(estimate, error);
    FM_REQUIRE(attribution, error);
    fm_sampled_run_known found = {.share = 0, .one_in = 1};
    for (size_t i = 0; i < run->process_count; i++)
        found.one_in = fmax(found.one_in, ldexp(1, (int)run->processes[i]->memory.level));
    fm_described at;
    fm_status status = fm_sampled_code_describe(&run->code, attribution, &at, map, map_count, error);
    if (status == FM_OK)
        status = fm_latencies_describe(&run->context.latencies, attribution, *map, *map_count, error);
    if (status == FM_OK && estimate)
        status = fm_sampled_objects_describe(&run->objects, &run->code, &at, estimate, *map, *map_count,
                                             attribution, &found.share, error);
    if (status == FM_OK && estimate)
        status = fm_estimate_tell_errors(estimate, attribution, *map, *map_count, error);
    if (status == FM_OK && known) *known = found;
    return status;
}

/* ---- sampled unseen ---- */

/* What of a program could not be sampled, and why: a run notes it. */

/* Does the first thread of a process keep SIGTRAP from being delivered? */
static bool blocks_traps(uint32_t pid)
{
    char path[64], line[256];
    unsigned long long blocked = 0;
    snprintf(path, sizeof path, "/proc/%" PRIu32 "/status", pid);
    FILE *file = fopen(path, "re");
    if (!file) return false;
    while (fgets(line, sizeof line, file))
        if (sscanf(line, "SigBlk: %llx", &blocked) == 1) break;
    fclose(file);
    return blocked >> (SIGTRAP - 1) & 1;
}

/* Our handlers block them too, for some milliseconds: it is looked at several times. */
void fm_sampled_look_at_signals(fm_sampled_run *run)
{
    const double now = fm_now();
    fm_sampled_process *process = run->process_count ? run->processes[0] : NULL;
    if (!process || process->watched.gone || run->blocked == FM_SAMPLED_BLOCKED || now < run->blocked_next)
        return;
    if (__atomic_load_n(&run->context.bursts, __ATOMIC_RELAXED) || !blocks_traps(process->watched.pid)) {
        run->blocked = 0;
        run->blocked_next = now + 0.2;
        return;
    }
    run->blocked_next = now + 0.03;
    if (++run->blocked < FM_SAMPLED_BLOCKED) return;
    fm_sampled_run_note(
        run,
        "%s blocks SIGTRAP, by which its clock is heard, by a system call of its own: while it "
        "does nothing is sampled. `fathom run` is not disturbed by that",
        process->program ? process->program : "the program");
}

/* Those for which there was no room. */
static void note_refused(fm_sampled_run *run)
{
    uint64_t threads = 0;
    bool memory = false;
    const uint32_t processes = __atomic_load_n(&run->memory.session->refused, __ATOMIC_RELAXED);
    for (size_t i = 0; i < run->process_count; i++) {
        threads += run->processes[i]->refused_threads;
        memory |= run->processes[i]->trouble & FM_SAMPLE_TROUBLE_MEMORY;
    }
    if (processes)
        fm_sampled_run_note(run, "%" PRIu32 " processes were not sampled: there is room for %d at a time",
                            processes, FM_SAMPLE_PROCESSES);
    if (threads)
        fm_sampled_run_note(run, "some threads were not sampled: there is room for %d at a time",
                            FM_SAMPLE_THREADS);
    if (memory)
        fm_sampled_run_note(
            run, "some threads were not sampled: the program could not get memory for it (ulimit -v?)");
}

/* What threads did that had ended before their first tick. */
static void note_unmet(fm_sampled_run *run)
{
    enum { SHARE = 10, LEAST = 20000000 /* ns */ };
    if (run->options.region || run->limit_reached || run->attachment || run->context.counters) return;
    double all = 0, unmet = 0;
    for (size_t i = 0; i < run->process_count; i++) {
        const fm_sampled_process *process = run->processes[i];
        double met = 0;
        if (process->ended_at == 0) continue;
        for (size_t k = 0; k < run->thread_count; k++)
            if (run->owners[k] == process) met += (double)(run->threads[k]->work + run->threads[k]->own);
        all += (double)process->ended_at;
        if ((double)process->ended_at > met) unmet += (double)process->ended_at - met;
    }
    if (unmet * SHARE < all || unmet < LEAST) return;
    fm_sampled_run_note(
        run,
        "%.0f %% of the processor time went into threads that ended before the clock met them, "
        "within %.2g ms each: nothing is known of these%s",
        100 * unmet / all, (double)run->tick / 1e6,
        run->tick > FM_SAMPLED_SHORTEST_TICK ? ". A higher rate meets them sooner" : "");
}

void fm_sampled_note_unseen(fm_sampled_run *run)
{
    note_refused(run);
    note_unmet(run);
}

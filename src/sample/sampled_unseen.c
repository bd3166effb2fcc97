/* SPDX-License-Identifier: Apache-2.0 */
/* sampled_unseen.c - what of a program could not be sampled, and why: a run notes it. */
#define _GNU_SOURCE
#include "sample/sampled_run_state.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>

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

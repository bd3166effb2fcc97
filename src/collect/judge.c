/* SPDX-License-Identifier: Apache-2.0 */
/*
 * judge.c - how a process ended, and whether everything that it did was received.
 *
 * Under Valgrind the process's exit status is not enough: Valgrind may end it for reasons of its own (no
 * memory, a failed assertion), with a status like any other. So the tool says it when the program itself
 * ends, by its exit or by a signal, and whatever ends without that word is incomplete.
 */
#define _GNU_SOURCE
#include "collect/collection.h"

#include <signal.h>
#include <string.h>
#include <sys/wait.h>

static bool is_crash(int number)
{
    static const int own[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT, SIGTRAP, SIGSYS};
    for (size_t i = 0; i < sizeof own / sizeof own[0]; i++)
        if (own[i] == number) return true;
    return false;
}

/* The name without SIG. */
static const char *signal_name(int wait_status)
{
    const char *name = sigabbrev_np(WTERMSIG(wait_status));
    return name ? name : "?";
}

/* Has it become another program, which is not traced? Where Valgrind says nothing of a failure, there was
 * none. */
static bool executed_another(const fm_process *process)
{
    if (!process->executes || process->end_reported || process->fatal_signal) return false;
    return process->valgrind || process->references + process->left_out == process->executes_after;
}

/*
 * The process may have been over before anyone saw that it was two programs (fm_watch_add): then what was
 * reported says so. A program with the same number that came later is what this one executed, and the end was
 * that one's.
 */
static void find_successor(fm_collection *collection, fm_process *process)
{
    if (!process->watched.replaced && !executed_another(process)) return;
    fm_process *next = NULL, *other;
    for (uint32_t n = 0; (other = fm_process_with_pid(collection, process->watched.pid, n)); n++)
        if (other->serial > process->serial && (!next || other->serial < next->serial)) next = other;
    if (!next || next->predecessor) return;
    fm_process_becomes(process, next);
    process->watched.ended = false;
}

static void judge_execution(fm_collection *collection, fm_process *process)
{
    const char *program = process->executed ? process->executed : "another program";
    bool followed = collection->options.follow_children;
    if (process->execution_known && process->valgrind)
        fm_process_miss(process, "it executed %s, which Valgrind could not run: its message says why",
                        program);
    else if (process->execution_known)
        fm_process_miss(
            process, "it executed %s, which did not come to the memory that it shares with fathom", program);
    else if (followed && process->valgrind)
        fm_process_miss(
            process,
            "it executed %s, which could not be traced (set-user-ID, not readable, not x86-64, or "
            "without /proc)",
            program);
    else
        fm_collection_note(collection, "%s executed %s, which was not traced%s",
                           process->program ? process->program : "the program", program,
                           followed ? "" : ": only children that are followed are");
}

/* Its end is known, but nobody reported that it was the program's own. */
static void judge_valgrind(fm_process *process)
{
    int status = process->watched.wait_status;
    if (!WIFSIGNALED(status))
        fm_process_miss(
            process, "Valgrind ended it, with exit code %d, before its own end: Valgrind's message says why",
            WEXITSTATUS(status));
    else
        fm_process_miss(process, "Valgrind was killed by SIG%s before its end", signal_name(status));
    process->watched.ended = false; /* that was Valgrind's status, not the program's */
    process->gave_up = true;
}

void fm_judge_process(fm_collection *collection, fm_process *process)
{
    if (process->judged) return;
    process->judged = true;
    process->complete = true;
    find_successor(collection, process);
    uint32_t refused = __atomic_load_n(&collection->receiver->session->refused, __ATOMIC_RELAXED);
    if (refused > 0)
        fm_process_miss(
            process,
            "%u threads or processes got none of the %d channels (or no memory for it), and were not "
            "seen",
            refused, FM_STREAM_CHANNELS);
    if (process->unknown_instruction)
        fm_process_miss(process, "it came to an instruction that Valgrind cannot run");
    if (process->lost > 0)
        fm_process_miss(process, "%llu references were lost on the way", (unsigned long long)process->lost);
    if (collection->stopped) fm_process_miss(process, "tracing was stopped before its end");
    if (collection->watch.interrupted) fm_process_miss(process, "it was interrupted before its end");
    if (process->missing) {
        process->complete = false;
        return;
    }
    if (collection->limit_reached || process->watched.replaced) return;
    if (executed_another(process)) {
        judge_execution(collection, process);
        return;
    }
    if (process->died_calling && process->watched.ended && WIFSIGNALED(process->watched.wait_status) &&
        WTERMSIG(process->watched.wait_status) == SIGSYS) {
        fm_process_miss(
            process,
            "killed by SIGSYS in a system call of fathom's own (number %u): its filter (seccomp) was not "
            "installed through libc",
            process->died_calling - 1);
        return;
    }
    bool own_end = process->end_reported || process->fatal_signal;
    if (!process->watched.ended && own_end) {
        process->watched.ended = true;
        process->watched.wait_status = process->fatal_signal ? process->fatal_signal : process->end_code << 8;
    }
    if (!process->watched.ended)
        fm_process_miss(process, process->gave_up ? "Valgrind ended it: Valgrind's message says why"
                                                  : "it ended in a way that could not be seen");
    else if (WIFSIGNALED(process->watched.wait_status) && !is_crash(WTERMSIG(process->watched.wait_status)))
        fm_process_miss(process, "killed by SIG%s before its end", signal_name(process->watched.wait_status));
    else if (process->valgrind && !own_end)
        judge_valgrind(process);
}

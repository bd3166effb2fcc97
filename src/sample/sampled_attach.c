/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sampled_attach.c - puts the sampling runtime into a program that runs already, and takes it out again.
 *
 * Three times the program is stopped, for some milliseconds each. First one thread, at a place where it can
 * hold no lock of the loader or of the allocator, while the others run: it makes the memory that is shared,
 * and loads the library. Then all threads, which are made to see our functions instead of libc's where the
 * preloaded library would have been in between, and get clocks. And at the end all threads, when none of
 * them is in a handler of ours: everything is put back.
 *
 * Whatever stops a thread is a thread of ours that ends afterwards: if something goes wrong, the kernel lets
 * the program go.
 */
#define _GNU_SOURCE
#include "base/crew.h"
#include "base/error.h"
#include "base/memory.h"
#include "process/program_file.h"
#include "process/tracee.h"
#include "sample/sampled_run_state.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

enum { ENTER_TRIES = 1000, SEARCH_TRIES = 200 };

/* Signals 32 and 33, which are its own. */
static const uint64_t of_libc = UINT64_C(3) << 31;
static const double search_seconds = 5.0;

/* What a thread of ours does with a stopped program. */
typedef struct task {
    fm_sampled_attachment *self;
    fm_status (*work)(fm_sampled_attachment *self, fm_tracee *tracee, fm_error *error);
    fm_status status;
    fm_error *error;
} task;

static void *do_task(void *context)
{
    task *given = context;
    fm_tracee tracee;
    given->status = fm_tracee_open(&tracee, given->self->pid, given->error);
    tracee.gadget = given->self->gadget;
    if (given->status == FM_OK) given->status = given->work(given->self, &tracee, given->error);
    fm_tracee_close(&tracee);
    return NULL;
}

static fm_status with_tracee(fm_sampled_attachment *self,
                             fm_status (*work)(fm_sampled_attachment *, fm_tracee *, fm_error *),
                             fm_error *error)
{
    fm_error unused;
    pthread_t thread;
    task given = {.self = self, .work = work, .error = error ? error : &unused};
    /* A program whose thread does something for us would be lost without us: a signal that ends us waits. */
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &before);
    const int why = fm_thread_start(&thread, do_task, &given);
    if (why == 0) pthread_join(thread, NULL);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return why == 0 ? given.status : fm_fail_io(error, NULL, "start a thread", why);
}

void fm_sampled_attach_leave(fm_sampled_run *run)
{
    fm_sampled_attachment *self = run->attachment;
    if (!self) return;
    fm_error error;
    char process[64];
    uint64_t kilobytes;
    snprintf(process, sizeof process, "/proc/%d", (int)self->pid);
    if (fm_proc_status(process, "VmHWM", 10, &kilobytes)) run->peak_memory = kilobytes * 1024;
    if (self->prepared && !run->watch.child_gone && with_tracee(self, fm_attach_leave, &error) != FM_OK)
        fm_sampled_run_note(run, "%s", error.reason);
    free(self->slots);
    free(self);
    run->attachment = NULL;
}

/* ---- beginning ---- */

/* Is a session that is found there that of a fathom which lives? */
static bool is_receiver(long pid)
{
    fm_proc_maps maps;
    fm_proc_map map;
    bool found = false;
    if (pid <= 0 || (kill((pid_t)pid, 0) != 0 && errno == ESRCH)) return false;
    if (!fm_proc_maps_open(&maps, (uint32_t)pid)) return errno != ENOENT;
    while (!found && fm_proc_maps_next(&maps, &map)) found = strstr(map.path, "/memfd:fathom-sample");
    fm_proc_maps_close(&maps);
    return found;
}

/* What a fathom that was killed has left. */
static fm_status clean_up(fm_sampled_attachment *self, fm_tracee *tracee, const fm_remote_modules *modules,
                          fm_error *error)
{
    long receiver = 0;
    fm_status status = fm_tracee_stop(tracee, error);
    fm_tracee_thread *thread = status == FM_OK ? fm_tracee_any(tracee) : NULL;
    if (status != FM_OK || !thread) return status;
    status = fm_attach_call(self, tracee, thread, FM_ATTACH_SESSION, 0, &receiver, error);
    if (status == FM_OK && receiver) status = fm_attach_find_allocator(self, tracee, thread, error);
    fm_tracee_resume(tracee);
    if (status != FM_OK || !receiver) return status;
    if (is_receiver(receiver))
        return fm_fail(error, FM_E_IO, NULL, "process %ld is being sampled already, by process %ld",
                       (long)self->pid, receiver);
    if (status == FM_OK) status = fm_attach_find_slots(self, tracee, modules, error);
    for (size_t i = 0; i < self->slot_count; i++) {
        self->slots[i].before = self->theirs[self->slots[i].name];
        self->slots[i].changed = true;
    }
    if (status == FM_OK) status = fm_attach_leave(self, tracee, error);
    fm_tracee_resume(tracee);
    return status;
}

/* Is it in the midst of something that libc does with all signals blocked, such as the end of a thread? (No
 * program can block these two.) */
static bool in_libc(const fm_tracee_thread *thread)
{
    uint64_t mask = 0;
    return !fm_tracee_mask(thread, &mask) || (mask & of_libc);
}

/* Stops a thread that stands at a safe place. */
static fm_status find_place(fm_sampled_attachment *self, fm_tracee *tracee, const fm_remote_modules *modules,
                            fm_tracee_thread **found, fm_error *error)
{
    enum { THREADS_MOST = 64 }; /* that are looked at before those that come first are again */
    const double until = fm_now() + search_seconds;
    fm_unsafe_places_find(&self->places, tracee, modules);
    useconds_t nap = 200;
    for (int tries = 0; tries < SEARCH_TRIES || fm_now() < until; tries++) {
        fm_proc_tasks tasks;
        fm_status status = FM_OK;
        bool safe = false;
        uint32_t tid;
        if (!fm_proc_tasks_open(&tasks, (uint32_t)self->pid))
            return fm_attach_refused(self->pid, ESRCH, error);
        for (int i = 0; i < THREADS_MOST && status == FM_OK && !safe && fm_proc_tasks_next(&tasks, &tid);
             i++) {
            status = fm_tracee_stop_one(tracee, (pid_t)tid, found, error);
            safe = status == FM_OK && *found && !in_libc(*found) &&
                   fm_is_safe_place(&self->places, tracee, *found);
            if (status == FM_OK && !safe) fm_tracee_resume(tracee);
        }
        fm_proc_tasks_close(&tasks);
        if (status != FM_OK || safe) return status;
        usleep(nap);
        if (nap < 10000) nap += nap / 2;
    }
    return fm_fail(
        error, FM_E_IO, NULL,
        "process %ld: in %.0f s its threads were never seen outside of the allocator, the loader and "
        "signal handlers, where nothing can be loaded: try again",
        (long)self->pid, search_seconds);
}

static fm_status begin_attach(fm_sampled_attachment *self, fm_tracee *tracee, fm_error *error)
{
    fm_remote_modules modules;
    fm_tracee_thread *thread = NULL;
    fm_status status = fm_remote_modules_read(&modules, tracee, error);
    if (status == FM_OK) status = fm_attach_look(self, tracee, &modules, error);
    if (status == FM_OK && self->code) status = clean_up(self, tracee, &modules, error);
    if (status == FM_OK) status = find_place(self, tracee, &modules, &thread, error);
    if (status == FM_OK) status = fm_attach_load(self, tracee, thread, &modules, error);
    fm_tracee_resume(tracee);
    if (status == FM_OK) status = fm_attach_find_slots(self, tracee, &modules, error);
    fm_remote_modules_free(&modules);
    return status;
}

fm_status fm_sampled_attach_begin(fm_sampled_run *run, fm_error *error)
{
    fm_sampled_attachment *self = fm_calloc(1, sizeof *self);
    if (!self) return fm_fail_memory(error, sizeof *self, "a process");
    self->run = run;
    self->pid = (pid_t)run->options.pid;
    run->attachment = self;
    fm_status status = fm_sampled_runtime_find(run, self->runtime, sizeof self->runtime, error);
    if (status == FM_OK) {
        char *real = realpath(self->runtime, NULL);
        if (real) snprintf(self->runtime, sizeof self->runtime, "%s", real);
        free(real);
        status = fm_attach_check(self->pid, self->runtime, error);
    }
    if (status == FM_OK) status = with_tracee(self, begin_attach, error);
    if (status != FM_OK || !run->options.function) return status;
    fm_sampled_maps maps = {0}; /* of which only the files are kept */
    run->code.program.function = run->options.function;
    status = fm_sampled_maps_read(&maps, &run->code, run->options.pid, error);
    fm_sampled_maps_free(&maps);
    return status == FM_OK ? fm_function_filter_prepare(&run->function, &run->code.program, error) : status;
}

/* ---- entering ---- */

/* As many descriptors as threads. */
static void allow_descriptors(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur == limit.rlim_max) return;
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
}

static fm_status start_clocks(fm_sampled_attachment *self, fm_tracee *tracee, fm_tracee_thread *caller,
                              fm_error *error)
{
    fm_sampled_run *run = self->run;
    fm_sampled_process *process = run->process_count ? run->processes[0] : NULL;
    if (!process)
        return fm_fail(error, FM_E_IO, NULL, "process %ld: the runtime in it does not answer",
                       (long)self->pid);
    fm_sample_process *shared = &run->memory.session->processes[process->place];
    int why = 0;
    long result = 0;
    size_t without = 0;
    allow_descriptors();
    for (size_t i = 0; i < tracee->count; i++) {
        const int failed = fm_sampled_clock_add(run, process, (uint32_t)tracee->threads[i].tid);
        if (failed == 0 || failed == -ESRCH) continue;
        why = -failed;
        without++;
        if (process->clock_count == 0) break;
    }
    if (process->clock_count > 0) {
        process->clock_kind = FM_SAMPLED_RUN_PERF;
        shared->clock = FM_SAMPLE_CLOCK_RUNS;
        if (without)
            fm_sampled_run_note(run, "%zu threads have no clock (%s): they are not sampled", without,
                                strerror(why));
        return FM_OK;
    }
    process->clock_error = shared->clock_error = why;
    fm_status status = fm_attach_call(self, tracee, caller, FM_ATTACH_TIMER, 0, &result, error);
    if (status == FM_OK && result == 0) {
        process->clock_kind = FM_SAMPLED_RUN_TIMER;
        shared->clock = FM_SAMPLE_CLOCK_TIMER;
    }
    return status;
}

/* SIGTRAP reaches every thread; those that block it go on believing so. Not those that are in a signal
 * handler or in the midst of libc: what they block now, they will not soon. */
static void open_masks(const fm_sampled_attachment *self, fm_tracee *tracee)
{
    const uint64_t trap = UINT64_C(1) << (SIGTRAP - 1);
    for (size_t i = 0; i < tracee->count; i++) {
        fm_tracee_thread *thread = &tracee->threads[i];
        uint64_t mask;
        long result;
        if (thread->signal || !fm_tracee_mask(thread, &mask) || !(mask & trap) || (mask & of_libc) ||
            fm_may_be_in_handler(&self->places, tracee, thread))
            continue;
        if (fm_attach_call(self, tracee, thread, FM_ATTACH_UNBLOCK, 0, &result, NULL) == FM_OK)
            fm_tracee_set_mask(thread, mask & ~trap);
    }
}

static fm_status enter_runtime(fm_sampled_attachment *self, fm_tracee *tracee, fm_error *error)
{
    long result = 0;
    fm_status status = fm_tracee_stop(tracee, error);
    fm_tracee_thread *thread = status == FM_OK ? fm_tracee_any(tracee) : NULL;
    for (int tries = 0;
         status == FM_OK && (!thread || fm_attach_is_halfway(self, tracee)) && tries < ENTER_TRIES; tries++) {
        fm_tracee_resume(tracee); /* all of them are about to get signals, or one is in between */
        usleep(tries < 10 ? 100 : 1000);
        status = fm_tracee_stop(tracee, error);
        thread = status == FM_OK ? fm_tracee_any(tracee) : NULL;
    }
    if (status == FM_OK && !thread)
        return fm_fail(error, FM_E_IO, NULL, "process %ld: its threads only ever get signals",
                       (long)self->pid);
    if (status == FM_OK) status = fm_attach_call(self, tracee, thread, FM_ATTACH_ENTER, 0, &result, error);
    if (status == FM_OK && result != 0)
        status =
            fm_fail(error, FM_E_IO, NULL, "process %ld: the runtime in it could not begin", (long)self->pid);
    if (status != FM_OK) return status;
    fm_attach_change_slots(self, tracee);
    open_masks(self, tracee);
    status = fm_sampled_run_look(self->run, error);
    return status == FM_OK ? start_clocks(self, tracee, thread, error) : status;
}

fm_status fm_sampled_attach_enter(fm_sampled_run *run, fm_error *error)
{
    return with_tracee(run->attachment, enter_runtime, error);
}

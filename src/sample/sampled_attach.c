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
#include "base/clock.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/thread.h"
#include "process/attach_check.h"
#include "process/proc_files.h"
#include "process/safe_place.h"
#include "sample/sampled_run_state.h"

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

/* What the program calls, and shall call ours of the same name. The first three do at
 * once what sampling changes when it begins. */
static const char *const hooked[] = {
    "sigaction", "sigprocmask",         "pthread_sigmask",   "__sigaction", "signal",    "bsd_signal",
    "ssignal",   "sysv_signal",         "__sysv_signal",     "sigset",      "sigignore", "prctl",
    "syscall",   "fathom_region_begin", "fathom_region_end", NULL};
enum { HOOKED = sizeof hooked / sizeof hooked[0] - 1, SLOTS_MOST = 1 << 16, ENTER_TRIES = 1000, HALFWAY = 3 };

/* Functions of the runtime that are called from here (collect/sample/enter.c). */
enum { PREPARE, ENTER, TIMER, LEAVE, UNBLOCK, REBLOCK, SESSION, ENTRIES };
static const char *const entries[ENTRIES] = {
    "fathom_sampler_prepare", "fathom_sampler_enter",   "fathom_sampler_timer",  "fathom_sampler_leave",
    "fathom_sampler_unblock", "fathom_sampler_reblock", "fathom_sampler_session"};

/* Signals 32 and 33, which are its own. */
static const uint64_t of_libc = UINT64_C(3) << 31;
static const double search_seconds = 5.0, leave_seconds = 3.0;

typedef struct slot {
    uint64_t address, before;
    size_t name;
    bool changed;
} slot;

typedef struct fm_sampled_attachment {
    fm_sampled_run *run;
    pid_t pid;
    char runtime[PATH_MAX];
    uint64_t gadget;            /* a syscall instruction */
    uint64_t code, code_behind; /* of the runtime, there */
    uint64_t entry[ENTRIES];
    uint64_t ours[HOOKED], theirs[HOOKED]; /* functions */
    slot *slots;
    size_t slot_count, slot_capacity;
    fm_unsafe_places places;
    bool prepared;
} fm_sampled_attachment;

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

/* ---- what is loaded there ---- */

static fm_status no_libc(const fm_sampled_attachment *self, const char *what, fm_error *error)
{
    return fm_fail(
        error, FM_E_UNSUPPORTED, NULL,
        "process %ld: %s: the sampling runtime is for programs that are linked dynamically with the "
        "GNU C library",
        (long)self->pid, what);
}

static fm_status find_gadget(fm_sampled_attachment *self, fm_tracee *tracee, const fm_remote_modules *modules,
                             fm_error *error)
{
    static const unsigned char code[] = {0x0f, 0x05};
    const fm_remote_module *libc = fm_remote_module_named(modules, "libc.so");
    if (!libc) libc = fm_remote_module_named(modules, "libc-");
    if (!libc) return no_libc(self, "it has no libc.so.6", error);
    self->gadget = tracee->gadget = fm_remote_bytes(tracee, libc, code, sizeof code);
    for (size_t i = 0; i < HOOKED; i++) self->theirs[i] = fm_remote_symbol(tracee, libc, hooked[i], NULL);
    return self->gadget ? FM_OK : no_libc(self, "its libc makes no system calls", error);
}

/* The runtime, if it is loaded. */
static fm_status find_runtime(fm_sampled_attachment *self, const fm_tracee *tracee,
                              const fm_remote_modules *modules, fm_error *error)
{
    const fm_remote_module *runtime = fm_remote_module_named(modules, "libfathom-sample.so");
    if (!runtime) return FM_OK;
    if (strcmp(runtime->path, self->runtime) != 0)
        return fm_fail(error, FM_E_UNSUPPORTED, NULL,
                       "process %ld has another sampling runtime in it (%s), from before: it can be sampled "
                       "again when it has been started anew",
                       (long)self->pid, runtime->path);
    self->code = runtime->code;
    self->code_behind = runtime->code_behind;
    for (size_t i = 0; i < ENTRIES; i++) {
        self->entry[i] = fm_remote_symbol(tracee, runtime, entries[i], NULL);
        if (!self->entry[i])
            return fm_fail(error, FM_E_UNSUPPORTED, runtime->path, "has no %s: it is of another version",
                           entries[i]);
    }
    for (size_t i = 0; i < HOOKED; i++) self->ours[i] = fm_remote_symbol(tracee, runtime, hooked[i], NULL);
    return FM_OK;
}

static fm_status call(const fm_sampled_attachment *self, fm_tracee *tracee, fm_tracee_thread *thread,
                      size_t entry, long argument, long *result, fm_error *error)
{
    return fm_tracee_call(tracee, thread, self->entry[entry], NULL, (long[2]){argument, 0}, result, error);
}

/* ---- slots ---- */

static fm_status keep_slot(void *context, size_t name, uint64_t address, fm_error *error)
{
    fm_sampled_attachment *self = context;
    if (self->slot_count >= SLOTS_MOST || !self->ours[name]) return FM_OK;
    if (fm_array_reserve((void **)&self->slots, &self->slot_capacity, self->slot_count + 1,
                         sizeof *self->slots) != 0)
        return fm_fail_memory(error, (self->slot_count + 1) * sizeof *self->slots, "the program's calls");
    self->slots[self->slot_count++] = (slot){.address = address, .name = name};
    return FM_OK;
}

static fm_status find_slots(fm_sampled_attachment *self, const fm_tracee *tracee,
                            const fm_remote_modules *modules, fm_error *error)
{
    fm_status status = FM_OK;
    self->slot_count = 0;
    for (size_t i = 0; i < modules->count && status == FM_OK; i++)
        if (strcmp(modules->modules[i].path, self->runtime) != 0)
            status = fm_remote_slots(tracee, &modules->modules[i], hooked, keep_slot, self, error);
    return status;
}

/* While all threads stand. */
static void change_slots(fm_sampled_attachment *self, const fm_tracee *tracee)
{
    for (size_t i = 0; i < self->slot_count; i++) {
        slot *one = &self->slots[i];
        const uint64_t ours = self->ours[one->name];
        if (fm_tracee_read(tracee, one->address, &one->before, 8) != 8) continue; /* unloaded */
        if (one->before == ours) one->before = self->theirs[one->name]; /* left by a fathom that was killed */
        one->changed = fm_tracee_write(tracee, one->address, &ours, 8) == 8;
    }
}

static void restore_slots(const fm_sampled_attachment *self, const fm_tracee *tracee)
{
    for (size_t i = 0; i < self->slot_count; i++) {
        const slot *one = &self->slots[i];
        uint64_t now;
        if (one->changed && fm_tracee_read(tracee, one->address, &now, 8) == 8 &&
            now == self->ours[one->name])
            fm_tracee_write(tracee, one->address, &one->before, 8);
    }
}

/* ---- leaving ---- */

static bool stands_in(const fm_tracee *tracee, uint64_t first, uint64_t behind)
{
    for (size_t i = 0; i < tracee->count; i++) {
        struct user_regs_struct registers;
        if (ptrace(PTRACE_GETREGS, tracee->threads[i].tid, NULL, &registers) == 0 && registers.rip >= first &&
            registers.rip < behind)
            return true;
    }
    return false;
}

/* Is a thread about to change, or to ask for, what we are going to change? */
static bool is_halfway(const fm_sampled_attachment *self, const fm_tracee *tracee)
{
    enum { AROUND = 512 }; /* what they call lies beside them */
    for (size_t i = 0; i < HALFWAY; i++) {
        const uint64_t at = self->theirs[i];
        if (at && stands_in(tracee, at - AROUND, at + AROUND)) return true;
    }
    return false;
}

/* Does a thread stand in our code? */
static bool is_inside(const fm_sampled_attachment *self, const fm_tracee *tracee)
{
    return stands_in(tracee, self->code, self->code_behind);
}

/* A trap of the sampler's: a perf event's, or a timer's (sample_protocol.h). */
static bool is_our_trap(const siginfo_t *information)
{
    enum { PERF_DATA_AT = 24, PERF = 6 /* TRAP_PERF */ };
    uint64_t data = 0;
    if (information->si_signo != SIGTRAP) return false;
    if (information->si_code == PERF)
        memcpy(&data, (const char *)information + PERF_DATA_AT, sizeof data);
    else if (information->si_code == SI_TIMER)
        data = (uint64_t)(uintptr_t)information->si_value.sival_ptr;
    return data >= FM_SAMPLE_TRAPS && data < FM_SAMPLE_TRAPS_END;
}

typedef struct waiting_traps {
    bool ours, others;
} waiting_traps;

static void look_at_queue(pid_t tid, bool shared, waiting_traps *waiting)
{
    enum { AT_ONCE = 16, MOST = 1024 };
    siginfo_t some[AT_ONCE];
    struct __ptrace_peeksiginfo_args range = {.flags = shared ? PTRACE_PEEKSIGINFO_SHARED : 0, .nr = AT_ONCE};
    long got = AT_ONCE;
    for (; got == AT_ONCE && range.off < MOST; range.off += AT_ONCE) {
        got = ptrace(PTRACE_PEEKSIGINFO, tid, &range, some);
        for (long i = 0; i < got; i++) {
            if (some[i].si_signo != SIGTRAP) continue;
            if (is_our_trap(&some[i]))
                waiting->ours = true;
            else
                waiting->others = true;
        }
    }
}

/* Traps that were sent and not delivered yet. One of ours that is just being delivered is not. */
static waiting_traps look_for_traps(fm_tracee *tracee)
{
    waiting_traps waiting = {0};
    for (size_t i = 0; i < tracee->count; i++) {
        fm_tracee_thread *thread = &tracee->threads[i];
        siginfo_t information;
        look_at_queue(thread->tid, i == 0, &waiting);
        if (i == 0) look_at_queue(thread->tid, false, &waiting);
        if (thread->signal == SIGTRAP && ptrace(PTRACE_GETSIGINFO, thread->tid, NULL, &information) == 0 &&
            is_our_trap(&information))
            thread->signal = 0;
    }
    return waiting;
}

/* SIGTRAP, for those that believe to block it. */
static void block_again(const fm_sampled_attachment *self, fm_tracee *tracee)
{
    const uint64_t trap = UINT64_C(1) << (SIGTRAP - 1);
    for (size_t i = 0; i < tracee->count; i++) {
        fm_tracee_thread *thread = &tracee->threads[i];
        long blocked = 0;
        uint64_t mask;
        if (thread->signal || call(self, tracee, thread, REBLOCK, 0, &blocked, NULL) != FM_OK) continue;
        if (blocked && fm_tracee_mask(thread, &mask)) fm_tracee_set_mask(thread, mask | trap);
    }
}

/* The program is another one now, or has ended. */
static bool is_still_there(const fm_sampled_attachment *self, const fm_tracee *tracee)
{
    fm_remote_modules modules;
    if (fm_remote_modules_read(&modules, tracee, NULL) != FM_OK) return false;
    const fm_remote_module *runtime = fm_remote_module_named(&modules, "libfathom-sample.so");
    const bool there = runtime && runtime->code == self->code;
    fm_remote_modules_free(&modules);
    return there;
}

static fm_status leave(fm_sampled_attachment *self, fm_tracee *tracee, fm_error *error)
{
    const double until = fm_now() + leave_seconds;
    long inside = 1;
    if (!is_still_there(self, tracee)) return FM_OK;
    while (inside) {
        fm_status status = fm_tracee_stop(tracee, error);
        fm_tracee_thread *thread = status == FM_OK ? fm_tracee_any(tracee) : NULL;
        const waiting_traps waiting = look_for_traps(tracee);
        /* What the program sent to itself is not lost, if that can be helped. */
        const bool late = fm_now() > until - leave_seconds / 2;
        if (status == FM_OK && thread && !is_inside(self, tracee) &&
            (late || !(waiting.ours && waiting.others)))
            status = call(self, tracee, thread, LEAVE, waiting.ours || !waiting.others, &inside, error);
        if (status != FM_OK) return status;
        if (!inside) break;
        fm_tracee_resume(tracee);
        if (fm_now() > until)
            return fm_fail(
                error, FM_E_IO, NULL,
                "process %ld: a thread of it has been in the sampler for %.0f s: the sampler stays "
                "in it, and does nothing",
                (long)self->pid, leave_seconds);
        usleep(2000);
    }
    restore_slots(self, tracee);
    block_again(self, tracee);
    return FM_OK;
}

void fm_sampled_attach_leave(fm_sampled_run *run)
{
    fm_sampled_attachment *self = run->attachment;
    if (!self) return;
    fm_error error;
    if (self->prepared && !run->watch.child_gone && with_tracee(self, leave, &error) != FM_OK)
        fm_sampled_run_note(run, "%s", error.reason);
    free(self->slots);
    free(self);
    run->attachment = NULL;
}

/* ---- loading ---- */

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
    status = call(self, tracee, thread, SESSION, 0, &receiver, error);
    fm_tracee_resume(tracee);
    if (status != FM_OK || !receiver) return status;
    if (is_receiver(receiver))
        return fm_fail(error, FM_E_IO, NULL, "process %ld is being sampled already, by process %ld",
                       (long)self->pid, receiver);
    status = find_slots(self, tracee, modules, error);
    for (size_t i = 0; i < self->slot_count; i++) {
        self->slots[i].before = self->theirs[self->slots[i].name];
        self->slots[i].changed = true;
    }
    if (status == FM_OK) status = leave(self, tracee, error);
    fm_tracee_resume(tracee);
    return status;
}

/* A file in memory, made there, mapped there and here. */
static fm_status share_memory(fm_sampled_attachment *self, fm_tracee *tracee, fm_tracee_thread *thread,
                              long *address, fm_error *error)
{
    static const char name[] = "fathom-sample";
    const long bytes = (long)fm_sample_file_bytes();
    struct user_regs_struct registers;
    char path[64];
    long file = -1, result = 0;
    if (ptrace(PTRACE_GETREGS, thread->tid, NULL, &registers) != 0)
        return fm_attach_refused(self->pid, errno, error);
    const uint64_t text = (registers.rsp - 4096) & ~UINT64_C(7);
    fm_status status = FM_OK;
    errno = 0;
    if (fm_tracee_write(tracee, text, name, sizeof name) != sizeof name)
        return fm_fail(error, FM_E_IO, NULL, "process %ld: its stack has no room for a call",
                       (long)self->pid);
    status = fm_tracee_syscall(tracee, thread, SYS_memfd_create,
                               (long[6]){(long)text, MFD_CLOEXEC | MFD_ALLOW_SEALING}, &file, error);
    if (status != FM_OK) return status;
    const char *doing = "make memory to share with fathom";
    if (file < 0)
        return fm_fail(error, FM_E_IO, NULL, "process %ld: cannot %s: %s", (long)self->pid, doing,
                       strerror((int)-file));
    status = fm_tracee_syscall(tracee, thread, SYS_ftruncate, (long[6]){file, bytes}, &result, error);
    if (status == FM_OK && result == 0)
        status = fm_tracee_syscall(tracee, thread, SYS_fcntl,
                                   (long[6]){file, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW}, &result, error);
    if (status == FM_OK && result == 0) {
        status = fm_tracee_syscall(
            tracee, thread, SYS_mmap,
            (long[6]){0, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, file, 0}, address, error);
        result = *address < 0 && *address > -4096 ? *address : 0;
    }
    snprintf(path, sizeof path, "/proc/%ld/fd/%ld", (long)self->pid, file);
    const int here = status == FM_OK && result == 0 ? open(path, O_RDWR | O_CLOEXEC) : -1;
    const int why = errno;
    long closed;
    if (status == FM_OK)
        status = fm_tracee_syscall(tracee, thread, SYS_close, (long[6]){file}, &closed, error);
    if (status == FM_OK && (result < 0 || here < 0))
        status = fm_fail(error, FM_E_IO, NULL, "process %ld: cannot %s: %s", (long)self->pid, doing,
                         strerror(result < 0 ? (int)-result : why));
    if (status != FM_OK) {
        if (here >= 0) close(here);
        return status;
    }
    return fm_sample_memory_adopt(&self->run->memory, here, error);
}

static fm_status load_failed(const fm_sampled_attachment *self, fm_tracee *tracee, fm_tracee_thread *thread,
                             uint64_t dlerror_at, fm_error *error)
{
    long address = 0;
    char text[512] = "no reason is given";
    if (dlerror_at &&
        fm_tracee_call(tracee, thread, dlerror_at, NULL, (long[2]){0}, &address, NULL) == FM_OK &&
        address != 0) {
        const size_t got = fm_tracee_read(tracee, (uint64_t)address, text, sizeof text - 1);
        text[got] = '\0';
    }
    return fm_fail(error, FM_E_UNSUPPORTED, NULL,
                   "process %ld: the sampling runtime cannot be loaded into it: %s", (long)self->pid, text);
}

/* In a thread that holds no locks; the others run. */
static fm_status load(fm_sampled_attachment *self, fm_tracee *tracee, fm_tracee_thread *thread,
                      fm_remote_modules *modules, fm_error *error)
{
    uint64_t dlopen_at = 0, dlerror_at = 0;
    long address = 0, result = 0;
    for (size_t i = 0; i < modules->count; i++) {
        const char *name = strrchr(modules->modules[i].path, '/') + 1;
        if (strncmp(name, "libc.so", 7) != 0 && strncmp(name, "libc-", 5) != 0 &&
            strncmp(name, "libdl", 5) != 0)
            continue;
        if (!dlopen_at) dlopen_at = fm_remote_symbol(tracee, &modules->modules[i], "dlopen", NULL);
        if (!dlerror_at) dlerror_at = fm_remote_symbol(tracee, &modules->modules[i], "dlerror", NULL);
        if (!dlopen_at)
            dlopen_at = fm_remote_symbol(tracee, &modules->modules[i], "__libc_dlopen_mode", NULL);
    }
    if (!dlopen_at) return no_libc(self, "it has no dlopen", error);
    fm_status status = share_memory(self, tracee, thread, &address, error);
    if (status != FM_OK) return status;
    status = fm_tracee_call(tracee, thread, dlopen_at, self->runtime, (long[2]){0, RTLD_NOW}, &result, error);
    if (status == FM_OK && result == 0) status = load_failed(self, tracee, thread, dlerror_at, error);
    fm_remote_modules_free(modules);
    if (status == FM_OK) status = fm_remote_modules_read(modules, tracee, error);
    if (status == FM_OK) status = find_runtime(self, tracee, modules, error);
    if (status == FM_OK && !self->code) status = load_failed(self, tracee, thread, 0, error);
    if (status == FM_OK) status = call(self, tracee, thread, PREPARE, address, &result, error);
    if (status == FM_OK && result == 0) {
        self->prepared = true;
        return FM_OK;
    }
    long unmapped;
    fm_tracee_syscall(tracee, thread, SYS_munmap, (long[6]){address, (long)fm_sample_file_bytes()}, &unmapped,
                      NULL);
    if (status != FM_OK) return status;
    return fm_fail(error, FM_E_UNSUPPORTED, NULL,
                   result == 4
                       ? "process %ld cannot be sampled: it must not have memory that is writable and "
                         "executable, or its return addresses are protected (shadow stack)"
                       : "process %ld cannot be sampled: the runtime in it is of another version, or in use",
                   (long)self->pid);
}

/* Threads, from the first on. */
static size_t list_threads(pid_t pid, pid_t *tids, size_t most)
{
    char path[64];
    size_t count = 0;
    snprintf(path, sizeof path, "/proc/%ld/task", (long)pid);
    DIR *tasks = opendir(path);
    for (struct dirent *one; tasks && count < most && (one = readdir(tasks));) {
        const long tid = strtol(one->d_name, NULL, 10);
        if (tid > 0) tids[count++] = (pid_t)tid;
    }
    if (tasks) closedir(tasks);
    return count;
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
    enum { THREADS_MOST = 64 };
    pid_t tids[THREADS_MOST];
    const double until = fm_now() + search_seconds;
    fm_unsafe_places_find(&self->places, tracee, modules);
    useconds_t nap = 200;
    do {
        const size_t count = list_threads(self->pid, tids, THREADS_MOST);
        if (count == 0) return fm_attach_refused(self->pid, ESRCH, error);
        for (size_t i = 0; i < count; i++) {
            fm_status status = fm_tracee_stop_one(tracee, tids[i], found, error);
            if (status != FM_OK) return status;
            if (*found && !in_libc(*found) && fm_is_safe_place(&self->places, tracee, *found)) return FM_OK;
            fm_tracee_resume(tracee);
        }
        usleep(nap);
        if (nap < 10000) nap += nap / 2;
    } while (fm_now() < until);
    return fm_fail(
        error, FM_E_IO, NULL,
        "process %ld: in %.0f s its threads were never seen outside of the allocator, the loader and "
        "signal handlers, where nothing can be loaded: try again",
        (long)self->pid, search_seconds);
}

static fm_status begin(fm_sampled_attachment *self, fm_tracee *tracee, fm_error *error)
{
    fm_remote_modules modules;
    fm_tracee_thread *thread = NULL;
    fm_status status = fm_remote_modules_read(&modules, tracee, error);
    if (status == FM_OK) status = find_gadget(self, tracee, &modules, error);
    if (status == FM_OK) status = find_runtime(self, tracee, &modules, error);
    if (status == FM_OK && self->code) status = clean_up(self, tracee, &modules, error);
    if (status == FM_OK) status = find_place(self, tracee, &modules, &thread, error);
    if (status == FM_OK) status = load(self, tracee, thread, &modules, error);
    fm_tracee_resume(tracee);
    if (status == FM_OK) status = find_slots(self, tracee, &modules, error);
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
    if (status == FM_OK) status = with_tracee(self, begin, error);
    if (status != FM_OK || !run->options.function) return status;
    fm_sampled_maps maps = {0}; /* of which only the files are kept */
    run->function.name = run->options.function;
    status = fm_sampled_maps_read(&maps, &run->code, run->options.pid, error);
    fm_sampled_maps_free(&maps);
    return status == FM_OK ? fm_function_filter_prepare(&run->function, &run->code, error) : status;
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
    fm_status status = call(self, tracee, caller, TIMER, 0, &result, error);
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
        if (call(self, tracee, thread, UNBLOCK, 0, &result, NULL) == FM_OK)
            fm_tracee_set_mask(thread, mask & ~trap);
    }
}

static fm_status enter(fm_sampled_attachment *self, fm_tracee *tracee, fm_error *error)
{
    long result = 0;
    fm_status status = fm_tracee_stop(tracee, error);
    fm_tracee_thread *thread = status == FM_OK ? fm_tracee_any(tracee) : NULL;
    for (int tries = 0; status == FM_OK && (!thread || is_halfway(self, tracee)) && tries < ENTER_TRIES;
         tries++) {
        fm_tracee_resume(tracee); /* all of them are about to get signals, or one is in between */
        usleep(tries < 10 ? 100 : 1000);
        status = fm_tracee_stop(tracee, error);
        thread = status == FM_OK ? fm_tracee_any(tracee) : NULL;
    }
    if (status == FM_OK && !thread)
        return fm_fail(error, FM_E_IO, NULL, "process %ld: its threads only ever get signals",
                       (long)self->pid);
    if (status == FM_OK) status = call(self, tracee, thread, ENTER, 0, &result, error);
    if (status == FM_OK && result != 0)
        status =
            fm_fail(error, FM_E_IO, NULL, "process %ld: the runtime in it could not begin", (long)self->pid);
    if (status != FM_OK) return status;
    change_slots(self, tracee);
    open_masks(self, tracee);
    status = fm_sampled_run_look(self->run, error);
    return status == FM_OK ? start_clocks(self, tracee, thread, error) : status;
}

fm_status fm_sampled_attach_enter(fm_sampled_run *run, fm_error *error)
{
    return with_tracee(run->attachment, enter, error);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * attach_runtime.c - the runtime gets into a program that runs already, is called there instead of the
 * program's own functions, and gets out again.
 */
#define _GNU_SOURCE
#include "base/crew.h"
#include "base/error.h"
#include "base/memory.h"
#include "process/tracee.h"
#include "sample/sampled_run_state.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <unistd.h>

/* ---- attach load ---- */

/*
 * The sampling runtime gets into a program that runs already: memory that is shared is made
 * there, and one thread of it is made to load the library.
 */

static const char *const entries[FM_ATTACH_ENTRIES] = {
    "fathom_sampler_prepare", "fathom_sampler_enter",   "fathom_sampler_timer",   "fathom_sampler_leave",
    "fathom_sampler_unblock", "fathom_sampler_reblock", "fathom_sampler_session", "fathom_sampler_behind"};

fm_status fm_attach_call(const fm_sampled_attachment *self, fm_tracee *tracee, fm_tracee_thread *thread,
                         fm_attach_entry entry, long argument, long *result, fm_error *error)
{
    return fm_tracee_call(tracee, thread, self->entry[entry], NULL, (long[2]){argument, 0}, result, error);
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
    for (size_t i = 0; i < FM_ATTACH_HOOKED; i++)
        self->theirs[i] = fm_remote_symbol(tracee, libc, fm_attach_hooked[i], NULL);
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
    for (size_t i = 0; i < FM_ATTACH_ENTRIES; i++) {
        self->entry[i] = fm_remote_symbol(tracee, runtime, entries[i], NULL);
        if (!self->entry[i])
            return fm_fail(error, FM_E_UNSUPPORTED, runtime->path, "has no %s: it is of another version",
                           entries[i]);
    }
    for (size_t i = 0; i < FM_ATTACH_HOOKED; i++)
        self->ours[i] = fm_remote_symbol(tracee, runtime, fm_attach_hooked[i], NULL);
    return FM_OK;
}

fm_status fm_attach_look(fm_sampled_attachment *self, fm_tracee *tracee, const fm_remote_modules *modules,
                         fm_error *error)
{
    const fm_status status = find_gadget(self, tracee, modules, error);
    return status == FM_OK ? find_runtime(self, tracee, modules, error) : status;
}

/* ---- loading ---- */

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

fm_status fm_attach_load(fm_sampled_attachment *self, fm_tracee *tracee, fm_tracee_thread *thread,
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
    if (status == FM_OK)
        status = fm_attach_call(self, tracee, thread, FM_ATTACH_PREPARE, address, &result, error);
    if (status == FM_OK && result == 0) {
        self->prepared = true;
        return fm_attach_find_allocator(self, tracee, thread, error);
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

/* ---- attach slots ---- */

/*
 * The slots through which a program that runs already, and its libraries, call functions
 * that ours stand in for: changed while all threads stand, and put back.
 *
 * Those of the allocator are changed only where it is certain which function is behind them: a block must be
 * freed by the allocator that it came from. A program may have several.
 */

enum { SLOTS_MOST = 1 << 16, HALFWAY = 3, FIRST_OF_ALLOCATOR = 15 };

/* The first three do at once what sampling changes when it begins; the last ones are the allocator's
 * (fathom_sampler_behind), malloc first. */
const char *const fm_attach_hooked[FM_ATTACH_HOOKED + 1] = {"sigaction",
                                                            "sigprocmask",
                                                            "pthread_sigmask",
                                                            "__sigaction",
                                                            "signal",
                                                            "bsd_signal",
                                                            "ssignal",
                                                            "sysv_signal",
                                                            "__sysv_signal",
                                                            "sigset",
                                                            "sigignore",
                                                            "prctl",
                                                            "syscall",
                                                            "fathom_region_begin",
                                                            "fathom_region_end",
                                                            "malloc",
                                                            "calloc",
                                                            "realloc",
                                                            "free",
                                                            "memalign",
                                                            "aligned_alloc",
                                                            "posix_memalign"};

/* Does a thread stand in this code? */
static bool attach_stands_in(const fm_tracee *tracee, uint64_t first, uint64_t behind)
{
    for (size_t i = 0; i < tracee->count; i++) {
        struct user_regs_struct registers;
        if (ptrace(PTRACE_GETREGS, tracee->threads[i].tid, NULL, &registers) == 0 && registers.rip >= first &&
            registers.rip < behind)
            return true;
    }
    return false;
}

bool fm_attach_is_halfway(const fm_sampled_attachment *self, const fm_tracee *tracee)
{
    enum { AROUND = 512 }; /* what they call lies beside them */
    for (size_t i = 0; i < HALFWAY; i++) {
        const uint64_t at = self->theirs[i];
        if (at && attach_stands_in(tracee, at - AROUND, at + AROUND)) return true;
    }
    return false;
}

/* ---- finding ---- */

fm_status fm_attach_find_allocator(fm_sampled_attachment *self, fm_tracee *tracee, fm_tracee_thread *thread,
                                   fm_error *error)
{
    fm_status status = FM_OK;
    for (size_t i = FIRST_OF_ALLOCATOR; i < FM_ATTACH_HOOKED && status == FM_OK; i++) {
        long address = 0;
        status = fm_attach_call(self, tracee, thread, FM_ATTACH_BEHIND, (long)(i - FIRST_OF_ALLOCATOR),
                                &address, error);
        self->theirs[i] = (uint64_t)address;
    }
    return status;
}

static fm_status keep_slot(void *context, size_t name, uint64_t address, fm_error *error)
{
    fm_sampled_attachment *self = context;
    if (self->slot_count >= SLOTS_MOST || !self->ours[name]) return FM_OK;
    if (fm_array_reserve((void **)&self->slots, &self->slot_capacity, self->slot_count + 1,
                         sizeof *self->slots) != 0)
        return fm_fail_memory(error, (self->slot_count + 1) * sizeof *self->slots, "the program's calls");
    self->slots[self->slot_count++] = (fm_attach_slot){.address = address,
                                                       .module = self->module->first,
                                                       .module_behind = self->module->behind,
                                                       .name = name};
    return FM_OK;
}

/* The loader's own malloc, of old versions of libc, is not called any more when the program runs. */
static bool is_loader(const fm_remote_module *module)
{
    return strncmp(strrchr(module->path, '/') + 1, "ld-", 3) == 0;
}

fm_status fm_attach_find_slots(fm_sampled_attachment *self, const fm_tracee *tracee,
                               const fm_remote_modules *modules, fm_error *error)
{
    fm_status status = FM_OK;
    size_t allocators = 0;
    self->slot_count = 0;
    for (size_t i = 0; i < modules->count && status == FM_OK; i++) {
        self->module = &modules->modules[i];
        if (strcmp(self->module->path, self->runtime) == 0) continue;
        if (!is_loader(self->module))
            allocators +=
                fm_remote_symbol(tracee, self->module, fm_attach_hooked[FIRST_OF_ALLOCATOR], NULL) != 0;
        status = fm_remote_slots(tracee, self->module, fm_attach_hooked, keep_slot, self, error);
    }
    self->module = NULL;
    self->one_allocator = allocators == 1;
    return status;
}

/* ---- changing ---- */

/* Is it certain that this is a slot of the allocator which our functions call? One that was not used yet
 * leads to code of its own module, which looks for the function: there it is, where there is only one. */
static bool is_of_allocator(const fm_sampled_attachment *self, const fm_attach_slot *slot)
{
    if (!self->theirs[slot->name]) return false;
    if (slot->before == self->theirs[slot->name]) return true;
    return self->one_allocator && slot->before >= slot->module && slot->before < slot->module_behind;
}

void fm_attach_change_slots(fm_sampled_attachment *self, const fm_tracee *tracee)
{
    for (size_t i = 0; i < self->slot_count; i++) {
        fm_attach_slot *one = &self->slots[i];
        const uint64_t ours = self->ours[one->name];
        const bool allocator = one->name >= FIRST_OF_ALLOCATOR;
        if (allocator && !self->run->options.objects) continue;
        if (fm_tracee_read(tracee, one->address, &one->before, 8) != 8) continue; /* unloaded */
        if (one->before == ours) one->before = self->theirs[one->name]; /* left by a fathom that was killed */
        if (allocator && !is_of_allocator(self, one)) continue;
        one->changed = fm_tracee_write(tracee, one->address, &ours, 8) == 8;
    }
}

static void restore_slots(const fm_sampled_attachment *self, const fm_tracee *tracee, size_t first_name)
{
    for (size_t i = 0; i < self->slot_count; i++) {
        const fm_attach_slot *one = &self->slots[i];
        uint64_t now;
        if (one->changed && one->name >= first_name && fm_tracee_read(tracee, one->address, &now, 8) == 8 &&
            now == self->ours[one->name])
            fm_tracee_write(tracee, one->address, &one->before, 8);
    }
}

static void attach_restore_slots(const fm_sampled_attachment *self, const fm_tracee *tracee)
{
    restore_slots(self, tracee, 0);
}

/* Those of the allocator, which can be put back at any time. */
static void attach_restore_allocator(const fm_sampled_attachment *self, const fm_tracee *tracee)
{
    restore_slots(self, tracee, FIRST_OF_ALLOCATOR);
}

/* ---- attach leave ---- */

/*
 * A program that was attached to is as it was before: handlers, masks and slots are put
 * back, and traps of ours that were sent and not delivered are forgotten.
 */

static const double leave_seconds = 3.0;
enum { LEAVE_TRIES = 200 }; /* at least, however little time we get */

/* Does a thread stand in our code? */
static bool is_inside(const fm_sampled_attachment *self, const fm_tracee *tracee)
{
    return attach_stands_in(tracee, self->code, self->code_behind);
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
        if (thread->signal ||
            fm_attach_call(self, tracee, thread, FM_ATTACH_REBLOCK, 0, &blocked, NULL) != FM_OK)
            continue;
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

fm_status fm_attach_leave(fm_sampled_attachment *self, fm_tracee *tracee, fm_error *error)
{
    const double until = fm_now() + leave_seconds;
    long inside = 1;
    if (!is_still_there(self, tracee)) return FM_OK;
    for (int tries = 0; inside; tries++) {
        fm_status status = fm_tracee_stop(tracee, error);
        fm_tracee_thread *thread = status == FM_OK ? fm_tracee_any(tracee) : NULL;
        if (status == FM_OK) attach_restore_allocator(self, tracee); /* whoever is in it comes out soon */
        const waiting_traps waiting = look_for_traps(tracee);
        /* What the program sent to itself is not lost, if that can be helped. */
        const bool late = tries > LEAVE_TRIES / 2 && fm_now() > until - leave_seconds / 2;
        if (status == FM_OK && thread && !is_inside(self, tracee) &&
            (late || !(waiting.ours && waiting.others)))
            status = fm_attach_call(self, tracee, thread, FM_ATTACH_LEAVE, waiting.ours || !waiting.others,
                                    &inside, error);
        if (status != FM_OK) return status;
        if (!inside) break;
        fm_tracee_resume(tracee);
        if (tries > LEAVE_TRIES && fm_now() > until)
            return fm_fail(
                error, FM_E_IO, NULL,
                "process %ld: a thread of it has been in the sampler for %.0f s: the sampler stays "
                "in it, and does nothing",
                (long)self->pid, leave_seconds);
        usleep(2000);
    }
    attach_restore_slots(self, tracee);
    block_again(self, tracee);
    return FM_OK;
}

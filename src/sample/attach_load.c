/* SPDX-License-Identifier: Apache-2.0 */
/*
 * attach_load.c - the sampling runtime gets into a program that runs already: memory that is shared is made
 * there, and one thread of it is made to load the library.
 */
#define _GNU_SOURCE
#include "base/error.h"
#include "process/tracee.h"
#include "sample/sampled_attachment.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <unistd.h>

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

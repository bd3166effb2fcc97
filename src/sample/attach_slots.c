/* SPDX-License-Identifier: Apache-2.0 */
/*
 * attach_slots.c - the slots through which a program that runs already, and its libraries, call functions
 * that ours stand in for: changed while all threads stand, and put back.
 *
 * Those of the allocator are changed only where it is certain which function is behind them: a block must be
 * freed by the allocator that it came from. A program may have several.
 */
#define _GNU_SOURCE
#include "base/error.h"
#include "base/memory.h"
#include "sample/sampled_attachment.h"

#include <string.h>
#include <sys/ptrace.h>

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

bool fm_attach_stands_in(const fm_tracee *tracee, uint64_t first, uint64_t behind)
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
        if (at && fm_attach_stands_in(tracee, at - AROUND, at + AROUND)) return true;
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

static void restore(const fm_sampled_attachment *self, const fm_tracee *tracee, size_t first_name)
{
    for (size_t i = 0; i < self->slot_count; i++) {
        const fm_attach_slot *one = &self->slots[i];
        uint64_t now;
        if (one->changed && one->name >= first_name && fm_tracee_read(tracee, one->address, &now, 8) == 8 &&
            now == self->ours[one->name])
            fm_tracee_write(tracee, one->address, &one->before, 8);
    }
}

void fm_attach_restore_slots(const fm_sampled_attachment *self, const fm_tracee *tracee)
{
    restore(self, tracee, 0);
}

void fm_attach_restore_allocator(const fm_sampled_attachment *self, const fm_tracee *tracee)
{
    restore(self, tracee, FIRST_OF_ALLOCATOR);
}

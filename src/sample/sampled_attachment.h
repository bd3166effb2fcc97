/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sampled_attachment.h - what is known of a program that runs already while it is sampled, and the parts of
 * sampled_attach.c: attach_load.c puts the runtime into it, attach_slots.c makes it call our functions,
 * attach_leave.c takes everything out again. Internal to src/sample.
 *
 * They work on a program that is stopped (process/tracee.h), in the thread of ours that stopped it.
 */
#ifndef FATHOM_SAMPLE_SAMPLED_ATTACHMENT_H
#define FATHOM_SAMPLE_SAMPLED_ATTACHMENT_H

#include "process/tracee.h"
#include "sample/sampled_run_state.h"

#include <limits.h>

/* Functions that the program calls, and shall call ours of the same name (attach_slots.c). */
enum { FM_ATTACH_HOOKED = 22 };

/* Functions of the runtime that are called from here (collect/sample/enter.c). */
typedef enum fm_attach_entry {
    FM_ATTACH_PREPARE,
    FM_ATTACH_ENTER,
    FM_ATTACH_TIMER,
    FM_ATTACH_LEAVE,
    FM_ATTACH_UNBLOCK,
    FM_ATTACH_REBLOCK,
    FM_ATTACH_SESSION,
    FM_ATTACH_BEHIND,
    FM_ATTACH_ENTRIES
} fm_attach_entry;

/* A place in the program from which a function's address is taken. */
typedef struct fm_attach_slot {
    uint64_t address, before;
    uint64_t module, module_behind; /* that it is one of */
    size_t name;
    bool changed;
} fm_attach_slot;

typedef struct fm_sampled_attachment {
    fm_sampled_run *run;
    pid_t pid;
    char runtime[PATH_MAX];
    uint64_t gadget;            /* a syscall instruction */
    uint64_t code, code_behind; /* of the runtime, there */
    uint64_t entry[FM_ATTACH_ENTRIES];
    uint64_t ours[FM_ATTACH_HOOKED], theirs[FM_ATTACH_HOOKED]; /* functions */
    bool one_allocator;             /* there is one malloc, and whoever calls one calls that */
    const fm_remote_module *module; /* whose slots are being looked for */
    fm_attach_slot *slots;
    size_t slot_count, slot_capacity;
    fm_unsafe_places places;
    bool prepared;
} fm_sampled_attachment;

/* ---- attach_load.c ---- */

/* Calls a function of the runtime. */
fm_status fm_attach_call(const fm_sampled_attachment *self, fm_tracee *tracee, fm_tracee_thread *thread,
                         fm_attach_entry entry, long argument, long *result, fm_error *error);
/* Looks for libc and for the runtime, if it is loaded (self->code). */
fm_status fm_attach_look(fm_sampled_attachment *self, fm_tracee *tracee, const fm_remote_modules *modules,
                         fm_error *error);
/* In a thread that holds no locks; the others run. modules are read anew. */
fm_status fm_attach_load(fm_sampled_attachment *self, fm_tracee *tracee, fm_tracee_thread *thread,
                         fm_remote_modules *modules, fm_error *error);

/* ---- attach_slots.c ---- */

extern const char *const fm_attach_hooked[FM_ATTACH_HOOKED + 1];
/* The functions behind ours of the allocator, as the runtime knows them: when it is prepared. */
fm_status fm_attach_find_allocator(fm_sampled_attachment *self, fm_tracee *tracee, fm_tracee_thread *thread,
                                   fm_error *error);
fm_status fm_attach_find_slots(fm_sampled_attachment *self, const fm_tracee *tracee,
                               const fm_remote_modules *modules, fm_error *error);
/* While all threads stand. */
void fm_attach_change_slots(fm_sampled_attachment *self, const fm_tracee *tracee);
void fm_attach_restore_slots(const fm_sampled_attachment *self, const fm_tracee *tracee);
/* Those of the allocator, which can be put back at any time. */
void fm_attach_restore_allocator(const fm_sampled_attachment *self, const fm_tracee *tracee);
/* Is a thread about to change, or to ask for, what we are going to change? */
bool fm_attach_is_halfway(const fm_sampled_attachment *self, const fm_tracee *tracee);
/* Does a thread stand in this code? */
bool fm_attach_stands_in(const fm_tracee *tracee, uint64_t first, uint64_t behind);

/* ---- attach_leave.c ---- */

/* Everything is put back, when no thread is in a handler of ours. */
fm_status fm_attach_leave(fm_sampled_attachment *self, fm_tracee *tracee, fm_error *error);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sampled_run_state.h - what a sampled run holds. Internal to src/sample.
 *
 * Two threads: that of the caller looks after processes and clocks (sampled_run.c), the other takes samples
 * (sample_drain.c). `lock` is for the list of processes; `code_lock` for code and sites.
 */
#ifndef FATHOM_SAMPLE_SAMPLED_RUN_STATE_H
#define FATHOM_SAMPLE_SAMPLED_RUN_STATE_H

#include "process/tracee.h"
#include "process/watch.h"
#include "sample/sampled_thread.h"

#include <fathom/sampled_run.h>
#include <limits.h>
#include <pthread.h>
#include <stdint.h>

typedef struct fm_sampled_process {
    uint32_t place; /* in the session, as long as it is there */
    uint32_t serial;
    uint32_t parent_pid;
    fm_watched_process watched;
    fm_sample_code_of code;
    fm_sampled_memory_of memory;
    uint32_t parent; /* serial number of the process that forked it; 0: it was executed */
    bool heap_seen;  /* allocations come through the library */
    uint64_t heap_lost;
    char *program;
    char *called; /* the link to it by which it was started; NULL: none */
    bool attached, by_exec;
    bool executed; /* another program, which is not followed */
    int *clocks;   /* descriptors, one for each thread that it had when they were opened */
    size_t clock_count, clock_capacity;
    fm_sampled_run_clock clock_kind;
    int clock_error, watch_error, counter_error;
    uint32_t trouble;
    uint32_t refused_threads; /* how often one found no room */
    uint64_t ended_at;        /* processor time at its exit, in nanoseconds; 0: not told */
    uint64_t peak_memory;     /* bytes that it had at most, told at its exit; 0: not told */
    bool drained;             /* it is gone, and all that it left was taken */
    uint32_t threads;
    uint64_t bursts;
    char *missing;
} fm_sampled_process;

struct fm_sampled_attachment;

enum { FM_SAMPLED_SHORTEST_TICK = 250000 }; /* nanoseconds */
enum { FM_SAMPLED_BLOCKED = 3 };            /* looks in turn that found it, before it is said */

struct fm_sampled_run {
    fm_sampled_run_options options;
    struct fm_sampled_attachment *attachment; /* to a program that ran already; NULL: none */
    fm_sample_memory memory;
    uint64_t tick;
    char counters[160]; /* which ones, for people */
    char *program;
    fm_watch watch;
    bool ended, stopped, limit_reached;
    bool region_met;
    uint64_t peak_memory; /* bytes that a program that ran already had at most; 0: not known */
    bool left;            /* what was attached to runs on by itself */
    double seconds, sampled_seconds;
    double exec_next; /* when to look for an exec again */
    char *notes;

    pthread_mutex_t lock;
    unsigned blocked; /* how often in turn its first thread was found to block our signal */
    double blocked_next;
    fm_sampled_process **processes; /* all there were */
    size_t process_count, process_capacity;
    fm_sampled_process *places[FM_SAMPLE_PROCESSES]; /* those that have a place in the session */

    pthread_mutex_t code_lock;
    fm_sampled_code code;
    fm_function_filter function;
    fm_sampled_objects objects;
    uint32_t heap_told;                                /* cells that were taken, with all before them */
    uint32_t *tag_codes, *tag_objects;                 /* of each tag, when all is known */
    uint64_t footprints[FM_SAMPLED_RUN_GRANULARITIES]; /* distinct blocks of all, as estimated; 0: not yet */

    /* The drain's. */
    pthread_t drain;
    bool draining;
    int finish; /* 1: take what is there, and end; 2: end */
    fm_status drain_status;
    uint64_t drain_time; /* processor time that it has used, in nanoseconds; */
    uint64_t burst_time; /* for records of this */
    fm_error drain_error;
    fm_sample_context context;
    fm_sampled_thread **threads; /* all there were */
    fm_sampled_process **owners; /* of each of them */
    size_t thread_count, thread_capacity, owner_capacity;
    fm_sampled_thread *lanes[FM_SAMPLE_THREADS]; /* those that live */
};

/* ---- pmu_machine.c ---- */

/* Which method the run has; FM_E_UNSUPPORTED: counters are wanted, and cannot be had. */
fm_status fm_sampled_run_choose(fm_sampled_run *run, fm_error *error);

void fm_sampled_run_note(fm_sampled_run *run, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* ---- sampled_run.c ---- */

/* Opens a clock on a thread: -errno, or 0. FM_E_NOMEM is ENOMEM. */
int fm_sampled_clock_add(fm_sampled_run *run, fm_sampled_process *process, uint32_t thread);
/* Where the sampling runtime is. */
fm_status fm_sampled_runtime_find(const fm_sampled_run *run, char *path, size_t size, fm_error *error);
/* The process with a serial number; NULL: none. The lock is held. */
fm_sampled_process *fm_sampled_process_numbered(const fm_sampled_run *run, uint32_t serial);
/* Processes that have claimed a place are known. */
fm_status fm_sampled_run_look(fm_sampled_run *run, fm_error *error);

/* ---- sampled_results.c ---- */

/* A program that blocks signals past libc does not hear its clock. */
void fm_sampled_look_at_signals(fm_sampled_run *run);
/* At the end: processes and threads that were not sampled, and why. */
void fm_sampled_note_unseen(fm_sampled_run *run);

/* ---- sampled_attach.c: a program that runs already ---- */

/* Loads the runtime into it; the memory that is shared is made there. */
fm_status fm_sampled_attach_begin(fm_sampled_run *run, fm_error *error);
/* It is sampled. */
fm_status fm_sampled_attach_enter(fm_sampled_run *run, fm_error *error);
/* It is not sampled any more, and is as it was. Clocks are closed before. */
void fm_sampled_attach_leave(fm_sampled_run *run);

/* ---- sample_memory.c ---- */

/* Takes what was told of the heap; code_lock is held. */
fm_status fm_sample_heap_take(void *run, fm_error *error);

/* ---- sample_drain.c ---- */

fm_status fm_sample_drain_begin(fm_sampled_run *run, fm_error *error);
/* What went wrong there, if anything did. */
fm_status fm_sample_drain_status(fm_sampled_run *run, fm_error *error);
/* Takes the rest; the thread has ended. */
fm_status fm_sample_drain_end(fm_sampled_run *run, fm_error *error);
/* The same without taking anything. */
void fm_sample_drain_abandon(fm_sampled_run *run);

/* ---- sampled results ---- */

/* Samples, for those who cannot include fathom/experimental/observations.h. Internal to src/sample. */
typedef struct fm_samples fm_samples;

fm_status fm_sampled_samples_create(fm_samples **samples, uint64_t granularity, bool counters,
                                    fm_error *error);
void fm_sampled_samples_destroy(fm_samples *samples);

/* ---- sample clock ---- */

/*
 * A clock in another process: a perf event that sends SIGTRAP to the thread whose processor
 * time it counts, and that new threads of the process inherit. The descriptor is ours, so that the clock ends
 * with us, and the program's descriptors are its own.
 */

/* The descriptor, or -errno. data: what the signal carries. */
int fm_sample_clock_open(uint32_t thread, uint64_t nanoseconds, uint64_t data);

/* ---- sampled attachment ---- */

/*
 * What is known of a program that runs already while it is sampled, and the parts of
 * sampled_attach.c: attach_runtime.c puts the runtime into it, attach_runtime.c makes it call our functions,
 * attach_runtime.c takes everything out again. Internal to src/sample.
 *
 * They work on a program that is stopped (process/tracee.h), in the thread of ours that stopped it.
 */

/* Functions that the program calls, and shall call ours of the same name (attach_runtime.c). */
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

/* ---- attach_runtime.c ---- */

/* Calls a function of the runtime. */
fm_status fm_attach_call(const fm_sampled_attachment *self, fm_tracee *tracee, fm_tracee_thread *thread,
                         fm_attach_entry entry, long argument, long *result, fm_error *error);
/* Looks for libc and for the runtime, if it is loaded (self->code). */
fm_status fm_attach_look(fm_sampled_attachment *self, fm_tracee *tracee, const fm_remote_modules *modules,
                         fm_error *error);
/* In a thread that holds no locks; the others run. modules are read anew. */
fm_status fm_attach_load(fm_sampled_attachment *self, fm_tracee *tracee, fm_tracee_thread *thread,
                         fm_remote_modules *modules, fm_error *error);

/* ---- attach_runtime.c ---- */

extern const char *const fm_attach_hooked[FM_ATTACH_HOOKED + 1];
/* The functions behind ours of the allocator, as the runtime knows them: when it is prepared. */
fm_status fm_attach_find_allocator(fm_sampled_attachment *self, fm_tracee *tracee, fm_tracee_thread *thread,
                                   fm_error *error);
fm_status fm_attach_find_slots(fm_sampled_attachment *self, const fm_tracee *tracee,
                               const fm_remote_modules *modules, fm_error *error);
/* While all threads stand. */
void fm_attach_change_slots(fm_sampled_attachment *self, const fm_tracee *tracee);
/* Is a thread about to change, or to ask for, what we are going to change? */
bool fm_attach_is_halfway(const fm_sampled_attachment *self, const fm_tracee *tracee);

/* ---- attach_runtime.c ---- */

/* Everything is put back, when no thread is in a handler of ours. */
fm_status fm_attach_leave(fm_sampled_attachment *self, fm_tracee *tracee, fm_error *error);

#endif

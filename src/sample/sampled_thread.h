/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sampled_thread.h - one thread of a sampled program: takes its records out of its lane, and keeps what they
 * say until the end. Then all of it becomes observations (fathom/experimental/observations.h).
 *
 * Positions of bursts and watches are worked out from the thread's own processor time and the rates of
 * accesses that were counted in between: A(t), the accesses as a function of time.
 */
#ifndef FATHOM_SAMPLE_SAMPLED_THREAD_H
#define FATHOM_SAMPLE_SAMPLED_THREAD_H

#include "sample/burst_analysis.h"
#include "sample/function_filter.h"
#include "sample/pmu_latency.h"
#include "sample/sample_memory.h"
#include "sample/sampled_calls.h"
#include "sample/sampled_code.h"
#include "sample/sampled_objects.h"

#include <fathom/sampled_run.h>

/* What all threads share. */
typedef struct fm_sample_context {
    fm_sample_memory *memory;
    fm_sampled_code *code;
    fm_sampled_objects *objects;
    bool with_objects, with_paths;
    bool tell_paths;              /* they make a difference; else they are for `function` only */
    fm_function_filter *function; /* only what happens in it; NULL: everything */
    /* Takes what was told of the heap until now: to be called before a burst is looked at. */
    fm_status (*take_heap)(void *run, fm_error *error);
    void *run;
    fm_burst_table *table;
    unsigned shifts[FM_SAMPLED_RUN_GRANULARITIES]; /* granularities are 1 << shift */
    size_t granularity_count;
    double nanoseconds; /* of a tick of the time-stamp counter */
    /* Buffers. */
    uint64_t *log;
    fm_burst_touch *touches;
    unsigned char stack[FM_SAMPLE_STACK];
    bool counters;  /* samples come from performance counters */
    bool mean_rate; /* one rate for all of a thread's time */
    double ceiling; /* accesses in a nanosecond that a core can make; 0: not known */
    fm_latencies latencies;
    /* Counted for people. */
    uint64_t bursts, watches, accesses, left_out;
    double slowed; /* nanoseconds that counting took more than the program's code alone */
} fm_sample_context;

/* A burst that was seen. */
typedef struct fm_seen_burst {
    uint64_t number;
    uint64_t work; /* nanoseconds */
    uint64_t planned;
    uint32_t accesses;
    double inside;    /* share of what was logged that counts: less than 1 only with a function */
    uint32_t counted; /* accesses of the window behind it */
    uint32_t calm;    /* of these, those that tell the rate */
    double calm_time; /* nanoseconds that they took; 0: not known */
    bool watching;    /* while a register was armed */
    uint32_t ahead;   /* accesses of a window ahead of it, while none was */
    uint32_t ahead_calm;
    uint32_t heard; /* clock ticks of the thread until then; 0: not known */
    double ahead_time;
    double returns; /* of functions, for each access of the burst */
    uint32_t picked, picked_of,
        picked_unused; /* the access; chosen among so many, of which so many were unused */
    uint32_t picked_tag;
    bool picked_armed;     /* a register was got */
    double armed;          /* probability */
    uint64_t position;     /* references of the thread before it; known at the end */
    fm_burst_view views[]; /* one for each granularity; references 0: its log is not known */
} fm_seen_burst;

typedef struct fm_seen_watch {
    fm_sample_watched is;
    uint32_t found; /* access of the burst in_burst that used it again; FM_BURST_NONE: not found */
    uint32_t site;  /* of the code that used it again */
    uint32_t path;  /* the calls that led there */
    uint32_t tag;   /* all of it; known at the end */
} fm_seen_watch;

/* An access that a counter sampled. */
typedef struct fm_seen_use {
    fm_sample_use is;
    uint32_t tag;     /* of its code, with calls and data */
    uint32_t context; /* the tag without data: for the paper's proportional attribution */
    bool outside;     /* of the function that was asked for: it says how many accesses are */
    bool unknown;     /* whether it is */
} fm_seen_use;

/* What is known of an access of the table of blocks, which an instruction does again and again. */
typedef struct fm_known_access {
    uint64_t low, high;    /* memory that is the object's ... */
    uint32_t object;       /* (0: of nobody) */
    uint32_t round;        /* ... in the burst of this round */
    uint32_t site;         /* of the instruction; 0: not asked yet */
    bool ours;             /* it is in our own library */
    uint32_t path, tagged; /* the tag is that of the site with this path and object */
    uint32_t tag;          /* 0: not asked yet */
} fm_known_access;

typedef struct fm_sampled_thread {
    uint32_t lane, tid;
    fm_sample_code_of *process;
    fm_sampled_memory_of *memory;
    uint32_t number;         /* in its process, from 1 on */
    fm_sampled_place stack;  /* as last known */
    fm_sampled_calls *calls; /* NULL: not wanted */
    uint32_t taken;          /* records of the lane */
    unsigned char *table;    /* descriptions of blocks, as far as they were told */
    uint32_t told, generation;
    fm_known_access *known; /* by their places in the table */
    size_t known_count, known_capacity;
    uint32_t round; /* of objects: they are looked up anew for each burst */
    fm_seen_burst **bursts;
    size_t burst_count, burst_capacity;
    fm_seen_watch *watches;
    size_t watch_count, watch_capacity;
    fm_seen_use *uses; /* by counters, instead of bursts; by number */
    size_t use_count, use_capacity;
    uint64_t work, own;         /* at the end */
    uint64_t tick;              /* nanoseconds from clock tick to clock tick */
    uint64_t heard, heard_work; /* ticks, and work then, as last told together; 0: not known */
    uint64_t time; /* by counters, where work is accesses: processor time, as work is otherwise */
    uint64_t crowded, lost, damaged;
    uint64_t overrun, throttled, foreign; /* by counters */
    bool ended;
    bool too_fast; /* a rate was measured that no core can have */
} fm_sampled_thread;

fm_status fm_sampled_thread_create(fm_sampled_thread **thread, const fm_sample_context *context,
                                   uint32_t lane, fm_sample_code_of *process, fm_sampled_memory_of *memory,
                                   uint32_t number, fm_error *error);
void fm_sampled_thread_destroy(fm_sampled_thread *thread, const fm_sample_context *context);

/* The calls that led to where the thread was, by the registers and the stack at the end of a slab. */
fm_status fm_sampled_thread_calls(fm_sampled_thread *thread, fm_sample_context *context, uint32_t slab,
                                  uint32_t stack_bytes, fm_error *error);
/* Place of the burst with this number; SIZE_MAX: none is known. */
size_t fm_sampled_thread_burst(const fm_sampled_thread *thread, uint64_t number);

/* What was read of a log (sampled_log.c). */
typedef struct fm_log_reading {
    uint32_t picked;    /* given: number of an access in the log */
    uint32_t picked_at; /* its place among the touches, where it is one */
    size_t count;       /* of context->touches */
    size_t all;         /* of the log, those that do not count among them */
    size_t returns;     /* of functions, in the log */
} fm_log_reading;
/* The accesses of the log in context->log, into context->touches. */
fm_status fm_sampled_thread_read_log(fm_sampled_thread *thread, fm_sample_context *context,
                                     const fm_sample_record *record, fm_log_reading *reading,
                                     fm_error *error);
/* An access that a counter sampled (pmu_uses.c); its tag, by its number, 0: none is known. */
fm_status fm_sampled_thread_take_use(fm_sampled_thread *thread, fm_sample_context *context,
                                     const fm_sample_use *use, uint32_t slab, fm_error *error);
uint32_t fm_sampled_thread_use_tag(const fm_sampled_thread *thread, uint64_t number);

/* Takes what is in the lane. */
fm_status fm_sampled_thread_drain(fm_sampled_thread *thread, fm_sample_context *context, fm_error *error);
/* The thread has ended, or nothing more will be taken of it: what its lane says of the end. */
fm_status fm_sampled_thread_finish(fm_sampled_thread *thread, fm_sample_context *context, uint64_t tick,
                                   fm_error *error);

/* All that was seen, as a thread of the samples. */
fm_status fm_sampled_thread_observe(fm_sampled_thread *thread, const fm_sample_context *context,
                                    size_t granularity, double fallback_rate, fm_samples *samples,
                                    fm_error *error);
/* The same where samples came from counters (pmu_observations.c). */
fm_status fm_sampled_thread_observe_uses(const fm_sampled_thread *thread, fm_samples *samples,
                                         fm_error *error);
/* Accesses and nanoseconds of the windows in which they were counted. */
void fm_sampled_thread_counted(const fm_sampled_thread *thread, double *accesses, double *nanoseconds);
/* Nanoseconds that the accesses of bursts and windows would have taken without the sampler; and that what it
 * watched made the rest of the program take more (sampled_timeline.c). */
fm_status fm_sampled_thread_effects(const fm_sampled_thread *thread, double *inside, double *slowed,
                                    fm_error *error);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* sampled_thread.h - one thread of a sampled program, from its records to observations. */
#ifndef FATHOM_SAMPLE_SAMPLED_THREAD_H
#define FATHOM_SAMPLE_SAMPLED_THREAD_H

#include "collect/sample/sample_protocol.h"
#include "sample/sampled_program.h"

#include <fathom/attribution.h>
#include <fathom/experimental/observations.h>
#include <fathom/sampled_run.h>
#include <fathom/status.h>

/* ---- burst analysis ---- */

/*
 * The accesses of one burst in, the time distances of its uses out, at any granularities.
 *
 * An access is one reference to each block that it touches, ascending. The first half of the references are
 * the uses that are observed. The time distance of a use is how many references later its block is used
 * again, exactly, where that is before the burst's end.
 */

enum {
    FM_BURST_ACCESSES_MOST = 1 << 20, /* more are not looked at: a log can claim any number */
    FM_BURST_REFERENCES_MOST = 1 << 22,
};
#define FM_BURST_NONE UINT32_MAX

typedef struct fm_burst_touch {
    uint64_t address;
    uint32_t size;         /* at least 1 */
    uint32_t tag;          /* of the code */
    uint32_t path, object; /* on the way to the tag; not looked at here */
} fm_burst_touch;

/* So many uses of one kind. Time distances from 1024 on are rounded, to 1/64 of their value at most. */
typedef struct fm_burst_kind {
    uint32_t use, reuse; /* tags; reuse 0: cut off */
    uint32_t time, count;
} fm_burst_kind;

/* A burst at one granularity. */
typedef struct fm_burst_view {
    uint32_t references, uses;
    uint32_t found_count, cut_count;
    fm_burst_kind *kinds; /* found, then cut off */
    uint32_t picked;      /* number of the reference of the picked access; FM_BURST_NONE: none was picked, or
                             its block was used again */
} fm_burst_view;

/* Memory that is used again from burst to burst. */
typedef struct fm_burst_table fm_burst_table;
fm_status fm_burst_table_create(fm_burst_table **table, fm_error *error);
void fm_burst_table_destroy(fm_burst_table *table);

/* picked: an access; FM_BURST_NONE: none. `picked_address`: in the block that is meant. */
fm_status fm_burst_view_make(fm_burst_table *table, const fm_burst_touch *touches, size_t count,
                             unsigned granularity_shift, uint32_t picked, uint64_t picked_address,
                             fm_burst_view *view, fm_error *error);

/* How many of the first `from` accesses went to words of 8 bytes (their first one) that no later access
 * touches. */
fm_status fm_burst_unused_words(fm_burst_table *table, const fm_burst_touch *touches, size_t count,
                                size_t from, size_t *unused, fm_error *error);

/* ---- pmu latency ---- */

/* How long sampled accesses took, and where their data came from: sums for each place in the
 * code. */

typedef struct fm_latencies {
    fm_site_latency *of_tag; /* by tag; site is not known yet */
    size_t count, capacity;
} fm_latencies;

/* Puts them into the attribution, by site. */
fm_status fm_latencies_describe(const fm_latencies *latencies, fm_attribution *attribution,
                                const uint32_t *map, size_t map_count, fm_error *error);
void fm_latencies_free(fm_latencies *latencies);

/* ---- sampled thread ---- */

/*
 * One thread of a sampled program: takes its records out of its lane, and keeps what they
 * say until the end. Then all of it becomes observations (fathom/sample.h).
 *
 * Positions of bursts and watches are worked out from the thread's own processor time and the rates of
 * accesses that were counted in between: A(t), the accesses as a function of time.
 */

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
/* The same where samples came from counters (pmu_uses.c). */
fm_status fm_sampled_thread_observe_uses(const fm_sampled_thread *thread, fm_samples *samples,
                                         fm_error *error);
/* Accesses and nanoseconds of the windows in which they were counted. */
void fm_sampled_thread_counted(const fm_sampled_thread *thread, double *accesses, double *nanoseconds);
/* Nanoseconds that the accesses of bursts and windows would have taken without the sampler; and that what it
 * watched made the rest of the program take more (sampled_timeline.c). */
fm_status fm_sampled_thread_effects(const fm_sampled_thread *thread, double *inside, double *slowed,
                                    fm_error *error);

/* ---- sampled timeline ---- */

/*
 * A(t): the references of a thread as a function of its processor time.
 *
 * In the windows around each burst accesses were counted and timed: the rate there. How many references an
 * access is (blocks that it touches) is known of each burst, and differs from loop to loop as much as rates
 * do: 8 bytes here, a vector there. Between two bursts the rate is the mean of theirs. In bursts and windows
 * the accesses are known, and the thread's clock stands still. Time that the kernel takes for the thread has
 * no accesses, and no ticks: as much of the clock's time as is not told by ticks is not the program's.
 *
 * There are two rates: code may be slower while a debug register watches. Processors copy by single words
 * then (rep movs), which takes twice as long. Behind a burst a register is armed, and between bursts mostly
 * not, or always: as long as it takes until a word is used again. When it was is known.
 */

/* References in a nanosecond. */
typedef struct fm_access_rate {
    double plain, watched; /* no register is armed; one is */
} fm_access_rate;

typedef struct fm_watched_time {
    uint64_t begin, end; /* nanoseconds of work */
    uint64_t before;     /* that something was watched, until `begin` */
} fm_watched_time;

typedef struct fm_timeline {
    const fm_sampled_thread *thread;
    double *ratios;         /* references of an access, at each burst */
    fm_access_rate *rates;  /* at each burst */
    fm_access_rate *gaps;   /* before each burst, and behind the last */
    double *before;         /* references until its beginning */
    fm_watched_time *watch; /* in order, apart from each other */
    size_t watch_count;
    double end;   /* references until the end */
    double tick;  /* nanoseconds of one of the time-stamp counter's */
    bool limited; /* a rate was measured that no core can have, and was taken as the most that one can */
} fm_timeline;

/* `fallback`: accesses in a nanosecond, where nothing is known; `most`: more cannot be (sampled_thread.h); 0:
 * not known. `mean`: one rate takes the place of all. */
fm_status fm_timeline_make(fm_timeline *line, const fm_sampled_thread *thread, double fallback, double most,
                           bool mean, size_t granularity, fm_error *error);
void fm_timeline_free(fm_timeline *line);

/* Nanoseconds that the windows of a burst took longer than the program's code alone would have. */
double fm_seen_burst_slowed(const fm_seen_burst *burst);

/* References until a moment outside of bursts. */
double fm_timeline_until(const fm_timeline *line, uint64_t work);
/* The rate around a burst, watched or not as it was there. */
double fm_timeline_rate(const fm_timeline *line, size_t burst);

/* ---- access ceiling ---- */

/* How many accesses to memory a core can make. Internal to src/sample. */

/*
 * Accesses in a nanosecond that no program makes for long on this machine: four a cycle, at the fastest clock
 * that it tells (6 GHz where it tells none). Processors of 2024 start three loads and two stores a cycle at
 * most, and finish fewer: stores wait for the first cache, and other instructions are between.
 */
double fm_access_ceiling(void);

#endif

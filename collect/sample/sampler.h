/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * sampler.h - the parts of the runtime that is preloaded into programs, and what they share. Internal to
 * collect/sample.
 *
 *     attach.c    the beginning: the session, the environment, the clock; fork and the end
 *     enter.c     the beginning and the end in a program that runs already
 *     tick.c      the clock's signal: whether and what to sample; plans the next one
 *     watches.c   debug registers
 *     watch_spans.c  for how long they may be armed
 *     threads.c   memory of a thread, its lane in the session
 *     signals.c   what the program sees of SIGTRAP
 *     limits.c    the program gives up system calls
 *     marked_region.c  what the program marks itself
 *     allocations.c blocks of the heap, some of them
 *     pmu_sample.c   performance counters: samples of single accesses instead of bursts
 *     burst.h     runs the program's next accesses and logs them
 *
 * Everything that runs in a signal handler makes its own system calls (system.h), takes no lock, allocates by
 * mmap only and uses no floating point.
 */
#ifndef FATHOM_SAMPLER_H
#define FATHOM_SAMPLER_H

#include "collect/cc/system.h"
#include "collect/reservoir.h"
#include "collect/sample/burst.h"
#include "collect/sample/sample_protocol.h"

#include <signal.h>
#include <stdbool.h>
#include <ucontext.h>

enum {
    FM_SAMPLER_STACK = 64 << 10,
    FM_SAMPLER_GUARD = 4096,
    FM_SAMPLER_FIRST_CODE = 4 << 20, /* bytes for translated code, of the first thread */
    /* What a signal costs beside what its handler can see, in nanoseconds. */
    FM_SAMPLER_TICK_COST = 3000,
    FM_SAMPLER_TRAP_COST = 15000,
    /* Accesses of our own that counters see before a handler looks at them, and after. */
    FM_SAMPLER_HANDLER_ACCESSES = 32,
};

typedef struct fm_sampler_watch {
    void *event; /* a mapping that keeps the perf event alive; NULL: none */
} fm_sampler_watch;

/* The counters of a thread. */
typedef struct fm_sampler_pmu {
    bool on;
    void *pages[FM_SAMPLE_PMU_EVENTS];  /* mappings that keep the events alive */
    size_t bytes[FM_SAMPLE_PMU_EVENTS]; /* of these */
    uint64_t own;    /* accesses that we made, as counters see it, and those outside of the region */
    bool outside;    /* of the region: the count stands still */
    uint64_t stands; /* where */
} fm_sampler_pmu;

/* A thread that is sampled. */
typedef struct fm_sampler_thread {
    struct fm_sampler_thread *next;  /* among those that are not in use */
    struct fm_sampler_thread *after; /* among all */
    fm_sample_lane *lane;
    uint32_t lane_number;
    uint32_t tid;
    bool busy;              /* in a handler of ours */
    uint64_t random;        /* state of a generator, not 0 */
    uint64_t own;           /* nanoseconds that we used */
    uint64_t work;          /* as of the last handler's end */
    uint64_t countdown;     /* ticks until the next burst */
    uint64_t planned;       /* nanoseconds that this is */
    uint64_t rate;          /* accesses in 2^20 nanoseconds, as last counted; 0: not known */
    uint64_t bursts;        /* made so far */
    fm_reservoir reservoir; /* which register is for whom */
    fm_sampler_watch watches[FM_SAMPLE_WATCHES];
    uint32_t strays[FM_SAMPLE_WATCHES]; /* uses of what is watched outside of the region, or by us */
    uint64_t armed_since; /* work when the first of the registers that are armed was, and 1; 0: none is */
    uint64_t armed_time;  /* nanoseconds of work in which one was, until then */
    uint64_t span_end;    /* work when they are disarmed; UINT64_MAX: when they trap */
    uint32_t spans;       /* that were cut off */
    uint32_t written;     /* records in the lane */
    bool in_burst;        /* the program runs in the translator */
    uint64_t window; /* time-stamp counter when the window began in which accesses are counted; 0: none */
    uint32_t traps;  /* in that window */
    uint32_t ahead_skip, ahead_failed; /* bursts that go without a window ahead of them (tick.c) */
    int32_t newness;                   /* how many of the last bursts met mostly new code, of NEW_WHOLE; */
    bool new_code;                     /* the last one did (tick.c) */
    burst *burst;                      /* the translator's */
    uint32_t told;                     /* bytes of its table that the receiver has */
    uint32_t generation;               /* of the table */
    void *table;
    fm_sampler_pmu pmu;
} fm_sampler_thread;

typedef struct fm_sampler_self {
    fm_sample_session *session; /* NULL: not attached */
    fm_sample_process *process;
    uint32_t pid;
    bool watching;  /* debug registers are wanted, and can be had */
    bool stopped;   /* for good */
    bool counting;  /* threads have counters (FM_SAMPLE_METHOD_PMU), and signals of theirs can come */
    bool joined;    /* the program ran already: we are not among what it was linked with */
    uint32_t epoch; /* of the memory of threads: it is gone after the end, and there may be a new beginning */
    uint32_t inside; /* threads that are in our handlers, nested ones counted */
} fm_sampler_self;
extern fm_sampler_self fm_self __attribute__((visibility("hidden")));
extern __thread fm_sampler_thread *fm_me __attribute__((tls_model("initial-exec"), visibility("hidden")));
extern __thread uint32_t fm_me_epoch __attribute__((tls_model("initial-exec"), visibility("hidden")));

/* The calling thread's state; NULL: it has none. */
static inline fm_sampler_thread *fm_sampler_me(void)
{
    return fm_me_epoch == fm_self.epoch ? fm_me : NULL;
}
/* Around everything that uses the session or the memory of a thread. */
static inline void fm_sampler_step_in(void)
{
    __atomic_fetch_add(&fm_self.inside, 1, __ATOMIC_SEQ_CST);
}
static inline void fm_sampler_step_out(void)
{
    __atomic_fetch_sub(&fm_self.inside, 1, __ATOMIC_SEQ_CST);
}

/* ---- attach.c ---- */

/* Asks the receiver to stop the clock, and waits for it a little. */
void fm_sampler_stop_clock(void);
/* A place in the session, for a process that was forked by another (its serial number), or 0. */
bool fm_sampler_claim_process(uint32_t parent);
/* In a child of fork. */
void fm_sampler_forked(void);
static inline bool fm_sampler_halted(void)
{
    return __atomic_load_n(&fm_self.session->order, __ATOMIC_RELAXED) != FM_SAMPLE_GO;
}
static inline void fm_sampler_trouble(uint32_t which)
{
    __atomic_fetch_or(&fm_self.process->trouble, which, __ATOMIC_RELAXED);
}
/* The receiver may look. */
void fm_sampler_wake(void);

/* ---- threads.c ---- */

/* The calling thread's state, made where there is none. NULL: there is no room for it. */
fm_sampler_thread *fm_sampler_thread_get(void);
/* When threads have an end: to be called once, before the first. */
void fm_sampler_threads_begin(void);
/* All that was ever made for threads is given back: nobody is inside. */
void fm_sampler_threads_end(void);
/* In a child of fork: no thread but this one is there, and nothing of it is the session's. */
void fm_sampler_threads_forget(void);
/* Puts a record into the thread's lane. False: there is no room. */
bool fm_sampler_record(fm_sampler_thread *thread, const fm_sample_record *record);
void *fm_sampler_stack_top(const fm_sampler_thread *thread);

/* ---- tick.c ---- */

/* A tick at which a burst is due, on the thread's own stack. */
void fm_sampler_tick(fm_sampler_thread *thread, ucontext_t *context);
/* How long until the first burst of a thread. */
void fm_sampler_plan(fm_sampler_thread *thread);
/* A slab of the class, or of a smaller one. FM_SAMPLE_NOWHERE: none is free. */
uint32_t fm_sampler_claim_slab(const fm_sampler_thread *thread, uint32_t class);
/* Half of them wait for the receiver, or one of those for long bursts, which are few: it is to be woken up.
 */
bool fm_sampler_slabs_run_short(void);
void fm_sampler_free_slab(uint32_t slab);
/* Puts registers and stack at the end of a slab. Bytes of the stack. */
uint32_t fm_sampler_tell_stack(uint32_t slab, const ucontext_t *context);

/* ---- watches.c ---- */

bool fm_sampler_arm(fm_sampler_thread *thread, uint32_t place, uint64_t address);
void fm_sampler_disarm(fm_sampler_thread *thread, uint32_t place);
/* The same, when no more samples are taken: for the receiver it is watched until then. */
void fm_sampler_drop(fm_sampler_thread *thread, uint32_t place);
/* Another use takes its place. */
void fm_sampler_replaced(fm_sampler_thread *thread, uint32_t place, uint32_t kept);
/* Is one armed? */
bool fm_sampler_is_watching(const fm_sampler_thread *thread);
/* The use that a register watched was used again. */
void fm_sampler_trapped(fm_sampler_thread *thread, uint32_t place, const ucontext_t *context);
/* What is watched ends, as the thread does. */
void fm_sampler_watches_end(fm_sampler_thread *thread);

/* ---- watch_spans.c ---- */

/* May a register be armed, at a burst? */
bool fm_sampler_may_watch(fm_sampler_thread *thread);
/* What armed registers cost, in millionths of the thread's work; with a budget. */
uint64_t fm_sampler_watching_costs(const fm_sampler_thread *thread);
/* So many accesses were counted in so many nanoseconds around a burst: while nothing was watched, and while
 * something was. */
void fm_sampler_windows(uint64_t plain, uint64_t plain_time, uint64_t watched, uint64_t watched_time);
/* A register was armed; none is any more. */
void fm_sampler_span_begins(fm_sampler_thread *thread);
void fm_sampler_span_ends(fm_sampler_thread *thread);
/* The clock ticks: what was watched for long enough is not any longer. */
void fm_sampler_span_tick(fm_sampler_thread *thread);

/* ---- pmu_sample.c ---- */

/* Opens the session's events on the calling thread; fm_self.counting. What goes wrong is told as a trouble.
 */
void fm_sampler_pmu_begin(fm_sampler_thread *thread);
/* By whatever thread. */
void fm_sampler_pmu_end(fm_sampler_thread *thread);
/* It enters the region that is sampled, or leaves it. */
void fm_sampler_pmu_region(fm_sampler_thread *thread, bool enters);
/* thread->work becomes what it is now; and what the lane says of it. */
void fm_sampler_now(fm_sampler_thread *thread);

/* ---- pmu_sample.c ---- */

/* An event has a sample. */
void fm_sampler_pmu_sample(fm_sampler_thread *thread, uint32_t event, const ucontext_t *context);
/* As fm_sampler_trapped, with counters. */
void fm_sampler_pmu_trapped(fm_sampler_thread *thread, uint32_t place, const ucontext_t *context);
/* The clock ticks: the lane is told how far the thread is. */
void fm_sampler_pmu_tick(fm_sampler_thread *thread);

/* ---- perf events ---- */

struct perf_event_attr;
/* perf_event_open for the calling thread: the descriptor, or -errno. A program may bring a function of this
 * name, which is then called instead: so tests bring processors that are not here. */
long fathom_sample_perf_event_open(struct perf_event_attr *event, int group);

/* ---- marked_region.c ---- */

/* Is the calling thread outside of the region that is to be sampled? */
bool fm_sampler_outside(void);
/* Nanoseconds that the thread has worked for the program, and in the region, when its processor time is this.
 */
uint64_t fm_sampler_worked(const fm_sampler_thread *thread, uint64_t now);

/* ---- signals.c ---- */

/* Is this the code of the runtime? */
bool fm_sampler_is_own_code(uint64_t address);
/* The library's variables and what it shares with the receiver. What a thread has is used by our code only.
 */
bool fm_sampler_is_own_data(uint64_t address);
/* Looks for what the next function needs: takes locks of the loader. */
bool fm_sampler_signals_prepare(void);
/* Our handler is installed. */
bool fm_sampler_signals_begin(void);
/* The program's actions are. forget: traps that wait to be delivered are not. */
void fm_sampler_signals_end(bool forget);
/* Whether the program believes that the calling thread blocks SIGTRAP; sets it. */
bool fm_sampler_trap_blocked(int set);
/* A timer instead of the receiver's clock. */
bool fm_sampler_timer_begin(uint64_t nanoseconds);
void fm_sampler_timer_end(void);
/* There is nobody who reads: samples were left out for so long that the receiver must be gone. */
void fm_sampler_unheard(void);

/* ---- allocations.c ---- */

/* Blocks are told from now on, where they are wanted: when the process has its place, and after a fork. */
void fm_sampler_heap_begin(void);
/* Looks for the allocator behind ours: takes locks of the loader. */
void fm_sampler_heap_prepare(void);
/* One of its functions, FM_SAMPLE_HEAP_FUNCTIONS. 0: it has none. */
uintptr_t fm_sampler_heap_behind(uint32_t which);
/* Is a thread just telling a block? */
bool fm_sampler_heap_is_told(void);
/* In a child of fork. */
void fm_sampler_heap_forked(void);
/* The session is gone, and all threads stand. */
void fm_sampler_heap_end(void);
/* Copies so much of the memory at `from`, at most, as is there. */
uint32_t fm_sampler_copy_stack(void *to, uint64_t from, uint32_t most);

/* ---- limits.c ---- */

/* Bytes that were resident at most, until now; 0: not known. */
uint64_t fm_sampler_peak_memory(void);

/* Is the program under more filters of system calls than the receiver is? Ours might kill it. */
bool fm_sampler_limited(void);

/* ---- time ---- */

static inline uint64_t fm_sampler_clock(clockid_t clock)
{
    struct timespec time = {0};
    fm_syscall(__NR_clock_gettime, clock, (long)&time, 0, 0, 0, 0);
    return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}
static inline uint64_t fm_sampler_cpu(void)
{
    return fm_sampler_clock(CLOCK_THREAD_CPUTIME_ID);
}
static inline uint64_t fm_sampler_ticks(void)
{
    return __builtin_ia32_rdtsc();
}
/* A number below `most`, which is not 0. */
static inline uint64_t fm_sampler_random(fm_sampler_thread *thread, uint64_t most)
{
    return (uint64_t)(((unsigned __int128)fm_reservoir_bits(&thread->random) * most) >> 64);
}

#endif

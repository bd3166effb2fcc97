/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * threads.c - the memory of a thread that is sampled, and its lane in the session.
 *
 * A thread gets both when a clock tick first finds it, inside a signal handler. When it ends, a destructor of
 * thread-specific data gives the lane back and keeps the memory for the next one: a program may have any
 * number of threads, one after the other.
 */
#include "collect/sample/sampler.h"

#include <pthread.h>

__thread fm_sampler_thread *fm_me __attribute__((tls_model("initial-exec")));
__thread uint32_t fm_me_epoch __attribute__((tls_model("initial-exec")));

static __thread bool over __attribute__((tls_model("initial-exec"))); /* the thread is about to end */

static struct {
    pthread_key_t key;
    bool has_key;
    fm_sampler_thread *idle; /* top of a stack */
    uint32_t lock;           /* of the stack: only ever tried, never waited for */
    fm_sampler_thread *made; /* all there are; it only grows */
} all;

/* One region: guard, stack, the thread, the table of blocks. The translator has memory of its own. */
enum {
    STATE_OFFSET = FM_SAMPLER_GUARD + FM_SAMPLER_STACK,
    STATE_BYTES = 4096,
    REGION_BYTES = STATE_OFFSET + STATE_BYTES + FM_SAMPLE_TABLE_BYTES,
    FIRST_KEYS = 32, /* of thread-specific data, for which nothing is allocated */
};

static bool try_lock(void)
{
    return __atomic_exchange_n(&all.lock, 1, __ATOMIC_ACQUIRE) == 0;
}

static void threads_unlock(void)
{
    __atomic_store_n(&all.lock, 0, __ATOMIC_RELEASE);
}

static fm_sampler_thread *thread_reuse(void)
{
    fm_sampler_thread *thread = NULL;
    if (!try_lock()) return NULL;
    thread = all.idle;
    if (thread) all.idle = thread->next;
    threads_unlock();
    return thread;
}

static void give_back(fm_sampler_thread *thread)
{
    while (!try_lock()) fm_syscall(__NR_sched_yield, 0, 0, 0, 0, 0, 0); /* a few instructions, never more */
    thread->next = all.idle;
    all.idle = thread;
    threads_unlock();
}

static fm_sampler_thread *thread_make(void)
{
    _Static_assert(sizeof(fm_sampler_thread) <= STATE_BYTES, "the place of a thread");
    fm_sampler_thread *thread = thread_reuse();
    if (thread) return thread;
    char *region = fm_map(REGION_BYTES, -1, 0);
    if (!region) return NULL;
    fm_syscall(__NR_mprotect, (long)region, FM_SAMPLER_GUARD, PROT_NONE, 0, 0, 0);
    thread = (fm_sampler_thread *)(void *)(region + STATE_OFFSET);
    thread->table = region + STATE_OFFSET + STATE_BYTES;
    /* The first thread's may be an interpreter's, or a compiler's: these have a lot of code. Only what is
     * used of it takes memory. */
    const bool first = !__atomic_load_n(&all.made, __ATOMIC_RELAXED);
    thread->burst = burst_create_sized(thread->table, FM_SAMPLE_TABLE_BYTES,
                                       first ? FM_SAMPLER_FIRST_CODE : burst_bytes());
    if (!thread->burst) {
        fm_unmap(region, REGION_BYTES);
        return NULL;
    }
    thread->after = __atomic_load_n(&all.made, __ATOMIC_RELAXED);
    while (!__atomic_compare_exchange_n(&all.made, &thread->after, thread, false, __ATOMIC_RELEASE,
                                        __ATOMIC_RELAXED)) {
    }
    return thread;
}

void *fm_sampler_stack_top(const fm_sampler_thread *thread)
{
    return (char *)(uintptr_t)thread;
}

static fm_sample_lane *lane_at(uint32_t number)
{
    return (fm_sample_lane *)((char *)fm_self.session + FM_SAMPLE_LANES +
                              (size_t)number * FM_SAMPLE_LANE_BYTES);
}

/* Any that is free, from one on that others are unlikely to look at. */
static bool claim_lane(fm_sampler_thread *thread)
{
    for (uint32_t i = 0; i < FM_SAMPLE_THREADS; i++) {
        const uint32_t number = (thread->tid + i) % FM_SAMPLE_THREADS;
        fm_sample_lane *lane = lane_at(number);
        uint32_t free = FM_SAMPLE_FREE;
        uint32_t *state = &fm_self.session->lane_state[number];
        if (__atomic_load_n(state, __ATOMIC_RELAXED) != free ||
            !__atomic_compare_exchange_n(state, &free, FM_SAMPLE_CLAIMED, false, __ATOMIC_ACQUIRE,
                                         __ATOMIC_RELAXED))
            continue;
        thread->lane = lane;
        thread->lane_number = number;
        lane->tid = thread->tid;
        lane->pid = fm_self.pid;
        lane->serial = fm_self.process->serial;
        lane->work = lane->own = lane->ticks = lane->bursts = lane->crowded = lane->lost = 0;
        lane->time = lane->stale = lane->dropped = lane->throttled = lane->foreign = 0;
        for (uint32_t k = 0; k < FM_SAMPLE_WATCHES; k++) lane->watches[k].on = 0;
        thread->written = __atomic_load_n(&lane->taken, __ATOMIC_RELAXED);
        lane->written = thread->written;
        __atomic_store_n(state, FM_SAMPLE_OPEN, __ATOMIC_RELEASE);
        return true;
    }
    return false;
}

fm_sampler_thread *fm_sampler_thread_get(void)
{
    if (fm_sampler_me() || over) return fm_sampler_me();
    fm_sampler_thread *thread = thread_make();
    if (!thread) {
        fm_sampler_trouble(FM_SAMPLE_TROUBLE_MEMORY);
        return NULL;
    }
    *thread = (fm_sampler_thread){
        .burst = thread->burst, .table = thread->table, .tid = fm_gettid(), .after = thread->after};
    burst_reset(thread->burst, thread->table, FM_SAMPLE_TABLE_BYTES); /* another's, if it was in use before */
    thread->random = (fm_self.session->seed + thread->tid) * UINT64_C(0x9E3779B97F4A7C15) | 1;
    if (!claim_lane(thread)) {
        __atomic_fetch_add(&fm_self.process->refused_threads, 1, __ATOMIC_RELAXED);
        give_back(thread);
        return NULL;
    }
    fm_reservoir_start(&thread->reservoir, FM_SAMPLE_WATCHES, fm_self.session->wants & FM_SAMPLE_WANT_PLAIN,
                       thread->random);
    fm_sampler_plan(thread);
    fm_me = thread;
    fm_me_epoch = fm_self.epoch;
    /* The first keys of a process are in the thread's own memory: nothing is allocated. */
    if (all.has_key) pthread_setspecific(all.key, thread);
    if (fm_self.counting) fm_sampler_pmu_begin(thread);
    return thread;
}

bool fm_sampler_record(fm_sampler_thread *thread, const fm_sample_record *record)
{
    fm_sample_lane *lane = thread->lane;
    const uint32_t waiting = thread->written - __atomic_load_n(&lane->taken, __ATOMIC_ACQUIRE);
    if (waiting >= FM_SAMPLE_CELLS) {
        lane->lost++;
        fm_sampler_wake();
        return false;
    }
    lane->cells[thread->written % FM_SAMPLE_CELLS].record = *record;
    __atomic_store_n(&lane->written, ++thread->written, __ATOMIC_RELEASE);
    if (waiting >= FM_SAMPLE_CELLS / 2 || (record->slab != FM_SAMPLE_NOWHERE && fm_sampler_slabs_run_short()))
        fm_sampler_wake();
    return true;
}

/* The thread's end, in the thread. */
static void thread_finish(void *argument)
{
    fm_sampler_thread *thread = argument;
    fm_sampler_step_in();
    if (thread != fm_sampler_me() || !fm_self.session) {
        fm_sampler_step_out();
        return;
    }
    const uint64_t before = fm_signals_block();
    fm_me = NULL;
    over = true; /* ticks that still come find nothing to do */
    thread->busy = true;
    fm_sampler_now(thread);
    fm_sampler_watches_end(thread);
    fm_sampler_pmu_end(thread);
    /* Also where there is no room for the record. */
    thread->lane->work = thread->work;
    thread->lane->own = thread->own;
    thread->lane->ticks_then = thread->lane->ticks;
    fm_sampler_record(thread, &(fm_sample_record){.kind = FM_SAMPLE_RECORD_END,
                                                  .slab = FM_SAMPLE_NOWHERE,
                                                  .is.end = {thread->work, thread->own, thread->lane->time}});
    __atomic_store_n(&fm_self.session->lane_state[thread->lane_number], FM_SAMPLE_CLOSED, __ATOMIC_RELEASE);
    give_back(thread);
    fm_signals_restore(before);
    fm_sampler_step_out();
}

void fm_sampler_threads_begin(void)
{
    all.has_key = pthread_key_create(&all.key, thread_finish) == 0;
    if (all.has_key && all.key >= FIRST_KEYS) {
        pthread_key_delete(all.key);
        all.has_key = false;
    }
}

void fm_sampler_threads_end(void)
{
    fm_sampler_thread *next;
    for (fm_sampler_thread *thread = all.made; thread; thread = next) {
        next = thread->after;
        for (uint32_t place = 0; place < FM_SAMPLE_WATCHES; place++) fm_sampler_drop(thread, place);
        fm_sampler_pmu_end(thread);
        burst_destroy(thread->burst);
        fm_unmap((char *)thread - STATE_OFFSET, REGION_BYTES);
    }
    all.made = all.idle = NULL;
    if (all.has_key) pthread_key_delete(all.key);
    all.has_key = false;
}

void fm_sampler_threads_forget(void)
{
    fm_me = NULL; /* its memory is a copy of the parent's: it stays, untouched */
    all.idle = all.made = NULL;
    all.lock = 0;
    if (all.has_key) pthread_setspecific(all.key, NULL);
}

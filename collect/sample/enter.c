/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * enter.c - the beginning and the end of sampling in a program that runs already. fathom calls these
 * functions in a thread of the program that it has stopped (src/sample/sampled_attach.c).
 *
 * The library was loaded by dlopen: nothing of the program is linked with it. fathom makes the program call
 * our functions instead of libc's where that is needed (signals.c, limits.c) by changing the slots of its
 * modules, and changes them back. The library itself stays when all is over, and does nothing: the program
 * may be anywhere, and unloading takes locks that it may hold.
 */
#include "collect/sample/sampler.h"

#include <pthread.h>

#define ENTRY __attribute__((visibility("default")))

enum { BEATS_SECONDS = 5 };

ENTRY long fathom_sampler_prepare(fm_sample_session *session);
ENTRY long fathom_sampler_enter(void);
ENTRY long fathom_sampler_timer(void);
ENTRY long fathom_sampler_leave(long forget);
ENTRY long fathom_sampler_unblock(void);
ENTRY long fathom_sampler_reblock(void);
ENTRY long fathom_sampler_session(void);
ENTRY long fathom_sampler_behind(long which);

/* Whether there is a session: 0, or the process that receives it. */
long fathom_sampler_session(void)
{
    return fm_self.session ? (long)fm_self.session->receiver_pid : 0;
}

/* A function of the allocator that ours call (FM_SAMPLE_HEAP_FUNCTIONS); 0: there is none. */
long fathom_sampler_behind(long which)
{
    return (long)fm_sampler_heap_behind((uint32_t)which);
}

/* While the other threads run: what takes locks. 0: ready. */
long fathom_sampler_prepare(fm_sample_session *session)
{
    static bool forks;
    if (fm_self.session) return 1;
    if (session->magic != FM_SAMPLE_MAGIC || session->version != FM_SAMPLE_VERSION) return 2;
    fm_self.joined = true;
    if (!fm_sampler_signals_prepare()) return 3;
    if (!forks) forks = pthread_atfork(NULL, NULL, fm_sampler_forked) == 0;
    fm_sampler_heap_prepare();
    fm_sampler_threads_begin();
    /* The first state of a translator asks libc what the processor can do. */
    void *table = fm_map(FM_SAMPLE_TABLE_BYTES, -1, 0);
    burst *first = table ? burst_create(table, FM_SAMPLE_TABLE_BYTES) : NULL;
    if (first) burst_learn_maps(first);
    burst_destroy(first);
    if (table) fm_unmap(table, FM_SAMPLE_TABLE_BYTES);
    if (!first) {
        fm_sampler_threads_end();
        return 4;
    }
    fm_self.session = session;
    fm_self.epoch++;
    return 0;
}

/* While all threads stand. 0: it is sampled as soon as there is a clock. */
long fathom_sampler_enter(void)
{
    fm_self.stopped = false;
    fm_self.inside = 0;
    if (!fm_sampler_claim_process(0)) return 1;
    if (!fm_sampler_signals_begin()) return 2;
    fm_self.counting = fm_self.session->method == FM_SAMPLE_METHOD_PMU;
    return 0;
}

/* The receiver has no clock for it. */
long fathom_sampler_timer(void)
{
    fm_self.watching = false;
    const bool begun = fm_sampler_timer_begin(fm_self.session->tick);
    if (!begun) fm_sampler_trouble(FM_SAMPLE_TROUBLE_TIMER);
    return begun ? 0 : 1;
}

/* While all threads stand, anywhere: no locks. forget: traps of ours wait to be delivered. 0: nothing is left
 * but the library; 1: somebody is inside. */
long fathom_sampler_leave(long forget)
{
    fm_sample_session *session = fm_self.session;
    if (__atomic_load_n(&fm_self.inside, __ATOMIC_SEQ_CST) != 0 || fm_sampler_heap_is_told()) return 1;
    fm_sampler_timer_end();
    fm_sampler_threads_end();
    fm_sampler_signals_end(forget);
    if (session) fm_unmap(session, fm_sample_file_bytes());
    fm_self = (fm_sampler_self){.joined = true, .epoch = fm_self.epoch + 1};
    fm_sampler_heap_end();
    return 0;
}

/* In each thread that blocks SIGTRAP: it will not really. */
long fathom_sampler_unblock(void)
{
    fm_sampler_trap_blocked(true);
    return 0;
}

/* In each thread: whether it is to block it again. */
long fathom_sampler_reblock(void)
{
    return fm_sampler_trap_blocked(false);
}

void fm_sampler_unheard(void)
{
    static uint64_t heard, since;
    const uint64_t now = fm_sampler_clock(CLOCK_MONOTONIC);
    const uint64_t beat = __atomic_load_n(&fm_self.session->heartbeat, __ATOMIC_RELAXED);
    if (beat != __atomic_load_n(&heard, __ATOMIC_RELAXED) || !since) {
        __atomic_store_n(&heard, beat, __ATOMIC_RELAXED);
        __atomic_store_n(&since, now, __ATOMIC_RELAXED);
        return;
    }
    if (now - __atomic_load_n(&since, __ATOMIC_RELAXED) < BEATS_SECONDS * UINT64_C(1000000000)) return;
    fm_self.stopped = true; /* a clock of the receiver's ended with it; what may run on is a timer of ours */
    fm_sampler_timer_end();
}

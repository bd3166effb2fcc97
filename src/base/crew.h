/* SPDX-License-Identifier: Apache-2.0 */
/* crew.h - threads: one, a crew that looks for work, a ring of what it works on, rounds of tasks; and a
 * clock. */
#ifndef FATHOM_BASE_CREW_H
#define FATHOM_BASE_CREW_H

#include "base/error.h"

#include <pthread.h>
#include <time.h>

/* ======== one thread ======== */

/* Threads of the library: the program's signals are not for them. */

/* As pthread_create, with all signals blocked in the new thread: 0, or what is wrong. */
int fm_thread_start(pthread_t *thread, void *(*work)(void *), void *context);
/*
 * Calls work in this thread, or where that has less than so many bytes of stack left (ulimit -s, a small
 * thread of the caller), in another one that has them, and waits for it. 0, or what is wrong: it was not
 * called.
 */
int fm_thread_with_stack(size_t bytes, void *(*work)(void *), void *context);
/* Processors that this process can use: fewer than the machine has under taskset, in a cpuset, or with a
 * quota of processor time (containers). At least 1, also where the system does not tell. */
unsigned fm_processors_usable(void);

/* ======== a crew ======== */

/*
 * Threads that look for work: a lock, a condition, and a loop around three functions of their user.
 *
 * The user keeps the state of the work and says under the lock what is to be done next (claim) and what
 * follows from a job that was done (complete). The work itself (run) goes on without the lock. The thread
 * that created the crew belongs to it as worker 0 and helps while it waits (fm_crew_help), so that a crew of
 * n has n - 1 threads of its own, and a crew of one has none.
 *
 * A crew knows nothing of what it works on. Jobs should take many microseconds: each costs a lock or two.
 */

typedef struct fm_crew_job {
    unsigned kind; /* the employer's */
    size_t task;
    unsigned worker; /* who asks: set before claim */
} fm_crew_job;

typedef struct fm_crew_work {
    /* With the lock held: false when there is nothing to do now. */
    bool (*claim)(void *context, fm_crew_job *job);
    /* Without the lock; worker is below the size of the crew. */
    void (*run)(void *context, fm_crew_job job, unsigned worker);
    /* With the lock held. Whoever waits in fm_crew_help looks again after it. */
    void (*complete)(void *context, fm_crew_job job);
} fm_crew_work;

typedef struct fm_crew fm_crew;

/* size: workers in all, at least 1. Threads that the system refuses are left out. */
fm_status fm_crew_create(fm_crew **made, unsigned size, const fm_crew_work *work, void *context,
                         fm_error *error);
/* Workers that there are, the creator included. */
unsigned fm_crew_size(const fm_crew *crew);
/* Jobs that were claimed are finished, others never begun. NULL is fine. */
void fm_crew_destroy(fm_crew *crew);

void fm_crew_lock(fm_crew *crew);
void fm_crew_unlock(fm_crew *crew);
/* With the lock held: there may be something to claim now. */
void fm_crew_call(fm_crew *crew);

/* The creating thread works, or waits where there is nothing to claim, until enough() says so (called with
 * the lock held). Called, and returns, without the lock. */
void fm_crew_help(fm_crew *crew, bool (*enough)(void *context));

/* ======== a ring ======== */

/*
 * Pieces of work that are numbered as they come and leave in that order, whoever is done with them first.
 * Piece number i lies in slot i % slots of its owner's array; here are the counters. They only ever grow:
 *
 *     cut >= claimed >= taken >= cut - slots
 *
 * cut: pieces that are known; claimed: those that somebody works on, or has; taken: those that have left,
 * whose slots are free again. Kept under the owner's lock (a crew's); what has one writer, that one may also
 * read without it.
 */

typedef struct fm_ring {
    size_t slots;
    uint64_t cut, claimed, taken;
} fm_ring;

static inline size_t fm_ring_slot(const fm_ring *ring, uint64_t number)
{
    return (size_t)(number % ring->slots);
}

/* Pieces that were cut and have not left. */
static inline size_t fm_ring_under_way(const fm_ring *ring)
{
    FM_ASSERT(ring->taken <= ring->cut && ring->cut - ring->taken <= ring->slots);
    return (size_t)(ring->cut - ring->taken);
}

static inline bool fm_ring_is_full(const fm_ring *ring)
{
    return fm_ring_under_way(ring) == ring->slots;
}

/* So many more pieces, for which there are slots, may be claimed. */
static inline void fm_ring_cut(fm_ring *ring, size_t pieces)
{
    FM_ASSERT(pieces <= ring->slots && fm_ring_under_way(ring) <= ring->slots - pieces);
    ring->cut += pieces;
}

/* The next piece that nobody has claimed, of which there is one: its slot. */
static inline size_t fm_ring_claim(fm_ring *ring)
{
    FM_ASSERT(ring->claimed < ring->cut && ring->taken <= ring->claimed);
    return fm_ring_slot(ring, ring->claimed++);
}

/* The oldest piece, which was claimed, leaves. */
static inline void fm_ring_take(fm_ring *ring)
{
    FM_ASSERT(ring->taken < ring->claimed && ring->claimed <= ring->cut);
    ring->taken++;
}

/* ======== rounds ======== */

/*
 * A crew that does numbered tasks together, round after round.
 *
 *     fm_rounds_run(rounds, copy_piece, &copying, 8);     // copy_piece(&copying, 0 … 7), each once, in any
 * order
 *
 * The caller works along. Tasks are handed out one at a time, so that uneven ones balance themselves.
 */

typedef struct fm_rounds fm_rounds;
typedef void (*fm_round_task)(void *context, size_t number);

/* `workers` counts the caller too: 1 starts no thread. */
fm_status fm_rounds_create(fm_rounds **rounds, unsigned workers, fm_error *error);
/* Those there are: fewer where the system refuses threads. As many tasks as these go on at the same time. */
unsigned fm_rounds_workers(const fm_rounds *rounds);
void fm_rounds_destroy(fm_rounds *rounds); /* NULL is fine */
/* Returns when all tasks are done. By the thread that created it. */
void fm_rounds_run(fm_rounds *rounds, fm_round_task task, void *context, size_t tasks);

/* ======== a clock ======== */

/* Seconds of a clock that only goes on: for durations and deadlines. */

static inline double fm_now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * crew.h - threads that look for work: a lock, a condition, and a loop around three functions of their user.
 *
 * The user keeps the state of the work and says under the lock what is to be done next (claim) and what
 * follows from a job that was done (complete). The work itself (run) goes on without the lock. The thread
 * that created the crew belongs to it as worker 0 and helps while it waits (fm_crew_help), so that a crew of
 * n has n - 1 threads of its own, and a crew of one has none.
 *
 * A crew knows nothing of what it works on. Jobs should take many microseconds: each costs a lock or two.
 */
#ifndef FATHOM_BASE_CREW_H
#define FATHOM_BASE_CREW_H

#include <fathom/status.h>

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

#endif

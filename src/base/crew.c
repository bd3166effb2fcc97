/* SPDX-License-Identifier: Apache-2.0 */
/* crew.c - see crew.h. */
#include "base/crew.h"

#include "base/error.h"
#include "base/memory.h"
#include "base/thread.h"

#include <pthread.h>
#include <stdlib.h>

typedef struct crew_thread {
    fm_crew *crew;
    unsigned worker;
    pthread_t thread;
} crew_thread;

struct fm_crew {
    pthread_mutex_t lock;
    pthread_cond_t work; /* for the crew's threads: there may be something to claim */
    pthread_cond_t news; /* for the creator in fm_crew_help */
    unsigned idle;       /* threads that wait for work */
    bool waits;          /* the creator does */
    const fm_crew_work *employer;
    void *context;
    bool stop;
    unsigned threads; /* that run */
    crew_thread thread[];
};

/* There may be work for one more. Whoever finds some calls the next: were all called at once, most would
 * come for nothing, one after the other through the lock. */
static void call_one(fm_crew *crew)
{
    if (crew->idle > 0)
        pthread_cond_signal(&crew->work);
    else if (crew->waits)
        pthread_cond_signal(&crew->news);
}

/* One job, if there is any. With the lock held, before and after. */
static bool work_once(fm_crew *crew, unsigned worker)
{
    fm_crew_job job = {.worker = worker};
    if (!crew->employer->claim(crew->context, &job)) return false;
    call_one(crew);
    pthread_mutex_unlock(&crew->lock);
    crew->employer->run(crew->context, job, worker);
    pthread_mutex_lock(&crew->lock);
    crew->employer->complete(crew->context, job);
    if (crew->waits) pthread_cond_signal(&crew->news);
    return true;
}

static void *look_for_work(void *argument)
{
    const crew_thread *self = argument;
    fm_crew *crew = self->crew;
    pthread_mutex_lock(&crew->lock);
    while (!crew->stop) {
        if (work_once(crew, self->worker)) continue;
        crew->idle++;
        pthread_cond_wait(&crew->work, &crew->lock);
        crew->idle--;
    }
    pthread_mutex_unlock(&crew->lock);
    return NULL;
}

fm_status fm_crew_create(fm_crew **made, unsigned size, const fm_crew_work *work, void *context,
                         fm_error *error)
{
    *made = NULL;
    const size_t bytes = sizeof(fm_crew) + (size - 1) * sizeof(crew_thread);
    fm_crew *crew = fm_calloc(1, bytes);
    if (!crew) return fm_fail_memory(error, bytes, "the threads");
    pthread_mutex_init(&crew->lock, NULL);
    pthread_cond_init(&crew->work, NULL);
    pthread_cond_init(&crew->news, NULL);
    crew->employer = work;
    crew->context = context;
    while (crew->threads + 1 < size) {
        crew_thread *next = &crew->thread[crew->threads];
        next->crew = crew;
        next->worker = crew->threads + 1;
        if (fm_thread_start(&next->thread, look_for_work, next) != 0) break;
        crew->threads++;
    }
    *made = crew;
    return FM_OK;
}

unsigned fm_crew_size(const fm_crew *crew)
{
    return crew->threads + 1;
}

void fm_crew_destroy(fm_crew *crew)
{
    if (!crew) return;
    pthread_mutex_lock(&crew->lock);
    crew->stop = true;
    pthread_cond_broadcast(&crew->work);
    pthread_mutex_unlock(&crew->lock);
    for (unsigned i = 0; i < crew->threads; i++) pthread_join(crew->thread[i].thread, NULL);
    pthread_cond_destroy(&crew->work);
    pthread_cond_destroy(&crew->news);
    pthread_mutex_destroy(&crew->lock);
    free(crew);
}

void fm_crew_lock(fm_crew *crew)
{
    pthread_mutex_lock(&crew->lock);
}

void fm_crew_unlock(fm_crew *crew)
{
    pthread_mutex_unlock(&crew->lock);
}

void fm_crew_call(fm_crew *crew)
{
    call_one(crew);
    if (crew->waits) pthread_cond_signal(&crew->news);
}

void fm_crew_help(fm_crew *crew, bool (*enough)(void *context))
{
    pthread_mutex_lock(&crew->lock);
    while (!enough(crew->context)) {
        if (work_once(crew, 0)) continue;
        if (enough(crew->context)) break; /* that there is nothing to claim may be what was waited for */
        crew->waits = true;
        pthread_cond_wait(&crew->news, &crew->lock);
        crew->waits = false;
    }
    call_one(crew); /* a call that was meant for this thread */
    pthread_mutex_unlock(&crew->lock);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* crew.c - see crew.h. */
#include "base/crew.h"

#include "base/error.h"
#include "base/memory.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>

typedef struct crew_thread {
    fm_crew *crew;
    unsigned worker;
    pthread_t thread;
} crew_thread;

struct fm_crew {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    const fm_crew_work *work;
    void *context;
    bool stop;
    unsigned threads; /* that run */
    crew_thread thread[];
};

/* One job, if there is any. With the lock held, before and after. */
static bool work_once(fm_crew *crew, unsigned worker)
{
    fm_job job;
    if (!crew->work->claim(crew->context, &job)) return false;
    pthread_mutex_unlock(&crew->lock);
    crew->work->run(crew->context, job, worker);
    pthread_mutex_lock(&crew->lock);
    crew->work->complete(crew->context, job);
    pthread_cond_broadcast(&crew->changed);
    return true;
}

static void *look_for_work(void *argument)
{
    const crew_thread *self = argument;
    fm_crew *crew = self->crew;
    pthread_mutex_lock(&crew->lock);
    while (!crew->stop)
        if (!work_once(crew, self->worker)) pthread_cond_wait(&crew->changed, &crew->lock);
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
    pthread_cond_init(&crew->changed, NULL);
    crew->work = work;
    crew->context = context;
    /* The program's signals are for its own threads. */
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    while (crew->threads + 1 < size) {
        crew_thread *next = &crew->thread[crew->threads];
        next->crew = crew;
        next->worker = crew->threads + 1;
        if (pthread_create(&next->thread, NULL, look_for_work, next) != 0) break;
        crew->threads++;
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    *made = crew;
    return FM_OK;
}

void fm_crew_destroy(fm_crew *crew)
{
    if (!crew) return;
    pthread_mutex_lock(&crew->lock);
    crew->stop = true;
    pthread_cond_broadcast(&crew->changed);
    pthread_mutex_unlock(&crew->lock);
    for (unsigned i = 0; i < crew->threads; i++) pthread_join(crew->thread[i].thread, NULL);
    pthread_cond_destroy(&crew->changed);
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
    pthread_cond_broadcast(&crew->changed);
}

void fm_crew_help(fm_crew *crew, bool (*enough)(void *context))
{
    pthread_mutex_lock(&crew->lock);
    while (!enough(crew->context))
        if (!work_once(crew, 0)) pthread_cond_wait(&crew->changed, &crew->lock);
    pthread_mutex_unlock(&crew->lock);
}

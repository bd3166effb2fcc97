/* SPDX-License-Identifier: Apache-2.0 */
/* rank_threads.c - see rank_threads.h. */
#include "cluster/rank_threads.h"

#include "base/error.h"
#include "base/memory.h"
#include "base/thread.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

typedef struct rank_thread {
    fm_rank_threads *all;
    uint32_t rank;
    pthread_t thread;
} rank_thread;

struct fm_rank_threads {
    pthread_mutex_t lock;
    pthread_cond_t begun, ended;
    fm_rank_job job;
    void *context;
    uint64_t jobs;    /* begun so far */
    uint32_t working; /* threads that are not done with the latest */
    bool stop;
    uint32_t started;
    rank_thread threads[]; /* of the ranks from 1 on */
};

static void *rank_work(void *argument)
{
    const rank_thread *self = argument;
    fm_rank_threads *all = self->all;
    uint64_t done = 0;
    pthread_mutex_lock(&all->lock);
    for (;;) {
        while (!all->stop && all->jobs == done) pthread_cond_wait(&all->begun, &all->lock);
        if (all->stop) break;
        done = all->jobs;
        pthread_mutex_unlock(&all->lock);
        all->job(all->context, self->rank);
        pthread_mutex_lock(&all->lock);
        if (--all->working == 0) pthread_cond_signal(&all->ended);
    }
    pthread_mutex_unlock(&all->lock);
    return NULL;
}

static int ranks_start(fm_rank_threads *all, uint32_t ranks)
{
    int cause = 0;
    while (all->started + 1 < ranks && cause == 0) {
        rank_thread *next = &all->threads[all->started];
        *next = (rank_thread){.all = all, .rank = all->started + 1};
        cause = fm_thread_start(&next->thread, rank_work, next);
        if (cause == 0) all->started++;
    }
    return cause;
}

fm_status fm_rank_threads_create(fm_rank_threads **threads, uint32_t ranks, fm_error *error)
{
    *threads = NULL;
    const size_t bytes = sizeof(fm_rank_threads) + (ranks - 1) * sizeof(rank_thread);
    fm_rank_threads *all = fm_calloc(1, bytes);
    if (!all) return fm_fail_memory(error, bytes, "threads");
    pthread_mutex_init(&all->lock, NULL);
    pthread_cond_init(&all->begun, NULL);
    pthread_cond_init(&all->ended, NULL);
    const int cause = ranks_start(all, ranks);
    if (cause) {
        fm_rank_threads_destroy(all);
        return fm_fail(error, FM_E_NOMEM, NULL, "cannot start a thread: %s", strerror(cause));
    }
    *threads = all;
    return FM_OK;
}

void fm_rank_threads_destroy(fm_rank_threads *threads)
{
    if (!threads) return;
    pthread_mutex_lock(&threads->lock);
    threads->stop = true;
    pthread_cond_broadcast(&threads->begun);
    pthread_mutex_unlock(&threads->lock);
    for (uint32_t i = 0; i < threads->started; i++) pthread_join(threads->threads[i].thread, NULL);
    pthread_cond_destroy(&threads->begun);
    pthread_cond_destroy(&threads->ended);
    pthread_mutex_destroy(&threads->lock);
    free(threads);
}

void fm_rank_threads_run(fm_rank_threads *threads, fm_rank_job job, void *context)
{
    pthread_mutex_lock(&threads->lock);
    threads->job = job;
    threads->context = context;
    threads->working = threads->started;
    threads->jobs++;
    pthread_cond_broadcast(&threads->begun);
    pthread_mutex_unlock(&threads->lock);
    job(context, 0);
    pthread_mutex_lock(&threads->lock);
    while (threads->working > 0) pthread_cond_wait(&threads->ended, &threads->lock);
    pthread_mutex_unlock(&threads->lock);
}

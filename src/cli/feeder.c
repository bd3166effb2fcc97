/* SPDX-License-Identifier: Apache-2.0 */
/*
 * feeder.c - the thread between a collection and its analyzers.
 *
 * A job is a batch, copied, and where it goes. Jobs live in a ring: the caller fills them, the thread feeds
 * them, the caller retires them (late references are counted then: a collection is used by one thread only).
 * So the three counters below only ever grow, in this order: filled >= fed >= retired >= filled - JOBS.
 */
#include "feeder.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { JOBS = 4 };

typedef struct feed_job {
    fm_collected collected; /* its batch points into the arrays below */
    cli_feeding to;
    uint64_t *address;
    uint32_t *size, *tag;
    fm_late *late;
    size_t room, late_count, late_room;
    fm_status status;
    fm_error error;
} feed_job;

struct cli_feeder {
    fm_collection *collection;
    pthread_t thread;
    bool started;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    uint64_t filled, fed, retired; /* under the lock */
    bool ending;
    feed_job *current; /* the thread's: the job being fed */
    feed_job jobs[JOBS];
};

static int out_of_memory(void)
{
    cli_complain("out of memory");
    return CLI_FAILED;
}

/* ---- in the thread ---- */

static fm_status keep_late(void *context, const fm_late *late, size_t count, fm_error *error)
{
    cli_feeder *self = context;
    feed_job *job = self->current;
    if (job->late_count + count > job->late_room) {
        size_t room = (job->late_count + count) * 2;
        fm_late *grown = realloc(job->late, room * sizeof *grown);
        if (!grown) {
            if (error)
                *error =
                    (fm_error){.status = FM_E_NOMEM, .reason = "out of memory: no room for late references"};
            return FM_E_NOMEM;
        }
        job->late = grown;
        job->late_room = room;
    }
    memcpy(job->late + job->late_count, late, count * sizeof *late);
    job->late_count += count;
    return FM_OK;
}

static void *feed_all(void *context)
{
    cli_feeder *self = context;
    pthread_mutex_lock(&self->lock);
    for (;;) {
        while (self->fed == self->filled && !self->ending) pthread_cond_wait(&self->changed, &self->lock);
        if (self->ending) break;
        feed_job *job = self->current = &self->jobs[self->fed % JOBS];
        pthread_mutex_unlock(&self->lock);
        job->status = FM_OK;
        for (size_t i = 0; i < job->to.count && job->status == FM_OK; i++)
            job->status = fm_analyzer_feed(job->to.analyzer[i], &job->collected.batch, &job->error);
        pthread_mutex_lock(&self->lock);
        self->fed++;
        pthread_cond_broadcast(&self->changed);
    }
    pthread_mutex_unlock(&self->lock);
    return NULL;
}

/* ---- in the caller's ---- */

int cli_feeder_create(cli_feeder **feeder, fm_collection *late_to)
{
    cli_feeder *self = *feeder = calloc(1, sizeof *self);
    if (!self) return out_of_memory();
    self->collection = late_to;
    pthread_mutex_init(&self->lock, NULL);
    pthread_cond_init(&self->changed, NULL);
    if (pthread_create(&self->thread, NULL, feed_all, self) != 0) {
        cli_complain("cannot start a thread for the analysis");
        return CLI_FAILED;
    }
    self->started = true;
    return -1;
}

void cli_feeder_tell_late(cli_feeder *feeder, fm_analyzer *analyzer, uint32_t from)
{
    fm_analyzer_set_late_sink(analyzer, from, keep_late, feeder);
}

/* What was fed is done with: its late references are counted, its place is free. */
static int retire(cli_feeder *self, uint64_t fed)
{
    while (self->retired < fed) {
        feed_job *job = &self->jobs[self->retired % JOBS];
        fm_error error;
        if (job->status != FM_OK) return cli_fail(&job->error);
        if (self->collection &&
            fm_collection_count_late(self->collection, &job->collected, job->late, job->late_count, &error))
            return cli_fail(&error);
        job->late_count = 0;
        self->retired++;
    }
    return -1;
}

/* Waits until at most `most` jobs are under way. */
static int wait_for_room(cli_feeder *self, uint64_t most)
{
    pthread_mutex_lock(&self->lock);
    while (self->filled - self->fed > most) pthread_cond_wait(&self->changed, &self->lock);
    uint64_t fed = self->fed;
    pthread_mutex_unlock(&self->lock);
    return retire(self, fed);
}

static bool make_room(feed_job *job, size_t count)
{
    if (count <= job->room) return true;
    free(job->address);
    free(job->size);
    free(job->tag);
    job->address = malloc(count * sizeof *job->address);
    job->size = malloc(count * sizeof *job->size);
    job->tag = malloc(count * sizeof *job->tag);
    job->room = job->address && job->size && job->tag ? count : 0;
    return job->room > 0;
}

int cli_feeder_feed(cli_feeder *feeder, const fm_collected *collected, const cli_feeding *to)
{
    int code = wait_for_room(feeder, JOBS - 1);
    if (code >= 0) return code;
    feed_job *job = &feeder->jobs[feeder->filled % JOBS];
    const fm_batch *batch = &collected->batch;
    if (!make_room(job, batch->count)) return out_of_memory();
    memcpy(job->address, batch->address, batch->count * sizeof *job->address);
    if (batch->size) memcpy(job->size, batch->size, batch->count * sizeof *job->size);
    if (batch->tag) memcpy(job->tag, batch->tag, batch->count * sizeof *job->tag);
    job->collected = *collected;
    job->collected.batch = (fm_batch){.count = batch->count,
                                      .address = job->address,
                                      .size = batch->size ? job->size : NULL,
                                      .tag = batch->tag ? job->tag : NULL};
    job->to = *to;
    pthread_mutex_lock(&feeder->lock);
    feeder->filled++;
    pthread_cond_broadcast(&feeder->changed);
    pthread_mutex_unlock(&feeder->lock);
    return -1;
}

int cli_feeder_drain(cli_feeder *feeder)
{
    return wait_for_room(feeder, 0);
}

void cli_feeder_destroy(cli_feeder *feeder)
{
    if (!feeder) return;
    if (feeder->started) {
        pthread_mutex_lock(&feeder->lock);
        feeder->ending = true;
        pthread_cond_broadcast(&feeder->changed);
        pthread_mutex_unlock(&feeder->lock);
        pthread_join(feeder->thread, NULL);
    }
    for (size_t i = 0; i < JOBS; i++) {
        free(feeder->jobs[i].address);
        free(feeder->jobs[i].size);
        free(feeder->jobs[i].tag);
        free(feeder->jobs[i].late);
    }
    pthread_cond_destroy(&feeder->changed);
    pthread_mutex_destroy(&feeder->lock);
    free(feeder);
}

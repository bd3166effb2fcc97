/* SPDX-License-Identifier: Apache-2.0 */
/*
 * feeder.c - the threads between a collection and its analyzers.
 *
 * A job is a batch, copied or prepared (fathom/analyzer.h), and where it goes. Jobs live in a ring: the
 * caller fills them, workers prepare them, each job whoever comes first, one thread feeds them in order, the
 * caller retires them (late references are counted then: a collection is used by one thread only). So the
 * counters below only ever grow, in this order: filled >= claimed, fed >= retired >= filled - job_count.
 *
 * Without workers there are three threads, the traced program's among them, which often share two cores, and
 * which of them is the slowest depends on the program. So the caller takes work off the one that feeds: it
 * prepares, and where jobs queue up while the program waits, so that a core would be idle, it digests as well
 * (fathom/analyzer.h). Elsewhere it does not: that takes some more time in all. Workers, for which there are
 * cores to spare, digest all they can, so that the one thread that feeds keeps up; it and the caller help
 * them when they would have to wait.
 *
 * Copying is cheaper than it looks: decoding right into memory that another core has just read took longer.
 * Waking a thread takes longer than feeding a quarter of a batch: so none is woken for a single job.
 */
#include "feeder.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

enum {
    JOBS = 8,      /* without workers */
    JOBS_EACH = 4, /* and for each worker */
    JOBS_MOST = 32,
    WORTH_WAKING = JOBS / 2, /* jobs to feed, or free places to fill */
    WORTH_CLAIMING = 2,      /* jobs to prepare */
    BEHIND = JOBS - 1,       /* jobs to feed, so that the thread is the slowest: it is spared some work */
};

#define AWAKE UINT64_MAX

/* Numbers of those who prepare; 0: the caller where there are no workers. */
enum { FEEDING = 1, RECEIVING = 2, FIRST_WORKER = 3 };
_Static_assert(FIRST_WORKER + CLI_MOST_WORKERS <= FM_PREPARERS, "everyone has a number");

typedef struct feed_job {
    fm_collected collected; /* its batch points into the arrays below */
    cli_feeding to;
    fm_prepared prepared; /* instead of the batch's arrays, where `to` says so */
    uint64_t *address;
    uint32_t *size, *tag;
    fm_late *late;
    size_t room, late_count, late_room;
    atomic_bool ready; /* to be fed */
    fm_status status;
    fm_error error;
} feed_job;

typedef struct feed_worker {
    cli_feeder *feeder;
    pthread_t thread;
    unsigned number;
} feed_worker;

struct cli_feeder {
    fm_collection *collection;
    pthread_t thread;
    bool started;
    unsigned worker_count, workers_started;
    feed_worker workers[CLI_MOST_WORKERS];
    size_t job_count;
    atomic_uint_fast64_t filled, claimed, fed;
    atomic_uint_fast64_t ready; /* how many jobs have been, in any order */
    uint64_t retired;           /* the caller's */
    /* For sleeping only: whoever sleeps says so under the lock and then looks at the counters once more. */
    pthread_mutex_t lock;
    pthread_cond_t to_prepare, to_feed, room;
    atomic_uint workers_asleep;
    atomic_bool feeder_sleeps, ending;
    atomic_uint_fast64_t most; /* the caller sleeps until no more jobs than this are under way; or AWAKE */
    feed_job *current;         /* the thread's: the job being fed */
    feed_job jobs[JOBS_MOST];
};

static feed_job *job_at(cli_feeder *self, uint64_t number)
{
    return &self->jobs[number % self->job_count];
}

static int out_of_memory(void)
{
    cli_complain("out of memory");
    return CLI_FAILED;
}

/* ---- preparing, by whoever has the time ---- */

/* The next job that nobody prepares yet. Without workers, the caller has prepared all. */
static feed_job *claim(cli_feeder *self)
{
    if (self->worker_count == 0) return NULL;
    uint64_t next = self->claimed;
    while (next < self->filled)
        if (atomic_compare_exchange_weak(&self->claimed, &next, next + 1)) return job_at(self, next);
    return NULL;
}

/* Afterwards job->to.prepared tells whether it is, or has to be fed as it is. */
static fm_status prepare(feed_job *job, const fm_batch *batch, bool digest, fm_error *error)
{
    fm_analyzer *analyzer = job->to.analyzer[0];
    fm_status status = fm_analyzer_prepare(analyzer, batch, &job->prepared, error);
    if (status == FM_E_LIMIT) {
        job->to.prepared = false;
        return FM_OK;
    }
    if (status == FM_OK && digest && job->to.count == 1 && fm_analyzer_can_digest(analyzer))
        status = fm_analyzer_digest(analyzer, &job->prepared, error);
    return status;
}

/* Prepares the next job, under a number that no other thread has. False: there is none. */
static bool prepare_next(cli_feeder *self, unsigned number)
{
    feed_job *job = claim(self);
    if (!job) return false;
    job->prepared.preparer = number;
    if (job->to.prepared) job->status = prepare(job, &job->collected.batch, true, &job->error);
    job->ready = true;
    self->ready++;
    return true;
}

/* ---- in the thread that feeds ---- */

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

static void wake(cli_feeder *self, pthread_cond_t *who)
{
    pthread_mutex_lock(&self->lock);
    pthread_mutex_unlock(&self->lock); /* now it sleeps, or has seen what there is */
    pthread_cond_signal(who);
}

static bool can_feed(cli_feeder *self)
{
    return self->fed < self->filled && job_at(self, self->fed)->ready;
}

/* Waits for the next job; false at the end. */
static bool wait_for_job(cli_feeder *self)
{
    while (!can_feed(self) && !self->ending && prepare_next(self, FEEDING)) {
    }
    if (!can_feed(self) && !self->ending) {
        pthread_mutex_lock(&self->lock);
        self->feeder_sleeps = true;
        while (!can_feed(self) && !self->ending) pthread_cond_wait(&self->to_feed, &self->lock);
        self->feeder_sleeps = false;
        pthread_mutex_unlock(&self->lock);
    }
    return !self->ending;
}

static void *feed_all(void *context)
{
    cli_feeder *self = context;
    while (wait_for_job(self)) {
        feed_job *job = self->current = job_at(self, self->fed);
        for (size_t i = 0; i < job->to.count && job->status == FM_OK; i++)
            job->status = job->to.prepared
                              ? fm_analyzer_feed_prepared(job->to.analyzer[i], &job->prepared, &job->error)
                              : fm_analyzer_feed(job->to.analyzer[i], &job->collected.batch, &job->error);
        self->fed++;
        const uint64_t most = self->most;
        if (most != AWAKE && self->filled - self->fed <= most) wake(self, &self->room);
    }
    return NULL;
}

/* ---- in workers ---- */

static void *prepare_all(void *context)
{
    feed_worker *worker = context;
    cli_feeder *self = worker->feeder;
    while (!self->ending) {
        if (prepare_next(self, worker->number)) {
            /* Where the caller waits, every job counts. */
            if (self->feeder_sleeps && can_feed(self) &&
                (self->ready - self->fed >= WORTH_WAKING || self->most != AWAKE))
                wake(self, &self->to_feed);
            continue;
        }
        pthread_mutex_lock(&self->lock);
        self->workers_asleep++;
        while (self->claimed == self->filled && !self->ending)
            pthread_cond_wait(&self->to_prepare, &self->lock);
        self->workers_asleep--;
        pthread_mutex_unlock(&self->lock);
    }
    return NULL;
}

/* ---- in the caller's ---- */

int cli_feeder_create(cli_feeder **feeder, fm_collection *late_to, unsigned workers)
{
    cli_feeder *self = *feeder = calloc(1, sizeof *self);
    if (!self) return out_of_memory();
    self->collection = late_to;
    self->worker_count = workers;
    self->job_count = JOBS + (size_t)JOBS_EACH * workers;
    if (self->job_count > JOBS_MOST) self->job_count = JOBS_MOST;
    pthread_mutex_init(&self->lock, NULL);
    pthread_cond_init(&self->to_prepare, NULL);
    pthread_cond_init(&self->to_feed, NULL);
    pthread_cond_init(&self->room, NULL);
    self->most = AWAKE;
    if (pthread_create(&self->thread, NULL, feed_all, self) != 0) {
        cli_complain("cannot start a thread for the analysis");
        return CLI_FAILED;
    }
    self->started = true;
    for (; self->workers_started < workers; self->workers_started++) {
        feed_worker *worker = &self->workers[self->workers_started];
        *worker = (feed_worker){.feeder = self, .number = FIRST_WORKER + self->workers_started};
        /* Fewer will do, and even none: those who help do it all then. */
        if (pthread_create(&worker->thread, NULL, prepare_all, worker) != 0) break;
    }
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
        feed_job *job = job_at(self, self->retired);
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

/* Waits until at most `most` jobs are under way, and helps with them. */
static int wait_for_room(cli_feeder *self, uint64_t most)
{
    while (self->filled - self->fed > most && prepare_next(self, RECEIVING)) {
        if (self->feeder_sleeps && can_feed(self)) wake(self, &self->to_feed);
    }
    if (self->filled - self->fed > most) {
        pthread_mutex_lock(&self->lock);
        self->most = most;
        pthread_cond_broadcast(&self->to_prepare); /* whatever there is is worth waking now */
        pthread_cond_signal(&self->to_feed);
        while (self->filled - self->fed > most) pthread_cond_wait(&self->room, &self->lock);
        self->most = AWAKE;
        pthread_mutex_unlock(&self->lock);
    }
    return retire(self, self->fed);
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

static int copy_batch(feed_job *job, const fm_batch *batch)
{
    if (!make_room(job, batch->count)) return out_of_memory();
    memcpy(job->address, batch->address, batch->count * sizeof *job->address);
    if (batch->size) memcpy(job->size, batch->size, batch->count * sizeof *job->size);
    if (batch->tag) memcpy(job->tag, batch->tag, batch->count * sizeof *job->tag);
    job->collected.batch = (fm_batch){.count = batch->count,
                                      .address = job->address,
                                      .size = batch->size ? job->size : NULL,
                                      .tag = batch->tag ? job->tag : NULL};
    return -1;
}

/* What was prepared is enough, but where late references are counted: by their addresses. */
static int prepare_batch(const cli_feeder *self, feed_job *job, const fm_batch *batch)
{
    fm_error error;
    const bool falls_behind = job->collected.behind && self->filled - self->fed >= BEHIND;
    if (prepare(job, batch, falls_behind, &error)) return cli_fail(&error);
    if (!job->to.prepared) return copy_batch(job, batch);
    job->collected.batch = (fm_batch){.count = batch->count};
    if (!self->collection) return -1;
    if (!make_room(job, batch->count)) return out_of_memory();
    memcpy(job->address, batch->address, batch->count * sizeof *job->address);
    job->collected.batch.address = job->address;
    return -1;
}

/* It was filled: who is asleep, and has enough to do now, is woken. */
static void hand_on(cli_feeder *self, feed_job *job)
{
    if (self->worker_count > 0) {
        job->ready = false;
        self->filled++;
        if (self->workers_asleep > 0 && self->filled - self->claimed >= WORTH_CLAIMING)
            wake(self, &self->to_prepare);
    } else {
        job->ready = true;
        self->filled++;
        if (self->feeder_sleeps && self->filled - self->fed >= WORTH_WAKING) wake(self, &self->to_feed);
    }
}

int cli_feeder_feed(cli_feeder *feeder, const fm_collected *collected, const cli_feeding *to)
{
    const uint64_t fed = feeder->fed;
    int code = feeder->filled - fed == feeder->job_count
                   ? wait_for_room(feeder, feeder->job_count - WORTH_WAKING)
                   : retire(feeder, fed);
    if (code >= 0) return code;
    feed_job *job = job_at(feeder, feeder->filled);
    job->collected = *collected;
    job->to = *to;
    job->status = FM_OK;
    code = to->prepared && feeder->worker_count == 0 ? prepare_batch(feeder, job, &collected->batch)
                                                     : copy_batch(job, &collected->batch);
    if (code < 0) hand_on(feeder, job);
    return code;
}

int cli_feeder_drain(cli_feeder *feeder)
{
    return wait_for_room(feeder, 0);
}

void cli_feeder_destroy(cli_feeder *feeder)
{
    if (!feeder) return;
    pthread_mutex_lock(&feeder->lock);
    feeder->ending = true;
    pthread_cond_broadcast(&feeder->to_prepare);
    pthread_cond_signal(&feeder->to_feed);
    pthread_mutex_unlock(&feeder->lock);
    for (size_t i = 0; i < feeder->workers_started; i++) pthread_join(feeder->workers[i].thread, NULL);
    if (feeder->started) pthread_join(feeder->thread, NULL);
    for (size_t i = 0; i < JOBS_MOST; i++) {
        fm_prepared_free(&feeder->jobs[i].prepared);
        free(feeder->jobs[i].address);
        free(feeder->jobs[i].size);
        free(feeder->jobs[i].tag);
        free(feeder->jobs[i].late);
    }
    pthread_cond_destroy(&feeder->to_prepare);
    pthread_cond_destroy(&feeder->to_feed);
    pthread_cond_destroy(&feeder->room);
    pthread_mutex_destroy(&feeder->lock);
    free(feeder);
}

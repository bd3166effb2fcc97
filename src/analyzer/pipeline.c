/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pipeline.c - see fathom/experimental/pipeline.h: the threads between a source of batches and its analyzers.
 *
 * A job is a batch, copied or prepared (analyzer_state.h), and where it goes. Jobs live in a ring: the
 * caller fills them, workers prepare them, each job whoever comes first, one thread feeds them in order, the
 * caller retires them (late references are reported then: in the caller's thread). So the
 * counters below only ever grow, in this order: filled >= claimed, fed >= retired >= filled - job_count. (No
 * fm_ring: without workers nobody claims, and there are four counters.)
 *
 * Without workers there are three threads, the traced program's among them, which often share two cores, and
 * which of them is the slowest depends on the program. So work goes where there is time for it: few jobs
 * under way are copied, and the one that feeds prepares them; more of them the caller prepares; and where
 * jobs queue up, it digests as well (analyzer_state.h), before it would have to wait for room and a core be
 * idle: so the queue stays where it is, and neither of them sleeps. And there are many jobs, so that threads
 * sleep and are woken rarely: a scheduler that has three threads for two cores leaves one idle for a while
 * each time. Workers, for which there are cores to spare, digest all they can, so that the one thread that
 * feeds keeps up; it and the caller help them when they would have to wait.
 *
 * Where there is one core for all of them, threads only take its cache and its time from each other: then the
 * caller feeds, batch by batch (in_caller).
 *
 * Copying is cheaper than it looks: decoding right into memory that another core has just read took longer.
 * Waking a thread takes longer than feeding a quarter of a batch: so none is woken for a single job.
 */
#include <fathom/experimental/pipeline.h>

#include "analyzer/analyzer_state.h"
#include "base/crew.h"
#include "base/error.h"
#include "base/memory.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

enum {
    JOBS_MOST = 32,           /* without workers: all of them */
    JOBS = 8,                 /* with workers, */
    JOBS_EACH = 4,            /* and for each of them */
    WORTH_WAKING = JOBS / 2,  /* with workers: jobs to feed, or free places to fill */
    WORTH_CLAIMING = 2,       /* jobs to prepare */
    FEW = JOBS_MOST * 3 / 8,  /* jobs under way: the thread that feeds has time to prepare the next, */
    MANY = JOBS_MOST * 3 / 4, /* it falls behind */
    MOST_WORKERS = FM_PIPELINE_THREADS - 1,
    MOST_LABEL = 64,
};

#define AWAKE UINT64_MAX

/* Numbers of those who prepare; 0: the caller where there are no workers. */
enum { FEEDING = 1, RECEIVING = 2, FIRST_WORKER = 3 };
_Static_assert(FIRST_WORKER + MOST_WORKERS <= FM_PREPARERS, "everyone has a number");

typedef struct feed_job {
    fm_batch batch; /* points into the arrays below */
    fm_analyzer *analyzer[FM_PIPELINE_ANALYZERS];
    size_t analyzer_count;
    bool takes_prepared[FM_PIPELINE_ANALYZERS]; /* what the first one prepares; the others, the batch */
    size_t takers;                              /* so many do; 0: nothing is prepared */
    bool unprepared;                            /* it is left to the thread that feeds */
    _Alignas(16) char label[MOST_LABEL];
    fm_prepared prepared; /* where all take it, instead of the batch's arrays */
    uint64_t *address;
    uint32_t *size, *tag;
    fm_late *late;
    size_t room, late_count, late_room;
    atomic_bool ready; /* to be fed */
    fm_status status;
    fm_error error;
} feed_job;

typedef struct feed_worker {
    fm_pipeline *pipeline;
    pthread_t thread;
    unsigned number;
} feed_worker;

struct fm_pipeline {
    fm_pipeline_options options;
    pthread_t thread;
    bool started;
    unsigned worker_count, workers_started;
    feed_worker workers[MOST_WORKERS];
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

static feed_job *job_at(fm_pipeline *self, uint64_t number)
{
    return &self->jobs[number % self->job_count];
}

static fm_status out_of_memory(fm_error *error)
{
    return fm_fail(error, FM_E_NOMEM, NULL, "out of memory: no room for a batch of references");
}

/* So many jobs to feed, or free places to fill, are worth waking a thread for. */
static uint64_t worth_waking(const fm_pipeline *self)
{
    return self->worker_count > 0 ? WORTH_WAKING : self->job_count / 2;
}

/* ---- preparing, by whoever has the time ---- */

/* The next job that nobody prepares yet. Without workers, the caller has prepared all. */
static feed_job *job_claim(fm_pipeline *self)
{
    if (self->worker_count == 0) return NULL;
    uint64_t next = self->claimed;
    while (next < self->filled)
        if (atomic_compare_exchange_weak(&self->claimed, &next, next + 1)) return job_at(self, next);
    return NULL;
}

/* Afterwards job->takers tells whether it is, or has to be fed as it is. */
static fm_status job_prepare(feed_job *job, const fm_batch *batch, bool digest, fm_error *error)
{
    fm_analyzer *analyzer = job->analyzer[0];
    fm_status status = fm_analyzer_prepare(analyzer, batch, &job->prepared, error);
    if (status == FM_E_LIMIT) {
        job->takers = 0;
        return FM_OK;
    }
    if (status == FM_OK && digest && job->takers == 1 && fm_analyzer_can_digest(analyzer))
        status = fm_analyzer_digest(analyzer, &job->prepared, error);
    return status;
}

/* Prepares the next job, under a number that no other thread has. False: there is none. */
static bool prepare_next(fm_pipeline *self, unsigned number)
{
    feed_job *job = job_claim(self);
    if (!job) return false;
    job->prepared.preparer = number;
    if (job->takers > 0) job->status = job_prepare(job, &job->batch, true, &job->error);
    job->ready = true;
    self->ready++;
    return true;
}

/* ---- in the thread that feeds ---- */

static fm_status keep_late(void *context, const fm_late *late, size_t count, fm_error *error)
{
    fm_pipeline *self = context;
    feed_job *job = self->current;
    if (fm_array_reserve((void **)&job->late, &job->late_room, job->late_count + count, sizeof *job->late) !=
        0)
        return fm_fail(error, FM_E_NOMEM, NULL, "out of memory: no room for late references");
    memcpy(job->late + job->late_count, late, count * sizeof *late);
    job->late_count += count;
    return FM_OK;
}

static void wake_threads(fm_pipeline *self, pthread_cond_t *who)
{
    pthread_mutex_lock(&self->lock);
    pthread_mutex_unlock(&self->lock); /* now it sleeps, or has seen what there is */
    pthread_cond_signal(who);
}

static bool can_feed(fm_pipeline *self)
{
    return self->fed < self->filled && job_at(self, self->fed)->ready;
}

/* Waits for the next job; false at the end. */
static bool wait_for_job(fm_pipeline *self)
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

static void feed_analyzers(feed_job *job, const fm_batch *batch)
{
    for (size_t i = 0; i < job->analyzer_count && job->status == FM_OK; i++)
        job->status = job->takers > 0 && job->takes_prepared[i]
                          ? fm_analyzer_feed_prepared(job->analyzer[i], &job->prepared, &job->error)
                          : fm_analyzer_feed(job->analyzer[i], batch, &job->error);
}

static void *feed_all(void *context)
{
    fm_pipeline *self = context;
    while (wait_for_job(self)) {
        feed_job *job = self->current = job_at(self, self->fed);
        if (job->unprepared) {
            job->prepared.preparer = FEEDING;
            job->status = job_prepare(job, &job->batch, false, &job->error);
        }
        feed_analyzers(job, &job->batch);
        self->fed++;
        FM_ASSERT(self->fed <= self->filled);
        const uint64_t most = self->most;
        if (most != AWAKE && self->filled - self->fed <= most) wake_threads(self, &self->room);
    }
    return NULL;
}

/* ---- in workers ---- */

static void *prepare_all(void *context)
{
    feed_worker *worker = context;
    fm_pipeline *self = worker->pipeline;
    while (!self->ending) {
        if (prepare_next(self, worker->number)) {
            /* Where the caller waits, every job counts. */
            if (self->feeder_sleeps && can_feed(self) &&
                (self->ready - self->fed >= WORTH_WAKING || self->most != AWAKE))
                wake_threads(self, &self->to_feed);
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

fm_status fm_pipeline_create_sized(size_t given_size, fm_pipeline **pipeline,
                                   const fm_pipeline_options *given, fm_error *error)
{
    fm_pipeline_options known;
    const fm_pipeline_options *options = &known;
    *pipeline = NULL;
    fm_status taken = fm_sized_read(&known, sizeof known, given, given_size, "fm_pipeline_options", error);
    if (taken == FM_OK)
        taken = fm_check_choice((long long)options->in_caller, 1, "fm_pipeline_options.in_caller", error);
    if (taken != FM_OK) return taken;
    const size_t workers = options->threads > 1 && !options->in_caller ? options->threads - 1 : 0;
    if (workers > MOST_WORKERS || options->label_size > MOST_LABEL)
        return fm_fail(error, FM_E_ARGUMENT, NULL, "at most %d threads, and labels of %d bytes",
                       FM_PIPELINE_THREADS, MOST_LABEL);
    fm_pipeline *self = fm_calloc(1, sizeof *self);
    if (!self) return fm_fail_memory(error, sizeof *self, "the pipeline");
    self->options = *options;
    self->worker_count = (unsigned)workers;
    self->job_count = workers > 0 ? JOBS + JOBS_EACH * workers : JOBS_MOST;
    if (self->job_count > JOBS_MOST) self->job_count = JOBS_MOST;
    pthread_mutex_init(&self->lock, NULL);
    pthread_cond_init(&self->to_prepare, NULL);
    pthread_cond_init(&self->to_feed, NULL);
    pthread_cond_init(&self->room, NULL);
    self->most = AWAKE;
    if (options->in_caller) {
        *pipeline = self;
        return FM_OK;
    }
    self->started = fm_thread_start(&self->thread, feed_all, self) == 0;
    if (!self->started) {
        fm_pipeline_destroy(self);
        return fm_fail(error, FM_E_NOMEM, NULL, "cannot start a thread for the analysis");
    }
    for (; self->workers_started < workers; self->workers_started++) {
        feed_worker *worker = &self->workers[self->workers_started];
        *worker = (feed_worker){.pipeline = self, .number = FIRST_WORKER + self->workers_started};
        /* Fewer will do, and even none: those who help do it all then. */
        if (fm_thread_start(&worker->thread, prepare_all, worker) != 0) break;
    }
    *pipeline = self;
    return FM_OK;
}

fm_status fm_pipeline_report_late(fm_pipeline *pipeline, fm_analyzer *analyzer, uint32_t from,
                                  fm_error *error)
{
    FM_REQUIRE(pipeline, error);
    FM_REQUIRE(analyzer, error);
    return fm_analyzer_set_late_sink(analyzer, from, keep_late, pipeline, error);
}

static fm_status job_failure(const feed_job *job, fm_error *error)
{
    if (job->status != FM_OK && error) *error = job->error;
    return job->status;
}

/* What was fed is done with: its late references are reported, its place is free. */
static fm_status job_retire(fm_pipeline *self, uint64_t fed, fm_error *error)
{
    while (self->retired < fed) {
        feed_job *job = job_at(self, self->retired);
        if (job->status != FM_OK) return job_failure(job, error);
        if (self->options.late) {
            fm_status status = self->options.late(self->options.context, job->label, job->batch.address,
                                                  job->late, job->late_count, error);
            if (status != FM_OK) return status;
        }
        job->late_count = 0;
        self->retired++;
        FM_ASSERT(self->retired <= self->fed && self->filled - self->retired <= self->job_count);
    }
    return FM_OK;
}

/* Waits until at most `most` jobs are under way, and helps with them. */
static fm_status wait_for_room(fm_pipeline *self, uint64_t most, fm_error *error)
{
    while (self->filled - self->fed > most && prepare_next(self, RECEIVING)) {
        if (self->feeder_sleeps && can_feed(self)) wake_threads(self, &self->to_feed);
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
    return job_retire(self, self->fed, error);
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

/* In the caller's thread: nothing is copied, and what one batch took of memory and cache the next one has. */
static fm_status feed_here(fm_pipeline *self, feed_job *job, const fm_batch *batch, fm_error *error)
{
    job->prepared.preparer = 0;
    if (job->takers > 0) job->status = job_prepare(job, batch, false, &job->error);
    self->current = job;
    feed_analyzers(job, batch);
    if (job->status == FM_OK && self->options.late)
        job->status = self->options.late(self->options.context, job->label, batch->address, job->late,
                                         job->late_count, &job->error);
    job->late_count = 0;
    return job_failure(job, error);
}

static fm_status copy_batch(feed_job *job, const fm_batch *batch, fm_error *error)
{
    if (!make_room(job, batch->count)) return out_of_memory(error);
    if (batch->count > 0) { /* an empty one may come before there is any room */
        memcpy(job->address, batch->address, batch->count * sizeof *job->address);
        if (batch->size) memcpy(job->size, batch->size, batch->count * sizeof *job->size);
        if (batch->tag) memcpy(job->tag, batch->tag, batch->count * sizeof *job->tag);
    }
    job->batch = (fm_batch){.count = batch->count,
                            .address = job->address,
                            .size = batch->size ? job->size : NULL,
                            .tag = batch->tag ? job->tag : NULL};
    return FM_OK;
}

/* What was prepared is enough, but where late references are reported: with their addresses. */
static fm_status prepare_batch(const fm_pipeline *self, feed_job *job, const fm_batch *batch, fm_error *error)
{
    /* The other thread is the slowest, and is spared some work. */
    const bool falls_behind = self->filled - self->fed >= MANY;
    job->prepared.preparer = 0;
    fm_status status = job_prepare(job, batch, falls_behind, error);
    if (status != FM_OK) return status;
    if (job->takers == 0) return copy_batch(job, batch, error);
    job->batch = (fm_batch){.count = batch->count};
    if (!self->options.late) return FM_OK;
    if (!make_room(job, batch->count)) return out_of_memory(error);
    memcpy(job->address, batch->address, batch->count * sizeof *job->address);
    job->batch.address = job->address;
    return FM_OK;
}

/* It was filled: who is asleep, and has enough to do now, is woken. */
static void hand_on(fm_pipeline *self, feed_job *job)
{
    if (self->worker_count > 0) {
        job->ready = false;
        self->filled++;
        if (self->workers_asleep > 0 && self->filled - self->claimed >= WORTH_CLAIMING)
            wake_threads(self, &self->to_prepare);
    } else {
        job->ready = true;
        self->filled++;
        if (self->feeder_sleeps && self->filled - self->fed >= worth_waking(self))
            wake_threads(self, &self->to_feed);
    }
}

/* Which of them can take what the first one prepares? Its pairs are counted for itself alone. */
static void find_takers(feed_job *job)
{
    const fm_analyzer *first = job->analyzer[0];
    job->takers = 0;
    for (size_t i = 0; i < job->analyzer_count; i++) {
        const fm_analyzer *at = job->analyzer[i];
        job->takes_prepared[i] = fm_analyzer_can_prepare(first) && fm_analyzer_can_prepare(at) &&
                                 at->granularity == first->granularity && (i == 0 || !at->attributing);
        job->takers += job->takes_prepared[i];
    }
}

fm_status fm_pipeline_feed(fm_pipeline *pipeline, const fm_batch *batch, fm_analyzer *const *analyzers,
                           size_t count, const void *label, fm_error *error)
{
    FM_REQUIRE(pipeline, error);
    if (count == 0 || count > FM_PIPELINE_ANALYZERS)
        return fm_fail(error, FM_E_ARGUMENT, NULL, "a batch goes to 1 to %d analyzers, not to %zu",
                       FM_PIPELINE_ANALYZERS, count);
    const bool here = pipeline->options.in_caller;
    if (here && pipeline->jobs[0].status != FM_OK) return job_failure(&pipeline->jobs[0], error);
    const uint64_t fed = pipeline->fed;
    const bool full = pipeline->filled - fed == pipeline->job_count;
    fm_status status = full ? wait_for_room(pipeline, pipeline->job_count - worth_waking(pipeline), error)
                            : job_retire(pipeline, fed, error);
    if (status != FM_OK) return status;
    feed_job *job = job_at(pipeline, pipeline->filled);
    memcpy(job->analyzer, analyzers, count * sizeof(fm_analyzer *));
    job->analyzer_count = count;
    if (label) memcpy(job->label, label, pipeline->options.label_size);
    find_takers(job);
    job->status = FM_OK;
    if (here) return feed_here(pipeline, job, batch, error);
    /* Without workers, the caller prepares where that spares it a copy. */
    const bool alone = pipeline->worker_count == 0;
    if (alone && job->takers < count) job->takers = 0;
    job->unprepared = alone && job->takers > 0 && pipeline->filled - pipeline->fed < FEW;
    status = alone && job->takers > 0 && !job->unprepared ? prepare_batch(pipeline, job, batch, error)
                                                          : copy_batch(job, batch, error);
    if (status == FM_OK) hand_on(pipeline, job);
    return status;
}

fm_status fm_pipeline_drain(fm_pipeline *pipeline, fm_error *error)
{
    FM_REQUIRE(pipeline, error);
    if (pipeline->options.in_caller) return job_failure(&pipeline->jobs[0], error);
    return wait_for_room(pipeline, 0, error);
}

void fm_pipeline_destroy(fm_pipeline *pipeline)
{
    if (!pipeline) return;
    pthread_mutex_lock(&pipeline->lock);
    pipeline->ending = true;
    pthread_cond_broadcast(&pipeline->to_prepare);
    pthread_cond_signal(&pipeline->to_feed);
    pthread_mutex_unlock(&pipeline->lock);
    for (size_t i = 0; i < pipeline->workers_started; i++) pthread_join(pipeline->workers[i].thread, NULL);
    if (pipeline->started) pthread_join(pipeline->thread, NULL);
    for (size_t i = 0; i < JOBS_MOST; i++) {
        fm_prepared_free(&pipeline->jobs[i].prepared);
        free(pipeline->jobs[i].address);
        free(pipeline->jobs[i].size);
        free(pipeline->jobs[i].tag);
        free(pipeline->jobs[i].late);
    }
    pthread_cond_destroy(&pipeline->to_prepare);
    pthread_cond_destroy(&pipeline->to_feed);
    pthread_cond_destroy(&pipeline->room);
    pthread_mutex_destroy(&pipeline->lock);
    free(pipeline);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * native_encoder.c - see native_encoder.h.
 *
 * A ring (base/crew.h) of jobs, each with room for a block's columns and for its packed bytes: the caller
 * cuts them, threads claim them, the caller takes them. The one to be cut next is the caller's to fill: one
 * slot is never under way for longer than it takes to hand on the oldest. Everything that packing needs is
 * allocated before the threads start: a thread cannot fail. They start with the first block that is full:
 * many traces (of a program's small children) never have one.
 */
#include "trace/native/native_blocks.h"

#include "base/crew.h"
#include "base/error.h"
#include "base/memory.h"
#include "trace/format.h"
#include "trace/native/native_planes.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

typedef struct job {
    fm_columns columns;
    uint64_t first_reference;
    uint8_t *packed;
    size_t bytes;
    bool done; /* packed holds the block */
} job;

typedef struct worker {
    fm_native_encoder *encoder;
    fm_native_packer *packer;
    pthread_t thread;
    bool running;
} worker;

struct fm_native_encoder {
    unsigned columns;
    int level;
    fm_native_block_write write;
    void *context;
    uint64_t references; /* submitted */
    size_t worker_count;
    worker *workers; /* the first one's packer is the caller's while there are no threads */
    job *jobs;
    bool threaded; /* the threads have started */
    /* What follows belongs to who holds the lock, and so does every job's `done`. */
    pthread_mutex_t lock;
    pthread_cond_t work;   /* a job was submitted, or it is time to stop */
    pthread_cond_t packed; /* a job was packed */
    fm_ring ring;
    bool stop;
};

static void encoder_pack(const fm_native_encoder *encoder, fm_native_packer *packer, job *next)
{
    next->bytes =
        fm_native_pack(packer, &next->columns, encoder->columns, next->first_reference, next->packed);
}

static void *encoder_work(void *argument)
{
    worker *self = argument;
    fm_native_encoder *encoder = self->encoder;
    pthread_mutex_lock(&encoder->lock);
    for (;;) {
        while (!encoder->stop && encoder->ring.claimed == encoder->ring.cut)
            pthread_cond_wait(&encoder->work, &encoder->lock);
        if (encoder->stop) break;
        job *next = &encoder->jobs[fm_ring_claim(&encoder->ring)];
        pthread_mutex_unlock(&encoder->lock);
        encoder_pack(encoder, self->packer, next);
        pthread_mutex_lock(&encoder->lock);
        next->done = true;
        pthread_cond_signal(&encoder->packed);
    }
    pthread_mutex_unlock(&encoder->lock);
    return NULL;
}

static fm_status allocate_worker(fm_native_encoder *encoder, size_t i, fm_error *error)
{
    encoder->workers[i].encoder = encoder;
    encoder->workers[i].packer = fm_native_packer_create(encoder->level);
    return encoder->workers[i].packer
               ? FM_OK
               : fm_fail_memory(error, fm_native_packed_most(encoder->columns), "a trace writer");
}

static fm_status allocate_job(fm_native_encoder *encoder, size_t i, fm_error *error)
{
    size_t room = fm_native_packed_most(encoder->columns);
    if (!encoder->jobs) return fm_fail_memory(error, room, "a trace writer");
    fm_status status = fm_columns_allocate(&encoder->jobs[i].columns, encoder->columns, error);
    if (status != FM_OK) return status;
    encoder->jobs[i].packed = malloc(room);
    return encoder->jobs[i].packed ? FM_OK : fm_fail_memory(error, room, "a trace writer");
}

static fm_status start_threads(fm_native_encoder *encoder, fm_error *error)
{
    fm_status status = FM_OK;
    for (size_t i = 1; i < encoder->worker_count && status == FM_OK; i++)
        status = allocate_worker(encoder, i, error);
    for (size_t i = 1; i < encoder->ring.slots && status == FM_OK; i++)
        status = allocate_job(encoder, i, error);
    if (status != FM_OK) return status;
    int cause = 0;
    for (size_t i = 0; i < encoder->worker_count && cause == 0; i++) {
        cause = fm_thread_start(&encoder->workers[i].thread, encoder_work, &encoder->workers[i]);
        encoder->workers[i].running = cause == 0;
    }
    encoder->threaded = cause == 0;
    return cause ? fm_fail(error, FM_E_NOMEM, NULL, "cannot start a thread: %s", strerror(cause)) : FM_OK;
}

fm_status fm_native_encoder_create(fm_native_encoder **encoder_out, unsigned columns, int level,
                                   unsigned threads, fm_native_block_write write, void *context,
                                   fm_error *error)
{
    *encoder_out = NULL;
    fm_native_encoder *encoder = fm_calloc(1, sizeof *encoder);
    if (!encoder) return fm_fail_memory(error, sizeof *encoder, "a trace writer");
    if (threads > FM_NATIVE_THREADS_MOST) threads = FM_NATIVE_THREADS_MOST;
    encoder->columns = columns;
    encoder->level = level;
    encoder->write = write;
    encoder->context = context;
    encoder->worker_count = threads > 1 ? threads : 1;
    /* One is filled while each thread has one at work and one that waits. */
    encoder->ring.slots = threads > 1 ? 2 * (size_t)threads + 1 : 1;
    pthread_mutex_init(&encoder->lock, NULL);
    pthread_cond_init(&encoder->work, NULL);
    pthread_cond_init(&encoder->packed, NULL);
    encoder->workers = fm_calloc(encoder->worker_count, sizeof *encoder->workers);
    encoder->jobs = fm_calloc(encoder->ring.slots, sizeof *encoder->jobs);
    fm_status status = encoder->workers && encoder->jobs
                           ? allocate_worker(encoder, 0, error)
                           : fm_fail_memory(error, encoder->ring.slots * sizeof(job), "a trace writer");
    if (status == FM_OK) status = allocate_job(encoder, 0, error);
    if (status != FM_OK) {
        fm_native_encoder_destroy(encoder);
        return status;
    }
    *encoder_out = encoder;
    return FM_OK;
}

void fm_native_encoder_destroy(fm_native_encoder *encoder)
{
    if (!encoder) return;
    pthread_mutex_lock(&encoder->lock);
    encoder->stop = true;
    pthread_cond_broadcast(&encoder->work);
    pthread_mutex_unlock(&encoder->lock);
    for (size_t i = 0; encoder->workers && i < encoder->worker_count; i++) {
        if (encoder->workers[i].running) pthread_join(encoder->workers[i].thread, NULL);
        fm_native_packer_destroy(encoder->workers[i].packer);
    }
    for (size_t i = 0; encoder->jobs && i < encoder->ring.slots; i++) {
        fm_columns_free(&encoder->jobs[i].columns);
        free(encoder->jobs[i].packed);
    }
    pthread_cond_destroy(&encoder->packed);
    pthread_cond_destroy(&encoder->work);
    pthread_mutex_destroy(&encoder->lock);
    free(encoder->workers);
    free(encoder->jobs);
    free(encoder);
}

fm_columns *fm_native_encoder_room(fm_native_encoder *encoder)
{
    /* The caller's own counter: nobody else changes it. */
    return &encoder->jobs[fm_ring_slot(&encoder->ring, encoder->ring.cut)].columns;
}

/* Gives a packed job to who takes it and makes it free. */
static fm_status hand_on(fm_native_encoder *encoder, job *oldest, fm_error *error)
{
    size_t references = oldest->columns.count;
    oldest->columns.count = 0;
    oldest->done = false;
    return encoder->write(encoder->context, oldest->packed, oldest->bytes, references, error);
}

/* Hands on what is packed, in order, and waits until no more than `most` are under way. */
static fm_status encoder_drain(fm_native_encoder *encoder, uint64_t most, fm_error *error)
{
    fm_status status = FM_OK;
    pthread_mutex_lock(&encoder->lock);
    while (status == FM_OK && fm_ring_under_way(&encoder->ring) > 0) {
        job *oldest = &encoder->jobs[fm_ring_slot(&encoder->ring, encoder->ring.taken)];
        if (!oldest->done && fm_ring_under_way(&encoder->ring) <= most) break;
        while (!oldest->done) pthread_cond_wait(&encoder->packed, &encoder->lock);
        pthread_mutex_unlock(&encoder->lock);
        status = hand_on(encoder, oldest, error);
        pthread_mutex_lock(&encoder->lock);
        fm_ring_take(&encoder->ring);
    }
    pthread_mutex_unlock(&encoder->lock);
    return status;
}

fm_status fm_native_encoder_submit(fm_native_encoder *encoder, fm_error *error)
{
    job *next = &encoder->jobs[fm_ring_slot(&encoder->ring, encoder->ring.cut)];
    if (next->columns.count == 0) return FM_OK;
    next->first_reference = encoder->references;
    encoder->references += next->columns.count;
    if (!encoder->threaded && encoder->worker_count > 1 && next->columns.count == FM_NATIVE_BLOCK_MAX) {
        fm_status status = start_threads(encoder, error);
        if (status != FM_OK) return status;
    }
    if (!encoder->threaded) {
        encoder_pack(encoder, encoder->workers[0].packer, next);
        return hand_on(encoder, next, error);
    }
    pthread_mutex_lock(&encoder->lock);
    fm_ring_cut(&encoder->ring, 1);
    pthread_cond_signal(&encoder->work);
    pthread_mutex_unlock(&encoder->lock);
    return encoder_drain(encoder, encoder->ring.slots - 1, error);
}

fm_status fm_native_encoder_drain(fm_native_encoder *encoder, fm_error *error)
{
    return encoder->threaded ? encoder_drain(encoder, 0, error) : FM_OK;
}

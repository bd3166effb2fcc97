/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gpu_batches.c - a card's batches: references are copied into pieces by a few threads, travel to the card
 * while the batch before is counted there, and a thread waits for the card. See gpu_module.h for the other
 * side.
 */
#include "engine/gpu/gpu_state.h"

#include "base/error.h"
#include "base/memory.h"
#include "base/thread.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* One thread copies at 4 to 10 GB/s, the card reads at 50 and more. */
enum { MOST_COPIERS = 12 };

/* ---- the thread that counts ---- */

static void *count_all(void *context)
{
    fm_gpu_batches *self = context;
    pthread_mutex_lock(&self->lock);
    for (;;) {
        while (!self->running && !self->ending) pthread_cond_wait(&self->changed, &self->lock);
        if (self->ending) break;
        pthread_mutex_unlock(&self->lock);
        self->status = self->module->count(self->card, &self->batch, &self->error);
        pthread_mutex_lock(&self->lock);
        self->running = false;
        pthread_cond_broadcast(&self->changed);
    }
    pthread_mutex_unlock(&self->lock);
    return NULL;
}

static void wait_until_idle(fm_gpu_batches *self)
{
    pthread_mutex_lock(&self->lock);
    while (self->running) pthread_cond_wait(&self->changed, &self->lock);
    pthread_mutex_unlock(&self->lock);
}

/* ---- open and close ---- */

static fm_status make_each(fm_gpu_each *each, const fm_gpu_setup *setup, fm_error *error)
{
    if (!setup->each) return FM_OK;
    const size_t bytes = setup->batch * sizeof(uint64_t);
    each->room = setup->batch;
    each->distances = fm_pages_allocate(bytes);
    each->new_blocks = fm_pages_allocate(bytes);
    if (setup->times) each->times = fm_pages_allocate(bytes);
    if (each->distances && each->new_blocks && (each->times || !setup->times)) return FM_OK;
    return fm_fail_memory(error, bytes, "single distances of a batch");
}

static void free_each(fm_gpu_each *each)
{
    const size_t bytes = each->room * sizeof(uint64_t);
    fm_pages_free(each->distances, bytes);
    fm_pages_free(each->new_blocks, bytes);
    fm_pages_free(each->times, bytes);
}

uint64_t fm_gpu_batches_memory(const fm_gpu_setup *setup)
{
    return setup->each ? setup->batch * (setup->times ? 3 : 2) * sizeof(uint64_t) : 0;
}

fm_status fm_gpu_batches_open(fm_gpu_batches *self, const fm_gpu_module *module, fm_gpu_pieces *pieces,
                              const fm_gpu_setup *setup, fm_error *error)
{
    memset(self, 0, sizeof *self);
    self->module = module;
    self->pieces = pieces;
    self->setup = *setup;
    pthread_mutex_init(&self->lock, NULL);
    pthread_cond_init(&self->changed, NULL);
    const unsigned cores = fm_processors_usable();
    fm_status status = make_each(&self->each, setup, error);
    if (status == FM_OK) status = module->open(&self->card, setup, error);
    if (status == FM_OK)
        status = fm_rounds_create(&self->copiers, cores < MOST_COPIERS ? cores : MOST_COPIERS, error);
    if (status == FM_OK && fm_thread_start(&self->thread, count_all, self) != 0)
        status = fm_fail(error, FM_E_NOMEM, NULL, "out of memory: the system starts no more threads");
    self->thread_started = status == FM_OK;
    if (status != FM_OK) fm_gpu_batches_close(self);
    return status;
}

void fm_gpu_batches_close(fm_gpu_batches *self)
{
    if (!self->module) return;
    if (self->thread_started) {
        wait_until_idle(self);
        pthread_mutex_lock(&self->lock);
        self->ending = true;
        pthread_cond_broadcast(&self->changed);
        pthread_mutex_unlock(&self->lock);
        pthread_join(self->thread, NULL);
    }
    fm_rounds_destroy(self->copiers);
    fm_gpu_pieces_forget(self->pieces, self->card);
    self->module->close(self->card);
    free_each(&self->each);
    pthread_cond_destroy(&self->changed);
    pthread_mutex_destroy(&self->lock);
    memset(self, 0, sizeof *self);
}

/* ---- filling ---- */

/* The index of the first of `count` pieces in a row, which are the caller's then. */
static unsigned take_pieces(fm_gpu_pieces *pieces, unsigned count)
{
    const unsigned first = pieces->next;
    pieces->next = (first + count) % fm_gpu_pieces_own(pieces);
    return first;
}

fm_status fm_gpu_batches_send(fm_gpu_batches *self, fm_error *error)
{
    const size_t count = self->in_piece;
    self->in_piece = 0;
    self->begun = NULL;
    if (count == 0) return FM_OK;
    return fm_gpu_pieces_send(self->pieces, self->piece, 0, count, self->card, self->slot,
                              self->filled - count, error);
}

fm_status fm_gpu_batches_put_piece(fm_gpu_batches *self, unsigned piece, size_t from, size_t count,
                                   fm_error *error)
{
    fm_status status = fm_gpu_batches_send(self, error);
    if (status == FM_OK)
        status =
            fm_gpu_pieces_send(self->pieces, piece, from, count, self->card, self->slot, self->filled, error);
    self->filled += count;
    return status;
}

/* Up to what is missing in the piece that was begun. */
static fm_status put_some(fm_gpu_batches *self, const uint64_t *blocks, size_t count, size_t *taken,
                          fm_error *error)
{
    fm_status status = FM_OK;
    if (!self->begun) {
        self->piece = fm_gpu_pieces_number(self->pieces, take_pieces(self->pieces, 1));
        status = fm_gpu_pieces_wait(self->pieces, self->piece, &self->begun, error);
    }
    if (status != FM_OK) return status;
    const size_t room = self->pieces->size - self->in_piece;
    *taken = count < room ? count : room;
    memcpy(self->begun + self->in_piece, blocks, *taken * sizeof *blocks);
    self->in_piece += *taken;
    self->filled += *taken;
    return self->in_piece == self->pieces->size ? fm_gpu_batches_send(self, error) : FM_OK;
}

typedef struct copying {
    fm_gpu_batches *batches;
    const uint64_t *blocks;
    unsigned first; /* piece, by its index */
    pthread_mutex_t lock;
    fm_status status; /* of the first that failed */
    fm_error error;
} copying;

/* Whole piece number `number` of those given. */
static void copy_piece(void *context, size_t number)
{
    copying *job = context;
    fm_gpu_batches *self = job->batches;
    const unsigned piece = fm_gpu_pieces_number(self->pieces, job->first + number);
    const size_t size = self->pieces->size, before = number * size;
    uint64_t *memory;
    fm_error error;
    fm_status status = fm_gpu_pieces_wait(self->pieces, piece, &memory, &error);
    if (status == FM_OK) {
        memcpy(memory, job->blocks + before, size * sizeof *memory);
        status = fm_gpu_pieces_send(self->pieces, piece, 0, size, self->card, self->slot,
                                    self->filled + before, &error);
    }
    if (status == FM_OK) return;
    pthread_mutex_lock(&job->lock);
    if (job->status == FM_OK) {
        job->status = status;
        job->error = error;
    }
    pthread_mutex_unlock(&job->lock);
}

/* Several whole pieces at once, at most all there are. */
static fm_status put_pieces(fm_gpu_batches *self, const uint64_t *blocks, unsigned pieces, fm_error *error)
{
    copying job = {.batches = self,
                   .blocks = blocks,
                   .first = take_pieces(self->pieces, pieces),
                   .lock = PTHREAD_MUTEX_INITIALIZER};
    fm_rounds_run(self->copiers, copy_piece, &job, pieces);
    pthread_mutex_destroy(&job.lock);
    self->filled += pieces * self->pieces->size;
    if (job.status != FM_OK && error) *error = job.error;
    return job.status;
}

fm_status fm_gpu_batches_put(fm_gpu_batches *self, const uint64_t *blocks, size_t count, fm_error *error)
{
    fm_status status = FM_OK;
    while (count > 0 && status == FM_OK) {
        const size_t whole = count / self->pieces->size;
        size_t taken = 0;
        if (self->in_piece == 0 && whole > 1) {
            const unsigned most = fm_gpu_pieces_own(self->pieces),
                           pieces = whole < most ? (unsigned)whole : most;
            status = put_pieces(self, blocks, pieces, error);
            taken = pieces * self->pieces->size;
        } else {
            status = put_some(self, blocks, count, &taken, error);
        }
        blocks += taken;
        count -= taken;
    }
    return status;
}

/* ---- counting ---- */

fm_status fm_gpu_batches_start(fm_gpu_batches *self, uint64_t first_time, size_t keep, fm_error *error)
{
    fm_status status = fm_gpu_batches_send(self, error);
    if (status != FM_OK) return status;
    self->batch = (fm_gpu_batch){.slot = self->slot,
                                 .count = self->filled,
                                 .first_time = first_time,
                                 .keep = keep,
                                 .distances = self->each.distances,
                                 .times = self->each.times,
                                 .new_blocks = self->each.new_blocks};
    self->filled = 0;
    self->slot = (self->slot + 1) % FM_GPU_SLOTS;
    self->uncollected = true;
    pthread_mutex_lock(&self->lock);
    self->running = true;
    pthread_cond_broadcast(&self->changed);
    pthread_mutex_unlock(&self->lock);
    return FM_OK;
}

fm_status fm_gpu_batches_collect(fm_gpu_batches *self, fm_error *error)
{
    wait_until_idle(self);
    self->uncollected = false;
    if (self->status != FM_OK && error) *error = self->error;
    return self->status;
}

fm_status fm_gpu_batches_count_now(fm_gpu_batches *self, const uint64_t *blocks, fm_gpu_batch *batch,
                                   fm_error *error)
{
    fm_status status = fm_gpu_batches_send(self, error);
    if (status != FM_OK) return status;
    const size_t filled = self->filled;
    const unsigned slot = self->slot;
    self->slot = batch->slot = (slot + 1) % FM_GPU_SLOTS;
    self->filled = 0;
    status = fm_gpu_batches_put(self, blocks, batch->count, error);
    if (status == FM_OK) status = fm_gpu_batches_send(self, error);
    if (status == FM_OK) status = self->module->count(self->card, batch, error);
    self->slot = slot;
    self->filled = filled;
    return status;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * parallel_order.c - single distances in the order of the trace, and time distances, by several threads.
 *
 * All references are drawn. A chunk as a whole goes through an engine that is fed, in order: what it finds
 * stands in the chunk's array at once, and its first touches are events as ever. Where most references would
 * be such, all of them are events, without a look at the chunk alone. A phase takes the distances of its
 * events to their places in the arrays of their chunks; then the thread that feeds gives these to the sink,
 * one after the other, and helps while there is none.
 *
 * Space: 4 bytes for each reference of the chunks under way, 12 where the sink wants blocks, too; so chunks
 * are not as large as they are without order, and have more events. An event takes 8 bytes more than without,
 * and with times 16.
 */
#include "base/error.h"
#include "base/memory.h"
#include "engine/parallel/parallel.h"

#include <stdlib.h>
#include <string.h>

enum {
    RUN = 2 * FM_CACHE_CHUNK, /* references that are fed at a time */
    MOST = 1 << 24,           /* of a chunk */
    SHARES = 8,               /* of the memory that is free: for arrays of all chunks under way */
};

/* Where a run's distances go that nobody wants one by one, and its times. */
typedef struct fm_ordered_run {
    uint64_t distances[RUN], times[RUN];
} fm_ordered_run;

/* A bin for each time distance would be as many as there are references, for each thread. What is dropped
 * under a bound has a time, too, that a table of all threads does not know. */
bool fm_parallel_can_order(const fm_engine_options *options, fm_bins bins)
{
    return options->threads > 1 && !options->tags && !options->max_memory &&
           !(options->time_distances && (options->bound || bins == FM_BINS_EXACT));
}

uint64_t fm_parallel_order_room(const fm_parallel *self)
{
    if (!self->delivering) return UINT64_MAX;
    const uint64_t bytes = sizeof(uint32_t) + (self->with_blocks ? sizeof(uint64_t) : 0);
    const uint64_t room = fm_free_memory() / SHARES / bytes / self->chunks_a_phase;
    if (room < fm_parallel_drawn_least) return fm_parallel_drawn_least;
    return room < MOST ? room : MOST;
}

fm_status fm_parallel_start_order(fm_parallel_worker *worker, fm_error *error)
{
    if (worker->run) return FM_OK;
    worker->run = fm_malloc_array(1, sizeof *worker->run);
    return worker->run ? FM_OK : fm_fail_memory(error, sizeof *worker->run, "the threads");
}

void fm_parallel_end_order(fm_parallel_worker *worker)
{
    free(worker->run);
    worker->run = NULL;
}

/* ---- a chunk ---- */

void fm_chunk_order_release(fm_parallel *self, fm_chunk_order *order)
{
    if (order->distances) fm_pages_free(order->distances, order->distance_bytes);
    if (order->blocks) fm_pages_free(order->blocks, order->block_bytes);
    __atomic_fetch_sub(&self->chunk_bytes, order->distance_bytes + order->block_bytes, __ATOMIC_RELAXED);
    *order = (fm_chunk_order){0};
}

static fm_status pages_reserve(fm_parallel *self, void **pages, size_t *held, size_t bytes, fm_error *error)
{
    if (bytes <= *held) return FM_OK;
    const size_t wanted = bytes < 2 * *held ? 2 * *held : bytes;
    void *grown = *pages ? fm_pages_resize(*pages, *held, wanted) : fm_pages_allocate(wanted);
    if (!grown) return fm_fail_memory(error, wanted, "distances in order");
    __atomic_fetch_add(&self->chunk_bytes, wanted - *held, __ATOMIC_RELAXED);
    *pages = grown;
    *held = wanted;
    return FM_OK;
}

/* Room for references that have just been fetched, and their blocks. *number: of the first one in the chunk.
 */
static fm_status make_places(fm_parallel *self, fm_thread_chunk *chunk, const fm_references *references,
                             size_t *number, fm_error *error)
{
    *number = (size_t)(chunk->fetched - references->count);
    if (!self->delivering) return FM_OK;
    const size_t wanted = chunk->wanted > chunk->fetched ? chunk->wanted : chunk->fetched;
    fm_chunk_order *order = &chunk->order;
    fm_status status = pages_reserve(self, (void **)&order->distances, &order->distance_bytes,
                                     wanted * sizeof *order->distances, error);
    if (status != FM_OK || !self->with_blocks) return status;
    status = pages_reserve(self, (void **)&order->blocks, &order->block_bytes, wanted * sizeof *order->blocks,
                           error);
    if (status == FM_OK)
        memcpy(order->blocks + *number, references->blocks, references->count * sizeof *references->blocks);
    return status;
}

/* First touches are not counted here: they are events. */
static fm_status order_tally(const fm_parallel *self, fm_tally *tally, const uint64_t *distances,
                             size_t count, fm_error *error)
{
    const uint64_t cold = tally->cold;
    fm_status status = fm_exact_tally_each(self->kernels, tally, distances, count, error);
    tally->cold = cold;
    return status;
}

static void distances_narrow(const uint64_t *restrict distances, size_t count, uint32_t *restrict narrowed)
{
    for (size_t i = 0; i < count; i++) narrowed[i] = (uint32_t)distances[i];
}

fm_status fm_chunk_order_feed(fm_parallel *self, fm_thread_chunk *chunk, const fm_references *references,
                              fm_parallel_worker *worker, fm_error *error)
{
    fm_engine *const whole = (fm_engine *)worker->whole;
    const bool timed = self->options.time_distances;
    size_t number;
    fm_status status = make_places(self, chunk, references, &number, error);
    for (size_t first = 0; first < references->count && status == FM_OK; first += RUN) {
        const size_t left = references->count - first;
        const fm_references run = {.count = left < RUN ? left : RUN, .blocks = references->blocks + first};
        uint64_t *const distances = worker->run->distances;
        const fm_engine_results results = {.each_distance = distances,
                                           .each_time = timed ? worker->run->times : NULL};
        size_t done;
        status = fm_engine_exact.feed(whole, &run, &results, &done, error);
        if (status == FM_OK && self->delivering)
            distances_narrow(distances, run.count, chunk->order.distances + number + first);
        if (status == FM_OK) status = order_tally(self, &worker->tally, distances, run.count, error);
        if (status == FM_OK && timed)
            status = order_tally(self, &worker->times, worker->run->times, run.count, error);
    }
    return status;
}

fm_status fm_chunk_order_put(fm_parallel *self, fm_thread_chunk *chunk, const fm_references *references,
                             fm_parallel_worker *worker, fm_error *error)
{
    uint32_t *const numbers = worker->position; /* as many as an event chunk has events */
    size_t number;
    fm_status status = make_places(self, chunk, references, &number, error);
    for (size_t first = 0; first < references->count && status == FM_OK; first += FM_EVENT_CHUNK) {
        const size_t left = references->count - first, count = left < FM_EVENT_CHUNK ? left : FM_EVENT_CHUNK;
        for (size_t i = 0; i < count; i++) numbers[i] = (uint32_t)(number + first + i);
        const fm_references cache_chunk = {
            .count = count, .blocks = references->blocks + first, .now = numbers, .leave = numbers};
        fm_chunk_put_all(self, chunk, &cache_chunk, worker);
    }
    return status;
}

/* ---- a phase ---- */

fm_status fm_parallel_count_times(const fm_parallel *self, const fm_thread_chunk *chunk,
                                  const fm_event_chunk *event_chunk, fm_parallel_worker *worker,
                                  fm_error *error)
{
    const uint64_t *const positions = chunk->blocks + event_chunk->first;
    const uint64_t *const old_times = chunk->old_times + event_chunk->first;
    const uint32_t *const number = chunk->now + event_chunk->first;
    const uint8_t *const group = chunk->group + event_chunk->first;
    uint64_t *const times = worker->depth;
    uint32_t next[FM_PARTITIONS];
    memcpy(next, event_chunk->begin, sizeof next);
    for (size_t i = 0; i < event_chunk->count; i++) {
        const size_t at = next[group[i]]++;
        times[i] = positions[at] ? chunk->time + number[i] - old_times[at] : FM_COLD;
    }
    return fm_exact_tally_each(self->kernels, &worker->times, times, event_chunk->count, error);
}

void fm_parallel_settle_event_chunk(const fm_parallel *self, const fm_thread_chunk *chunk,
                                    const fm_event_chunk *event_chunk)
{
    const uint64_t *const positions = chunk->blocks + event_chunk->first;
    const uint32_t *const known = chunk->known + event_chunk->first;
    const uint32_t *const number = chunk->now + event_chunk->first;
    const uint8_t *const range = chunk->group + event_chunk->first;
    const uint64_t bound = self->options.bound ? self->options.bound : FM_BEYOND;
    uint32_t *const distances = chunk->order.distances;
    uint32_t next[FM_RANGES + 1];
    memcpy(next, event_chunk->begin, sizeof next); /* those of no range stand behind all others */
    for (size_t i = 0; i < event_chunk->count; i++) {
        const size_t at = next[range[i]]++;
        uint64_t distance = known[at] < bound ? known[at] : FM_BEYOND;
        if (range[i] == FM_RANGES) distance = positions[at] == 0 ? FM_COLD : FM_BEYOND;
        distances[number[i]] = (uint32_t)distance;
    }
}

/* ---- in the thread that feeds ---- */

static bool is_over(const fm_parallel *self)
{
    return self->dry && self->drawing == 0 && self->retired == self->filled;
}

static bool is_settled(void *context)
{
    const fm_parallel *self = context;
    return self->status != FM_OK || self->settled > self->retired || is_over(self);
}

static void distances_widen(const uint32_t *restrict distances, size_t count, uint64_t *restrict widened)
{
    for (size_t i = 0; i < count; i++)
        widened[i] = distances[i] < (uint32_t)FM_BEYOND ? distances[i] : FM_BEYOND | distances[i];
}

_Static_assert((uint32_t)FM_BEYOND + 1 == (uint32_t)FM_COLD, "both have their lower bit alone");

/* distances: room for RUN. */
static fm_status deliver_chunk(const fm_parallel *self, const fm_thread_chunk *chunk, uint64_t *distances,
                               const fm_engine_results *results, fm_error *error)
{
    const fm_chunk_order *const order = &chunk->order;
    fm_status status = FM_OK;
    for (size_t first = 0; first < chunk->fetched && status == FM_OK; first += RUN) {
        const size_t left = (size_t)chunk->fetched - first, count = left < RUN ? left : RUN;
        distances_widen(order->distances + first, count, distances);
        status = results->sink(results->sink_context, self->with_blocks ? order->blocks + first : NULL,
                               distances, count, error);
    }
    return status;
}

fm_status fm_parallel_deliver(fm_parallel *self, const fm_engine_results *results, fm_error *error)
{
    fm_parallel_worker *const own = &self->workers[0]; /* works at no chunk while one is delivered */
    fm_status started = fm_parallel_start_order(own, error);
    if (!own->run) return started;
    for (;;) {
        fm_crew_help(self->crew, is_settled);
        fm_crew_lock(self->crew);
        const fm_status failed = self->status;
        const bool settled = self->settled > self->retired;
        if (failed != FM_OK) *error = self->error;
        fm_crew_unlock(self->crew);
        if (failed != FM_OK || !settled) return failed;
        const fm_thread_chunk *chunk = &self->chunks[self->retired % self->chunk_count];
        fm_status status = deliver_chunk(self, chunk, own->run->distances, results, error);
        if (status != FM_OK) return status;
        fm_crew_lock(self->crew);
        fm_parallel_retire(self, 1);
        fm_crew_call(self->crew);
        fm_crew_unlock(self->crew);
    }
}

/*
 * ==== pairs ====
 *
 * With tags: the pairs that threads count, each for itself, until all come together; and
 * the names of tags. A tag is a number that was given out while threads read (site_index.h); what it is
 * called in the end is known when all is read.
 */

/* Entries of a thread's table (some 6 MiB) from which on it is poured out: with fewer, those that come again
 * and again would be put in anew each time.
 */
enum { MANY_PAIRS = 1 << 18 };

/* What has the same hash is put together in one sweep. */
static fm_status make_table(const fm_pair_table *like, fm_pair_table *table, fm_error *error)
{
    fm_status status = fm_pair_table_create(table, 0, 0, error);
    if (status == FM_OK) memcpy(table->multiplier, like->multiplier, sizeof table->multiplier);
    return status;
}

fm_status fm_parallel_start_pairs(fm_parallel *self, const fm_pairs *like, fm_error *error)
{
    if (self->paired) return FM_OK; /* threads may be at work with them */
    self->paired = true;
    fm_status status = make_table(&like->table, &self->poured, error);
    for (unsigned w = 0; w < self->threads && status == FM_OK; w++) {
        fm_pairs *pairs = &self->workers[w].pairs;
        pairs->ranges = like->ranges;
        status = make_table(&like->table, &pairs->table, error);
    }
    return status;
}

fm_status fm_parallel_count_pairs(fm_parallel *self, fm_parallel_worker *worker, const uint64_t *words,
                                  size_t count, fm_error *error)
{
    fm_status status = fm_pairs_reserve(&worker->pairs, count, error);
    if (status == FM_OK) self->kernels->count_pairs(&worker->pairs.table, words, count);
    return status;
}

static fm_status pairs_pour(fm_parallel *self, fm_parallel_worker *worker, fm_error *error)
{
    pthread_mutex_lock(&self->shared_lock);
    const fm_status status = fm_pair_table_drain(&self->poured, &worker->pairs.table, error);
    __atomic_store_n(&self->poured_bytes, fm_pair_table_memory(&self->poured), __ATOMIC_RELAXED);
    pthread_mutex_unlock(&self->shared_lock);
    return status;
}

fm_status fm_parallel_pour_pairs(fm_parallel *self, fm_parallel_worker *worker, fm_error *error)
{
    return worker->pairs.table.used < MANY_PAIRS ? FM_OK : pairs_pour(self, worker, error);
}

fm_status fm_parallel_collect_pairs(fm_parallel *self, fm_error *error)
{
    fm_status status = FM_OK;
    for (unsigned w = 0; w < self->threads && status == FM_OK; w++)
        if (self->workers[w].pairs.table.buckets) status = pairs_pour(self, &self->workers[w], error);
    return status;
}

void fm_parallel_apply_names(fm_parallel *self)
{
    if (!self->names) return;
    for (size_t p = 0; p < self->partitions; p++)
        fm_exact_rename_tags(&self->partition[p].table, self->names);
    free(self->names);
    self->names = NULL;
}

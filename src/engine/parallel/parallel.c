/* SPDX-License-Identifier: Apache-2.0 */
/*
 * parallel.c - `exact` with several threads: the same distances, counted by all of them (parallel.h).
 *
 * Short traces stay on one thread, the caller's: references are gathered first, and only when there are
 * enough of them, threads are started. Distances in order (feed) are found by one thread, too: from the first
 * such call on, everything is.
 *
 * What is counted becomes cache chunk of a tally with catch_up. A failure (memory) ends the analysis: it is
 * reported by the next call, and by all after it.
 *
 * With tags, only references that threads fetch are counted by all of them; those that are handed in, by one.
 * What is handed in then is digested by other threads first (analyzer_prepare.c), which takes one to count.
 *
 * References that are handed in are copied into chunks. Where there are many at once, or where threads can
 * fetch them (draw), chunks are drawn instead (parallel_draw.c).
 *
 * Space: that of `exact`, and for each thread a few MB: six chunks of 13 bytes a reference; or where they are
 * drawn, what an engine of its own takes for the blocks of a chunk, and the events of two, up to a quarter of
 * the memory that is free. Under a limit of memory: docs/PARALLEL.md.
 */
#include "engine/parallel/parallel.h"

#include "base/error.h"
#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

enum {
    PHASES = 3,          /* two under way, one being filled */
    CHUNKS_A_THREAD = 2, /* in a phase */
    WORTH_DRAWING = 2,   /* chunks for each thread */
    DIVIDE_FROM = 4,     /* threads from which on table and window are divided, whatever comes */
};

/* ---- beginning and end ---- */

static void release_workers(fm_parallel *self)
{
    fm_crew_destroy(self->crew);
    self->crew = NULL;
    for (unsigned w = 0; self->workers && w < self->threads; w++) {
        fm_parallel_worker *worker = &self->workers[w];
        fm_engine_exact.destroy((fm_engine *)worker->local);
        fm_parallel_end_whole(worker);
        fm_pairs_clear(&worker->pairs);
        fm_tally_clear(&worker->tally);
        fm_tally_clear(&worker->times);
        fm_parallel_end_order(worker);
        if (worker->counters) fm_pages_free(worker->counters, worker->counter_bytes);
    }
    free(self->workers);
    self->workers = NULL;
    for (size_t p = 0; p < self->partitions; p++) {
        fm_block_table_clear(&self->partition[p].table);
        fm_seen_set_destroy(self->partition[p].seen);
        self->partition[p].seen = NULL;
    }
    fm_shared_window_clear(&self->window);
    fm_tally_clear(&self->shared);
    if (self->range_of) fm_pages_free(self->range_of, self->range_of_bytes);
    self->range_of = NULL;
    self->range_of_bytes = 0;
}

static void release_chunks(fm_parallel *self)
{
    for (size_t i = 0; self->chunks && i < self->chunk_count; i++) fm_chunk_release(self, &self->chunks[i]);
    while (self->spare_count > 0) fm_chunk_release(self, &self->spare[--self->spare_count]);
}

static void parallel_destroy(fm_engine *engine)
{
    fm_parallel *self = (fm_parallel *)engine;
    if (!self) return;
    release_workers(self);
    release_chunks(self);
    pthread_mutex_destroy(&self->shared_lock);
    fm_tally_clear(&self->counted);
    fm_tally_clear(&self->counted_times);
    fm_pair_table_clear(&self->poured);
    free(self->names);
    fm_engine_exact.destroy((fm_engine *)self->alone);
    free(self->chunks);
    free(self->spare);
    free(self);
}

/* Threads that there is room for, at half of the limit of memory, or of what is free. What each of them
 * takes, whatever the trace: chunks, a decoder, an engine for the least blocks of a chunk. */
static unsigned threads_within(const fm_engine_options *options)
{
    const uint64_t free_bytes = fm_free_memory(), limit = options->max_memory;
    const uint64_t room = limit && (limit < free_bytes || !free_bytes) ? limit : free_bytes;
    const uint64_t most = room / 2 / FM_THREAD_BYTES;
    const unsigned threads = options->threads ? options->threads : 1;
    if (!room || most >= threads) return threads;
    return most > 0 ? (unsigned)most : 1;
}

/*
 * What threads do together under a limit can fail, and be begun anew by one, only where they fetch for
 * themselves. With a bound, or with a bin for each distance, how much may be remembered depends on the limit.
 */
static bool may_go_together(const fm_parallel *self, bool drawing)
{
    if (!self->options.max_memory) return true;
    return drawing && self->threads > 1 && !self->options.bound && self->counted.bins != FM_BINS_EXACT;
}

static fm_status parallel_create(fm_engine **engine, const fm_engine_options *options, fm_error *error)
{
    fm_parallel *self = NULL;
    if (posix_memalign((void **)&self, 64, sizeof *self) != 0 || !self)
        return fm_fail_memory(error, sizeof *self, "the engine");
    memset(self, 0, sizeof *self);
    pthread_mutex_init(&self->shared_lock, NULL);
    self->options = *options;
    self->threads = threads_within(options);
    self->chunk_size = fm_parallel_chunk;
    self->chunks_a_phase = CHUNKS_A_THREAD * self->threads;
    self->chunks_a_phase_drawn = self->threads > 1 ? self->threads / 2 : 1;
    self->chunk_count = PHASES * self->chunks_a_phase;
    self->drawn_size = fm_parallel_drawn_least;
    self->clock = options->first_time;
    fm_status status = fm_engine_exact.create((fm_engine **)&self->alone, options, error);
    if (status == FM_OK) {
        self->kernels = self->alone->kernels;
        self->chunks = fm_calloc(self->chunk_count, sizeof *self->chunks);
        self->spare = fm_calloc(self->chunk_count, sizeof *self->spare);
        if (!self->chunks || !self->spare)
            status = fm_fail_memory(error, self->chunk_count * sizeof *self->chunks, "the engine");
    }
    if (status != FM_OK) {
        parallel_destroy((fm_engine *)self);
        return status;
    }
    *engine = (fm_engine *)self;
    return FM_OK;
}

static fm_status start_partition(fm_parallel *self, fm_partition *partition, fm_error *error)
{
    fm_status status =
        fm_block_table_create(&partition->table, self->options.seed, self->options.time_distances, error);
    /* The hash is a product: the bits that all blocks of a partition have in common are shifted out of it. */
    if (self->partitions > 1) partition->table.seed[2] <<= FM_PARTITION_BITS;
    if (status == FM_OK && self->options.bound) {
        partition->seen = fm_seen_set_create(UINT64_MAX, ~self->options.seed, false);
        if (!partition->seen) status = fm_fail_memory(error, 0, "the set of blocks seen");
    }
    return status;
}

/*
 * Two or three threads divide where they draw: then either few references are events, or hardly any are not,
 * and what one thread at a time can look up would be the limit of all. Of cache chunks that are handed in,
 * many are, and sorting all of them takes longer than it saves.
 */
static void parallel_divide(fm_parallel *self, bool drawing)
{
    const bool divided = self->threads >= DIVIDE_FROM || (drawing && self->threads > 1);
    self->partitions = divided ? FM_PARTITIONS : 1;
    self->most_ranges = divided ? FM_RANGES : 1;
}

static fm_status start_counting(const fm_parallel *self, fm_parallel_worker *worker, fm_bins bins,
                                fm_error *error)
{
    fm_status status = fm_tally_create(&worker->tally, bins, error);
    if (status == FM_OK && self->options.time_distances)
        status = fm_tally_create(&worker->times, bins, error);
    return status;
}

static fm_status start_together(fm_parallel *self, fm_error *error)
{
    const size_t bytes = self->threads * sizeof *self->workers;
    const fm_bins bins = self->counted.bins;
    fm_status status = FM_OK;
    self->bins = bins;
    if (posix_memalign((void **)&self->workers, 64, bytes) != 0 || !self->workers) {
        self->workers = NULL;
        return fm_fail_memory(error, bytes, "the threads");
    }
    memset(self->workers, 0, bytes);
    for (unsigned w = 0; w < self->threads && status == FM_OK; w++)
        status = start_counting(self, &self->workers[w], bins, error);
    for (size_t p = 0; p < self->partitions && status == FM_OK; p++)
        status = start_partition(self, &self->partition[p], error);
    memcpy(self->seed, self->alone->table.seed, sizeof self->seed);
    if (status == FM_OK) status = fm_shared_window_create(&self->window, error);
    if (status == FM_OK) {
        self->range_of_bytes = self->window.regions;
        self->range_of = fm_pages_allocate(self->range_of_bytes);
        if (!self->range_of) status = fm_fail_memory(error, self->range_of_bytes, "the ranges of the window");
    }
    if (status == FM_OK && bins == FM_BINS_EXACT) status = fm_tally_create(&self->shared, bins, error);
    if (status == FM_OK) status = fm_crew_create(&self->crew, self->threads, &fm_parallel_work, self, error);
    return status;
}

void fm_parallel_fail(fm_parallel *self, fm_status status, const fm_error *error)
{
    fm_crew_lock(self->crew);
    if (self->status == FM_OK) {
        self->status = status;
        self->error = *error;
        __atomic_store_n(&self->failed, true, __ATOMIC_RELAXED);
    }
    fm_crew_unlock(self->crew);
}

/* ---- the crew's work, seen from outside ---- */

static bool has_free_chunk(void *context)
{
    const fm_parallel *self = context;
    return self->status != FM_OK || self->filled - self->retired < self->chunk_count;
}

static bool is_quiet(void *context)
{
    const fm_parallel *self = context;
    return self->retired == self->filled;
}

static fm_status parallel_report(const fm_parallel *self, fm_error *error)
{
    if (self->status != FM_OK && error) *error = self->error;
    return self->status;
}

/* The chunk that is being filled goes to the crew. */
static void hand_in(fm_parallel *self)
{
    fm_crew_lock(self->crew);
    self->filled++;
    fm_crew_call(self->crew);
    fm_crew_unlock(self->crew);
}

static fm_thread_chunk *chunk_filling(const fm_parallel *self)
{
    return &self->chunks[self->filled % self->chunk_count];
}

/* As many of the blocks from number *done on as the chunk has room for. */
static void fill_chunk(const fm_parallel *self, fm_thread_chunk *chunk, const uint64_t *blocks, size_t count,
                       size_t *done)
{
    const size_t room = self->chunk_size - chunk->count, left = count - *done;
    const size_t taken = left < room ? left : room;
    memcpy(chunk->blocks + chunk->count, blocks + *done, taken * sizeof *blocks);
    chunk->count += taken;
    *done += taken;
}

static fm_status count_together(fm_parallel *self, const uint64_t *blocks, size_t count, size_t *done,
                                fm_error *error)
{
    while (*done < count) {
        fm_crew_help(self->crew, has_free_chunk);
        if (fm_parallel_failed(self)) return parallel_report(self, error);
        fm_thread_chunk *chunk = chunk_filling(self);
        fm_status status = fm_chunk_reserve(self, chunk, self->chunk_size, error);
        if (status != FM_OK) return status;
        fill_chunk(self, chunk, blocks, count, done);
        if (chunk->count == self->chunk_size) hand_in(self);
    }
    return FM_OK;
}

/* What is being filled goes to the crew, too, though it is not full. */
static fm_status hand_in_rest(fm_parallel *self, fm_error *error)
{
    fm_crew_help(self->crew, has_free_chunk);
    if (fm_parallel_failed(self)) return parallel_report(self, error);
    if (chunk_filling(self)->count > 0) hand_in(self);
    return FM_OK;
}

/* ---- from one way to the other ---- */

/* All counts of the crew, which is quiet, move into a tally, with times into another; and pairs together. */
static fm_status parallel_collect(fm_parallel *self, fm_tally *tally, fm_tally *times, fm_error *error)
{
    fm_status status = FM_OK;
    for (unsigned w = 0; w < self->threads && status == FM_OK; w++)
        status = fm_tally_move(tally, &self->workers[w].tally, error);
    for (unsigned w = 0; self->options.time_distances && w < self->threads && status == FM_OK; w++)
        status = fm_tally_move(times, &self->workers[w].times, error);
    if (status == FM_OK && self->bins == FM_BINS_EXACT) status = fm_tally_move(tally, &self->shared, error);
    if (status == FM_OK) status = fm_parallel_collect_pairs(self, error);
    if (status != FM_OK) return status;
    tally->cold += self->cold;
    tally->beyond += self->beyond;
    self->cold = self->beyond = 0;
    return FM_OK;
}

static void set_flushing(fm_parallel *self, bool flushing)
{
    fm_crew_lock(self->crew);
    self->flushing = flushing;
    fm_crew_unlock(self->crew);
}

/* Waits until all that was handed in is counted. */
static fm_status parallel_quiet(fm_parallel *self, fm_error *error)
{
    fm_status status = hand_in_rest(self, error);
    if (status != FM_OK) return status;
    set_flushing(self, true);
    fm_crew_help(self->crew, is_quiet);
    set_flushing(self, false);
    return parallel_report(self, error);
}

/* What was gathered goes through one thread. */
static fm_status count_gathered(fm_parallel *self, fm_tally *tally, fm_error *error)
{
    fm_status status = FM_OK;
    for (uint64_t i = 0; i < self->chunk_count && status == FM_OK; i++) {
        const fm_thread_chunk *chunk = &self->chunks[i];
        if (chunk->count > 0)
            status =
                fm_exact_count_blocks((fm_engine *)self->alone, chunk->blocks, chunk->count, tally, error);
    }
    release_chunks(self);
    self->filled = 0;
    self->mode = FM_ALONE;
    return status;
}

/* All blocks, in the order of their last touches, into the engine for one thread. */
static fm_status hand_over(fm_parallel *self, fm_error *error)
{
    fm_status status = fm_engine_exact.create((fm_engine **)&self->alone, &self->options, error);
    if (status != FM_OK) return status;
    fm_exact *alone = self->alone;
    status = fm_exact_make_room(alone, self->live, error);
    if (status == FM_OK) status = fm_recency_window_reserve(&alone->window, self->live, error);
    if (status != FM_OK) return status;
    fm_parallel_apply_names(self);
    fm_shared_window_rank_regions(&self->window);
    for (size_t p = 0; p < self->partitions; p++) {
        const fm_partition *partition = &self->partition[p];
        for (uint64_t i = 0; i < partition->table.bucket_count; i++) {
            const fm_bucket *bucket = &partition->table.buckets[i];
            for (int slot = 0; slot < FM_BUCKET_SLOTS && bucket->position[slot]; slot++) {
                const uint64_t old = bucket->position[slot];
                uint64_t none, rank = fm_shared_window_rank(&self->window, old & FM_POSITION_BITS);
                const size_t at = fm_block_table_exchange_slot(
                    &alone->table, bucket->key[slot],
                    fm_recency_window_packed_position(rank) | (old & ~FM_POSITION_BITS), &none);
                if (alone->table.times)
                    alone->table.times[at] = partition->table.times[i * FM_BUCKET_SLOTS + (unsigned)slot];
            }
        }
        if (partition->seen) alone->dropping |= partition->dropping;
        if (partition->seen && !self->given_up && !fm_seen_set_absorb(alone->seen, partition->seen))
            return fm_fail_memory(error, 0, "the set of blocks seen");
    }
    if (self->given_up) fm_seen_set_give_up(alone->seen, self->distinct);
    fm_recency_window_restart(&alone->window, self->live);
    alone->clock = self->clock;
    return FM_OK;
}

/* Somebody wants distances in order: from now on one thread finds them. */
static fm_status go_alone(fm_parallel *self, fm_error *error)
{
    if (self->mode == FM_ALONE) return FM_OK;
    if (self->mode == FM_GATHERING) return count_gathered(self, &self->counted, error);
    fm_status status = parallel_quiet(self, error);
    if (status == FM_OK) status = parallel_collect(self, &self->counted, &self->counted_times, error);
    if (status == FM_OK) status = hand_over(self, error);
    if (status != FM_OK) return status;
    release_workers(self);
    release_chunks(self);
    self->mode = FM_ALONE;
    return FM_OK;
}

/* Enough has come for several threads. Where there is no memory for them, one goes on. */
static fm_status go_together(fm_parallel *self, bool drawing, fm_tally *tally, fm_error *error)
{
    parallel_divide(self, drawing);
    if (start_together(self, NULL) != FM_OK) {
        release_workers(self);
        return count_gathered(self, tally, error);
    }
    self->mode = FM_TOGETHER;
    fm_engine_exact.destroy((fm_engine *)self->alone);
    self->alone = NULL;
    return FM_OK;
}

/* The first references of a trace. */
static fm_status parallel_gather(fm_parallel *self, const uint64_t *blocks, size_t count, fm_tally *tally,
                                 size_t *done, fm_error *error)
{
    while (*done < count && self->mode == FM_GATHERING) {
        if (self->filled == self->chunk_count || self->gathered >= fm_parallel_least)
            return go_together(self, false, tally, error);
        fm_thread_chunk *chunk = chunk_filling(self);
        if (fm_chunk_reserve(self, chunk, self->chunk_size, NULL) != FM_OK)
            return count_gathered(self, tally, error);
        const size_t before = *done;
        fill_chunk(self, chunk, blocks, count, done);
        self->gathered += *done - before;
        if (chunk->count == self->chunk_size) self->filled++;
    }
    return FM_OK;
}

/* ---- the interface ---- */

static fm_status parallel_feed(fm_engine *engine, const fm_references *references,
                               const fm_engine_results *results, size_t *done, fm_error *error)
{
    fm_parallel *self = (fm_parallel *)engine;
    *done = 0;
    fm_status status = go_alone(self, error);
    if (status != FM_OK) return status;
    return fm_engine_exact.feed((fm_engine *)self->alone, references, results, done, error);
}

static fm_status parallel_count(fm_engine *engine, const fm_references *references,
                                const fm_engine_results *results, size_t *done, fm_error *error)
{
    fm_parallel *self = (fm_parallel *)engine;
    const uint64_t *const blocks = references->blocks;
    const size_t count = references->count;
    fm_tally *const tally = results->distances;
    fm_status status = FM_OK;
    *done = 0;
    if (!self->counted.counts) status = fm_tally_create(&self->counted, tally->bins, error);
    if (references->now) {
        if (status == FM_OK) status = go_alone(self, error);
        if (status != FM_OK) return status;
        return fm_engine_exact.count((fm_engine *)self->alone, references, results, done, error);
    }
    /* What is enough for all threads is left where it stands. */
    const bool draws = count >= WORTH_DRAWING * self->threads * fm_parallel_drawn_least;
    if (status == FM_OK && self->mode == FM_GATHERING && !may_go_together(self, false))
        status = count_gathered(self, tally, error);
    if (status == FM_OK && self->mode == FM_GATHERING)
        status = draws && self->gathered + count >= fm_parallel_least
                     ? go_together(self, true, tally, error)
                     : parallel_gather(self, blocks, count, tally, done, error);
    if (status != FM_OK || *done == count) return status;
    if (self->mode == FM_TOGETHER) {
        if (!draws) return count_together(self, blocks, count, done, error);
        status = hand_in_rest(self, error);
        if (status == FM_OK) status = fm_parallel_draw_array(self, blocks + *done, count - *done, error);
        *done = count;
        return status;
    }
    const fm_references rest = {.count = count - *done, .blocks = blocks + *done};
    size_t more;
    status = fm_engine_exact.count((fm_engine *)self->alone, &rest, results, &more, error);
    *done += more;
    return status;
}

/* All of a supply through one thread. */
static fm_status draw_alone(fm_parallel *self, const fm_block_supply *supply,
                            const fm_engine_results *results, fm_error *error)
{
    fm_trace_range range;
    fm_status status = FM_OK;
    while (status == FM_OK && supply->claim(supply->context, fm_parallel_drawn_most, &range)) {
        fm_references fetched = {.count = 1};
        while (status == FM_OK && fetched.count > 0) {
            uint64_t repeats;
            size_t done;
            status = supply->fetch(supply->context, 0, &range, &fetched, &repeats, error);
            if (status != FM_OK || fetched.count == 0) break;
            status = fm_engine_exact.count((fm_engine *)self->alone, &fetched, results, &done, error);
            if (status == FM_OK) fm_tally_add_many(results->distances, 0, repeats);
        }
    }
    return status;
}

/* What tags take that threads fetch. The tables may know some by other names. */
static fm_status start_tags(fm_parallel *self, const fm_pairs *pairs, fm_error *error)
{
    fm_status status = self->names ? parallel_quiet(self, error) : FM_OK;
    if (status != FM_OK) return status;
    fm_parallel_apply_names(self);
    return fm_parallel_start_pairs(self, pairs, error);
}

static bool is_short(const fm_parallel *self, const fm_block_supply *supply)
{
    return self->gathered + supply->left(supply->context) < fm_parallel_least;
}

static fm_status start_counted(fm_parallel *self, fm_bins bins, fm_error *error)
{
    fm_status status = fm_tally_create(&self->counted, bins, error);
    if (status == FM_OK && self->options.time_distances)
        status = fm_tally_create(&self->counted_times, bins, error);
    return status;
}

/* In order, what one thread would have to find is not claimed: it is fed. */
static fm_status parallel_draw(fm_engine *engine, const fm_block_supply *supply,
                               const fm_engine_results *results, fm_error *error)
{
    fm_parallel *self = (fm_parallel *)engine;
    fm_tally *const tally = results->distances;
    const bool ordered = results->sink || results->times, few = is_short(self, supply);
    fm_status status = FM_OK;
    if (!self->counted.counts) status = start_counted(self, tally->bins, error);
    if (status != FM_OK) return status;
    if (ordered && self->mode == FM_GATHERING && (few || self->gathered > 0)) return FM_OK;
    if (ordered && self->mode == FM_GATHERING)
        self->ordered = fm_parallel_can_order(&self->options, tally->bins);
    if (ordered && !self->ordered) return FM_OK;
    if (self->mode == FM_GATHERING)
        status = few || !may_go_together(self, true) ? count_gathered(self, tally, error)
                                                     : go_together(self, true, tally, error);
    if (status != FM_OK) return status;
    if (self->mode == FM_ALONE) return ordered ? FM_OK : draw_alone(self, supply, results, error);
    status = hand_in_rest(self, error);
    if (status == FM_OK && self->ordered)
        status = parallel_quiet(self, error); /* chunks may have to go another way */
    if (status == FM_OK && self->options.tags) status = start_tags(self, results->pairs, error);
    return status == FM_OK ? fm_parallel_draw(self, supply, results, error) : status;
}

static fm_status parallel_catch_up(fm_engine *engine, const fm_engine_results *results, fm_error *error)
{
    fm_parallel *self = (fm_parallel *)engine;
    fm_tally *const tally = results->distances;
    fm_status status = FM_OK;
    if (self->mode == FM_GATHERING && self->gathered > 0) status = count_gathered(self, tally, error);
    if (self->mode == FM_TOGETHER) {
        status = parallel_quiet(self, error);
        if (status == FM_OK) status = parallel_collect(self, tally, results->times, error);
    }
    if (status == FM_OK && self->counted.counts) status = fm_tally_move(tally, &self->counted, error);
    if (status == FM_OK && self->counted_times.counts)
        status = fm_tally_move(results->times, &self->counted_times, error);
    if (status == FM_OK && self->poured.used > 0)
        status = fm_pair_table_drain(&results->pairs->table, &self->poured, error);
    return status;
}

/* ---- with tags ---- */

static bool parallel_can_take(const fm_engine *engine, size_t count, const fm_tally *distances)
{
    const fm_parallel *self = (const fm_parallel *)engine;
    return self->options.tags && self->mode != FM_TOGETHER &&
           fm_engine_exact.can_take((const fm_engine *)self->alone, count, distances);
}

/* By an engine for that alone. */
static fm_status parallel_digest(fm_engine *engine, const fm_references *cache_chunk, size_t number,
                                 const fm_engine_results *results, fm_residue *residue, bool *done,
                                 fm_error *error)
{
    fm_parallel *self = (fm_parallel *)engine;
    return fm_exact_digest((fm_engine *)self->alone, cache_chunk, number, results, residue, done, error);
}

static fm_status parallel_count_residue(fm_engine *engine, const fm_residue *residue,
                                        const fm_engine_results *results, fm_error *error)
{
    fm_parallel *self = (fm_parallel *)engine;
    const fm_status status = go_alone(self, error);
    if (status != FM_OK) return status;
    return fm_exact_count_residue((fm_engine *)self->alone, residue, results, error);
}

/* In the tables that threads share this waits until somebody looks at the tags. */
static fm_status parallel_rename(fm_engine *engine, const uint32_t *names, size_t count, fm_error *error)
{
    fm_parallel *self = (fm_parallel *)engine;
    if (self->mode != FM_TOGETHER)
        return fm_engine_exact.tagged->rename((fm_engine *)self->alone, names, count, error);
    fm_parallel_apply_names(self);
    self->names = fm_calloc(count, sizeof *self->names);
    if (!self->names) return fm_fail_memory(error, count * sizeof *self->names, "the names of tags");
    memcpy(self->names, names, count * sizeof *self->names);
    return FM_OK;
}

static const fm_engine_tagged tagged = {
    .digest = parallel_digest,
    .count_residue = parallel_count_residue,
    .rename = parallel_rename,
};

static uint64_t parallel_distinct(const fm_engine *engine)
{
    const fm_parallel *self = (const fm_parallel *)engine;
    if (self->mode != FM_TOGETHER) return fm_engine_exact.distinct((const fm_engine *)self->alone);
    return self->options.bound ? self->distinct : self->live;
}

static bool parallel_cold_known(const fm_engine *engine)
{
    const fm_parallel *self = (const fm_parallel *)engine;
    if (self->mode != FM_TOGETHER) return fm_engine_exact.cold_known((const fm_engine *)self->alone);
    return !self->given_up;
}

/* Threads may be at work: what they change is read as it happens to be. */
uint64_t fm_parallel_memory_beside_tables(const fm_parallel *self)
{
    uint64_t bytes = sizeof *self + 2 * self->chunk_count * sizeof *self->chunks;
    if (self->alone) bytes += fm_exact_memory(self->alone);
    if (self->counted.counts) bytes += fm_tally_memory(&self->counted);
    bytes += __atomic_load_n(&self->chunk_bytes, __ATOMIC_RELAXED) +
             __atomic_load_n(&self->poured_bytes, __ATOMIC_RELAXED);
    if (self->mode != FM_TOGETHER) return bytes;
    for (unsigned w = 0; w < self->threads; w++)
        bytes += sizeof *self->workers + __atomic_load_n(&self->workers[w].bytes, __ATOMIC_RELAXED);
    return bytes;
}

static uint64_t parallel_memory(const fm_engine *engine)
{
    const fm_parallel *self = (const fm_parallel *)engine;
    uint64_t bytes = fm_parallel_memory_beside_tables(self);
    if (self->mode != FM_TOGETHER) return bytes;
    return bytes + __atomic_load_n(&self->table_bytes, __ATOMIC_RELAXED) +
           __atomic_load_n(&self->window_bytes, __ATOMIC_RELAXED);
}

static uint64_t parallel_memory_peak(const fm_engine *engine)
{
    const fm_parallel *self = (const fm_parallel *)engine;
    uint64_t most = parallel_memory(engine);
    const uint64_t alone = self->alone ? fm_engine_exact.memory_peak((fm_engine *)self->alone) : 0;
    if (alone > most) most = alone;
    if (!self->crew) return self->memory_peak > most ? self->memory_peak : most;
    fm_crew_lock(self->crew);
    if (self->memory_peak > most) most = self->memory_peak;
    fm_crew_unlock(self->crew);
    return most;
}

const fm_engine_ops fm_engine_parallel = {
    .info = {.name = "exact", .summary = "exact, by several threads", .exact = true},
    .tagged = &tagged,
    .create = parallel_create,
    .destroy = parallel_destroy,
    .feed = parallel_feed,
    .count = parallel_count,
    .draw = parallel_draw,
    .draws_in_order = true,
    .spared_repeats = true,
    .catch_up = parallel_catch_up,
    .can_take = parallel_can_take,
    .distinct = parallel_distinct,
    .cold_known = parallel_cold_known,
    .memory = parallel_memory,
    .memory_peak = parallel_memory_peak,
};

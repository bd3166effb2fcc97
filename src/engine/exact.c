/* SPDX-License-Identifier: Apache-2.0 */
/*
 * exact.c - the default engine: exact reuse distances at a few times the cost of a hash lookup.
 *
 * It is Bennett & Kruskal's idea (mark in time the latest reference to every block; a distance is the
 * number of marks since) with structures made for today's machines: marks are bits in a sliding window
 * (recency_window.h), blocks are found in a table of cache-line buckets (block_table.h), and references
 * pass through in chunks whose memory accesses are all in flight together (exact_kernels.h).
 *
 * Time: O(levels) vector operations a reference, levels = 2 + log16(live/28672), at most 6; renumbering
 * adds O(1) amortised. Space: 27 to 40 bytes a live block for the table, 2.3 for the window.
 *
 * Under a bound, blocks that are deeper in the stack are dropped whenever the window restarts, which
 * then happens at the latest when twice the bound is live. What was dropped is remembered in a
 * seen_set, so that a return can be told from a first touch.
 *
 * Limits: fewer than 2^32 live blocks (that would be 180 GB); more are refused with FM_E_LIMIT.
 */
#include "base/error.h"
#include "engine/engine.h"
#include "engine/exact_kernels.h"
#include "engine/seen_set.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum {
    TWO_CHUNKS = 2 * FM_CHUNK, /* room in the table for the chunk at hand and the next */
    FRONTLESS = 31,            /* parts that go past the front when it caught too little */
    STRAIGHT = 15,             /* parts that go through without a look for repeats when there were few */
    BOUND_SLACK = 1 << 16,
};
/* Counters of the window are u32: right as long as no more blocks are live. */
#define LIVE_LIMIT UINT64_C(0xFFFFFFFF)

typedef struct exact {
    fm_block_table table;
    fm_recency_window window;
    const fm_exact_kernels *kernels;
    fm_seen_set *seen; /* only under a bound */
    uint64_t bound, max_memory, memory_peak;
    uint64_t seen_peak; /* the part of `seen` in memory_peak */
    uint64_t clock;
    uint64_t last;      /* the latest block, for removing repeats */
    bool started;       /* there is a latest block */
    unsigned frontless; /* parts that still go past the front */
    unsigned straight;  /* parts that still go through without a look for repeats */
    bool window_full;   /* a restart failed and must be tried again */
    bool with_times;
    fm_chunk chunk;
    fm_bucket *homes[2][FM_CHUNK];
    uint64_t collapsed[FM_PART + 8];
    fm_front front;
    fm_bucket *front_homes[FM_PART + FM_CHUNK];
    uint64_t *front_slots[FM_PART];
} exact;

/* Where the distances of a run go. */
typedef struct outlet {
    bool ordered;                /* into distances, one for each reference; if not, into tally */
    uint64_t *distances, *times; /* ordered runs only; times may be NULL all the same */
    fm_tally *tally;             /* counted runs only */
} outlet;

static void exact_destroy(fm_engine *engine)
{
    exact *self = (exact *)engine;
    if (!self) return;
    fm_block_table_clear(&self->table);
    fm_recency_window_clear(&self->window);
    fm_seen_set_destroy(self->seen);
    free(self);
}

static uint64_t memory_beside_table(const exact *self)
{
    return sizeof *self + fm_recency_window_memory(&self->window) +
           (self->seen ? fm_seen_set_memory(self->seen) : 0);
}

static uint64_t exact_memory(const fm_engine *engine)
{
    const exact *self = (const exact *)engine;
    return memory_beside_table(self) + fm_block_table_memory(&self->table);
}

static void note_memory(exact *self, uint64_t bytes)
{
    if (bytes > self->memory_peak) self->memory_peak = bytes;
}

static uint64_t exact_memory_peak(const fm_engine *engine)
{
    return ((const exact *)engine)->memory_peak;
}

static fm_status exact_create(fm_engine **engine, const fm_engine_options *options, fm_error *error)
{
    const fm_exact_kernels *kernels = fm_exact_kernels_find(options->isa);
    if (!kernels)
        return fm_fail(error, FM_E_UNSUPPORTED, NULL, "this machine cannot run the instruction set '%s'",
                       options->isa ? options->isa : "");
    exact *self = NULL;
    if (posix_memalign((void **)&self, 64, sizeof *self) != 0 || !self)
        return fm_fail_memory(error, sizeof *self, "the engine");
    memset(self, 0, sizeof *self);
    self->kernels = kernels;
    self->bound = options->bound;
    self->max_memory = options->max_memory;
    self->clock = options->first_time;
    self->with_times = options->time_distances;
    fm_status status = fm_block_table_create(&self->table, options->seed, options->time_distances, error);
    if (status == FM_OK) status = fm_recency_window_create(&self->window, error);
    if (status == FM_OK && options->bound) {
        self->seen = fm_seen_set_create(fm_seen_limit, ~options->seed, options->time_distances);
        if (!self->seen) status = fm_fail_memory(error, 0, "the set of blocks seen");
    }
    if (status == FM_OK && self->max_memory && exact_memory((fm_engine *)self) > self->max_memory)
        status = fm_fail(error, FM_E_LIMIT, NULL,
                         "a memory limit of %" PRIu64 " bytes is too small to start: %" PRIu64 " are needed",
                         self->max_memory, exact_memory((fm_engine *)self));
    if (status != FM_OK) {
        exact_destroy((fm_engine *)self);
        return status;
    }
    note_memory(self, exact_memory((fm_engine *)self));
    *engine = (fm_engine *)self;
    return FM_OK;
}

static fm_status check_limit(const exact *self, uint64_t bytes, fm_error *error)
{
    if (self->max_memory && bytes > self->max_memory)
        return fm_fail(error, FM_E_LIMIT, NULL,
                       "the memory limit of %" PRIu64 " bytes cannot be kept: %" PRIu64
                       " blocks are live and %" PRIu64 " bytes are needed to go on",
                       self->max_memory, self->table.used, bytes);
    return FM_OK;
}

static fm_status make_room(exact *self, uint64_t more, fm_error *error)
{
    if (self->table.used + more > LIVE_LIMIT)
        return fm_fail(error, FM_E_LIMIT, NULL, "more than %" PRIu64 " distinct blocks are live",
                       LIVE_LIMIT - more);
    if (fm_block_table_has_room(&self->table, more)) return FM_OK;
    uint64_t bytes = memory_beside_table(self) + fm_block_table_memory_grown(&self->table, more);
    fm_status status = check_limit(self, bytes, error);
    if (status == FM_OK) status = fm_block_table_grow(&self->table, more, error);
    if (status == FM_OK) note_memory(self, bytes);
    return status;
}

/* ---- restarting the window ---- */

/* Lines of the window are fetched eight buckets ahead of their use. */
static void renumber(exact *self)
{
    const fm_recency_window *window = &self->window;
    fm_bucket *const buckets = self->table.buckets;
    const uint64_t count = self->table.bucket_count;
    enum { AHEAD = 8 };
    for (uint64_t i = 0; i < count; i++) {
        if (i + AHEAD < count)
            for (int slot = 0; slot < FM_BUCKET_SLOTS; slot++)
                __builtin_prefetch(fm_recency_window_line(window, buckets[i + AHEAD].position[slot]));
        for (int slot = 0; slot < FM_BUCKET_SLOTS; slot++) {
            uint64_t old = buckets[i].position[slot];
            if (!old) break;
            buckets[i].position[slot] =
                fm_recency_window_packed_position(fm_recency_window_rank(window, old));
        }
    }
}

typedef struct bounding {
    exact *self;
    uint64_t dropped; /* blocks of this rank or below go */
} bounding;

static uint64_t keep_within_bound(void *context, uint64_t key, uint64_t position, uint64_t time)
{
    bounding *bounded = context;
    uint64_t rank = fm_recency_window_rank(&bounded->self->window, position);
    if (rank > bounded->dropped) return fm_recency_window_packed_position(rank - bounded->dropped);
    if (bounded->self->with_times) fm_seen_set_store_time(bounded->self->seen, key, time);
    return 0;
}

/* Under a bound: it is time to drop what lies beyond it. */
static bool too_many(const exact *self)
{
    return self->bound && self->table.used > BOUND_SLACK &&
           (self->table.used - BOUND_SLACK) / 2 > self->bound; /* a bound may be as large as 2^64 - 1 */
}

static fm_status restart(exact *self, fm_error *error)
{
    uint64_t live = self->table.used;
    uint64_t kept = self->bound && live > self->bound ? self->bound : live;
    uint64_t bytes = exact_memory((fm_engine *)self) - fm_recency_window_memory(&self->window);
    uint64_t grown = fm_recency_window_memory_for(kept), now = fm_recency_window_memory(&self->window);
    bytes += grown > now ? grown : now;
    fm_status status = check_limit(self, bytes, error);
    if (status == FM_OK) status = fm_recency_window_reserve(&self->window, kept, error);
    if (status != FM_OK) {
        self->window_full = true;
        return status;
    }
    note_memory(self, bytes);
    if (kept < live) {
        bounding bounded = {.self = self, .dropped = live - kept};
        fm_block_table_filter(&self->table, keep_within_bound, &bounded);
    } else {
        renumber(self);
    }
    fm_recency_window_restart(&self->window, kept);
    self->window_full = false;
    return FM_OK;
}

/* ---- one chunk ---- */

/* The lookups with times: the same lists, one reference after the other. */
static void lookup_timed(exact *self, const uint64_t *keys, uint64_t *times)
{
    fm_chunk *chunk = &self->chunk;
    const uint64_t base = fm_recency_window_open_base(&self->window);
    uint32_t live = self->window.open_live;
    chunk->near_count = chunk->far_count = chunk->fresh_count = 0;
    for (size_t i = 0; i < chunk->count; i++) {
        uint64_t old, now = self->clock + i;
        size_t slot = fm_block_table_exchange_slot(&self->table, keys[i], self->window.position + i, &old);
        times[i] = old ? now - self->table.times[slot] : FM_COLD;
        self->table.times[slot] = now;
        if (!old) {
            chunk->fresh_index[chunk->fresh_count++] = (uint32_t)i;
            live++;
        } else if (old >= base) {
            chunk->near_position[chunk->near_count] = (uint32_t)(old - base);
            chunk->near_distance[chunk->near_count] = live;
            chunk->near_index[chunk->near_count++] = (uint32_t)i;
        } else {
            chunk->far_position[chunk->far_count] = old;
            chunk->far_distance[chunk->far_count] = live;
            chunk->far_index[chunk->far_count++] = (uint32_t)i;
            live++;
        }
    }
}

/* Under a bound: is a block that is not held a first touch? */
static uint64_t fresh_distance(exact *self, uint64_t key, uint64_t now, uint64_t *time)
{
    uint64_t budget = UINT64_MAX, last_time = 0;
    if (self->max_memory) {
        uint64_t others = exact_memory((fm_engine *)self) - fm_seen_set_memory(self->seen);
        budget = self->max_memory > others ? self->max_memory - others : 0;
    }
    fm_seen seen = fm_seen_set_insert(self->seen, key, budget, &last_time);
    /* No memory to remember it: from now on nobody can know. */
    if (seen == FM_SEEN_NO_MEMORY) seen = fm_seen_set_insert(self->seen, key, 0, &last_time);
    uint64_t seen_peak = fm_seen_set_memory_peak(self->seen);
    if (seen_peak != self->seen_peak) {
        self->seen_peak = seen_peak;
        note_memory(self, exact_memory((fm_engine *)self) - fm_seen_set_memory(self->seen) + seen_peak);
    }
    if (time) *time = seen == FM_SEEN_NEW ? FM_COLD : seen == FM_SEEN_KNOWN ? now - last_time : FM_BEYOND;
    return seen == FM_SEEN_NEW ? FM_COLD : FM_BEYOND;
}

/* Distances at or over the bound leave the list; returns how many stay. */
static size_t cut_at_bound(uint32_t *distances, size_t count, uint64_t bound, uint64_t *beyond)
{
    size_t kept = 0;
    for (size_t i = 0; i < count; i++) {
        distances[kept] = distances[i];
        kept += distances[i] < bound;
    }
    *beyond += count - kept;
    return kept;
}

static void tally_list(const exact *self, fm_tally *tally, uint32_t *distances, size_t count)
{
    if (tally->bins != FM_BINS_LOGLINEAR) {
        fm_tally_add32(tally, distances, count);
        return;
    }
    self->kernels->loglinear(distances, count);
    fm_tally_add_indices(tally, distances, count);
}

static void deliver_counts(exact *self, const uint64_t *keys, fm_tally *tally)
{
    fm_chunk *chunk = &self->chunk;
    if (self->bound) {
        for (size_t i = 0; i < chunk->fresh_count; i++) {
            uint64_t distance = fresh_distance(self, keys[chunk->fresh_index[i]], 0, NULL);
            tally->cold += distance == FM_COLD;
            tally->beyond += distance == FM_BEYOND;
        }
        size_t near = cut_at_bound(chunk->near_distance, chunk->near_count, self->bound, &tally->beyond);
        size_t far = cut_at_bound(chunk->far_distance, chunk->far_count, self->bound, &tally->beyond);
        chunk->near_count = near;
        chunk->far_count = far;
    } else {
        tally->cold += chunk->fresh_count;
    }
    tally_list(self, tally, chunk->near_distance, chunk->near_count);
    tally_list(self, tally, chunk->far_distance, chunk->far_count);
}

static void deliver_ordered(exact *self, const uint64_t *keys, uint64_t *distances, uint64_t *times)
{
    const fm_chunk *chunk = &self->chunk;
    const uint64_t bound = self->bound ? self->bound : FM_BEYOND;
    for (size_t i = 0; i < chunk->near_count; i++) {
        uint64_t distance = chunk->near_distance[i];
        distances[chunk->near_index[i]] = distance < bound ? distance : FM_BEYOND;
    }
    for (size_t i = 0; i < chunk->far_count; i++) {
        uint64_t distance = chunk->far_distance[i];
        distances[chunk->far_index[i]] = distance < bound ? distance : FM_BEYOND;
    }
    for (size_t i = 0; i < chunk->fresh_count; i++) {
        size_t index = chunk->fresh_index[i];
        distances[index] =
            self->bound ? fresh_distance(self, keys[index], self->clock + index, times ? &times[index] : NULL)
                        : FM_COLD;
    }
}

/* The part of a run that the next chunk may take: it stays within a line. */
static size_t chunk_size(size_t left, size_t line_left)
{
    size_t size = left < FM_CHUNK ? left : FM_CHUNK;
    return size < line_left ? size : line_left;
}

/* A run of references. *done counts those taken, also on failure. */
static fm_status run(exact *self, const uint64_t *keys, size_t count, outlet out, size_t *done,
                     fm_error *error)
{
    const fm_exact_kernels *kernels = self->kernels;
    fm_block_table *table = &self->table;
    fm_recency_window *window = &self->window;
    fm_chunk *chunk = &self->chunk;
    *done = 0;
    if (count == 0) return FM_OK;
    fm_status status = self->window_full ? restart(self, error) : FM_OK;
    if (status == FM_OK) status = make_room(self, TWO_CHUNKS, error);
    if (status != FM_OK) return status;

    fm_bucket **homes = self->homes[0], **soon = self->homes[1];
    chunk->count = chunk_size(count, fm_recency_window_run(window));
    if (!out.times) kernels->home(table, keys, chunk->count, homes);
    while (status == FM_OK && chunk->count > 0) {
        if (out.times)
            lookup_timed(self, keys, out.times);
        else
            kernels->lookup(table, window, keys, homes, chunk);

        /* The next chunk's buckets, to be fetched while this one's distances are found. */
        const size_t taken = chunk->count;
        size_t line_left = fm_recency_window_run(window) - taken;
        size_t next = chunk_size(count - taken, line_left ? line_left : FM_LINE_BITS);
        status = make_room(self, TWO_CHUNKS, error);
        if (status == FM_OK && !out.ordered)
            status = fm_tally_reserve(out.tally, table->used + TWO_CHUNKS, error);
        if (status == FM_OK && !out.times) kernels->home(table, keys + taken, next, soon);
        for (size_t i = status == FM_OK && !out.times ? next : 0; i < taken; i++) soon[i] = table->buckets;
        const size_t near = chunk->near_count, far = chunk->far_count;
        kernels->near(window, chunk, soon);
        kernels->far(window, chunk, soon + near);
        for (size_t i = near + far; i < taken; i++) __builtin_prefetch(soon[i], 1, 3);

        window->open_live += (uint32_t)(taken - near);
        if (out.ordered) {
            deliver_ordered(self, keys, out.distances, out.times);
            out.distances += taken;
            if (out.times) out.times += taken;
        } else {
            deliver_counts(self, keys, out.tally);
        }
        keys += taken;
        count -= taken;
        *done += taken;
        self->clock += taken;
        bool room = fm_recency_window_advance(window, taken);
        if (too_many(self)) room = false;
        if (!room) {
            fm_status restarted = restart(self, status == FM_OK ? error : NULL);
            if (status == FM_OK) status = restarted;
        }
        chunk->count = next;
        fm_bucket **swap = homes;
        homes = soon;
        soon = swap;
    }
    return status;
}

static fm_status exact_feed(fm_engine *engine, const uint64_t *blocks, size_t count, uint64_t *distances,
                            uint64_t *times, size_t *done, fm_error *error)
{
    exact *self = (exact *)engine;
    fm_status status = run(self, blocks, count,
                           (outlet){.ordered = true, .distances = distances, .times = times}, done, error);
    if (*done > 0) {
        self->last = blocks[*done - 1];
        self->started = true;
    }
    return status;
}

/* ---- a part through the front ---- */

/* Whether a part can go through without a stop: the table and the window have room for all of it. */
static bool front_fits(exact *self)
{
    if (!self->kernels->front || self->window_full || (self->bound && self->bound <= FM_FRONT)) return false;
    if (fm_recency_window_left(&self->window) < FM_PART + FM_CHUNK) return false;
    return make_room(self, FM_PART + TWO_CHUNKS, NULL) == FM_OK;
}

/* The blocks in the front leave it, least recent first. */
static void front_empty(exact *self)
{
    const fm_front *front = &self->front;
    for (size_t i = front->inside_count; i-- > 0;) {
        *self->front_slots[front->inside[i]] = self->window.position;
        self->window.open_live++;
        fm_recency_window_advance(&self->window, 1);
    }
}

/* Counts a part that front_fits. Nothing in it can fail. */
static void run_front(exact *self, const uint64_t *keys, size_t count, fm_tally *tally)
{
    const fm_exact_kernels *kernels = self->kernels;
    fm_recency_window *window = &self->window;
    fm_chunk *chunk = &self->chunk;
    fm_front *front = &self->front;
    kernels->front(keys, count, front);
    for (uint64_t distance = 0; distance < FM_FRONT; distance++)
        fm_tally_add_many(tally, distance, front->hits[distance]);

    fm_bucket **homes = self->front_homes;
    kernels->home(&self->table, front->key, front->missed, homes);
    for (size_t i = 0; i < FM_CHUNK; i++) homes[front->missed + i] = self->table.buckets;
    for (size_t i = 0; i < FM_CHUNK && i < front->missed; i++) __builtin_prefetch(homes[i], 1, 3);
    for (size_t first = 0; first < front->missed; first += chunk->count) {
        /* The first ones find room in the front: nobody leaves, no position is taken. */
        const bool full = first >= FM_FRONT;
        chunk->count = full ? chunk_size(front->missed - first, fm_recency_window_run(window))
                            : chunk_size(front->missed - first, FM_FRONT - first);
        kernels->lookup_missed(&self->table, window, front, first, homes + first, self->front_slots, chunk);
        const size_t near = chunk->near_count;
        fm_bucket *const *soon = homes + first + chunk->count;
        kernels->near(window, chunk, soon);
        kernels->far(window, chunk, soon + near);
        window->open_live += (uint32_t)((full ? chunk->count : 0) - near);
        deliver_counts(self, front->key + first, tally);
        if (full) fm_recency_window_advance(window, chunk->count);
    }
    front_empty(self);
    self->clock += count;
}

/* Stands where a run stopped short: after the last repeat of the `taken`th reference that is no repeat. */
static size_t stand_after(const exact *self, const uint64_t *blocks, size_t count, size_t taken)
{
    uint64_t before = self->started ? self->last : ~blocks[0];
    size_t position = 0, seen = 0;
    for (; position < count; position++) {
        bool kept = blocks[position] != before;
        if (kept && seen == taken) break;
        seen += kept;
        before = blocks[position];
    }
    return position;
}

/*
 * A repeat of the latest block has distance 0 and moves nothing: it need not reach the table. Looking for
 * repeats pays from one in sixteen on; where there were fewer, the next parts go through as they are.
 */
static fm_status exact_count(fm_engine *engine, const uint64_t *blocks, size_t count, fm_tally *tally,
                             size_t *done, fm_error *error)
{
    exact *self = (exact *)engine;
    *done = 0;
    while (count > 0) {
        const size_t part = count < FM_PART ? count : FM_PART;
        const uint64_t *left = blocks;
        size_t left_count = part, taken = 0;
        if (self->straight > 0) {
            self->straight--;
        } else {
            uint64_t last = self->started ? self->last : ~blocks[0];
            left_count = self->kernels->collapse(blocks, part, &last, self->collapsed);
            left = self->collapsed;
            if (part - left_count < part / 16) self->straight = STRAIGHT;
        }
        fm_status status = fm_tally_reserve(tally, self->table.used + FM_PART + TWO_CHUNKS, error);
        if (status != FM_OK) return status;
        /* The front pays where it catches half of what is left; else a look now and then will do. */
        if (left != blocks && self->frontless > 0) {
            self->frontless--;
        } else if (left != blocks && front_fits(self)) {
            run_front(self, left, left_count, tally);
            if (self->front.missed > left_count / 2) self->frontless = FRONTLESS;
            taken = left_count;
            left_count = 0;
            if (too_many(self)) status = restart(self, error);
        }
        if (left_count > 0) status = run(self, left, left_count, (outlet){.tally = tally}, &taken, error);
        size_t position = left == blocks ? taken : part;
        if (status != FM_OK && left != blocks) position = stand_after(self, blocks, part, taken);
        fm_tally_add_many(tally, 0, position - taken);
        self->clock += position - taken;
        *done += position;
        if (position > 0) {
            self->last = blocks[position - 1];
            self->started = true;
        }
        if (status != FM_OK) return status;
        blocks += part;
        count -= part;
    }
    return FM_OK;
}

static uint64_t exact_distinct(const fm_engine *engine)
{
    const exact *self = (const exact *)engine;
    return self->seen ? fm_seen_set_count(self->seen) : self->table.used;
}

static bool exact_cold_known(const fm_engine *engine)
{
    const exact *self = (const exact *)engine;
    return !self->seen || !fm_seen_set_given_up(self->seen);
}

const fm_engine_ops fm_engine_exact = {
    .info = {.name = "exact",
             .summary = "exact, by counting the bits of a sliding window: the fastest (default)",
             .exact = true},
    .create = exact_create,
    .destroy = exact_destroy,
    .feed = exact_feed,
    .count = exact_count,
    .distinct = exact_distinct,
    .cold_known = exact_cold_known,
    .memory = exact_memory,
    .memory_peak = exact_memory_peak,
};

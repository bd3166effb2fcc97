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
 * adds O(1) amortised. Space: 27 to 40 bytes a live block for the table, 2.3 for the window. Tags, for
 * attribution, take no space: they stand in the unused bits of the table's positions.
 *
 * Under a bound, blocks that are deeper in the stack are dropped whenever the window restarts, which
 * then happens at the latest when twice the bound is live. What was dropped is remembered in a
 * seen_set, so that a return can be told from a first touch.
 *
 * Limits: fewer than 2^32 live blocks (that would be 180 GB); more are refused with FM_E_LIMIT.
 */
#include "base/error.h"
#include "base/memory.h"
#include "engine/exact_state.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum {
    FRONTLESS = 31, /* parts that go past the front when it caught too little */
    STRAIGHT = 15,  /* parts that go through without a look for repeats when there were few */
};
/* Counters of the window are u32: right as long as no more blocks are live. */
#define LIVE_LIMIT UINT64_C(0xFFFFFFFF)

static void exact_destroy(fm_engine *engine)
{
    fm_exact *self = (fm_exact *)engine;
    if (!self) return;
    fm_block_table_clear(&self->table);
    fm_recency_window_clear(&self->window);
    fm_seen_set_destroy(self->seen);
    free(self->tags);
    free(self);
}

/* ---- memory ---- */

static uint64_t memory_beside_table(const fm_exact *self)
{
    return sizeof *self + (self->tags ? sizeof *self->tags : 0) + fm_recency_window_memory(&self->window) +
           (self->seen ? fm_seen_set_memory(self->seen) : 0);
}

uint64_t fm_exact_memory(const fm_exact *self)
{
    return memory_beside_table(self) + fm_block_table_memory(&self->table);
}

static uint64_t exact_memory(const fm_engine *engine)
{
    return fm_exact_memory((const fm_exact *)engine);
}

void fm_exact_note_memory(fm_exact *self, uint64_t bytes)
{
    if (bytes > self->memory_peak) self->memory_peak = bytes;
}

static uint64_t exact_memory_peak(const fm_engine *engine)
{
    return ((const fm_exact *)engine)->memory_peak;
}

fm_status fm_exact_check_limit(const fm_exact *self, uint64_t bytes, fm_error *error)
{
    if (self->max_memory && bytes > self->max_memory)
        return fm_fail(error, FM_E_LIMIT, NULL,
                       "the memory limit of %" PRIu64 " bytes cannot be kept: %" PRIu64
                       " blocks are live and %" PRIu64 " bytes are needed to go on",
                       self->max_memory, self->table.used, bytes);
    return FM_OK;
}

fm_status fm_exact_make_room(fm_exact *self, uint64_t more, fm_error *error)
{
    if (self->table.used + more > LIVE_LIMIT)
        return fm_fail(error, FM_E_LIMIT, NULL, "more than %" PRIu64 " distinct blocks are live",
                       LIVE_LIMIT - more);
    if (fm_block_table_has_room(&self->table, more)) return FM_OK;
    uint64_t bytes = memory_beside_table(self) + fm_block_table_memory_grown(&self->table, more);
    fm_status status = fm_exact_check_limit(self, bytes, error);
    if (status == FM_OK) status = fm_block_table_grow(&self->table, more, error);
    if (status == FM_OK) fm_exact_note_memory(self, bytes);
    return status;
}

static fm_status exact_create(fm_engine **engine, const fm_engine_options *options, fm_error *error)
{
    const fm_exact_kernels *kernels = fm_exact_kernels_find(options->isa);
    if (!kernels)
        return fm_fail(error, FM_E_UNSUPPORTED, NULL, "this machine cannot run the instruction set '%s'",
                       options->isa ? options->isa : "");
    fm_exact *self = NULL;
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
    if (status == FM_OK && options->tags) {
        self->tags = fm_calloc(1, sizeof *self->tags);
        if (!self->tags) status = fm_fail_memory(error, sizeof *self->tags, "the engine's tags");
    }
    if (status == FM_OK && self->max_memory && fm_exact_memory(self) > self->max_memory)
        status = fm_fail(error, FM_E_LIMIT, NULL,
                         "a memory limit of %" PRIu64 " bytes is too small to start: %" PRIu64 " are needed",
                         self->max_memory, fm_exact_memory(self));
    if (status != FM_OK) {
        exact_destroy((fm_engine *)self);
        return status;
    }
    fm_exact_note_memory(self, fm_exact_memory(self));
    *engine = (fm_engine *)self;
    return FM_OK;
}

/* ---- a run of references, chunk by chunk ---- */

/* The lookups with times: the same lists, one reference after the other. */
static void lookup_timed(fm_exact *self, const uint64_t *keys, const fm_outlet *out)
{
    fm_chunk *chunk = &self->chunk;
    const uint64_t base = fm_recency_window_open_base(&self->window);
    uint32_t live = self->window.open_live;
    chunk->near_count = chunk->far_count = chunk->fresh_count = 0;
    for (size_t i = 0; i < chunk->count; i++) {
        uint64_t old, now = self->clock + i, position = self->window.position + i, pair = 0;
        if (out->leave) position |= (uint64_t)out->leave[i] << FM_TAG_SHIFT;
        size_t slot = fm_block_table_exchange_slot(&self->table, keys[i], position, &old);
        out->times[i] = old ? now - self->table.times[slot] : FM_COLD;
        self->table.times[slot] = now;
        if (out->now) pair = fm_pair_word((uint32_t)(old >> FM_TAG_SHIFT), out->now[i], 0);
        old &= FM_POSITION_BITS;
        if (!old) {
            chunk->fresh_pair[chunk->fresh_count] = pair;
            chunk->fresh_index[chunk->fresh_count++] = (uint32_t)i;
            live++;
        } else if (old >= base) {
            chunk->near_pair[chunk->near_count] = pair;
            chunk->near_position[chunk->near_count] = (uint32_t)(old - base);
            chunk->near_distance[chunk->near_count] = live;
            chunk->near_index[chunk->near_count++] = (uint32_t)i;
        } else {
            chunk->far_pair[chunk->far_count] = pair;
            chunk->far_position[chunk->far_count] = old;
            chunk->far_distance[chunk->far_count] = live;
            chunk->far_index[chunk->far_count++] = (uint32_t)i;
            live++;
        }
    }
}

static void lookup(fm_exact *self, const uint64_t *keys, fm_bucket *const *homes, const fm_outlet *out)
{
    if (out->times)
        lookup_timed(self, keys, out);
    else if (out->now)
        self->kernels->lookup_tagged(&self->table, &self->window, keys, out->now, out->leave, homes,
                                     &self->chunk);
    else
        self->kernels->lookup(&self->table, &self->window, keys, homes, &self->chunk);
}

static void outlet_advance(fm_outlet *out, size_t taken)
{
    out->done += taken;
    if (out->now) {
        out->now += taken;
        out->leave += taken;
    }
    if (!out->ordered) return;
    out->distances += taken;
    if (out->times) out->times += taken;
    if (out->uses) out->uses += taken;
}

/* A run of references. *done counts those taken, also on failure. */
static fm_status run(fm_exact *self, const uint64_t *keys, size_t count, fm_outlet out, size_t *done,
                     fm_error *error)
{
    const fm_exact_kernels *kernels = self->kernels;
    fm_block_table *table = &self->table;
    fm_recency_window *window = &self->window;
    fm_chunk *chunk = &self->chunk;
    *done = 0;
    if (count == 0) return FM_OK;
    fm_status status = self->window_full ? fm_exact_restart(self, error) : FM_OK;
    if (status == FM_OK) status = fm_exact_make_room(self, FM_TWO_CHUNKS, error);
    if (status != FM_OK) return status;

    fm_bucket **homes = self->homes[0], **soon = self->homes[1];
    chunk->count = fm_exact_chunk_size(count, fm_recency_window_run(window));
    if (!out.times) kernels->home(table, keys, chunk->count, homes);
    while (status == FM_OK && chunk->count > 0) {
        lookup(self, keys, homes, &out);

        /* The next chunk's buckets, to be fetched while this one's distances are found. */
        const size_t taken = chunk->count;
        size_t line_left = fm_recency_window_run(window) - taken;
        size_t next = fm_exact_chunk_size(count - taken, line_left ? line_left : FM_LINE_BITS);
        status = fm_exact_make_room(self, FM_TWO_CHUNKS, error);
        if (status == FM_OK && !out.ordered)
            status = fm_tally_reserve(out.tally, table->used + FM_TWO_CHUNKS, error);
        if (status == FM_OK && !out.times) kernels->home(table, keys + taken, next, soon);
        for (size_t i = status == FM_OK && !out.times ? next : 0; i < taken; i++) soon[i] = table->buckets;
        const size_t near = chunk->near_count, far = chunk->far_count;
        kernels->near(window, chunk, soon);
        kernels->far(window, chunk, soon + near);
        for (size_t i = near + far; i < taken; i++) __builtin_prefetch(soon[i], 1, 3);

        window->open_live += (uint32_t)(taken - near);
        if (out.ordered)
            fm_exact_deliver_ordered(self, keys, &out);
        else
            fm_exact_deliver_counts(self, keys, &out);
        outlet_advance(&out, taken);
        keys += taken;
        count -= taken;
        *done += taken;
        self->clock += taken;
        bool room = fm_recency_window_advance(window, taken);
        if (fm_exact_too_many(self)) room = false;
        if (!room) {
            fm_status restarted = fm_exact_restart(self, status == FM_OK ? error : NULL);
            if (status == FM_OK) status = restarted;
        }
        chunk->count = next;
        fm_bucket **swap = homes;
        homes = soon;
        soon = swap;
    }
    return status;
}

/* ---- in order ---- */

static fm_status feed(fm_exact *self, const uint64_t *blocks, size_t count, fm_outlet out, size_t *done,
                      fm_error *error)
{
    out.ordered = true;
    fm_status status = run(self, blocks, count, out, done, error);
    if (*done > 0) {
        self->last = blocks[*done - 1];
        self->started = true;
    }
    return status;
}

static fm_status exact_feed(fm_engine *engine, const uint64_t *blocks, size_t count, uint64_t *distances,
                            uint64_t *times, size_t *done, fm_error *error)
{
    fm_outlet out = {.distances = distances, .times = times};
    return feed((fm_exact *)engine, blocks, count, out, done, error);
}

static fm_status exact_feed_tagged(fm_engine *engine, const uint64_t *blocks, const uint32_t *tags,
                                   size_t count, uint64_t *distances, uint64_t *times, uint32_t *uses,
                                   size_t *done, fm_error *error)
{
    fm_outlet out = {.distances = distances, .times = times, .uses = uses, .now = tags, .leave = tags};
    return feed((fm_exact *)engine, blocks, count, out, done, error);
}

/* ---- counted ---- */

/* Stands where a run stopped short: after the last repeat of the `taken`th reference that is no repeat. */
static size_t stand_after(const uint64_t *blocks, size_t count, uint64_t before, size_t taken)
{
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
 *
 * With tags, a part's first reference is never taken for a repeat: its block would have to be told of the new
 * tag. And where references that near are wanted on the list of late ones, nothing is removed.
 */
static fm_status count_part(fm_exact *self, const uint64_t *blocks, const uint32_t *tags, size_t part,
                            fm_outlet out, size_t *done, fm_error *error)
{
    fm_kept_tags *kept = tags ? &self->tags->kept : NULL;
    const bool all_wanted = tags && out.pairs->late_wanted && out.pairs->late_from < FM_FRONT;
    const uint64_t before = self->started && !tags ? self->last : ~blocks[0];
    const uint64_t *left = blocks;
    size_t left_count = part, taken = 0;
    *done = 0;
    fm_status status = fm_tally_reserve(out.tally, self->table.used + FM_PART + FM_TWO_CHUNKS, error);
    if (status == FM_OK && tags) status = fm_pairs_reserve(out.pairs, part, error);
    if (status != FM_OK) return status;
    out.now = out.leave = tags;
    if (all_wanted || self->straight > 0) {
        self->straight -= self->straight > 0;
    } else {
        left = self->collapsed;
        if (tags) {
            kept->index_wanted = out.pairs->late_wanted;
            left_count = self->kernels->collapse_tagged(blocks, tags, part, self->collapsed, kept);
            out.now = kept->now;
            out.leave = kept->leave;
            out.kept_index = kept->index;
        } else {
            uint64_t last = before;
            left_count = self->kernels->collapse(blocks, part, &last, self->collapsed);
        }
        if (part - left_count < part / 16) self->straight = STRAIGHT;
    }
    /* The front pays where it catches half of what is left; else a look now and then will do. */
    bool through_front = false;
    if (left != blocks && self->frontless > 0) {
        self->frontless--;
    } else if (left != blocks && fm_exact_front_fits(self)) {
        through_front = true;
        fm_exact_run_front(self, left, left_count, out);
        if (self->front.missed > left_count / 2) self->frontless = FRONTLESS;
        taken = left_count;
        if (fm_exact_too_many(self)) status = fm_exact_restart(self, error);
    }
    if (!through_front && left_count > 0) status = run(self, left, left_count, out, &taken, error);
    size_t position = left == blocks ? taken : part;
    if (taken < left_count && left != blocks) position = stand_after(blocks, part, before, taken);
    if (tags && left != blocks) {
        /* The words of repeats come first, in order. */
        size_t words = through_front ? kept->pair_count : position - taken;
        self->kernels->count_pairs(&out.pairs->table, kept->pair, words);
    }
    fm_tally_add_many(out.tally, 0, position - taken);
    self->clock += position - taken;
    *done = position;
    if (position > 0) {
        self->last = blocks[position - 1];
        self->started = true;
    }
    return status;
}

static fm_status count_all(fm_exact *self, const uint64_t *blocks, const uint32_t *tags, size_t count,
                           fm_outlet out, size_t *done, fm_error *error)
{
    fm_status status = FM_OK;
    *done = 0;
    while (count > *done && status == FM_OK) {
        const size_t left = count - *done;
        size_t taken;
        out.offset = *done;
        status = count_part(self, blocks + *done, tags ? tags + *done : NULL, left < FM_PART ? left : FM_PART,
                            out, &taken, error);
        *done += taken;
    }
    return status;
}

static fm_status exact_count(fm_engine *engine, const uint64_t *blocks, size_t count, fm_tally *tally,
                             size_t *done, fm_error *error)
{
    return count_all((fm_exact *)engine, blocks, NULL, count, (fm_outlet){.tally = tally}, done, error);
}

static fm_status exact_count_tagged(fm_engine *engine, const uint64_t *blocks, const uint32_t *tags,
                                    size_t count, fm_tally *tally, fm_pairs *pairs, size_t *done,
                                    fm_error *error)
{
    fm_outlet out = {.tally = tally, .pairs = pairs};
    return count_all((fm_exact *)engine, blocks, tags, count, out, done, error);
}

static bool exact_can_take(const fm_engine *engine, size_t count, const fm_tally *tally)
{
    const fm_exact *self = (const fm_exact *)engine;
    uint64_t most = self->table.used + count + FM_PART + FM_TWO_CHUNKS;
    return !self->window_full && most <= self->table.limit &&
           fm_recency_window_left(&self->window) > count + FM_CHUNK &&
           (tally->bins != FM_BINS_EXACT || most <= tally->capacity);
}

static uint64_t exact_distinct(const fm_engine *engine)
{
    const fm_exact *self = (const fm_exact *)engine;
    return self->seen ? fm_seen_set_count(self->seen) : self->table.used;
}

static bool exact_cold_known(const fm_engine *engine)
{
    const fm_exact *self = (const fm_exact *)engine;
    return !self->seen || !fm_seen_set_given_up(self->seen);
}

const fm_engine_ops fm_engine_exact = {
    .info = {.name = "exact",
             .summary = "exact, by counting the bits of a sliding window: the fastest (default)",
             .exact = true},
    .create = exact_create,
    .destroy = exact_destroy,
    .feed = exact_feed,
    .feed_tagged = exact_feed_tagged,
    .count = exact_count,
    .count_tagged = exact_count_tagged,
    .can_take = exact_can_take,
    .distinct = exact_distinct,
    .cold_known = exact_cold_known,
    .memory = exact_memory,
    .memory_peak = exact_memory_peak,
};

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * exact.c - the default engine: exact reuse distances at a few times the cost of a hash lookup.
 *
 * It is Bennett & Kruskal's idea (mark in time the latest reference to every block; a distance is the
 * number of marks since) with structures made for today's machines: marks are bits in a sliding window
 * (exact_kernels.h), blocks are found in a table of cache-line buckets (engine_tables.h), and references
 * pass through some hundred lookups at a time, whose memory accesses are all in flight together
 * (exact_kernels.h).
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
#include "engine/exact/exact_kernels.h"
#include "engine/exact/exact_state.h"

#include <fathom/engines.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

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

/* for the peak */
static void note_memory(fm_exact *self, uint64_t bytes)
{
    if (bytes > self->memory_peak) self->memory_peak = bytes;
}

static uint64_t exact_memory_peak(const fm_engine *engine)
{
    return ((const fm_exact *)engine)->memory_peak;
}

static fm_status check_limit(const fm_exact *self, uint64_t bytes, fm_error *error)
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
    fm_status status = check_limit(self, bytes, error);
    if (status == FM_OK) status = fm_block_table_grow(&self->table, more, error);
    if (status == FM_OK) note_memory(self, bytes);
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
    self->held = options->keep_all ? 0 : options->bound;
    self->max_memory = options->max_memory;
    self->clock = options->first_time;
    self->with_times = options->time_distances;
    uint64_t mixed = options->seed * UINT64_C(0xD1342543DE82EF95);
    for (int i = 0; i < 3; i++) {
        mixed = (mixed ^ mixed >> 31) * UINT64_C(0x9E3779B97F4A7C15);
        self->chunk.multiplier[i] = (uint32_t)(mixed >> 32) | 1;
    }
    fm_status status = fm_block_table_create(&self->table, options->seed, options->time_distances, error);
    if (status == FM_OK) status = fm_recency_window_create(&self->window, error);
    if (status == FM_OK && self->held) {
        const uint64_t limit = options->seen_limit ? options->seen_limit : fm_seen_limit;
        self->seen = fm_seen_set_create(limit, ~options->seed, options->time_distances);
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
    note_memory(self, fm_exact_memory(self));
    *engine = (fm_engine *)self;
    return FM_OK;
}

/* ---- the ways in ---- */

static fm_status exact_feed(fm_engine *engine, const fm_references *references,
                            const fm_engine_results *results, size_t *done, fm_error *error)
{
    fm_exact *self = (fm_exact *)engine;
    const fm_outlet out = {.ordered = true,
                           .distances = results->each_distance,
                           .times = results->each_time,
                           .uses = results->each_use,
                           .now = references->now,
                           .leave = references->now};
    *done = 0;
    fm_status status = self->firsts ? fm_exact_reserve_firsts(self, references->count, true, error) : FM_OK;
    if (status == FM_OK) status = fm_exact_run(self, references->blocks, references->count, out, done, error);
    if (*done > 0) {
        self->last = references->blocks[*done - 1];
        self->started = true;
    }
    return status;
}

static bool exact_can_take(const fm_engine *engine, size_t count, const fm_tally *tally)
{
    const fm_exact *self = (const fm_exact *)engine;
    uint64_t most = self->table.used + count + FM_CACHE_CHUNK_MOST + FM_TWO_LOOKUPS;
    return !self->window_full && most <= self->table.limit &&
           fm_recency_window_left(&self->window) > count + FM_LOOKUPS &&
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

void fm_exact_rename_tags(fm_block_table *table, const uint32_t *names)
{
    for (uint64_t i = 0; i < table->bucket_count; i++) {
        uint64_t *const position = table->buckets[i].position;
        for (int slot = 0; slot < FM_BUCKET_SLOTS && position[slot]; slot++)
            position[slot] = (position[slot] & FM_POSITION_BITS) |
                             (uint64_t)names[position[slot] >> FM_TAG_SHIFT] << FM_TAG_SHIFT;
    }
}

static fm_status exact_rename(fm_engine *engine, const uint32_t *names, size_t count, fm_error *error)
{
    (void)count;
    (void)error;
    fm_exact_rename_tags(&((fm_exact *)engine)->table, names);
    return FM_OK;
}

static const fm_engine_tagged tagged = {
    .digest = fm_exact_digest,
    .count_residue = fm_exact_count_residue,
    .rename = exact_rename,
};

const fm_engine_ops fm_engine_exact = {
    .info = {.name = "exact",
             .summary = "exact, by counting the bits of a sliding window: the fastest (default)",
             .exact = true},
    .by_threads = &fm_engine_parallel,
    .tagged = &tagged,
    .create = exact_create,
    .destroy = exact_destroy,
    .feed = exact_feed,
    .count = fm_exact_count,
    .spared_repeats = true,
    .can_take = exact_can_take,
    .distinct = exact_distinct,
    .cold_known = exact_cold_known,
    .memory = exact_memory,
    .memory_peak = exact_memory_peak,
};

/* ==== ends of chunks ==== */

void fm_exact_list_firsts(fm_engine *engine, fm_first_touches *firsts)
{
    ((fm_exact *)engine)->firsts = firsts;
}

void fm_first_touches_clear(fm_first_touches *firsts)
{
    if (firsts->blocks) fm_pages_free(firsts->blocks, firsts->capacity * sizeof *firsts->blocks);
    if (firsts->tags) fm_pages_free(firsts->tags, firsts->tag_capacity * sizeof *firsts->tags);
    *firsts = (fm_first_touches){0};
}

void fm_exact_number_from_here(fm_engine *engine)
{
    ((fm_exact *)engine)->clock = 0;
}

void fm_exact_last_numbers(const fm_engine *engine, const uint64_t *blocks, size_t count, uint32_t *numbers)
{
    enum { TOGETHER = 64 };
    const fm_block_table *table = &((const fm_exact *)engine)->table;
    const fm_exact_kernels *kernels = ((const fm_exact *)engine)->kernels;
    fm_bucket *homes[TOGETHER];
    for (size_t first = 0; first < count; first += TOGETHER) {
        const size_t some = count - first < TOGETHER ? count - first : TOGETHER;
        kernels->home(table, blocks + first, some, homes);
        for (size_t i = 0; i < some; i++) {
            __builtin_prefetch(homes[i]);
            fm_block_table_prefetch_times(table, homes[i]);
        }
        for (size_t i = 0; i < some; i++)
            numbers[first + i] = (uint32_t)fm_block_table_find_time(table, blocks[first + i]);
    }
}

void fm_exact_empty(fm_engine *engine)
{
    fm_exact *self = (fm_exact *)engine;
    fm_block_table_empty(&self->table);
    fm_recency_window_restart(&self->window, 0);
    self->started = self->window_full = self->dropping = false;
    if (self->seen) fm_seen_set_empty(self->seen);
    if (!self->firsts) return;
    self->firsts->count = 0;
    self->firsts->unheld = 0;
    self->firsts->given_up = false;
}

uint64_t fm_exact_live(const fm_engine *engine)
{
    return ((const fm_exact *)engine)->table.used;
}

bool fm_exact_drops(const fm_engine *engine)
{
    return ((const fm_exact *)engine)->held > 0;
}

static uint64_t depth_of(const fm_exact *self, uint64_t position)
{
    const uint32_t rank = fm_recency_window_rank(&self->window, position & FM_POSITION_BITS);
    return (uint32_t)((uint32_t)self->table.used - rank); /* ranks are modulo 2^32 */
}

void fm_exact_depths(const fm_engine *engine, const uint64_t *blocks, size_t count, uint64_t *depths)
{
    const fm_exact *self = (const fm_exact *)engine;
    self->kernels->depths(&self->table, &self->window, blocks, count, depths);
}

uint64_t fm_exact_stack(const fm_engine *engine, uint64_t most, uint64_t *blocks)
{
    const fm_exact *self = (const fm_exact *)engine;
    const fm_block_table *table = &self->table;
    for (uint64_t i = 0; i < table->bucket_count; i++)
        for (int slot = 0; slot < FM_BUCKET_SLOTS; slot++) {
            const fm_bucket *bucket = &table->buckets[i];
            if (!bucket->position[slot]) break;
            const uint64_t depth = depth_of(self, bucket->position[slot]);
            if (depth < most) blocks[depth] = bucket->key[slot];
        }
    return table->used < most ? table->used : most;
}

/*
 * ==== restart ====
 *
 * When the window of `exact` is full: live blocks are renumbered by their ranks; under a
 * bound, those beyond it are dropped. Tags stay with their blocks.
 */

/* Blocks that may be held beyond twice the bound: dropping them costs a sweep of the table, so that it should
 * be worth it; but whoever sets a small bound wants little memory used. */
static uint64_t slack_of(uint64_t bound)
{
    enum { LEAST = 1 << 12, MOST = 1 << 16, SHARES = 4 };
    if (bound >= MOST / SHARES) return MOST;
    return bound * SHARES > LEAST ? bound * SHARES : LEAST;
}

typedef struct bounding {
    fm_exact *self;
    uint64_t dropped; /* blocks of this rank or below go */
} bounding;

static uint64_t keep_within_bound(void *context, uint64_t key, uint64_t position, uint64_t time)
{
    bounding *bounded = context;
    uint64_t rank = fm_recency_window_rank(&bounded->self->window, position & FM_POSITION_BITS);
    if (rank > bounded->dropped)
        return fm_recency_window_packed_position(rank - bounded->dropped) | (position & ~FM_POSITION_BITS);
    if (bounded->self->with_times) fm_seen_set_store_time(bounded->self->seen, key, time);
    return 0;
}

uint64_t fm_exact_seen_budget(const fm_exact *self)
{
    if (!self->max_memory) return UINT64_MAX;
    const uint64_t others = fm_exact_memory(self) - fm_seen_set_memory(self->seen);
    return self->max_memory > others ? self->max_memory - others : 0;
}

void fm_exact_note_seen(fm_exact *self)
{
    const uint64_t peak = fm_seen_set_memory_peak(self->seen);
    if (peak == self->seen_peak) return;
    self->seen_peak = peak;
    note_memory(self, fm_exact_memory(self) - fm_seen_set_memory(self->seen) + peak);
}

/* Before the first block is dropped: all were met, and are held. */
static void remember_all(fm_exact *self)
{
    if (self->dropping) return;
    self->dropping = true;
    /* No memory to remember them: from now on first touches are not known. */
    if (!fm_seen_set_keep_table(self->seen, &self->table, fm_exact_seen_budget(self)))
        fm_seen_set_give_up(self->seen, fm_seen_set_count(self->seen));
    fm_exact_note_seen(self);
}

/* A bound may be as large as 2^64 - 1. */
uint64_t fm_exact_most_held(const fm_engine *engine)
{
    const uint64_t held = ((const fm_exact *)engine)->held;
    if (held == 0 || held > (UINT64_MAX - slack_of(held)) / 2) return UINT64_MAX;
    return 2 * held + slack_of(held);
}

bool fm_exact_too_many(const fm_exact *self)
{
    if (!self->held) return false;
    const uint64_t slack = slack_of(self->held);
    /* A bound may be as large as 2^64 - 1. */
    return self->table.used > slack && (self->table.used - slack) / 2 > self->held;
}

fm_status fm_exact_restart(fm_exact *self, fm_error *error)
{
    uint64_t live = self->table.used;
    uint64_t kept = self->held && live > self->held ? self->held : live;
    uint64_t bytes = fm_exact_memory(self) - fm_recency_window_memory(&self->window);
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
        remember_all(self);
        if (self->with_times) {
            fm_block_table_filter(&self->table, keep_within_bound, &bounded);
        } else {
            const fm_dropping what = {
                .from = fm_recency_window_select(&self->window, (uint32_t)(bounded.dropped + 1)),
                .dropped = bounded.dropped,
                .window = &self->window};
            self->kernels->drop(&self->table, &what);
        }
    } else {
        self->kernels->renumber(&self->table, &self->window);
    }
    fm_recency_window_restart(&self->window, kept);
    self->window_full = false;
    FM_ASSERT(self->table.used == kept && fm_block_table_is_sound(&self->table));
    return FM_OK;
}

/*
 * ==== instruction sets ====
 *
 * Which kernels this machine can run, best first.
 */

static const fm_exact_kernels *const kernels[] = {
#if defined(__x86_64__)
    &fm_exact_avx512,
    &fm_exact_avx2,
#endif
    &fm_exact_portable,
};

enum { KERNELS = sizeof kernels / sizeof kernels[0] };

const char *fm_isa_at(size_t index)
{
    for (size_t i = 0; i < KERNELS; i++)
        if (kernels[i]->usable() && index-- == 0) return kernels[i]->isa;
    return NULL;
}

const fm_exact_kernels *fm_exact_kernels_find(const char *isa)
{
    for (size_t i = 0; i < KERNELS; i++)
        if (kernels[i]->usable() && (!isa || strcmp(kernels[i]->isa, isa) == 0)) return kernels[i];
    return NULL;
}

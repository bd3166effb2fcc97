/* SPDX-License-Identifier: Apache-2.0 */
/*
 * parallel_phase.c - the steps of a phase: from the events of its pieces to their distances (parallel.h says
 * the idea). A step's tasks run at the same time; steps follow each other.
 *
 * Time: a table lookup and O(levels) vector operations an event, as in `exact`; where table and window are
 * divided, also 13 bytes sorted twice, within the first-level cache; O(regions) a phase for the ranges.
 * Restarts of the window cost O(1) an event, amortised.
 */
#include "base/error.h"
#include "base/memory.h"
#include "engine/parallel/parallel.h"

#include <inttypes.h>
#include <string.h>

enum {
    EVENTS_A_TASK = 2048,  /* that are worth a task of its own, at least */
    BOUND_SLACK = 1 << 16, /* as in exact_restart.c */
    KEYS_A_LINE = 8,       /* of a cache */
    COLD = FM_RANGES,      /* the group of events whose block was not held */
};

/* With tags: stands for the old position of a block that was touched before, and is not held: no position,
 * but a tag. */
#define FORGOTTEN (UINT64_C(1) << FM_TAG_SHIFT)

/* Added to the distances of tails, so that they are beyond any bound: nobody asked for them. */
#define TAIL_MARK (UINT32_C(1) << 31)

/* Counters of the window are u32: right as long as no more blocks are live. */
#define LIVE_LIMIT UINT64_C(0xFFFFFFFF)

static size_t one_task(const fm_parallel *self, const fm_parallel_phase *phase)
{
    (void)self;
    (void)phase;
    return 1;
}

static size_t tasks_for_events(const fm_parallel_phase *phase, size_t most)
{
    const uint64_t tasks = phase->events / EVENTS_A_TASK + 1;
    return tasks < most ? (size_t)tasks : most;
}

/* ---- measure: what the phase will need ---- */

static uint64_t events_of_piece(const fm_piece *piece, size_t group)
{
    uint64_t events = 0;
    for (size_t b = 0; b < piece->bundle_count; b++)
        events += piece->bundles[b].begin[group + 1] - piece->bundles[b].begin[group];
    return events;
}

static uint64_t events_of(const fm_parallel *self, const fm_parallel_phase *phase, size_t group)
{
    uint64_t events = 0;
    for (size_t i = 0; i < phase->count; i++)
        events += events_of_piece(fm_parallel_phase_piece(self, phase, i), group);
    return events;
}

/* Under a limit: nothing grows before it is known that all that may grow has room. */
static fm_status check_limit(const fm_parallel *self, const fm_parallel_phase *phase, fm_error *error)
{
    uint64_t bytes = fm_parallel_memory_beside_tables(self);
    for (size_t p = 0; p < self->partitions; p++) {
        const fm_partition *partition = &self->partition[p];
        const uint64_t events = self->partitions > 1 ? events_of(self, phase, p) : phase->events;
        bytes += fm_block_table_memory_grown(&partition->table, events);
    }
    bytes += fm_shared_window_memory_for(&self->window, self->live, phase->lines) + self->range_of_bytes;
    if (bytes <= self->options.max_memory) return FM_OK;
    return fm_fail(error, FM_E_LIMIT, NULL,
                   "the memory limit of %" PRIu64 " bytes cannot be kept by several threads: %" PRIu64
                   " blocks are live and %" PRIu64 " bytes are needed to go on",
                   self->options.max_memory, self->live, bytes);
}

static bool too_many(const fm_parallel *self)
{
    const uint64_t bound = self->options.bound;
    return bound && self->live > BOUND_SLACK && (self->live - BOUND_SLACK) / 2 > bound;
}

static void measure(fm_parallel *self, fm_parallel_phase *phase, size_t task, fm_parallel_worker *worker)
{
    (void)task;
    (void)worker;
    for (size_t i = 0; i < phase->count; i++) {
        fm_piece *piece = fm_parallel_phase_piece(self, phase, i);
        piece->base = phase->events;
        piece->time = self->clock;
        self->clock += piece->fetched;
        phase->events += piece->events;
        phase->lines += fm_shared_window_lines(piece->events);
    }
    fm_error error;
    fm_status status = FM_OK;
    phase->restarting = !fm_shared_window_fits(&self->window, phase->lines) || too_many(self);
    if (self->live + phase->events > LIVE_LIMIT)
        status = fm_fail(&error, FM_E_LIMIT, NULL, "more than %" PRIu64 " distinct blocks are live",
                         LIVE_LIMIT - phase->events);
    else if (self->options.max_memory)
        status = check_limit(self, phase, &error);
    if (status != FM_OK) fm_parallel_fail(self, status, &error);
}

/* ---- room and restart: blocks get new positions, when the window is full ---- */

static size_t room_tasks(const fm_parallel *self, const fm_parallel_phase *phase)
{
    return phase->restarting && !fm_parallel_failed(self) ? 1 : 0;
}

static void make_room(fm_parallel *self, fm_parallel_phase *phase, size_t task, fm_parallel_worker *worker)
{
    (void)task;
    (void)worker;
    const uint64_t bound = self->options.bound;
    fm_error error;
    phase->dropped = bound && self->live > bound ? self->live - bound : 0;
    fm_status status =
        fm_shared_window_reserve(&self->window, self->live - phase->dropped, phase->lines, &error);
    if (status == FM_OK && self->range_of_bytes < self->window.regions) {
        uint8_t *grown = fm_pages_resize(self->range_of, self->range_of_bytes, self->window.regions);
        if (grown) {
            self->range_of = grown;
            self->range_of_bytes = self->window.regions;
        } else {
            status = fm_fail_memory(&error, self->window.regions, "the ranges of the window");
        }
    }
    if (status != FM_OK) fm_parallel_fail(self, status, &error);
    fm_shared_window_rank_regions(&self->window);
}

static size_t restart_tasks(const fm_parallel *self, const fm_parallel_phase *phase)
{
    return phase->restarting && !fm_parallel_failed(self) ? self->partitions : 0;
}

/* Before blocks are dropped, or are gone already: all that were met are held. */
static fm_status remember_all(fm_partition *partition, fm_error *error)
{
    if (!partition->dropping && !fm_seen_set_keep_table(partition->seen, &partition->table, UINT64_MAX))
        return fm_fail_memory(error, 0, "the set of blocks seen");
    partition->dropping = true;
    return FM_OK;
}

static void restart(fm_parallel *self, fm_parallel_phase *phase, size_t task, fm_parallel_worker *worker)
{
    (void)worker;
    enum { AHEAD = 8 }; /* buckets whose lines of the window are fetched ahead */
    fm_block_table *table = &self->partition[task].table;
    if (phase->dropped > 0) {
        const fm_dropping what = {.from = fm_shared_window_select(&self->window, phase->dropped + 1),
                                  .dropped = phase->dropped,
                                  .words = self->window.words,
                                  .lines = self->window.lines,
                                  .before = self->window.before};
        fm_partition *const partition = &self->partition[task];
        fm_error error;
        fm_status status = remember_all(partition, &error);
        if (status != FM_OK) fm_parallel_fail(self, status, &error);
        self->kernels->drop(table, &what);
        return;
    }
    fm_bucket *const buckets = table->buckets;
    for (uint64_t i = 0; i < table->bucket_count; i++) {
        if (i + AHEAD < table->bucket_count)
            for (int slot = 0; slot < FM_BUCKET_SLOTS; slot++)
                __builtin_prefetch(self->window.words +
                                   ((buckets[i + AHEAD].position[slot] & FM_POSITION_BITS) >> FM_LINE_SHIFT) *
                                       FM_LINE_WORDS);
        for (int slot = 0; slot < FM_BUCKET_SLOTS && buckets[i].position[slot]; slot++) {
            const uint64_t old = buckets[i].position[slot];
            const uint64_t rank = fm_shared_window_rank(&self->window, old & FM_POSITION_BITS);
            buckets[i].position[slot] = fm_shared_window_packed_position(rank) | (old & ~FM_POSITION_BITS);
        }
    }
}

/* ---- lay: bits for the phase's new positions ---- */

static void lay(fm_parallel *self, fm_parallel_phase *phase, size_t task, fm_parallel_worker *worker)
{
    (void)task;
    (void)worker;
    if (fm_parallel_failed(self)) return;
    if (phase->restarting) {
        self->live -= phase->dropped;
        fm_shared_window_restart(&self->window, self->live);
    }
    fm_shared_window_begin(&self->window);
    for (size_t i = 0; i < phase->count; i++) {
        fm_piece *piece = fm_parallel_phase_piece(self, phase, i);
        piece->position = fm_shared_window_add(&self->window, piece->events);
    }
    fm_shared_window_end(&self->window);
    phase->regions = self->window.used;
}

/* ---- table: where was every block, and where is it now ---- */

static size_t table_tasks(const fm_parallel *self, const fm_parallel_phase *phase)
{
    return tasks_for_events(phase, self->partitions);
}

/* Blocks that were not held, under a bound: are they new? With tags, and in order, those that are not get a
 * mark. */
static fm_status count_unheld(const fm_parallel *self, fm_partition *partition, const uint64_t *keys,
                              uint64_t *positions, size_t count, fm_error *error)
{
    for (size_t i = 0; partition->dropping && i < count; i++)
        if (positions[i] == 0) fm_seen_set_prefetch(partition->seen, keys[i]);
    for (size_t i = 0; i < count; i++) {
        if (positions[i] != 0) continue;
        const fm_seen seen = partition->dropping
                                 ? fm_seen_set_insert(partition->seen, keys[i], UINT64_MAX, NULL)
                                 : fm_seen_set_meet(partition->seen);
        if (seen == FM_SEEN_NO_MEMORY) return fm_fail_memory(error, 0, "the set of blocks seen");
        if (!self->given_up && seen == FM_SEEN_NEW) {
            partition->fresh++;
            continue;
        }
        partition->forgotten++;
        if (self->options.tags || self->ordered) positions[i] = FORGOTTEN;
    }
    return FM_OK;
}

/* A walk through the phase's events of one partition, or range, in order: segment by segment. */
typedef struct walk {
    size_t group;
    size_t piece, bundle; /* of the next segment */
} walk;

typedef struct segment {
    const fm_piece *piece;
    const fm_bundle *bundle;
    size_t first, count; /* places in the arrays of the piece */
} segment;

/* Other threads have written them, so that they are in the caches of other cores. */
static void prefetch_segment(const fm_piece *piece, size_t number, size_t group)
{
    enum { HEADERS = 3, POSITIONS_A_LINE = 16 };
    if (number + HEADERS < piece->bundle_count)
        __builtin_prefetch(&piece->bundles[number + HEADERS].begin[group]);
    if (number >= piece->bundle_count) return;
    const fm_bundle *bundle = &piece->bundles[number];
    const size_t first = bundle->first + bundle->begin[group], end = bundle->first + bundle->begin[group + 1];
    if (end - first > FM_BUNDLE) return; /* nothing is sorted: it is in order */
    for (size_t i = first; i < end; i += KEYS_A_LINE) __builtin_prefetch(piece->blocks + i, 1);
    for (size_t i = first; i < end; i += POSITIONS_A_LINE) __builtin_prefetch(piece->known + i);
}

static bool next_segment(const fm_parallel *self, const fm_parallel_phase *phase, walk *at, segment *found)
{
    for (; at->piece < phase->count; at->piece++, at->bundle = 0) {
        const fm_piece *piece = fm_parallel_phase_piece(self, phase, at->piece);
        if (at->bundle == piece->bundle_count) continue;
        const fm_bundle *bundle = &piece->bundles[at->bundle++];
        *found = (segment){.piece = piece,
                           .bundle = bundle,
                           .first = bundle->first + bundle->begin[at->group],
                           .count = (size_t)(bundle->begin[at->group + 1] - bundle->begin[at->group])};
        prefetch_segment(piece, at->bundle + 1, at->group);
        return true;
    }
    return false;
}

/* The next events of a partition: those that stand in a row, as many as a chunk takes. `rest` is what the
 * last one had no room for. */
static void next_chunk(const fm_parallel *self, const fm_parallel_phase *phase, walk *at, segment *rest,
                       const fm_block_table *table, fm_table_chunk *chunk)
{
    while (rest->count == 0)
        if (!next_segment(self, phase, at, rest)) break;
    chunk->count = rest->count < FM_CHUNK ? rest->count : FM_CHUNK;
    if (chunk->count == 0) return;
    chunk->keys = rest->piece->blocks + rest->first;
    chunk->offsets = rest->piece->known + rest->first;
    chunk->position = rest->piece->position;
    chunk->leave = rest->piece->leave ? rest->piece->leave + rest->first : NULL;
    chunk->time = rest->piece->time;
    chunk->old_times = rest->piece->old_times ? rest->piece->old_times + rest->first : NULL;
    chunk->tail = (size_t)(rest->bundle - rest->piece->bundles) >= rest->piece->tail_bundle;
    rest->first += chunk->count;
    rest->count -= chunk->count;
    self->kernels->home(table, chunk->keys, chunk->count, chunk->home);
}

/*
 * Looks up a chunk: its keys are replaced by their blocks' old positions. The next chunk's buckets are
 * fetched meanwhile. There is room for new blocks of this chunk, no more: most events are of blocks that are
 * held, and room for all of a phase would be a table of many times what it holds.
 */
static fm_status exchange(const fm_parallel *self, fm_partition *partition, fm_table_chunk *now,
                          fm_table_chunk *next, fm_parallel_worker *worker, fm_error *error)
{
    fm_block_table *table = &partition->table;
    if (!fm_block_table_has_room(table, now->count)) {
        fm_status status = fm_block_table_grow(table, now->count, error);
        if (status != FM_OK) return status;
        self->kernels->home(table, now->keys, now->count, now->home);
        self->kernels->home(table, next->keys, next->count, next->home);
    }
    for (size_t i = next->count; i < now->count; i++) next->home[i] = table->buckets;
    for (size_t i = now->count; i < next->count; i++) __builtin_prefetch(next->home[i], 1, 3);
    const uint64_t held = table->used;
    /* When nobody can know whether they are new, it is enough to count them, where they need no mark. */
    const bool unknown = self->given_up && !self->options.tags && !self->ordered;
    const bool asked = partition->seen && !now->tail && !unknown;
    if (asked) memcpy(worker->looked_for, now->keys, now->count * sizeof *now->keys);
    if (now->old_times)
        self->kernels->exchange_timed(table, now->home, now->count, now->offsets, now->leave, now->position,
                                      now->time, now->keys, now->old_times, next->home);
    else if (self->options.tags)
        self->kernels->exchange_tagged(table, now->home, now->count, now->offsets, now->leave, now->position,
                                       now->keys, next->home);
    else
        self->kernels->exchange(table, now->home, now->count, now->offsets, now->position, now->keys,
                                next->home);
    if (now->tail) partition->moved += now->count - (table->used - held);
    if (table->used == held || now->tail) return FM_OK;
    if (asked) return count_unheld(self, partition, worker->looked_for, now->keys, now->count, error);
    *(unknown ? &partition->forgotten : &partition->fresh) += table->used - held;
    return FM_OK;
}

/*
 * A piece that was analysed as a whole, in one section, has each block once: after the phase, at least those
 * of the largest one are held. Room for all of them at once is cheaper than a table that grows step by step.
 */
static fm_status make_certain_room(const fm_parallel *self, const fm_parallel_phase *phase, size_t group,
                                   fm_block_table *table, fm_error *error)
{
    uint64_t most = 0;
    for (size_t i = 0; i < phase->count; i++) {
        const fm_piece *piece = fm_parallel_phase_piece(self, phase, i);
        const uint64_t events = piece->distinct ? events_of_piece(piece, group) : 0;
        if (events > most) most = events;
    }
    return most > table->used ? fm_block_table_grow(table, most - table->used, error) : FM_OK;
}

/* Blocks of a piece that are beyond the bound, whatever came before: are they new? Whether they are told so
 * before or after events of the same blocks does not change the sums. */
static fm_status see_segment(const fm_parallel *self, const uint64_t *keys, size_t count,
                             fm_partition *partition, fm_parallel_worker *worker, fm_error *error)
{
    for (size_t first = 0; first < count; first += FM_CHUNK) {
        const size_t now = count - first < FM_CHUNK ? count - first : FM_CHUNK;
        self->kernels->home(&partition->table, keys + first, now, worker->soon);
        for (size_t i = 0; i < now; i++) {
            __builtin_prefetch(worker->soon[i]);
            fm_seen_set_prefetch(partition->seen, keys[first + i]);
        }
        for (size_t i = first; i < first + now; i++) {
            fm_seen seen = FM_SEEN_KNOWN;
            if (!fm_block_table_find(&partition->table, keys[i]))
                seen = fm_seen_set_insert(partition->seen, keys[i], UINT64_MAX, NULL);
            if (seen == FM_SEEN_NO_MEMORY) return fm_fail_memory(error, 0, "the set of blocks seen");
            partition->fresh += seen == FM_SEEN_NEW;
            partition->forgotten += seen != FM_SEEN_NEW;
        }
    }
    return FM_OK;
}

static fm_status see_others(const fm_parallel *self, const fm_parallel_phase *phase, size_t group,
                            fm_partition *partition, fm_parallel_worker *worker, fm_error *error)
{
    fm_status status = FM_OK;
    for (size_t i = 0; i < phase->count; i++) {
        const fm_piece *piece = fm_parallel_phase_piece(self, phase, i);
        for (size_t b = 0; b < piece->seen_bundles && status == FM_OK; b++) {
            const fm_bundle *bundle = &piece->bundles[piece->bundle_count + b];
            const size_t count = bundle->begin[group + 1] - bundle->begin[group];
            const uint64_t *keys = piece->blocks + bundle->first + bundle->begin[group];
            if (self->given_up) {
                partition->forgotten += count;
                continue;
            }
            status = remember_all(partition, error);
            if (status == FM_OK) status = see_segment(self, keys, count, partition, worker, error);
        }
    }
    return status;
}

/* The events of a partition. */
static fm_status look_up(const fm_parallel *self, fm_parallel_phase *phase, size_t group,
                         fm_partition *partition, fm_parallel_worker *worker, fm_error *error)
{
    const uint64_t events = events_of(self, phase, group);
    const uint64_t stride = events / FM_SAMPLES + 1; /* samples are taken from the whole phase */
    fm_table_chunk *now = &worker->looked_up[0], *next = &worker->looked_up[1];
    walk at = {.group = group};
    segment rest = {0};
    uint64_t number = 0, sampled = 0;
    fm_status status = make_certain_room(self, phase, group, &partition->table, error);
    if (status == FM_OK) status = see_others(self, phase, group, partition, worker, error);
    if (status != FM_OK) return status;
    next_chunk(self, phase, &at, &rest, &partition->table, now);
    for (size_t i = 0; i < now->count; i++) __builtin_prefetch(now->home[i], 1, 3);
    while (now->count > 0 && status == FM_OK) {
        next_chunk(self, phase, &at, &rest, &partition->table, next);
        status = exchange(self, partition, now, next, worker, error);
        number += now->count;
        if (number > sampled * stride && phase->sample_count[group] < FM_SAMPLES) {
            phase->samples[group][phase->sample_count[group]++] =
                (uint32_t)((now->keys[now->count / 2] & FM_POSITION_BITS) >> FM_REGION_SHIFT);
            sampled = number / stride + 1;
        }
        fm_table_chunk *swap = now;
        now = next;
        next = swap;
    }
    return status;
}

/*
 * With one partition and one range all events are in order, and splitting would only take out those without
 * an old position: that is done here.
 */
static void chunk_in_order(const fm_parallel *self, const fm_piece *piece, size_t first,
                           const fm_block_table *table, fm_table_chunk *chunk)
{
    const size_t left = piece->events - first;
    chunk->count = left < FM_CHUNK ? left : FM_CHUNK;
    chunk->tail = false;
    chunk->leave = NULL; /* what has tags, or is in order, is divided */
    chunk->old_times = NULL;
    chunk->keys = piece->blocks + first;
    chunk->offsets = piece->known + first;
    chunk->position = piece->position;
    self->kernels->home(table, chunk->keys, chunk->count, chunk->home);
}

static fm_status look_up_in_order(const fm_parallel *self, fm_piece *piece, fm_partition *partition,
                                  fm_parallel_worker *worker, fm_error *error)
{
    fm_table_chunk *now = &worker->looked_up[0], *next = &worker->looked_up[1];
    fm_status status = FM_OK;
    size_t kept = 0;
    chunk_in_order(self, piece, 0, &partition->table, next);
    for (size_t at = 0; at < piece->events && status == FM_OK; at += now->count) {
        fm_table_chunk *swap = now;
        now = next;
        next = swap;
        chunk_in_order(self, piece, at + now->count, &partition->table, next);
        status = exchange(self, partition, now, next, worker, error);
        const uint32_t number = (uint32_t)(piece->base + at);
        for (size_t i = 0; i < now->count && status == FM_OK; i++) {
            const uint64_t old = now->keys[i];
            piece->blocks[kept] = old;
            piece->known[kept] = number + (uint32_t)i;
            kept += old != 0;
        }
    }
    for (size_t r = 1; r <= FM_RANGES; r++) piece->bundles[0].begin[r] = (uint32_t)kept;
    return status;
}

static void table(fm_parallel *self, fm_parallel_phase *phase, size_t task, fm_parallel_worker *worker)
{
    const size_t tasks = phase->tasks;
    fm_error error;
    for (size_t p = task * self->partitions / tasks; p < (task + 1) * self->partitions / tasks; p++) {
        fm_partition *partition = &self->partition[p];
        partition->fresh = partition->forgotten = partition->moved = 0;
        if (fm_parallel_failed(self)) return;
        fm_status status = FM_OK;
        if (self->partitions > 1) status = look_up(self, phase, p, partition, worker, &error);
        for (size_t i = 0; self->partitions == 1 && i < phase->count && status == FM_OK; i++)
            status =
                look_up_in_order(self, fm_parallel_phase_piece(self, phase, i), partition, worker, &error);
        if (status != FM_OK) fm_parallel_fail(self, status, &error);
    }
}

/* ---- count_cold: how many blocks were new ---- */

/* With tags: of a bundle's new blocks, those after the first `left` are not known to be. */
static void forget_fresh(const fm_piece *piece, const fm_bundle *bundle, uint64_t *left)
{
    uint64_t *const positions = piece->blocks + bundle->first;
    const uint8_t *const group = piece->group + bundle->first;
    uint32_t next[FM_PARTITIONS];
    memcpy(next, bundle->begin, sizeof next);
    for (size_t i = 0; i < bundle->count; i++) {
        uint64_t *const old = &positions[next[group[i]]++];
        if (*old != 0) continue;
        if (*left > 0)
            --*left;
        else
            *old = FORGOTTEN;
    }
}

/* With tags: in the phase that comes upon more blocks than can be remembered, only so many are new. */
static void forget_all_but(const fm_parallel *self, const fm_parallel_phase *phase, uint64_t fresh)
{
    for (size_t i = 0; i < phase->count; i++) {
        const fm_piece *piece = fm_parallel_phase_piece(self, phase, i);
        for (size_t b = 0; b < piece->bundle_count; b++) forget_fresh(piece, &piece->bundles[b], &fresh);
    }
}

static void count_cold(fm_parallel *self, fm_parallel_phase *phase, size_t task, fm_parallel_worker *worker)
{
    (void)task;
    (void)worker;
    uint64_t fresh = 0, unheld = 0, seen = 0, bytes = 0;
    bool given_up = self->given_up;
    if (fm_parallel_failed(self)) return;
    self->live = 0;
    for (size_t i = 0; i < phase->count; i++) {
        const fm_piece *piece = fm_parallel_phase_piece(self, phase, i);
        if (piece->forgot == 0) continue;
        given_up = true; /* it has more blocks than can be remembered */
        unheld += piece->forgot - 1;
    }
    for (size_t p = 0; p < self->partitions; p++) {
        const fm_partition *partition = &self->partition[p];
        fresh += partition->fresh;
        unheld += partition->fresh + partition->forgotten;
        /* Those of tails come out as beyond, and must not. The sum with what threads counted is right. */
        self->beyond -= partition->moved;
        self->live += partition->table.used;
        bytes += fm_block_table_memory(&partition->table);
        if (!partition->seen) continue;
        seen += fm_seen_set_count(partition->seen);
        bytes += fm_seen_set_memory(partition->seen);
    }
    __atomic_store_n(&self->table_bytes, bytes, __ATOMIC_RELAXED);
    phase->live = self->live;
    if (self->options.bound && !self->given_up && (given_up || seen > fm_seen_limit)) {
        __atomic_store_n(&self->given_up, true, __ATOMIC_RELAXED);
        for (size_t p = 0; p < self->partitions; p++) fm_seen_set_give_up(self->partition[p].seen, 0);
        fresh = fm_seen_limit - self->distinct; /* one thread would have stopped at the limit */
        if (self->options.tags || self->ordered) forget_all_but(self, phase, fresh);
        seen = fm_seen_limit;
    }
    self->cold += fresh;
    self->beyond += unheld - fresh;
    if (self->options.bound) self->distinct = self->given_up ? fm_seen_limit : seen;
}

/* ---- cut: ranges with about as many events each ---- */

static void cut(fm_parallel *self, fm_parallel_phase *phase, size_t task, fm_parallel_worker *worker)
{
    (void)task;
    (void)worker;
    fm_error error;
    fm_status status = FM_OK;
    if (self->bins == FM_BINS_EXACT) status = fm_tally_reserve(&self->shared, phase->live, &error);
    if (status != FM_OK) fm_parallel_fail(self, status, &error);
    if (fm_parallel_failed(self)) return;
    /* Samples by region; `before` is not needed until the next restart. */
    uint64_t *const samples = self->window.before, used = phase->regions;
    size_t sample_count = 0;
    memset(samples, 0, used * sizeof *samples);
    for (size_t p = 0; p < self->partitions; p++) {
        for (size_t i = 0; i < phase->sample_count[p]; i++) samples[phase->samples[p][i]]++;
        sample_count += phase->sample_count[p];
    }
    const size_t wanted = tasks_for_events(phase, self->most_ranges);
    uint64_t passed = 0;
    uint32_t bits = 0;
    size_t range = 0;
    phase->range_region[0] = 0;
    phase->range_above[0] = 0;
    for (uint64_t region = 0; region < used; region++) {
        self->range_of[region] = (uint8_t)range;
        passed += samples[region];
        bits += self->window.live[region];
        if (passed * wanted < (range + 1) * sample_count || range + 1 == wanted) continue;
        phase->range_above[range] = bits; /* so far: those up to its end */
        phase->range_region[++range] = region + 1;
    }
    phase->range_above[range] = bits;
    if (phase->range_region[range] < used) phase->range_region[++range] = used;
    phase->range_count = range;
    for (size_t r = 0; r < range; r++) phase->range_above[r] = bits - phase->range_above[r];
}

/* ---- split: events by ranges ---- */

static size_t bundles_of(const fm_parallel *self, const fm_parallel_phase *phase)
{
    size_t bundles = 0;
    for (size_t i = 0; i < phase->count; i++)
        bundles += fm_parallel_phase_piece(self, phase, i)->bundle_count;
    return bundles;
}

static size_t split_tasks(const fm_parallel *self, const fm_parallel_phase *phase)
{
    if (fm_parallel_failed(self) || self->partitions == 1) return 0;
    const size_t bundles = bundles_of(self, phase), tasks = tasks_for_events(phase, self->partitions);
    return tasks < bundles ? tasks : bundles;
}

_Static_assert(FM_PARTITIONS == FM_RANGES, "arrays are used for both");

/* A bundle's events go back into order, with their ranges. Returns how many have none; with tags, these have
 * pairs. */
static inline __attribute__((always_inline)) size_t
order_bundle(const fm_parallel *self, const fm_piece *piece, const fm_bundle *bundle, uint32_t *counts,
             fm_ordered_events *ordered, const bool tagged)
{
    const uint64_t *const positions = piece->blocks + bundle->first;
    const uint8_t *const group = piece->group + bundle->first;
    uint32_t next[FM_PARTITIONS];
    size_t unheld = 0;
    memcpy(next, bundle->begin, sizeof next);
    for (size_t i = 0; i < bundle->count; i++) {
        const uint64_t old = positions[next[group[i]]++], place = old & FM_POSITION_BITS;
        /* Which are held is hard to predict: no jump. Region 0 is in range 0. */
        const uint8_t range = (uint8_t)(self->range_of[place >> FM_REGION_SHIFT] | (place == 0) * COLD);
        ordered->position[i] = old;
        ordered->range[i] = range;
        counts[range]++;
        if (!tagged) continue;
        ordered->pair[unheld] = fm_pair_word(0, ordered->now[i], old == 0 ? FM_RANGE_COLD : FM_RANGE_BEYOND);
        unheld += place == 0;
    }
    return unheld;
}

static fm_status split_bundle(fm_parallel *self, const fm_piece *piece, fm_bundle *bundle, uint32_t number,
                              fm_parallel_worker *worker, fm_error *error)
{
    uint64_t *const positions = piece->blocks + bundle->first;
    uint32_t *const known = piece->known + bundle->first;
    fm_ordered_events *const ordered = &worker->ordered;
    uint32_t next[FM_RANGES + 1], counts[FM_RANGES + 1] = {0}, begin = 0;
    fm_status status = piece->old_times ? fm_parallel_count_times(self, piece, bundle, worker, error) : FM_OK;
    if (status == FM_OK && self->options.tags) {
        memcpy(ordered->now, piece->now + bundle->first, bundle->count * sizeof *ordered->now);
        const size_t unheld = order_bundle(self, piece, bundle, counts, ordered, true);
        status = fm_parallel_count_pairs(self, worker, ordered->pair, unheld, error);
    } else {
        order_bundle(self, piece, bundle, counts, ordered, false);
    }
    if (self->delivering) memcpy(piece->group + bundle->first, ordered->range, bundle->count);
    for (size_t r = 0; r < FM_RANGES; r++) {
        bundle->begin[r] = begin;
        next[r] = begin;
        begin += counts[r];
    }
    bundle->begin[FM_RANGES] = begin;
    next[COLD] = begin; /* they go last, and nobody looks at them again */
    if (self->options.tags)
        self->kernels->split_ranges_tagged(ordered->position, ordered->range, bundle->count, number, next,
                                           positions, known, ordered->now, piece->now + bundle->first);
    else
        self->kernels->split_ranges(ordered->position, ordered->range, bundle->count, number, next, positions,
                                    known);
    return status;
}

/* Those who looked them up have them in their caches. */
static void prefetch_bundle(const fm_piece *piece, const fm_bundle *bundle)
{
    for (size_t i = bundle->first; i < bundle->first + bundle->count; i += KEYS_A_LINE)
        __builtin_prefetch(piece->blocks + i, 1, 2);
}

/* Bundles do not depend on each other: each task has as many of all pieces', in a row. */
static void split(fm_parallel *self, fm_parallel_phase *phase, size_t task, fm_parallel_worker *worker)
{
    const size_t bundles = bundles_of(self, phase);
    size_t first = task * bundles / phase->tasks, end = (task + 1) * bundles / phase->tasks;
    fm_error error;
    fm_status status = FM_OK;
    for (size_t i = 0; i < phase->count && end > 0; i++) {
        const fm_piece *piece = fm_parallel_phase_piece(self, phase, i);
        const size_t here = piece->bundle_count < end ? piece->bundle_count : end;
        for (size_t b = first; b < here && status == FM_OK; b++) {
            if (b + 1 < here) prefetch_bundle(piece, &piece->bundles[b + 1]);
            const uint32_t number = (uint32_t)(piece->base + piece->bundles[b].first);
            status = split_bundle(self, piece, &piece->bundles[b],
                                  b < piece->tail_bundle ? number : number + TAIL_MARK, worker, &error);
        }
        first -= first < piece->bundle_count ? first : piece->bundle_count;
        end -= here;
    }
    if (status != FM_OK) fm_parallel_fail(self, status, &error);
}

/* ---- range: the distances ---- */

static size_t range_tasks(const fm_parallel *self, const fm_parallel_phase *phase)
{
    return fm_parallel_failed(self) ? 0 : phase->range_count;
}

static fm_status reserve_counters(fm_parallel_worker *worker, uint64_t bytes, fm_error *error)
{
    if (bytes <= worker->counter_bytes) return FM_OK;
    void *counters = fm_pages_allocate(2 * bytes);
    if (!counters) return fm_fail_memory(error, 2 * bytes, "counters");
    if (worker->counters) fm_pages_free(worker->counters, worker->counter_bytes);
    worker->counters = counters;
    worker->counter_bytes = 2 * bytes;
    return FM_OK;
}

/* Distances may be as large as all that is live: with one bin for each, they are counted in one place. */
static void tally_range(fm_parallel *self, fm_tally *tally, fm_chunk *chunk)
{
    if (self->bins != FM_BINS_EXACT) {
        fm_exact_tally(self->kernels, self->options.bound, tally, chunk->far_distance, chunk->far_count);
        return;
    }
    pthread_mutex_lock(&self->shared_lock);
    fm_exact_tally(self->kernels, self->options.bound, &self->shared, chunk->far_distance, chunk->far_count);
    pthread_mutex_unlock(&self->shared_lock);
}

/* The next events of a range. known: what is to be added to what is known of their distances. */
static void gather_positions(const fm_parallel *self, const fm_parallel_phase *phase, walk *at, segment *rest,
                             uint64_t origin, uint32_t *known, fm_chunk *chunk)
{
    chunk->far_count = 0;
    while (chunk->far_count < FM_CHUNK) {
        if (rest->count == 0) {
            /* Those of higher ranges that came before. */
            if (rest->bundle) *known -= rest->bundle->begin[FM_RANGES] - rest->bundle->begin[at->group + 1];
            rest->bundle = NULL;
            if (!next_segment(self, phase, at, rest)) return;
            continue;
        }
        const size_t room = FM_CHUNK - chunk->far_count, count = rest->count < room ? rest->count : room;
        uint64_t *const positions = chunk->far_position + chunk->far_count;
        uint32_t *const distances = chunk->far_distance + chunk->far_count;
        const uint64_t *const old = rest->piece->blocks + rest->first;
        for (size_t i = 0; i < count; i++) positions[i] = (old[i] & FM_POSITION_BITS) - origin;
        for (size_t i = 0; i < count; i++) distances[i] = rest->piece->known[rest->first + i] + *known;
        if (self->options.tags) {
            const uint32_t *const now = rest->piece->now + rest->first;
            uint64_t *const pairs = chunk->far_pair + chunk->far_count;
            for (size_t i = 0; i < count; i++)
                pairs[i] = fm_pair_word((uint32_t)(old[i] >> FM_TAG_SHIFT), now[i], 0);
        }
        rest->first += count;
        rest->count -= count;
        chunk->far_count += count;
    }
}

/* In order: the distances of a chunk stay with its events. at, rest: where the next ones stand. */
static void keep_distances(const fm_parallel *self, const fm_parallel_phase *phase, walk *at, segment *rest,
                           const fm_chunk *chunk)
{
    for (size_t done = 0; done < chunk->far_count;) {
        if (rest->count == 0) {
            if (!next_segment(self, phase, at, rest)) return;
            continue;
        }
        const size_t left = chunk->far_count - done, count = rest->count < left ? rest->count : left;
        memcpy(rest->piece->known + rest->first, chunk->far_distance + done, count * sizeof(uint32_t));
        rest->first += count;
        rest->count -= count;
        done += count;
    }
}

static void range(fm_parallel *self, fm_parallel_phase *phase, size_t task, fm_parallel_worker *worker)
{
    const uint64_t first = phase->range_region[task], end = phase->range_region[task + 1];
    const uint64_t origin = first << FM_REGION_SHIFT;
    fm_recency_window view;
    fm_error error;
    if (fm_parallel_failed(self) || events_of(self, phase, task) == 0) return;
    fm_status status = reserve_counters(worker, fm_shared_window_view_bytes(end - first), &error);
    if (status != FM_OK) {
        fm_parallel_fail(self, status, &error);
        return;
    }
    fm_shared_window_view(&self->window, first, end, worker->counters, &view);
    fm_chunk *now = &worker->cleared[0], *next = &worker->cleared[1];
    uint32_t known = phase->range_above[task] - (uint32_t)phase->events;
    walk at = {.group = task}, kept = at;
    segment rest = {0}, kept_rest = rest;
    gather_positions(self, phase, &at, &rest, origin, &known, now);
    for (size_t i = 0; i < now->far_count; i++)
        __builtin_prefetch(fm_recency_window_line(&view, now->far_position[i]), 1, 3);
    while (now->far_count > 0) {
        /* The next chunk's lines are fetched while this one is worked off. */
        gather_positions(self, phase, &at, &rest, origin, &known, next);
        for (size_t i = 0; i < now->far_count; i++)
            worker->soon[i] = (fm_bucket *)fm_recency_window_line(
                &view, i < next->far_count ? next->far_position[i] : now->far_position[0]);
        self->kernels->far(&view, now, worker->soon);
        if (self->delivering) keep_distances(self, phase, &kept, &kept_rest, now);
        if (self->options.tags && status == FM_OK) {
            fm_exact_put_ranges(self->kernels, self->options.bound, &worker->pairs.ranges, now->far_distance,
                                now->far_count, now->far_pair);
            status = fm_parallel_count_pairs(self, worker, now->far_pair, now->far_count, &error);
        }
        tally_range(self, &worker->tally, now);
        fm_chunk *swap = now;
        now = next;
        next = swap;
    }
    fm_shared_window_view_done(&self->window, first, &view);
    if (status == FM_OK) status = fm_parallel_pour_pairs(self, worker, &error);
    if (status != FM_OK) fm_parallel_fail(self, status, &error);
}

/* ---- settle: in order, distances go to their references ---- */

static size_t settle_tasks(const fm_parallel *self, const fm_parallel_phase *phase)
{
    return self->delivering ? split_tasks(self, phase) : 0;
}

static void settle(fm_parallel *self, fm_parallel_phase *phase, size_t task, fm_parallel_worker *worker)
{
    const size_t bundles = bundles_of(self, phase);
    const size_t first = task * bundles / phase->tasks, end = (task + 1) * bundles / phase->tasks;
    size_t number = 0;
    (void)worker;
    for (size_t i = 0; i < phase->count; i++) {
        const fm_piece *piece = fm_parallel_phase_piece(self, phase, i);
        for (size_t b = 0; b < piece->bundle_count; b++, number++)
            if (number >= first && number < end) fm_parallel_settle_bundle(self, piece, &piece->bundles[b]);
    }
}

/* ---- account: what it all takes ---- */

static void account(fm_parallel *self, fm_parallel_phase *phase, size_t task, fm_parallel_worker *worker)
{
    (void)phase;
    (void)task;
    (void)worker;
    uint64_t bytes = fm_shared_window_memory(&self->window) + self->range_of_bytes;
    if (self->bins == FM_BINS_EXACT) bytes += fm_tally_memory(&self->shared);
    __atomic_store_n(&self->window_bytes, bytes, __ATOMIC_RELAXED);
}

const fm_phase_step fm_phase_steps[] = {
    {.tasks = one_task, .run = measure},
    {.tasks = room_tasks, .run = make_room, .after_previous = true},
    {.tasks = restart_tasks, .run = restart},
    {.tasks = one_task, .run = lay},
    {.tasks = table_tasks, .run = table},
    {.tasks = one_task, .run = count_cold, .lets_next_begin = true},
    {.tasks = one_task, .run = cut, .after_previous = true},
    {.tasks = split_tasks, .run = split},
    {.tasks = range_tasks, .run = range},
    {.tasks = settle_tasks, .run = settle},
    {.tasks = one_task, .run = account},
};
const unsigned fm_phase_step_count = sizeof fm_phase_steps / sizeof fm_phase_steps[0];

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * parallel_ranges.c - the steps of a phase that find distances: ranges of the window with about as many
 * events each, events by ranges, the bits of each range; and in order, distances back to their references.
 */
#include "base/error.h"
#include "base/memory.h"
#include "engine/parallel/parallel.h"

#include <string.h>

enum { COLD = FM_RANGES }; /* the group of events whose block was not held */

/* Added to the distances of tails, so that they are beyond any bound: nobody asked for them. */
#define TAIL_MARK (UINT32_C(1) << 31)

/* ---- cut: ranges with about as many events each ---- */

void fm_step_cut(fm_parallel *self, fm_parallel_phase *phase, size_t task, fm_parallel_worker *worker)
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
    const size_t wanted = fm_step_tasks_for_events(phase, self->most_ranges);
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

static size_t event_chunks_of(const fm_parallel *self, const fm_parallel_phase *phase)
{
    size_t event_chunks = 0;
    for (size_t i = 0; i < phase->count; i++)
        event_chunks += fm_parallel_phase_chunk(self, phase, i)->event_chunk_count;
    return event_chunks;
}

size_t fm_step_split_tasks(const fm_parallel *self, const fm_parallel_phase *phase)
{
    if (fm_parallel_failed(self) || self->partitions == 1) return 0;
    const size_t event_chunks = event_chunks_of(self, phase),
                 tasks = fm_step_tasks_for_events(phase, self->partitions);
    return tasks < event_chunks ? tasks : event_chunks;
}

_Static_assert(FM_PARTITIONS == FM_RANGES, "arrays are used for both");

/* An event chunk's events go back into order, with their ranges. Returns how many have none; with tags, these
 * have pairs. */
static inline __attribute__((always_inline)) size_t
order_event_chunk(const fm_parallel *self, const fm_thread_chunk *chunk, const fm_event_chunk *event_chunk,
                  uint32_t *counts, fm_ordered_events *ordered, const bool tagged)
{
    const uint64_t *const positions = chunk->blocks + event_chunk->first;
    const uint8_t *const group = chunk->group + event_chunk->first;
    uint32_t next[FM_PARTITIONS];
    size_t unheld = 0;
    memcpy(next, event_chunk->begin, sizeof next);
    for (size_t i = 0; i < event_chunk->count; i++) {
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

static fm_status split_event_chunk(fm_parallel *self, const fm_thread_chunk *chunk,
                                   fm_event_chunk *event_chunk, uint32_t number, fm_parallel_worker *worker,
                                   fm_error *error)
{
    uint64_t *const positions = chunk->blocks + event_chunk->first;
    uint32_t *const known = chunk->known + event_chunk->first;
    fm_ordered_events *const ordered = &worker->ordered;
    uint32_t next[FM_RANGES + 1], counts[FM_RANGES + 1] = {0}, begin = 0;
    fm_status status =
        chunk->old_times ? fm_parallel_count_times(self, chunk, event_chunk, worker, error) : FM_OK;
    if (status == FM_OK && self->options.tags) {
        memcpy(ordered->now, chunk->now + event_chunk->first, event_chunk->count * sizeof *ordered->now);
        const size_t unheld = order_event_chunk(self, chunk, event_chunk, counts, ordered, true);
        status = fm_parallel_count_pairs(self, worker, ordered->pair, unheld, error);
    } else {
        order_event_chunk(self, chunk, event_chunk, counts, ordered, false);
    }
    if (self->delivering) memcpy(chunk->group + event_chunk->first, ordered->range, event_chunk->count);
    for (size_t r = 0; r < FM_RANGES; r++) {
        event_chunk->begin[r] = begin;
        next[r] = begin;
        begin += counts[r];
    }
    event_chunk->begin[FM_RANGES] = begin;
    next[COLD] = begin; /* they go last, and nobody looks at them again */
    if (self->options.tags)
        self->kernels->split_ranges_tagged(ordered->position, ordered->range, event_chunk->count, number,
                                           next, positions, known, ordered->now,
                                           chunk->now + event_chunk->first);
    else
        self->kernels->split_ranges(ordered->position, ordered->range, event_chunk->count, number, next,
                                    positions, known);
    return status;
}

/* Those who looked them up have them in their caches. */
static void prefetch_event_chunk(const fm_thread_chunk *chunk, const fm_event_chunk *event_chunk)
{
    for (size_t i = event_chunk->first; i < event_chunk->first + event_chunk->count; i += FM_KEYS_A_LINE)
        __builtin_prefetch(chunk->blocks + i, 1, 2);
}

/* Event chunks do not depend on each other: each task has as many of all chunks', in a row. */
void fm_step_split(fm_parallel *self, fm_parallel_phase *phase, size_t task, fm_parallel_worker *worker)
{
    const size_t event_chunks = event_chunks_of(self, phase);
    size_t first = task * event_chunks / phase->tasks, end = (task + 1) * event_chunks / phase->tasks;
    fm_error error;
    fm_status status = FM_OK;
    for (size_t i = 0; i < phase->count && end > 0; i++) {
        const fm_thread_chunk *chunk = fm_parallel_phase_chunk(self, phase, i);
        const size_t here = chunk->event_chunk_count < end ? chunk->event_chunk_count : end;
        for (size_t b = first; b < here && status == FM_OK; b++) {
            if (b + 1 < here) prefetch_event_chunk(chunk, &chunk->event_chunks[b + 1]);
            const uint32_t number = (uint32_t)(chunk->base + chunk->event_chunks[b].first);
            status =
                split_event_chunk(self, chunk, &chunk->event_chunks[b],
                                  b < chunk->tail_event_chunk ? number : number + TAIL_MARK, worker, &error);
        }
        first -= first < chunk->event_chunk_count ? first : chunk->event_chunk_count;
        end -= here;
    }
    if (status != FM_OK) fm_parallel_fail(self, status, &error);
}

/* ---- range: the distances ---- */

size_t fm_step_range_tasks(const fm_parallel *self, const fm_parallel_phase *phase)
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
static void tally_range(fm_parallel *self, fm_tally *tally, fm_lookups *lookups)
{
    if (self->bins != FM_BINS_EXACT) {
        fm_exact_tally(self->kernels, self->options.bound, tally, lookups->far_distance, lookups->far_count);
        return;
    }
    pthread_mutex_lock(&self->shared_lock);
    fm_exact_tally(self->kernels, self->options.bound, &self->shared, lookups->far_distance,
                   lookups->far_count);
    pthread_mutex_unlock(&self->shared_lock);
}

/* The next events of a range. known: what is to be added to what is known of their distances. */
static void gather_positions(const fm_parallel *self, const fm_parallel_phase *phase, fm_event_walk *at,
                             fm_event_segment *rest, uint64_t origin, uint32_t *known, fm_lookups *lookups)
{
    lookups->far_count = 0;
    while (lookups->far_count < FM_LOOKUPS) {
        if (rest->count == 0) {
            /* Those of higher ranges that came before. */
            if (rest->event_chunk)
                *known -= rest->event_chunk->begin[FM_RANGES] - rest->event_chunk->begin[at->group + 1];
            rest->event_chunk = NULL;
            if (!fm_parallel_next_segment(self, phase, at, rest)) return;
            continue;
        }
        const size_t room = FM_LOOKUPS - lookups->far_count, count = rest->count < room ? rest->count : room;
        uint64_t *const positions = lookups->far_position + lookups->far_count;
        uint32_t *const distances = lookups->far_distance + lookups->far_count;
        const uint64_t *const old = rest->chunk->blocks + rest->first;
        for (size_t i = 0; i < count; i++) positions[i] = (old[i] & FM_POSITION_BITS) - origin;
        for (size_t i = 0; i < count; i++) distances[i] = rest->chunk->known[rest->first + i] + *known;
        if (self->options.tags) {
            const uint32_t *const now = rest->chunk->now + rest->first;
            uint64_t *const pairs = lookups->far_pair + lookups->far_count;
            for (size_t i = 0; i < count; i++)
                pairs[i] = fm_pair_word((uint32_t)(old[i] >> FM_TAG_SHIFT), now[i], 0);
        }
        rest->first += count;
        rest->count -= count;
        lookups->far_count += count;
    }
}

/* In order: distances stay with their events. at, rest: where the next ones stand. */
static void keep_distances(const fm_parallel *self, const fm_parallel_phase *phase, fm_event_walk *at,
                           fm_event_segment *rest, const fm_lookups *lookups)
{
    for (size_t done = 0; done < lookups->far_count;) {
        if (rest->count == 0) {
            if (!fm_parallel_next_segment(self, phase, at, rest)) return;
            continue;
        }
        const size_t left = lookups->far_count - done, count = rest->count < left ? rest->count : left;
        memcpy(rest->chunk->known + rest->first, lookups->far_distance + done, count * sizeof(uint32_t));
        rest->first += count;
        rest->count -= count;
        done += count;
    }
}

void fm_step_range(fm_parallel *self, fm_parallel_phase *phase, size_t task, fm_parallel_worker *worker)
{
    const uint64_t first = phase->range_region[task], end = phase->range_region[task + 1];
    const uint64_t origin = first << FM_REGION_SHIFT;
    fm_recency_window view;
    fm_error error;
    if (fm_parallel_failed(self) || fm_step_events_of(self, phase, task) == 0) return;
    fm_status status = reserve_counters(worker, fm_shared_window_view_bytes(end - first), &error);
    if (status != FM_OK) {
        fm_parallel_fail(self, status, &error);
        return;
    }
    fm_shared_window_view(&self->window, first, end, worker->counters, &view);
    fm_lookups *now = &worker->cleared[0], *next = &worker->cleared[1];
    uint32_t known = phase->range_above[task] - (uint32_t)phase->events;
    fm_event_walk at = {.group = task}, kept = at;
    fm_event_segment rest = {0}, kept_rest = rest;
    gather_positions(self, phase, &at, &rest, origin, &known, now);
    for (size_t i = 0; i < now->far_count; i++)
        __builtin_prefetch(fm_recency_window_line(&view, now->far_position[i]), 1, 3);
    while (now->far_count > 0) {
        /* The next lookups' lines are fetched while this one is worked off. */
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
        fm_lookups *swap = now;
        now = next;
        next = swap;
    }
    fm_shared_window_view_done(&self->window, first, &view);
    if (status == FM_OK) status = fm_parallel_pour_pairs(self, worker, &error);
    if (status != FM_OK) fm_parallel_fail(self, status, &error);
}

/* ---- settle: in order, distances go to their references ---- */

size_t fm_step_settle_tasks(const fm_parallel *self, const fm_parallel_phase *phase)
{
    return self->delivering ? fm_step_split_tasks(self, phase) : 0;
}

void fm_step_settle(fm_parallel *self, fm_parallel_phase *phase, size_t task, fm_parallel_worker *worker)
{
    const size_t event_chunks = event_chunks_of(self, phase);
    const size_t first = task * event_chunks / phase->tasks, end = (task + 1) * event_chunks / phase->tasks;
    size_t number = 0;
    (void)worker;
    for (size_t i = 0; i < phase->count; i++) {
        const fm_thread_chunk *chunk = fm_parallel_phase_chunk(self, phase, i);
        for (size_t b = 0; b < chunk->event_chunk_count; b++, number++)
            if (number >= first && number < end)
                fm_parallel_settle_event_chunk(self, chunk, &chunk->event_chunks[b]);
    }
}

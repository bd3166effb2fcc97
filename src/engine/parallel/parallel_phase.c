/* SPDX-License-Identifier: Apache-2.0 */
/*
 * parallel_phase.c - the steps of a phase: from the events of its pieces to their distances (parallel.h says
 * the idea). A step's tasks run at the same time; steps follow each other. Here: what the phase needs, and
 * new positions; parallel_table.c and parallel_ranges.c have the others.
 *
 * Time: a table lookup and O(levels) vector operations an event, as in `exact`; where table and window are
 * divided, also 13 bytes sorted twice, within the first-level cache; O(regions) a phase for the ranges.
 * Restarts of the window cost O(1) an event, amortised.
 */
#include "base/error.h"
#include "base/memory.h"
#include "engine/parallel/parallel_steps.h"

#include <inttypes.h>
#include <string.h>

enum {
    EVENTS_A_TASK = 2048,  /* that are worth a task of its own, at least */
    BOUND_SLACK = 1 << 16, /* as in exact_restart.c */
};

/* Counters of the window are u32: right as long as no more blocks are live. */
#define LIVE_LIMIT UINT64_C(0xFFFFFFFF)

static size_t one_task(const fm_parallel *self, const fm_parallel_phase *phase)
{
    (void)self;
    (void)phase;
    return 1;
}

size_t fm_step_tasks_for_events(const fm_parallel_phase *phase, size_t most)
{
    const uint64_t tasks = phase->events / EVENTS_A_TASK + 1;
    return tasks < most ? (size_t)tasks : most;
}

/* ---- measure: what the phase will need ---- */

uint64_t fm_step_events_of_piece(const fm_piece *piece, size_t group)
{
    uint64_t events = 0;
    for (size_t b = 0; b < piece->bundle_count; b++)
        events += piece->bundles[b].begin[group + 1] - piece->bundles[b].begin[group];
    return events;
}

uint64_t fm_step_events_of(const fm_parallel *self, const fm_parallel_phase *phase, size_t group)
{
    uint64_t events = 0;
    for (size_t i = 0; i < phase->count; i++)
        events += fm_step_events_of_piece(fm_parallel_phase_piece(self, phase, i), group);
    return events;
}

/* Under a limit: nothing grows before it is known that all that may grow has room. */
static fm_status check_limit(const fm_parallel *self, const fm_parallel_phase *phase, fm_error *error)
{
    uint64_t bytes = fm_parallel_memory_beside_tables(self);
    for (size_t p = 0; p < self->partitions; p++) {
        const fm_partition *partition = &self->partition[p];
        const uint64_t events = self->partitions > 1 ? fm_step_events_of(self, phase, p) : phase->events;
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

static void phase_measure(fm_parallel *self, fm_parallel_phase *phase, size_t task,
                          fm_parallel_worker *worker)
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
fm_status fm_partition_remember_all(fm_partition *partition, fm_error *error)
{
    if (!partition->dropping && !fm_seen_set_keep_table(partition->seen, &partition->table, UINT64_MAX))
        return fm_fail_memory(error, 0, "the set of blocks seen");
    partition->dropping = true;
    return FM_OK;
}

static void phase_restart(fm_parallel *self, fm_parallel_phase *phase, size_t task,
                          fm_parallel_worker *worker)
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
        fm_status status = fm_partition_remember_all(partition, &error);
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

static void phase_lay(fm_parallel *self, fm_parallel_phase *phase, size_t task, fm_parallel_worker *worker)
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

/* ---- account: what it all takes ---- */

static void phase_account(fm_parallel *self, fm_parallel_phase *phase, size_t task,
                          fm_parallel_worker *worker)
{
    (void)phase;
    (void)task;
    (void)worker;
    uint64_t bytes = fm_shared_window_memory(&self->window) + self->range_of_bytes;
    if (self->bins == FM_BINS_EXACT) bytes += fm_tally_memory(&self->shared);
    __atomic_store_n(&self->window_bytes, bytes, __ATOMIC_RELAXED);
}

const fm_phase_step fm_phase_steps[] = {
    {.tasks = one_task, .run = phase_measure},
    {.tasks = room_tasks, .run = make_room, .after_previous = true},
    {.tasks = restart_tasks, .run = phase_restart},
    {.tasks = one_task, .run = phase_lay},
    {.tasks = fm_step_table_tasks, .run = fm_step_table},
    {.tasks = one_task, .run = fm_step_count_cold, .lets_next_begin = true},
    {.tasks = one_task, .run = fm_step_cut, .after_previous = true},
    {.tasks = fm_step_split_tasks, .run = fm_step_split},
    {.tasks = fm_step_range_tasks, .run = fm_step_range},
    {.tasks = fm_step_settle_tasks, .run = fm_step_settle},
    {.tasks = one_task, .run = phase_account},
};
const unsigned fm_phase_step_count = sizeof fm_phase_steps / sizeof fm_phase_steps[0];

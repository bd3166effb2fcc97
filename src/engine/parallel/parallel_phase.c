/* SPDX-License-Identifier: Apache-2.0 */
/*
 * parallel_phase.c - the steps of a phase: from the events of its chunks to their distances (parallel.h says
 * the idea). A step's tasks run at the same time; steps follow each other. Here: what the phase needs, and
 * new positions; parallel_table.c and parallel_ranges.c have the others.
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
    BOUND_SLACK = 1 << 16, /* as in exact.c */
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

uint64_t fm_step_events_of_chunk(const fm_thread_chunk *chunk, size_t group)
{
    uint64_t events = 0;
    for (size_t b = 0; b < chunk->event_chunk_count; b++)
        events += chunk->event_chunks[b].begin[group + 1] - chunk->event_chunks[b].begin[group];
    return events;
}

uint64_t fm_step_events_of(const fm_parallel *self, const fm_parallel_phase *phase, size_t group)
{
    uint64_t events = 0;
    for (size_t i = 0; i < phase->count; i++)
        events += fm_step_events_of_chunk(fm_parallel_phase_chunk(self, phase, i), group);
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
        fm_thread_chunk *chunk = fm_parallel_phase_chunk(self, phase, i);
        chunk->base = phase->events;
        chunk->time = self->clock;
        self->clock += chunk->fetched;
        phase->events += chunk->events;
        phase->lines += fm_shared_window_lines(chunk->events);
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
        fm_thread_chunk *chunk = fm_parallel_phase_chunk(self, phase, i);
        chunk->position = fm_shared_window_add(&self->window, chunk->events);
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

/*
 * ==== plan ====
 *
 * Who does what next. Everything here runs under the crew's lock, but run.
 *
 * Up to two phases are under way: while the window of one is worked off, the table of the next is. Steps of
 * the older go first, then those of the younger, then chunks of the one after: what others wait for the most
 * comes first. Chunks that are handed in go before those that are drawn. Only where all that is left is dealt
 * out, a chunk for each thread, these go first: who begins one late ends late, and phases can be worked off
 * by those who end early.
 */

enum { CHUNK = 2 }; /* kinds of jobs: below it, a step of phases[kind] */

static fm_parallel_phase *phase_of(fm_parallel *self, uint64_t number)
{
    return &self->phases[number % 2];
}

void fm_parallel_retire(fm_parallel *self, size_t chunks)
{
    FM_ASSERT(self->retired + chunks <= self->settled && self->settled <= self->claimed);
    for (size_t i = 0; i < chunks; i++) {
        fm_thread_chunk *chunk = &self->chunks[self->retired++ % self->chunk_count];
        /* The arrays that were used last serve the next chunk, whichever it is. */
        if (chunk->drawn && chunk->room > 0 && self->spare_count < self->chunk_count)
            fm_chunk_move_arrays(self, &self->spare[self->spare_count++], chunk);
        chunk->done = chunk->drawn = false;
        chunk->count = 0;
    }
}

/* Phases go through the steps; one that is over makes way for the next. */
static void plan_advance(fm_parallel *self)
{
    for (uint64_t number = self->ended; number < self->begun; number++) {
        fm_parallel_phase *phase = phase_of(self, number);
        FM_ASSERT(phase->tasks_done <= phase->tasks_begun && phase->tasks_begun <= phase->tasks);
        while (phase->tasks_done == phase->tasks && phase->step < fm_phase_step_count) {
            const fm_phase_step *step = &fm_phase_steps[phase->step];
            const size_t tasks = step->tasks(self, phase);
            if (tasks > 0 && step->after_previous && number != self->ended) break;
            phase->tasks = tasks;
            phase->tasks_begun = phase->tasks_done = 0;
            phase->step++;
        }
        if (phase->tasks_done < phase->tasks || phase->step < fm_phase_step_count) continue;
        self->settled += phase->count;
        self->ended++;
        if (self->delivering)
            fm_crew_call(self->crew); /* the one who feeds waits for them */
        else
            fm_parallel_retire(self, phase->count);
    }
}

/* The phase before has left the tables alone. */
static bool may_begin(fm_parallel *self)
{
    if (self->begun == self->ended) return true;
    if (self->begun - self->ended == 2) return false;
    const fm_parallel_phase *before = phase_of(self, self->begun - 1);
    for (unsigned step = before->step; step < fm_phase_step_count; step++)
        if (fm_phase_steps[step].lets_next_begin) return false;
    return !fm_phase_steps[before->step - 1].lets_next_begin || before->tasks_done == before->tasks;
}

static bool is_whole(const fm_thread_chunk *chunk)
{
    return chunk->drawn && !chunk->by_cache_chunks;
}

/* A phase begins when enough chunks of one kind in a row are done; when no more of them come, with those
 * there are. */
static bool begin_phase(fm_parallel *self)
{
    if (!may_begin(self)) return false;
    const fm_parallel_phase *before = phase_of(self, self->begun + 1);
    fm_parallel_phase next = {.first =
                                  self->begun == self->ended ? self->settled : before->first + before->count};
    const bool whole = is_whole(fm_parallel_phase_chunk(self, &next, 0));
    const size_t enough = whole ? self->chunks_a_phase_drawn : self->chunks_a_phase;
    bool more = true;
    while (next.count < self->chunks_a_phase && next.first + next.count < self->filled) {
        const fm_thread_chunk *chunk = fm_parallel_phase_chunk(self, &next, next.count);
        more = is_whole(chunk) == whole;
        if (!more || !chunk->done) break;
        next.count++;
    }
    const bool flushing = self->flushing || (self->delivering && self->dry && self->drawing == 0);
    const bool all = !more || (flushing && next.first + next.count == self->filled);
    if (next.count == 0 || (next.count < enough && !all)) return false;
    *phase_of(self, self->begun++) = next;
    FM_ASSERT(self->begun - self->ended <= 2 && next.first + next.count <= self->claimed);
    return true;
}

/* The one that was counted last. */
static bool claim_chunk(const fm_parallel *self, fm_crew_job *job)
{
    FM_ASSERT(self->claimed <= self->filled && self->filled - self->retired <= self->chunk_count);
    *job = (fm_crew_job){.kind = CHUNK, .task = (size_t)((self->claimed - 1) % self->chunk_count)};
    return true;
}

static bool plan_claim(void *context, fm_crew_job *job)
{
    fm_parallel *self = context;
    while (begin_phase(self)) plan_advance(self);
    if (self->shared_out && self->claimed == self->filled && fm_parallel_claim_drawn(self))
        return claim_chunk(self, job);
    for (uint64_t number = self->ended; number < self->begun; number++) {
        fm_parallel_phase *phase = phase_of(self, number);
        if (phase->tasks_begun == phase->tasks) continue;
        *job = (fm_crew_job){.kind = (unsigned)(number % 2), .task = phase->tasks_begun++};
        return true;
    }
    const bool dry = self->dry;
    if (self->claimed < self->filled)
        self->claimed++;
    else if (!fm_parallel_claim_drawn(self)) /* in order, a phase may begin now that nothing more comes */
        return self->delivering && self->dry && !dry ? plan_claim(self, job) : false;
    return claim_chunk(self, job);
}

static void plan_run(void *context, fm_crew_job job, unsigned worker)
{
    fm_parallel *self = context;
    if (job.kind == CHUNK) {
        fm_thread_chunk *chunk = &self->chunks[job.task];
        if (chunk->drawn)
            fm_chunk_draw(self, chunk, worker);
        else
            fm_chunk_analyze(self, chunk, &self->workers[worker]);
        return;
    }
    fm_parallel_phase *phase = &self->phases[job.kind];
    fm_phase_steps[phase->step - 1].run(self, phase, job.task, &self->workers[worker]);
}

static void plan_complete(void *context, fm_crew_job job)
{
    fm_parallel *self = context;
    if (job.kind == CHUNK) {
        fm_thread_chunk *chunk = &self->chunks[job.task];
        chunk->done = true;
        if (chunk->drawn) fm_parallel_judge_drawn(self, chunk);
        return;
    }
    self->phases[job.kind].tasks_done++;
    FM_ASSERT(self->phases[job.kind].tasks_done <= self->phases[job.kind].tasks_begun);
    plan_advance(self);
}

const fm_crew_work fm_parallel_work = {.claim = plan_claim, .run = plan_run, .complete = plan_complete};

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * parallel_table.c - the steps of a phase that look blocks up: where was each, where is it now, and how many
 * are new. A task has a partition of the table, or where it is not divided, all of it.
 */
#include "base/error.h"
#include "base/memory.h"
#include "engine/parallel/parallel.h"

#include <inttypes.h>
#include <string.h>

/* With tags: stands for the old position of a block that was touched before, and is not held: no position,
 * but a tag. */
#define FORGOTTEN (UINT64_C(1) << FM_TAG_SHIFT)

/* ---- the events of a partition, or range ---- */

/* Other threads have written them, so that they are in the caches of other cores. */
static void prefetch_segment(const fm_thread_chunk *chunk, size_t number, size_t group)
{
    enum { HEADERS = 3, POSITIONS_A_LINE = 16 };
    if (number + HEADERS < chunk->event_chunk_count)
        __builtin_prefetch(&chunk->event_chunks[number + HEADERS].begin[group]);
    if (number >= chunk->event_chunk_count) return;
    const fm_event_chunk *event_chunk = &chunk->event_chunks[number];
    const size_t first = event_chunk->first + event_chunk->begin[group],
                 end = event_chunk->first + event_chunk->begin[group + 1];
    if (end - first > FM_EVENT_CHUNK) return; /* nothing is sorted: it is in order */
    for (size_t i = first; i < end; i += FM_KEYS_A_LINE) __builtin_prefetch(chunk->blocks + i, 1);
    for (size_t i = first; i < end; i += POSITIONS_A_LINE) __builtin_prefetch(chunk->known + i);
}

bool fm_parallel_next_segment(const fm_parallel *self, const fm_parallel_phase *phase, fm_event_walk *at,
                              fm_event_segment *found)
{
    for (; at->chunk < phase->count; at->chunk++, at->event_chunk = 0) {
        const fm_thread_chunk *chunk = fm_parallel_phase_chunk(self, phase, at->chunk);
        if (at->event_chunk == chunk->event_chunk_count) continue;
        const fm_event_chunk *event_chunk = &chunk->event_chunks[at->event_chunk++];
        *found = (fm_event_segment){
            .chunk = chunk,
            .event_chunk = event_chunk,
            .first = event_chunk->first + event_chunk->begin[at->group],
            .count = (size_t)(event_chunk->begin[at->group + 1] - event_chunk->begin[at->group])};
        prefetch_segment(chunk, at->event_chunk + 1, at->group);
        return true;
    }
    return false;
}

/* ---- table: where was every block, and where is it now ---- */

size_t fm_step_table_tasks(const fm_parallel *self, const fm_parallel_phase *phase)
{
    return fm_step_tasks_for_events(phase, self->partitions);
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

/* The next events of a partition: those that stand in a row, as many as are looked up together. `rest` is
 * what the last one had no room for. */
static void next_lookups(const fm_parallel *self, const fm_parallel_phase *phase, fm_event_walk *at,
                         fm_event_segment *rest, const fm_block_table *table, fm_table_lookups *lookups)
{
    while (rest->count == 0)
        if (!fm_parallel_next_segment(self, phase, at, rest)) break;
    lookups->count = rest->count < FM_LOOKUPS ? rest->count : FM_LOOKUPS;
    if (lookups->count == 0) return;
    lookups->keys = rest->chunk->blocks + rest->first;
    lookups->offsets = rest->chunk->known + rest->first;
    lookups->position = rest->chunk->position;
    lookups->leave = rest->chunk->leave ? rest->chunk->leave + rest->first : NULL;
    lookups->time = rest->chunk->time;
    lookups->old_times = rest->chunk->old_times ? rest->chunk->old_times + rest->first : NULL;
    lookups->tail = (size_t)(rest->event_chunk - rest->chunk->event_chunks) >= rest->chunk->tail_event_chunk;
    rest->first += lookups->count;
    rest->count -= lookups->count;
    self->kernels->home(table, lookups->keys, lookups->count, lookups->home);
}

/*
 * Lookups: keys are replaced by their blocks' old positions. The next lookups' buckets are
 * fetched meanwhile. There is room for new blocks of these lookups, no more: most events are of blocks that
 * are held, and room for all of a phase would be a table of many times what it holds.
 */
static fm_status table_exchange(const fm_parallel *self, fm_partition *partition, fm_table_lookups *now,
                                fm_table_lookups *next, fm_parallel_worker *worker, fm_error *error)
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
 * A chunk that was analysed as a whole, in one section, has each block once: after the phase, at least those
 * of the largest one are held. Room for all of them at once is cheaper than a table that grows step by step.
 */
static fm_status make_certain_room(const fm_parallel *self, const fm_parallel_phase *phase, size_t group,
                                   fm_block_table *table, fm_error *error)
{
    uint64_t most = 0;
    for (size_t i = 0; i < phase->count; i++) {
        const fm_thread_chunk *chunk = fm_parallel_phase_chunk(self, phase, i);
        const uint64_t events = chunk->distinct ? fm_step_events_of_chunk(chunk, group) : 0;
        if (events > most) most = events;
    }
    return most > table->used ? fm_block_table_grow(table, most - table->used, error) : FM_OK;
}

/* Blocks of a chunk that are beyond the bound, whatever came before: are they new? Whether they are told so
 * before or after events of the same blocks does not change the sums. */
static fm_status see_segment(const fm_parallel *self, const uint64_t *keys, size_t count,
                             fm_partition *partition, fm_parallel_worker *worker, fm_error *error)
{
    for (size_t first = 0; first < count; first += FM_LOOKUPS) {
        const size_t now = count - first < FM_LOOKUPS ? count - first : FM_LOOKUPS;
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
        const fm_thread_chunk *chunk = fm_parallel_phase_chunk(self, phase, i);
        for (size_t b = 0; b < chunk->seen_event_chunks && status == FM_OK; b++) {
            const fm_event_chunk *event_chunk = &chunk->event_chunks[chunk->event_chunk_count + b];
            const size_t count = event_chunk->begin[group + 1] - event_chunk->begin[group];
            const uint64_t *keys = chunk->blocks + event_chunk->first + event_chunk->begin[group];
            if (self->given_up) {
                partition->forgotten += count;
                continue;
            }
            status = fm_partition_remember_all(partition, error);
            if (status == FM_OK) status = see_segment(self, keys, count, partition, worker, error);
        }
    }
    return status;
}

/* The events of a partition. */
static fm_status look_up(const fm_parallel *self, fm_parallel_phase *phase, size_t group,
                         fm_partition *partition, fm_parallel_worker *worker, fm_error *error)
{
    const uint64_t events = fm_step_events_of(self, phase, group);
    const uint64_t stride = events / FM_SAMPLES + 1; /* samples are taken from the whole phase */
    fm_table_lookups *now = &worker->looked_up[0], *next = &worker->looked_up[1];
    fm_event_walk at = {.group = group};
    fm_event_segment rest = {0};
    uint64_t number = 0, sampled = 0;
    fm_status status = make_certain_room(self, phase, group, &partition->table, error);
    if (status == FM_OK) status = see_others(self, phase, group, partition, worker, error);
    if (status != FM_OK) return status;
    next_lookups(self, phase, &at, &rest, &partition->table, now);
    for (size_t i = 0; i < now->count; i++) __builtin_prefetch(now->home[i], 1, 3);
    while (now->count > 0 && status == FM_OK) {
        next_lookups(self, phase, &at, &rest, &partition->table, next);
        status = table_exchange(self, partition, now, next, worker, error);
        number += now->count;
        if (number > sampled * stride && phase->sample_count[group] < FM_SAMPLES) {
            phase->samples[group][phase->sample_count[group]++] =
                (uint32_t)((now->keys[now->count / 2] & FM_POSITION_BITS) >> FM_REGION_SHIFT);
            sampled = number / stride + 1;
        }
        fm_table_lookups *swap = now;
        now = next;
        next = swap;
    }
    return status;
}

/*
 * With one partition and one range all events are in order, and splitting would only take out those without
 * an old position: that is done here.
 */
static void lookups_in_order(const fm_parallel *self, const fm_thread_chunk *chunk, size_t first,
                             const fm_block_table *table, fm_table_lookups *lookups)
{
    const size_t left = chunk->events - first;
    lookups->count = left < FM_LOOKUPS ? left : FM_LOOKUPS;
    lookups->tail = false;
    lookups->leave = NULL; /* what has tags, or is in order, is divided */
    lookups->old_times = NULL;
    lookups->keys = chunk->blocks + first;
    lookups->offsets = chunk->known + first;
    lookups->position = chunk->position;
    self->kernels->home(table, lookups->keys, lookups->count, lookups->home);
}

static fm_status look_up_in_order(const fm_parallel *self, fm_thread_chunk *chunk, fm_partition *partition,
                                  fm_parallel_worker *worker, fm_error *error)
{
    fm_table_lookups *now = &worker->looked_up[0], *next = &worker->looked_up[1];
    fm_status status = FM_OK;
    size_t kept = 0;
    lookups_in_order(self, chunk, 0, &partition->table, next);
    for (size_t at = 0; at < chunk->events && status == FM_OK; at += now->count) {
        fm_table_lookups *swap = now;
        now = next;
        next = swap;
        lookups_in_order(self, chunk, at + now->count, &partition->table, next);
        status = table_exchange(self, partition, now, next, worker, error);
        const uint32_t number = (uint32_t)(chunk->base + at);
        for (size_t i = 0; i < now->count && status == FM_OK; i++) {
            const uint64_t old = now->keys[i];
            chunk->blocks[kept] = old;
            chunk->known[kept] = number + (uint32_t)i;
            kept += old != 0;
        }
    }
    for (size_t r = 1; r <= FM_RANGES; r++) chunk->event_chunks[0].begin[r] = (uint32_t)kept;
    return status;
}

void fm_step_table(fm_parallel *self, fm_parallel_phase *phase, size_t task, fm_parallel_worker *worker)
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
                look_up_in_order(self, fm_parallel_phase_chunk(self, phase, i), partition, worker, &error);
        if (status != FM_OK) fm_parallel_fail(self, status, &error);
    }
}

/* ---- count_cold: how many blocks were new ---- */

/* With tags: of an event chunk's new blocks, those after the first `left` are not known to be. */
static void forget_fresh(const fm_thread_chunk *chunk, const fm_event_chunk *event_chunk, uint64_t *left)
{
    uint64_t *const positions = chunk->blocks + event_chunk->first;
    const uint8_t *const group = chunk->group + event_chunk->first;
    uint32_t next[FM_PARTITIONS];
    memcpy(next, event_chunk->begin, sizeof next);
    for (size_t i = 0; i < event_chunk->count; i++) {
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
        const fm_thread_chunk *chunk = fm_parallel_phase_chunk(self, phase, i);
        for (size_t b = 0; b < chunk->event_chunk_count; b++)
            forget_fresh(chunk, &chunk->event_chunks[b], &fresh);
    }
}

void fm_step_count_cold(fm_parallel *self, fm_parallel_phase *phase, size_t task, fm_parallel_worker *worker)
{
    (void)task;
    (void)worker;
    uint64_t fresh = 0, unheld = 0, seen = 0, bytes = 0;
    bool given_up = self->given_up;
    if (fm_parallel_failed(self)) return;
    self->live = 0;
    for (size_t i = 0; i < phase->count; i++) {
        const fm_thread_chunk *chunk = fm_parallel_phase_chunk(self, phase, i);
        if (chunk->forgot == 0) continue;
        given_up = true; /* it has more blocks than can be remembered */
        unheld += chunk->forgot - 1;
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

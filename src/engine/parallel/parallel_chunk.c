/* SPDX-License-Identifier: Apache-2.0 */
/*
 * parallel_chunk.c - what follows from a chunk of the trace alone: distances within its cache chunks
 * (exact_count.c), counted at once, and its events, sorted by partitions in event chunks.
 *
 * Where most references of a cache chunk are the first to their blocks, looking for the others costs more
 * than it saves: then every reference but immediate repeats is an event, and the phase finds its distance.
 */
#include "base/error.h"
#include "base/memory.h"
#include "engine/parallel/parallel.h"

#include <string.h>

/* ---- room ---- */

enum { ROOM = 64 }; /* kernels store whole vectors at an array's end */

/* Or numbers in their place. */
static bool has_tags(const fm_parallel *self)
{
    return self->options.tags || self->ordered;
}

static size_t bytes_for(const fm_parallel *self, size_t room)
{
    const size_t tags = has_tags(self) ? 2 * sizeof(uint32_t) : 0;
    const size_t times = self->options.time_distances ? sizeof(uint64_t) : 0;
    return (room + ROOM) * (sizeof(uint64_t) + sizeof(uint32_t) + sizeof(uint8_t) + tags + times) +
           fm_chunk_most_event_chunks(room) * sizeof(fm_event_chunk);
}

static void place_arrays(const fm_parallel *self, fm_thread_chunk *chunk, void *pages, size_t room)
{
    chunk->pages = pages;
    chunk->room = room;
    chunk->blocks = pages;
    uint64_t *times = chunk->blocks + room + ROOM;
    chunk->old_times = self->options.time_distances ? times : NULL;
    chunk->event_chunks = (fm_event_chunk *)(self->options.time_distances ? times + room + ROOM : times);
    chunk->known = (uint32_t *)(chunk->event_chunks + fm_chunk_most_event_chunks(room));
    chunk->now = chunk->leave = NULL;
    uint32_t *end = chunk->known + room + ROOM;
    if (has_tags(self)) {
        chunk->now = end;
        chunk->leave = chunk->now + room + ROOM;
        end = chunk->leave + room + ROOM;
    }
    chunk->group = (uint8_t *)end;
}

fm_status fm_chunk_reserve(fm_parallel *self, fm_thread_chunk *chunk, size_t room, fm_error *error)
{
    if (room <= chunk->room) return FM_OK;
    const fm_thread_chunk old = *chunk;
    void *pages = fm_pages_allocate(bytes_for(self, room));
    if (!pages) return fm_fail_memory(error, bytes_for(self, room), "a piece of the trace");
    place_arrays(self, chunk, pages, room);
    __atomic_fetch_add(&self->chunk_bytes, bytes_for(self, room), __ATOMIC_RELAXED);
    if (!old.pages) return FM_OK;
    const size_t kept = old.events > old.count ? old.events : old.count;
    memcpy(chunk->blocks, old.blocks, kept * sizeof *old.blocks);
    memcpy(chunk->known, old.known, old.events * sizeof *old.known);
    memcpy(chunk->group, old.group, old.events * sizeof *old.group);
    if (chunk->now) {
        memcpy(chunk->now, old.now, old.events * sizeof *old.now);
        memcpy(chunk->leave, old.leave, old.events * sizeof *old.leave);
    }
    memcpy(chunk->event_chunks, old.event_chunks, old.event_chunk_count * sizeof *old.event_chunks);
    fm_pages_free(old.pages, bytes_for(self, old.room));
    __atomic_fetch_sub(&self->chunk_bytes, bytes_for(self, old.room), __ATOMIC_RELAXED);
    return FM_OK;
}

void fm_chunk_release(fm_parallel *self, fm_thread_chunk *chunk)
{
    if (chunk->pages) {
        fm_pages_free(chunk->pages, bytes_for(self, chunk->room));
        __atomic_fetch_sub(&self->chunk_bytes, bytes_for(self, chunk->room), __ATOMIC_RELAXED);
    }
    fm_chunk_order_release(self, &chunk->order);
    memset(chunk, 0, sizeof *chunk);
}

void fm_chunk_move_arrays(const fm_parallel *self, fm_thread_chunk *to, fm_thread_chunk *from)
{
    place_arrays(self, to, from->pages, from->room);
    from->pages = NULL;
    from->room = 0;
    to->order = from->order;
    from->order = (fm_chunk_order){0};
}

/* ---- events ---- */

/* Each event to its place, by its group; with the next position where they are consecutive. */
static inline __attribute__((always_inline)) void place_events(const fm_events *events,
                                                               const fm_thread_chunk *chunk,
                                                               uint32_t *restrict next, const bool placed,
                                                               const bool tagged)
{
    const uint64_t *const restrict keys = events->keys;
    const uint32_t *const restrict positions = events->positions;
    const uint32_t *const restrict leave = events->leave;
    const uint8_t *const restrict group = chunk->group + chunk->events;
    uint64_t *const restrict sorted = chunk->blocks + chunk->events;
    uint32_t *const restrict known = chunk->known + chunk->events;
    uint32_t *const restrict sorted_leave = tagged ? chunk->leave + chunk->events : NULL;
    uint32_t offset = (uint32_t)(chunk->events % FM_LINE_BITS);
    uint32_t position = (uint32_t)fm_shared_window_offset(chunk->events);
    for (size_t i = 0; i < events->count; i++) {
        const uint32_t at = next[group[i]]++;
        sorted[at] = keys[i];
        known[at] = placed ? positions[i] : position;
        if (tagged) sorted_leave[at] = leave[i];
        position++;
        if (++offset == FM_LINE_BITS) { /* a line has fewer bits than it takes positions */
            position += (1U << FM_LINE_SHIFT) - FM_LINE_BITS;
            offset = 0;
        }
    }
}

/* An event chunk of these events, sorted by partition, stably. The keys stand outside of the chunk. */
static void add_event_chunk(const fm_parallel *self, const fm_events *events, fm_thread_chunk *chunk)
{
    const size_t count = events->count;
    fm_event_chunk *event_chunk = &chunk->event_chunks[chunk->event_chunk_count++];
    uint8_t *const group = chunk->group + chunk->events;
    uint32_t next[FM_PARTITIONS] = {0}, begin = 0;
    event_chunk->first = chunk->events;
    event_chunk->count = count;
    self->kernels->partition(events->keys, count, self->seed, group);
    for (size_t i = 0; i < count; i++) next[group[i]]++;
    for (size_t p = 0; p < FM_PARTITIONS; p++) {
        event_chunk->begin[p] = begin;
        begin += next[p];
        next[p] = event_chunk->begin[p];
    }
    event_chunk->begin[FM_PARTITIONS] = begin;
    if (events->positions && events->now)
        place_events(events, chunk, next, true, true);
    else if (events->positions)
        place_events(events, chunk, next, true, false);
    else if (events->now)
        place_events(events, chunk, next, false, true);
    else
        place_events(events, chunk, next, false, false);
    if (events->now) memcpy(chunk->now + chunk->events, events->now, count * sizeof *events->now);
    chunk->events += count;
}

/* What is held becomes an event chunk. */
static void event_chunk_held(const fm_parallel *self, fm_held_events *held, fm_thread_chunk *chunk)
{
    const bool tags = has_tags(self);
    const fm_events events = {.count = held->count,
                              .keys = held->key,
                              .positions = held->position,
                              .now = tags ? held->now : NULL,
                              .leave = tags ? held->leave : NULL};
    if (held->count > 0) add_event_chunk(self, &events, chunk);
    held->count = 0;
}

/* Whether events may be an event chunk as they stand, without being held first. Small ones would be too many.
 */
static bool is_event_chunk(const fm_parallel *self, const fm_thread_chunk *chunk, const fm_held_events *held,
                           const uint64_t *keys, size_t count)
{
    const bool outside = keys < chunk->blocks || keys >= chunk->blocks + chunk->room;
    return self->partitions > 1 && held->count == 0 && count > FM_EVENT_CHUNK / 2 && outside;
}

/* Where the next events go. */
typedef struct events_end {
    uint64_t *keys;
    uint32_t *positions;
    size_t before;         /* events of the chunk before them: their blocks' positions follow from it */
    uint32_t *now, *leave; /* with tags */
} events_end;

/* now NULL: there are none. */
static void put_tags(const uint32_t *now, const uint32_t *leave, size_t count, events_end end)
{
    if (!now || !end.now) return;
    memcpy(end.now, now, count * sizeof *now);
    memcpy(end.leave, leave, count * sizeof *leave);
}

/* Every reference is an event; positions are consecutive. The references may stand where the keys go. */
static void put_all(const fm_references *all, events_end end)
{
    const size_t count = all->count;
    memmove(end.keys, all->blocks, count * sizeof *all->blocks);
    put_tags(all->now, all->leave, count, end);
    uint32_t offset = (uint32_t)(end.before % FM_LINE_BITS), line = (uint32_t)(end.before / FM_LINE_BITS);
    for (size_t i = 0; i < count;) {
        const size_t stop = count - i < FM_LINE_BITS - offset ? count : i + FM_LINE_BITS - offset;
        for (; i < stop; i++) end.positions[i] = (line << FM_LINE_SHIFT) + offset++;
        line++;
        offset = 0;
    }
}

/* Events are the first references of the cache chunk. */
static void put_firsts(const fm_cache_chunk *cache_chunk, bool tags, events_end end)
{
    memcpy(end.keys, cache_chunk->key, cache_chunk->first_count * sizeof *cache_chunk->key);
    for (size_t i = 0; i < cache_chunk->first_count; i++)
        end.positions[i] = (uint32_t)cache_chunk->position[i];
    if (!tags) return;
    memcpy(end.now, cache_chunk->now, cache_chunk->first_count * sizeof *cache_chunk->now);
    for (size_t i = 0; i < cache_chunk->first_count; i++)
        end.leave[i] = (uint32_t)(cache_chunk->position[i] >> FM_TAG_SHIFT);
}

static bool as_cache_chunk(fm_exact *local, const fm_references *cache_chunk, bool whole, size_t before,
                           const fm_outlet *out)
{
    if (!fm_exact_try_chunk(local, cache_chunk->count)) return false;
    local->window.position = fm_shared_window_offset(before); /* where the cache chunk's positions begin */
    if (out->pairs) local->tags->kept.pair_count = 0;
    const bool done = fm_exact_chunk_by_itself(local, cache_chunk->blocks, cache_chunk->count, out);
    fm_exact_judge_chunk(local, done, cache_chunk->count, whole);
    if (done && out->pairs)
        local->kernels->count_pairs(&out->pairs->table, local->tags->kept.pair, local->tags->kept.pair_count);
    return done;
}

/* With one partition, and never with tags, events are not sorted: they go where they stay. Otherwise they are
 * held. */
static events_end make_place(const fm_parallel *self, fm_thread_chunk *chunk, fm_held_events *held,
                             size_t count)
{
    if (self->partitions == 1)
        return (events_end){.keys = chunk->blocks + chunk->events,
                            .positions = chunk->known + chunk->events,
                            .before = chunk->events};
    if (held->count + count > FM_EVENT_CHUNK) event_chunk_held(self, held, chunk);
    return (events_end){.keys = held->key + held->count,
                        .positions = held->position + held->count,
                        .before = chunk->events + held->count,
                        .now = held->now + held->count,
                        .leave = held->leave + held->count};
}

/* Where the events are counted that make_place has made place for. */
static size_t *count_of(const fm_parallel *self, fm_thread_chunk *chunk, fm_held_events *held)
{
    return self->partitions == 1 ? &chunk->events : &held->count;
}

fm_status fm_parallel_start_local(const fm_parallel *self, fm_parallel_worker *worker, fm_error *error)
{
    if (worker->local) return FM_OK;
    return fm_engine_exact.create((fm_engine **)&worker->local, &self->options, error);
}

void fm_chunk_begin(fm_thread_chunk *chunk, fm_parallel_worker *worker)
{
    chunk->events = chunk->event_chunk_count = chunk->seen_event_chunks = 0;
    chunk->tail_event_chunk = SIZE_MAX;
    chunk->firsts = chunk->forgot = chunk->unheld = 0;
    chunk->distinct = false;
    worker->held.count = 0;
}

/* Leaves out references that repeat the one before. With tags, the first one stays: its block would have to
 * get the new tag. */
static void drop_repeats(fm_exact *local, fm_references *cache_chunk, uint64_t *before, const fm_outlet *out)
{
    const size_t count = cache_chunk->count;
    cache_chunk->leave = cache_chunk->now; /* each for itself */
    if (local->straight > 0) {
        local->straight--;
        return;
    }
    if (cache_chunk->now) {
        fm_kept_tags *kept = &local->tags->kept;
        cache_chunk->count = local->kernels->drop_repeats_tagged(cache_chunk->blocks, cache_chunk->now, count,
                                                                 local->unrepeated, kept);
        cache_chunk->now = kept->now;
        cache_chunk->leave = kept->leave;
        local->kernels->count_pairs(&out->pairs->table, kept->pair, kept->pair_count);
    } else {
        cache_chunk->count =
            local->kernels->drop_repeats(cache_chunk->blocks, count, before, local->unrepeated);
    }
    cache_chunk->blocks = local->unrepeated;
    fm_tally_add_many(out->tally, 0, count - cache_chunk->count);
    fm_exact_judge_repeats(local, count, cache_chunk->count);
}

void fm_chunk_put_all(const fm_parallel *self, fm_thread_chunk *chunk, const fm_references *references,
                      fm_parallel_worker *worker)
{
    fm_held_events *held = &worker->held;
    if (is_event_chunk(self, chunk, held, references->blocks, references->count)) {
        const fm_events events = {.count = references->count,
                                  .keys = references->blocks,
                                  .now = references->now,
                                  .leave = references->leave};
        add_event_chunk(self, &events, chunk);
        return;
    }
    put_all(references, make_place(self, chunk, held, references->count));
    *count_of(self, chunk, held) += references->count;
}

fm_status fm_chunk_find(const fm_parallel *self, fm_thread_chunk *chunk, const fm_references *references,
                        fm_parallel_worker *worker, fm_error *error)
{
    const size_t total = references->count;
    fm_exact *local = worker->local;
    fm_held_events *held = &worker->held;
    fm_outlet out = {.tally = &worker->tally, .pairs = references->now ? &worker->pairs : NULL};
    uint64_t before = total > 0 ? ~references->blocks[0] : 0;
    for (size_t at = 0; at < total; at += FM_CACHE_CHUNK) {
        const size_t count = total - at < FM_CACHE_CHUNK ? total - at : FM_CACHE_CHUNK;
        fm_references cache_chunk = {.count = count,
                                     .blocks = references->blocks + at,
                                     .now = references->now ? references->now + at : NULL,
                                     .leave = references->leave ? references->leave + at : NULL};
        const uint64_t last = cache_chunk.blocks[count - 1];
        fm_status status = out.pairs ? fm_pairs_reserve(out.pairs, count, error) : FM_OK;
        if (status != FM_OK) return status;
        if (!cache_chunk.leave) drop_repeats(local, &cache_chunk, &before, &out);
        before = last;
        out.now = cache_chunk.now;
        out.leave = cache_chunk.leave;
        const size_t so_far = chunk->events + held->count;
        const bool alone = as_cache_chunk(local, &cache_chunk, count == FM_CACHE_CHUNK, so_far, &out);
        if (!alone) {
            fm_chunk_put_all(self, chunk, &cache_chunk, worker);
            continue;
        }
        const size_t events = local->chunk.first_count;
        put_firsts(&local->chunk, out.pairs != NULL, make_place(self, chunk, held, events));
        *count_of(self, chunk, held) += events;
    }
    return FM_OK;
}

void fm_chunk_put(const fm_parallel *self, fm_thread_chunk *chunk, const fm_events *events,
                  fm_parallel_worker *worker)
{
    const size_t count = events->count;
    if (is_event_chunk(self, chunk, &worker->held, events->keys, count)) {
        add_event_chunk(self, events, chunk);
        return;
    }
    const events_end end = make_place(self, chunk, &worker->held, count);
    memcpy(end.keys, events->keys, count * sizeof *events->keys);
    memcpy(end.positions, events->positions, count * sizeof *events->positions);
    put_tags(events->now, events->leave, count, end);
    *count_of(self, chunk, &worker->held) += count;
}

void fm_chunk_put_unplaced(const fm_parallel *self, fm_thread_chunk *chunk, const fm_events *events,
                           fm_parallel_worker *worker)
{
    event_chunk_held(self, &worker->held, chunk);
    add_event_chunk(self, events, chunk);
}

void fm_chunk_end(fm_parallel *self, fm_thread_chunk *chunk, fm_parallel_worker *worker)
{
    if (self->partitions == 1) {
        chunk->event_chunk_count = 1;
        chunk->event_chunks[0] = (fm_event_chunk){.count = chunk->events};
    } else {
        event_chunk_held(self, &worker->held, chunk);
    }
    fm_error error;
    fm_status status = fm_parallel_pour_pairs(self, worker, &error);
    if (status != FM_OK) fm_parallel_fail(self, status, &error);
    uint64_t bytes = fm_tally_memory(&worker->tally) + worker->counter_bytes +
                     worker->firsts.capacity * sizeof *worker->firsts.blocks +
                     worker->firsts.tag_capacity * sizeof *worker->firsts.tags;
    if (worker->pairs.table.buckets) bytes += fm_pairs_memory(&worker->pairs);
    if (worker->local) bytes += fm_exact_memory(worker->local);
    if (worker->whole) bytes += fm_exact_memory(worker->whole);
    __atomic_store_n(&worker->bytes, bytes, __ATOMIC_RELAXED);
}

void fm_chunk_analyze(fm_parallel *self, fm_thread_chunk *chunk, fm_parallel_worker *worker)
{
    fm_error error;
    fm_chunk_begin(chunk, worker);
    const fm_references references = {.count = chunk->count, .blocks = chunk->blocks};
    fm_status status = fm_parallel_start_local(self, worker, &error);
    if (status == FM_OK) status = fm_chunk_find(self, chunk, &references, worker, &error);
    if (status != FM_OK) fm_parallel_fail(self, status, &error);
    fm_chunk_end(self, chunk, worker);
}

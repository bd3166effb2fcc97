/* SPDX-License-Identifier: Apache-2.0 */
/*
 * parallel_piece.c - what follows from a piece of the trace alone: distances within its parts
 * (exact_count.c), counted at once, and its events, sorted by partitions in bundles.
 *
 * Where most references of a part are the first to their blocks, looking for the others costs more than it
 * saves: then every reference but immediate repeats is an event, and the phase finds its distance.
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
           fm_piece_most_bundles(room) * sizeof(fm_bundle);
}

static void place_arrays(const fm_parallel *self, fm_piece *piece, void *pages, size_t room)
{
    piece->pages = pages;
    piece->room = room;
    piece->blocks = pages;
    uint64_t *times = piece->blocks + room + ROOM;
    piece->old_times = self->options.time_distances ? times : NULL;
    piece->bundles = (fm_bundle *)(self->options.time_distances ? times + room + ROOM : times);
    piece->known = (uint32_t *)(piece->bundles + fm_piece_most_bundles(room));
    piece->now = piece->leave = NULL;
    uint32_t *end = piece->known + room + ROOM;
    if (has_tags(self)) {
        piece->now = end;
        piece->leave = piece->now + room + ROOM;
        end = piece->leave + room + ROOM;
    }
    piece->group = (uint8_t *)end;
}

fm_status fm_piece_reserve(fm_parallel *self, fm_piece *piece, size_t room, fm_error *error)
{
    if (room <= piece->room) return FM_OK;
    const fm_piece old = *piece;
    void *pages = fm_pages_allocate(bytes_for(self, room));
    if (!pages) return fm_fail_memory(error, bytes_for(self, room), "a piece of the trace");
    place_arrays(self, piece, pages, room);
    __atomic_fetch_add(&self->piece_bytes, bytes_for(self, room), __ATOMIC_RELAXED);
    if (!old.pages) return FM_OK;
    const size_t kept = old.events > old.count ? old.events : old.count;
    memcpy(piece->blocks, old.blocks, kept * sizeof *old.blocks);
    memcpy(piece->known, old.known, old.events * sizeof *old.known);
    memcpy(piece->group, old.group, old.events * sizeof *old.group);
    if (piece->now) {
        memcpy(piece->now, old.now, old.events * sizeof *old.now);
        memcpy(piece->leave, old.leave, old.events * sizeof *old.leave);
    }
    memcpy(piece->bundles, old.bundles, old.bundle_count * sizeof *old.bundles);
    fm_pages_free(old.pages, bytes_for(self, old.room));
    __atomic_fetch_sub(&self->piece_bytes, bytes_for(self, old.room), __ATOMIC_RELAXED);
    return FM_OK;
}

void fm_piece_release(fm_parallel *self, fm_piece *piece)
{
    if (piece->pages) {
        fm_pages_free(piece->pages, bytes_for(self, piece->room));
        __atomic_fetch_sub(&self->piece_bytes, bytes_for(self, piece->room), __ATOMIC_RELAXED);
    }
    fm_piece_order_release(self, &piece->order);
    memset(piece, 0, sizeof *piece);
}

void fm_piece_move_arrays(const fm_parallel *self, fm_piece *to, fm_piece *from)
{
    place_arrays(self, to, from->pages, from->room);
    from->pages = NULL;
    from->room = 0;
    to->order = from->order;
    from->order = (fm_piece_order){0};
}

/* ---- events ---- */

/* Each event to its place, by its group; with the next position where they are consecutive. */
static inline __attribute__((always_inline)) void place_events(const fm_events *events, const fm_piece *piece,
                                                               uint32_t *restrict next, const bool placed,
                                                               const bool tagged)
{
    const uint64_t *const restrict keys = events->keys;
    const uint32_t *const restrict positions = events->positions;
    const uint32_t *const restrict leave = events->leave;
    const uint8_t *const restrict group = piece->group + piece->events;
    uint64_t *const restrict sorted = piece->blocks + piece->events;
    uint32_t *const restrict known = piece->known + piece->events;
    uint32_t *const restrict sorted_leave = tagged ? piece->leave + piece->events : NULL;
    uint32_t offset = (uint32_t)(piece->events % FM_LINE_BITS);
    uint32_t position = (uint32_t)fm_shared_window_offset(piece->events);
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

/* A bundle of these events, sorted by partition, stably. The keys stand outside of the piece. */
static void add_bundle(const fm_parallel *self, const fm_events *events, fm_piece *piece)
{
    const size_t count = events->count;
    fm_bundle *bundle = &piece->bundles[piece->bundle_count++];
    uint8_t *const group = piece->group + piece->events;
    uint32_t next[FM_PARTITIONS] = {0}, begin = 0;
    bundle->first = piece->events;
    bundle->count = count;
    self->kernels->partition(events->keys, count, self->seed, group);
    for (size_t i = 0; i < count; i++) next[group[i]]++;
    for (size_t p = 0; p < FM_PARTITIONS; p++) {
        bundle->begin[p] = begin;
        begin += next[p];
        next[p] = bundle->begin[p];
    }
    bundle->begin[FM_PARTITIONS] = begin;
    if (events->positions && events->now)
        place_events(events, piece, next, true, true);
    else if (events->positions)
        place_events(events, piece, next, true, false);
    else if (events->now)
        place_events(events, piece, next, false, true);
    else
        place_events(events, piece, next, false, false);
    if (events->now) memcpy(piece->now + piece->events, events->now, count * sizeof *events->now);
    piece->events += count;
}

/* What is held becomes a bundle. */
static void bundle_held(const fm_parallel *self, fm_held_events *held, fm_piece *piece)
{
    const bool tags = has_tags(self);
    const fm_events events = {.count = held->count,
                              .keys = held->key,
                              .positions = held->position,
                              .now = tags ? held->now : NULL,
                              .leave = tags ? held->leave : NULL};
    if (held->count > 0) add_bundle(self, &events, piece);
    held->count = 0;
}

/* Whether events may be a bundle as they stand, without being held first. Small ones would be too many. */
static bool is_bundle(const fm_parallel *self, const fm_piece *piece, const fm_held_events *held,
                      const uint64_t *keys, size_t count)
{
    const bool outside = keys < piece->blocks || keys >= piece->blocks + piece->room;
    return self->partitions > 1 && held->count == 0 && count > FM_BUNDLE / 2 && outside;
}

/* Where the next events go. */
typedef struct events_end {
    uint64_t *keys;
    uint32_t *positions;
    size_t before;         /* events of the piece before them: their blocks' positions follow from it */
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

/* Events are the first references of the part. */
static void put_firsts(const fm_part *part, bool tags, events_end end)
{
    memcpy(end.keys, part->key, part->first_count * sizeof *part->key);
    for (size_t i = 0; i < part->first_count; i++) end.positions[i] = (uint32_t)part->position[i];
    if (!tags) return;
    memcpy(end.now, part->now, part->first_count * sizeof *part->now);
    for (size_t i = 0; i < part->first_count; i++)
        end.leave[i] = (uint32_t)(part->position[i] >> FM_TAG_SHIFT);
}

static bool as_part(fm_exact *local, const fm_references *part, bool whole, size_t before,
                    const fm_outlet *out)
{
    if (!fm_exact_try_part(local, part->count)) return false;
    local->window.position = fm_shared_window_offset(before); /* where the part's positions begin */
    if (out->pairs) local->tags->kept.pair_count = 0;
    const bool done = fm_exact_part_by_itself(local, part->blocks, part->count, out);
    fm_exact_judge_part(local, done, part->count, whole);
    if (done && out->pairs)
        local->kernels->count_pairs(&out->pairs->table, local->tags->kept.pair, local->tags->kept.pair_count);
    return done;
}

/* With one partition, and never with tags, events are not sorted: they go where they stay. Otherwise they are
 * held. */
static events_end make_place(const fm_parallel *self, fm_piece *piece, fm_held_events *held, size_t count)
{
    if (self->partitions == 1)
        return (events_end){.keys = piece->blocks + piece->events,
                            .positions = piece->known + piece->events,
                            .before = piece->events};
    if (held->count + count > FM_BUNDLE) bundle_held(self, held, piece);
    return (events_end){.keys = held->key + held->count,
                        .positions = held->position + held->count,
                        .before = piece->events + held->count,
                        .now = held->now + held->count,
                        .leave = held->leave + held->count};
}

/* Where the events are counted that make_place has made place for. */
static size_t *count_of(const fm_parallel *self, fm_piece *piece, fm_held_events *held)
{
    return self->partitions == 1 ? &piece->events : &held->count;
}

fm_status fm_parallel_start_local(const fm_parallel *self, fm_parallel_worker *worker, fm_error *error)
{
    if (worker->local) return FM_OK;
    return fm_engine_exact.create((fm_engine **)&worker->local, &self->options, error);
}

void fm_piece_begin(fm_piece *piece, fm_parallel_worker *worker)
{
    piece->events = piece->bundle_count = piece->seen_bundles = 0;
    piece->tail_bundle = SIZE_MAX;
    piece->firsts = piece->forgot = piece->unheld = 0;
    piece->distinct = false;
    worker->held.count = 0;
}

/* Leaves out references that repeat the one before. With tags, the first one stays: its block would have to
 * get the new tag. */
static void drop_repeats(fm_exact *local, fm_references *part, uint64_t *before, const fm_outlet *out)
{
    const size_t count = part->count;
    part->leave = part->now; /* each for itself */
    if (local->straight > 0) {
        local->straight--;
        return;
    }
    if (part->now) {
        fm_kept_tags *kept = &local->tags->kept;
        part->count =
            local->kernels->drop_repeats_tagged(part->blocks, part->now, count, local->unrepeated, kept);
        part->now = kept->now;
        part->leave = kept->leave;
        local->kernels->count_pairs(&out->pairs->table, kept->pair, kept->pair_count);
    } else {
        part->count = local->kernels->drop_repeats(part->blocks, count, before, local->unrepeated);
    }
    part->blocks = local->unrepeated;
    fm_tally_add_many(out->tally, 0, count - part->count);
    fm_exact_judge_repeats(local, count, part->count);
}

void fm_piece_put_all(const fm_parallel *self, fm_piece *piece, const fm_references *references,
                      fm_parallel_worker *worker)
{
    fm_held_events *held = &worker->held;
    if (is_bundle(self, piece, held, references->blocks, references->count)) {
        const fm_events events = {.count = references->count,
                                  .keys = references->blocks,
                                  .now = references->now,
                                  .leave = references->leave};
        add_bundle(self, &events, piece);
        return;
    }
    put_all(references, make_place(self, piece, held, references->count));
    *count_of(self, piece, held) += references->count;
}

fm_status fm_piece_find(const fm_parallel *self, fm_piece *piece, const fm_references *references,
                        fm_parallel_worker *worker, fm_error *error)
{
    const size_t total = references->count;
    fm_exact *local = worker->local;
    fm_held_events *held = &worker->held;
    fm_outlet out = {.tally = &worker->tally, .pairs = references->now ? &worker->pairs : NULL};
    uint64_t before = total > 0 ? ~references->blocks[0] : 0;
    for (size_t at = 0; at < total; at += FM_PART) {
        const size_t count = total - at < FM_PART ? total - at : FM_PART;
        fm_references part = {.count = count,
                              .blocks = references->blocks + at,
                              .now = references->now ? references->now + at : NULL,
                              .leave = references->leave ? references->leave + at : NULL};
        const uint64_t last = part.blocks[count - 1];
        fm_status status = out.pairs ? fm_pairs_reserve(out.pairs, count, error) : FM_OK;
        if (status != FM_OK) return status;
        if (!part.leave) drop_repeats(local, &part, &before, &out);
        before = last;
        out.now = part.now;
        out.leave = part.leave;
        const size_t so_far = piece->events + held->count;
        const bool alone = as_part(local, &part, count == FM_PART, so_far, &out);
        if (!alone) {
            fm_piece_put_all(self, piece, &part, worker);
            continue;
        }
        const size_t events = local->part.first_count;
        put_firsts(&local->part, out.pairs != NULL, make_place(self, piece, held, events));
        *count_of(self, piece, held) += events;
    }
    return FM_OK;
}

void fm_piece_put(const fm_parallel *self, fm_piece *piece, const fm_events *events,
                  fm_parallel_worker *worker)
{
    const size_t count = events->count;
    if (is_bundle(self, piece, &worker->held, events->keys, count)) {
        add_bundle(self, events, piece);
        return;
    }
    const events_end end = make_place(self, piece, &worker->held, count);
    memcpy(end.keys, events->keys, count * sizeof *events->keys);
    memcpy(end.positions, events->positions, count * sizeof *events->positions);
    put_tags(events->now, events->leave, count, end);
    *count_of(self, piece, &worker->held) += count;
}

void fm_piece_put_unplaced(const fm_parallel *self, fm_piece *piece, const fm_events *events,
                           fm_parallel_worker *worker)
{
    bundle_held(self, &worker->held, piece);
    add_bundle(self, events, piece);
}

void fm_piece_end(fm_parallel *self, fm_piece *piece, fm_parallel_worker *worker)
{
    if (self->partitions == 1) {
        piece->bundle_count = 1;
        piece->bundles[0] = (fm_bundle){.count = piece->events};
    } else {
        bundle_held(self, &worker->held, piece);
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

void fm_piece_analyze(fm_parallel *self, fm_piece *piece, fm_parallel_worker *worker)
{
    fm_error error;
    fm_piece_begin(piece, worker);
    const fm_references references = {.count = piece->count, .blocks = piece->blocks};
    fm_status status = fm_parallel_start_local(self, worker, &error);
    if (status == FM_OK) status = fm_piece_find(self, piece, &references, worker, &error);
    if (status != FM_OK) fm_parallel_fail(self, status, &error);
    fm_piece_end(self, piece, worker);
}

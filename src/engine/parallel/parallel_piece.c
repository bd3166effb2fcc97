/* SPDX-License-Identifier: Apache-2.0 */
/*
 * parallel_piece.c - what follows from a piece of the trace alone: distances within its parts (exact_part.c),
 * counted at once, and its events, sorted by partitions in bundles.
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

static size_t bytes_for(size_t room)
{
    return (room + ROOM) * (sizeof(uint64_t) + sizeof(uint32_t) + sizeof(uint8_t)) +
           fm_piece_most_bundles(room) * sizeof(fm_bundle);
}

static void place_arrays(fm_piece *piece, void *pages, size_t room)
{
    piece->pages = pages;
    piece->room = room;
    piece->blocks = pages;
    piece->bundles = (fm_bundle *)(piece->blocks + room + ROOM);
    piece->known = (uint32_t *)(piece->bundles + fm_piece_most_bundles(room));
    piece->group = (uint8_t *)(piece->known + room + ROOM);
}

fm_status fm_piece_reserve(fm_parallel *self, fm_piece *piece, size_t room, fm_error *error)
{
    if (room <= piece->room) return FM_OK;
    const fm_piece old = *piece;
    void *pages = fm_pages_allocate(bytes_for(room));
    if (!pages) return fm_fail_memory(error, bytes_for(room), "a piece of the trace");
    place_arrays(piece, pages, room);
    __atomic_fetch_add(&self->piece_bytes, bytes_for(room), __ATOMIC_RELAXED);
    if (!old.pages) return FM_OK;
    const size_t kept = old.events > old.count ? old.events : old.count;
    memcpy(piece->blocks, old.blocks, kept * sizeof *old.blocks);
    memcpy(piece->known, old.known, old.events * sizeof *old.known);
    memcpy(piece->group, old.group, old.events * sizeof *old.group);
    memcpy(piece->bundles, old.bundles, old.bundle_count * sizeof *old.bundles);
    fm_pages_free(old.pages, bytes_for(old.room));
    __atomic_fetch_sub(&self->piece_bytes, bytes_for(old.room), __ATOMIC_RELAXED);
    return FM_OK;
}

void fm_piece_release(fm_parallel *self, fm_piece *piece)
{
    if (piece->pages) {
        fm_pages_free(piece->pages, bytes_for(piece->room));
        __atomic_fetch_sub(&self->piece_bytes, bytes_for(piece->room), __ATOMIC_RELAXED);
    }
    memset(piece, 0, sizeof *piece);
}

void fm_piece_move_arrays(fm_piece *to, fm_piece *from)
{
    place_arrays(to, from->pages, from->room);
    from->pages = NULL;
    from->room = 0;
}

/* ---- events ---- */

/* A bundle of these events, sorted by partition, stably. positions NULL: consecutive ones. The keys stand
 * outside of the piece. */
static void add_bundle(const fm_parallel *self, const uint64_t *restrict keys,
                       const uint32_t *restrict positions, size_t count, fm_piece *piece)
{
    fm_bundle *bundle = &piece->bundles[piece->bundle_count++];
    uint8_t *const restrict group = piece->group + piece->events;
    uint64_t *const restrict sorted = piece->blocks + piece->events;
    uint32_t *const restrict known = piece->known + piece->events;
    uint32_t next[FM_PARTITIONS] = {0}, begin = 0;
    bundle->first = piece->events;
    bundle->count = count;
    self->kernels->partition(keys, count, self->seed, group);
    for (size_t i = 0; i < count; i++) next[group[i]]++;
    for (size_t p = 0; p < FM_PARTITIONS; p++) {
        bundle->begin[p] = begin;
        begin += next[p];
        next[p] = bundle->begin[p];
    }
    bundle->begin[FM_PARTITIONS] = begin;
    if (positions) {
        for (size_t i = 0; i < count; i++) {
            const uint32_t at = next[group[i]]++;
            sorted[at] = keys[i];
            known[at] = positions[i];
        }
    } else {
        uint32_t offset = (uint32_t)(piece->events % FM_LINE_BITS);
        uint32_t position = (uint32_t)fm_shared_window_offset(piece->events);
        for (size_t i = 0; i < count; i++) {
            const uint32_t at = next[group[i]]++;
            sorted[at] = keys[i];
            known[at] = position++;
            if (++offset == FM_LINE_BITS) { /* a line has fewer bits than it takes positions */
                position += (1U << FM_LINE_SHIFT) - FM_LINE_BITS;
                offset = 0;
            }
        }
    }
    piece->events += count;
}

/* What is held becomes a bundle. */
static void bundle_held(const fm_parallel *self, fm_held_events *held, fm_piece *piece)
{
    if (held->count > 0) add_bundle(self, held->key, held->position, held->count, piece);
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
    size_t before; /* events of the piece before them: their blocks' positions follow from it */
} events_end;

/* Every reference is an event; positions are consecutive. The references may stand where the keys go. */
static void put_all(const uint64_t *blocks, size_t count, events_end end)
{
    memmove(end.keys, blocks, count * sizeof *blocks);
    uint32_t offset = (uint32_t)(end.before % FM_LINE_BITS), line = (uint32_t)(end.before / FM_LINE_BITS);
    for (size_t i = 0; i < count;) {
        const size_t stop = count - i < FM_LINE_BITS - offset ? count : i + FM_LINE_BITS - offset;
        for (; i < stop; i++) end.positions[i] = (line << FM_LINE_SHIFT) + offset++;
        line++;
        offset = 0;
    }
}

/* Events are the first references of the part. */
static void put_firsts(const fm_part *part, events_end end)
{
    memcpy(end.keys, part->key, part->first_count * sizeof *part->key);
    for (size_t i = 0; i < part->first_count; i++) end.positions[i] = (uint32_t)part->position[i];
}

static bool as_part(fm_exact *local, const uint64_t *blocks, size_t count, bool whole, size_t before,
                    const fm_outlet *out)
{
    if (!fm_exact_try_part(local, count)) return false;
    local->window.position = fm_shared_window_offset(before); /* where the part's positions begin */
    const bool done = fm_exact_part_by_itself(local, blocks, count, out);
    fm_exact_judge_part(local, done, count, whole);
    return done;
}

/* With one partition events are not sorted: they go where they stay. Otherwise they are held. */
static events_end make_place(const fm_parallel *self, fm_piece *piece, fm_held_events *held, size_t count)
{
    if (self->partitions == 1)
        return (events_end){piece->blocks + piece->events, piece->known + piece->events, piece->events};
    if (held->count + count > FM_BUNDLE) bundle_held(self, held, piece);
    return (events_end){held->key + held->count, held->position + held->count, piece->events + held->count};
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

void fm_piece_find(const fm_parallel *self, fm_piece *piece, const uint64_t *references, size_t total,
                   fm_parallel_worker *worker)
{
    fm_exact *local = worker->local;
    fm_held_events *held = &worker->held;
    const fm_outlet out = {.tally = &worker->tally};
    size_t *const added = count_of(self, piece, held);
    uint64_t before = total > 0 ? ~references[0] : 0;
    for (size_t at = 0; at < total; at += FM_PART) {
        const uint64_t *blocks = references + at;
        const size_t count = total - at < FM_PART ? total - at : FM_PART;
        const uint64_t last = blocks[count - 1];
        size_t left = count;
        if (local->straight > 0) {
            local->straight--;
        } else {
            left = local->kernels->drop_repeats(blocks, count, &before, local->unrepeated);
            blocks = local->unrepeated;
            fm_tally_add_many(&worker->tally, 0, count - left);
            fm_exact_judge_repeats(local, count, left);
        }
        before = last;
        const size_t so_far = piece->events + held->count;
        const bool alone = as_part(local, blocks, left, count == FM_PART, so_far, &out);
        const size_t events = alone ? local->part.first_count : left;
        if (!alone && is_bundle(self, piece, held, blocks, events)) {
            add_bundle(self, blocks, NULL, events, piece);
            continue;
        }
        const events_end end = make_place(self, piece, held, events);
        if (alone)
            put_firsts(&local->part, end);
        else
            put_all(blocks, left, end);
        *added += events;
    }
}

void fm_piece_put(const fm_parallel *self, fm_piece *piece, const uint64_t *keys, const uint32_t *positions,
                  size_t count, fm_parallel_worker *worker)
{
    if (is_bundle(self, piece, &worker->held, keys, count)) {
        add_bundle(self, keys, positions, count, piece);
        return;
    }
    const events_end end = make_place(self, piece, &worker->held, count);
    memcpy(end.keys, keys, count * sizeof *keys);
    memcpy(end.positions, positions, count * sizeof *positions);
    *count_of(self, piece, &worker->held) += count;
}

void fm_piece_put_unplaced(const fm_parallel *self, fm_piece *piece, const uint64_t *keys, size_t count,
                           fm_parallel_worker *worker)
{
    bundle_held(self, &worker->held, piece);
    add_bundle(self, keys, NULL, count, piece);
}

void fm_piece_end(const fm_parallel *self, fm_piece *piece, fm_parallel_worker *worker)
{
    if (self->partitions == 1) {
        piece->bundle_count = 1;
        piece->bundles[0] = (fm_bundle){.count = piece->events};
    } else {
        bundle_held(self, &worker->held, piece);
    }
    uint64_t bytes = fm_tally_memory(&worker->tally) + worker->counter_bytes +
                     worker->firsts.capacity * sizeof *worker->firsts.blocks;
    if (worker->local) bytes += fm_exact_memory(worker->local);
    if (worker->whole) bytes += fm_exact_memory(worker->whole);
    __atomic_store_n(&worker->bytes, bytes, __ATOMIC_RELAXED);
}

void fm_piece_analyze(fm_parallel *self, fm_piece *piece, fm_parallel_worker *worker)
{
    fm_error error;
    fm_piece_begin(piece, worker);
    fm_status status = fm_parallel_start_local(self, worker, &error);
    if (status != FM_OK)
        fm_parallel_fail(self, status, &error);
    else
        fm_piece_find(self, piece, piece->blocks, piece->count, worker);
    fm_piece_end(self, piece, worker);
}

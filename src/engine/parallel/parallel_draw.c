/* SPDX-License-Identifier: Apache-2.0 */
/*
 * parallel_draw.c - chunks that threads fetch for themselves (engine.h): the trace stands in memory, or
 * in a file of which any block can be read. Nobody copies for others, so that chunks may be large.
 *
 * A large chunk is analysed as a whole, by an engine of one thread that begins empty: all distances within it
 * follow, and its events are first touches, each block once. In programs that is one reference in hundreds,
 * where cache chunks leave one in ten, and what threads do together becomes little. A chunk that has more
 * blocks than there is room for is analysed in *sections*, each from an empty engine.
 *
 * Where many references would be first touches even so, chunks are worked off cache chunk by cache chunk, as
 * those that are handed in are; and from time to time it is tried again. All threads try at the same time:
 * phases take chunks in order, and would wait for a large one among small ones. How large a chunk should be,
 * and which way it goes: parallel_judge.c.
 */
#include "base/error.h"
#include "base/memory.h"
#include "engine/parallel/parallel.h"

#include <string.h>

enum {
    FIRST_SHARE = 32, /* of a thread's share of the trace: its first chunk, */
    FIRST_MOST = 4,   /* and of a chunk from which on larger ones are taken only where they are needed */
    SMALLEST = 16,    /* chunks at the end are smaller, up to so many times */
    SLACK = 4,       /* the next chunk that has the same arrays has more events by one in so many, or fewer */
    LAST_SHARES = 1, /* chunks for each thread that what is left should be enough for */
    /* Event chunks of a section whose positions are looked up partition by partition: fewer are in a cache
     * anyway; and two of them may be small, where one in two may be (fm_chunk_most_event_chunks). */
    WORTH_SORTING = 4
};

/* What an engine takes for a block of a chunk. */
enum { ENGINE_BYTES_A_BLOCK = 112, ENGINE_BASE = 4 << 20 };
enum { EVENTS_LEAST = 1 << 16, EVENTS_MOST = 1 << 28, FREE_SHARES = 4 };
enum { BOUND_MOST = 1 << 27 }; /* that chunks drop blocks by: distances stay below the mark of tails */

/* ---- in the thread that has the chunk ---- */

static fm_status start_whole(const fm_parallel *self, fm_parallel_worker *worker, bool drops, fm_error *error)
{
    if (worker->whole && fm_exact_drops((fm_engine *)worker->whole) != drops) fm_parallel_end_whole(worker);
    if (worker->whole) return FM_OK;
    fm_engine_options options = self->options;
    if (options.max_memory) options.max_memory = ENGINE_BASE + self->drawn_events * ENGINE_BYTES_A_BLOCK;
    /* What is beyond the bound here, is so in the trace. Where nothing is dropped, all blocks count. */
    options.keep_all = !drops;
    fm_status status = fm_engine_exact.create((fm_engine **)&worker->whole, &options, error);
    if (status == FM_OK) fm_exact_list_firsts((fm_engine *)worker->whole, &worker->firsts);
    return status;
}

/* Room for the blocks of a chunk, all at once, in an engine that holds none: tables that grow step by step
 * would be remapped each time, for which all threads have to wait; and a window that begins small is full
 * again and again, and each time all of the table, which may have been large before, is gone through. */
static fm_status make_room(fm_exact *whole, uint64_t blocks, fm_error *error)
{
    const uint64_t most = fm_exact_most_held((fm_engine *)whole);
    if (blocks > most) blocks = most;
    fm_status status = fm_exact_make_room(whole, blocks, error);
    if (status == FM_OK) status = fm_recency_window_reserve(&whole->window, blocks, error);
    if (status == FM_OK) fm_recency_window_restart_for(&whole->window, 0, blocks);
    return status;
}

void fm_parallel_end_whole(fm_parallel_worker *worker)
{
    if (!worker->whole) return;
    fm_engine_exact.destroy((fm_engine *)worker->whole);
    fm_first_touches_clear(&worker->firsts);
    worker->whole = NULL;
}

/* Positions of blocks in a chunk that has so many events, and with tags, under which they are left; or with
 * times, by which of its references. */
static void place_blocks(fm_parallel_worker *worker, const uint64_t *blocks, size_t count, size_t events,
                         bool timed)
{
    uint64_t *const depth = worker->depth;
    fm_exact_depths((fm_engine *)worker->whole, blocks, count, depth);
    for (size_t i = 0; i < count; i++) {
        worker->leave[i] = (uint32_t)(depth[i] >> FM_TAG_SHIFT);
        worker->position[i] = (uint32_t)fm_shared_window_offset(events - 1 - (depth[i] & FM_POSITION_BITS));
    }
    if (timed) fm_exact_last_numbers((fm_engine *)worker->whole, blocks, count, worker->leave);
}

static void place_gathered(fm_thread_chunk *chunk, fm_parallel_worker *worker, fm_gathered_events *found,
                           size_t events)
{
    size_t at = 0;
    place_blocks(worker, found->key, found->count, events, chunk->old_times != NULL);
    for (size_t s = 0; s < found->segments; s++) {
        const size_t place = found->place[s], length = found->length[s];
        memcpy(chunk->known + place, worker->position + at, length * sizeof *chunk->known);
        if (chunk->leave) memcpy(chunk->leave + place, worker->leave + at, length * sizeof *chunk->leave);
        at += length;
    }
    found->count = found->segments = 0;
}

/*
 * Positions of the events in event chunks from `first` on. Partition by partition: its blocks stand together
 * in the table of the engine, and that cache chunk of it stays in a cache.
 */
static void place_event_chunks(const fm_parallel *self, fm_thread_chunk *chunk, size_t first, size_t events,
                               fm_parallel_worker *worker)
{
    fm_gathered_events *const found = &worker->gathered;
    found->count = found->segments = 0;
    for (size_t p = 0; p < self->partitions; p++) {
        for (size_t b = first; b < chunk->event_chunk_count; b++) {
            const fm_event_chunk *event_chunk = &chunk->event_chunks[b];
            const size_t at = event_chunk->first + event_chunk->begin[p],
                         count = event_chunk->begin[p + 1] - event_chunk->begin[p];
            if (found->count + count > FM_EVENT_CHUNK) place_gathered(chunk, worker, found, events);
            memcpy(found->key + found->count, chunk->blocks + at, count * sizeof *found->key);
            found->place[found->segments] = at;
            found->length[found->segments++] = (uint32_t)count;
            found->count += count;
            if (found->segments == FM_EVENT_CHUNK) place_gathered(chunk, worker, found, events);
        }
    }
    place_gathered(chunk, worker, found, events);
}

/* First touches of a section become events. Positions are in the order of last touches. */
static fm_status put_first_touches(fm_parallel *self, fm_thread_chunk *chunk, fm_parallel_worker *worker,
                                   fm_error *error)
{
    const fm_first_touches *firsts = &worker->firsts;
    const size_t before = chunk->events + worker->held.count, events = before + firsts->count;
    fm_status status = FM_OK;
    if (events > chunk->room) status = fm_chunk_reserve(self, chunk, events + events / SLACK, error);
    if (status != FM_OK) return status;
    const bool together = self->partitions > 1 && firsts->count >= WORTH_SORTING * FM_EVENT_CHUNK;
    const size_t first_event_chunk = chunk->event_chunk_count + (worker->held.count > 0);
    for (size_t first = 0; first < firsts->count; first += FM_EVENT_CHUNK) {
        fm_events put = {.count =
                             firsts->count - first < FM_EVENT_CHUNK ? firsts->count - first : FM_EVENT_CHUNK,
                         .keys = firsts->blocks + first};
        if (self->options.tags || self->ordered) put.now = put.leave = firsts->tags + first;
        if (together) {
            fm_chunk_put_unplaced(self, chunk, &put, worker);
            continue;
        }
        place_blocks(worker, put.keys, put.count, events, chunk->old_times != NULL);
        put.positions = worker->position;
        put.leave = put.now ? worker->leave : NULL;
        fm_chunk_put(self, chunk, &put, worker);
    }
    if (together) place_event_chunks(self, chunk, first_event_chunk, events, worker);
    return FM_OK;
}

/* Blocks as event chunks, at consecutive positions. */
static void put_in_order(const fm_parallel *self, fm_thread_chunk *chunk, const uint64_t *blocks,
                         size_t count, fm_parallel_worker *worker)
{
    for (size_t first = 0; first < count; first += FM_EVENT_CHUNK) {
        const fm_events put = {.count = count - first < FM_EVENT_CHUNK ? count - first : FM_EVENT_CHUNK,
                               .keys = blocks + first};
        fm_chunk_put_unplaced(self, chunk, &put, worker);
    }
}

/*
 * A chunk that touched more blocks than the bound. Its first touches are events up to the bound, and beyond
 * from there on: of those, it only counts which blocks they were. What is left of it for the next chunks are
 * its last blocks, up to the bound: anything else is beyond. So its events are as if it were the first
 * touches and then the last blocks, in the order of their last touches.
 */
static fm_status put_bounded(fm_parallel *self, fm_thread_chunk *chunk, fm_parallel_worker *worker,
                             fm_error *error)
{
    const fm_first_touches *firsts = &worker->firsts;
    const size_t bound = (size_t)self->options.bound;
    const size_t events = 2 * bound, others = firsts->count - bound, bytes = bound * sizeof(uint64_t);
    const size_t seen = firsts->given_up ? 0 : others;
    uint64_t *const last = fm_pages_allocate(bytes);
    if (!last) return fm_fail_memory(error, bytes, "the last blocks of a piece");
    fm_status status = FM_OK;
    const size_t room = events + seen + FM_EVENT_CHUNK; /* there are three event chunks that may be small */
    if (room > chunk->room) status = fm_chunk_reserve(self, chunk, room, error);
    if (status == FM_OK) {
        put_in_order(self, chunk, firsts->blocks, bound, worker);
        chunk->tail_event_chunk = chunk->event_chunk_count;
        fm_exact_stack((fm_engine *)worker->whole, bound, last);
        for (size_t i = 0; i < bound / 2; i++) { /* the oldest first */
            const uint64_t swap = last[i];
            last[i] = last[bound - 1 - i];
            last[bound - 1 - i] = swap;
        }
        put_in_order(self, chunk, last, bound, worker);
        const size_t event_chunks = chunk->event_chunk_count;
        put_in_order(self, chunk, firsts->blocks + bound, seen, worker);
        chunk->seen_event_chunks = chunk->event_chunk_count - event_chunks;
        chunk->event_chunk_count = event_chunks;
        chunk->events = events;
        chunk->distinct = false;
        chunk->forgot = firsts->given_up ? others + 1 : 0;
    }
    fm_pages_free(last, bytes);
    return status;
}

/* Whether it pays, or some of its first touches are not known, or some of its blocks not held. */
static bool is_beyond_bound(const fm_parallel *self, const fm_thread_chunk *chunk,
                            const fm_parallel_worker *worker)
{
    const fm_first_touches *firsts = &worker->firsts;
    return chunk->drops && (firsts->given_up || firsts->count > 2 * self->options.bound ||
                            firsts->count != fm_exact_live((fm_engine *)worker->whole));
}

static fm_status draw_fetch(const fm_parallel *self, fm_thread_chunk *chunk, unsigned number,
                            fm_references *references, fm_error *error)
{
    const fm_block_supply *supply = self->supply;
    uint64_t repeats = 0;
    fm_status status = supply->fetch(supply->context, number, &chunk->range, references, &repeats, error);
    if (status != FM_OK) return status;
    fm_tally_add_many(&self->workers[number].tally, 0, repeats);
    chunk->fetched += references->count + repeats;
    return FM_OK;
}

static fm_status count_whole(fm_parallel_worker *worker, const fm_references *references, fm_error *error)
{
    const fm_engine_results results = {.distances = &worker->tally,
                                       .pairs = references->now ? &worker->pairs : NULL};
    size_t done;
    return fm_engine_exact.count((fm_engine *)worker->whole, references, &results, &done, error);
}

static fm_status draw_whole(fm_parallel *self, fm_thread_chunk *chunk, unsigned number, fm_error *error)
{
    fm_parallel_worker *worker = &self->workers[number];
    fm_references fetched = {.count = 1};
    fm_status status = start_whole(self, worker, chunk->drops, error);
    if (status == FM_OK && fm_exact_live((fm_engine *)worker->whole) > 0)
        fm_exact_empty((fm_engine *)worker->whole); /* of the chunk before */
    if (status == FM_OK) status = make_room(worker->whole, chunk->expected, error);
    chunk->distinct = true;
    if (status == FM_OK && self->ordered) fm_exact_number_from_here((fm_engine *)worker->whole);
    while (status == FM_OK && fetched.count > 0) {
        if (chunk->drops && __atomic_load_n(&self->given_up, __ATOMIC_RELAXED))
            fm_seen_set_give_up(worker->whole->seen, 0); /* nobody wants to know any more */
        status = draw_fetch(self, chunk, number, &fetched, error);
        if (status == FM_OK && fetched.count > 0)
            status = self->ordered ? fm_chunk_order_feed(self, chunk, &fetched, worker, error)
                                   : count_whole(worker, &fetched, error);
        if (status == FM_OK) status = fm_parallel_pour_pairs(self, worker, error);
        fm_chunk_note_growth(chunk, chunk->events + worker->held.count + worker->firsts.count);
        if (status == FM_OK && !chunk->drops && worker->firsts.count > self->drawn_events) {
            chunk->distinct = false;
            status = put_first_touches(self, chunk, worker, error);
            fm_exact_empty((fm_engine *)worker->whole);
        }
    }
    if (status != FM_OK) return status;
    chunk->firsts = chunk->events + worker->held.count + worker->firsts.count;
    chunk->unheld = worker->firsts.unheld;
    status = is_beyond_bound(self, chunk, worker) ? put_bounded(self, chunk, worker, error)
                                                  : put_first_touches(self, chunk, worker, error);
    if (chunk->forgot > 0) chunk->firsts = chunk->events; /* they are not known */
    return status;
}

static fm_status draw_by_cache_chunks(fm_parallel *self, fm_thread_chunk *chunk, unsigned number,
                                      fm_error *error)
{
    fm_parallel_worker *worker = &self->workers[number];
    fm_references fetched = {.count = 1};
    fm_parallel_end_whole(worker); /* for now nobody needs it */
    fm_status status = self->ordered ? FM_OK : fm_parallel_start_local(self, worker, error);
    while (status == FM_OK && fetched.count > 0) {
        status = draw_fetch(self, chunk, number, &fetched, error);
        if (status == FM_OK && fetched.count > 0)
            status = fm_chunk_reserve(self, chunk, chunk->events + worker->held.count + fetched.count, error);
        if (status == FM_OK)
            status = self->ordered ? fm_chunk_order_put(self, chunk, &fetched, worker, error)
                                   : fm_chunk_find(self, chunk, &fetched, worker, error);
    }
    return status;
}

void fm_chunk_draw(fm_parallel *self, fm_thread_chunk *chunk, unsigned number)
{
    fm_parallel_worker *worker = &self->workers[number];
    fm_error error;
    fm_chunk_begin(chunk, worker);
    fm_status status = fm_chunk_reserve(self, chunk, 1, &error); /* for event chunks, at least */
    if (status == FM_OK && self->ordered) status = fm_parallel_start_order(worker, &error);
    if (status == FM_OK)
        status = chunk->by_cache_chunks ? draw_by_cache_chunks(self, chunk, number, &error)
                                        : draw_whole(self, chunk, number, &error);
    if (status != FM_OK) {
        chunk->events = chunk->event_chunk_count = worker->held.count = 0;
        fm_parallel_fail(self, status, &error);
        return;
    }
    fm_chunk_end(self, chunk, worker);
}

/* ---- under the lock ---- */

/* Chunks under way. Large ones are few: their arrays are large, too. But one more than can wait for others to
 * make a phase with them. */
static size_t drawn_limit(const fm_parallel *self)
{
    return self->by_cache_chunks > 0 ? self->chunk_count : self->chunks_a_phase;
}

static uint64_t size_of_next(const fm_parallel *self)
{
    if (self->shared_out) return self->drawn_size;
    const uint64_t share = self->supply->left(self->supply->context) / (LAST_SHARES * self->threads);
    const uint64_t wanted = share < self->drawn_size ? share : self->drawn_size;
    const uint64_t least = self->drawn_size / SMALLEST;
    if (wanted < least) return least;
    return wanted > fm_parallel_drawn_least ? wanted : fm_parallel_drawn_least;
}

bool fm_parallel_claim_drawn(fm_parallel *self)
{
    if (!self->supply || self->dry || self->status != FM_OK) return false;
    if (self->may_drop && !self->drops_freely && __atomic_load_n(&self->given_up, __ATOMIC_RELAXED))
        fm_parallel_drop_freely(self);
    if (self->filled - self->retired >= drawn_limit(self)) return false;
    fm_thread_chunk *chunk = &self->chunks[self->filled % self->chunk_count];
    if (chunk->room == 0 && self->spare_count > 0)
        fm_chunk_move_arrays(self, chunk, &self->spare[--self->spare_count]);
    const bool cache_chunks = self->by_cache_chunks > 0;
    const uint64_t wanted = cache_chunks ? fm_parallel_drawn_least : size_of_next(self);
    if (!self->supply->claim(self->supply->context, wanted, &chunk->range)) {
        self->dry = true;
        fm_crew_call(self->crew); /* the one who feeds waits for it */
        return false;
    }
    chunk->drawn = true;
    chunk->by_cache_chunks = cache_chunks;
    chunk->drops = self->drops;
    chunk->wanted = wanted;
    chunk->fetched = 0;
    chunk->quarter = chunk->half = (fm_chunk_growth_point){0};
    chunk->expected = self->drawn_expected < self->drawn_events ? self->drawn_expected : self->drawn_events;
    if (cache_chunks && --self->by_cache_chunks == 0) fm_parallel_try_first_size(self);
    self->filled++;
    self->claimed++;
    self->drawing++;
    return true;
}

/* ---- in the thread that feeds ---- */

static bool is_drawn(void *context)
{
    const fm_parallel *self = context;
    return self->drawing == 0 && (self->dry || self->status != FM_OK);
}

/* Chunks may take a share of the memory that is free, half of it where the other half goes to distances in
 * order; or, under a limit, half of that. */
static uint64_t events_with_room(const fm_parallel *self)
{
    const uint64_t limit = self->options.max_memory;
    if (fm_parallel_drawn_events) return fm_parallel_drawn_events;
    uint64_t bytes = fm_free_memory() / FREE_SHARES / (self->delivering ? 2 : 1);
    if (limit && limit / 2 < bytes) bytes = limit / 2;
    const uint64_t fixed = limit ? self->threads * FM_THREAD_BYTES : 0;
    uint64_t events = bytes > fixed ? (bytes - fixed) / self->threads / FM_DRAWN_BLOCK_BYTES : 0;
    if (events < EVENTS_LEAST) return EVENTS_LEAST;
    return events < EVENTS_MOST ? events : EVENTS_MOST;
}

/* Of a long trace, chunks are not tried that are much too small. */
static uint64_t first_size(const fm_parallel *self, uint64_t references)
{
    const uint64_t share = references / self->threads / FIRST_SHARE,
                   most = fm_parallel_drawn_most / FIRST_MOST;
    const uint64_t first = share < most ? share : most;
    return first > fm_parallel_drawn_least ? first : fm_parallel_drawn_least;
}

/* Under a bound: whether chunks may drop blocks. With tags, and in order, all are kept: what is known of each
 * reference to blocks that were dropped would have to be remembered, too. */
static bool may_drop(const fm_parallel *self)
{
    const uint64_t bound = self->options.bound;
    return !self->options.tags && !self->ordered && self->partitions > 1 && bound > 0 &&
           bound <= BOUND_MOST && self->drawn_events / 2 >= bound;
}

fm_status fm_parallel_draw(fm_parallel *self, const fm_block_supply *supply, const fm_engine_results *results,
                           fm_error *error)
{
    fm_crew_lock(self->crew);
    if (self->ordered) self->delivering = results->sink; /* then no task is under way */
    self->with_blocks = !results->distances_only;
    self->order_most = fm_parallel_order_room(self);
    if (self->drawn_events == 0) {
        self->drawn_events = events_with_room(self);
        self->may_drop = may_drop(self);
    }
    self->drawn_first = first_size(self, supply->left(supply->context));
    fm_parallel_try_first_size(self);
    self->supply = supply;
    self->dry = false;
    fm_crew_call(self->crew);
    fm_crew_unlock(self->crew);
    fm_error reason;
    fm_status status = self->delivering ? fm_parallel_deliver(self, results, &reason) : FM_OK;
    if (status != FM_OK) fm_parallel_fail(self, status, &reason);
    fm_crew_help(self->crew, is_drawn);
    fm_crew_lock(self->crew);
    self->supply = NULL;
    status = self->status;
    if (status == FM_OK && self->delivering) self->delivering = false; /* no task is under way */
    if (status != FM_OK && error) *error = self->error;
    fm_crew_unlock(self->crew);
    return status;
}

/* ---- references that stand in memory ---- */

typedef struct array_supply {
    const uint64_t *blocks;
    size_t count, claimed;
} array_supply;

static bool claim_of_array(void *context, uint64_t wanted, fm_trace_range *range)
{
    array_supply *array = context;
    const size_t left = array->count - array->claimed;
    if (left == 0) return false;
    *range = (fm_trace_range){.at = array->claimed, .left = left < wanted ? left : wanted};
    array->claimed += (size_t)range->left;
    return true;
}

static fm_status fetch_of_array(void *context, unsigned worker, fm_trace_range *range,
                                fm_references *references, uint64_t *repeats, fm_error *error)
{
    const array_supply *array = context;
    const uint64_t portion = fm_parallel_drawn_least / 2 + 1; /* so that it is seen how a chunk goes on */
    (void)worker;
    (void)error;
    *references = (fm_references){.count = (size_t)(range->left < portion ? range->left : portion),
                                  .blocks = array->blocks + range->at};
    *repeats = 0;
    range->at += references->count;
    range->left -= references->count;
    return FM_OK;
}

static uint64_t left_of_array(const void *context)
{
    const array_supply *array = context;
    return array->count - array->claimed;
}

fm_status fm_parallel_draw_array(fm_parallel *self, const uint64_t *blocks, size_t count, fm_error *error)
{
    array_supply array = {.blocks = blocks, .count = count};
    const fm_block_supply supply = {
        .context = &array, .claim = claim_of_array, .fetch = fetch_of_array, .left = left_of_array};
    return fm_parallel_draw(self, &supply, &(fm_engine_results){0}, error);
}

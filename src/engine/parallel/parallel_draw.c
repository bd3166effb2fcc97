/* SPDX-License-Identifier: Apache-2.0 */
/*
 * parallel_draw.c - pieces that threads fetch for themselves (block_supply.h): the trace stands in memory, or
 * in a file of which any block can be read. Nobody copies for others, so that pieces may be large.
 *
 * A large piece is analysed as a whole, by an engine of one thread that begins empty: all distances within it
 * follow, and its events are first touches, each block once. In programs that is one reference in hundreds,
 * where parts leave one in ten, and what threads do together becomes little. How large a piece should be is
 * found on the way: twice as large as the one before, as long as its blocks are few enough; their number is
 * what the memory of a thread depends on.
 *
 * Where many references are first touches even so, pieces are worked off part by part, as those that are
 * handed in are. Larger ones have fewer, so that from time to time larger ones are tried. All threads try at
 * the same time: phases take pieces in order, and would wait for a large one among small ones.
 */
#include "base/error.h"
#include "base/memory.h"
#include "engine/parallel/parallel.h"

#include <stdlib.h>

enum {
    /* First touches of a piece that is analysed as a whole: one in so many references, at least. Each costs
     * more than all that is done to a few others. */
    FEW = 8,
    /* After one that had more, so many times as many references go part by part; and if no larger one may be
     * tried. */
    WAIT = 16,
    WAIT_LONG = 256,
    HOPE = 4,        /* larger ones are tried where a piece had so many times fewer events than it may have */
    LAST_SHARES = 2, /* pieces for each thread that what is left should be enough for */
};

/* ---- in the thread that has the piece ---- */

static fm_status start_whole(const fm_parallel *self, fm_parallel_worker *worker, fm_error *error)
{
    if (worker->whole) return FM_OK;
    fm_engine_options options = self->options;
    options.keep_all = true; /* what is beyond the bound here, is so in the trace: but all its blocks count */
    fm_status status = fm_engine_exact.create((fm_engine **)&worker->whole, &options, error);
    if (status == FM_OK) fm_exact_list_firsts((fm_engine *)worker->whole, &worker->firsts);
    return status;
}

void fm_parallel_end_whole(fm_parallel_worker *worker)
{
    if (!worker->whole) return;
    fm_engine_exact.destroy((fm_engine *)worker->whole);
    free(worker->firsts.blocks);
    worker->whole = NULL;
    worker->firsts = (fm_first_touches){0};
}

/* First touches become events. Positions are in the order of last touches. */
static void put_first_touches(const fm_parallel *self, fm_piece *piece, fm_parallel_worker *worker)
{
    const fm_first_touches *firsts = &worker->firsts;
    for (size_t first = 0; first < firsts->count; first += FM_BUNDLE) {
        const size_t count = firsts->count - first < FM_BUNDLE ? firsts->count - first : FM_BUNDLE;
        fm_exact_depths((fm_engine *)worker->whole, firsts->blocks + first, count, worker->depth);
        for (size_t i = 0; i < count; i++)
            worker->position[i] = (uint32_t)fm_shared_window_offset(firsts->count - 1 - worker->depth[i]);
        fm_piece_put(self, piece, firsts->blocks + first, worker->position, count, worker);
    }
}

static fm_status fetch(const fm_parallel *self, fm_piece *piece, unsigned number, const uint64_t **blocks,
                       size_t *count, fm_error *error)
{
    const fm_block_supply *supply = self->supply;
    uint64_t repeats = 0;
    fm_status status =
        supply->fetch(supply->context, number, &piece->stretch, blocks, count, &repeats, error);
    if (status != FM_OK) return status;
    fm_tally_add_many(&self->workers[number].tally, 0, repeats);
    piece->fetched += *count + repeats;
    return FM_OK;
}

static fm_status draw_whole(fm_parallel *self, fm_piece *piece, unsigned number, fm_error *error)
{
    fm_parallel_worker *worker = &self->workers[number];
    const uint64_t *blocks;
    size_t count = 1, done;
    fm_status status = start_whole(self, worker, error);
    while (status == FM_OK && count > 0) {
        status = fetch(self, piece, number, &blocks, &count, error);
        if (status == FM_OK && count > 0)
            status = fm_engine_exact.count((fm_engine *)worker->whole, blocks, count, &worker->tally, &done,
                                           error);
    }
    if (status == FM_OK) status = fm_piece_reserve(self, piece, worker->firsts.count, error);
    if (status != FM_OK) return status;
    put_first_touches(self, piece, worker);
    fm_exact_empty((fm_engine *)worker->whole);
    return FM_OK;
}

static fm_status draw_by_parts(fm_parallel *self, fm_piece *piece, unsigned number, fm_error *error)
{
    fm_parallel_worker *worker = &self->workers[number];
    const uint64_t *blocks;
    size_t count = 1;
    fm_parallel_end_whole(worker); /* for now nobody needs it */
    fm_status status = fm_parallel_start_local(self, worker, error);
    while (status == FM_OK && count > 0) {
        status = fetch(self, piece, number, &blocks, &count, error);
        if (status == FM_OK && count > 0)
            status = fm_piece_reserve(self, piece, piece->events + worker->held.count + count, error);
        if (status == FM_OK) fm_piece_find(self, piece, blocks, count, worker);
    }
    return status;
}

void fm_piece_draw(fm_parallel *self, fm_piece *piece, unsigned number)
{
    fm_parallel_worker *worker = &self->workers[number];
    fm_error error;
    fm_piece_begin(piece, worker);
    fm_status status = fm_piece_reserve(self, piece, 1, &error); /* for bundles, at least */
    if (status == FM_OK)
        status = piece->by_parts ? draw_by_parts(self, piece, number, &error)
                                 : draw_whole(self, piece, number, &error);
    if (status != FM_OK) {
        piece->events = piece->bundle_count = worker->held.count = 0;
        fm_parallel_fail(self, status, &error);
        return;
    }
    fm_piece_end(self, piece, worker);
}

/* ---- under the lock ---- */

/* Pieces under way. Large ones are few: their arrays are large, too. */
static size_t drawn_limit(const fm_parallel *self)
{
    const size_t few = self->pieces_a_phase + self->pieces_a_phase_drawn;
    return self->by_parts > 0 ? self->piece_count : few;
}

static uint64_t size_of_next(const fm_parallel *self)
{
    const uint64_t share = self->supply->left(self->supply->context) / (LAST_SHARES * self->threads);
    const uint64_t wanted = share < self->drawn_size ? share : self->drawn_size;
    return wanted > fm_parallel_drawn_least ? wanted : fm_parallel_drawn_least;
}

bool fm_parallel_claim_drawn(fm_parallel *self)
{
    if (!self->supply || self->dry || self->status != FM_OK ||
        self->filled - self->retired >= drawn_limit(self))
        return false;
    fm_piece *piece = &self->pieces[self->filled % self->piece_count];
    const bool parts = self->by_parts > 0;
    const uint64_t wanted = parts ? fm_parallel_drawn_least : size_of_next(self);
    if (!self->supply->claim(self->supply->context, wanted, &piece->stretch)) {
        self->dry = true;
        fm_crew_call(self->crew); /* the one who feeds waits for it */
        return false;
    }
    piece->drawn = true;
    piece->by_parts = parts;
    piece->wanted = wanted;
    piece->fetched = 0;
    if (parts) self->by_parts--;
    self->filled++;
    self->claimed++;
    self->drawing++;
    return true;
}

static void note_memory(fm_parallel *self)
{
    const uint64_t bytes = fm_engine_parallel.memory((const fm_engine *)self);
    if (bytes > self->memory_peak) self->memory_peak = bytes;
}

void fm_parallel_judge_drawn(fm_parallel *self, const fm_piece *piece)
{
    self->drawing--;
    if (piece->by_parts) return;
    note_memory(self);
    const uint64_t most = fm_parallel_drawn_events;
    const bool larger = piece->events <= most / HOPE;
    if (piece->events > piece->fetched / FEW && self->by_parts == 0)
        self->by_parts =
            (larger ? WAIT : WAIT_LONG) * self->threads * (piece->wanted / fm_parallel_drawn_least);
    if (piece->events > most && piece->wanted <= self->drawn_size)
        self->drawn_size = piece->wanted / 2;
    else if (larger && piece->wanted >= self->drawn_size)
        self->drawn_size = 2 * piece->wanted;
    if (self->drawn_size < fm_parallel_drawn_least) self->drawn_size = fm_parallel_drawn_least;
    if (self->drawn_size > fm_parallel_drawn_most) self->drawn_size = fm_parallel_drawn_most;
}

/* ---- in the thread that feeds ---- */

static bool is_drawn(void *context)
{
    const fm_parallel *self = context;
    return self->drawing == 0 && (self->dry || self->status != FM_OK);
}

fm_status fm_parallel_draw(fm_parallel *self, const fm_block_supply *supply, fm_error *error)
{
    fm_crew_lock(self->crew);
    self->supply = supply;
    self->dry = false;
    fm_crew_call(self->crew);
    fm_crew_unlock(self->crew);
    fm_crew_help(self->crew, is_drawn);
    fm_crew_lock(self->crew);
    self->supply = NULL;
    const fm_status status = self->status;
    if (status != FM_OK && error) *error = self->error;
    fm_crew_unlock(self->crew);
    return status;
}

/* ---- references that stand in memory ---- */

typedef struct array_supply {
    const uint64_t *blocks;
    size_t count, claimed;
} array_supply;

static bool claim_of_array(void *context, uint64_t wanted, fm_stretch *stretch)
{
    array_supply *array = context;
    const size_t left = array->count - array->claimed;
    if (left == 0) return false;
    *stretch = (fm_stretch){.at = array->claimed, .left = left < wanted ? left : wanted};
    array->claimed += (size_t)stretch->left;
    return true;
}

static fm_status fetch_of_array(void *context, unsigned worker, fm_stretch *stretch, const uint64_t **blocks,
                                size_t *count, uint64_t *repeats, fm_error *error)
{
    const array_supply *array = context;
    (void)worker;
    (void)error;
    *blocks = array->blocks + stretch->at;
    *count = (size_t)stretch->left;
    *repeats = 0;
    stretch->left = 0;
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
    return fm_parallel_draw(self, &supply, error);
}

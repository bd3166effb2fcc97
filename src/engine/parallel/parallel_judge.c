/* SPDX-License-Identifier: Apache-2.0 */
/*
 * parallel_judge.c - how large the chunks should be that threads fetch for themselves (parallel_draw.c), and
 * whether they are analysed as a whole or cache chunk by cache chunk.
 *
 * An event costs as much as all that is done to several other references. Programs have few in chunks of 2^20
 * references already. Elsewhere they become fewer the larger a chunk is, and the largest one is a thread's
 * share of all that is left. How many events that would have is foretold from how their number grew within a
 * chunk. Where they are few enough, all that is left is dealt out, one chunk for each thread; where they are
 * not, no size is worth it, and chunks are worked off cache chunk by cache chunk.
 */
#include "engine/parallel/parallel.h"

#include <math.h>

enum {
    /* First touches of a chunk that is analysed as a whole: one in so many references, at least. With more,
     * cache chunks take less time, and far less memory (bench/RESULTS.md). */
    FEW = 10,
    FEW_UNDER_BOUND = 20, /* under a bound the same of shares, where cache chunks take little time */
    FEW_IN_ORDER =
        5,       /* the same in order, where all references of a cache chunk are events: they cost more */
    SOME = 2,    /* unheld references under a bound: one in so many, at least */
    ENOUGH = 64, /* with one in so many, larger chunks would not bring much */
    GROWTH = 4,  /* from one size to the next, where nothing can be foretold */
    MORE = 2,    /* blocks that a chunk of the next size has, about */
    LESS = 4,    /* and of one that is a share, less than is foretold by one in so many */
    EXPECTED_FIRST = 4, /* references for each block of the first chunk, about */
    WAIT = 32, /* after so many times as many references cache chunk by cache chunk, it is tried again */
    EVENT_BYTES = 16, /* of a chunk, for an event */
};

/* References of all chunks of a phase at most: each might be an event, and be counted in 32 bits. */
#define EVENTS_A_PHASE (UINT64_C(1) << 31)

static uint64_t few_blocks(const fm_parallel *self)
{
    return self->ordered ? FEW_IN_ORDER : FEW;
}

void fm_chunk_note_growth(fm_thread_chunk *chunk, uint64_t events)
{
    const fm_chunk_growth_point now = {.references = chunk->fetched, .events = events};
    if (chunk->fetched <= chunk->wanted / 2) chunk->half = now;
    if (chunk->fetched <= chunk->wanted / 4) chunk->quarter = now;
}

void fm_parallel_try_first_size(fm_parallel *self)
{
    self->drawn_size = self->drawn_first;
    self->drawn_expected = self->drawn_first / EXPECTED_FIRST;
    self->drawn_growth = (fm_chunk_growth){0};
    self->shared_out = false;
    self->drops = self->may_drop;
}

void fm_parallel_drop_freely(fm_parallel *self)
{
    self->drops_freely = true;
    if (self->shared_out || self->by_cache_chunks == 0) return;
    self->by_cache_chunks = 0;
    fm_parallel_try_first_size(self);
}

static void add_point(fm_chunk_growth_point *sum, fm_chunk_growth_point point)
{
    sum->references += point.references;
    sum->events += point.events;
}

/* What was seen of the chunks of one size: those of which as much is known as of the first. */
static void note_growth(fm_chunk_growth *growth, const fm_thread_chunk *chunk)
{
    const bool quarter = chunk->quarter.references > 0, half = chunk->half.references > 0;
    if (growth->chunks > 0 &&
        (quarter != (growth->quarter.references > 0) || half != (growth->half.references > 0)))
        return;
    const fm_chunk_growth_point end = {.references = chunk->fetched, .events = chunk->firsts};
    add_point(&growth->quarter, chunk->quarter);
    add_point(&growth->half, chunk->half);
    add_point(&growth->end, end);
    growth->chunks++;
}

static bool can_foretell(const fm_chunk_growth *growth)
{
    return growth->half.events > 0 && growth->end.references > growth->half.references;
}

/* By how much the number of events fell behind that of references, each time that these doubled: 0 where all
 * references are events, 1 where no new block comes any more. */
static double lag_between(fm_chunk_growth_point from, fm_chunk_growth_point to)
{
    const double grown =
        log((double)to.events / (double)from.events) / log((double)to.references / (double)from.references);
    return grown < 1 ? 1 - grown : 0;
}

/*
 * The lag grows with each doubling, the faster the sooner the blocks come to an end. For keys that are all as
 * likely it doubles while it is small, and then approaches 1: lag' = lag (1 + (1 - lag)), nearly. For Zipf
 * keys its growth is slower, 1.1 to 1.2 at first, but becomes faster. So: lag' = lag (1 + growth (1 - lag)),
 * with the growth that was seen between the halves of the chunk, more of it by a quarter each time, up to 1.
 * For Zipf keys (exponents 0.8 to 1.2, 10^6 to 10^9 keys) and uniform ones that is 0.6 to 2.5 times what
 * comes.
 */
double fm_chunk_growth_foretell(const fm_chunk_growth *seen, uint64_t size)
{
    const fm_chunk_growth_point quarter = seen->quarter, half = seen->half, end = seen->end;
    const double chunks = (double)seen->chunks;
    double lag = lag_between(half, end), growth = 0, grown = 0;
    if (quarter.events > 0 && quarter.references < half.references) {
        const double before = lag_between(quarter, half);
        /* From the middle of the one step to the middle of the other. */
        const double doublings = log2((double)end.references / (double)quarter.references) / 2;
        growth = before > 0 ? pow(lag / before, 1 / doublings) - 1 : 1;
    }
    if (growth < 0) growth = 0;
    double left = log2((double)size * chunks / (double)end.references); /* doublings */
    while (left > 0) {
        if (growth > 1) growth = 1;
        lag *= 1 + growth * (1 - lag);
        growth *= 1.25;
        grown += (1 - lag) * (left < 1 ? left : 1);
        left--;
    }
    return (double)end.events / chunks * exp2(grown);
}

static uint64_t share_of_rest(const fm_parallel *self)
{
    return self->supply->left(self->supply->context) / self->threads + 1;
}

/*
 * Whether chunks that drop blocks pay. Each thread remembers for itself, as far as one would, which blocks
 * there were, in memory that has to be cleared: for that, its share must be long. Where many references are
 * to blocks that its engine did not hold, each of them is remembered or looked up: then cache chunks take
 * less time.
 */
static bool dropping_pays(const fm_parallel *self, const fm_thread_chunk *chunk)
{
    return self->drops_freely ||
           (chunk->unheld <= chunk->fetched / SOME && share_of_rest(self) >= fm_parallel_long_share);
}

/* Events of a chunk with so many first touches: where it drops blocks no more than those within the bound and
 * as many last ones. */
static double events_for(const fm_parallel *self, double firsts, bool drops)
{
    const double most = 2 * (double)self->options.bound;
    return drops && firsts > most ? most : firsts;
}

/* Blocks that a chunk may hold: where they have a bound, twice as many, or as many as one thread would
 * remember. */
static double most_blocks(const fm_parallel *self)
{
    const uint64_t most = self->drawn_events, bound = self->options.bound;
    const uint64_t wanted = bound > fm_seen_limit / 2 ? 2 * bound : fm_seen_limit;
    return (double)(bound && bound <= most / 2 && wanted < most ? wanted : most);
}

/* Under a bound cache chunks take little time where most references are new to them, and shares that drop
 * blocks have as many events more as blocks that they leave. */
static uint64_t few_of_share(const fm_parallel *self, const fm_thread_chunk *chunk, bool drops)
{
    const bool mostly_new = self->may_drop && chunk->firsts > chunk->fetched / SOME;
    return drops || mostly_new ? FEW_UNDER_BOUND : few_blocks(self);
}

/*
 * Deals out what is left, a chunk for each thread, where these would have few events. Longer ones than a
 * phase has numbers for, or than there is room for, are cut into equal cache chunks. Should the guess be
 * wrong, the arrays of a chunk take no more than an engine was allowed to.
 */
static bool deal_out(fm_parallel *self, const fm_thread_chunk *chunk, bool drops)
{
    const uint64_t share = share_of_rest(self);
    const uint64_t numbers = (drops ? EVENTS_A_PHASE / 8 : EVENTS_A_PHASE) / self->chunks_a_phase;
    const uint64_t room = FM_DRAWN_BLOCK_BYTES / EVENT_BYTES;
    uint64_t most = !drops && self->drawn_events < numbers / room ? room * self->drawn_events : numbers;
    if (self->order_most < most) most = self->order_most;
    const fm_chunk_growth *seen = &self->drawn_growth;
    uint64_t cache_chunks = share / most + 1;
    while (events_for(self, fm_chunk_growth_foretell(seen, share / cache_chunks + 1), drops) >
               most_blocks(self) &&
           share / cache_chunks > chunk->wanted)
        cache_chunks *= 2;
    const uint64_t size = share / cache_chunks + 1;
    const double events = events_for(self, fm_chunk_growth_foretell(seen, size), drops);
    if (size <= chunk->wanted || events > (double)size / (double)few_of_share(self, chunk, drops))
        return false;
    self->drops = drops;
    self->drawn_size = size;
    /* A table with room for too many is slow, and its pages must be cleared; one that has too little grows.
     */
    self->drawn_expected = (uint64_t)(events - events / LESS);
    self->shared_out = true;
    self->by_cache_chunks = 0; /* the first chunk of all may have said so; the others know better */
    return true;
}

/*
 * Under a bound, an engine that keeps all blocks takes less time than one that drops some and has to remember
 * which, as long as there are not too many. Once first touches cannot be told from returns, nothing has to be
 * remembered, and how many blocks a chunk would have is not known.
 */
static bool share_out(fm_parallel *self, const fm_thread_chunk *chunk)
{
    if (!self->drops_freely && chunk->forgot == 0 && deal_out(self, chunk, false)) return true;
    return chunk->drops && dropping_pays(self, chunk) && deal_out(self, chunk, true);
}

/* Chunks of the first size that are under way may still say otherwise. */
static void go_by_cache_chunks(fm_parallel *self, const fm_thread_chunk *chunk)
{
    if (self->by_cache_chunks > 0) return;
    if (self->drops_freely && !chunk->drops) { /* what was not known when it began */
        fm_parallel_try_first_size(self);
        return;
    }
    self->by_cache_chunks = WAIT * self->threads * (chunk->wanted / fm_parallel_drawn_least);
    if (chunk->wanted != self->drawn_first) fm_parallel_try_first_size(self);
}

/* Threads that are slower than others have fewer chunks, not smaller ones, where there may be many. */
static bool usual_size_will_do(const fm_parallel *self, const fm_chunk_growth *seen,
                               const fm_thread_chunk *chunk)
{
    const uint64_t usual = chunk->wanted < fm_parallel_drawn_most ? fm_parallel_drawn_most : chunk->wanted;
    const double firsts = fm_chunk_growth_foretell(seen, usual);
    return events_for(self, firsts, self->drops_freely) <= (double)usual / ENOUGH;
}

static void note_memory(fm_parallel *self)
{
    const uint64_t bytes = fm_engine_parallel.memory((const fm_engine *)self);
    if (bytes > self->memory_peak) self->memory_peak = bytes;
}

void fm_parallel_judge_drawn(fm_parallel *self, const fm_thread_chunk *chunk)
{
    self->drawing--;
    if (chunk->by_cache_chunks) return;
    note_memory(self);
    const bool are_few =
        chunk->events <= chunk->fetched / few_blocks(self) && (!chunk->drops || dropping_pays(self, chunk));
    const bool enough =
        are_few && chunk->events <= chunk->fetched / ENOUGH && chunk->wanted >= fm_parallel_drawn_most;
    if (chunk->events > self->drawn_events) {
        if (chunk->wanted <= self->drawn_size) {
            self->drawn_size = chunk->wanted / 2;
            self->drawn_growth = (fm_chunk_growth){0};
        }
        if (!are_few) go_by_cache_chunks(self, chunk);
    } else if (chunk->wanted != self->drawn_size) {
        return; /* it was begun with another size, and that was judged */
    } else if (!enough && !self->shared_out) {
        fm_chunk_growth *seen = &self->drawn_growth;
        note_growth(seen, chunk);
        const bool known = can_foretell(seen), larger = !known || usual_size_will_do(self, seen, chunk);
        if (!larger && share_out(self, chunk)) return; /* no other size will be tried */
        if (larger && chunk->events <= self->drawn_events / GROWTH) {
            self->drawn_size = GROWTH * chunk->wanted;
            self->drawn_growth = (fm_chunk_growth){0};
            if (known && !self->drops_freely) self->drops = false;
            self->drawn_expected = MORE * chunk->events;
        } else if (!are_few) {
            go_by_cache_chunks(self, chunk);
        }
    } else if (!are_few) {
        go_by_cache_chunks(self, chunk);
    }
    if (self->drawn_size > self->order_most) self->drawn_size = self->order_most;
    if (self->drawn_size < fm_parallel_drawn_least) self->drawn_size = fm_parallel_drawn_least;
}

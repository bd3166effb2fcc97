/* SPDX-License-Identifier: Apache-2.0 */
/*
 * parallel_judge.c - how large the pieces should be that threads fetch for themselves (parallel_draw.c), and
 * whether they are analysed as a whole or part by part.
 *
 * An event costs as much as all that is done to several other references. Programs have few in pieces of 2^20
 * references already. Elsewhere they become fewer the larger a piece is, and the largest one is a thread's
 * share of all that is left. How many events that would have is foretold from how their number grew within a
 * piece. Where they are few enough, all that is left is dealt out, one piece for each thread; where they are
 * not, no size is worth it, and pieces are worked off part by part.
 */
#include "engine/parallel/parallel.h"

#include <math.h>

enum {
    /* First touches of a piece that is analysed as a whole: one in so many references, at least. With more,
     * parts take less time, and far less memory (bench/RESULTS.md). */
    FEW = 10,
    FEW_IN_ORDER = 5,   /* the same in order, where all references of a part are events: they cost more */
    SOME = 2,           /* unheld references under a bound: one in so many, at least */
    ENOUGH = 64,        /* with one in so many, larger pieces would not bring much */
    GROWTH = 4,         /* from one size to the next, where nothing can be foretold */
    MORE = 2,           /* blocks that a piece of the next size has, about */
    LESS = 4,           /* and of one that is a share, less than is foretold by one in so many */
    EXPECTED_FIRST = 4, /* references for each block of the first piece, about */
    WAIT = 32,          /* after so many times as many references part by part, it is tried again */
    EVENT_BYTES = 16,   /* of a piece, for an event */
};

/* References of all pieces of a phase at most: each might be an event, and be counted in 32 bits. */
#define EVENTS_A_PHASE (UINT64_C(1) << 31)

static uint64_t few(const fm_parallel *self)
{
    return self->ordered ? FEW_IN_ORDER : FEW;
}

void fm_piece_note_growth(fm_piece *piece, uint64_t events)
{
    const fm_piece_growth_point now = {.references = piece->fetched, .events = events};
    if (piece->fetched <= piece->wanted / 2) piece->half = now;
    if (piece->fetched <= piece->wanted / 4) piece->quarter = now;
}

void fm_parallel_try_first_size(fm_parallel *self)
{
    self->drawn_size = self->drawn_first;
    self->drawn_expected = self->drawn_first / EXPECTED_FIRST;
    self->drawn_growth = (fm_piece_growth){0};
    self->shared_out = false;
}

static void add_point(fm_piece_growth_point *sum, fm_piece_growth_point point)
{
    sum->references += point.references;
    sum->events += point.events;
}

/* What was seen of the pieces of one size: those of which as much is known as of the first. */
static void note_growth(fm_piece_growth *growth, const fm_piece *piece)
{
    const bool quarter = piece->quarter.references > 0, half = piece->half.references > 0;
    if (growth->pieces > 0 &&
        (quarter != (growth->quarter.references > 0) || half != (growth->half.references > 0)))
        return;
    const fm_piece_growth_point end = {.references = piece->fetched, .events = piece->firsts};
    add_point(&growth->quarter, piece->quarter);
    add_point(&growth->half, piece->half);
    add_point(&growth->end, end);
    growth->pieces++;
}

static bool can_foretell(const fm_piece_growth *growth)
{
    return growth->half.events > 0 && growth->end.references > growth->half.references;
}

/* By how much the number of events fell behind that of references, each time that these doubled: 0 where all
 * references are events, 1 where no new block comes any more. */
static double lag_between(fm_piece_growth_point from, fm_piece_growth_point to)
{
    const double grown =
        log((double)to.events / (double)from.events) / log((double)to.references / (double)from.references);
    return grown < 1 ? 1 - grown : 0;
}

/*
 * The lag grows with each doubling, the faster the sooner the blocks come to an end. For keys that are all as
 * likely it doubles while it is small, and then approaches 1: lag' = lag (1 + (1 - lag)), nearly. For Zipf
 * keys its growth is slower, 1.1 to 1.2 at first, but becomes faster. So: lag' = lag (1 + growth (1 - lag)),
 * with the growth that was seen between the halves of the piece, more of it by a quarter each time, up to 1.
 * For Zipf keys (exponents 0.8 to 1.2, 10^6 to 10^9 keys) and uniform ones that is 0.6 to 2.5 times what
 * comes.
 */
double fm_piece_growth_foretell(const fm_piece_growth *seen, uint64_t size)
{
    const fm_piece_growth_point quarter = seen->quarter, half = seen->half, end = seen->end;
    const double pieces = (double)seen->pieces;
    double lag = lag_between(half, end), growth = 0, grown = 0;
    if (quarter.events > 0 && quarter.references < half.references) {
        const double before = lag_between(quarter, half);
        /* From the middle of the one step to the middle of the other. */
        const double doublings = log2((double)end.references / (double)quarter.references) / 2;
        growth = before > 0 ? pow(lag / before, 1 / doublings) - 1 : 1;
    }
    if (growth < 0) growth = 0;
    double left = log2((double)size * pieces / (double)end.references); /* doublings */
    while (left > 0) {
        if (growth > 1) growth = 1;
        lag *= 1 + growth * (1 - lag);
        growth *= 1.25;
        grown += (1 - lag) * (left < 1 ? left : 1);
        left--;
    }
    return (double)end.events / pieces * exp2(grown);
}

/*
 * Whether a piece as a whole pays under a bound. Where many references are to blocks that its engine did not
 * hold, each of them is remembered or looked up by every thread for itself: then parts take less time.
 */
static bool drops_few(const fm_parallel *self, const fm_piece *piece)
{
    return !self->bounded || piece->unheld <= piece->fetched / SOME;
}

/* Events of a piece with so many first touches: under a bound no more than its blocks and as many last ones.
 */
static double events_for(const fm_parallel *self, double firsts)
{
    const double most = 2 * (double)self->options.bound;
    return self->bounded && firsts > most ? most : firsts;
}

/*
 * Deals out what is left, a piece for each thread, where these would have few events. Longer ones than a
 * phase has numbers for, or than there is room for, are cut into equal parts. Should the guess be wrong, the
 * arrays of a piece take no more than an engine was allowed to.
 */
static bool share_out(fm_parallel *self, const fm_piece *piece)
{
    const uint64_t share = self->supply->left(self->supply->context) / self->threads + 1;
    const uint64_t numbers = (self->bounded ? EVENTS_A_PHASE / 8 : EVENTS_A_PHASE) / self->pieces_a_phase;
    const uint64_t room = FM_DRAWN_BLOCK_BYTES / EVENT_BYTES;
    uint64_t most =
        !self->bounded && self->drawn_events < numbers / room ? room * self->drawn_events : numbers;
    if (self->order_most < most) most = self->order_most;
    const fm_piece_growth *seen = &self->drawn_growth;
    uint64_t parts = share / most + 1;
    while (events_for(self, fm_piece_growth_foretell(seen, share / parts + 1)) > (double)self->drawn_events &&
           share / parts > piece->wanted)
        parts *= 2;
    const uint64_t size = share / parts + 1;
    const double events = events_for(self, fm_piece_growth_foretell(seen, size));
    if (size <= piece->wanted || events > (double)size / (double)few(self) || !drops_few(self, piece))
        return false;
    self->drawn_size = size;
    /* A table with room for too many is slow, and its pages must be cleared; one that has too little grows.
     */
    self->drawn_expected = (uint64_t)(events - events / LESS);
    self->shared_out = true;
    self->by_parts = 0; /* the first piece of all may have said so; the others know better */
    return true;
}

/* Pieces of the first size that are under way may still say otherwise. */
static void go_by_parts(fm_parallel *self, const fm_piece *piece)
{
    if (self->by_parts > 0) return;
    self->by_parts = WAIT * self->threads * (piece->wanted / fm_parallel_drawn_least);
    if (piece->wanted != self->drawn_first) fm_parallel_try_first_size(self);
}

/* Threads that are slower than others have fewer pieces, not smaller ones, where there may be many. */
static bool usual_size_will_do(const fm_parallel *self, const fm_piece_growth *seen, const fm_piece *piece)
{
    const uint64_t usual = piece->wanted < fm_parallel_drawn_most ? fm_parallel_drawn_most : piece->wanted;
    return drops_few(self, piece) &&
           events_for(self, fm_piece_growth_foretell(seen, usual)) <= (double)usual / ENOUGH;
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
    const bool are_few = piece->events <= piece->fetched / few(self) && drops_few(self, piece);
    const bool enough =
        are_few && piece->events <= piece->fetched / ENOUGH && piece->wanted >= fm_parallel_drawn_most;
    if (piece->events > self->drawn_events) {
        if (piece->wanted <= self->drawn_size) {
            self->drawn_size = piece->wanted / 2;
            self->drawn_growth = (fm_piece_growth){0};
        }
        if (!are_few) go_by_parts(self, piece);
    } else if (piece->wanted != self->drawn_size) {
        return; /* it was begun with another size, and that was judged */
    } else if (!enough && !self->shared_out) {
        fm_piece_growth *seen = &self->drawn_growth;
        note_growth(seen, piece);
        const bool larger = !can_foretell(seen) || usual_size_will_do(self, seen, piece);
        if (!larger && share_out(self, piece)) return; /* no other size will be tried */
        if (larger && piece->events <= self->drawn_events / GROWTH) {
            self->drawn_size = GROWTH * piece->wanted;
            self->drawn_growth = (fm_piece_growth){0};
            self->drawn_expected = MORE * piece->events;
        } else if (!are_few) {
            go_by_parts(self, piece);
        }
    } else if (!are_few) {
        go_by_parts(self, piece);
    }
    if (self->drawn_size > self->order_most) self->drawn_size = self->order_most;
    if (self->drawn_size < fm_parallel_drawn_least) self->drawn_size = fm_parallel_drawn_least;
}

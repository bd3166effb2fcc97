/* SPDX-License-Identifier: Apache-2.0 */
/*
 * team_exact.c - fm_team_exact: ranks that analyse together, without a chain.
 *
 * Every chunk is analysed by an engine `exact` of its own that begins empty. What is left are its *events*:
 * first touches, in order. And every block that was ever touched has a *position*: a number by which blocks
 * are in the order of their last touches. Those of earlier phases have 0 … held - 1; a chunk gives its blocks
 * the next ones. An event that is number k of its chunk, whose block had position q, ends a distance of
 *
 *     k + (positions from q to the chunk's first) - (events before it whose blocks had positions above q)
 *
 * because everything that was touched since then has a position above q, counted once too often where it was
 * touched again. So there are two questions, each asked of all ranks at once:
 *
 *     which position had the block?   to the rank that *owns the block*: blocks are divided by hash
 *     how many events ...?            to the rank that *owns the position*: positions are divided into ranges
 *                                     of about equally many events. Events before it in higher ranges are
 *                                     counted by whoever asks.
 *
 * In each exchange every rank sends to every other. Nothing is asked from rank to rank in turn, as in PARDA.
 */
#include "base/error.h"
#include "base/memory.h"
#include "cluster/team.h"
#include "engine/engine_tables.h"
#include "engine/exact/exact_kernels.h"

#include <fathom/status.h>
#include <stdlib.h>
#include <string.h>

/*
 * ==== superseded blocks ====
 *
 * The positions in a range that were left, one after the other, and how many of them are above
 * one: a bitmap, and a Fenwick tree of how many bits are set in its words. O(log) each.
 */

typedef struct superseded_set {
    uint64_t low;   /* the range's first position, a multiple of 64 */
    uint64_t words; /* of the bitmap */
    uint64_t *bits;
    uint32_t *sums; /* from 1; NULL where nothing is counted any more */
    uint64_t count; /* bits set */
} superseded_set;

/* Safe on a zeroed one. */
static void superseded_clear(superseded_set *set)
{
    free(set->bits);
    free(set->sums);
    *set = (superseded_set){0};
}

/* Positions from low up to high, both multiples of 64. */
static fm_status superseded_create(superseded_set *set, uint64_t low, uint64_t high, fm_error *error)
{
    const uint64_t words = (high - low) / 64;
    *set = (superseded_set){.low = low, .words = words};
    set->bits = fm_calloc(words ? words : 1, sizeof *set->bits);
    set->sums = fm_calloc(words + 1, sizeof *set->sums);
    if (set->bits && set->sums) return FM_OK;
    superseded_clear(set);
    return fm_fail_memory(error, words * (sizeof *set->bits + sizeof *set->sums), "positions");
}

/* Sets the bit of a position, which was not set; returns how many are set above it. */
static uint64_t superseded_leave(superseded_set *set, uint64_t position)
{
    const uint64_t at = position - set->low, word = at / 64, bit = UINT64_C(1) << at % 64;
    FM_ASSERT(position >= set->low && word < set->words && !(set->bits[word] & bit));
    uint64_t upto = (uint64_t)__builtin_popcountll(set->bits[word] & (bit - 1));
    for (uint64_t i = word; i > 0; i &= i - 1) upto += set->sums[i];
    for (uint64_t i = word + 1; i <= set->words; i += i & -i) set->sums[i]++;
    set->bits[word] |= bit;
    return set->count++ - upto;
}

/* What one thread of this rank feeds. */
typedef struct fm_team_chunk {
    fm_engine *engine;
    fm_tally tally;
    fm_first_touches firsts;
    uint64_t positions; /* that its blocks get */
    uint64_t base;      /* the first of them */
} fm_team_chunk;

struct fm_team {
    fm_transport *transport;
    fm_team_options options;
    fm_team_chunk *chunks;
    fm_tally tally; /* of distances that were found when phases were merged */
    uint64_t held;  /* blocks that all ranks together hold */
    /* Blocks that this rank owns: 2 + position, or 1 for those further away than the bound. */
    fm_block_table blocks;
    fm_seen_set *seen; /* under a bound: of the blocks it owns */
    bool given_up;     /* some chunk could not tell first touches any more */
};

/*
 * ==== end of a phase ====
 *
 * Positions are handed out, the
 * owners of blocks asked, then the owners of positions; at last positions are made dense again.
 *
 * With E events in all, and ranks that have equally many: O(E/P log) work for each, three exchanges of 16, 8
 * and 16 bytes an event. Between phases, every rank gets one bit for each position (O(held + E) bits) and
 * goes through the blocks that it owns.
 */

enum {
    GONE = 1,           /* in the table of owned blocks: no position any more */
    FIRST_POSITION = 2, /* 0 there means free */
    SAMPLES = 256,      /* of positions, from each rank, before they are divided */
    DISTANCES = 1024,   /* counted together */
};
#define NOWHERE (UINT64_MAX >> 1)    /* a position: the block is further away than the bound */
#define NO_EVENT (UINT64_C(1) << 63) /* a flag of positions: sent, and not asked */

/* To the owner of a block. */
typedef struct sent_block {
    uint64_t block, position;
} sent_block;

/* To the owner of a position. */
typedef struct left_position {
    uint64_t position;
    uint64_t distance; /* but for the events before it in the same range */
} left_position;

/* What a rank has at hand while a phase is merged. */
typedef struct phase_merge {
    fm_team *team;
    uint32_t size;
    uint64_t positions;         /* in use, those of this phase among them */
    size_t events;              /* of this rank */
    uint32_t *owner;            /* of each event: of its block, then of its old position */
    uint64_t *old;              /* its block's old position, or FM_COLD, FM_BEYOND */
    uint64_t *begin, *in_begin; /* size + 1 each */
    uint64_t *range;            /* size + 1: where ranges of positions begin */
    superseded_set left;
} phase_merge;

static fm_status no_memory(fm_error *error)
{
    (void)fm_fail(error, FM_E_NOMEM, NULL, "out of memory while ranks put together what they know");
    return FM_E_NOMEM;
}

/* ---- positions ---- */

/* Every chunk of every rank says how many positions it needs. */
static fm_status hand_out_positions(phase_merge *at, fm_error *error)
{
    fm_team *team = at->team;
    const unsigned chunks = team->options.chunks;
    const uint64_t bound = team->options.bound;
    uint64_t *all = fm_calloc((size_t)chunks * (at->size + 1), sizeof *all);
    if (!all) return no_memory(error);
    uint64_t *mine = all + (size_t)chunks * at->size;
    for (unsigned i = 0; i < chunks; i++) {
        fm_team_chunk *chunk = &team->chunks[i];
        const uint64_t live = chunk->engine ? fm_exact_live(chunk->engine) : 0;
        mine[i] = chunk->positions = bound && live > bound ? bound : live;
        at->events += chunk->firsts.count;
        team->given_up |= chunk->firsts.given_up;
    }
    fm_status status = team->transport->gather(team->transport, mine, chunks * sizeof *mine, all, error);
    at->positions = team->held;
    for (size_t i = 0; i < (size_t)chunks * at->size && status == FM_OK; i++) {
        if (i / chunks == team->transport->rank) team->chunks[i % chunks].base = at->positions;
        at->positions += all[i];
    }
    free(all);
    return status;
}

/* ---- whose block ---- */

static uint32_t owner_of(const phase_merge *at, uint64_t block)
{
    static const uint64_t seed[3] = {0, UINT64_C(0x9E3779B97F4A7C15), UINT64_C(0xD6E8FEB86659FD93)};
    return (uint32_t)fm_block_home_index(fm_block_hash(block ^ at->team->options.seed, seed), at->size);
}

/* Turns counts of items for each rank into where they begin. */
static void counts_to_begin(uint64_t *begin, uint32_t size)
{
    uint64_t sum = 0;
    for (uint32_t i = 0; i <= size; i++) {
        const uint64_t count = i < size ? begin[i] : 0;
        begin[i] = sum;
        sum += count;
    }
}

/* When every item was put where its rank's next one goes: each number stands where the next one should. */
static void back_to_begin(uint64_t *begin, uint32_t size)
{
    memmove(begin + 1, begin, size * sizeof *begin);
    begin[0] = 0;
}

/*
 * What the owners of blocks are sent, in order of time. Under a bound, first touches are one thing, and the
 * blocks that get positions another: more are touched than those, and not all of those are listed.
 */
static fm_status write_blocks(phase_merge *at, sent_block **out, fm_error *error)
{
    const fm_team *team = at->team;
    const bool bounded = team->options.bound != 0;
    uint64_t total = at->events, most = 0;
    for (unsigned i = 0; i < team->options.chunks; i++) {
        if (bounded) total += team->chunks[i].positions;
        if (team->chunks[i].positions > most) most = team->chunks[i].positions;
    }
    sent_block *sent = fm_calloc(total ? total : 1, sizeof *sent);
    uint32_t *owner = fm_calloc(total ? total : 1, sizeof *owner);
    uint64_t *stack = fm_calloc(most ? most : 1, sizeof *stack); /* of a chunk, or the depths of its blocks */
    *out = fm_calloc(total ? total : 1, sizeof **out);
    size_t count = 0, events = 0;
    fm_status status = sent && owner && stack && *out ? FM_OK : no_memory(error);
    memset(at->begin, 0, (at->size + 1) * sizeof *at->begin);
    for (unsigned p = 0; p < team->options.chunks && status == FM_OK; p++) {
        const fm_team_chunk *chunk = &team->chunks[p];
        const uint64_t latest = chunk->base + chunk->positions - 1;
        if (!bounded && chunk->engine)
            fm_exact_depths(chunk->engine, chunk->firsts.blocks, chunk->firsts.count, stack);
        for (size_t i = 0; i < chunk->firsts.count; i++)
            sent[count++] = (sent_block){chunk->firsts.blocks[i], bounded ? NOWHERE : latest - stack[i]};
        const uint64_t stacked =
            bounded && chunk->engine ? fm_exact_stack(chunk->engine, chunk->positions, stack) : 0;
        for (uint64_t depth = 0; depth < stacked; depth++)
            sent[count++] = (sent_block){stack[depth], (latest - depth) | NO_EVENT};
    }
    for (size_t i = 0; i < count && status == FM_OK; i++) {
        owner[i] = owner_of(at, sent[i].block);
        at->begin[owner[i]]++;
        if (!(sent[i].position & NO_EVENT)) at->owner[events++] = owner[i];
    }
    if (status == FM_OK) {
        counts_to_begin(at->begin, at->size);
        for (size_t i = 0; i < count; i++) (*out)[at->begin[owner[i]]++] = sent[i];
        back_to_begin(at->begin, at->size);
    }
    free(sent);
    free(owner);
    free(stack);
    return status;
}

/* What the table says of a block that was touched for the first time in its chunk. */
static uint64_t old_position(fm_team *team, const sent_block *sent)
{
    const uint64_t now = sent->position == NOWHERE ? GONE : sent->position + FIRST_POSITION;
    const uint64_t old =
        fm_block_table_exchange(&team->blocks, fm_block_home(&team->blocks, sent->block), sent->block, now);
    if (old >= FIRST_POSITION) return old - FIRST_POSITION;
    if (!team->seen) return FM_COLD;
    return fm_seen_set_insert(team->seen, sent->block, UINT64_MAX, NULL) == FM_SEEN_NEW ? FM_COLD : FM_BEYOND;
}

/* Answers to all ranks, in the order of their questions. *in_begin becomes that of the answers. */
static fm_status answer_questions(phase_merge *at, const sent_block *in, uint64_t **answers, fm_error *error)
{
    fm_team *team = at->team;
    const uint64_t count = at->in_begin[at->size];
    *answers = fm_calloc(count ? count : 1, sizeof **answers);
    if (!*answers) return no_memory(error);
    uint64_t given = 0, next = 0;
    for (uint32_t from = 0; from < at->size; from++) {
        const uint64_t end = at->in_begin[from + 1];
        at->in_begin[from] = given;
        for (; next < end; next++) {
            const sent_block sent = in[next];
            if (!fm_block_table_has_room(&team->blocks, 1)) {
                fm_status status = fm_block_table_grow(&team->blocks, 1, error);
                if (status != FM_OK) return status;
            }
            if (sent.position & NO_EVENT)
                fm_block_table_exchange(&team->blocks, fm_block_home(&team->blocks, sent.block), sent.block,
                                        (sent.position & ~NO_EVENT) + FIRST_POSITION);
            else
                (*answers)[given++] = old_position(team, &sent);
        }
    }
    at->in_begin[at->size] = given;
    return FM_OK;
}

static fm_status ask_for_positions(phase_merge *at, fm_error *error)
{
    fm_transport *transport = at->team->transport;
    sent_block *out = NULL;
    void *in = NULL, *replies = NULL;
    uint64_t *answers = NULL;
    fm_status status = write_blocks(at, &out, error);
    if (status == FM_OK)
        status = fm_transport_exchange_all(transport, sizeof *out, out, at->begin, &in, at->in_begin, error);
    free(out);
    if (status == FM_OK) status = answer_questions(at, in, &answers, error);
    free(in);
    if (status == FM_OK)
        status = fm_transport_exchange_all(transport, sizeof *answers, answers, at->in_begin, &replies,
                                           at->begin, error);
    free(answers);
    for (size_t i = 0; i < at->events && status == FM_OK; i++)
        at->old[i] = ((const uint64_t *)replies)[at->begin[at->owner[i]]++];
    free(replies);
    return status;
}

/* ---- whose position ---- */

static int by_value(const void *a, const void *b)
{
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

/* Ranges of about equally many events, by a sample from every rank. */
static fm_status divide_positions(phase_merge *at, fm_error *error)
{
    fm_transport *transport = at->team->transport;
    uint64_t *all = fm_calloc((size_t)SAMPLES * (at->size + 1), sizeof *all);
    if (!all) return no_memory(error);
    uint64_t *mine = all + (size_t)SAMPLES * at->size;
    for (size_t i = 0; i < SAMPLES; i++)
        mine[i] = at->events ? at->old[(at->events - 1) * i / (SAMPLES - 1)] : FM_COLD;
    fm_status status = transport->gather(transport, mine, SAMPLES * sizeof *mine, all, error);
    size_t samples = 0;
    for (size_t i = 0; i < (size_t)SAMPLES * at->size; i++)
        if (all[i] < FM_BEYOND) all[samples++] = all[i];
    qsort(all, samples, sizeof *all, by_value);
    at->range[0] = 0;
    for (uint32_t r = 1; r < at->size; r++)
        at->range[r] = samples ? all[samples * r / at->size] / 64 * 64 : 0;
    at->range[at->size] = (at->positions + 63) / 64 * 64;
    free(all);
    return status;
}

static uint32_t range_of(const phase_merge *at, uint64_t position)
{
    uint32_t low = 0, high = at->size;
    while (high - low > 1) {
        const uint32_t middle = low + (high - low) / 2;
        if (at->range[middle] <= position)
            low = middle;
        else
            high = middle;
    }
    return low;
}

/* higher[r]: how many events of the ranks before this one left a position in a range above r. */
static fm_status count_before(phase_merge *at, uint64_t *higher, fm_error *error)
{
    fm_transport *transport = at->team->transport;
    uint64_t *all = fm_calloc((size_t)at->size * at->size, sizeof *all);
    if (!all) return no_memory(error);
    fm_status status = transport->gather(transport, at->begin, at->size * sizeof *at->begin, all, error);
    memset(higher, 0, at->size * sizeof *higher);
    for (uint32_t rank = 0; rank < transport->rank; rank++) {
        uint64_t above = 0;
        for (uint32_t r = at->size; r-- > 0;) {
            higher[r] += above;
            above += all[(size_t)rank * at->size + r];
        }
    }
    free(all);
    return status;
}

/* What the owners of positions are sent: in the order of time. */
static fm_status write_positions(phase_merge *at, left_position **out, fm_error *error)
{
    fm_team *team = at->team;
    uint64_t count = 0;
    memset(at->begin, 0, (at->size + 1) * sizeof *at->begin);
    for (size_t i = 0; i < at->events; i++) {
        team->tally.cold += at->old[i] == FM_COLD;
        team->tally.beyond += at->old[i] == FM_BEYOND;
        if (at->old[i] >= FM_BEYOND) continue;
        at->owner[i] = range_of(at, at->old[i]);
        at->begin[at->owner[i]]++;
        count++;
    }
    uint64_t *higher = fm_calloc(at->size, sizeof *higher);
    *out = fm_calloc(count ? count : 1, sizeof **out);
    fm_status status = higher && *out ? count_before(at, higher, error) : no_memory(error);
    if (status == FM_OK) counts_to_begin(at->begin, at->size);
    size_t event = 0;
    for (unsigned p = 0; p < team->options.chunks && status == FM_OK; p++) {
        const fm_team_chunk *chunk = &team->chunks[p];
        for (uint64_t k = 0; k < chunk->firsts.count; k++, event++) {
            const uint64_t old = at->old[event];
            if (old >= FM_BEYOND) continue;
            const uint32_t range = at->owner[event];
            (*out)[at->begin[range]++] = (left_position){old, k + (chunk->base - 1 - old) - higher[range]};
            for (uint32_t r = 0; r < range; r++) higher[r]++;
        }
    }
    if (status == FM_OK) back_to_begin(at->begin, at->size);
    free(higher);
    return status;
}

/* The distances that end at the positions that this rank owns. */
static fm_status count_distances(phase_merge *at, const left_position *in, fm_error *error)
{
    fm_team *team = at->team;
    const uint64_t count = at->in_begin[at->size], bound = team->options.bound;
    const uint32_t rank = team->transport->rank;
    uint64_t distances[DISTANCES];
    fm_status status = superseded_create(&at->left, at->range[rank], at->range[rank + 1], error);
    for (uint64_t i = 0; i < count && status == FM_OK; i += DISTANCES) {
        const size_t part = count - i < DISTANCES ? (size_t)(count - i) : DISTANCES;
        for (size_t j = 0; j < part; j++) {
            const left_position *left = &in[i + j];
            const uint64_t distance = left->distance - superseded_leave(&at->left, left->position);
            distances[j] = bound && distance >= bound ? FM_BEYOND : distance;
        }
        status = fm_tally_add(&team->tally, distances, part, error);
    }
    return status;
}

static fm_status ask_for_distances(phase_merge *at, fm_error *error)
{
    left_position *out = NULL;
    void *in = NULL;
    fm_status status = divide_positions(at, error);
    if (status == FM_OK) status = write_positions(at, &out, error);
    if (status == FM_OK)
        status = fm_transport_exchange_all(at->team->transport, sizeof *out, out, at->begin, &in,
                                           at->in_begin, error);
    free(out);
    if (status == FM_OK) status = count_distances(at, in, error);
    free(in);
    return status;
}

/* ---- the next phase ---- */

typedef struct renumbering {
    const uint64_t *bits;   /* positions that were left */
    const uint64_t *before; /* how many there are in the words before each */
    uint64_t dropped;       /* positions below this go, once they are dense */
} renumbering;

static uint64_t renumber_block(void *context, uint64_t key, uint64_t value, uint64_t time)
{
    const renumbering *all = context;
    (void)key;
    (void)time;
    if (value < FIRST_POSITION) return 0;
    const uint64_t old = value - FIRST_POSITION, bit = UINT64_C(1) << old % 64;
    const uint64_t dense =
        old - all->before[old / 64] - (uint64_t)__builtin_popcountll(all->bits[old / 64] & (bit - 1));
    return dense < all->dropped ? 0 : dense - all->dropped + FIRST_POSITION;
}

/* Everybody gets the bits of all ranges. */
static fm_status gather_left(phase_merge *at, uint64_t *bits, fm_error *error)
{
    fm_transport *transport = at->team->transport;
    const uint32_t rank = transport->rank;
    fm_status status = FM_OK;
    for (uint32_t round = 0; round < at->size && status == FM_OK; round++) {
        const uint32_t to = (rank + round) % at->size, from = (rank + at->size - round) % at->size;
        status = transport->exchange(transport, to, at->left.bits, at->left.words * sizeof *bits, from,
                                     bits + at->range[from] / 64, (at->range[from + 1] - at->range[from]) / 8,
                                     error);
    }
    return status;
}

/* Positions without gaps, and under a bound no more than that. */
static fm_status make_dense(phase_merge *at, fm_error *error)
{
    fm_team *team = at->team;
    const uint64_t words = at->range[at->size] / 64, bound = team->options.bound;
    uint64_t *bits = fm_calloc(words ? words : 1, sizeof *bits), left = 0;
    uint64_t *before = fm_calloc(words + 1, sizeof *before);
    fm_status status = bits && before ? gather_left(at, bits, error) : no_memory(error);
    if (status == FM_OK) {
        for (uint64_t i = 0; i < words; i++) {
            before[i] = left;
            left += (uint64_t)__builtin_popcountll(bits[i]);
        }
        const uint64_t live = at->positions - left;
        renumbering all = {bits, before, bound && live > bound ? live - bound : 0};
        fm_block_table_filter(&team->blocks, renumber_block, &all);
        team->held = live - all.dropped;
    }
    free(bits);
    free(before);
    return status;
}

static void begin_anew(fm_team *team)
{
    for (unsigned i = 0; i < team->options.chunks; i++) {
        fm_team_chunk *chunk = &team->chunks[i];
        if (chunk->engine) fm_engine_exact.destroy(chunk->engine);
        chunk->engine = NULL;
        chunk->firsts.count = 0;
    }
}

static fm_status merge_phase(fm_team *team, bool last, fm_error *error)
{
    phase_merge at = {.team = team, .size = team->transport->size};
    fm_status status = hand_out_positions(&at, error);
    if (status == FM_OK) {
        at.owner = fm_calloc(at.events ? at.events : 1, sizeof *at.owner);
        at.old = fm_calloc(at.events ? at.events : 1, sizeof *at.old);
        at.begin = fm_calloc(3 * ((size_t)at.size + 1), sizeof *at.begin);
        if (!at.owner || !at.old || !at.begin) status = no_memory(error);
    }
    if (status == FM_OK) {
        at.in_begin = at.begin + at.size + 1;
        at.range = at.in_begin + at.size + 1;
        status = ask_for_positions(&at, error);
    }
    if (status == FM_OK) status = ask_for_distances(&at, error);
    if (status == FM_OK && !last) status = make_dense(&at, error);
    if (status == FM_OK) begin_anew(team);
    superseded_clear(&at.left);
    free(at.owner);
    free(at.old);
    free(at.begin);
    return status;
}

static void team_destroy(fm_team *team)
{
    if (!team) return;
    for (unsigned i = 0; team->chunks && i < team->options.chunks; i++) {
        fm_team_chunk *chunk = &team->chunks[i];
        if (chunk->engine) fm_engine_exact.destroy(chunk->engine);
        fm_tally_clear(&chunk->tally);
        fm_first_touches_clear(&chunk->firsts);
    }
    free(team->chunks);
    fm_tally_clear(&team->tally);
    fm_block_table_clear(&team->blocks);
    fm_seen_set_destroy(team->seen);
    free(team);
}

static fm_status team_create(fm_team **team, fm_transport *transport, const fm_team_options *options,
                             fm_error *error)
{
    *team = NULL;
    fm_team *self = fm_calloc(1, sizeof *self);
    if (!self) return fm_fail_memory(error, sizeof *self, "the team");
    self->transport = transport;
    self->options = *options;
    fm_status status = fm_tally_create(&self->tally, options->bins, error);
    if (status == FM_OK) status = fm_block_table_create(&self->blocks, options->seed, false, error);
    if (status == FM_OK) {
        self->chunks = fm_calloc(options->chunks, sizeof *self->chunks);
        if (!self->chunks) status = fm_fail_memory(error, options->chunks * sizeof *self->chunks, "pieces");
    }
    if (status == FM_OK && options->bound) {
        self->seen = fm_seen_set_create(fm_seen_limit, ~options->seed, false);
        if (!self->seen) status = fm_fail_memory(error, 0, "the set of blocks seen");
    }
    for (unsigned i = 0; i < options->chunks && status == FM_OK; i++)
        status = fm_tally_create(&self->chunks[i].tally, options->bins, error);
    if (status != FM_OK) {
        team_destroy(self);
        return status;
    }
    *team = self;
    return FM_OK;
}

static uint32_t team_place(const fm_team *team)
{
    return team->transport->rank;
}

static fm_status team_feed(fm_team *team, unsigned number, const uint64_t *blocks, size_t count,
                           fm_error *error)
{
    fm_team_chunk *chunk = &team->chunks[number];
    if (!chunk->engine) {
        const fm_engine_options options = {
            .bound = team->options.bound, .seed = team->options.seed + number + 1, .isa = team->options.isa};
        fm_status status = fm_engine_exact.create(&chunk->engine, &options, error);
        if (status != FM_OK) return status;
        fm_exact_list_firsts(chunk->engine, &chunk->firsts);
    }
    return fm_exact_count_blocks(chunk->engine, blocks, count, &chunk->tally, error);
}

static uint64_t team_held(const fm_team *team)
{
    return team->held;
}

static fm_status team_finish(fm_team *team, fm_tally *tally, fm_team_result *result, fm_error *error)
{
    uint64_t numbers[2] = {team->seen ? fm_seen_set_count(team->seen) : team->blocks.used,
                           team->given_up || (team->seen && fm_seen_set_given_up(team->seen))};
    fm_status status = fm_transport_sum(team->transport, numbers, 2, error);
    for (unsigned i = 0; i < team->options.chunks && status == FM_OK; i++)
        status = fm_tally_move(&team->tally, &team->chunks[i].tally, error);
    if (status == FM_OK) status = fm_team_sum_tallies(team->transport, &team->tally, error);
    if (status != FM_OK) return status;
    *result = (fm_team_result){.distinct = numbers[0], .cold_known = numbers[1] == 0};
    if (team->seen && (numbers[0] > fm_seen_limit || numbers[1] > 0)) { /* as engine_tables.h says */
        result->distinct = fm_seen_limit;
        result->cold_known = false;
    }
    if (team->transport->rank != 0) return FM_OK;
    if (!result->cold_known) {
        const uint64_t unknown = team->tally.cold - fm_seen_limit;
        team->tally.cold -= unknown;
        team->tally.beyond += unknown;
    }
    return fm_tally_move(tally, &team->tally, error);
}

static uint64_t team_memory(const fm_team *team)
{
    uint64_t bytes = sizeof *team + fm_block_table_memory(&team->blocks) + fm_tally_memory(&team->tally) +
                     (team->seen ? fm_seen_set_memory(team->seen) : 0);
    for (unsigned i = 0; i < team->options.chunks; i++) {
        const fm_team_chunk *chunk = &team->chunks[i];
        bytes += sizeof *chunk + fm_tally_memory(&chunk->tally) +
                 chunk->firsts.capacity * sizeof *chunk->firsts.blocks +
                 (chunk->engine ? fm_engine_exact.memory(chunk->engine) : 0);
    }
    return bytes;
}

const fm_team_ops fm_team_exact = {
    .name = "exact",
    .create = team_create,
    .destroy = team_destroy,
    .place = team_place,
    .feed = team_feed,
    .merge_phase = merge_phase,
    .held = team_held,
    .finish = team_finish,
    .memory = team_memory,
};

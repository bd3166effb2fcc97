/* SPDX-License-Identifier: Apache-2.0 */
/*
 * team_parda.c - the paper's scheme on any transport: every rank analyses its share by itself, then the
 * infinities of each go to the left, from rank to rank, until one of them knows the block, or none does
 * (parda.h has the paper and what a share is). A rank's chunks stand one after the other, each as
 * if it were a rank.
 *
 * Algorithm 3 lets all ranks exchange whole lists, in as many steps as there are ranks. Here lists flow in
 * messages of fm_parda_message_blocks: a rank sends one, receives one, works it off, sends the next. All
 * ranks work at the same time, as in the paper, but none waits for the end of a list, and no list is held
 * twice. It cannot lock up: infinities only ever go to the left, and the first rank only receives.
 *
 * At the end of a phase (algorithms 5 and 6) the last place takes over what the others still hold, from the
 * most recent to the oldest: algorithm 4 made sure that no block is there twice. Then ranks and chunks
 * are numbered the other way round, so that the whole stack is at place 0 without being sent back. What is
 * sent are blocks in the order of their last use, without the times: the order is all that the tree needs.
 *
 * For p ranks, in a phase with M distinct blocks: every rank sends each of the distinct blocks from its share
 * on that it does not know itself at most once to its left, O(M) words in O(M / message + p) messages, and
 * works them off in O(M log M); the last place gets at most M words. docs/PARALLEL.md has the cost model.
 */
#include "cluster/parda.h"

#include "base/error.h"
#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

/* Blocks that wait to be sent to the left, the first ones first. */
typedef struct queue {
    uint64_t *blocks;
    size_t sent, end, capacity;
} queue;

struct fm_team {
    fm_transport *transport;
    uint64_t bound;
    bool reversed; /* this phase runs from the last rank and chunk to the first */
    uint64_t held;
    unsigned chunk_count;
    queue left;
    fm_parda_messages messages;
    fm_parda_chunk chunks[];
};

/* ---- places ---- */

/* Ranks to places, and places to ranks. */
static uint32_t turned_rank(const fm_team *team, uint32_t rank)
{
    return team->reversed ? team->transport->size - 1 - rank : rank;
}

fm_parda_chunk *fm_team_parda_chunk(fm_team *team, unsigned chunk)
{
    return &team->chunks[team->reversed ? team->chunk_count - 1 - chunk : chunk];
}

static uint32_t parda_place(const fm_team *team)
{
    return turned_rank(team, team->transport->rank);
}

static void begin_phase(fm_team *team)
{
    for (unsigned i = 0; i < team->chunk_count; i++)
        fm_parda_chunk_begin_phase(fm_team_parda_chunk(team, i), i == 0 && parda_place(team) == 0);
    team->left.sent = team->left.end = 0;
}

/* ---- infinities go to the left ---- */

static fm_status queue_append(queue *self, const uint64_t *blocks, size_t count, fm_error *error)
{
    if (self->sent > 0 && self->sent >= self->end - self->sent) {
        /* What is left moves up: less than was sent since the last time. */
        memmove(self->blocks, self->blocks + self->sent, (self->end - self->sent) * sizeof *self->blocks);
        self->end -= self->sent;
        self->sent = 0;
    }
    if (count == 0) return FM_OK;
    if (fm_array_reserve((void **)&self->blocks, &self->capacity, self->end + count, sizeof *self->blocks))
        return fm_fail_memory(error, (self->end + count) * sizeof *self->blocks,
                              "references whose distance earlier ranks know");
    memcpy(self->blocks + self->end, blocks, count * sizeof *blocks);
    self->end += count;
    return FM_OK;
}

/* Infinities of what comes after the first `chunk_count` chunks of this rank pass through these, the last
 * first; what none of them knows is queued. */
static fm_status pass_through(fm_team *team, unsigned chunk_count, uint64_t *blocks, size_t count,
                              fm_error *error)
{
    fm_status status = FM_OK;
    while (chunk_count > 0 && status == FM_OK)
        status = fm_parda_chunk_absorb(fm_team_parda_chunk(team, --chunk_count), blocks, &count, error);
    return status == FM_OK ? queue_append(&team->left, blocks, count, error) : status;
}

/* The infinities of the rank's own chunks. Those of the first are the queue's beginning as they are. */
static fm_status pass_own(fm_team *team, fm_error *error)
{
    fm_parda_chunk *first = fm_team_parda_chunk(team, 0);
    const queue own = {first->infinities, 0, first->infinity_count, first->infinity_capacity};
    first->infinities = team->left.blocks;
    first->infinity_capacity = team->left.capacity;
    first->infinity_count = 0;
    team->left = own;
    fm_status status = FM_OK;
    for (unsigned i = 1; i < team->chunk_count && status == FM_OK; i++) {
        fm_parda_chunk *chunk = fm_team_parda_chunk(team, i);
        status = pass_through(team, i, chunk->infinities, chunk->infinity_count, error);
    }
    return status;
}

static fm_status send_left(fm_team *team, uint32_t place, bool right_open, bool *left_open, fm_error *error)
{
    queue *left = &team->left;
    const size_t waiting = left->end - left->sent;
    const size_t count = waiting < team->messages.most ? waiting : team->messages.most;
    *left_open = right_open || count < waiting;
    const uint64_t *blocks = count > 0 ? left->blocks + left->sent : NULL;
    fm_status status =
        fm_parda_messages_send(&team->messages, turned_rank(team, place), blocks, count, *left_open, error);
    left->sent += count;
    return status;
}

static fm_status pass_infinities(fm_team *team, fm_error *error)
{
    const uint32_t place = parda_place(team);
    bool left_open = place > 0, right_open = place + 1 < team->transport->size;
    fm_status status = pass_own(team, error);
    while ((left_open || right_open) && status == FM_OK) {
        if (left_open) status = send_left(team, place - 1, right_open, &left_open, error);
        if (right_open && status == FM_OK) {
            size_t count;
            status = fm_parda_messages_receive(&team->messages, turned_rank(team, place + 1), &count,
                                               &right_open, error);
            if (status == FM_OK)
                status = pass_through(team, team->chunk_count, team->messages.blocks, count, error);
        }
    }
    return status;
}

/* ---- the stack goes to the last place ---- */

/* Does something with what is in the team's message. */
typedef fm_status (*take_blocks)(fm_team *team, size_t count, fm_error *error);

/* The most recent blocks of a chunk, *wanted at most, go through `take` in messages; the chunk forgets all.
 */
static fm_status give_chunk(fm_team *team, fm_parda_chunk *chunk, uint64_t *wanted, take_blocks take,
                            fm_error *error)
{
    fm_status status = FM_OK;
    uint64_t left = chunk->blocks.count < *wanted ? chunk->blocks.count : *wanted;
    *wanted -= left;
    while (left > 0 && status == FM_OK) {
        const size_t count = left < team->messages.most ? left : team->messages.most;
        for (size_t i = 0; i < count; i++) team->messages.blocks[i] = fm_block_tree_unroll(&chunk->blocks);
        status = take(team, count, error);
        left -= count;
    }
    fm_block_tree_forget(&chunk->blocks);
    return status;
}

static fm_status take_message(fm_team *team, size_t count, fm_error *error)
{
    return fm_parda_chunk_inherit(fm_team_parda_chunk(team, team->chunk_count - 1), team->messages.blocks,
                                  count, error);
}

static fm_status send_message(fm_team *team, size_t count, fm_error *error)
{
    return fm_parda_messages_send(&team->messages, turned_rank(team, team->transport->size - 1),
                                  team->messages.blocks, count, true, error);
}

/* The last place: from its own earlier chunks, then from all other places, the latest first. Each is told how
 * many blocks are still wanted: under a bound, it is soon none. */
static fm_status collect_stack(fm_team *team, fm_error *error)
{
    fm_transport *transport = team->transport;
    fm_parda_chunk *latest = fm_team_parda_chunk(team, team->chunk_count - 1);
    fm_status status = FM_OK;
    for (unsigned chunk = team->chunk_count - 1; chunk > 0 && status == FM_OK; chunk--) {
        uint64_t wanted = fm_parda_chunk_wants(latest);
        status = give_chunk(team, fm_team_parda_chunk(team, chunk - 1), &wanted, take_message, error);
    }
    for (uint32_t place = transport->size - 1; place > 0 && status == FM_OK; place--) {
        const uint64_t wanted = fm_parda_chunk_wants(latest);
        bool more = true;
        status = transport->send(transport, turned_rank(team, place - 1), &wanted, sizeof wanted, error);
        while (more && status == FM_OK) {
            size_t count;
            status = fm_parda_messages_receive(&team->messages, turned_rank(team, place - 1), &count, &more,
                                               error);
            if (status == FM_OK) status = take_message(team, count, error);
        }
    }
    if (status == FM_OK) fm_block_tree_link_older(&latest->blocks);
    return status;
}

static fm_status give_stack(fm_team *team, fm_error *error)
{
    fm_transport *transport = team->transport;
    const uint32_t last = transport->size - 1;
    uint64_t wanted = 0;
    fm_status status = transport->receive(transport, turned_rank(team, last), &wanted, sizeof wanted, error);
    for (unsigned chunk = team->chunk_count; chunk > 0 && status == FM_OK; chunk--)
        status = give_chunk(team, fm_team_parda_chunk(team, chunk - 1), &wanted, send_message, error);
    return status == FM_OK
               ? fm_parda_messages_send(&team->messages, turned_rank(team, last), NULL, 0, false, error)
               : status;
}

static fm_status parda_merge_phase(fm_team *team, bool last, fm_error *error)
{
    fm_transport *transport = team->transport;
    fm_status status = pass_infinities(team, error);
    if (status == FM_OK && !last) {
        const bool collects = parda_place(team) + 1 == transport->size;
        status = collects ? collect_stack(team, error) : give_stack(team, error);
    }
    if (status != FM_OK) return status;
    team->held = 0;
    for (unsigned i = 0; i < team->chunk_count; i++) team->held += team->chunks[i].blocks.count;
    status = fm_transport_sum(transport, &team->held, 1, error);
    if (last || status != FM_OK) return status;
    team->reversed = !team->reversed;
    begin_phase(team);
    return FM_OK;
}

/* ---- the result ---- */

static fm_status parda_finish(fm_team *team, fm_tally *tally, fm_team_result *result, fm_error *error)
{
    fm_transport *transport = team->transport;
    fm_tally *mine = transport->rank == 0 ? tally : &team->chunks[0].tally;
    fm_parda_seen seen = {0};
    fm_status status = FM_OK;
    for (unsigned i = 0; i < team->chunk_count && status == FM_OK; i++)
        if (&team->chunks[i].tally != mine) status = fm_tally_move(mine, &team->chunks[i].tally, error);
    if (status == FM_OK) status = fm_team_sum_tallies(transport, mine, error);
    if (status == FM_OK && team->bound)
        status = fm_parda_seen_unite(&team->messages, team->chunks, team->chunk_count, &seen, error);
    *result = (fm_team_result){.cold_known = true};
    if (status != FM_OK || transport->rank != 0) return status;
    if (team->bound) { /* all that is not finite was counted as beyond; so many of these are first touches */
        tally->cold = seen.distinct;
        tally->beyond -= tally->cold;
    }
    *result = (fm_team_result){.distinct = tally->cold, .cold_known = !seen.forgot};
    return FM_OK;
}

/* ---- the team ---- */

static fm_status parda_feed(fm_team *team, unsigned chunk, const uint64_t *blocks, size_t count,
                            fm_error *error)
{
    return fm_parda_chunk_feed(fm_team_parda_chunk(team, chunk), blocks, count, error);
}

static void parda_destroy(fm_team *team)
{
    if (!team) return;
    for (unsigned i = 0; i < team->chunk_count; i++) fm_parda_chunk_clear(&team->chunks[i]);
    free(team->left.blocks);
    fm_parda_messages_clear(&team->messages);
    free(team);
}

static fm_status parda_create(fm_team **result, fm_transport *transport, const fm_team_options *options,
                              fm_error *error)
{
    *result = NULL;
    const size_t bytes = sizeof(fm_team) + options->chunks * sizeof(fm_parda_chunk);
    fm_team *team = fm_calloc(1, bytes);
    if (!team) return fm_fail_memory(error, bytes, "a rank");
    team->transport = transport;
    team->bound = options->bound;
    fm_status status = fm_parda_messages_create(&team->messages, transport, error);
    while (team->chunk_count < options->chunks && status == FM_OK) {
        /* A seed for each chunk: keys that one set of blocks seen gives in the order of its hashes would
         * otherwise crowd at one end of the next, at quadratic cost. */
        const uint64_t chunk = (uint64_t)transport->rank * options->chunks + team->chunk_count;
        status = fm_parda_chunk_create(&team->chunks[team->chunk_count], options->bound, options->bins,
                                       options->seed + 1 + chunk, error);
        if (status == FM_OK) team->chunk_count++;
    }
    if (status != FM_OK) {
        parda_destroy(team);
        return status;
    }
    begin_phase(team);
    *result = team;
    return FM_OK;
}

static uint64_t parda_held(const fm_team *team)
{
    return team->held;
}

static uint64_t parda_memory(const fm_team *team)
{
    uint64_t bytes = sizeof *team + team->chunk_count * sizeof team->chunks[0] +
                     (team->left.capacity + team->messages.most) * sizeof(uint64_t);
    for (unsigned i = 0; i < team->chunk_count; i++) bytes += fm_parda_chunk_memory(&team->chunks[i]);
    return bytes;
}

const fm_team_ops fm_team_parda = {
    .name = "parda",
    .create = parda_create,
    .destroy = parda_destroy,
    .place = parda_place,
    .feed = parda_feed,
    .merge_phase = parda_merge_phase,
    .held = parda_held,
    .finish = parda_finish,
    .memory = parda_memory,
};

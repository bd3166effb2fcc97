/* SPDX-License-Identifier: Apache-2.0 */
/*
 * parda_ranks.c - see parda.h: threads of this process as the ranks of a PARDA team (cluster/team_parda.c).
 *
 * References are gathered until there are enough for a phase, then each rank analyses its share. The paper
 * fills a pipe of 64 Mi words for each phase. Here a phase has four times as many references as blocks are
 * held, because settling it takes time in proportion to these; at least fm_parda_share for each rank, and at
 * most the paper's 64 Mi.
 */
#include "base/error.h"
#include "base/memory.h"
#include "base/thread.h"
#include "cluster/local_transport.h"
#include "cluster/parda.h"
#include "cluster/rank_threads.h"
#include "cluster/team_parda.h"

#include <stdlib.h>
#include <string.h>

enum { REFERENCES_PER_HELD = 4, MOST_REFERENCES = 1 << 26 };

struct fm_parda_ranks {
    uint32_t count;
    uint64_t bound;
    fm_local_cluster *cluster;
    fm_rank_threads *threads;
    fm_team **teams;
    fm_error *errors; /* of each rank */
    uint64_t *waiting;
    size_t waiting_count, waiting_capacity;
    size_t phase; /* so many make a phase */
    /* As of the last catching up. Under a bound: all blocks that any rank has seen. */
    fm_seen_set *seen;
    uint64_t distinct;
    bool forgot;
};

/* ---- the ranks ---- */

static fm_parda_chunk *chunk_of(const fm_parda_ranks *ranks, uint32_t rank)
{
    return fm_team_parda_chunk(ranks->teams[rank], 0);
}

static fm_status create_teams(fm_parda_ranks *ranks, const fm_engine_options *options, fm_bins bins,
                              fm_error *error)
{
    const fm_team_options team = {.bound = options->bound, .bins = bins, .seed = options->seed, .pieces = 1};
    fm_status status = FM_OK;
    for (uint32_t i = 0; i < ranks->count && status == FM_OK; i++)
        status =
            fm_team_parda.create(&ranks->teams[i], fm_local_cluster_rank(ranks->cluster, i), &team, error);
    return status;
}

/* In each phase every rank hears from every other: more of them than there are processors only wait for each
 * other, 1024 on two processors for a minute. So many on few are no slower than one. */
static uint32_t ranks_within(unsigned threads)
{
    enum { ANYWHERE = 64 };
    const unsigned processors = fm_processors_usable(), most = processors > ANYWHERE ? processors : ANYWHERE;
    if (threads == 0) return 1;
    return threads < most ? threads : most;
}

fm_status fm_parda_ranks_create(fm_parda_ranks **result, const fm_engine_options *options, fm_bins bins,
                                fm_error *error)
{
    *result = NULL;
    fm_parda_ranks *ranks = fm_calloc(1, sizeof *ranks);
    if (!ranks) return fm_fail_memory(error, sizeof *ranks, "the ranks");
    ranks->count = ranks_within(options->threads);
    ranks->bound = options->bound;
    ranks->phase = fm_parda_share * ranks->count;
    fm_status status = FM_OK;
    ranks->teams = fm_calloc(ranks->count, sizeof *ranks->teams);
    ranks->errors = fm_calloc(ranks->count, sizeof *ranks->errors);
    /* Not the seed of any chunk's set: see team_parda.c. */
    if (ranks->bound) ranks->seen = fm_seen_set_create(fm_seen_limit, options->seed - 1, false);
    if (!ranks->teams || !ranks->errors || (ranks->bound && !ranks->seen))
        status = fm_fail_memory(error, ranks->count * sizeof *ranks->errors, "the ranks");
    if (status == FM_OK) status = fm_local_cluster_create(&ranks->cluster, ranks->count, error);
    if (status == FM_OK) status = create_teams(ranks, options, bins, error);
    if (status == FM_OK) status = fm_rank_threads_create(&ranks->threads, ranks->count, error);
    if (status != FM_OK) {
        fm_parda_ranks_destroy(ranks);
        return status;
    }
    *result = ranks;
    return FM_OK;
}

void fm_parda_ranks_destroy(fm_parda_ranks *ranks)
{
    if (!ranks) return;
    fm_rank_threads_destroy(ranks->threads);
    for (uint32_t i = 0; ranks->teams && i < ranks->count; i++) fm_team_parda.destroy(ranks->teams[i]);
    fm_local_cluster_destroy(ranks->cluster);
    fm_seen_set_destroy(ranks->seen);
    fm_pages_free(ranks->waiting, ranks->waiting_capacity * sizeof *ranks->waiting);
    free(ranks->errors);
    free(ranks->teams);
    free(ranks);
}

uint64_t fm_parda_ranks_memory(const fm_parda_ranks *ranks)
{
    uint64_t bytes = sizeof *ranks + ranks->waiting_capacity * sizeof *ranks->waiting +
                     (ranks->seen ? fm_seen_set_memory(ranks->seen) : 0) +
                     ranks->count * (sizeof *ranks->teams + sizeof *ranks->errors);
    for (uint32_t i = 0; i < ranks->count; i++) bytes += fm_team_parda.memory(ranks->teams[i]);
    return bytes;
}

uint64_t fm_parda_ranks_memory_peak(const fm_parda_ranks *ranks)
{
    uint64_t bytes = fm_parda_ranks_memory(ranks);
    if (!ranks->seen) return bytes;
    bytes += fm_seen_set_memory_peak(ranks->seen) - fm_seen_set_memory(ranks->seen);
    for (uint32_t i = 0; i < ranks->count; i++) {
        const fm_seen_set *seen = chunk_of(ranks, i)->seen;
        bytes += fm_seen_set_memory_peak(seen) - fm_seen_set_memory(seen);
    }
    return bytes;
}

/* ---- a phase ---- */

/* What one rank does in a phase. */
static void merge_share(void *context, uint32_t rank)
{
    fm_parda_ranks *ranks = context;
    fm_team *team = ranks->teams[rank];
    fm_transport *transport = fm_local_cluster_rank(ranks->cluster, rank);
    const uint64_t place = fm_team_parda.place(team), count = ranks->waiting_count;
    const size_t begin = count * place / ranks->count, end = count * (place + 1) / ranks->count;
    fm_error *error = &ranks->errors[rank];
    fm_status status = fm_team_parda.feed(team, 0, ranks->waiting + begin, end - begin, error);
    if (status == FM_OK) status = fm_team_parda.merge_phase(team, false, error);
    if (status != FM_OK) transport->fail(transport, error);
}

static fm_status merge_phase(fm_parda_ranks *ranks, fm_error *error)
{
    if (ranks->waiting_count == 0) return FM_OK;
    fm_rank_threads_run(ranks->threads, merge_share, ranks);
    for (uint32_t i = 0; i < ranks->count; i++) {
        if (ranks->errors[i].status == FM_OK) continue;
        if (error) *error = ranks->errors[i];
        return ranks->errors[i].status;
    }
    ranks->waiting_count = 0;
    uint64_t phase = REFERENCES_PER_HELD * fm_team_parda.held(ranks->teams[0]);
    if (phase > MOST_REFERENCES) phase = MOST_REFERENCES;
    ranks->phase = fm_parda_share * ranks->count;
    if (phase > ranks->phase) ranks->phase = phase;
    return FM_OK;
}

/* Room for a whole phase: pages that are not touched cost nothing. Where memory is short, phases stay as long
 * as they are: settling more often is slower, but not wrong. */
static fm_status make_room(fm_parda_ranks *ranks, fm_error *error)
{
    if (ranks->waiting_capacity >= ranks->phase) return FM_OK;
    const size_t held = ranks->waiting_capacity * sizeof *ranks->waiting;
    const size_t bytes = ranks->phase * sizeof *ranks->waiting;
    uint64_t *grown = held ? fm_pages_resize(ranks->waiting, held, bytes) : fm_pages_allocate(bytes);
    if (!grown && !held) return fm_fail_memory(error, bytes, "references that wait for a phase");
    if (grown) {
        ranks->waiting = grown;
        ranks->waiting_capacity = ranks->phase;
    }
    ranks->phase = ranks->waiting_capacity;
    return FM_OK;
}

fm_status fm_parda_ranks_feed(fm_parda_ranks *ranks, const uint64_t *blocks, size_t count, fm_error *error)
{
    fm_status status = FM_OK;
    while (count > 0 && status == FM_OK) {
        status = make_room(ranks, error);
        if (status != FM_OK) return status;
        const size_t room = ranks->phase - ranks->waiting_count, some = count < room ? count : room;
        memcpy(ranks->waiting + ranks->waiting_count, blocks, some * sizeof *blocks);
        ranks->waiting_count += some;
        blocks += some;
        count -= some;
        if (ranks->waiting_count == ranks->phase) status = merge_phase(ranks, error);
    }
    return status;
}

/* ---- what was found ---- */

/* The chunks counted all that is not finite as beyond: those that are first touches are found by uniting what
 * the ranks have seen, as in cluster/parda_seen.c. */
static fm_status tell_cold(fm_parda_ranks *ranks, fm_tally *tally, fm_error *error)
{
    for (uint32_t i = 0; i < ranks->count; i++) {
        const fm_seen_set *seen = chunk_of(ranks, i)->seen;
        uint64_t cursor = 0, key;
        ranks->forgot |= fm_seen_set_given_up(seen);
        while (!ranks->forgot && fm_seen_set_next(seen, &cursor, &key)) {
            if (fm_seen_set_insert(ranks->seen, key, UINT64_MAX, NULL) == FM_SEEN_NO_MEMORY)
                return fm_fail_memory(error, fm_seen_set_memory_next(ranks->seen), "the set of blocks seen");
            ranks->forgot = fm_seen_set_given_up(ranks->seen);
        }
    }
    const uint64_t distinct = ranks->forgot ? fm_seen_limit : fm_seen_set_count(ranks->seen);
    tally->cold += distinct - ranks->distinct;
    tally->beyond -= distinct - ranks->distinct;
    ranks->distinct = distinct;
    return FM_OK;
}

fm_status fm_parda_ranks_catch_up(fm_parda_ranks *ranks, fm_tally *tally, fm_error *error)
{
    fm_status status = merge_phase(ranks, error);
    const uint64_t cold = tally->cold;
    for (uint32_t i = 0; i < ranks->count && status == FM_OK; i++)
        status = fm_tally_move(tally, &chunk_of(ranks, i)->tally, error);
    if (status != FM_OK) return status;
    if (ranks->bound) return tell_cold(ranks, tally, error);
    ranks->distinct += tally->cold - cold;
    return FM_OK;
}

uint64_t fm_parda_ranks_distinct(const fm_parda_ranks *ranks)
{
    return ranks->distinct;
}

bool fm_parda_ranks_forgot(const fm_parda_ranks *ranks)
{
    return ranks->forgot;
}

/* ---- the end of counting ---- */

/* Blocks that an engine is fed with, whatever it finds. */
static fm_status feed_unheard(const fm_engine_ops *ops, fm_engine *to, const uint64_t *blocks, size_t count,
                              fm_error *error)
{
    enum { RUN = 512 };
    uint64_t distances[RUN];
    fm_status status = FM_OK;
    for (size_t i = 0; i < count && status == FM_OK; i += RUN) {
        const fm_references some = {.count = count - i < RUN ? count - i : RUN, .blocks = blocks + i};
        size_t done;
        status = ops->feed(to, &some, &(fm_engine_results){.each_distance = distances}, &done, error);
    }
    return status;
}

static fm_status hand_over_seen(const fm_parda_ranks *ranks, const fm_engine_ops *ops, fm_engine *to,
                                fm_error *error)
{
    uint64_t cursor = 0, key;
    fm_status status = FM_OK;
    while (status == FM_OK && fm_seen_set_next(ranks->seen, &cursor, &key))
        status = feed_unheard(ops, to, &key, 1, error);
    return status;
}

fm_status fm_parda_ranks_hand_over(fm_parda_ranks *ranks, const fm_engine_ops *ops, fm_engine *to,
                                   fm_error *error)
{
    fm_status status = FM_OK;
    if (ranks->seen) status = hand_over_seen(ranks, ops, to, error);
    /* Nothing waits, so all blocks are with one rank. What was used last is fed last. */
    for (uint32_t i = 0; i < ranks->count && status == FM_OK; i++) {
        fm_block_tree *held = &chunk_of(ranks, i)->blocks;
        const size_t count = held->count;
        if (count == 0) continue;
        uint64_t *stack = fm_pages_allocate(count * sizeof *stack);
        if (!stack) return fm_fail_memory(error, count * sizeof *stack, "the stack of blocks");
        for (size_t j = count; j > 0; j--) stack[j - 1] = fm_block_tree_unroll(held);
        status = feed_unheard(ops, to, stack, count, error);
        fm_pages_free(stack, count * sizeof *stack);
    }
    return status;
}

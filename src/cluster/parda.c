/* SPDX-License-Identifier: Apache-2.0 */
/*
 * parda.c - the engine `parda`: the paper's parallel algorithm by several threads, each a rank of a team
 * (cluster/team_parda.c has the algorithm and the paper). It is there to be compared with; `exact` with
 * several threads is faster.
 *
 * References are only taken, and counted a phase at a time. It has no way to tell distances in order: where
 * these are asked for, the engine `tree` does everything, which is what every rank does with its share. The
 * same goes where time distances are asked for, or a limit of memory is to be kept. Once in order, always in
 * order: the ranks hand over to the tree what they know.
 *
 * Time O(n log M / threads) for n references to M blocks, and O(M log M) for the settling of each phase, in
 * which there are at least 4 M references, if M is below 16 Mi. Space: 43 to 61 bytes for each block held by
 * the rank that has the stack, as much again when that passes from one rank to another, 32 for references
 * that wait, and what the blocks of a share take in the other ranks.
 *
 * When a phase fails for want of memory, the engine is lost: other than those that work reference by
 * reference it cannot say after which one it stands. All later calls fail alike.
 */
#include "cluster/parda.h"
#include "base/crew.h"
#include "base/error.h"
#include "base/memory.h"
#include "cluster/transport.h"
#include "engine/engine_tables.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/*
 * ==== ranks ====
 *
 * See parda.h: threads of this process as the ranks of a PARDA team (cluster/team_parda.c).
 *
 * References are gathered until there are enough for a phase, then each rank analyses its share. The paper
 * fills a pipe of 64 Mi words for each phase. Here a phase has four times as many references as blocks are
 * held, because settling it takes time in proportion to these; at least fm_parda_share for each rank, and at
 * most the paper's 64 Mi.
 */

enum { REFERENCES_PER_HELD = 4, MOST_REFERENCES = 1 << 26 };

struct fm_parda_ranks {
    uint32_t count;
    uint64_t bound;
    fm_local_cluster *cluster;
    fm_rounds *threads; /* as many as ranks, which wait for each other */
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
    const fm_team_options team = {.bound = options->bound, .bins = bins, .seed = options->seed, .chunks = 1};
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

/* NULL is fine */
static void parda_ranks_destroy(fm_parda_ranks *ranks)
{
    if (!ranks) return;
    fm_rounds_destroy(ranks->threads);
    for (uint32_t i = 0; ranks->teams && i < ranks->count; i++) fm_team_parda.destroy(ranks->teams[i]);
    fm_local_cluster_destroy(ranks->cluster);
    fm_seen_set_destroy(ranks->seen);
    fm_pages_free(ranks->waiting, ranks->waiting_capacity * sizeof *ranks->waiting);
    free(ranks->errors);
    free(ranks->teams);
    free(ranks);
}

static fm_status parda_ranks_create(fm_parda_ranks **result, const fm_engine_options *options, fm_bins bins,
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
    if (status == FM_OK) status = fm_rounds_create(&ranks->threads, ranks->count, error);
    if (status == FM_OK && fm_rounds_workers(ranks->threads) < ranks->count)
        status = fm_fail(error, FM_E_NOMEM, NULL, "cannot start a thread: %s", strerror(EAGAIN));
    if (status != FM_OK) {
        parda_ranks_destroy(ranks);
        return status;
    }
    *result = ranks;
    return FM_OK;
}

static uint64_t parda_ranks_memory(const fm_parda_ranks *ranks)
{
    uint64_t bytes = sizeof *ranks + ranks->waiting_capacity * sizeof *ranks->waiting +
                     (ranks->seen ? fm_seen_set_memory(ranks->seen) : 0) +
                     ranks->count * (sizeof *ranks->teams + sizeof *ranks->errors);
    for (uint32_t i = 0; i < ranks->count; i++) bytes += fm_team_parda.memory(ranks->teams[i]);
    return bytes;
}

/* The most held so far, at most: of sets that grew or were given up, what they held at their largest. */
static uint64_t parda_ranks_memory_peak(const fm_parda_ranks *ranks)
{
    uint64_t bytes = parda_ranks_memory(ranks);
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
static void merge_share(void *context, size_t number)
{
    const uint32_t rank = (uint32_t)number;
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
    fm_rounds_run(ranks->threads, merge_share, ranks, ranks->count);
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

/* Takes references; analyses those that wait when they are enough for a phase. After a failure only
 * destroying makes sense. */
static fm_status parda_ranks_feed(fm_parda_ranks *ranks, const uint64_t *blocks, size_t count,
                                  fm_error *error)
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

/* Analyses all that wait, and moves what was counted into the tally. */
static fm_status parda_ranks_catch_up(fm_parda_ranks *ranks, fm_tally *tally, fm_error *error)
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

/* As of the last catching up. */
static uint64_t parda_ranks_distinct(const fm_parda_ranks *ranks)
{
    return ranks->distinct;
}

/* see fm_engine_ops.cold_known */
static bool parda_ranks_forgot(const fm_parda_ranks *ranks)
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

/* After catching up: an engine that has seen nothing yet is fed with what makes it continue where the ranks
 * stand; it only forgets what they forgot. They can no longer be used. */
static fm_status parda_ranks_hand_over(fm_parda_ranks *ranks, const fm_engine_ops *ops, fm_engine *to,
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

struct fm_engine {
    fm_engine_options options;
    fm_engine *tree;       /* of the engine `tree`: empty until something is asked for in order */
    bool ordered;          /* it does everything */
    fm_parda_ranks *ranks; /* NULL before anything was counted, and once in order */
    fm_tally counted;      /* by the ranks before it went in order, and not caught up with */
    bool forgot;           /* once in order: more blocks were seen than the ranks could remember */
    bool lost;
    fm_error reason; /* if so */
    uint64_t memory_peak;
};

/* ---- memory ---- */

static uint64_t memory_beside_tree(const fm_engine *parda)
{
    return sizeof *parda + (parda->counted.counts ? fm_tally_memory(&parda->counted) : 0) +
           (parda->ranks ? parda_ranks_memory(parda->ranks) : 0);
}

static uint64_t parda_memory(const fm_engine *parda)
{
    return memory_beside_tree(parda) + fm_engine_tree.memory(parda->tree);
}

static void note_peak(fm_engine *parda)
{
    uint64_t memory = parda_memory(parda);
    if (parda->ranks) memory += parda_ranks_memory_peak(parda->ranks) - parda_ranks_memory(parda->ranks);
    if (memory > parda->memory_peak) parda->memory_peak = memory;
}

static uint64_t parda_memory_peak(const fm_engine *parda)
{
    const uint64_t ordered = memory_beside_tree(parda) + fm_engine_tree.memory_peak(parda->tree);
    return ordered > parda->memory_peak ? ordered : parda->memory_peak;
}

/* The tree has the limit less what is beside it: the message says the whole. */
static fm_status tell_limit(const fm_engine *parda, fm_status status, fm_error *error)
{
    if (status != FM_E_LIMIT) return status;
    return fm_fail(error, status, NULL,
                   "the parda engine needs more than the limit of %" PRIu64 " bytes for its blocks",
                   parda->options.max_memory);
}

/* ---- in order ---- */

static fm_status parda_lose(fm_engine *parda, fm_status status, const fm_error *reason, fm_error *error)
{
    parda->lost = true;
    parda->reason = *reason;
    if (error) *error = *reason;
    return status;
}

static fm_status hand_over(fm_engine *parda, fm_error *error)
{
    fm_status status = parda_ranks_catch_up(parda->ranks, &parda->counted, error);
    if (status == FM_OK) status = parda_ranks_hand_over(parda->ranks, &fm_engine_tree, parda->tree, error);
    note_peak(parda);
    return status;
}

/* From here on the tree does everything. */
static fm_status go_in_order(fm_engine *parda, fm_error *error)
{
    fm_error reason;
    if (parda->lost) return parda_lose(parda, parda->reason.status, &parda->reason, error);
    if (parda->ordered) return FM_OK;
    fm_status status = parda->ranks ? hand_over(parda, &reason) : FM_OK;
    if (status != FM_OK) return parda_lose(parda, status, &reason, error);
    parda->forgot = parda->ranks && parda_ranks_forgot(parda->ranks);
    parda_ranks_destroy(parda->ranks);
    parda->ranks = NULL;
    parda->ordered = true;
    return FM_OK;
}

static fm_status parda_feed(fm_engine *parda, const fm_references *references,
                            const fm_engine_results *results, size_t *done, fm_error *error)
{
    uint64_t *const distances = results->each_distance;
    *done = 0;
    fm_status status = go_in_order(parda, error);
    if (status != FM_OK) return status;
    status = fm_engine_tree.feed(parda->tree, references, results, done, error);
    for (size_t i = 0; parda->forgot && i < *done; i++)
        if (distances[i] == FM_COLD) distances[i] = FM_BEYOND;
    return tell_limit(parda, status, error);
}

static fm_status count_in_order(fm_engine *parda, const fm_references *references, fm_tally *tally,
                                size_t *done, fm_error *error)
{
    enum { RUN = 512 };
    uint64_t distances[RUN];
    const fm_engine_results results = {.each_distance = distances};
    fm_status status = FM_OK;
    for (*done = 0; *done < references->count && status == FM_OK;) {
        const size_t left = references->count - *done;
        const fm_references some = {.count = left < RUN ? left : RUN, .blocks = references->blocks + *done};
        size_t fed;
        status = parda_feed(parda, &some, &results, &fed, error);
        fm_status counted = fm_tally_add(tally, distances, fed, status == FM_OK ? error : NULL);
        if (status == FM_OK) status = counted;
        *done += fed;
    }
    return status;
}

/* ---- counting ---- */

static fm_status start_ranks(fm_engine *parda, fm_bins bins, fm_error *error)
{
    fm_status status = FM_OK;
    if (!parda->counted.counts) status = fm_tally_create(&parda->counted, bins, error);
    if (status == FM_OK) status = parda_ranks_create(&parda->ranks, &parda->options, bins, error);
    return status;
}

static fm_status parda_count(fm_engine *parda, const fm_references *references,
                             const fm_engine_results *results, size_t *done, fm_error *error)
{
    fm_error reason;
    fm_status status = FM_OK;
    *done = 0;
    if (parda->lost) return parda_lose(parda, parda->reason.status, &parda->reason, error);
    if (parda->ordered) return count_in_order(parda, references, results->distances, done, error);
    if (!parda->ranks) status = start_ranks(parda, results->distances->bins, error);
    if (status != FM_OK) return status;
    status = parda_ranks_feed(parda->ranks, references->blocks, references->count, &reason);
    note_peak(parda);
    if (status != FM_OK) return parda_lose(parda, status, &reason, error);
    *done = references->count;
    return FM_OK;
}

static fm_status parda_catch_up(fm_engine *parda, const fm_engine_results *results, fm_error *error)
{
    fm_error reason;
    fm_status status = FM_OK;
    if (parda->lost) return parda_lose(parda, parda->reason.status, &parda->reason, error);
    if (parda->ranks) status = parda_ranks_catch_up(parda->ranks, &parda->counted, &reason);
    note_peak(parda);
    if (status != FM_OK) return parda_lose(parda, status, &reason, error);
    return parda->counted.counts ? fm_tally_move(results->distances, &parda->counted, error) : FM_OK;
}

/* ---- the engine ---- */

static void parda_destroy(fm_engine *parda)
{
    if (!parda) return;
    parda_ranks_destroy(parda->ranks);
    if (parda->tree) fm_engine_tree.destroy(parda->tree);
    fm_tally_clear(&parda->counted);
    free(parda);
}

static fm_status parda_create(fm_engine **engine, const fm_engine_options *options, fm_error *error)
{
    *engine = NULL;
    fm_engine *parda = fm_calloc(1, sizeof *parda);
    if (!parda) return fm_fail_memory(error, sizeof *parda, "the parda engine");
    parda->options = *options;
    parda->ordered = options->time_distances || options->max_memory;
    fm_engine_options tree = *options;
    if (options->max_memory)
        tree.max_memory = options->max_memory > sizeof *parda ? options->max_memory - sizeof *parda : 1;
    fm_status status = fm_engine_tree.create(&parda->tree, &tree, error);
    if (status != FM_OK) {
        status = tell_limit(parda, status, error);
        parda_destroy(parda);
        return status;
    }
    note_peak(parda);
    *engine = parda;
    return FM_OK;
}

static uint64_t parda_distinct(const fm_engine *parda)
{
    if (parda->ranks) return parda_ranks_distinct(parda->ranks);
    return parda->forgot ? fm_seen_limit : fm_engine_tree.distinct(parda->tree);
}

static bool parda_cold_known(const fm_engine *parda)
{
    if (parda->ranks) return !parda_ranks_forgot(parda->ranks);
    return !parda->forgot && fm_engine_tree.cold_known(parda->tree);
}

const fm_engine_ops fm_engine_parda = {
    .info = {.name = "parda",
             .summary = "PARDA: chunks by themselves, what they do not know goes to the left",
             .exact = true},
    .create = parda_create,
    .destroy = parda_destroy,
    .feed = parda_feed,
    .count = parda_count,
    .catch_up = parda_catch_up,
    .distinct = parda_distinct,
    .cold_known = parda_cold_known,
    .memory = parda_memory,
    .memory_peak = parda_memory_peak,
};

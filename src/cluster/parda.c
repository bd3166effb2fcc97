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
#include "base/error.h"
#include "base/memory.h"
#include "engine/engine_tables.h"

#include <inttypes.h>
#include <stdlib.h>

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
           (parda->ranks ? fm_parda_ranks_memory(parda->ranks) : 0);
}

static uint64_t parda_memory(const fm_engine *parda)
{
    return memory_beside_tree(parda) + fm_engine_tree.memory(parda->tree);
}

static void note_peak(fm_engine *parda)
{
    uint64_t memory = parda_memory(parda);
    if (parda->ranks)
        memory += fm_parda_ranks_memory_peak(parda->ranks) - fm_parda_ranks_memory(parda->ranks);
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
    fm_status status = fm_parda_ranks_catch_up(parda->ranks, &parda->counted, error);
    if (status == FM_OK) status = fm_parda_ranks_hand_over(parda->ranks, &fm_engine_tree, parda->tree, error);
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
    parda->forgot = parda->ranks && fm_parda_ranks_forgot(parda->ranks);
    fm_parda_ranks_destroy(parda->ranks);
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
    if (status == FM_OK) status = fm_parda_ranks_create(&parda->ranks, &parda->options, bins, error);
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
    status = fm_parda_ranks_feed(parda->ranks, references->blocks, references->count, &reason);
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
    if (parda->ranks) status = fm_parda_ranks_catch_up(parda->ranks, &parda->counted, &reason);
    note_peak(parda);
    if (status != FM_OK) return parda_lose(parda, status, &reason, error);
    return parda->counted.counts ? fm_tally_move(results->distances, &parda->counted, error) : FM_OK;
}

/* ---- the engine ---- */

static void parda_destroy(fm_engine *parda)
{
    if (!parda) return;
    fm_parda_ranks_destroy(parda->ranks);
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
    if (parda->ranks) return fm_parda_ranks_distinct(parda->ranks);
    return parda->forgot ? fm_seen_limit : fm_engine_tree.distinct(parda->tree);
}

static bool parda_cold_known(const fm_engine *parda)
{
    if (parda->ranks) return !fm_parda_ranks_forgot(parda->ranks);
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

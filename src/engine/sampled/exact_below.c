/* SPDX-License-Identifier: Apache-2.0 */
/* exact_below.c - see exact_below.h. */
#include "engine/sampled/exact_below.h"

#include "base/error.h"

#include <inttypes.h>
#include <string.h>

/* First touches are distinguished from returns for so many distinct blocks: a sketch counts more than that.
 */
static uint64_t seen_limit(uint64_t bound)
{
    return bound <= UINT64_MAX / 2 ? 2 * bound : UINT64_MAX;
}

static fm_status create_small(fm_exact_below *below, const fm_exact_kernels *kernels, uint64_t seed,
                              fm_error *error)
{
    below->small = fm_small_stack_create(below->bound, seed, kernels);
    below->seen = fm_seen_set_create(seen_limit(below->bound), ~seed, false);
    if (!below->small || !below->seen) return fm_fail_memory(error, sizeof *below->small, "the engine");
    below->memory_peak = fm_exact_below_memory(below);
    if (below->max_memory && below->memory_peak > below->max_memory)
        return fm_fail(error, FM_E_LIMIT, NULL,
                       "a memory limit of %" PRIu64 " bytes is too small to start: %" PRIu64 " are needed",
                       below->max_memory, below->memory_peak);
    return FM_OK;
}

fm_status fm_exact_below_create(fm_exact_below *below, uint64_t bound, const fm_exact_kernels *kernels,
                                uint64_t seed, uint64_t max_memory, fm_error *error)
{
    memset(below, 0, sizeof *below);
    below->bound = bound;
    below->max_memory = max_memory;
    if (bound == 0) return FM_OK;
    fm_status status;
    if (bound <= FM_SMALL_BOUND) {
        status = create_small(below, kernels, seed, error);
    } else {
        fm_engine_options exact = {.bound = bound,
                                   .seed = seed,
                                   .isa = kernels->isa,
                                   .max_memory = max_memory,
                                   .seen_limit = seen_limit(bound)};
        status = fm_engine_exact.create(&below->engine, &exact, error);
    }
    if (status != FM_OK) fm_exact_below_clear(below);
    return status;
}

void fm_exact_below_clear(fm_exact_below *below)
{
    if (below->engine) fm_engine_exact.destroy(below->engine);
    fm_small_stack_destroy(below->small);
    fm_seen_set_destroy(below->seen);
    memset(below, 0, sizeof *below);
}

/* Blocks that are not held are first touches, as long as all blocks are remembered that ever were. */
static void tell_fresh(fm_exact_below *below, fm_tally *tally)
{
    const fm_small_stack *small = below->small;
    fm_seen_set *seen = below->seen;
    const uint64_t budget = below->max_memory ? below->max_memory - sizeof *small : UINT64_MAX;
    uint64_t cold = 0;
    for (size_t i = 0; i < small->fresh_count && !fm_seen_set_given_up(seen); i++) {
        fm_seen answer = fm_seen_set_insert(seen, small->fresh[i], budget, NULL);
        /* No memory to remember it: from now on first touches are not known. */
        if (answer == FM_SEEN_NO_MEMORY) answer = fm_seen_set_insert(seen, small->fresh[i], 0, NULL);
        cold += answer == FM_SEEN_NEW;
    }
    tally->cold += cold;
    tally->beyond += small->fresh_count - cold;
    const uint64_t peak = sizeof *small + fm_seen_set_memory_peak(seen);
    if (peak > below->memory_peak) below->memory_peak = peak;
}

fm_status fm_exact_below_count(fm_exact_below *below, const uint64_t *blocks, size_t count, fm_tally *tally,
                               size_t *done, fm_error *error)
{
    const fm_references references = {.count = count, .blocks = blocks};
    const fm_engine_results results = {.distances = tally};
    *done = 0;
    if (below->engine) return fm_engine_exact.count(below->engine, &references, &results, done, error);
    if (below->small) {
        fm_status status = fm_tally_reserve(tally, below->bound, error);
        if (status != FM_OK) return status;
        fm_small_stack_count(below->small, blocks, count, tally);
        tell_fresh(below, tally);
    }
    *done = count;
    return FM_OK;
}

const uint64_t *fm_exact_below_fresh(const fm_exact_below *below, const uint64_t *blocks, size_t *count)
{
    if (!below->small) return blocks;
    *count = below->small->fresh_count;
    return below->small->fresh;
}

bool fm_exact_below_cold_known(const fm_exact_below *below)
{
    return below->engine ? fm_engine_exact.cold_known(below->engine) : !fm_seen_set_given_up(below->seen);
}

uint64_t fm_exact_below_memory(const fm_exact_below *below)
{
    if (below->engine) return fm_engine_exact.memory(below->engine);
    return below->small ? sizeof *below->small + fm_seen_set_memory(below->seen) : 0;
}

uint64_t fm_exact_below_memory_peak(const fm_exact_below *below)
{
    return below->engine ? fm_engine_exact.memory_peak(below->engine) : below->memory_peak;
}

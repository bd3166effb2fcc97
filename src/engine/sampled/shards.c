/* SPDX-License-Identifier: Apache-2.0 */
/*
 * shards.c - the engine `shards`: the histogram of all references from samples of the blocks
 * (sampled.h), joined to an exact one of small distances.
 *
 * Sampling alone is useless at small sizes: one block in a thousand does not show a distance of 5. So an
 * exact part (sampled.h) works beside the samples and finds all small distances. Several samples with
 * hash functions of their own show how far off the large ones are. First touches are counted by a sketch
 * (sampled.h).
 *
 * It delivers the histogram only, at the end; single distances, times and pairs are not known. The samples
 * are the same in every run: their hash is not seeded.
 *
 * Time: a hash and a comparison for each sample, O(log S) for sampled references; and the exact part.
 * Space: 24 to 39 bytes a sampled block; under 1 MiB for the exact part up to FM_SMALL_BOUND blocks; 36 KB
 * for each sample's histogram; 16 KB for the sketch.
 */
#include "base/error.h"
#include "base/memory.h"
#include "engine/engine.h"
#include "engine/sampled/sampled.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ==== exact part ==== */

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

/* Of the references counted last, *count blocks among which all are that were touched for the first time;
 * blocks: those references themselves. */
static const uint64_t *exact_below_fresh(const fm_exact_below *below, const uint64_t *blocks, size_t *count)
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

struct fm_engine {
    fm_exact_below near;
    const fm_exact_kernels *kernels;
    uint64_t references;
    fm_distinct_sketch sketch; /* of all blocks; only beside an exact part */
    uint64_t samples_limit;    /* bytes of everything but the exact part; 0: no limit */
    uint64_t samples_peak;
    unsigned sample_count;
    fm_block_sample samples[FM_MOST_SAMPLES];
    fm_sampled_chunk sampled;
};

/* ---- memory ---- */

static uint64_t memory_of_samples(const fm_engine *self)
{
    uint64_t bytes = 0;
    for (unsigned k = 0; k < self->sample_count; k++) bytes += fm_block_sample_memory(&self->samples[k]);
    return bytes;
}

static uint64_t shards_memory(const fm_engine *self)
{
    return sizeof *self + memory_of_samples(self) + fm_exact_below_memory(&self->near);
}

static uint64_t shards_memory_peak(const fm_engine *self)
{
    return self->samples_peak + fm_exact_below_memory_peak(&self->near);
}

/* bytes: of everything but the exact part, which keeps its own share of the limit. */
static fm_status check_limit(fm_engine *self, uint64_t bytes, fm_error *error)
{
    if (self->samples_limit && bytes > self->samples_limit)
        return fm_fail(error, FM_E_LIMIT, NULL,
                       "the samples' share of the memory limit, %" PRIu64 " bytes, cannot be kept: %" PRIu64
                       " are needed to go on",
                       self->samples_limit, bytes);
    if (bytes > self->samples_peak) self->samples_peak = bytes;
    return FM_OK;
}

/* Room for a chunk of new blocks in every sample. */
static fm_status make_room(fm_engine *self, fm_error *error)
{
    for (unsigned k = 0; k < self->sample_count; k++) {
        fm_block_sample *sample = &self->samples[k];
        if (fm_block_sample_has_room(sample, FM_CACHE_CHUNK)) continue;
        const uint64_t beside = sizeof *self + memory_of_samples(self) - fm_block_sample_memory(sample);
        fm_status status =
            check_limit(self, beside + fm_block_sample_memory_growing(sample, FM_CACHE_CHUNK), error);
        if (status == FM_OK) status = fm_block_sample_reserve(sample, FM_CACHE_CHUNK, error);
        if (status != FM_OK) return status;
    }
    return FM_OK;
}

/* ---- references ---- */

/* Blocks that the exact part holds are not new to the sketch either. */
static void sketch_chunk(fm_engine *self, const uint64_t *blocks, size_t count)
{
    const uint64_t *const fresh = exact_below_fresh(&self->near, blocks, &count);
    enum { SOME = 512 };
    uint64_t common[SOME];
    for (size_t first = 0; first < count; first += SOME) {
        const size_t some = count - first < SOME ? count - first : SOME;
        self->kernels->sample_common(fresh + first, some, common);
        for (size_t i = 0; i < some; i++) fm_distinct_sketch_add(&self->sketch, common[i]);
    }
}

static fm_status shards_count(fm_engine *self, const fm_references *references,
                              const fm_engine_results *results, size_t *done, fm_error *error)
{
    fm_status status = FM_OK;
    for (*done = 0; *done < references->count && status == FM_OK;) {
        const uint64_t *const blocks = references->blocks + *done;
        size_t chunk =
            references->count - *done < FM_CACHE_CHUNK ? references->count - *done : FM_CACHE_CHUNK;
        status = make_room(self, error);
        if (status != FM_OK) return status;
        status = fm_exact_below_count(&self->near, blocks, chunk, results->distances, &chunk, error);
        if (chunk == 0) return status;
        if (self->near.bound) sketch_chunk(self, blocks, chunk);
        fm_sampled_chunk_start(&self->sampled, self->kernels, blocks, chunk, self->near.small);
        fm_sampled_chunk_touch(&self->sampled, self->samples, self->sample_count);
        self->references += chunk;
        *done += chunk;
    }
    return status;
}

/* ---- life ---- */

static void shards_destroy(fm_engine *self)
{
    if (!self) return;
    fm_exact_below_clear(&self->near);
    for (unsigned k = 0; k < self->sample_count; k++) fm_block_sample_clear(&self->samples[k]);
    free(self);
}

enum { RATE, SAMPLES, HASHES, EXACT_BELOW, HASH_SEED };
static const fm_engine_option shards_options[] = {
    [RATE] = {"rate", FM_OPTION_SHARE, .usual = "0.001",
              .meaning = "share of the blocks that is looked at, in each sample"},
    [SAMPLES] = {"samples", FM_OPTION_COUNT, .least = 1, .most = 1 << 30, .excludes = "rate",
                 .meaning = "instead: so many blocks in each sample, at whatever rate that is"},
    [HASHES] = {"hashes", FM_OPTION_COUNT, .least = 1, .most = FM_MOST_SAMPLES, .usual = "4",
                .meaning = "independent samples, for the confidence band (1: no band)"},
    [EXACT_BELOW] = {"exact-below", FM_OPTION_COUNT, .most = UINT64_MAX, .usual = "4096",
                     .meaning = "distances below so many blocks are exact (0: none)"},
    [HASH_SEED] = {"hash-seed", FM_OPTION_COUNT, .most = UINT32_MAX, .usual = "0",
                   .meaning = "another number, other samples"},
    {0},
};

static fm_status shards_start(fm_engine *self, const fm_engine_options *options, fm_error *error)
{
    const fm_option_value *own = options->own;
    const uint64_t exact_below = fm_own_count(own, shards_options, EXACT_BELOW),
                   hashes = fm_own_count(own, shards_options, HASHES),
                   first_hash = fm_own_count(own, shards_options, HASH_SEED) * FM_MOST_SAMPLES;
    const double rate = fm_own_real(own, shards_options, RATE);
    /* With a limit, the exact part may hold half of it. */
    const uint64_t near_limit = exact_below ? options->max_memory / 2 : 0;
    self->samples_limit = options->max_memory - near_limit;
    fm_status status =
        fm_exact_below_create(&self->near, exact_below, self->kernels, options->seed, near_limit, error);
    for (unsigned k = 0; k < hashes && status == FM_OK; k++) {
        self->sample_count++;
        status = fm_block_sample_create(&self->samples[k], rate, own[SAMPLES].count, first_hash + k, error);
    }
    if (status == FM_OK) status = check_limit(self, sizeof *self + memory_of_samples(self), error);
    return status;
}

static fm_status shards_create(fm_engine **engine, const fm_engine_options *options, fm_error *error)
{
    *engine = NULL;
    const fm_exact_kernels *kernels = fm_exact_kernels_find(options->isa);
    if (!kernels)
        return fm_fail(error, FM_E_UNSUPPORTED, NULL, "this machine cannot run the instruction set '%s'",
                       options->isa ? options->isa : "");
    fm_engine *self = fm_calloc(1, sizeof *self);
    if (!self) return fm_fail_memory(error, sizeof *self, "the engine");
    self->kernels = kernels;
    fm_status status = shards_start(self, options, error);
    if (status != FM_OK) {
        shards_destroy(self);
        return status;
    }
    *engine = self;
    return FM_OK;
}

/* ---- results ---- */

/* First touches are estimated by the sketch of all blocks, or by the samples where these have seen so many
 * blocks that they know better. */
static void estimate_cold(const fm_engine *self, fm_sampled *sampled, fm_profile *profile)
{
    double blocks = 0, seen = 0;
    for (unsigned k = 0; k < self->sample_count; k++) {
        blocks += self->samples[k].count;
        seen += fm_block_sample_rate(&self->samples[k]) / self->sample_count;
    }
    const double error_of_samples = blocks > 0 ? sqrt((1 - seen) / blocks) : 1;
    sampled->far += profile->cold;
    if (error_of_samples <= FM_SKETCH_ERROR) {
        profile->cold = 0;
        return;
    }
    /* As many as the exact part has remembered are certain. */
    const double most = (double)sampled->far, certain = (double)profile->cold;
    const double cold = fmin(most, fmax(certain, fm_distinct_sketch_count(&self->sketch)));
    profile->cold = (uint64_t)cold;
    sampled->far -= profile->cold;
    sampled->cold_known = true;
    sampled->cold_error = FM_SKETCH_ERROR * cold;
}

static fm_status shards_describe(const fm_engine *self, fm_profile *profile, fm_error *error)
{
    fm_sampled sampled = {.samples = self->samples,
                          .count = self->sample_count,
                          .references = self->references,
                          .far = self->references,
                          .exact_below = self->near.bound};
    profile->references = self->references;
    if (self->near.bound) {
        sampled.cold_known = fm_exact_below_cold_known(&self->near);
        sampled.far = profile->beyond;
        if (!sampled.cold_known) estimate_cold(self, &sampled, profile);
        profile->beyond = 0;
    }
    profile->cold_known = true; /* none is hidden beyond a bound */
    fm_status status = fm_sample_estimate(&sampled, profile, error);
    profile->distinct = profile->cold;
    return status;
}

static uint64_t shards_distinct(const fm_engine *self)
{
    double sum = 0;
    for (unsigned k = 0; k < self->sample_count; k++) sum += self->samples[k].cold;
    return (uint64_t)(sum / self->sample_count);
}

static bool shards_cold_known(const fm_engine *self)
{
    (void)self;
    return true;
}

const fm_engine_ops fm_engine_shards = {
    .info = {.name = "shards",
             .summary =
                 "samples of the blocks, joined to exact small distances: a curve with a confidence band",
             .unbounded = true,
             .histogram_only = true},
    .own = shards_options,
    .create = shards_create,
    .destroy = shards_destroy,
    .count = shards_count,
    .distinct = shards_distinct,
    .cold_known = shards_cold_known,
    .describe = shards_describe,
    .memory = shards_memory,
    .memory_peak = shards_memory_peak,
};

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * analyzer.c - the public streaming analyser: cuts accesses into blocks, drives an engine, counts what
 * it finds, and hands out profiles. Knows no file and no algorithm.
 */
#define _GNU_SOURCE
#include "base/error.h"
#include "base/memory.h"
#include "engine/engine.h"
#include "engine/tally.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

enum { RUN = 8192 }; /* blocks handed to the engine at a time where they have to be made first */

struct fm_analyzer {
    const fm_engine_ops *ops;
    fm_engine *engine;
    fm_tally distances;
    fm_tally times;
    uint64_t granularity, bound;
    unsigned shift;
    bool with_times;
    fm_distance_sink sink;
    void *sink_context;
    uint64_t blocks[RUN];
    uint64_t run_distances[RUN]; /* where order or times are asked for */
    uint64_t run_times[RUN];
};

/* A seed nobody outside can guess; the clock's low bits where the kernel has none to give. */
static uint64_t random_seed(void)
{
    uint64_t seed = 0;
    if (getrandom(&seed, sizeof seed, GRND_NONBLOCK) != (ssize_t)sizeof seed) {
        struct timespec now;
        clock_gettime(CLOCK_REALTIME, &now);
        seed = (uint64_t)now.tv_nsec * UINT64_C(0x9E3779B97F4A7C15) ^ (uint64_t)(uintptr_t)&seed;
    }
    return seed ? seed : 1;
}

static uint64_t memory_beside_engine(const fm_analyzer *analyzer)
{
    return sizeof *analyzer + fm_tally_memory(&analyzer->distances) + fm_tally_memory(&analyzer->times);
}

/* One bin per distance grows with the blocks, at a quarter of the engine's pace: so is its share. */
static fm_status share_memory(fm_analyzer *self, uint64_t limit, uint64_t *engine_limit, fm_error *error)
{
    uint64_t others = memory_beside_engine(self);
    if (self->distances.bins == FM_BINS_EXACT) {
        self->distances.max_memory = self->times.max_memory = limit / 4;
        others = sizeof *self + (self->with_times ? 2 : 1) * (limit / 4);
    }
    if (others >= limit)
        return fm_fail(error, FM_E_LIMIT, NULL,
                       "a memory limit of %" PRIu64 " bytes is too small to start: %" PRIu64 " are needed",
                       limit, others + 1);
    *engine_limit = limit - others;
    return FM_OK;
}

fm_status fm_analyzer_create(fm_analyzer **analyzer, const fm_analyzer_options *options, fm_error *error)
{
    *analyzer = NULL;
    const char *name = options->engine ? options->engine : "exact";
    const fm_engine_ops *ops = fm_engine_find(name);
    if (!ops) return fm_fail(error, FM_E_ARGUMENT, NULL, "there is no engine '%s'", name);
    uint64_t granularity = options->granularity ? options->granularity : 1;
    if (granularity & (granularity - 1))
        return fm_fail(error, FM_E_ARGUMENT, NULL, "a granularity of %" PRIu64 " is not a power of two",
                       granularity);

    fm_analyzer *self = fm_calloc(1, sizeof *self);
    if (!self) return fm_fail_memory(error, sizeof *self, "the analyzer");
    self->ops = ops;
    self->granularity = granularity;
    self->shift = (unsigned)__builtin_ctzll(granularity);
    self->bound = options->bound;
    self->with_times = options->time_distances;
    fm_engine_options engine_options = {
        .bound = options->bound,
        .time_distances = options->time_distances,
        .seed = options->seed ? options->seed : random_seed(),
        .first_time = options->first_time,
        .isa = options->isa,
    };
    fm_status status = fm_tally_create(&self->distances, options->bins, error);
    if (status == FM_OK && self->with_times) status = fm_tally_create(&self->times, options->bins, error);
    if (status == FM_OK && options->max_memory)
        status = share_memory(self, options->max_memory, &engine_options.max_memory, error);
    if (status == FM_OK) status = ops->create(&self->engine, &engine_options, error);
    if (status != FM_OK) {
        fm_analyzer_destroy(self);
        return status;
    }
    *analyzer = self;
    return FM_OK;
}

void fm_analyzer_destroy(fm_analyzer *analyzer)
{
    if (!analyzer) return;
    if (analyzer->engine) analyzer->ops->destroy(analyzer->engine);
    fm_tally_clear(&analyzer->distances);
    fm_tally_clear(&analyzer->times);
    free(analyzer);
}

void fm_analyzer_set_sink(fm_analyzer *analyzer, fm_distance_sink sink, void *context)
{
    analyzer->sink = sink;
    analyzer->sink_context = context;
}

/* Up to RUN blocks in order, one distance each. */
static fm_status feed_ordered(fm_analyzer *self, const uint64_t *blocks, size_t count, fm_error *error)
{
    size_t done = 0;
    uint64_t *times = self->with_times ? self->run_times : NULL;
    fm_status fed = self->ops->feed(self->engine, blocks, count, self->run_distances, times, &done, error);
    /* What the engine took counts, whether it could go on or not. */
    fm_error *note = fed == FM_OK ? error : NULL;
    fm_status status = FM_OK;
    if (self->sink) status = self->sink(self->sink_context, self->run_distances, done, note);
    if (status == FM_OK) status = fm_tally_add(&self->distances, self->run_distances, done, note);
    if (status == FM_OK && times) status = fm_tally_add(&self->times, times, done, note);
    return fed != FM_OK ? fed : status;
}

fm_status fm_analyzer_feed_blocks(fm_analyzer *analyzer, const uint64_t *blocks, size_t count,
                                  fm_error *error)
{
    size_t done;
    if (!analyzer->sink && !analyzer->with_times && analyzer->ops->count)
        return analyzer->ops->count(analyzer->engine, blocks, count, &analyzer->distances, &done, error);
    fm_status status = FM_OK;
    while (count > 0 && status == FM_OK) {
        size_t part = count < RUN ? count : RUN;
        status = feed_ordered(analyzer, blocks, part, error);
        blocks += part;
        count -= part;
    }
    return status;
}

/* Accesses with sizes: one reference to each block touched, in ascending order. */
static fm_status feed_sized(fm_analyzer *self, const fm_batch *batch, fm_error *error)
{
    size_t filled = 0;
    for (size_t i = 0; i < batch->count; i++) {
        uint64_t address = batch->address[i];
        uint64_t extent = batch->size[i] ? batch->size[i] - 1 : 0;
        uint64_t end = address > UINT64_MAX - extent ? UINT64_MAX : address + extent;
        uint64_t block = address >> self->shift, last = end >> self->shift;
        for (;; block++) {
            self->blocks[filled++] = block;
            if (filled == RUN) {
                fm_status status = fm_analyzer_feed_blocks(self, self->blocks, filled, error);
                if (status != FM_OK) return status;
                filled = 0;
            }
            if (block == last) break;
        }
    }
    return fm_analyzer_feed_blocks(self, self->blocks, filled, error);
}

fm_status fm_analyzer_feed(fm_analyzer *analyzer, const fm_batch *batch, fm_error *error)
{
    if (batch->size) return feed_sized(analyzer, batch, error);
    if (analyzer->shift == 0) return fm_analyzer_feed_blocks(analyzer, batch->address, batch->count, error);
    fm_status status = FM_OK;
    for (size_t i = 0; i < batch->count && status == FM_OK; i += RUN) {
        size_t part = batch->count - i < RUN ? batch->count - i : RUN;
        for (size_t j = 0; j < part; j++) analyzer->blocks[j] = batch->address[i + j] >> analyzer->shift;
        status = fm_analyzer_feed_blocks(analyzer, analyzer->blocks, part, error);
    }
    return status;
}

fm_status fm_analyzer_profile(const fm_analyzer *analyzer, fm_profile **result, fm_error *error)
{
    const fm_engine_ops *ops = analyzer->ops;
    const fm_tally *tally = &analyzer->distances;
    fm_profile *profile;
    *result = NULL;
    fm_status status = fm_profile_create(&profile, error);
    if (status != FM_OK) return status;
    free(profile->engine);
    profile->engine = strdup(ops->info.name);
    if (!profile->engine) status = fm_fail_memory(error, strlen(ops->info.name) + 1, "the profile");
    profile->exact = ops->info.exact;
    profile->granularity = analyzer->granularity;
    profile->references = tally->total + tally->cold + tally->beyond;
    profile->distinct = ops->distinct(analyzer->engine);
    profile->cold = tally->cold;
    profile->bound = analyzer->bound;
    profile->beyond = tally->beyond;
    profile->cold_known = ops->cold_known(analyzer->engine);
    profile->bins = tally->bins;
    if (status == FM_OK) status = fm_tally_histogram(tally, analyzer->bound, &profile->distances, error);
    if (status == FM_OK && analyzer->with_times) {
        profile->has_times = true;
        status = fm_tally_histogram(&analyzer->times, 0, &profile->times, error);
    }
    if (status != FM_OK) {
        fm_profile_destroy(profile);
        return status;
    }
    *result = profile;
    return FM_OK;
}

uint64_t fm_analyzer_memory(const fm_analyzer *analyzer)
{
    return memory_beside_engine(analyzer) + analyzer->ops->memory(analyzer->engine);
}

uint64_t fm_analyzer_memory_peak(const fm_analyzer *analyzer)
{
    return memory_beside_engine(analyzer) + analyzer->ops->memory_peak(analyzer->engine);
}

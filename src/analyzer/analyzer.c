/* SPDX-License-Identifier: Apache-2.0 */
/*
 * analyzer.c - the public streaming analyser: makes it and hands out what it found; analyzer_feed.c is what
 * references go through. Knows no file and no algorithm.
 */
#include "analyzer/analyzer_state.h"
#include "base/crew.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/table.h"
#include "engine/engine.h"
#include "profile/profile_parts.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

unsigned fm_analyzer_processors(void)
{
    return fm_processors_usable();
}

static uint64_t memory_beside_engine(const fm_analyzer *analyzer)
{
    uint64_t bytes =
        sizeof *analyzer + fm_tally_memory(&analyzer->distances) + fm_tally_memory(&analyzer->times);
    const fm_attributing *attributing = analyzer->attributing;
    if (attributing)
        bytes += sizeof *attributing + fm_pairs_memory(&attributing->pairs) +
                 fm_block_tags_memory(&attributing->last) +
                 (attributing->poured.buckets ? fm_pair_table_memory(&attributing->poured) : 0);
    for (size_t i = 0; i < FM_PREPARERS; i++)
        if (analyzer->preparers[i]) bytes += fm_preparer_memory(analyzer->preparers[i], analyzer->ops);
    return bytes;
}

/* Bytes of the limit for each of what grows beside the engine; all 0 without a limit. */
typedef struct shares {
    uint64_t histogram; /* one bin per distance: grows with the blocks, at a quarter of the engine's pace */
    uint64_t pairs;
    uint64_t tags; /* of engines that keep none */
    uint64_t engine;
} shares;

static fm_status share_memory(const fm_analyzer *self, const fm_analyzer_options *options, shares *share,
                              fm_error *error)
{
    const uint64_t limit = options->max_memory;
    uint64_t others = memory_beside_engine(self);
    memset(share, 0, sizeof *share);
    if (!limit) return FM_OK;
    if (options->bins == FM_BINS_EXACT) {
        share->histogram = limit / 4;
        others = sizeof *self + (self->with_times ? 2 : 1) * share->histogram;
    }
    if (options->edges) {
        share->pairs = limit / 8;
        if (!self->ops->tagged) share->tags = limit / 4;
        others += sizeof *self->attributing + share->pairs + share->tags;
    }
    if (others >= limit)
        return fm_fail(error, FM_E_LIMIT, NULL,
                       "a memory limit of %" PRIu64 " bytes is too small to start: %" PRIu64 " are needed",
                       limit, others + 1);
    share->engine = limit - others;
    return FM_OK;
}

static fm_status start_attributing(fm_analyzer *self, const fm_analyzer_options *options, uint64_t seed,
                                   const shares *share, fm_error *error)
{
    fm_attributing *attributing = NULL;
    if (posix_memalign((void **)&attributing, 64, sizeof *attributing) != 0 || !attributing)
        return fm_fail_memory(error, sizeof *attributing, "attribution");
    memset(attributing, 0, sizeof *attributing);
    pthread_mutex_init(&attributing->poured_lock, NULL);
    self->attributing = attributing;
    fm_status status =
        fm_pairs_create(&attributing->pairs, options->edges, options->edge_count, seed, share->pairs, error);
    memcpy(attributing->multiplier, attributing->pairs.table.multiplier, sizeof attributing->multiplier);
    if (status == FM_OK && !self->ops->tagged)
        status = fm_block_tags_create(&attributing->last, seed, share->tags, error);
    return status;
}

static fm_status analyzer_start(fm_analyzer *self, const fm_analyzer_options *options, fm_error *error)
{
    shares share;
    fm_engine_options engine_options = {
        .bound = options->bound,
        .time_distances = options->time_distances,
        .seed = options->seed ? options->seed : fm_random_seed(),
        .isa = options->isa,
        .threads = options->threads,
        .tags = options->edges != NULL,
    };
    fm_status status = fm_own_options_parse(self->ops->info.name, self->ops->own, options->engine_options,
                                            engine_options.own, error);
    if (status == FM_OK) status = fm_tally_create(&self->distances, options->bins, error);
    if (status == FM_OK && self->with_times) status = fm_tally_create(&self->times, options->bins, error);
    if (status == FM_OK) status = share_memory(self, options, &share, error);
    if (status != FM_OK) return status;
    self->distances.max_memory = self->times.max_memory = share.histogram;
    engine_options.max_memory = share.engine;
    if (options->edges) status = start_attributing(self, options, engine_options.seed, &share, error);
    if (status == FM_OK) status = self->ops->create(&self->engine, &engine_options, error);
    return status;
}

/* Several threads count where no promise has to be kept of their counters. Times they cannot count in every
 * case. */
static bool for_several_threads(const fm_analyzer_options *options)
{
    const bool limited = options->max_memory, edges = options->edges, exact = options->bins == FM_BINS_EXACT;
    if (options->time_distances && (limited || edges || exact || options->bound)) return false;
    return options->threads > 1 && !(edges && limited);
}

enum { MOST_THREADS = 4096 };

fm_status fm_analyzer_create_sized(size_t given_size, fm_analyzer **analyzer,
                                   const fm_analyzer_options *given, fm_error *error)
{
    *analyzer = NULL;
    fm_analyzer_options known;
    fm_status status = fm_sized_read(&known, sizeof known, given, given_size, "fm_analyzer_options", error);
    if (status != FM_OK) return status;
    const fm_analyzer_options *options = &known;
    const char *name = options->engine ? options->engine : "exact";
    const fm_engine_ops *ops = fm_engine_find(name);
    if (!ops) return fm_fail(error, FM_E_ARGUMENT, NULL, "there is no engine '%s'", name);
    status = fm_check_choice(options->bins, FM_BINS_EXACT, "fm_analyzer_options.bins", error);
    if (status == FM_OK)
        status = fm_check_choice(options->threads, MOST_THREADS, "fm_analyzer_options.threads", error);
    if (status != FM_OK) return status;
    if (options->edge_count > 0 && !options->edges)
        return fm_fail(error, FM_E_ARGUMENT, NULL,
                       "fm_analyzer_options.edge_count is %zu, and there are no edges", options->edge_count);
    if (options->bound && ops->info.unbounded)
        return fm_fail(error, FM_E_ARGUMENT, NULL, "the engine '%s' takes no bound", name);
    if ((options->time_distances || options->edges) && ops->info.histogram_only)
        return fm_fail(error, FM_E_ARGUMENT, NULL, "the engine '%s' tells no single distances", name);
    if (options->edges && ops->info.no_sites)
        return fm_fail(error, FM_E_ARGUMENT, NULL, "the engine '%s' does not tell code sites apart", name);
    uint64_t granularity = options->granularity ? options->granularity : 1;
    if (granularity & (granularity - 1))
        return fm_fail(error, FM_E_ARGUMENT, NULL, "a granularity of %" PRIu64 " is not a power of two",
                       granularity);
    if (options->elements && granularity != 1)
        return fm_fail(error, FM_E_ARGUMENT, NULL, "elements have no granularity but 1, not %" PRIu64,
                       granularity);

    fm_analyzer *self = fm_calloc(1, sizeof *self);
    if (!self) return fm_fail_memory(error, sizeof *self, "the analyzer");
    self->ops = ops->by_threads && for_several_threads(options) ? ops->by_threads : ops;
    self->kernels = fm_exact_kernels_find(options->isa);
    if (!self->kernels) self->kernels = fm_exact_kernels_find(NULL); /* engines complain, if it is theirs */
    self->granularity = granularity;
    self->shift = (unsigned)__builtin_ctzll(granularity);
    self->bound = options->bound;
    self->threads = options->threads ? options->threads : 1;
    self->with_times = options->time_distances;
    self->limited = options->max_memory != 0;
    self->options = *options;
    self->options.engine = ops->info.name;
    self->options.isa = options->isa ? self->kernels->isa : NULL;
    if (options->engine_options) {
        self->options.engine_options = self->engine_options = strdup(options->engine_options);
        if (!self->engine_options)
            status = fm_fail_memory(error, strlen(options->engine_options) + 1, "the analyzer");
    }
    if (status == FM_OK) status = analyzer_start(self, options, error);
    if (status != FM_OK) {
        fm_analyzer_destroy(self);
        return status;
    }
    *analyzer = self;
    return FM_OK;
}

/* All that it holds. */
static void analyzer_release(fm_analyzer *analyzer)
{
    if (analyzer->engine) analyzer->ops->destroy(analyzer->engine);
    fm_tally_clear(&analyzer->distances);
    fm_tally_clear(&analyzer->times);
    for (size_t i = 0; i < FM_PREPARERS; i++) fm_preparer_destroy(analyzer->preparers[i], analyzer->ops);
    if (analyzer->attributing) {
        fm_pairs_clear(&analyzer->attributing->pairs);
        fm_pair_table_clear(&analyzer->attributing->poured);
        pthread_mutex_destroy(&analyzer->attributing->poured_lock);
        fm_block_tags_clear(&analyzer->attributing->last);
        free(analyzer->attributing);
    }
    free(analyzer->engine_options);
}

void fm_analyzer_destroy(fm_analyzer *analyzer)
{
    if (!analyzer) return;
    analyzer_release(analyzer);
    free(analyzer);
}

fm_status fm_analyzer_restart(fm_analyzer *analyzer, fm_error *error)
{
    fm_analyzer_options options = analyzer->options;
    fm_analyzer *anew = NULL;
    if (analyzer->attributing) options.edges = analyzer->attributing->pairs.ranges.edges;
    fm_status status = fm_analyzer_create(&anew, &options, error);
    if (!anew) return status;
    anew->sink = analyzer->sink;
    anew->sink_context = analyzer->sink_context;
    anew->told_ever = analyzer->told > analyzer->told_ever ? analyzer->told : analyzer->told_ever;
    analyzer_release(analyzer);
    *analyzer = *anew;
    free(anew);
    return FM_OK;
}

/* What is pending was fed before: it is not for the new sink. */
fm_status fm_analyzer_set_sink(fm_analyzer *analyzer, fm_distance_sink sink, void *context, fm_error *error)
{
    FM_REQUIRE(analyzer, error);
    if (analyzer->ops->info.histogram_only) return FM_OK;
    fm_status status = fm_analyzer_flush(analyzer, error);
    if (status != FM_OK) return status;
    analyzer->sink = sink;
    analyzer->sink_context = context;
    analyzer->told = analyzer->told_ever = 0;
    return FM_OK;
}

fm_status fm_analyzer_set_late_sink(fm_analyzer *analyzer, uint32_t from, fm_late_sink sink, void *context,
                                    fm_error *error)
{
    FM_REQUIRE(analyzer, error);
    fm_attributing *attributing = analyzer->attributing;
    if (!attributing) return FM_OK;
    fm_status status = fm_analyzer_flush(analyzer, error);
    if (status != FM_OK) return status;
    attributing->late_sink = sink;
    attributing->late_context = context;
    if (sink)
        fm_pairs_want_late(&attributing->pairs, from);
    else
        attributing->pairs.late_wanted = false;
    return FM_OK;
}

fm_status fm_analyzer_pairs(fm_analyzer *analyzer, fm_raw_pair **pairs, size_t *count, fm_error *error)
{
    *pairs = NULL;
    *count = 0;
    FM_REQUIRE(analyzer, error);
    if (!analyzer->attributing)
        return fm_fail(error, FM_E_ARGUMENT, NULL, "pairs are counted only where edges were given");
    fm_status status = fm_analyzer_flush(analyzer, error);
    if (status == FM_OK) status = fm_analyzer_join(analyzer, error);
    if (status != FM_OK) return status;
    return fm_pair_table_list(&analyzer->attributing->pairs.table, pairs, count, error);
}

fm_status fm_analyzer_profile(fm_analyzer *analyzer, fm_profile **result, fm_error *error)
{
    *result = NULL;
    FM_REQUIRE(analyzer, error);
    const fm_engine_ops *ops = analyzer->ops;
    /* What is pending is part of what is known. */
    fm_status status = fm_analyzer_flush(analyzer, error);
    if (status == FM_OK) status = fm_analyzer_join(analyzer, error);
    if (status != FM_OK) return status;
    const fm_tally_origin origin = {.engine = ops->info.name,
                                    .exact = ops->info.exact,
                                    .granularity = analyzer->granularity,
                                    .bound = analyzer->bound,
                                    .distinct = analyzer->sink_refused ? analyzer->distances.cold
                                                                       : ops->distinct(analyzer->engine),
                                    .cold_known = ops->cold_known(analyzer->engine)};
    fm_profile *profile;
    status = fm_tally_profile(&analyzer->distances, &origin, &profile, error);
    if (status != FM_OK) return status;
    profile->elements = analyzer->options.elements;
    if (analyzer->with_times) {
        profile->has_times = true;
        status = fm_tally_histogram(&analyzer->times, 0, &profile->times, error);
    }
    if (status == FM_OK && ops->describe) status = ops->describe(analyzer->engine, profile, error);
    if (status == FM_OK) status = fm_profile_made(profile, FM_LAWS_WHOLE, NULL, error);
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
    uint64_t bytes = memory_beside_engine(analyzer) + analyzer->ops->memory_peak(analyzer->engine);
    const fm_attributing *attributing = analyzer->attributing;
    if (attributing)
        bytes += fm_pairs_memory_peak(&attributing->pairs) - fm_pairs_memory(&attributing->pairs) +
                 attributing->last.memory_peak - fm_block_tags_memory(&attributing->last);
    return bytes;
}

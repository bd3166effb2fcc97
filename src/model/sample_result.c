/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sample_result.c - from observations to an estimate: options checked, the steps one after the other, and
 * what comes out in a profile.
 */
#define _GNU_SOURCE
#include <fathom/model.h>

#include "base/error.h"
#include "base/memory.h"
#include "model/sample_internal.h"
#include "profile/profile_parts.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/*
 * ======== sample estimators ========
 * The table of estimators. docs/SAMPLE-ESTIMATE.md says what each assumes.
 */

static const fm_estimator estimators[] = {
    {.info = {.name = "capped",
              .summary = "Kaplan-Meier, watches weighted by the inverse of their chance to be armed",
              .bursts = true},
     .weights = FM_WEIGHTS_ENTRY,
     .survival = true,
     .windows = true,
     .conversion = "aet"},
    {.info = {.name = "rdx",
              .summary = "the paper's: traps, each for all samples at its context while it was armed",
              .plain_reservoir = true},
     .weights = FM_WEIGHTS_PROPORTIONAL,
     .conversion = "shen"},
    {.info = {.name = "rdx-trapped",
              .summary = "the paper's without proportional attribution: each trap once",
              .plain_reservoir = true},
     .weights = FM_WEIGHTS_TRAPPED,
     .conversion = "shen"},
    {.info = {.name = "kaplan-meier",
              .summary = "Kaplan-Meier, all watches alike: right where a run has no phases",
              .bursts = true},
     .weights = FM_WEIGHTS_NONE,
     .survival = true,
     .conversion = "aet"},
    {.info = {.name = "horvitz-thompson",
              .summary = "weights by the chance to be seen to the end: no bias, more noise",
              .bursts = true},
     .weights = FM_WEIGHTS_BOTH,
     .conversion = "aet"},
};
enum { ESTIMATORS = sizeof estimators / sizeof *estimators };

const fm_estimator_info *fm_estimator_at(size_t index)
{
    return index < ESTIMATORS ? &estimators[index].info : NULL;
}

/* NULL: there is none of this name. NULL name: the default. */
static const fm_estimator *estimator_named(const char *name)
{
    if (!name) return &estimators[0];
    for (size_t i = 0; i < ESTIMATORS; i++)
        if (strcmp(name, estimators[i].info.name) == 0) return &estimators[i];
    return NULL;
}

/* ======== sample limits ======== */

static uint64_t largest_of(const fm_histogram *histogram)
{
    return histogram->count ? histogram->bins[histogram->count - 1].lo : 0;
}

/* Distances from `last` on, and `more` references, go to the bin of `last`. */
static fm_status fold_from(fm_histogram *histogram, fm_bins bins, uint64_t last, uint64_t more,
                           fm_error *error)
{
    fm_bin *made = fm_calloc(histogram->count + 1, sizeof *made);
    if (!made) return fm_fail_memory(error, (histogram->count + 1) * sizeof *made, "the histogram");
    fm_bin folded = {.count = more};
    fm_bins_range(bins, fm_bins_index(bins, last), &folded.lo, &folded.hi);
    size_t count = 0;
    for (size_t i = 0; i < histogram->count; i++) {
        if (histogram->bins[i].lo < folded.lo)
            made[count++] = histogram->bins[i];
        else
            folded.count += histogram->bins[i].count;
    }
    if (folded.count > 0) made[count++] = folded;
    free(histogram->bins);
    *histogram = (fm_histogram){count, made};
    return FM_OK;
}

/* Those that are not the last to their block after all were used again some time. */
static fm_status add_times(fm_profile *profile, uint64_t more, fm_error *error)
{
    fm_histogram *times = &profile->times;
    if (more == 0 || !profile->has_times) return FM_OK;
    if (times->count > 0) {
        times->bins[times->count - 1].count += more;
        return FM_OK;
    }
    return fold_from(times, profile->bins, profile->distinct > 0 ? profile->distinct : 1, more, error);
}

/* A cache with room for all blocks misses each once, whatever the band said. */
static void limit_band(const fm_profile *profile, uint64_t most)
{
    fm_accuracy *accuracy = profile->accuracy;
    const double ratio = (double)profile->cold / (double)profile->references;
    for (size_t i = 0; accuracy && i < accuracy->band_count; i++)
        if (accuracy->band[i].blocks >= most) {
            accuracy->band[i].least = fmin(accuracy->band[i].least, ratio);
            accuracy->band[i].most = fmax(accuracy->band[i].least, fmin(accuracy->band[i].most, ratio));
        }
}

static fm_status limit_to(fm_profile *profile, uint64_t most, fm_error *error)
{
    const uint64_t excess = profile->cold > most ? profile->cold - most : 0;
    const uint64_t estimated = profile->distinct;
    if (estimated <= most && excess == 0 && largest_of(&profile->distances) < most) return FM_OK;
    profile->cold -= excess;
    if (profile->distinct > most) profile->distinct = most;
    fm_status status = fold_from(&profile->distances, profile->bins, most - 1, excess, error);
    if (status == FM_OK) status = add_times(profile, excess, error);
    if (status != FM_OK) return status;
    limit_band(profile, most);
    if (estimated <= most || !profile->accuracy) return FM_OK;
    return fm_accuracy_add(profile->accuracy, error,
                           "the footprint, estimated at %" PRIu64 " blocks of %" PRIu64
                           " bytes, cannot be more than %" PRIu64
                           " (peak memory of the program, other block sizes): "
                           "it is not known",
                           estimated, profile->granularity, most);
}

/*
 * Of an estimated profile, before code is told apart: there are at most blocks_most distinct blocks, so that
 * no more references are the last to theirs, and no distance is as large; the references that this concerns
 * have the largest distance there can be. There are as many blocks as the largest distance needs, and
 * blocks_least.
 */
static fm_status sample_limit(fm_profile *profile, const fm_estimate_options *options, fm_error *error)
{
    fm_status status = FM_OK;
    if (profile->references == 0) return FM_OK;
    uint64_t most = options->blocks_most ? options->blocks_most : UINT64_MAX;
    uint64_t least = options->blocks_least < most ? options->blocks_least : most;
    if (most > profile->references) most = profile->references;
    if (least > profile->references) least = profile->references;
    if (most < least) most = least;
    if (most == 0) most = 1;
    status = limit_to(profile, most, error);
    /* As many blocks as were the last ones, and as the largest distance had in between. */
    if (profile->distinct < profile->cold) profile->distinct = profile->cold;
    if (profile->distances.count && profile->distinct <= largest_of(&profile->distances))
        profile->distinct = largest_of(&profile->distances) + 1;
    if (profile->distinct < least) profile->distinct = least;
    return status;
}

/*
 * ======== sample band ========
 * Between which miss ratios the actual ones lie, by a block bootstrap.
 *
 * Observations that follow each other are alike, so whole stretches of the run are weighed at random, and the
 * estimate is made anew with these weights: exponential ones, so that no window of the run is ever without
 * observations (D. Rubin: The Bayesian bootstrap, Ann. Stat. 1981). The middle 95 % of the miss ratios at a
 * size are the band there. What was never met in any stretch gets no weight, and the model from time
 * distances to distances errs by itself: so the band is wider by a floor.
 */

enum { SIZES_PER_DOUBLING = 4, MOST_SIZES = 64 * SIZES_PER_DOUBLING };
/* What the conversion may be off by itself (bench/RESULTS.md). */
static const double model_error = 0.005;

/* From 1 block to as many as there are. */
static size_t choose_sizes(const fm_profile *profile, uint64_t *sizes)
{
    const fm_histogram *distances = &profile->distances;
    uint64_t most = profile->distinct;
    if (distances->count && distances->bins[distances->count - 1].hi > most)
        most = distances->bins[distances->count - 1].hi;
    size_t count = 0;
    for (int step = 0; count < MOST_SIZES; step++) {
        const uint64_t size = (uint64_t)llround(exp2((double)step / SIZES_PER_DOUBLING));
        if (count == 0 || size > sizes[count - 1]) sizes[count++] = size;
        if (size >= most || size >= UINT64_C(1) << 62) break;
    }
    return count;
}

static int by_value(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Miss ratios of all rounds, ratios[size * rounds + round]. Returns how many rounds there are. */
static size_t draw_rounds(const fm_sample_items *items, fm_sample_masses *scratch,
                          const fm_estimate_options *options, const uint64_t *sizes, size_t size_count,
                          double *times, double *curve, double *ratios)
{
    uint64_t random = options->seed;
    size_t made = 0;
    /* A draw without any observation says nothing; where all are, there is nothing to say. */
    for (unsigned tried = 0; made < options->bootstrap && tried < 4 * options->bootstrap; tried++) {
        for (uint32_t k = 0; k < items->blocks; k++)
            times[k] = -log(((double)(fm_random_next(&random) >> 11) + 0.5) * 0x1p-53);
        if (!fm_sample_weigh(items, times, scratch)) continue;
        fm_sample_miss_ratios(items, scratch, sizes, size_count, curve);
        for (size_t i = 0; i < size_count; i++) ratios[i * options->bootstrap + made] = curve[i];
        made++;
    }
    return made;
}

/* The middle of the rounds at each size, the estimate itself included. */
static void find_middles(const fm_profile *profile, const fm_estimate_options *options, size_t made,
                         double *ratios, fm_band_point *band, size_t count)
{
    const double tail = (1 - options->confidence) / 2;
    for (size_t i = 0; i < count; i++) {
        double *of = ratios + i * options->bootstrap, least = 0, most = 1;
        if (made > 0) {
            qsort(of, made, sizeof *of, by_value);
            const size_t skipped = (size_t)floor(tail * (double)made);
            least = of[skipped];
            most = of[made - 1 - skipped];
        }
        const double here = fm_profile_miss_ratio(profile, band[i].blocks);
        band[i].least = fmin(least, here);
        band[i].most = fmax(most, here);
    }
}

/* What the conversion is off by: distances by half a step of the sizes, 9 %, where the curve is steep, and
 * shares by the floor. */
static void band_widen(fm_band_point *band, size_t count, double floor_width)
{
    for (size_t i = 0; i + 1 < count; i++)
        band[i].least = fmin(band[i].least, (band[i].least + band[i + 1].least) / 2);
    for (size_t i = count; i-- > 1;) band[i].most = fmax(band[i].most, (band[i].most + band[i - 1].most) / 2);
    for (size_t i = 0; i < count; i++) {
        band[i].least = fmax(0, band[i].least - floor_width);
        band[i].most = fmin(1, band[i].most + floor_width);
    }
}

static fm_status sample_band(fm_profile *profile, const fm_sample_items *items,
                             const fm_estimate_options *options, fm_error *error)
{
    uint64_t sizes[MOST_SIZES];
    double curve[MOST_SIZES];
    const size_t count = choose_sizes(profile, sizes);
    fm_band_point *band = fm_calloc(count, sizeof *band);
    double *ratios = fm_calloc(count * options->bootstrap, sizeof *ratios);
    double *times = fm_calloc(items->blocks + 1, sizeof *times);
    fm_sample_masses scratch;
    fm_status status = fm_sample_masses_create(&scratch, items, 0, false, error);
    if (band && ratios && times && scratch.bins) {
        for (size_t i = 0; i < count; i++) band[i].blocks = sizes[i];
        const size_t made = draw_rounds(items, &scratch, options, sizes, count, times, curve, ratios);
        const double unseen = items->effective > 0 ? 3 / items->effective : 1;
        find_middles(profile, options, made, ratios, band, count);
        band_widen(band, count, unseen + model_error);
        profile->accuracy->band = band;
        profile->accuracy->band_count = count;
        profile->accuracy->confidence = options->confidence;
    } else {
        status = fm_fail_memory(error, count * options->bootstrap * sizeof *ratios, "the confidence band");
        free(band);
    }
    free(ratios);
    free(times);
    fm_sample_masses_clear(&scratch);
    return status;
}

/* ======== sample result ======== */

enum { BLOCKS = 40, MOST_BLOCKS = 10000, ROUNDS = 200, MOST_ROUNDS = 100000, MOST_EDGES = 250 };

/* One estimate on its way. */
typedef struct making {
    const fm_samples *samples;
    const fm_estimator *estimator;
    fm_estimate_options options;
    bool shen;
    uint64_t references;
    fm_sample_items items;
    fm_sample_masses masses;
    fm_estimate *estimate;
} making;

/* ---- options ---- */

static fm_status check_choice(making *self, fm_error *error)
{
    fm_estimate_options *options = &self->options;
    self->estimator = estimator_named(options->estimator);
    if (!self->estimator)
        return fm_fail(error, FM_E_ARGUMENT, NULL, "there is no estimator '%s'", options->estimator);
    const char *conversion = options->conversion ? options->conversion : self->estimator->conversion;
    self->shen = strcmp(conversion, "shen") == 0;
    if (!self->shen && strcmp(conversion, "aet") != 0)
        return fm_fail(error, FM_E_ARGUMENT, NULL, "there is no conversion '%s'", conversion);
    options->conversion = self->shen ? "shen" : "aet";
    const fm_status known = fm_check_choice(options->bins, FM_BINS_EXACT, "fm_estimate_options.bins", error);
    if (known != FM_OK) return known;
    if (options->bins != FM_BINS_LOGLINEAR && options->bins != FM_BINS_LOG2)
        return fm_fail(error, FM_E_UNSUPPORTED, NULL, "an estimate has no bins of single distances");
    if (options->blocks == 0) options->blocks = BLOCKS;
    if (options->bootstrap == 0) options->bootstrap = ROUNDS;
    if (options->confidence == 0) options->confidence = 0.95;
    if (options->blocks > MOST_BLOCKS || options->bootstrap > MOST_ROUNDS ||
        !(options->confidence > 0 && options->confidence < 1))
        return fm_fail(error, FM_E_ARGUMENT, NULL,
                       "a bootstrap of %u rounds, %u blocks and confidence %g: expected at most %d, at most "
                       "%d, and between 0 and 1",
                       options->bootstrap, options->blocks, options->confidence, MOST_ROUNDS, MOST_BLOCKS);
    return FM_OK;
}

static fm_status check_edges(making *self, fm_error *error)
{
    static const uint64_t one_range[] = {0};
    fm_estimate_options *options = &self->options;
    if (!options->edges) {
        options->edges = one_range;
        options->edge_count = 1;
    }
    bool ascending = options->edge_count > 0 && options->edge_count <= MOST_EDGES && options->edges[0] == 0;
    for (size_t i = 1; i < options->edge_count && ascending; i++)
        ascending = options->edges[i] > options->edges[i - 1];
    return ascending ? FM_OK
                     : fm_fail(error, FM_E_ARGUMENT, NULL, "expected 1 to %d ascending edges from 0 on",
                               MOST_EDGES);
}

/* What the estimator needs, and what is there. */
static fm_status check_samples(making *self, fm_error *error)
{
    const fm_samples *samples = self->samples;
    const char *name = self->estimator->info.name;
    const bool bursts = samples->burst_count > 0;
    if (bursts && !self->estimator->info.bursts)
        return fm_fail(error, FM_E_UNSUPPORTED, NULL,
                       "the estimator '%s' is for samples of single references, and these are bursts", name);
    if (self->options.reach && !self->estimator->survival)
        return fm_fail(error, FM_E_UNSUPPORTED, NULL, "the estimator '%s' cannot leave out short watches",
                       name);
    if (self->options.reach && !bursts)
        return fm_fail(error, FM_E_ARGUMENT, NULL,
                       "watches count from a time distance of %" PRIu64
                       " on, but there are no bursts to tell "
                       "what is below",
                       self->options.reach);
    for (size_t i = 0; i < samples->watch_count && self->estimator->weights == FM_WEIGHTS_BOTH; i++) {
        const fm_sample_watch *watch = &samples->watches[i];
        if (watch->since > 0) continue;
        if ((watch->end == FM_WATCH_USED || watch->end == FM_WATCH_NEVER) && !(watch->kept > 0))
            return fm_fail(error, FM_E_UNSUPPORTED, NULL,
                           "the estimator '%s' needs the probability with which each watch was kept", name);
    }
    for (size_t i = 0; i < samples->thread_count; i++)
        if (__builtin_add_overflow(self->references, samples->references[i], &self->references))
            return fm_fail(error, FM_E_ARGUMENT, NULL, "the references of all threads exceed 64 bits");
    if (self->references == 0)
        return fm_fail(error, FM_E_ARGUMENT, NULL,
                       "too few samples to tell anything: no references were made");
    return FM_OK;
}

/* ---- the profile ---- */

/* Shares as counts of all references: each is what the running sum, rounded, has grown by. rest: the share
 * that is in no bin. */
static fm_status count_shares(fm_histogram *histogram, const double *shares, size_t count, double rest,
                              uint64_t references, fm_error *error)
{
    *histogram = (fm_histogram){0, fm_calloc(count, sizeof *histogram->bins)};
    if (!histogram->bins) return fm_fail_memory(error, count * sizeof *histogram->bins, "the histogram");
    size_t last = 0;
    for (size_t i = 0; i < count; i++)
        if (shares[i] > 0) last = i;
    double running = 0;
    uint64_t given = 0;
    for (size_t i = 0; i <= last; i++) {
        running += shares[i];
        uint64_t upto = running < 1 ? (uint64_t)nearbyint(running * (double)references) : references;
        if (i == last && rest <= 0) upto = references;
        if (upto > references) upto = references;
        if (upto <= given || !(shares[i] > 0)) continue;
        fm_bin bin = {.count = upto - given};
        fm_bins_range(FM_SAMPLE_BINS, i, &bin.lo, &bin.hi);
        histogram->bins[histogram->count++] = bin;
        given = upto;
    }
    return FM_OK;
}

/* Bins of the estimate become those that were asked for. */
static fm_status histogram_coarsen(fm_histogram *histogram, fm_bins bins, fm_error *error)
{
    if (bins == FM_SAMPLE_BINS) return FM_OK;
    fm_histogram sum;
    fm_status status = fm_histogram_sum(&sum, histogram, NULL, bins, 0, error);
    if (status != FM_OK) return status;
    free(histogram->bins);
    *histogram = sum;
    return FM_OK;
}

/* The mean time distance is the number of blocks where all are used again and again. */
static double mean_time(const fm_sample_masses *masses)
{
    double sum = 0;
    for (size_t bin = 1; bin < masses->bin_count; bin++)
        sum += masses->bins[bin] * (double)fm_sample_bin_middle(bin);
    return sum;
}

static fm_status set_distances_by_windows(making *self, fm_profile *profile, fm_error *error)
{
    const fm_sample_masses *masses = &self->masses;
    double *spread = fm_calloc(masses->bin_count, sizeof *spread);
    if (!spread) return fm_fail_memory(error, masses->bin_count * sizeof *spread, "the histogram");
    for (size_t i = 0; i < masses->bin_count * masses->window_count; i++)
        if (masses->shares[i] > 0)
            spread[fm_bins_index(FM_SAMPLE_BINS, (uint64_t)llround(fmin(masses->distances[i], 0x1p62)))] +=
                masses->shares[i];
    fm_status status =
        count_shares(&profile->distances, spread, masses->bin_count, masses->never, self->references, error);
    free(spread);
    uint64_t total = 0;
    if (status == FM_OK) fm_histogram_total(&profile->distances, &total);
    profile->cold = profile->distinct = self->references - total;
    profile->bound = profile->beyond = 0;
    profile->cold_known = true;
    profile->exact = false;
    if (masses->never <= 0)
        profile->distinct = (uint64_t)fmin(mean_time(masses) + 0.5, (double)self->references);
    return status == FM_OK ? histogram_coarsen(&profile->distances, profile->bins, error) : status;
}

static fm_status set_distances(making *self, fm_profile *profile, fm_error *error)
{
    const fm_sample_masses *masses = &self->masses;
    if (!self->shen && masses->window_count > 1) return set_distances_by_windows(self, profile, error);
    if (!self->shen) {
        fm_status status =
            fm_profile_from_times(profile, &profile->times, profile->cold, self->references, error);
        if (status == FM_OK && masses->never <= 0)
            profile->distinct = (uint64_t)fmin(mean_time(masses) + 0.5, (double)self->references);
        return status;
    }
    double *spread = fm_calloc(masses->bin_count, sizeof *spread);
    if (!spread) return fm_fail_memory(error, masses->bin_count * sizeof *spread, "the histogram");
    const double distinct = masses->never > 0 ? masses->never * (double)self->references : mean_time(masses);
    fm_sample_spread(masses, distinct, spread);
    fm_status status =
        count_shares(&profile->distances, spread, masses->bin_count, masses->never, self->references, error);
    free(spread);
    uint64_t total = 0;
    if (status == FM_OK) fm_histogram_total(&profile->distances, &total);
    profile->cold = self->references - total;
    profile->distinct = (uint64_t)fmin(distinct + 0.5, (double)self->references);
    if (profile->distinct < profile->cold) profile->distinct = profile->cold;
    return status == FM_OK ? histogram_coarsen(&profile->distances, profile->bins, error) : status;
}

static int by_size(const void *a, const void *b)
{
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x < y) - (x > y);
}

/* The largest time distance that so many observations lasted longer than. 0: there are not so many. */
static uint64_t longest_lasted(uint64_t *lengths, size_t count)
{
    qsort(lengths, count, sizeof *lengths, by_size);
    return count >= FM_MEASURED_LEAST ? lengths[FM_MEASURED_LEAST - 1] : 0;
}

static fm_status set_reach(making *self, fm_sampling *sampling, fm_error *error)
{
    const fm_samples *samples = self->samples;
    uint64_t *lengths = fm_calloc(samples->burst_count + samples->watch_count + 1, sizeof *lengths);
    if (!lengths) return fm_fail_memory(error, samples->watch_count * sizeof *lengths, "the estimate");
    size_t count = 0;
    for (size_t i = 0; i < samples->burst_count; i++) lengths[count++] = samples->bursts[i].length - 1;
    sampling->burst_time = longest_lasted(lengths, count);
    if (self->options.reach && sampling->burst_time > self->options.reach)
        sampling->burst_time = self->options.reach;
    for (size_t i = 0; i < samples->watch_count; i++)
        if (samples->watches[i].end != FM_WATCH_NOT_ARMED && samples->watches[i].since == 0)
            lengths[count++] = samples->watches[i].length;
    sampling->measured_time = longest_lasted(lengths, count);
    free(lengths);
    const fm_sample_masses *masses = &self->masses;
    size_t bin = fm_bins_index(FM_SAMPLE_BINS, sampling->measured_time);
    if (masses->window_count > 1 && bin >= masses->used) bin = masses->used - 1;
    double distance = 0;
    for (uint32_t k = 0; k < masses->window_count; k++)
        distance += masses->distances[k * masses->bin_count + bin] / masses->window_count;
    sampling->measured = (uint64_t)fmin(distance, 0x1p62);
    return FM_OK;
}

static fm_status set_sampling(making *self, fm_profile *profile, fm_error *error)
{
    const fm_samples *samples = self->samples;
    fm_status status = fm_sampling_create(&profile->sampling, samples->method, self->estimator->info.name,
                                          self->options.conversion, error);
    if (status != FM_OK) return status;
    fm_sampling *sampling = profile->sampling;
    sampling->bursts = samples->burst_count;
    for (size_t i = 0; i < samples->burst_count; i++) sampling->burst_uses += samples->bursts[i].uses;
    for (size_t i = 0; i < samples->watch_count; i++) {
        const fm_sample_watch_end end = samples->watches[i].end;
        if (samples->watches[i].since > 0) {
            sampling->again++;
            continue;
        }
        sampling->used += end == FM_WATCH_USED;
        sampling->replaced += end == FM_WATCH_REPLACED;
        sampling->never += end == FM_WATCH_NEVER;
        sampling->not_armed += end == FM_WATCH_NOT_ARMED;
    }
    return set_reach(self, sampling, error);
}

/* Units of the plan of the sampler: a watch of a burst's use is part of the burst. */
static uint64_t count_samples(const fm_samples *samples)
{
    uint64_t count = samples->burst_count;
    for (size_t i = 0; i < samples->watch_count; i++)
        count += samples->watches[i].burst == 0 && samples->watches[i].since == 0;
    return count;
}

static fm_status set_accuracy(making *self, fm_profile *profile, fm_error *error)
{
    const uint64_t count = count_samples(self->samples);
    char band[120] = "";
    if (self->options.bootstrap > 1)
        snprintf(band, sizeof band,
                 "; with probability %g %% the miss ratio at a size is within the band there",
                 self->options.confidence * 100);
    fm_status status =
        fm_accuracy_create(&profile->accuracy, error,
                           "estimated from %" PRIu64 " samples: measured up to time distances of %" PRIu64
                           " references (some %" PRIu64 " blocks), inferred beyond%s",
                           count, profile->sampling->measured_time, profile->sampling->measured, band);
    if (status != FM_OK) return status;
    profile->accuracy->samples = count;
    if (self->options.bootstrap > 1) status = sample_band(profile, &self->items, &self->options, error);
    return status;
}

static fm_status make_profile(making *self, fm_error *error)
{
    fm_status status = fm_profile_create(&self->estimate->profile, error);
    if (status != FM_OK) return status;
    fm_profile *profile = self->estimate->profile;
    char *engine = strdup("sample");
    if (!engine) return fm_fail_memory(error, sizeof "sample", "a profile");
    free(profile->engine);
    profile->engine = engine;
    profile->exact = false;
    profile->granularity = self->samples->granularity;
    profile->references = self->references;
    profile->bins = self->options.bins;
    status = count_shares(&profile->times, self->masses.bins, self->masses.bin_count, self->masses.never,
                          self->references, error);
    uint64_t total = 0;
    if (status == FM_OK) fm_histogram_total(&profile->times, &total);
    profile->cold = self->references - total;
    if (status == FM_OK) status = set_distances(self, profile, error);
    if (status == FM_OK) status = histogram_coarsen(&profile->times, profile->bins, error);
    profile->has_times = true;
    if (status == FM_OK) status = set_sampling(self, profile, error);
    if (status == FM_OK) status = set_accuracy(self, profile, error);
    if (status == FM_OK) status = sample_limit(profile, &self->options, error);
    if (status == FM_OK) status = fm_profile_made(profile, FM_LAWS_ANY, NULL, error);
    return status;
}

/* ---- all of it ---- */

static fm_status estimate_make(making *self, fm_error *error)
{
    fm_status status =
        fm_sample_items_create(&self->items, self->samples, self->estimator, &self->options, error);
    if (status == FM_OK)
        status =
            fm_sample_masses_create(&self->masses, &self->items, self->samples->watch_count, true, error);
    if (status != FM_OK) return status;
    if (!fm_sample_weigh(&self->items, NULL, &self->masses))
        return fm_fail(error, FM_E_ARGUMENT, NULL,
                       "too few samples to tell anything: %" PRIu64 " taken, no time distance seen",
                       count_samples(self->samples));
    self->estimate = fm_calloc(1, sizeof *self->estimate);
    if (!self->estimate) return fm_fail_memory(error, sizeof *self->estimate, "the estimate");
    fm_sample_distances(&self->items, &self->masses, self->shen);
    status = make_profile(self, error);
    if (status == FM_OK)
        status = fm_sample_pairs(self->estimate, self->samples, &self->items, &self->masses, &self->options,
                                 error);
    return status;
}

fm_status fm_estimate_create_sized(size_t given_size, fm_estimate **estimate, const fm_samples *samples,
                                   const fm_estimate_options *given, fm_error *error)
{
    *estimate = NULL;
    FM_REQUIRE(samples, error);
    making self = {.samples = samples};
    fm_status status =
        fm_sized_read(&self.options, sizeof self.options, given, given_size, "fm_estimate_options", error);
    if (status == FM_OK) status = check_choice(&self, error);
    if (status == FM_OK) status = check_edges(&self, error);
    if (status == FM_OK) status = check_samples(&self, error);
    if (status == FM_OK) status = estimate_make(&self, error);
    fm_sample_items_clear(&self.items);
    fm_sample_masses_clear(&self.masses);
    if (status != FM_OK) {
        fm_estimate_destroy(self.estimate);
        return status;
    }
    *estimate = self.estimate;
    return FM_OK;
}

void fm_estimate_destroy(fm_estimate *estimate)
{
    if (!estimate) return;
    fm_profile_destroy(estimate->profile);
    free(estimate->pairs);
    free(estimate->raw);
    free(estimate->groups);
    free(estimate->late_pairs);
    free(estimate);
}

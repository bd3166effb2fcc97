/* SPDX-License-Identifier: Apache-2.0 */
/* sample_estimate.c - from what samples counted to one histogram (sampled.h). */
#include "engine/sampled/sampled.h"

#include "base/error.h"
#include "base/memory.h"
#include "profile/profile_parts.h"

#include <fathom/engines.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* One sample's far references by bin, the first touches behind the last bin. */
typedef struct far_counts {
    size_t bins;  /* all of FM_BINS_LOGLINEAR */
    size_t first; /* the bin of exact_below */
    double *of;   /* for each sample, bins + 1 numbers */
} far_counts;

static double *counts_of(const far_counts *counts, unsigned sample)
{
    return counts->of + sample * (counts->bins + 1);
}

/* SHARDS-adj: what is missing goes to the smallest distances, where frequent blocks are; what is too much is
 * taken from there on. */
static void add_missing(const far_counts *counts, double *of, double missing)
{
    for (size_t i = counts->first; i <= counts->bins && missing != 0; i++) {
        of[i] += missing;
        missing = of[i] < 0 ? of[i] : 0;
        if (of[i] < 0) of[i] = 0;
    }
}

/* A sample's counts, corrected to the known sum. Beyond the exact distances frequent blocks play no part any
 * more, and what is missing is missing everywhere alike. */
static void correct_counts(const fm_sampled *sampled, const far_counts *counts, unsigned which)
{
    const fm_block_sample *sample = &sampled->samples[which];
    double *of = counts_of(counts, which), sum = 0;
    for (size_t i = counts->first; i < counts->bins; i++) sum += of[i] = sample->counts[i];
    if (!sampled->cold_known) sum += of[counts->bins] = sample->cold;
    const double far = (double)sampled->far;
    if (sampled->exact_below == 0 || sum == 0)
        add_missing(counts, of, far - sum);
    else
        for (size_t i = counts->first; i <= counts->bins; i++) of[i] *= far / sum;
}

/* ---- the histogram ---- */

/* Whole numbers with the right sum: each is what the running sum, rounded, has grown by. */
static fm_status add_mean(const fm_sampled *sampled, const far_counts *counts, fm_profile *profile,
                          fm_error *error)
{
    fm_histogram far = {0, fm_calloc(counts->bins, sizeof(fm_bin))}, sum;
    if (!far.bins) return fm_fail_memory(error, counts->bins * sizeof(fm_bin), "the histogram");
    double running = 0;
    uint64_t given = 0;
    for (size_t i = counts->first; i < counts->bins; i++) {
        for (unsigned k = 0; k < sampled->count; k++) running += counts_of(counts, k)[i] / sampled->count;
        uint64_t upto = running < (double)sampled->far ? (uint64_t)llround(running) : sampled->far;
        if (upto > sampled->far) upto = sampled->far;
        if (sampled->cold_known && i == counts->bins - 1) upto = sampled->far;
        if (upto == given) continue;
        uint64_t lo, hi;
        fm_bins_range(FM_BINS_LOGLINEAR, i, &lo, &hi);
        const uint64_t middle = lo + (hi - lo) / 2;
        fm_bins_range(profile->bins, fm_bins_index(profile->bins, middle), &lo, &hi);
        if (far.count > 0 && far.bins[far.count - 1].lo == lo)
            far.bins[far.count - 1].count += upto - given;
        else
            far.bins[far.count++] = (fm_bin){lo, hi, upto - given};
        given = upto;
    }
    if (!sampled->cold_known) profile->cold += sampled->far - given;
    fm_status status = fm_histogram_sum(&sum, &profile->distances, &far, profile->bins, 0, error);
    free(far.bins);
    if (status != FM_OK) return status;
    free(profile->distances.bins);
    profile->distances = sum;
    return FM_OK;
}

/* ---- the band ---- */

/* Student's t at 97.5 % for so many samples: with one degree of freedom less. */
static double student_t(unsigned samples)
{
    static const double from_two[FM_MOST_SAMPLES - 1] = {
        12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201,
        2.179,  2.160, 2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086, 2.080, 2.074,
        2.069,  2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042, 2.040};
    return samples >= 2 && samples <= FM_MOST_SAMPLES ? from_two[samples - 2] : INFINITY;
}

enum { BAND_PER_POWER = 4 }; /* sizes for each power of two */

/* Sizes at which the band is given: the first far size, then several for each power of two; all at edges of
 * bins. */
static bool is_band_size(const far_counts *counts, size_t bin, uint64_t lo)
{
    if (bin == counts->first) return true;
    if (lo < 8) return true;
    const uint64_t power = UINT64_C(1) << (63 - __builtin_clzll(lo));
    return (lo - power) % (power / BAND_PER_POWER) == 0;
}

/* Mean and half width at a size, of the samples' misses there. */
static void mean_and_half(const fm_sampled *sampled, const double *misses, double *mean, double *half)
{
    double spread = 0, middle = 0;
    for (unsigned k = 0; k < sampled->count; k++) middle += misses[k] / sampled->count;
    for (unsigned k = 0; k < sampled->count; k++) spread += (misses[k] - middle) * (misses[k] - middle);
    *mean = middle;
    const double of_samples =
        student_t(sampled->count) * sqrt(spread / (sampled->count - 1) / sampled->count);
    *half = hypot(of_samples, 1.96 * sampled->cold_error);
}

/* The same at the lower edge of every bin. */
typedef struct curve_edges {
    double *mean, *half;
} curve_edges;

static void find_edges(const fm_sampled *sampled, const far_counts *counts, const fm_profile *profile,
                       const curve_edges *edges)
{
    double misses[FM_MOST_SAMPLES] = {0};
    for (unsigned k = 0; k < sampled->count; k++)
        misses[k] = sampled->cold_known ? (double)profile->cold : counts_of(counts, k)[counts->bins];
    for (size_t i = counts->bins; i-- > counts->first;) {
        for (unsigned k = 0; k < sampled->count; k++) misses[k] += counts_of(counts, k)[i];
        mean_and_half(sampled, misses, &edges->mean[i], &edges->half[i]);
    }
}

/*
 * The samples' spread does not show what they have in common: every distance d has an error of
 * sqrt(d (1-R)/R), which flattens the curve. So the band reaches to where the curve is that far to either
 * side.
 */
static fm_band_point band_point(const fm_sampled *sampled, const far_counts *counts, const curve_edges *edges,
                                double rate, size_t bin, uint64_t blocks)
{
    const double error = sqrt((double)blocks * (1 - rate) / rate);
    const double before = fmax((double)blocks - error, (double)sampled->exact_below);
    size_t left = fm_bins_index(FM_BINS_LOGLINEAR, (uint64_t)before);
    size_t right =
        fm_bins_index(FM_BINS_LOGLINEAR, (uint64_t)fmin((double)blocks + error, 0x1p62)) + (error > 0);
    if (left < counts->first) left = counts->first;
    if (right >= counts->bins) right = counts->bins - 1;
    const double most = fmax(edges->mean[bin] + edges->half[bin], edges->mean[left]);
    const double least = fmin(edges->mean[bin] - edges->half[bin], edges->mean[right]);
    const double all = sampled->references ? (double)sampled->references : 1;
    return (fm_band_point){blocks, fmax(0, least / all), fmin(1, most / all)};
}

static size_t last_bin(const fm_sampled *sampled, const far_counts *counts)
{
    size_t last = counts->first;
    for (unsigned k = 0; k < sampled->count; k++)
        for (size_t i = counts->first; i + 1 < counts->bins; i++)
            if (counts_of(counts, k)[i] > 0 && i + 1 > last) last = i + 1;
    return last;
}

static fm_status add_band(const fm_sampled *sampled, const far_counts *counts, const fm_profile *profile,
                          double rate, fm_accuracy *accuracy, fm_error *error)
{
    const size_t last = last_bin(sampled, counts), most = last + 1 - counts->first;
    accuracy->band = fm_calloc(most, sizeof *accuracy->band);
    double *numbers = fm_calloc(2 * counts->bins, sizeof *numbers);
    if (!accuracy->band || !numbers) {
        free(numbers);
        return fm_fail_memory(error, most * sizeof *accuracy->band, "the confidence band");
    }
    const curve_edges edges = {.mean = numbers, .half = numbers + counts->bins};
    find_edges(sampled, counts, profile, &edges);
    accuracy->confidence = 0.95;
    for (size_t i = counts->first; i <= last; i++) {
        uint64_t lo, hi;
        fm_bins_range(FM_BINS_LOGLINEAR, i, &lo, &hi);
        if (i == last || is_band_size(counts, i, lo))
            accuracy->band[accuracy->band_count++] = band_point(sampled, counts, &edges, rate, i, lo);
    }
    free(numbers);
    return FM_OK;
}

/* ---- all together ---- */

static double widest_band(const fm_accuracy *accuracy)
{
    double half = 0;
    for (size_t i = 0; i < accuracy->band_count; i++)
        half = fmax(half, (accuracy->band[i].most - accuracy->band[i].least) / 2);
    return half;
}

static fm_status state_accuracy(const fm_sampled *sampled, const far_counts *counts, fm_profile *profile,
                                fm_error *error)
{
    uint64_t blocks = 0;
    double rate = 0;
    for (unsigned k = 0; k < sampled->count; k++) {
        blocks += sampled->samples[k].count;
        rate += fm_block_sample_rate(&sampled->samples[k]) / sampled->count;
    }
    fm_accuracy *made = NULL, band = {0};
    fm_status status = FM_OK;
    if (sampled->count > 1) status = add_band(sampled, counts, profile, rate, &band, error);
    char within[200] = "how far the curve is off is not known with a single sample";
    if (sampled->count > 1)
        snprintf(
            within, sizeof within,
            "the miss ratio at a size is within the band with 95 %% confidence (at most %.2g to either side)",
            widest_band(&band));
    char exact[80] = "";
    if (sampled->exact_below)
        snprintf(exact, sizeof exact, "; distances below %" PRIu64 " blocks are exact", sampled->exact_below);
    if (status == FM_OK)
        status = fm_accuracy_create(
            &made, error, "%u sample%s of %.3g %% of the blocks (%" PRIu64 " blocks in all)%s; %s",
            sampled->count, sampled->count > 1 ? "s" : "", rate * 100, blocks, exact, within);
    if (status != FM_OK) {
        free(band.band);
        return status;
    }
    made->exact_below = sampled->exact_below;
    made->rate = rate;
    made->samples = blocks;
    made->confidence = band.confidence;
    made->band = band.band;
    made->band_count = band.band_count;
    profile->accuracy = made;
    return FM_OK;
}

fm_status fm_sample_estimate(const fm_sampled *sampled, fm_profile *profile, fm_error *error)
{
    far_counts counts = {.bins = fm_bins_index(FM_BINS_LOGLINEAR, UINT64_MAX) + 1,
                         .first = fm_bins_index(FM_BINS_LOGLINEAR, sampled->exact_below)};
    counts.of = fm_calloc((counts.bins + 1) * sampled->count, sizeof *counts.of);
    if (!counts.of)
        return fm_fail_memory(error, (counts.bins + 1) * sampled->count * sizeof *counts.of, "the estimate");
    for (unsigned k = 0; k < sampled->count; k++) correct_counts(sampled, &counts, k);
    fm_status status = add_mean(sampled, &counts, profile, error);
    if (status == FM_OK) status = state_accuracy(sampled, &counts, profile, error);
    free(counts.of);
    return status;
}

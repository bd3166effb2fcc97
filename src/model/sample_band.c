/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sample_band.c - between which miss ratios the actual ones lie, by a block bootstrap.
 *
 * Observations that follow each other are alike, so whole stretches of the run are weighed at random, and the
 * estimate is made anew with these weights: exponential ones, so that no window of the run is ever without
 * observations (D. Rubin: The Bayesian bootstrap, Ann. Stat. 1981). The middle 95 % of the miss ratios at a
 * size are the band there. What was never met in any stretch gets no weight, and the model from time
 * distances to distances errs by itself: so the band is wider by a floor.
 */
#include "model/sample_internal.h"

#include "base/error.h"
#include "base/memory.h"

#include <fathom/model.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

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
            times[k] = -log(((double)(fm_sample_random(&random) >> 11) + 0.5) * 0x1p-53);
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
static void widen(fm_band_point *band, size_t count, double floor_width)
{
    for (size_t i = 0; i + 1 < count; i++)
        band[i].least = fmin(band[i].least, (band[i].least + band[i + 1].least) / 2);
    for (size_t i = count; i-- > 1;) band[i].most = fmax(band[i].most, (band[i].most + band[i - 1].most) / 2);
    for (size_t i = 0; i < count; i++) {
        band[i].least = fmax(0, band[i].least - floor_width);
        band[i].most = fmin(1, band[i].most + floor_width);
    }
}

fm_status fm_sample_band(fm_profile *profile, const fm_sample_items *items,
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
        widen(band, count, unseen + model_error);
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

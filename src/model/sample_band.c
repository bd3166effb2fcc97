/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sample_band.c - between which miss ratios the actual ones lie, by a block bootstrap.
 *
 * Observations that follow each other are alike, so whole stretches of the run are drawn, with replacement,
 * as many as there are, and the estimate is made anew of what was drawn. The middle 95 % of the miss ratios
 * at a size are the band there. What was never met in any stretch cannot be drawn, and the model from time
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
                          uint32_t *times, double *curve, double *ratios)
{
    uint64_t random = options->seed;
    size_t made = 0;
    /* A draw without any observation says nothing; where all are, there is nothing to say. */
    for (unsigned tried = 0; made < options->bootstrap && tried < 4 * options->bootstrap; tried++) {
        memset(times, 0, items->blocks * sizeof *times);
        for (uint32_t k = 0; k < items->blocks; k++) times[fm_sample_random_below(&random, items->blocks)]++;
        if (!fm_sample_weigh(items, times, scratch)) continue;
        fm_sample_miss_ratios(scratch, sizes, size_count, curve);
        for (size_t i = 0; i < size_count; i++) ratios[i * options->bootstrap + made] = curve[i];
        made++;
    }
    return made;
}

static void set_points(fm_profile *profile, const fm_estimate_options *options, double floor_width,
                       size_t made, double *ratios, fm_band_point *band, size_t count)
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
        band[i].least = fmax(0, fmin(least, here) - floor_width);
        band[i].most = fmin(1, fmax(most, here) + floor_width);
    }
}

fm_status fm_sample_band(fm_profile *profile, const fm_sample_items *items, const fm_sample_masses *masses,
                         const fm_estimate_options *options, fm_error *error)
{
    uint64_t sizes[MOST_SIZES];
    double curve[MOST_SIZES];
    const size_t count = choose_sizes(profile, sizes);
    fm_band_point *band = fm_calloc(count, sizeof *band);
    double *ratios = fm_calloc(count * options->bootstrap, sizeof *ratios);
    uint32_t *times = fm_calloc(items->blocks + 1, sizeof *times);
    fm_sample_masses scratch = {.bin_count = masses->bin_count,
                                .bins = fm_calloc(masses->bin_count, sizeof *masses->bins)};
    fm_status status = FM_OK;
    if (band && ratios && times && scratch.bins) {
        for (size_t i = 0; i < count; i++) band[i].blocks = sizes[i];
        const size_t made = draw_rounds(items, &scratch, options, sizes, count, times, curve, ratios);
        const double unseen = items->effective > 0 ? 3 / items->effective : 1;
        set_points(profile, options, unseen + model_error, made, ratios, band, count);
        profile->accuracy->band = band;
        profile->accuracy->band_count = count;
        profile->accuracy->confidence = options->confidence;
    } else {
        status = fm_fail_memory(error, count * options->bootstrap * sizeof *ratios, "the confidence band");
        free(band);
    }
    free(ratios);
    free(times);
    free(scratch.bins);
    return status;
}

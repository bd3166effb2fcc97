/* SPDX-License-Identifier: Apache-2.0 */
/* sample_limits.c - see sample_limits.h. */
#include "model/sample_limits.h"

#include "base/error.h"
#include "base/memory.h"
#include "profile/accuracy.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

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

fm_status fm_sample_limit(fm_profile *profile, const fm_estimate_options *options, fm_error *error)
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

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * eviction_time.c - the histogram of distances from that of time distances alone, by the model of the average
 * eviction time.
 *
 * X. Hu, X. Wang, L. Zhou, Y. Luo, C. Ding, Z. Wang: Kinetic modeling of data eviction in cache, USENIX ATC
 * 2016. If a share P(t) of the references has a time distance over t, a window of w references touches
 *     D(w) = P(0) + P(1) + … + P(w-1)
 * distinct blocks in the mean: its j-th reference is the first to its block in the window when its time
 * distance is j at least. A reference of time distance t closes a window of t-1 others, so its distance is
 * taken to be D(t-1). The sum is taken as the paper's integral of P, with straight lines between the ends of
 * bins: D is lower by (1 - P(w))/2 blocks for it, at most half a block.
 *
 * It is arithmetic on histograms, and in this room because both the engine `aet` and rooms downstream use it.
 */
#include <fathom/profile.h>

#include "base/error.h"
#include "base/memory.h"
#include "profile/histogram.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

/* The references with a time distance, in bins of distances; ascending, since D grows with time. */
static size_t eviction_convert(const fm_histogram *times, double all, fm_bins bins, fm_bin *found)
{
    double over = all;   /* references with a time distance of at least lo */
    double distinct = 0; /* D(lo - 1) */
    size_t count = 0;
    uint64_t next = 1; /* the first time not passed yet */
    for (size_t i = 0; i < times->count; i++) {
        const fm_bin *time = &times->bins[i];
        /* No time distance lies between: P stays as it is. */
        distinct += (double)(time->lo - next) * over / all;
        const double here = (double)time->count, wide = (double)(time->hi - time->lo) + 1;
        /* Within the bin, times are spread evenly: its middle is half way down. */
        const double middle = distinct + (wide - 1) / 2 * (over - here / 4) / all;
        const uint64_t distance = (uint64_t)llround(fmin(middle, 0x1p62));
        fm_bin bin = {.count = time->count};
        fm_bins_range(bins, fm_bins_index(bins, distance), &bin.lo, &bin.hi);
        if (count > 0 && found[count - 1].lo == bin.lo)
            found[count - 1].count += bin.count;
        else
            found[count++] = bin;
        distinct += wide * (over - here / 2) / all;
        over -= here;
        next = time->hi + 1;
    }
    return count;
}

/* Counts of a sample of `all` become counts of all references: each is what the running sum, rounded, has
 * grown by. Returns the sum. */
static uint64_t eviction_scale(fm_histogram *histogram, double all, uint64_t references)
{
    const double factor = all > 0 ? (double)references / all : 0;
    double running = 0;
    uint64_t given = 0;
    size_t kept = 0;
    for (size_t i = 0; i < histogram->count; i++) {
        running += (double)histogram->bins[i].count;
        const double scaled = running * factor;
        uint64_t upto = references;
        if (scaled < (double)references)
            upto = scaled < 0x1p53 ? (uint64_t)llround(scaled) : (uint64_t)scaled;
        histogram->bins[kept] = histogram->bins[i];
        histogram->bins[kept].count = upto - given;
        kept += upto > given;
        given = upto;
    }
    histogram->count = kept;
    return given;
}

static fm_status check_times(const fm_histogram *times, uint64_t endless, uint64_t *all, fm_error *error)
{
    uint64_t next = 1;
    for (size_t i = 0; i < times->count; i++) {
        const fm_bin *bin = &times->bins[i];
        if (bin->lo < next || bin->hi < bin->lo || next == 0)
            return fm_fail(error, FM_E_ARGUMENT, NULL,
                           "expected ascending ranges of time distances from 1 on, found %" PRIu64
                           " to %" PRIu64,
                           bin->lo, bin->hi);
        next = bin->hi + 1; /* 0: nothing can follow */
    }
    if (!fm_histogram_total(times, all) || __builtin_add_overflow(*all, endless, all))
        return fm_fail(error, FM_E_ARGUMENT, NULL, "the counts of time distances exceed 64 bits together");
    return FM_OK;
}

fm_status fm_profile_from_times(fm_profile *profile, const fm_histogram *times, uint64_t endless,
                                uint64_t references, fm_error *error)
{
    FM_REQUIRE(profile, error);
    uint64_t all = 0;
    fm_status status = check_times(times, endless, &all, error);
    if (status != FM_OK) return status;
    fm_bin *bins = fm_calloc(times->count + 1, sizeof *bins);
    if (!bins) return fm_fail_memory(error, (times->count + 1) * sizeof *bins, "the histogram");
    fm_histogram found = {eviction_convert(times, (double)all, profile->bins, bins), bins};
    profile->references = references;
    profile->cold = profile->distinct = references - eviction_scale(&found, (double)all, references);
    profile->bound = profile->beyond = 0;
    profile->cold_known = true;
    profile->exact = false;
    free(profile->distances.bins);
    profile->distances = found;
    return FM_OK;
}

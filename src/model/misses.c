/* SPDX-License-Identifier: Apache-2.0 */
/*
 * misses.c - misses of a fully associative LRU cache: one size, or all of them as a curve.
 *
 * A cache of C blocks hits exactly the references of distance < C (Mattson et al. 1970). The profile
 * knows distances up to its bins, so the curve is exact at every bin's edge; between two edges of a
 * bin that covers several distances it is drawn as a straight line. Linear in the number of bins.
 */
#include <fathom/model.h>

#include "base/error.h"
#include "base/memory.h"
#include "model/bin_range.h"

#include <stdlib.h>

fm_misses fm_profile_misses(const fm_profile *profile, uint64_t blocks)
{
    fm_misses misses = {.known = true};
    if (profile->bound && blocks > profile->bound) {
        /* Only what lies beyond the bound is unknown: when nothing does, the answer is complete. */
        misses.known = profile->beyond == 0;
        blocks = profile->bound;
    }
    uint64_t hits = 0, uncertain = 0;
    double expected_hits = 0;
    for (size_t i = 0; i < profile->distances.count; i++) {
        const fm_bin *bin = &profile->distances.bins[i];
        uint64_t last = fm_bin_last(bin, profile->bound);
        if (bin->lo >= blocks) break;
        if (last < blocks) {
            hits += bin->count;
        } else {
            uncertain = bin->count; /* at most one bin holds the size */
            double width = (double)(last - bin->lo) + 1;
            expected_hits = (double)bin->count * ((double)(blocks - bin->lo) / width);
        }
    }
    misses.most = profile->references - hits;
    misses.least = misses.most - uncertain;
    misses.expected = (double)misses.most - expected_hits;
    return misses;
}

double fm_profile_miss_ratio(const fm_profile *profile, uint64_t blocks)
{
    if (profile->references == 0) return 0;
    return fm_profile_misses(profile, blocks).expected / (double)profile->references;
}

static void append(fm_curve *curve, uint64_t blocks, uint64_t misses, uint64_t references)
{
    fm_curve_point point = {.blocks = blocks, .misses = (double)misses};
    point.ratio = references ? (double)misses / (double)references : 0;
    if (curve->count && curve->points[curve->count - 1].blocks == blocks) curve->count--;
    curve->points[curve->count++] = point;
}

fm_status fm_curve_create(fm_curve *curve, const fm_profile *profile, fm_error *error)
{
    FM_REQUIRE(profile, error);
    *curve = (fm_curve){0, NULL};
    size_t bins = profile->distances.count;
    if (bins > (SIZE_MAX - 1) / 2) return fm_fail_memory(error, UINT64_MAX, "the miss-ratio curve");
    size_t most = 2 * bins + 1; /* both edges of each bin, and size 0 */
    curve->points = fm_calloc(most, sizeof *curve->points);
    if (!curve->points)
        return fm_fail_memory(error, (uint64_t)most * sizeof *curve->points, "the miss-ratio curve");
    uint64_t misses = profile->references;
    append(curve, 0, misses, profile->references);
    for (size_t i = 0; i < bins; i++) {
        const fm_bin *bin = &profile->distances.bins[i];
        uint64_t last = fm_bin_last(bin, profile->bound);
        append(curve, bin->lo, misses, profile->references); /* flat up to here */
        misses -= bin->count;
        /* The size 2^64 does not exist: a bin that ends at 2^64−1 has no upper edge. */
        if (last != UINT64_MAX) append(curve, last + 1, misses, profile->references);
    }
    return FM_OK;
}

void fm_curve_clear(fm_curve *curve)
{
    free(curve->points);
    *curve = (fm_curve){0, NULL};
}

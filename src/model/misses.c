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
#include "model/model_internal.h"

#include <stdlib.h>
#include <string.h>

/* The last distance that a bin truly covers: under a bound nothing from the bound on is in the histogram,
 * whatever the bin's own end says. */
static uint64_t bin_last(const fm_bin *bin, uint64_t bound)
{
    return bound && bin->hi >= bound && bin->lo < bound ? bound - 1 : bin->hi;
}

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
        uint64_t last = bin_last(bin, profile->bound);
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

static void curve_append(fm_curve *curve, uint64_t blocks, uint64_t misses, uint64_t references)
{
    fm_curve_point point = {.blocks = blocks, .misses = (double)misses};
    point.ratio = references ? (double)misses / (double)references : 0;
    if (curve->count && curve->points[curve->count - 1].blocks == blocks) curve->count--;
    FM_ASSERT(curve->count == 0 || (curve->points[curve->count - 1].blocks < blocks &&
                                    curve->points[curve->count - 1].misses >= point.misses));
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
    curve_append(curve, 0, misses, profile->references);
    for (size_t i = 0; i < bins; i++) {
        const fm_bin *bin = &profile->distances.bins[i];
        uint64_t last = bin_last(bin, profile->bound);
        curve_append(curve, bin->lo, misses, profile->references); /* flat up to here */
        misses -= bin->count;
        /* The size 2^64 does not exist: a bin that ends at 2^64−1 has no upper edge. */
        if (last != UINT64_MAX) curve_append(curve, last + 1, misses, profile->references);
    }
    return FM_OK;
}

void fm_curve_clear(fm_curve *curve)
{
    free(curve->points);
    *curve = (fm_curve){0, NULL};
}

/*
 * ======== associative ========
 * An estimate for set-associative caches out of the same profile.
 *
 * Smith 1978; Hill & Smith, "Evaluating associativity in CPU caches", 1989, section on the binomial
 * model: blocks fall into the S sets independently and evenly. A reference of distance d finds that X
 * of the d other blocks fell into its set, X binomial with d trials and p = 1/S, and hits a cache of
 * A ways when X < A. It is an estimate: real indices are not random, and regular strides do better or
 * much worse. It does not simulate anything.
 *
 * A bin [lo, hi] needs the mean of P(X_d < A) over its distances. By Wald's identity, with T the
 * trial of the A-th success and X_n the successes among n trials,
 *     sum over d < n of P(X_d < A)  =  E[min(T, n)]  =  E[min(X_n, A)] / p,
 * so a bin of any width costs two evaluations, not one per distance. Narrow bins are summed as they
 * are, which is more accurate there.
 */

/* Distances up to this many are added one by one. */
enum { NARROW = 16 };

static double mean_hit_probability(uint64_t lo, uint64_t hi, double ways, double p)
{
    double width = (double)(hi - lo) + 1;
    if (hi - lo < NARROW) {
        double sum = 0;
        for (uint64_t i = 0; i <= hi - lo; i++) sum += fm_binomial_below((double)(lo + i), ways, p);
        return sum / width;
    }
    double after = fm_binomial_capped_mean((double)hi + 1, ways, p);
    double before = fm_binomial_capped_mean((double)lo, ways, p);
    double mean = (after - before) / (p * width);
    return mean < 0 ? 0 : mean > 1 ? 1 : mean;
}

double fm_profile_misses_associative(const fm_profile *profile, uint64_t sets, uint64_t ways)
{
    if (sets == 0 || ways == 0) return (double)profile->references;
    if (sets == 1) return fm_profile_misses(profile, ways).expected;
    double p = 1 / (double)sets;
    double hits = 0;
    for (size_t i = 0; i < profile->distances.count; i++) {
        const fm_bin *bin = &profile->distances.bins[i];
        double part = mean_hit_probability(bin->lo, bin_last(bin, profile->bound), (double)ways, p);
        hits += part * (double)bin->count;
        /* Beyond the point where nothing hits any more, nothing will: the probability only falls. */
        if (part < 1e-18) break;
    }
    return (double)profile->references - hits;
}

/*
 * ======== band ========
 * Between which miss ratios the actual one lies at a size, where a profile has a confidence band.
 */

bool fm_profile_band(const fm_profile *profile, uint64_t blocks, double *least, double *most)
{
    const fm_accuracy *accuracy = profile->accuracy;
    if (!accuracy || accuracy->band_count == 0) return false;
    const fm_band_point *band = accuracy->band;
    if (blocks < band[0].blocks) {
        /* Below the band, what there is is exact. */
        *least = *most = fm_profile_miss_ratio(profile, blocks);
        return blocks <= accuracy->exact_below;
    }
    size_t at = 0;
    while (at + 1 < accuracy->band_count && band[at + 1].blocks <= blocks) at++;
    /* The curve falls: between two sizes it lies between the upper end of one and the lower end of the other.
     */
    const bool between = at + 1 < accuracy->band_count && band[at].blocks < blocks;
    *most = band[at].most;
    *least = band[at + between].least;
    return true;
}

/*
 * ======== cache edges ========
 * Where the distances of pairs of sites are cut: 0, the powers of two up to 2^40 blocks, and
 * the sizes that are asked about, so that misses at those are exact.
 */

enum { LARGEST_POWER = 40 };

/* Puts an edge in its place among `count` others; returns how many there are now. The list is short: moving
 * what is behind it costs nothing. Where there is no room, the largest one is left out. */
static size_t edges_insert(uint64_t *edges, size_t count, size_t capacity, uint64_t edge)
{
    size_t at = 0;
    while (at < count && edges[at] < edge) at++;
    if (at == capacity || (at < count && edges[at] == edge)) return count;
    size_t kept = count < capacity ? count : capacity - 1;
    memmove(&edges[at + 1], &edges[at], (kept - at) * sizeof *edges);
    edges[at] = edge;
    return kept + 1;
}

size_t fm_cache_edges(const fm_cache *caches, size_t count, uint64_t granularity, uint64_t *edges,
                      size_t capacity)
{
    size_t made = edges_insert(edges, 0, capacity, 0);
    for (unsigned power = 0; power <= LARGEST_POWER; power++)
        made = edges_insert(edges, made, capacity, UINT64_C(1) << power);
    for (size_t i = 0; i < count; i++)
        made = edges_insert(edges, made, capacity, caches[i].bytes / (granularity ? granularity : 1));
    return made;
}

/*
 * ======== smallest cache ========
 * The miss-ratio curve asked the other way round. Misses never rise with the size, so that
 * halving finds it: 64 steps.
 */

/* The smallest size with at most so many misses, counted at their worst (or at their best). */
static uint64_t smallest_size(const fm_profile *profile, uint64_t largest, double allowed, bool worst)
{
    uint64_t low = 0, high = largest;
    while (low < high) {
        const uint64_t middle = low + (high - low) / 2;
        const fm_misses misses = fm_profile_misses(profile, middle);
        if ((double)(worst ? misses.most : misses.least) <= allowed)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

bool fm_profile_smallest_cache(const fm_profile *profile, double hit_ratio, uint64_t *least, uint64_t *blocks,
                               double *most)
{
    const double references = (double)profile->references;
    /* As many hits as the ratio asks for, rounded as the product is: 0.9 of 1000 are 900, not 900.0000001. */
    const double allowed = references - hit_ratio * references + references * 1e-12;
    const uint64_t largest = profile->bound ? profile->bound : UINT64_MAX;
    const fm_misses fewest = fm_profile_misses(profile, largest);
    *least = *blocks = 0;
    *most = references > 0 ? 1 - (double)fewest.most / references : 0;
    if (!(references > 0) || (double)fewest.most > allowed) return false;
    *blocks = smallest_size(profile, largest, allowed, true);
    *least = smallest_size(profile, *blocks, allowed, false);
    return true;
}

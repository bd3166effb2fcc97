/* SPDX-License-Identifier: Apache-2.0 */
/*
 * compare.c - how alike two profiles are. docs/METRICS.md defines each number.
 *
 *   overlap              Ding & Zhong 2003, section 3.2: 1 − E/2
 *   similarity, Ŝ        RDX (Wang et al. 2019), section V.A, equations 1 and 2
 *   average_error        HP-RDA (Cui et al. 2012), section on accuracy
 *   curve_…              differences of the two miss-ratio curves
 *
 * Both profiles are first brought to a common form: the coarser of the two resolutions, and cut at
 * the smaller of the two bounds. A bin that the bound cuts in two is spread evenly.
 */
#include <fathom/model.h>

#include "base/error.h"
#include "base/memory.h"
#include "profile/profile_parts.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

enum { LOG2_BINS = 65, SIZES_PER_DOUBLING = 16 };

/* One profile in the common form, as shares of all its references. */
typedef struct shares {
    fm_histogram histogram; /* owned; for the ranges */
    double *share;          /* one per bin; owned */
    double cold, beyond;
    double log2[LOG2_BINS];
} shares;

static void shares_clear(shares *made)
{
    free(made->histogram.bins);
    free(made->share);
    made->histogram.bins = NULL;
    made->share = NULL;
}

static fm_status shares_create(shares *made, const fm_profile *profile, fm_bins bins, uint64_t bound,
                               fm_error *error)
{
    *made = (shares){0};
    fm_status status =
        fm_histogram_sum(&made->histogram, &profile->distances, NULL, bins, profile->bound, error);
    if (status) return status;
    fm_histogram *histogram = &made->histogram;
    made->share = fm_calloc(histogram->count, sizeof *made->share);
    if (!made->share) {
        fm_fail_memory(error, (uint64_t)histogram->count * sizeof *made->share, "a comparison");
        shares_clear(made);
        return FM_E_NOMEM;
    }
    double references = (double)profile->references;
    made->cold = (double)profile->cold / references;
    made->beyond = (double)profile->beyond / references;
    size_t kept = 0;
    for (size_t i = 0; i < histogram->count; i++) {
        fm_bin *bin = &histogram->bins[i];
        double share = (double)bin->count / references;
        if (bound && bin->lo >= bound) {
            made->beyond += share;
            continue;
        }
        if (bound && bin->hi >= bound) {
            double inside = ((double)(bound - bin->lo)) / ((double)(bin->hi - bin->lo) + 1);
            made->beyond += share * (1 - inside);
            share *= inside;
            bin->hi = bound - 1;
        }
        made->share[kept++] = share;
        made->log2[fm_bins_index(FM_BINS_LOG2, bin->lo)] += share;
    }
    histogram->count = kept; /* they ascend: only the last ones are beyond */
    return FM_OK;
}

/* Sum of |difference| over the power-of-two bins. */
static double log2_difference(const shares *a, const shares *b)
{
    double sum = fabs(a->cold - b->cold) + fabs(a->beyond - b->beyond);
    for (size_t k = 0; k < LOG2_BINS; k++) sum += fabs(a->log2[k] - b->log2[k]);
    return sum;
}

/* Sum of |difference| over the common bins. */
static double total_difference(const shares *a, const shares *b)
{
    double sum = fabs(a->cold - b->cold) + fabs(a->beyond - b->beyond);
    size_t i = 0, j = 0;
    while (i < a->histogram.count || j < b->histogram.count) {
        uint64_t next_a = i < a->histogram.count ? a->histogram.bins[i].lo : UINT64_MAX;
        uint64_t next_b = j < b->histogram.count ? b->histogram.bins[j].lo : UINT64_MAX;
        double share_a = i < a->histogram.count && next_a <= next_b ? a->share[i++] : 0;
        double share_b = j < b->histogram.count && next_b <= next_a ? b->share[j++] : 0;
        sum += fabs(share_a - share_b);
    }
    return sum;
}

/* RDX speaks of reuses: bins of two to the power, beyond as the one after them, as shares of what is
 * not cold. Returns how many bins. */
static size_t reuse_bars(double *bars, const shares *from, uint64_t bound)
{
    size_t count = bound ? fm_bins_index(FM_BINS_LOG2, bound - 1) + 1 : LOG2_BINS;
    double reuses = from->beyond;
    for (size_t i = 0; i < count; i++) reuses += from->log2[i];
    double scale = reuses > 0 ? 1 / reuses : 0;
    for (size_t i = 0; i < count; i++) bars[i] = from->log2[i] * scale;
    if (bound) bars[count++] = from->beyond * scale;
    return count;
}

static double clamp_to_unit(double value)
{
    return value < 0 ? 0 : value > 1 ? 1 : value;
}

static void compare_reuses(fm_comparison *result, const shares *a, const shares *b, uint64_t bound)
{
    double bars_a[LOG2_BINS + 1], bars_b[LOG2_BINS + 1];
    size_t count = reuse_bars(bars_a, a, bound);
    reuse_bars(bars_b, b, bound);
    double mass_a = 0, mass_b = 0, strict = 0, smoothed = 0;
    for (size_t i = 0; i < count; i++) {
        mass_a += bars_a[i];
        mass_b += bars_b[i];
        strict += fabs(bars_a[i] - bars_b[i]);
        if (i + 1 < count)
            smoothed += fabs((bars_a[i] + bars_a[i + 1]) / 2 - (bars_b[i] + bars_b[i + 1]) / 2);
    }
    bool reused_a = mass_a > 0, reused_b = mass_b > 0;
    if (reused_a != reused_b) { /* one never reuses anything: nothing in common */
        result->similarity = result->similarity_smoothed = 0;
        return;
    }
    result->similarity = clamp_to_unit(1 - strict / 2);
    result->similarity_smoothed = clamp_to_unit(1 - smoothed / 2);
}

static double average_error(const shares *a, const shares *b, uint64_t bound)
{
    double sum = fabs(a->cold - b->cold);
    size_t bars = 1;
    if (bound) {
        sum += fabs(a->beyond - b->beyond);
        bars++;
    }
    size_t highest = 0;
    for (size_t i = 0; i < LOG2_BINS; i++) {
        sum += fabs(a->log2[i] - b->log2[i]);
        if (a->log2[i] > 0 || b->log2[i] > 0) highest = i;
    }
    bars += highest + 1;
    return sum / (double)bars;
}

/* ---- curves ---- */

/* A curve read from left to right: sizes must be asked for in ascending order. */
typedef struct curve_reader {
    const shares *from;
    size_t next;   /* first bin that does not wholly hit yet */
    double passed; /* share of the bins before it */
} curve_reader;

static double curve_at(curve_reader *reader, uint64_t blocks)
{
    const fm_histogram *histogram = &reader->from->histogram;
    while (reader->next < histogram->count && histogram->bins[reader->next].hi < blocks)
        reader->passed += reader->from->share[reader->next++];
    double hits = reader->passed;
    if (reader->next < histogram->count && histogram->bins[reader->next].lo < blocks) {
        const fm_bin *bin = &histogram->bins[reader->next];
        double width = (double)(bin->hi - bin->lo) + 1;
        hits += reader->from->share[reader->next] * ((double)(blocks - bin->lo) / width);
    }
    return 1 - hits;
}

/* Both curves are straight between edges, so their largest difference is at an edge of either. */
static void compare_edges(fm_comparison *result, const shares *a, const shares *b)
{
    curve_reader read_a = {.from = a}, read_b = {.from = b};
    const fm_histogram *of_a = &a->histogram, *of_b = &b->histogram;
    size_t i = 0, j = 0; /* edge numbers: 2 per bin, lower then upper */
    uint64_t last = 0;
    while (i < 2 * of_a->count || j < 2 * of_b->count) {
        uint64_t edge_a = UINT64_MAX, edge_b = UINT64_MAX;
        if (i < 2 * of_a->count) edge_a = i % 2 ? of_a->bins[i / 2].hi : of_a->bins[i / 2].lo;
        if (j < 2 * of_b->count) edge_b = j % 2 ? of_b->bins[j / 2].hi : of_b->bins[j / 2].lo;
        if (i % 2 && edge_a != UINT64_MAX) edge_a++;
        if (j % 2 && edge_b != UINT64_MAX) edge_b++;
        uint64_t size = edge_a < edge_b ? edge_a : edge_b;
        if (i < 2 * of_a->count && edge_a == size) i++;
        if (j < 2 * of_b->count && edge_b == size) j++;
        if (size < last) continue;
        last = size;
        double difference = fabs(curve_at(&read_a, size) - curve_at(&read_b, size));
        if (difference > result->curve_largest) {
            result->curve_largest = difference;
            result->curve_largest_at = size;
        }
    }
}

static double mean_difference(const shares *a, const shares *b, uint64_t largest)
{
    curve_reader read_a = {.from = a}, read_b = {.from = b};
    double sum = 0;
    size_t count = 0;
    for (int step = 0;; step++, count++) {
        double exact = exp2((double)step / SIZES_PER_DOUBLING);
        bool last = exact >= (double)largest;
        uint64_t size = last ? largest : (uint64_t)exact;
        sum += fabs(curve_at(&read_a, size) - curve_at(&read_b, size));
        if (last) return sum / (double)(count + 1);
    }
}

static fm_status comparison_fill(const fm_profile *a, const fm_profile *b, fm_comparison *result,
                                 fm_error *error)
{
    if (a->granularity != b->granularity)
        return fm_fail(error, FM_E_ARGUMENT, NULL,
                       "cannot compare profiles of different granularities, %" PRIu64 " and %" PRIu64
                       " bytes: their distances count different things",
                       a->granularity, b->granularity);
    if (a->elements != b->elements)
        return fm_fail(
            error, FM_E_ARGUMENT, NULL,
            "cannot compare a profile of elements and one of blocks: their distances count different "
            "things");
    if (a->references == 0 || b->references == 0)
        return fm_fail(error, FM_E_ARGUMENT, NULL, "cannot compare: the %s profile has no references",
                       a->references == 0 ? "first" : "second");
    fm_bins bins = fm_bins_coarser(a->bins, b->bins);
    uint64_t bound = a->bound && b->bound ? (a->bound < b->bound ? a->bound : b->bound)
                     : a->bound           ? a->bound
                                          : b->bound;
    shares of_a, of_b;
    fm_status status = shares_create(&of_a, a, bins, bound, error);
    if (status) return status;
    status = shares_create(&of_b, b, bins, bound, error);
    if (status) {
        shares_clear(&of_a);
        return status;
    }
    uint64_t footprint = a->distinct > b->distinct ? a->distinct : b->distinct;
    if (bound && footprint > bound) footprint = bound;
    result->overlap = clamp_to_unit(1 - total_difference(&of_a, &of_b) / 2);
    result->overlap_log2 = clamp_to_unit(1 - log2_difference(&of_a, &of_b) / 2);
    compare_reuses(result, &of_a, &of_b, bound);
    result->average_error = average_error(&of_a, &of_b, bound);
    compare_edges(result, &of_a, &of_b);
    result->curve_mean = mean_difference(&of_a, &of_b, footprint ? footprint : 1);
    shares_clear(&of_a);
    shares_clear(&of_b);
    return FM_OK;
}

fm_status fm_profile_compare_sized(size_t result_size, const fm_profile *a, const fm_profile *b,
                                   fm_comparison *result, fm_error *error)
{
    FM_REQUIRE(a, error);
    FM_REQUIRE(b, error);
    fm_comparison found = {.a_exact = a->exact, .b_exact = b->exact};
    fm_status status = comparison_fill(a, b, &found, error);
    fm_sized_copy(result, result_size, &found, sizeof found);
    return status;
}

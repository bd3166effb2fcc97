/* SPDX-License-Identifier: Apache-2.0 */
/* histogram.c - bins, histograms, counts by range, and distances from times. */
#include "profile/profile_parts.h"

#include "base/error.h"
#include "base/memory.h"

#include <fathom/profile.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ======== bins ======== */

/*
 * Which bin a distance falls into, and which distances a bin covers.
 *
 * Every resolution numbers its bins from 0 on without gaps, so that a bin's number can index an
 * array. The two functions are inverse to each other over all 64-bit distances. It does not hold any
 * counts: the histogram does that.
 *
 * loglinear: distance d is bin d below 1024. Above, each power of two [2^e, 2^(e+1)) is cut into 64
 * bins of 2^(e−6) distances: a bin's width is at most 1/64 of its lower edge.
 */

enum {
    EXACT_BITS = 10, /* loglinear: exact below 2^10 … */
    SUBBIN_BITS = 6, /* … then 2^6 bins per power of two */
    EXACT_BINS = 1 << EXACT_BITS,
    SUBBINS = 1 << SUBBIN_BITS,
    LOGLINEAR_BINS = EXACT_BINS + (64 - EXACT_BITS) * SUBBINS,
    LOG2_BINS = 65,
};

size_t fm_bins_index(fm_bins bins, uint64_t distance)
{
    switch (bins) {
    case FM_BINS_LOGLINEAR: {
        if (distance < EXACT_BINS) return (size_t)distance;
        unsigned exponent = 63u - (unsigned)__builtin_clzll(distance);
        size_t subbin = (size_t)(distance >> (exponent - SUBBIN_BITS)) - SUBBINS;
        return EXACT_BINS + (size_t)(exponent - EXACT_BITS) * SUBBINS + subbin;
    }
    case FM_BINS_LOG2:
        return distance ? 64u - (size_t)__builtin_clzll(distance) : 0;
    case FM_BINS_EXACT:
        break;
    }
    return (size_t)distance;
}

void fm_bins_range(fm_bins bins, size_t index, uint64_t *lo, uint64_t *hi)
{
    switch (bins) {
    case FM_BINS_LOGLINEAR:
        if (index < EXACT_BINS) break;
        if (index >= LOGLINEAR_BINS) index = LOGLINEAR_BINS - 1;
        index -= EXACT_BINS;
        unsigned shift = (unsigned)(index / SUBBINS) + EXACT_BITS - SUBBIN_BITS;
        *lo = (uint64_t)(SUBBINS + index % SUBBINS) << shift;
        *hi = *lo + ((UINT64_C(1) << shift) - 1);
        return;
    case FM_BINS_LOG2:
        if (index < 2) break;
        if (index >= LOG2_BINS) index = LOG2_BINS - 1;
        *lo = UINT64_C(1) << (index - 1);
        *hi = *lo + (*lo - 1);
        return;
    case FM_BINS_EXACT:
        break;
    }
    *lo = *hi = index;
}

const char *fm_bins_name(fm_bins bins)
{
    switch (bins) {
    case FM_BINS_LOGLINEAR:
        return "loglinear";
    case FM_BINS_LOG2:
        return "log2";
    case FM_BINS_EXACT:
        return "exact";
    }
    return "unknown";
}

bool fm_bins_from_name(const char *name, fm_bins *bins)
{
    static const fm_bins all[] = {FM_BINS_LOGLINEAR, FM_BINS_LOG2, FM_BINS_EXACT};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (strcmp(name, fm_bins_name(all[i])) == 0) {
            *bins = all[i];
            return true;
        }
    return false;
}

/* ======== histograms ======== */

/* Linear in the number of bins. */

bool fm_histogram_total(const fm_histogram *histogram, uint64_t *total)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < histogram->count; i++)
        if (__builtin_add_overflow(sum, histogram->bins[i].count, &sum)) return false;
    *total = sum;
    return true;
}

static int histogram_coarseness(fm_bins bins)
{
    return bins == FM_BINS_EXACT ? 0 : bins == FM_BINS_LOGLINEAR ? 1 : 2;
}

fm_bins fm_bins_coarser(fm_bins a, fm_bins b)
{
    return histogram_coarseness(a) >= histogram_coarseness(b) ? a : b;
}

fm_status fm_histogram_sum(fm_histogram *sum, const fm_histogram *a, const fm_histogram *b, fm_bins bins,
                           uint64_t bound, fm_error *error)
{
    static const fm_histogram nothing = {0, NULL};
    if (!b) b = &nothing;
    sum->count = 0;
    sum->bins = NULL;
    size_t most;
    if (__builtin_add_overflow(a->count, b->count, &most))
        return fm_fail_memory(error, UINT64_MAX, "a histogram");
    if (most == 0) return FM_OK;
    fm_bin *made = fm_calloc(most, sizeof *made);
    if (!made) return fm_fail_memory(error, (uint64_t)most * sizeof *made, "a histogram");

    size_t count = 0;
    for (size_t i = 0, j = 0; i < a->count || j < b->count;) {
        bool take_a = j == b->count || (i < a->count && a->bins[i].lo <= b->bins[j].lo);
        const fm_bin *next = take_a ? &a->bins[i++] : &b->bins[j++];
        uint64_t lo, hi;
        fm_bins_range(bins, fm_bins_index(bins, next->lo), &lo, &hi);
        if (bound && hi >= bound) hi = bound - 1;
        if (count && made[count - 1].lo == lo) {
            if (__builtin_add_overflow(made[count - 1].count, next->count, &made[count - 1].count)) {
                free(made);
                return fm_fail(error, FM_E_ARGUMENT, NULL,
                               "the count of the distances %" PRIu64 " to %" PRIu64 " would exceed 64 bits",
                               lo, hi);
            }
        } else {
            made[count] = (fm_bin){.lo = lo, .hi = hi, .count = next->count};
            count++;
        }
    }
    sum->count = count;
    sum->bins = made;
    return FM_OK;
}

/* ======== counts by range ======== */

/*
 * O(n log n) in the number of counts; linear where they come in order,
 * as those of an analyzer do when sites were numbered like tags.
 */

fm_status fm_range_counts_add(fm_range_counts *counts, fm_range_count item, fm_error *error)
{
    if (item.count == 0) return FM_OK;
    if (counts->count == counts->capacity) {
        void *grown = counts->items;
        if (fm_array_reserve(&grown, &counts->capacity, counts->count + 1, sizeof item))
            return fm_fail_memory(error, (uint64_t)(counts->count + 1) * sizeof item, "pairs of sites");
        counts->items = grown;
    }
    counts->items[counts->count++] = item;
    return FM_OK;
}

/* The range that begins at a distance; edge_count: none. */
static size_t range_from(const fm_attribution *edges, uint64_t distance)
{
    size_t low = 0, high = edges->edge_count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (edges->edges[middle] < distance)
            low = middle + 1;
        else
            high = middle;
    }
    return low < edges->edge_count && edges->edges[low] == distance ? low : edges->edge_count;
}

fm_status fm_range_counts_add_bins(fm_range_counts *counts, const fm_attribution *edges, uint32_t major,
                                   uint32_t minor, uint64_t cold, uint64_t beyond, const fm_bin *bins,
                                   size_t bin_count, fm_error *error)
{
    fm_range_count item = {major, minor, FM_RANGE_COLD, cold};
    fm_status status = fm_range_counts_add(counts, item, error);
    item.range = FM_RANGE_BEYOND;
    item.count = beyond;
    if (!status) status = fm_range_counts_add(counts, item, error);
    for (size_t i = 0; i < bin_count && !status; i++) {
        item.range = (uint32_t)range_from(edges, bins[i].lo);
        item.count = bins[i].count;
        if (item.range == edges->edge_count)
            return fm_fail(error, FM_E_ARGUMENT, NULL,
                           "a range of distances begins at %" PRIu64 ", which is no edge", bins[i].lo);
        status = fm_range_counts_add(counts, item, error);
    }
    return status;
}

void fm_range_counts_clear(fm_range_counts *counts)
{
    free(counts->items);
    *counts = (fm_range_counts){0};
}

/* ---- joining ---- */

static int by_place(const void *a, const void *b)
{
    const fm_range_count *x = a, *y = b;
    if (x->major != y->major) return x->major < y->major ? -1 : 1;
    if (x->minor != y->minor) return x->minor < y->minor ? -1 : 1;
    return x->range < y->range ? -1 : x->range > y->range;
}

static fm_status too_many(fm_error *error)
{
    return fm_fail(error, FM_E_ARGUMENT, NULL, "the count of a pair of sites would exceed 64 bits");
}

/* Sorts, and adds up what has the same place. */
static fm_status counts_join(fm_range_counts *counts, fm_error *error)
{
    fm_range_count *items = counts->items;
    bool sorted = true;
    for (size_t i = 1; i < counts->count && sorted; i++) sorted = by_place(&items[i - 1], &items[i]) <= 0;
    if (!sorted) qsort(items, counts->count, sizeof *items, by_place);
    size_t kept = 0;
    for (size_t i = 0; i < counts->count; i++) {
        if (kept == 0 || by_place(&items[kept - 1], &items[i]) != 0)
            items[kept++] = items[i];
        else if (__builtin_add_overflow(items[kept - 1].count, items[i].count, &items[kept - 1].count))
            return too_many(error);
    }
    counts->count = kept;
    return FM_OK;
}

/* What a pair and an object use have in common. */
typedef struct group {
    uint32_t major, minor;
    uint64_t count, cold, beyond;
    size_t bin_count;
    const fm_bin *bins;
} group;

/* All groups, and all their bins one after the other, in the arena. */
static fm_status make_groups(const fm_range_counts *counts, fm_attribution *attribution, size_t *group_count,
                             group **groups, fm_error *error)
{
    size_t bin_count = 0;
    *group_count = 0;
    for (size_t i = 0; i < counts->count; i++) {
        const fm_range_count *item = &counts->items[i];
        bin_count += item->range < FM_RANGE_COLD;
        *group_count += i == 0 || item[-1].major != item->major || item[-1].minor != item->minor;
    }
    *groups = fm_calloc(*group_count, sizeof **groups);
    fm_bin *bins = *groups ? fm_attribution_allocate(attribution, bin_count, sizeof *bins) : NULL;
    if (!bins) {
        free(*groups);
        fm_fail_memory(error, (uint64_t)bin_count * sizeof *bins, "pairs of sites");
        return FM_E_NOMEM;
    }
    size_t made = 0;
    for (size_t i = 0; i < counts->count; i++) {
        const fm_range_count *item = &counts->items[i];
        if (i == 0 || item[-1].major != item->major || item[-1].minor != item->minor)
            (*groups)[made++] = (group){.major = item->major, .minor = item->minor, .bins = bins};
        group *into = &(*groups)[made - 1];
        if (__builtin_add_overflow(into->count, item->count, &into->count)) {
            free(*groups);
            too_many(error);
            return FM_E_ARGUMENT;
        }
        if (item->range == FM_RANGE_COLD) {
            into->cold = item->count;
        } else if (item->range == FM_RANGE_BEYOND) {
            into->beyond = item->count;
        } else {
            uint32_t next = item->range + 1;
            uint64_t last = next < attribution->edge_count ? attribution->edges[next] - 1 : UINT64_MAX;
            *bins++ = (fm_bin){attribution->edges[item->range], last, item->count};
            into->bin_count++;
        }
    }
    return FM_OK;
}

static int largest_first(const void *a, const void *b)
{
    const group *x = a, *y = b;
    if (x->count != y->count) return x->count > y->count ? -1 : 1;
    if (x->major != y->major) return x->major < y->major ? -1 : 1;
    return x->minor < y->minor ? -1 : x->minor > y->minor;
}

fm_status fm_range_counts_to_pairs(fm_range_counts *counts, fm_attribution *attribution, fm_error *error)
{
    group *groups;
    size_t count;
    fm_status status = counts_join(counts, error);
    if (!status) status = make_groups(counts, attribution, &count, &groups, error);
    if (status) return status;
    qsort(groups, count, sizeof *groups, largest_first);
    fm_pair *pairs = fm_attribution_allocate(attribution, count, sizeof *pairs);
    for (size_t i = 0; i < count && pairs; i++) {
        const group *from = &groups[i];
        pairs[i] = (fm_pair){from->minor,  from->major,     from->count, from->cold,
                             from->beyond, from->bin_count, from->bins};
    }
    free(groups);
    if (!pairs) return fm_fail_memory(error, (uint64_t)count * sizeof *pairs, "pairs of sites");
    attribution->pairs = pairs;
    attribution->pair_count = count;
    return FM_OK;
}

fm_status fm_range_counts_to_uses(fm_range_counts *counts, fm_attribution *attribution, fm_error *error)
{
    group *groups;
    size_t count;
    fm_status status = counts_join(counts, error);
    if (!status) status = make_groups(counts, attribution, &count, &groups, error);
    if (status) return status;
    fm_object_use *uses = fm_attribution_allocate(attribution, count, sizeof *uses);
    for (size_t i = 0; i < count && uses; i++) {
        const group *from = &groups[i];
        uses[i] = (fm_object_use){from->major,  from->minor,     from->count, from->cold,
                                  from->beyond, from->bin_count, from->bins};
    }
    free(groups);
    if (!uses) return fm_fail_memory(error, (uint64_t)count * sizeof *uses, "uses of objects");
    attribution->object_uses = uses;
    attribution->object_use_count = count;
    return FM_OK;
}

/* ======== distances from times ======== */

/*
 * The histogram of distances from that of time distances alone, by the model of the average
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

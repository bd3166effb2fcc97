/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sample_convert.c - from shares of time distances to distances.
 *
 * Average eviction time: src/profile/histogram.c does it for the profile; here are the same sums for the
 * rounds of the bootstrap and for single time distances, and in windows of the run.
 *
 * Shen: X. Shen, J. Shaw, B. Meeker, C. Ding: Locality approximation using time, POPL 2007. Of the N - 1
 * other blocks each is touched between a use and its reuse t later with the same probability, the sum over x
 * = 1 … t-1 of P(time distance > x), over N - 1; so the distance is binomial, with that sum as its mean.
 */
#include "model/model_internal.h"
#include "model/sample_internal.h"

#include <math.h>
#include <string.h>

/* Goes through the bins of a window in order. */
typedef struct walk {
    const double *falls;
    size_t bin, most;
    double over;              /* share with a time distance of at least the bin's lowest */
    double distinct;          /* D(lowest - 1): blocks that so many references touch in the mean */
    double wide, here, after; /* the bin's width and share; D(highest) */
} walk;

/* The bins from `used` on are of use for the whole run alone: of no share, but with distances. */
static void walk_start(walk *self, const fm_sample_masses *masses, uint32_t window)
{
    *self = (walk){.most = masses->window_count > 1 ? masses->used : masses->bin_count,
                   .falls = masses->falls + window * masses->bin_count,
                   .over = 1};
}

/* False: there is no bin left. Bin 0 is the time distance 0, which there is not. */
static bool walk_on(walk *self)
{
    self->distinct = self->after;
    self->over -= self->here;
    if (self->over < 0) self->over = 0;
    if (++self->bin >= self->most) return false;
    uint64_t lo, hi;
    fm_bins_range(FM_SAMPLE_BINS, self->bin, &lo, &hi);
    self->wide = (double)(hi - lo) + 1;
    self->here = self->falls[self->bin];
    self->after = self->distinct + self->wide * (self->over - self->here / 2);
    return true;
}

/* D(references) in a window. */
static double blocks_touched(const fm_sample_masses *masses, uint32_t window, double references)
{
    if (references <= 0) return 0;
    const size_t bin = fm_bins_index(FM_SAMPLE_BINS, (uint64_t)fmin(fmax(references, 1), 0x1p62));
    const double *of = masses->touched + window * masses->bin_count;
    uint64_t lo, hi;
    fm_bins_range(FM_SAMPLE_BINS, bin, &lo, &hi);
    const double part = (references - (double)(lo - 1)) / ((double)(hi - lo) + 1);
    const double next = bin + 1 < masses->bin_count ? of[bin + 1] : of[bin];
    return of[bin] + (next - of[bin]) * fmin(part, 1);
}

/* Other blocks between a use in the window and its reuse so many references later, in the middle of where
 * such uses may lie. A reference before the reuse is the last to its block if its own time distance reaches
 * beyond, and that is as in the window where it lies. */
static double distance_across(const fm_sample_items *items, const fm_sample_masses *masses, uint32_t window,
                              double time)
{
    const fm_sample_window *of = &items->windows[window];
    const double use = fmax(of->from, (of->from + fmin(of->to, of->end - time)) / 2);
    const double end = use + time - 1;
    double sum = 0;
    for (uint32_t k = window; k <= of->last; k++) {
        const double from = k == window ? use : items->windows[k].from;
        const double to = k == of->last ? end : fmin(end, items->windows[k].to);
        if (from >= end) break;
        sum += blocks_touched(masses, k, end - from) - blocks_touched(masses, k, end - to);
    }
    return sum;
}

/* Reuses that hardly ever leave the window are left as they are. */
static void look_across(const fm_sample_items *items, fm_sample_masses *masses, uint32_t window)
{
    const fm_sample_window *of = &items->windows[window];
    double *distances = masses->distances + window * masses->bin_count;
    const double *shares = masses->shares + window * masses->bin_count;
    const double within = (of->to - of->from) / 16;
    for (size_t bin = 1; bin < masses->used && !of->loose; bin++) {
        if (!(shares[bin] > 0)) continue;
        const double time = (double)fm_sample_bin_middle(bin);
        if (time > within) distances[bin] = distance_across(items, masses, window, time);
    }
}

void fm_sample_distances(const fm_sample_items *items, fm_sample_masses *masses, bool shen)
{
    for (uint32_t window = 0; window < masses->window_count; window++) {
        double *distances = masses->distances + window * masses->bin_count;
        double *before = masses->touched + window * masses->bin_count;
        distances[0] = before[0] = 0;
        walk at;
        for (walk_start(&at, masses, window); walk_on(&at);) {
            const double aet = at.distinct + (at.wide - 1) / 2 * (at.over - at.here / 4);
            /* Shen's sum begins and ends one later; and these straight lines are lower than sums by half of
             * what P falls. */
            const double last = at.wide > 1 ? at.over - at.here / 2 : at.over;
            before[at.bin] = at.distinct;
            distances[at.bin] = shen ? fmax(0, aet - (1 - last) / 2) : aet;
        }
    }
    for (uint32_t window = 0; window < masses->window_count && masses->window_count > 1; window++)
        look_across(items, masses, window);
}

/* In windows: the share whose mean distance is at least each size. */
static void miss_ratios_in_windows(const fm_sample_items *items, fm_sample_masses *masses,
                                   const uint64_t *sizes, size_t count, double *ratios)
{
    fm_sample_distances(items, masses, false);
    memset(ratios, 0, count * sizeof *ratios);
    for (uint32_t window = 0; window < masses->window_count; window++) {
        const double *distances = masses->distances + window * masses->bin_count;
        const double *shares = masses->shares + window * masses->bin_count;
        size_t next = 0; /* the first size that is larger; distances hardly ever fall from bin to bin */
        for (size_t bin = 1; bin < masses->used; bin++) {
            if (!(shares[bin] > 0)) continue;
            const double distance = nearbyint(distances[bin]);
            while (next < count && (double)sizes[next] <= distance) next++;
            while (next > 0 && (double)sizes[next - 1] > distance) next--;
            if (next > 0) ratios[next - 1] += shares[bin];
        }
    }
    double sum = masses->never;
    for (size_t i = count; i-- > 0;) {
        sum += ratios[i];
        ratios[i] = fmin(1, sum);
    }
}

void fm_sample_miss_ratios(const fm_sample_items *items, fm_sample_masses *masses, const uint64_t *sizes,
                           size_t count, double *ratios)
{
    if (masses->window_count > 1) {
        miss_ratios_in_windows(items, masses, sizes, count, ratios);
        return;
    }
    walk at;
    size_t next = 0;
    for (walk_start(&at, masses, 0); next < count && walk_on(&at);)
        for (; next < count && (double)sizes[next] <= at.after; next++) {
            const double grown = at.after - at.distinct, size = (double)sizes[next];
            const double part = size > at.distinct && grown > 0 ? (size - at.distinct) / grown : 0;
            ratios[next] = fmin(1, fmax(0, at.over - at.here * part));
        }
    for (; next < count; next++) ratios[next] = fmin(1, fmax(0, masses->never));
}

/* P(X < limit) for X binomial: exactly, or where it is wide by the normal distribution. */
static double binomial_below(double trials, double limit, double mean)
{
    const double p = mean / trials, variance = mean * (1 - p);
    if (limit <= 0) return 0;
    if (limit > trials) return 1;
    if (variance > 1000) return erfc((mean + 0.5 - limit) / sqrt(2 * variance)) / 2;
    return fm_binomial_below(trials, limit, p);
}

static void spread_one(double mean, double share, double trials, double *spread)
{
    if (mean <= 0 || mean >= trials) {
        spread[fm_bins_index(FM_SAMPLE_BINS, (uint64_t)fmin(fmax(mean, 0), trials))] += share;
        return;
    }
    const double reach = 8 * sqrt(mean * (1 - mean / trials)) + 8;
    double before = 0;
    uint64_t lo, hi;
    for (size_t bin = fm_bins_index(FM_SAMPLE_BINS, (uint64_t)fmax(0, mean - reach));; bin++) {
        fm_bins_range(FM_SAMPLE_BINS, bin, &lo, &hi);
        const bool last = (double)hi >= mean + reach || (double)hi >= trials;
        const double upto = last ? 1 : binomial_below(trials, (double)hi + 1, mean);
        if (upto > before) spread[bin] += share * (upto - before);
        if (last) return;
        before = fmax(before, upto);
    }
}

void fm_sample_spread(const fm_sample_masses *masses, double distinct, double *spread)
{
    const double trials = fmin(fmax(1, nearbyint(distinct) - 1), 0x1p60);
    memset(spread, 0, masses->bin_count * sizeof *spread);
    for (size_t bin = 1; bin < masses->bin_count; bin++)
        if (masses->bins[bin] > 0) spread_one(masses->distances[bin], masses->bins[bin], trials, spread);
}

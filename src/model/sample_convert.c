/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sample_convert.c - from shares of time distances to distances.
 *
 * Average eviction time: src/profile/eviction_time.c does it for the profile; here are the same sums for the
 * rounds of the bootstrap and for single time distances.
 *
 * Shen: X. Shen, J. Shaw, B. Meeker, C. Ding: Locality approximation using time, POPL 2007. Of the N - 1
 * other blocks each is touched between a use and its reuse t later with the same probability, the sum over x
 * = 1 … t-1 of P(time distance > x), over N - 1; so the distance is binomial, with that sum as its mean.
 */
#include "model/binomial.h"
#include "model/sample_internal.h"

#include <math.h>
#include <string.h>

/* Goes through the bins in order. */
typedef struct walk {
    const fm_sample_masses *masses;
    size_t bin;
    double over;              /* share with a time distance of at least the bin's lowest */
    double distinct;          /* D(lowest - 1): blocks that so many references touch in the mean */
    double wide, here, after; /* the bin's width and share; D(highest) */
} walk;

static void walk_start(walk *self, const fm_sample_masses *masses)
{
    *self = (walk){.masses = masses, .over = 1};
}

/* False: there is no bin left. Bin 0 is the time distance 0, which there is not. */
static bool walk_on(walk *self)
{
    self->distinct = self->after;
    self->over -= self->here;
    if (self->over < 0) self->over = 0;
    if (++self->bin >= self->masses->bin_count) return false;
    uint64_t lo, hi;
    fm_bins_range(FM_SAMPLE_BINS, self->bin, &lo, &hi);
    self->wide = (double)(hi - lo) + 1;
    self->here = self->masses->bins[self->bin];
    self->after = self->distinct + self->wide * (self->over - self->here / 2);
    return true;
}

void fm_sample_distances(const fm_sample_masses *masses, bool shen, double *distances)
{
    distances[0] = 0;
    walk at;
    for (walk_start(&at, masses); walk_on(&at);) {
        const double aet = at.distinct + (at.wide - 1) / 2 * (at.over - at.here / 4);
        /* Shen's sum begins and ends one later; and these straight lines are lower than sums by half of what
         * P falls. */
        const double last = at.wide > 1 ? at.over - at.here / 2 : at.over;
        distances[at.bin] = shen ? fmax(0, aet - (1 - last) / 2) : aet;
    }
}

void fm_sample_miss_ratios(const fm_sample_masses *masses, const uint64_t *sizes, size_t count,
                           double *ratios)
{
    walk at;
    size_t next = 0;
    for (walk_start(&at, masses); next < count && walk_on(&at);)
        for (; next < count && (double)sizes[next] <= at.after; next++) {
            const double grown = at.after - at.distinct, size = (double)sizes[next];
            const double part = size > at.distinct && grown > 0 ? (size - at.distinct) / grown : 0;
            ratios[next] = fmin(1, fmax(0, at.over - at.here * part));
        }
    for (; next < count; next++) ratios[next] = fmin(1, fmax(0, masses->never));
}

/* P(X < limit) for X binomial: exactly, or where it is wide by the normal distribution. */
static double below(double trials, double limit, double mean)
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
        const double upto = last ? 1 : below(trials, (double)hi + 1, mean);
        if (upto > before) spread[bin] += share * (upto - before);
        if (last) return;
        before = fmax(before, upto);
    }
}

void fm_sample_spread(const fm_sample_masses *masses, const double *means, double distinct, double *spread)
{
    const double trials = fmin(fmax(1, nearbyint(distinct) - 1), 0x1p60);
    memset(spread, 0, masses->bin_count * sizeof *spread);
    for (size_t bin = 1; bin < masses->bin_count; bin++)
        if (masses->bins[bin] > 0) spread_one(means[bin], masses->bins[bin], trials, spread);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * associative.c - an estimate for set-associative caches out of the same profile.
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
#include <fathom/model.h>

#include "model/bin_range.h"
#include "model/binomial.h"

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
        double part = mean_hit_probability(bin->lo, fm_bin_last(bin, profile->bound), (double)ways, p);
        hits += part * (double)bin->count;
        /* Beyond the point where nothing hits any more, nothing will: the probability only falls. */
        if (part < 1e-18) break;
    }
    return (double)profile->references - hits;
}

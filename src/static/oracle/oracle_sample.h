/* SPDX-License-Identifier: Apache-2.0 */
/*
 * oracle_sample.h - the reuses of a region from some of its accesses, each of them worked out exactly
 * (oracle.h).
 *
 * All accesses, reference after reference and in the order of time within each, are cut into as many parts of
 * equal size as there are samples; of each part one access is drawn. So every reference gets its share, early
 * and late accesses too, and all samples weigh the same. First touches are not estimated: they are the exact
 * union of what the region touches.
 *
 * The band: with probability 0.95 (over the draws) the true miss ratio is within `band` of the sampled one at
 * all cache sizes at once. Bretagnolle's inequality (the one of Dvoretzky, Kiefer and Wolfowitz for draws
 * that need not have the same distribution) gives sqrt(ln(2e / 0.05) / 2n): 1.53 % for 10,000 samples. It
 * does not use what the cutting into parts gains; the real error is mostly far smaller.
 */
#ifndef FATHOM_STATIC_SAMPLE_H
#define FATHOM_STATIC_SAMPLE_H

#include "static/oracle/oracle.h"
#include "static/oracle/reuses.h"

typedef struct fm_sample_options {
    uint64_t samples; /* 0: 10,000; where there are fewer accesses than that, all are worked out */
    uint64_t sets;    /* as in oracle.h */
    uint64_t seed;
    double deadline; /* fm_now; 0: none. Beyond it: FM_E_LIMIT */
} fm_sample_options;

typedef struct fm_sampled_reuses {
    fm_reuses reuses;
    uint64_t samples;
    bool exact;  /* every access was worked out */
    double band; /* 0 where exact */
} fm_sampled_reuses;

fm_status fm_sample(fm_sampled_reuses *sampled, const fm_reference_list *list,
                    const fm_sample_options *options, fm_error *error);
void fm_sampled_reuses_clear(fm_sampled_reuses *sampled);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* histogram.h - sums of and changes to histograms. Internal; the struct is in fathom/profile.h. */
#ifndef FATHOM_PROFILE_HISTOGRAM_H
#define FATHOM_PROFILE_HISTOGRAM_H

#include <fathom/profile.h>

/* Sum of all counts; false when it does not fit 64 bits. */
bool fm_histogram_total(const fm_histogram *histogram, uint64_t *total);

/* The coarser of two resolutions: exact is cut finer than loglinear, that finer than log2, and the
 * bins of each are unions of bins of the finer ones. */
fm_bins fm_bins_coarser(fm_bins a, fm_bins b);

/*
 * The sum of two histograms (b may be NULL) in bins of the given resolution, which is not finer than
 * theirs. Under a bound (not 0) the last bin ends before it. *sum is new memory. Fails with
 * FM_E_NOMEM, or FM_E_ARGUMENT when a count overflows; *sum is then empty.
 */
fm_status fm_histogram_sum(fm_histogram *sum, const fm_histogram *a, const fm_histogram *b, fm_bins bins,
                           uint64_t bound, fm_error *error);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* histogram.c - see histogram.h. Linear in the number of bins. */
#include "profile/histogram.h"

#include "base/error.h"
#include "base/memory.h"

#include <inttypes.h>
#include <stdlib.h>

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

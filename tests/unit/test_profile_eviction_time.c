/* SPDX-License-Identifier: Apache-2.0 */
/* test_profile_eviction_time.c - from time distances to distances: closed forms, and the sums themselves. */
#include "case.h"

#include <fathom/model.h>
#include <math.h>
#include <stdlib.h>

enum { MOST = 2000 };

/* One bin for each time distance that occurs: counts[t] of t. */
static fm_profile *profile_of(const uint64_t *counts, size_t most, uint64_t endless, uint64_t references,
                              fm_bins bins)
{
    fm_bin *times = calloc(most + 1, sizeof *times);
    fm_histogram histogram = {0, times};
    for (size_t t = 1; t <= most; t++)
        if (counts[t]) times[histogram.count++] = (fm_bin){t, t, counts[t]};
    fm_profile *profile;
    assert_int_equal(fm_profile_create(&profile, NULL), FM_OK);
    profile->bins = bins;
    assert_int_equal(fm_profile_from_times(profile, &histogram, endless, references, NULL), FM_OK);
    free(times);
    assert_int_equal(profile->references, references);
    assert_int_equal(profile->distinct, profile->cold);
    assert_false(profile->exact);
    uint64_t sum = profile->cold;
    for (size_t i = 0; i < profile->distances.count; i++) sum += profile->distances.bins[i].count;
    assert_int_equal(sum, references);
    return profile;
}

CASE(a_cyclic_trace_has_one_distance)
{
    const uint64_t references = 1000000;
    for (uint64_t blocks = 1; blocks <= MOST; blocks += 1 + blocks / 3) {
        uint64_t counts[MOST + 1] = {0};
        counts[blocks] = references - blocks;
        fm_profile *profile = profile_of(counts, MOST, blocks, references, FM_BINS_EXACT);
        assert_int_equal(profile->cold, blocks);
        assert_int_equal(profile->distances.count, 1);
        assert_int_equal(profile->distances.bins[0].lo, blocks - 1);
        assert_int_equal(profile->distances.bins[0].hi, blocks - 1);
        /* The curve falls from all to the first touches where the loop fits. */
        assert_true(fm_profile_miss_ratio(profile, blocks - 1) == 1);
        assert_true(fm_profile_misses(profile, blocks).expected == (double)blocks);
        fm_profile_destroy(profile);
    }
}

/* References to `blocks` blocks at random: P(t) = q^t, q = 1 - 1/blocks. The sum of P is blocks (1 - q^w),
 * the integral in straight lines (P(0) + P(1))/2 + … = (blocks - 1/2) (1 - q^w). Of blocks^20 references all
 * counts are whole: (blocks - 1)^(t-1) blocks^(20-t). */
CASE(random_references_are_geometric)
{
    enum { STEPS = 20 };
    for (uint64_t blocks = 2; blocks <= 9; blocks++) {
        uint64_t counts[STEPS + 1] = {0}, references = 1, endless = 1;
        for (int i = 0; i < STEPS; i++) references *= blocks, endless *= blocks - 1;
        counts[1] = references / blocks;
        for (size_t t = 2; t <= STEPS; t++) counts[t] = counts[t - 1] / blocks * (blocks - 1);
        uint64_t expected[STEPS + 1] = {0};
        for (size_t t = 1; t <= STEPS; t++) {
            double q = 1 - 1 / (double)blocks;
            expected[llround(((double)blocks - 0.5) * (1 - pow(q, (double)t - 1)))] += counts[t];
        }
        fm_profile *profile = profile_of(counts, STEPS, endless, references, FM_BINS_EXACT);
        /* Sums of doubles: the last of 53 digits may be lost. */
        const double slack = (double)references * 0x1p-50;
        assert_true(fabs((double)profile->cold - (double)endless) <= slack);
        for (size_t i = 0; i < profile->distances.count; i++) {
            const fm_bin *bin = &profile->distances.bins[i];
            assert_true(bin->lo <= STEPS && bin->lo == bin->hi);
            assert_true(fabs((double)bin->count - (double)expected[bin->lo]) <= slack);
            expected[bin->lo] = 0;
        }
        for (size_t d = 0; d <= STEPS; d++) assert_int_equal(expected[d], 0);
        fm_profile_destroy(profile);
    }
}

/* A mix of two: a share w goes to a few blocks, the rest to many. The misses at every size, from the sum. */
CASE(a_mix_is_as_the_sum_has_it)
{
    const long double hot = 1 - 1.0L / 5, rest = 1 - 1.0L / 300, references = 1e9L;
    uint64_t counts[MOST + 1] = {0}, reuses = 0;
    for (size_t t = 1; t <= MOST; t++) {
        long double share = 0.7L * (1 - hot) * powl(hot, (long double)t - 1) +
                            0.3L * (1 - rest) * powl(rest, (long double)t - 1);
        reuses += counts[t] = (uint64_t)llroundl(share * references);
    }
    const uint64_t endless = (uint64_t)references - reuses;
    fm_profile *profile = profile_of(counts, MOST, endless, (uint64_t)references, FM_BINS_EXACT);
    assert_int_equal(profile->cold, endless);
    for (uint64_t blocks = 1; blocks < 110; blocks++) {
        long double distinct = 0, over = references; /* D(t-1), and what has a time of t or more */
        uint64_t hits = 0;
        for (size_t t = 1; t <= MOST; t++) {
            if (llroundl(distinct) < (long long)blocks) hits += counts[t];
            distinct += (over - (long double)counts[t] / 2) / references;
            over -= (long double)counts[t];
        }
        assert_true(fm_profile_misses(profile, blocks).expected == (double)((uint64_t)references - hits));
    }
    fm_profile_destroy(profile);
}

CASE(a_sample_stands_for_all)
{
    static const uint64_t counts[] = {0, 30, 0, 0, 60};
    /* P: 1, 0.7, 0.7, 0.7: a time of 4 is the distance 0.85 + 0.7 + 0.7 = 2.25. */
    for (uint64_t times = 1; times <= UINT64_C(1) << 40; times <<= 8) {
        fm_profile *profile = profile_of(counts, 4, 10, 100 * times, FM_BINS_LOGLINEAR);
        assert_int_equal(profile->cold, 10 * times);
        assert_int_equal(profile->distances.count, 2);
        assert_int_equal(profile->distances.bins[0].lo, 0);
        assert_int_equal(profile->distances.bins[0].count, 30 * times);
        assert_int_equal(profile->distances.bins[1].lo, 2);
        assert_int_equal(profile->distances.bins[1].count, 60 * times);
        fm_profile_destroy(profile);
    }
    /* Nothing was sampled: nothing is known to be used again. */
    fm_profile *profile = profile_of(counts, 0, 0, 7, FM_BINS_LOG2);
    assert_int_equal(profile->cold, 7);
    fm_profile_destroy(profile);
    /* The largest numbers there are. */
    profile = profile_of(counts, 4, 0, UINT64_MAX, FM_BINS_LOG2);
    assert_int_equal(profile->cold, 0);
    fm_profile_destroy(profile);
}

CASE(what_is_no_histogram_is_refused)
{
    static fm_bin zero[] = {{0, 0, 1}}, back[] = {{5, 8, 1}, {8, 9, 1}}, inside_out[] = {{5, 4, 1}},
                  last[] = {{1, UINT64_MAX, 1}, {0, 3, 1}}, many[] = {{1, 1, UINT64_MAX}};
    const fm_histogram bad[] = {{1, zero}, {2, back}, {1, inside_out}, {2, last}, {1, many}};
    fm_profile *profile;
    assert_int_equal(fm_profile_create(&profile, NULL), FM_OK);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        fm_error error;
        assert_int_equal(fm_profile_from_times(profile, &bad[i], 1, 10, &error), FM_E_ARGUMENT);
        assert_int_equal(profile->references, 0);
        assert_int_equal(profile->distances.count, 0);
    }
    last[1].count = 0;
    const fm_histogram widest = {1, last};
    assert_int_equal(fm_profile_from_times(profile, &widest, 1, 2, NULL), FM_OK);
    assert_int_equal(profile->cold, 1);
    fm_profile_destroy(profile);
}

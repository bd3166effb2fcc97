/* SPDX-License-Identifier: Apache-2.0 */
/* test_model_misses.c - misses and curves against counting the distances one by one. */
#include "case.h"

#include <fathom/model.h>
#include <math.h>
#include <stdlib.h>

#include "unit/model_samples.h"

CASE(misses_are_counted_right)
{
    static const fm_bins all[] = {FM_BINS_EXACT, FM_BINS_LOGLINEAR, FM_BINS_LOG2};
    for (int round = 0; round < 10; round++) {
        sample drawn;
        sample_draw(&drawn, 500, 5000);
        for (size_t b = 0; b < 3; b++) {
            fm_profile *profile = sample_profile(&drawn, all[b], 11);
            for (uint64_t blocks = 0; blocks < 6000; blocks += 1 + blocks / 50) {
                uint64_t truth = 11 + sample_at_least(&drawn, blocks);
                fm_misses misses = fm_profile_misses(profile, blocks);
                assert_true(misses.known);
                assert_true(misses.least <= truth && truth <= misses.most);
                assert_true(misses.expected >= (double)misses.least - 1e-6);
                assert_true(misses.expected <= (double)misses.most + 1e-6);
                if (all[b] == FM_BINS_EXACT || (all[b] == FM_BINS_LOGLINEAR && blocks <= 1024)) {
                    assert_int_equal(misses.least, truth);
                    assert_int_equal(misses.most, truth);
                    assert_true(misses.expected == (double)truth);
                }
                assert_true(fabs(fm_profile_miss_ratio(profile, blocks) - misses.expected / 511) < 1e-12);
            }
            fm_profile_destroy(profile);
        }
    }
}

/* By counting: the first size at which so many hit. */
CASE(the_smallest_cache_is_found)
{
    static const fm_bins all[] = {FM_BINS_EXACT, FM_BINS_LOGLINEAR, FM_BINS_LOG2};
    for (int round = 0; round < 10; round++) {
        sample drawn;
        sample_draw(&drawn, 500, 5000);
        for (size_t b = 0; b < 3; b++) {
            fm_profile *profile = sample_profile(&drawn, all[b], 11);
            for (uint64_t hits = 0; hits <= 511; hits += 7) {
                uint64_t truth = 0, least, blocks;
                double most;
                while (truth < 6000 && 500 - sample_at_least(&drawn, truth) < hits) truth++;
                const bool there =
                    fm_profile_smallest_cache(profile, (double)hits / 511, &least, &blocks, &most);
                assert_int_equal(there, hits <= 500);
                assert_true(there || fabs(most - 500.0 / 511) < 1e-12);
                if (!there) continue;
                assert_true(least <= truth && truth <= blocks);
                if (all[b] == FM_BINS_EXACT) assert_int_equal(least, blocks);
            }
            fm_profile_destroy(profile);
        }
    }
}

CASE(a_bin_is_spread_evenly)
{
    fm_bin bin = {1024, 2047, 1024};
    fm_profile profile = {.references = 1030,
                          .cold = 6,
                          .granularity = 1,
                          .cold_known = true,
                          .bins = FM_BINS_LOG2,
                          .distances = {1, &bin}};
    for (uint64_t blocks = 1024; blocks <= 2048; blocks++) {
        fm_misses misses = fm_profile_misses(&profile, blocks);
        assert_true(fabs(misses.expected - (double)(6 + 2048 - blocks)) < 1e-9);
        assert_int_equal(misses.most, blocks == 2048 ? 6 : 1030);
        assert_int_equal(misses.least, blocks == 1024 ? 1030 : 6);
    }
    /* Under a bound only the distances below it can be in the bin. */
    profile.bound = 1280;
    profile.beyond = 100;
    profile.references += 100;
    assert_true(fabs(fm_profile_misses(&profile, 1152).expected - (106 + 512)) < 1e-9);
    assert_true(fm_profile_misses(&profile, 1280).known);
    assert_int_equal(fm_profile_misses(&profile, 1280).most, 106);
    assert_false(fm_profile_misses(&profile, 1281).known);
    assert_int_equal(fm_profile_misses(&profile, 1 << 20).most, 106);
    profile.beyond = 0; /* nothing beyond: nothing unknown */
    profile.references -= 100;
    assert_true(fm_profile_misses(&profile, 1281).known);
}

CASE(extremes_are_ordinary)
{
    fm_bin bin = {UINT64_MAX - (UINT64_MAX >> 1), UINT64_MAX, 7};
    fm_profile profile = {.references = 7, .bins = FM_BINS_LOG2, .distances = {1, &bin}, .cold_known = true};
    assert_int_equal(fm_profile_misses(&profile, 0).least, 7);
    assert_int_equal(fm_profile_misses(&profile, UINT64_MAX).least, 0);
    fm_curve curve;
    assert_int_equal(fm_curve_create(&curve, &profile, NULL), FM_OK);
    assert_int_equal(curve.count, 2); /* 0 and the lower edge: the upper one is 2^64 */
    fm_curve_clear(&curve);
    fm_profile empty = {0};
    assert_true(fm_profile_miss_ratio(&empty, 5) == 0);
    assert_int_equal(fm_curve_create(&curve, &empty, NULL), FM_OK);
    assert_int_equal(curve.count, 1);
    assert_true(curve.points[0].ratio == 0);
    fm_curve_clear(&curve);
}

/* Between the points the curve is a line: at exact bins that reproduces every size. */
CASE(the_curve_has_every_change)
{
    sample drawn;
    sample_draw(&drawn, 300, 3000);
    fm_profile *profile = sample_profile(&drawn, FM_BINS_EXACT, 5);
    fm_curve curve;
    assert_int_equal(fm_curve_create(&curve, profile, NULL), FM_OK);
    assert_int_equal(curve.points[0].blocks, 0);
    assert_true(curve.points[0].misses == 305);
    size_t at = 0;
    for (uint64_t blocks = 0; blocks < 3500; blocks++) {
        while (at + 1 < curve.count && curve.points[at + 1].blocks <= blocks) at++;
        const fm_curve_point *left = &curve.points[at], *right = at + 1 < curve.count ? left + 1 : left;
        double value = left->misses;
        if (right != left)
            value += (right->misses - left->misses) * (double)(blocks - left->blocks) /
                     (double)(right->blocks - left->blocks);
        assert_true(fabs(value - (double)(5 + sample_at_least(&drawn, blocks))) < 1e-9);
        assert_true(fabs(left->ratio - left->misses / 305) < 1e-12);
    }
    for (size_t i = 1; i < curve.count; i++) assert_true(curve.points[i].blocks > curve.points[i - 1].blocks);
    fm_curve_clear(&curve);
    fm_profile_destroy(profile);
}

/* Points as they are; between them, what a falling curve allows; below, what is exact. */
CASE(the_band_at_any_size)
{
    fm_bin bins[] = {{3, 3, 50}, {200, 200, 25}};
    fm_band_point band[] = {{100, 0.4, 0.6}, {150, 0.3, 0.5}, {300, 0.1, 0.2}};
    fm_accuracy accuracy = {.exact_below = 100, .confidence = 0.95, .band_count = 3, .band = band};
    fm_profile profile = {.references = 100,
                          .cold = 25,
                          .granularity = 1,
                          .cold_known = true,
                          .bins = FM_BINS_EXACT,
                          .distances = {2, bins}};
    static const struct {
        uint64_t blocks;
        double least, most;
    } expected[] = {{2, 1, 1},       {4, 0.5, 0.5},   {99, 0.5, 0.5},  {100, 0.4, 0.6},       {101, 0.3, 0.6},
                    {150, 0.3, 0.5}, {299, 0.1, 0.5}, {300, 0.1, 0.2}, {UINT64_MAX, 0.1, 0.2}};
    double least, most;
    assert_false(fm_profile_band(&profile, 100, &least, &most));
    profile.accuracy = &accuracy;
    for (size_t i = 0; i < sizeof expected / sizeof *expected; i++) {
        assert_true(fm_profile_band(&profile, expected[i].blocks, &least, &most));
        assert_true(least == expected[i].least && most == expected[i].most);
    }
    /* Nothing is exact, and the band begins further on. */
    accuracy.exact_below = 0;
    assert_false(fm_profile_band(&profile, 99, &least, &most));
}

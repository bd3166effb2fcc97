/* SPDX-License-Identifier: Apache-2.0 */
/* test_model_compare.c - the papers' metrics against hand-worked cases and a naive computation. */
#include "case.h"

#include <fathom/model.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "unit/model_samples.h"

static fm_profile make(fm_bin *bins, size_t count, uint64_t cold)
{
    fm_profile profile = {
        .granularity = 64, .cold = cold, .distinct = cold, .references = cold, .cold_known = true};
    profile.bins = FM_BINS_EXACT;
    profile.distances = (fm_histogram){count, bins};
    for (size_t i = 0; i < count; i++) profile.references += bins[i].count;
    return profile;
}

static void close_to(double found, double wanted)
{
    if (fabs(found - wanted) > 1e-12) fail_msg("found %.17g, expected %.17g", found, wanted);
}

CASE(the_same_is_alike)
{
    static const fm_bins all[] = {FM_BINS_EXACT, FM_BINS_LOGLINEAR, FM_BINS_LOG2};
    sample drawn;
    sample_draw(&drawn, 2000, 100000);
    for (size_t x = 0; x < 3; x++)
        for (size_t y = 0; y < 3; y++) {
            fm_profile *a = sample_profile(&drawn, all[x], 100), *b = sample_profile(&drawn, all[y], 100);
            fm_comparison found;
            assert_int_equal(fm_profile_compare(a, b, &found, NULL), FM_OK);
            close_to(found.overlap, 1);
            close_to(found.overlap_log2, 1);
            close_to(found.similarity, 1);
            close_to(found.similarity_smoothed, 1);
            close_to(found.average_error, 0);
            close_to(found.curve_largest, 0);
            close_to(found.curve_mean, 0);
            fm_profile_destroy(a);
            fm_profile_destroy(b);
        }
}

CASE(what_shares_nothing_is_not)
{
    fm_bin near[] = {{4, 4, 10}}, far[] = {{64, 64, 30}};
    fm_profile a = make(near, 1, 0), b = make(far, 1, 0);
    fm_comparison found;
    assert_int_equal(fm_profile_compare(&a, &b, &found, NULL), FM_OK);
    close_to(found.overlap, 0);
    close_to(found.similarity, 0);
    close_to(found.similarity_smoothed, 0); /* no bins are adjacent */
    close_to(found.average_error, 2.0 / 9); /* bins 0…7 (64 is in the seventh power) and cold */
    close_to(found.curve_largest, 1);
    assert_int_equal(found.curve_largest_at, 5);

    /* One bin apart: eq. 2 forgives half of it. 4 and 8 are in adjacent bins. */
    far[0] = (fm_bin){8, 8, 30};
    assert_int_equal(fm_profile_compare(&a, &b, &found, NULL), FM_OK);
    close_to(found.similarity, 0);
    close_to(found.similarity_smoothed, 0.5);
    close_to(found.overlap_log2, 0);

    /* Other distances of the same power of two: nothing in common on fine bins only. */
    far[0] = (fm_bin){7, 7, 30};
    assert_int_equal(fm_profile_compare(&a, &b, &found, NULL), FM_OK);
    close_to(found.overlap, 0);
    close_to(found.overlap_log2, 1);
}

/* All by hand: A has 1/4 cold, 1/2 at 0, 1/4 at 2. B has 1/2 cold, 1/4 at 0, 1/4 at 5. */
CASE(a_case_worked_by_hand)
{
    fm_bin of_a[] = {{0, 0, 4}, {2, 2, 2}}, of_b[] = {{0, 0, 5}, {5, 5, 5}};
    fm_profile a = make(of_a, 2, 2), b = make(of_b, 2, 10);
    fm_comparison found;
    assert_int_equal(fm_profile_compare(&a, &b, &found, NULL), FM_OK);
    /* E = cold 1/4 + at 0 1/4 + at 2 1/4 + at 5 1/4 */
    close_to(found.overlap, 0.5);
    close_to(found.overlap_log2, 0.5); /* 2 and 5 are of different powers */
    /* reuses: A 2/3 in bin 0, 1/3 in bin 2; B 1/2 in bin 0, 1/2 in bin 3 */
    close_to(found.similarity, 1 - (1.0 / 6 + 1.0 / 3 + 1.0 / 2) / 2);
    /* pairs 01, 12, 23, 34: A 1/3 1/6 1/6 0, B 1/4 0 1/4 1/4 */
    close_to(found.similarity_smoothed, 1 - (1.0 / 12 + 1.0 / 6 + 1.0 / 12 + 1.0 / 4) / 2);
    /* bars: cold and bins 0 to 3 */
    close_to(found.average_error, (0.25 + 0.25 + 0 + 0.25 + 0.25) / 5);
    /* curves: sizes 1, 2: 1/2 and 3/4. From 3: 1/4 and 3/4. From 6: 1/4 and 1/2. */
    close_to(found.curve_largest, 0.5);
    assert_int_equal(found.curve_largest_at, 3);
}

static double ratio_at(const sample *drawn, uint64_t cold, uint64_t blocks)
{
    return (double)(cold + sample_at_least(drawn, blocks)) / (double)(cold + drawn->count);
}

CASE(curves_agree_with_the_naive_ones)
{
    for (int round = 0; round < 5; round++) {
        sample x, y;
        sample_draw(&x, 400, 2000);
        sample_draw(&y, 700, 3000);
        fm_profile *a = sample_profile(&x, FM_BINS_EXACT, 50), *b = sample_profile(&y, FM_BINS_EXACT, 900);
        fm_comparison found;
        assert_int_equal(fm_profile_compare(a, b, &found, NULL), FM_OK);
        double largest = 0, overlap = 0;
        for (uint64_t blocks = 0; blocks < 4000; blocks++) {
            double at_x = ratio_at(&x, 50, blocks), at_y = ratio_at(&y, 900, blocks);
            largest = fmax(largest, fabs(at_x - at_y));
            double share_x = at_x - ratio_at(&x, 50, blocks + 1),
                   share_y = at_y - ratio_at(&y, 900, blocks + 1);
            overlap += fmin(share_x, share_y);
        }
        overlap += fmin(50.0 / 450, 900.0 / 1600);
        close_to(found.overlap, overlap); /* 1 − E/2 is the common part */
        close_to(found.curve_largest, largest);
        double difference_there =
            fabs(ratio_at(&x, 50, found.curve_largest_at) - ratio_at(&y, 900, found.curve_largest_at));
        close_to(difference_there, largest);
        double sum = 0;
        unsigned count = 0;
        for (;; count++) {
            double size = pow(2, count / 16.0);
            bool last = size >= 900;
            uint64_t blocks = last ? 900 : (uint64_t)size;
            sum += fabs(ratio_at(&x, 50, blocks) - ratio_at(&y, 900, blocks));
            if (last) break;
        }
        close_to(found.curve_mean, sum / (count + 1));
        fm_profile_destroy(a);
        fm_profile_destroy(b);
    }
}

/* The same distances, once with a bound: alike after cutting both. */
CASE(bounds_are_brought_together)
{
    fm_bin whole[] = {{1, 1, 10}, {100, 100, 20}, {900, 900, 30}};
    fm_bin cut[] = {{1, 1, 10}, {100, 100, 20}};
    fm_profile a = make(whole, 3, 40), b = make(cut, 2, 40);
    b.bound = 500;
    b.beyond = 30;
    b.references += 30;
    fm_comparison found;
    for (int swap = 0; swap < 2; swap++) {
        assert_int_equal(fm_profile_compare(swap ? &b : &a, swap ? &a : &b, &found, NULL), FM_OK);
        close_to(found.overlap, 1);
        close_to(found.similarity, 1);
        close_to(found.similarity_smoothed, 1);
        close_to(found.average_error, 0);
        close_to(found.curve_largest, 0);
    }
    b.cold = b.distinct = 50; /* ten of the thirty were first touches after all */
    b.beyond = 20;
    assert_int_equal(fm_profile_compare(&a, &b, &found, NULL), FM_OK);
    close_to(found.overlap, 0.9);
    close_to(found.average_error, 0.2 / (8 + 2)); /* bins 0…7, cold, beyond */
    close_to(found.curve_largest, 0);
}

CASE(what_cannot_be_compared_is_refused)
{
    fm_bin bins[] = {{4, 4, 10}};
    fm_profile a = make(bins, 1, 1), b = make(bins, 1, 1), empty = make(NULL, 0, 0);
    fm_comparison found;
    fm_error error;
    b.granularity = 4096;
    assert_int_equal(fm_profile_compare(&a, &b, &found, &error), FM_E_ARGUMENT);
    assert_non_null(strstr(error.reason, "64 and 4096"));
    assert_int_equal(fm_profile_compare(&a, &empty, &found, &error), FM_E_ARGUMENT);
    assert_non_null(strstr(error.reason, "the second profile has no references"));
    /* Nothing but first touches: no reuses in common with anything, all with its like. */
    fm_profile streaming = make(NULL, 0, 10);
    assert_int_equal(fm_profile_compare(&a, &streaming, &found, NULL), FM_OK);
    close_to(found.similarity, 0);
    assert_int_equal(fm_profile_compare(&streaming, &streaming, &found, NULL), FM_OK);
    close_to(found.similarity, 1);
    close_to(found.overlap, 1);
}

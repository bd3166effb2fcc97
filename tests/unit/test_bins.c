/* SPDX-License-Identifier: Apache-2.0 */
/* test_bins.c - bins cover all 64-bit distances without gap or overlap, as their definitions say. */
#include "case.h"
#include "random.h"

#include <fathom/profile.h>

static const fm_bins all[] = {FM_BINS_LOGLINEAR, FM_BINS_LOG2, FM_BINS_EXACT};

/* Naive definitions, by counting up. */
static void naive_range(fm_bins bins, uint64_t distance, uint64_t *lo, uint64_t *hi)
{
    *lo = *hi = distance;
    if (bins == FM_BINS_EXACT || distance < 2 || (bins == FM_BINS_LOGLINEAR && distance < 1024)) return;
    uint64_t power = 1;
    while (power <= distance / 2) power *= 2;
    uint64_t width = bins == FM_BINS_LOG2 ? power : power / 64;
    *lo = power + (distance - power) / width * width;
    *hi = *lo + (width - 1);
}

static void check_distance(fm_bins bins, uint64_t distance)
{
    uint64_t lo, hi, naive_lo, naive_hi;
    size_t index = fm_bins_index(bins, distance);
    fm_bins_range(bins, index, &lo, &hi);
    naive_range(bins, distance, &naive_lo, &naive_hi);
    assert_int_equal(lo, naive_lo);
    assert_int_equal(hi, naive_hi);
    assert_int_equal(fm_bins_index(bins, lo), index);
    assert_int_equal(fm_bins_index(bins, hi), index);
    if (hi != UINT64_MAX) assert_int_equal(fm_bins_index(bins, hi + 1), index + 1);
    if (lo != 0) assert_int_equal(fm_bins_index(bins, lo - 1), index - 1);
}

CASE(every_distance_is_in_the_bin_it_should_be)
{
    for (size_t b = 0; b < 3; b++) {
        for (uint64_t distance = 0; distance < 20000; distance++) check_distance(all[b], distance);
        for (unsigned bit = 0; bit < 64; bit++)
            for (int near = -2; near <= 2; near++)
                check_distance(all[b], (UINT64_C(1) << bit) + (uint64_t)near);
        for (int i = 0; i < 200000; i++) check_distance(all[b], random_next() >> (random_next() % 64));
        check_distance(all[b], UINT64_MAX);
    }
}

CASE(bins_number_without_gaps)
{
    for (size_t b = 0; b < 2; b++) {
        uint64_t expected = 0;
        for (size_t index = 0;; index++) {
            uint64_t lo, hi;
            fm_bins_range(all[b], index, &lo, &hi);
            assert_int_equal(lo, expected);
            assert_true(hi >= lo);
            if (hi == UINT64_MAX) {
                /* exact below 2^10, then 54 powers of two of 64 bins; or 0 and 64 powers */
                assert_int_equal(index + 1, all[b] == FM_BINS_LOG2 ? 65 : 1024 + 54 * 64);
                break;
            }
            expected = hi + 1;
        }
    }
}

CASE(loglinear_is_fine_enough)
{
    for (int i = 0; i < 100000; i++) {
        uint64_t distance = random_next() >> (random_next() % 64), lo, hi;
        fm_bins_range(FM_BINS_LOGLINEAR, fm_bins_index(FM_BINS_LOGLINEAR, distance), &lo, &hi);
        assert_true(hi - lo <= lo / 64);
    }
}

CASE(names_go_both_ways)
{
    for (size_t b = 0; b < 3; b++) {
        fm_bins found = FM_BINS_LOG2;
        assert_true(fm_bins_from_name(fm_bins_name(all[b]), &found));
        assert_int_equal(found, all[b]);
    }
    fm_bins found;
    assert_false(fm_bins_from_name("Exact", &found));
    assert_false(fm_bins_from_name("", &found));
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_sample_windows.c - runs whose behaviour changes: loops of two sizes one after the other, and in two
 * threads, whose distances are known; and a run that is alike all along, which is not cut.
 */
#include "case.h"

#include "model/sample_internal.h"

#include <math.h>

#include "sample_builder.h"

enum { EACH = 1000000, COUNT = 500, SMALL = 10, LARGE = 1000 };

/* Uses of a loop over so many blocks, spread evenly over a stretch of EACH references. */
static void put_loop(fm_samples *samples, uint32_t thread, uint64_t from, uint64_t blocks, uint32_t tag)
{
    for (uint64_t i = 0; i < COUNT; i++)
        put_watch(samples, (fm_sample_watch){.thread = thread,
                                             .at = from + i * (EACH / COUNT),
                                             .length = blocks,
                                             .weight = EACH / COUNT,
                                             .use = tag,
                                             .reuse = tag});
}

/* References with a distance from lo to hi. */
static double distances_within(const fm_profile *profile, uint64_t lo, uint64_t hi)
{
    double sum = 0;
    for (size_t i = 0; i < profile->distances.count; i++)
        if (profile->distances.bins[i].lo >= lo && profile->distances.bins[i].hi <= hi)
            sum += (double)profile->distances.bins[i].count;
    return sum;
}

/* Each loop has one distance, whatever the other one does; over the whole run, 1,000 references would be
 * thought to touch 505 blocks. */
static void check_two_loops(const fm_samples *samples)
{
    const uint64_t edges[] = {0, 100};
    const fm_estimate_options options = {.bootstrap = 20, .edges = edges, .edge_count = 2};
    fm_estimate *estimate;
    assert_int_equal(fm_estimate_create(&estimate, samples, &options, NULL), FM_OK);
    assert_true(fabs(distances_within(estimate->profile, SMALL - 1, SMALL - 1) - EACH) < 2000);
    assert_true(fabs(distances_within(estimate->profile, LARGE - 20, LARGE + 20) - EACH) < 4000);
    /* Pairs of code have the same distances. */
    double sum = 0;
    for (size_t i = 0; i < estimate->pair_count; i++) {
        const fm_pair_estimate *pair = &estimate->pairs[i];
        sum += pair->references;
        if (!pair->never) assert_true(fabs(pair->references - EACH) < 4000);
    }
    assert_true(fabs(sum - 2.0 * EACH) < 1);
    for (size_t i = 0; i < estimate->raw_count; i++) {
        const fm_raw_pair *raw = &estimate->raw[i];
        if (raw->count > 4000) assert_true(raw->range == (raw->use == 2) && raw->use == raw->reuse);
    }
    fm_estimate_destroy(estimate);
}

CASE(loops_of_two_sizes)
{
    fm_samples *samples = samples_of_one(2 * EACH);
    put_loop(samples, 0, 0, SMALL, 1);
    put_loop(samples, 0, EACH, LARGE, 2);
    check_two_loops(samples);
    fm_samples_destroy(samples);
}

CASE(threads_that_do_not_do_the_same)
{
    fm_samples *samples = samples_of_one(EACH);
    uint32_t other;
    assert_int_equal(fm_samples_add_thread(samples, EACH, &other, NULL), FM_OK);
    put_loop(samples, 0, 0, SMALL, 1);
    put_loop(samples, other, 0, LARGE, 2);
    check_two_loops(samples);
    fm_samples_destroy(samples);
}

/* Data of the first quarter is used again in the last, at one time distance, and the two quarters between
 * touch 10 blocks and no others: the distance is what the first and the last quarter touch in between. Time
 * alone would not tell. */
CASE(what_lies_between_counts)
{
    fm_samples *samples = samples_of_one(4 * EACH);
    for (uint64_t i = 0; i < 4 * COUNT; i++) {
        const bool first = i < COUNT, last = i >= 3 * COUNT;
        fm_sample_watch watch = {
            .at = i * (EACH / COUNT), .length = first ? 3 * EACH : SMALL, .weight = EACH / COUNT};
        if (last) {
            watch.end = FM_WATCH_NEVER;
            watch.length = 4 * EACH - watch.at;
        }
        put_watch(samples, watch);
    }
    fm_estimate *estimate = estimate_by(samples, NULL, NULL);
    const double all = 4.0 * EACH;
    assert_true(fabs(distances_within(estimate->profile, SMALL - 1, SMALL - 1) / all - 0.5) < 0.01);
    assert_true(fabs(distances_within(estimate->profile, EACH * 9 / 10, EACH * 11 / 10) / all - 0.25) < 0.01);
    assert_true(fabs((double)estimate->profile->cold / all - 0.25) < 0.01);
    fm_estimate_destroy(estimate);
    fm_samples_destroy(samples);
}

/* Where a run is alike, windows are not believed by themselves: the estimate is that of the whole run. */
CASE(a_run_that_is_alike_is_not_cut)
{
    double off = 0;
    enum { RUNS = 20 };
    for (uint64_t seed = 1; seed <= RUNS; seed++) {
        uint64_t random = seed;
        fm_samples *samples = samples_of_one(4 * EACH);
        for (uint64_t i = 0; i < 400; i++)
            put_watch(samples, (fm_sample_watch){.at = i * (EACH / 100),
                                                 .length = UINT64_C(1) << test_random(&random, 14),
                                                 .weight = EACH / 100});
        fm_estimate *whole = estimate_by(samples, "kaplan-meier", NULL);
        fm_estimate *windows = estimate_by(samples, "capped", NULL);
        for (uint64_t size = 1; size < 4096; size *= 2)
            off += fabs(fm_profile_miss_ratio(whole->profile, size) -
                        fm_profile_miss_ratio(windows->profile, size)) /
                   (12 * RUNS);
        fm_estimate_destroy(whole);
        fm_estimate_destroy(windows);
        fm_samples_destroy(samples);
    }
    assert_true(off < 0.004); /* a share of a half of 400 is off by 0.02 */
}

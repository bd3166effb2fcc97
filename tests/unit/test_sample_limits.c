/* SPDX-License-Identifier: Apache-2.0 */
/* test_sample_limits.c - estimates that cannot be true are brought within what can be: by hand-made
 * observations whose estimates are known. */
#include "case.h"

#include "sample/sampled_thread.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "sample_builder.h"

enum { REFERENCES = 1000000, WATCHES = 1000 };

/* One in ten is never used again: 100,000 blocks; the others after 50,000. */
static fm_samples *one_in_ten_never(void)
{
    fm_samples *samples = samples_of_one(REFERENCES);
    for (uint64_t i = 0; i < WATCHES; i++)
        put_watch(samples, (fm_sample_watch){.at = i,
                                             .length = i % 10 ? 50000 : REFERENCES - i,
                                             .end = i % 10 ? FM_WATCH_USED : FM_WATCH_NEVER,
                                             .use = 1,
                                             .reuse = i % 10 ? 2 : 0});
    return samples;
}

static fm_estimate *estimate_within(const fm_samples *samples, uint64_t least, uint64_t most)
{
    static const uint64_t edges[] = {0, 64, 1000, 4000};
    const fm_estimate_options options = {.bootstrap = 20,
                                         .edges = edges,
                                         .edge_count = 4,
                                         .late_from = 64,
                                         .blocks_least = least,
                                         .blocks_most = most};
    fm_estimate *estimate;
    fm_error error;
    if (fm_estimate_create(&estimate, samples, &options, &error)) fail_msg("%s", error.reason);
    return estimate;
}

static uint64_t sum_of(const fm_histogram *histogram)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < histogram->count; i++) sum += histogram->bins[i].count;
    return sum;
}

/* What a profile and its pairs keep, whatever the limits. */
static void assert_sound(const fm_estimate *estimate)
{
    const fm_profile *profile = estimate->profile;
    fm_error error;
    uint64_t all = 0, cold = 0;
    if (fm_profile_check((const fm_profile *const *)&profile, 1, &error)) fail_msg("%s", error.reason);
    assert_int_equal(sum_of(&profile->times) + profile->cold, profile->references);
    assert_true(profile->cold <= profile->distinct);
    for (size_t i = 0; i < estimate->raw_count; i++) {
        all += estimate->raw[i].count;
        if (estimate->raw[i].range == FM_RANGE_COLD) cold += estimate->raw[i].count;
    }
    assert_int_equal(all, profile->references);
    assert_int_equal(cold, profile->cold);
}

CASE(no_more_blocks_than_there_is_memory_for)
{
    fm_samples *samples = one_in_ten_never();
    fm_estimate *free_one = estimate_within(samples, 0, 0), *held = estimate_within(samples, 0, 3000);
    assert_sound(free_one);
    assert_sound(held);
    assert_true(fabs((double)free_one->profile->cold - REFERENCES / 10.0) < 2);
    assert_null(strstr(free_one->profile->accuracy->statement, "cannot be"));
    assert_int_equal(held->profile->cold, 3000);
    assert_int_equal(held->profile->distinct, 3000);
    assert_non_null(strstr(held->profile->accuracy->statement, "cannot be more than 3000"));
    /* A cache with room for all misses each block once; smaller ones miss what they did. */
    assert_int_equal((uint64_t)fm_profile_misses(held->profile, 3100).expected, 3000);
    assert_true(fabs(fm_profile_miss_ratio(held->profile, 1000) -
                     fm_profile_miss_ratio(free_one->profile, 1000)) < 1e-5);
    fm_estimate_destroy(free_one);
    fm_estimate_destroy(held);
    fm_samples_destroy(samples);
}

CASE(no_fewer_than_other_blocks_need)
{
    fm_samples *samples = one_in_ten_never();
    fm_estimate *raised = estimate_within(samples, 200000, 0), *both = estimate_within(samples, 5000, 4000);
    assert_sound(raised);
    assert_int_equal(raised->profile->distinct, 200000);
    /* Limits that contradict each other: memory decides. */
    assert_sound(both);
    assert_int_equal(both->profile->distinct, 4000);
    fm_estimate_destroy(raised);
    fm_estimate_destroy(both);
    fm_samples_destroy(samples);
}

/* All are the last to their blocks, and there is room for one block. */
CASE(a_limit_of_one_block)
{
    fm_samples *samples = samples_of_one(REFERENCES);
    for (uint64_t i = 0; i < 50; i++)
        put_watch(samples,
                  (fm_sample_watch){.at = i, .length = REFERENCES - i, .end = FM_WATCH_NEVER, .use = 1});
    fm_estimate *held = estimate_within(samples, 0, 1);
    assert_sound(held);
    assert_int_equal(held->profile->cold, 1);
    assert_int_equal(held->profile->distinct, 1);
    fm_estimate_destroy(held);
    fm_samples_destroy(samples);
}

/* 100 accesses a nanosecond were measured around the one burst, in a thread of 1 ms. */
CASE(no_core_is_faster_than_the_ceiling)
{
    fm_sampled_thread thread = {.work = 1000000, .burst_count = 1};
    fm_seen_burst *burst = calloc(1, sizeof *burst + sizeof burst->views[0]);
    assert_non_null(burst);
    burst->work = 500000;
    burst->calm = 100000;
    burst->calm_time = 1000;
    burst->inside = 1;
    burst->accesses = 1000;
    burst->views[0].references = 1000;
    thread.bursts = &burst;
    for (int held = 0; held < 2; held++) {
        fm_timeline line;
        assert_int_equal(fm_timeline_make(&line, &thread, 1, held ? 10 : 0, false, 0, NULL), FM_OK);
        assert_int_equal(line.limited, held);
        /* And what was seen of it, in the burst and around. */
        const double wanted = held ? 1e7 : 1e8;
        if (line.end < wanted || line.end > wanted + 2e5)
            fail_msg("%g references, expected %g", line.end, wanted);
        fm_timeline_free(&line);
    }
    free(burst);
    /* Between a clock of 100 MHz and one of 10 GHz. */
    assert_true(fm_access_ceiling() >= 0.4 && fm_access_ceiling() <= 40);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_sample_convert.c - from sampled time distances to distances, where the answer is known: loops,
 * streams, and references at random, whose distances are uniform; and what a profile says of its samples.
 */
#include "case.h"

#include "model/sample_internal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "sample_builder.h"
#include "temporary_folder.h"

/* References to `blocks` blocks at random, one of which lies at time distance t with probability
 * q^(t-1) / blocks, q = 1 - 1/blocks. */
static fm_samples *random_samples(uint64_t blocks, uint64_t references)
{
    fm_samples *samples = samples_of_one(references);
    double share = 1 / (double)blocks;
    for (uint64_t t = 1; t < 1024; t++, share *= 1 - 1 / (double)blocks)
        put_watch(samples, (fm_sample_watch){.at = t, .length = t, .weight = share * 1e9});
    return samples;
}

/* Shen's sum is (blocks - 1) (1 - q^(t-1)) there, so each other block is touched with probability 1 -
 * q^(t-1). Over all t that is the uniform distribution, which is the true one, to within 1/blocks. */
CASE(distances_at_random_are_binomial_by_shen)
{
    const uint64_t references = 1000000000;
    for (uint64_t blocks = 2; blocks <= 60; blocks += 7) {
        fm_samples *samples = random_samples(blocks, references);
        fm_estimate *estimate = estimate_by(samples, NULL, "shen");
        const fm_profile *profile = estimate->profile;
        const double q = 1 - 1 / (double)blocks, n = (double)blocks - 1;
        assert_int_equal(profile->distances.count, blocks);
        assert_int_equal(profile->distinct, blocks);
        for (size_t k = 0; k < profile->distances.count; k++) {
            double expected = 0;
            for (int t = 1; t < 1024; t++) {
                const double untouched = pow(q, t - 1), share = untouched / (double)blocks;
                const double ways = lgamma(n + 1) - lgamma((double)k + 1) - lgamma(n - (double)k + 1);
                expected += share * exp(ways) * pow(1 - untouched, (double)k) * pow(untouched, n - (double)k);
            }
            const double found = (double)profile->distances.bins[k].count / (double)references;
            assert_int_equal(profile->distances.bins[k].lo, k);
            assert_true(fabs(found - expected) < 1e-6);
        }
        fm_estimate_destroy(estimate);
        fm_samples_destroy(samples);
    }
}

/* Average eviction time: the reuses of time distance t have the mean distance (blocks - 1/2) (1 - q^(t-1)),
 * as in test_profile_eviction_time.c; so the curve is right at all sizes to within a block. */
CASE(the_curve_at_random_is_straight_by_aet)
{
    const uint64_t blocks = 50;
    fm_samples *samples = random_samples(blocks, 1000000000);
    fm_estimate *estimate = estimate_by(samples, NULL, "aet");
    for (uint64_t size = 1; size < blocks; size++)
        assert_true(fabs(fm_profile_miss_ratio(estimate->profile, size) - 1 + (double)size / (double)blocks) <
                    1.1 / (double)blocks);
    fm_estimate_destroy(estimate);
    fm_samples_destroy(samples);
}

CASE(a_loop_has_one_distance)
{
    for (uint64_t blocks = 2; blocks < 1000; blocks += 1 + blocks / 2)
        for (int shen = 0; shen <= 1; shen++) {
            fm_samples *samples = samples_of_one(1000000);
            for (uint64_t i = 0; i < 100; i++)
                put_watch(samples, (fm_sample_watch){.at = i, .length = blocks});
            fm_estimate *estimate = estimate_by(samples, NULL, shen ? "shen" : "aet");
            assert_int_equal(estimate->profile->distances.count, 1);
            assert_int_equal(estimate->profile->distances.bins[0].lo, blocks - 1);
            assert_int_equal(estimate->profile->distances.bins[0].count, 1000000);
            assert_int_equal(estimate->profile->cold, 0);
            fm_estimate_destroy(estimate);
            fm_samples_destroy(samples);
        }
}

CASE(a_stream_is_never_used_again)
{
    fm_samples *samples = samples_of_one(1000);
    for (uint64_t i = 0; i < 3; i++)
        put_watch(samples, (fm_sample_watch){.at = i, .length = 10, .end = FM_WATCH_NEVER, .use = 4});
    for (int shen = 0; shen <= 1; shen++) {
        fm_estimate *estimate = estimate_by(samples, NULL, shen ? "shen" : "aet");
        assert_int_equal(estimate->profile->cold, 1000);
        assert_int_equal(estimate->profile->distinct, 1000);
        assert_int_equal(estimate->profile->distances.count, 0);
        assert_int_equal(estimate->pair_count, 1);
        assert_true(estimate->pairs[0].never && estimate->pairs[0].use == 4);
        assert_int_equal(estimate->pairs[0].samples, 3);
        assert_int_equal(estimate->raw_count, 1);
        assert_int_equal(estimate->raw[0].range, FM_RANGE_COLD);
        assert_int_equal(estimate->raw[0].count, 1000);
        fm_estimate_destroy(estimate);
    }
    fm_samples_destroy(samples);
}

/* The same sums as those of the profile (eviction_time.c), for curves of the bootstrap. */
CASE(the_curve_of_the_bootstrap_is_that_of_the_profile)
{
    uint64_t random = 3;
    fm_samples *samples = samples_of_one(10000000);
    for (uint64_t i = 0; i < 3000; i++)
        put_watch(samples, (fm_sample_watch){
                               .at = i,
                               .length = 1 + test_random(&random, UINT64_C(1) << test_random(&random, 22)),
                               .end = test_random(&random, 9) ? FM_WATCH_USED : FM_WATCH_NEVER});
    fm_estimate *estimate;
    const fm_estimate_options options = {.bootstrap = 2, .blocks = 1};
    assert_int_equal(fm_estimate_create(&estimate, samples, &options, NULL), FM_OK);
    /* One block alone is drawn: all rounds are the estimate itself, and the band is what the conversion may
     * be off by: half a step of the sizes, and the floor. */
    const fm_accuracy *accuracy = estimate->profile->accuracy;
    const double width = 3.0 / 3000 + 0.005;
    for (size_t i = 1; i + 1 < accuracy->band_count; i++) {
        const fm_band_point *at = &accuracy->band[i];
        const double here = fm_profile_miss_ratio(estimate->profile, at->blocks);
        const double below = fm_profile_miss_ratio(estimate->profile, at[-1].blocks);
        const double above = fm_profile_miss_ratio(estimate->profile, at[1].blocks);
        assert_true(at->least <= fmax(0, here - width) + 1e-9);
        if (at->blocks < 16) continue;
        assert_true(fabs(at->least - fmax(0, (here + above) / 2 - width)) < 0.003);
        assert_true(fabs(at->most - fmin(1, (here + below) / 2 + width)) < 0.003);
    }
    fm_estimate_destroy(estimate);
    fm_samples_destroy(samples);
}

/* ---- pairs ---- */

/* 100 watches each of three pairs and of one that ends; the error of a share p of n independent ones is
 * sqrt(p (1 - p) / n), in blocks as in single observations. */
CASE(pairs_have_shares_and_errors)
{
    uint64_t random = 17;
    const uint64_t references = 1000000;
    enum { COUNT = 4000 };
    fm_samples *samples = samples_of_one(references);
    uint64_t counts[4] = {0};
    for (uint64_t i = 0; i < COUNT; i++) {
        const uint32_t kind = (uint32_t)test_random(&random, 10);
        const uint32_t pair = kind < 5 ? 0 : kind < 8 ? 1 : kind < 9 ? 2 : 3;
        counts[pair]++;
        put_watch(samples, (fm_sample_watch){.at = i,
                                             .length = pair == 1 ? 300000 : 5,
                                             .end = pair == 3 ? FM_WATCH_NEVER : FM_WATCH_USED,
                                             .use = 1 + pair,
                                             .reuse = 10 + pair});
    }
    const uint64_t edges[] = {0, 1000};
    const fm_estimate_options options = {.bootstrap = 1, .blocks = 200, .edges = edges, .edge_count = 2};
    fm_estimate *estimate;
    assert_int_equal(fm_estimate_create(&estimate, samples, &options, NULL), FM_OK);
    assert_int_equal(estimate->pair_count, 4);
    for (size_t i = 0; i < 4; i++) {
        const fm_pair_estimate *pair = &estimate->pairs[i];
        const uint32_t which = pair->use - 1;
        const double share = (double)counts[which] / COUNT;
        assert_int_equal(pair->reuse, which == 3 ? 0 : 10 + which);
        assert_int_equal(pair->never, which == 3);
        assert_int_equal(pair->samples, counts[which]);
        assert_true(fabs(pair->references - share * (double)references) < 1e-3);
        const double error = sqrt(share * (1 - share) / COUNT) * (double)references;
        assert_true(pair->error > 0.75 * error && pair->error < 1.25 * error);
    }
    /* By ranges, in whole numbers that sum to the profile's. */
    uint64_t sum = 0;
    for (size_t i = 0; i < estimate->raw_count; i++) {
        const fm_raw_pair *raw = &estimate->raw[i];
        sum += raw->count;
        if (raw->range == FM_RANGE_COLD)
            assert_int_equal(raw->count, estimate->profile->cold);
        else
            assert_int_equal(raw->range, raw->use == 2);
    }
    assert_int_equal(sum, references);
    fm_estimate_destroy(estimate);
    fm_samples_destroy(samples);
}

/* ---- the profile ---- */

static fm_profile *through_file(const fm_profile *profile, const char *path)
{
    fm_error error;
    fm_profile_list list;
    if (fm_profile_write(path, &profile, 1, &error) || fm_profile_read(path, &list, &error))
        fail_msg("%s", error.reason);
    assert_int_equal(list.count, 1);
    fm_profile *read = list.profiles[0];
    free(list.profiles);
    return read;
}

CASE(a_profile_says_how_it_was_sampled)
{
    fm_samples *samples = samples_of_one(100000);
    for (uint64_t i = 0; i < 50; i++)
        put_watch(samples,
                  (fm_sample_watch){
                      .at = i, .length = 100 + 10 * i, .end = (fm_sample_watch_end)(i % 4), .armed = 0.5});
    fm_estimate *estimate;
    const fm_estimate_options options = {.bins = FM_BINS_LOG2, .confidence = 0.9};
    assert_int_equal(fm_estimate_create(&estimate, samples, &options, NULL), FM_OK);
    fm_profile *read = through_file(estimate->profile, in_folder("p.json"));
    assert_string_equal(read->engine, "sample");
    assert_false(read->exact);
    assert_int_equal(read->references, 100000);
    assert_true(read->has_times && read->times.count > 0 && read->bins == FM_BINS_LOG2);
    const fm_sampling *sampling = read->sampling;
    assert_non_null(sampling);
    assert_string_equal(sampling->method, "test");
    assert_string_equal(sampling->estimator, "capped");
    assert_string_equal(sampling->conversion, "aet");
    assert_int_equal(sampling->used, 13);
    assert_int_equal(sampling->replaced, 13);
    assert_int_equal(sampling->never, 12);
    assert_int_equal(sampling->not_armed, 12);
    assert_int_equal(sampling->bursts, 0);
    /* Ten of the armed ones lasted as long as this: the ends 0, 1 and 2 of 4. */
    assert_int_equal(sampling->measured_time, 100 + 10 * 37);
    assert_int_equal(read->accuracy->samples, 50);
    assert_true(read->accuracy->confidence == 0.9 && read->accuracy->band_count > 4);
    /* As of two runs: counts add up, a band does not. */
    fm_profile *sum;
    assert_int_equal(fm_profile_create(&sum, NULL), FM_OK);
    assert_int_equal(fm_profile_merge(sum, read, NULL), FM_OK);
    assert_int_equal(sum->sampling->used, 13);
    assert_int_equal(fm_profile_merge(sum, read, NULL), FM_OK);
    assert_int_equal(sum->sampling->used, 26);
    assert_int_equal(sum->sampling->measured_time, sampling->measured_time);
    assert_null(sum->accuracy);
    fm_profile *exact;
    assert_int_equal(fm_profile_create(&exact, NULL), FM_OK);
    exact->references = exact->cold = exact->distinct = 1;
    assert_int_equal(fm_profile_merge(sum, exact, NULL), FM_OK);
    assert_null(sum->sampling);
    fm_profile_destroy(exact);
    fm_profile_destroy(sum);
    fm_profile_destroy(read);
    fm_estimate_destroy(estimate);
    fm_samples_destroy(samples);
}

CASE(a_damaged_field_is_refused)
{
    static const char *const wrong[] = {
        "3", "{\"method\": \"a\"}", "{\"method\": \"a\", \"estimator\": \"b\", \"conversion\": 4}",
        "{\"method\": \"a\", \"estimator\": \"b\", \"conversion\": \"c\", \"used\": -1}"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        char text[600];
        snprintf(
            text, sizeof text,
            "{\"schema\": \"fathom-profile-1\", \"engine\": \"sample\", \"exact\": false, \"sampling\": %s, "
            "\"granularity\": 1, \"references\": 0, \"distinct\": 0, \"cold\": 0, \"complete\": true, "
            "\"lost\": 0, \"histogram\": []}",
            wrong[i]);
        write_file(in_folder("wrong.json"), text);
        fm_profile_list list;
        fm_error error;
        assert_int_equal(fm_profile_read(in_folder("wrong.json"), &list, &error), FM_E_FORMAT);
        assert_non_null(strstr(error.reason, "sampling"));
    }
}

/* Late references of pairs: in each of many samples the one pair or the other, so that the error is that of a
 * share; where both are in all samples alike, only that of the miss ratio is left. And an attribution is
 * told. */
CASE(late_pairs_have_errors)
{
    enum { COUNT = 4000 };
    const uint64_t references = 1000000, edges[] = {0, 1000};
    for (unsigned rounds = 1; rounds <= 200; rounds += 199) {
        uint64_t random = 23, counts[3] = {0};
        fm_samples *samples = samples_of_one(references);
        for (uint64_t i = 0; i < COUNT; i++) {
            const uint32_t kind = (uint32_t)test_random(&random, 10), pair = kind < 5 ? 0 : kind < 8 ? 1 : 2;
            counts[pair]++;
            put_watch(samples, (fm_sample_watch){.at = i,
                                                 .length = pair ? 300000 : 5,
                                                 .end = FM_WATCH_USED,
                                                 .use = 1 + pair,
                                                 .reuse = 1 + pair});
        }
        const fm_estimate_options options = {
            .bootstrap = rounds, .blocks = 200, .edges = edges, .edge_count = 2, .late_from = 1000};
        fm_estimate *estimate;
        assert_int_equal(fm_estimate_create(&estimate, samples, &options, NULL), FM_OK);
        assert_int_equal(estimate->late_pair_count, 2); /* what comes again at once is not late */
        for (size_t i = 0; i < 2; i++) {
            const fm_pair_estimate *pair = &estimate->late_pairs[i];
            const double share = (double)counts[pair->use - 1] / COUNT;
            const double error = sqrt(share * (1 - share) / COUNT) * (double)references;
            assert_int_equal(pair->use, 2 + i);
            assert_int_equal(pair->samples, counts[1 + i]);
            assert_true(fabs(pair->references - share * (double)references) < 0.01 * (double)references);
            assert_true(pair->error > 0.7 * error && pair->error < 1.4 * error);
        }
        const uint32_t map[] = {FM_NONE, 0, 1, 2};
        fm_attribution *attribution;
        assert_int_equal(fm_attribution_create(&attribution, NULL), FM_OK);
        assert_int_equal(fm_estimate_tell_errors(estimate, attribution, map, 4, NULL), FM_OK);
        assert_int_equal(attribution->pair_error_count, 2);
        assert_int_equal(attribution->pair_errors[1].reuse, 2);
        assert_int_equal(attribution->pair_errors[1].samples, counts[2]);
        fm_attribution_destroy(attribution);
        fm_estimate_destroy(estimate);
        fm_samples_destroy(samples);
    }
}

CASES_WITH(make_folder, remove_folder);

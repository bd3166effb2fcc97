/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_sample_virtual.c - the virtual sampler: what it saw against what is in the trace, the paper's
 * listings, and whether the truth lies within the band.
 */
#include "case.h"

#include "model/sample_internal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "sample_builder.h"

typedef struct stream {
    size_t count;
    uint64_t *blocks;
    uint32_t *tags;
} stream;

static stream stream_of(size_t most)
{
    stream made = {0, calloc(most, sizeof *made.blocks), calloc(most, sizeof *made.tags)};
    assert_true(made.blocks && made.tags);
    return made;
}

static void stream_clear(stream *of)
{
    free(of->blocks);
    free(of->tags);
}

static void put(stream *to, uint64_t block, uint32_t tag)
{
    to->blocks[to->count] = block;
    to->tags[to->count++] = tag;
}

static fm_samples *sample(const stream *of, fm_virtual_sampler_options options)
{
    fm_virtual_sampler *sampler;
    fm_samples *samples;
    assert_int_equal(fm_virtual_sampler_create(&sampler, &options, NULL), FM_OK);
    /* In pieces of odd lengths: where they end must not matter. */
    for (size_t from = 0, piece = 1; from < of->count; from += piece, piece = piece * 3 % 1009 + 1) {
        if (piece > of->count - from) piece = of->count - from;
        assert_int_equal(fm_virtual_sampler_feed(sampler, of->blocks + from, of->tags + from, piece, NULL),
                         FM_OK);
    }
    assert_int_equal(fm_virtual_sampler_finish(sampler, &samples, NULL), FM_OK);
    fm_virtual_sampler_destroy(sampler);
    return samples;
}

/* The place of the next reference to the same block; the length of the stream: none. */
static size_t next_use(const stream *of, size_t at)
{
    size_t next = at + 1;
    while (next < of->count && of->blocks[next] != of->blocks[at]) next++;
    return next;
}

static stream random_stream(size_t count, uint64_t blocks, uint64_t seed)
{
    stream made = stream_of(count);
    /* The square makes small numbers frequent: short and long time distances. */
    for (size_t i = 0; i < count; i++) {
        const uint64_t number = test_random(&seed, blocks);
        put(&made, number * number / blocks, (uint32_t)(1 + number % 5));
    }
    return made;
}

CASE(watches_tell_the_truth)
{
    stream of = random_stream(20000, 3000, 1);
    for (unsigned registers = 1; registers <= 16; registers += 5)
        for (uint64_t period = 1; period < 100; period = period * 3 + 1) {
            fm_samples *samples = sample(
                &of, (fm_virtual_sampler_options){.period = period, .registers = registers, .seed = period});
            uint64_t ends[4] = {0};
            size_t armed_now = 0;
            for (size_t i = 0; i < samples->watch_count; i++) {
                const fm_sample_watch *watch = &samples->watches[i];
                const size_t next = next_use(&of, watch->at);
                ends[watch->end]++;
                assert_int_equal(watch->use, of.tags[watch->at]);
                assert_true(watch->weight == (double)period && watch->from == 0 && watch->burst == 0);
                if (watch->end == FM_WATCH_USED) {
                    assert_int_equal(watch->length, next - watch->at);
                    assert_int_equal(watch->reuse, of.tags[next]);
                } else if (watch->end == FM_WATCH_REPLACED) {
                    /* It was still waiting when another sample came. */
                    assert_true(watch->at + watch->length < next);
                } else if (watch->end == FM_WATCH_NEVER) {
                    assert_int_equal(next, of.count);
                    assert_int_equal(watch->length, of.count - 1 - watch->at);
                    armed_now++;
                }
            }
            assert_true(armed_now <= registers);
            assert_true(fabs((double)samples->watch_count - 20000.0 / (double)period) <
                        0.1 * 20000 / (double)period + 2);
            assert_true(ends[FM_WATCH_USED] > 0);
            fm_samples_destroy(samples);
        }
    stream_clear(&of);
}

/* Every burst, counted anew from the stream. */
CASE(bursts_tell_the_truth)
{
    stream of = random_stream(30000, 2000, 7);
    fm_samples *samples = sample(
        &of,
        (fm_virtual_sampler_options){
            .period = 700, .bursts = true, .burst_length = 100, .burst_steps = 3, .registers = 2, .seed = 3});
    assert_true(samples->burst_count > 20);
    uint64_t lengths[3] = {0}, before = 0;
    for (size_t b = 0; b < samples->burst_count; b++) {
        const fm_sample_burst *burst = &samples->bursts[b];
        lengths[burst->length == 100 ? 0 : burst->length == 400 ? 1 : 2]++;
        assert_true(burst->at >= before);
        before = burst->at + burst->length;
        assert_true(before <= of.count);
        assert_int_equal(burst->ended, before == of.count && burst->uses * 2 != burst->length);
        uint64_t found = 0, times = 0;
        for (size_t use = 0; use < burst->uses; use++) {
            const size_t next = next_use(&of, burst->at + use);
            if (next >= before) continue;
            found++;
            times += next - burst->at - use;
        }
        const fm_burst_reuse *reuse = samples->reuses + burst->first;
        uint64_t found_there = 0, times_there = 0, cut_there = 0;
        for (size_t i = 0; i < burst->found_count; i++, reuse++) {
            found_there += reuse->count;
            times_there += reuse->count * reuse->time; /* below 1024 these are exact */
        }
        for (size_t i = 0; i < burst->cut_count; i++, reuse++) cut_there += reuse->count;
        assert_int_equal(found_there, found);
        if (burst->length < 1024) assert_int_equal(times_there, times);
        assert_int_equal(cut_there, burst->uses - found);
    }
    assert_true(lengths[0] > lengths[1] && lengths[1] > 0);
    for (size_t i = 0; i < samples->watch_count; i++) {
        const fm_sample_watch *watch = &samples->watches[i];
        const fm_sample_burst *burst = &samples->bursts[watch->burst - 1];
        const size_t next = next_use(&of, watch->at);
        assert_true(watch->at >= burst->at && watch->at < burst->at + burst->uses);
        assert_int_equal(watch->at + watch->from, burst->at + burst->length - 1);
        assert_true(next > watch->at + watch->from);
        if (watch->end == FM_WATCH_USED) assert_int_equal(watch->at + watch->length, next);
    }
    fm_samples_destroy(samples);
    stream_clear(&of);
}

/* ---- the paper's listings, 100 K words and a sample each 100 references ---- */

enum { WORDS = 100000, SEEDS = 40 };

typedef struct shares {
    double at_once, as_array, longer, never; /* time distance 1, WORDS, up to 2 WORDS; of all references */
} shares;

/* Means over seeds. */
static shares estimate_shares(const stream *of, const char *estimator, bool plain)
{
    shares mean = {0};
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        fm_samples *samples =
            sample(of, (fm_virtual_sampler_options){.period = 100, .plain_reservoir = plain, .seed = seed});
        fm_estimate *estimate = estimate_by(samples, estimator, "aet");
        const fm_profile *profile = estimate->profile;
        const double all = (double)profile->references * SEEDS;
        /* Bins of 1.6 %. */
        mean.at_once += (double)times_within(profile, 1, 1) / all;
        mean.as_array += (double)times_within(profile, WORDS - 2000, WORDS + 1000) / all;
        mean.longer += (double)times_within(profile, WORDS + 1000, 2 * WORDS + 4000) / all;
        mean.never += (double)profile->cold / all;
        fm_estimate_destroy(estimate);
        fm_samples_destroy(samples);
    }
    return mean;
}

/* No watch of the second loop lasts as long as the array, so those of the first loop tell of the first half
 * of the run, and the second was never used again. In some runs all were replaced: then nobody knows. */
CASE(listing_1)
{
    stream of = stream_of(2 * WORDS);
    for (uint32_t loop = 1; loop <= 2; loop++)
        for (uint64_t i = 0; i < WORDS; i++) put(&of, i, loop);
    unsigned outlived = 0;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        fm_samples *samples = sample(&of, (fm_virtual_sampler_options){.period = 100, .seed = seed});
        fm_estimate *estimate = estimate_by(samples, NULL, "aet");
        const fm_profile *profile = estimate->profile;
        const double all = (double)profile->references;
        const double as_array = (double)times_within(profile, WORDS - 2000, WORDS + 1000) / all;
        assert_true(as_array == 0 || fabs(as_array - 0.5) < 0.02);
        assert_true(fabs((double)profile->cold / all - (1 - as_array)) < 1e-6);
        outlived += as_array > 0;
        fm_estimate_destroy(estimate);
        fm_samples_destroy(samples);
    }
    assert_true(outlived > SEEDS / 2);
    stream_clear(&of);
}

CASE(listing_2)
{
    stream of = stream_of(4 * WORDS);
    for (uint32_t loop = 1; loop <= 2; loop++)
        for (uint64_t i = 0; i < WORDS; i++) put(&of, i, loop);
    for (uint64_t i = 0; i < WORDS; i++) {
        put(&of, i, 3);
        put(&of, i, 4);
    }
    /* A quarter each: the first loop's, the second's, those used again at once, the last. */
    const shares ours = estimate_shares(&of, NULL, false);
    assert_true(fabs(ours.at_once - 0.25) < 0.03);
    assert_true(fabs(ours.as_array - 0.25) < 0.08);
    /* Of the longest, which hardly a watch outlives, some are taken for never used again. */
    assert_true(fabs(ours.longer - 0.25) < 0.12);
    assert_true(fabs(ours.never - 0.25) < 0.12);
    /* The paper: traps alone are mostly short ones, though two thirds of the reuses are long. Attribution by
     * contexts brings the long ones back. */
    const shares traps = estimate_shares(&of, "rdx-trapped", true),
                 papers = estimate_shares(&of, "rdx", true);
    assert_true(traps.at_once > 0.9);
    assert_true(papers.at_once < 0.55 && papers.as_array + papers.longer > 0.4);
    assert_true(papers.never == 0 && traps.never == 0);
    stream_clear(&of);
}

/* ---- bands ---- */

/* References at random to some blocks of two sizes, half the references each: LRU misses as the fixed point
 * of Che tells, here checked against the exact engine. */
static fm_profile *exact_profile(const stream *of)
{
    fm_analyzer *analyzer;
    fm_profile *profile;
    const fm_analyzer_options options = {0};
    assert_int_equal(fm_analyzer_create(&analyzer, &options, NULL), FM_OK);
    assert_int_equal(fm_analyzer_feed_blocks(analyzer, of->blocks, of->count, NULL), FM_OK);
    assert_int_equal(fm_analyzer_profile(analyzer, &profile, NULL), FM_OK);
    fm_analyzer_destroy(analyzer);
    return profile;
}

CASE(the_truth_is_within_the_band)
{
    unsigned points[2] = {0}, within[2] = {0};
    double width[2] = {0};
    for (uint64_t seed = 1; seed <= 12; seed++) {
        stream of = stream_of(400000);
        uint64_t random = seed;
        for (size_t i = 0; i < 400000; i++) {
            /* The mix changes slowly: samples that follow each other are alike. */
            const bool small = test_random(&random, 100) < 20 + i / 8000;
            put(&of, small ? test_random(&random, 300) : 1000 + test_random(&random, 20000), 1 + small);
        }
        fm_profile *truth = exact_profile(&of);
        for (int bursts = 0; bursts <= 1; bursts++) {
            fm_samples *samples = sample(&of, (fm_virtual_sampler_options){.period = bursts ? 4000 : 400,
                                                                           .bursts = bursts,
                                                                           .burst_length = 1000,
                                                                           .seed = seed});
            fm_estimate *estimate;
            const fm_estimate_options options = {.bootstrap = 100, .seed = seed};
            assert_int_equal(fm_estimate_create(&estimate, samples, &options, NULL), FM_OK);
            for (uint64_t size = 16; size < 20000; size *= 2) {
                double least, most;
                const double actual = fm_profile_miss_ratio(truth, size);
                assert_true(fm_profile_band(estimate->profile, size, &least, &most));
                points[bursts]++;
                within[bursts] += actual >= least && actual <= most;
                width[bursts] += most - least;
            }
            fm_estimate_destroy(estimate);
            fm_samples_destroy(samples);
        }
        fm_profile_destroy(truth);
        stream_clear(&of);
    }
    for (int bursts = 0; bursts <= 1; bursts++) {
        assert_true(within[bursts] >= points[bursts] * 93 / 100);
        assert_true(width[bursts] / points[bursts] < 0.2); /* a band from 0 to 1 always holds */
    }
}

CASE(wrong_options_are_refused)
{
    const fm_virtual_sampler_options wrong[] = {
        {.period = UINT64_MAX},
        {.period = 10, .registers = 17},
        {.period = 10, .granularity = 3},
        {.period = 10, .burst_length = 1},
        {.period = 10, .burst_length = UINT64_C(1) << 40},
        {.period = 10, .burst_length = 1 << 20, .burst_steps = 5},
        {.period = 10, .burst_steps = 9},
    };
    fm_virtual_sampler *sampler;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        assert_int_equal(fm_virtual_sampler_create(&sampler, &wrong[i], NULL), FM_E_ARGUMENT);
        assert_null(sampler);
    }
    /* A trace without references. */
    fm_samples *samples;
    const fm_virtual_sampler_options options = {.period = 10};
    assert_int_equal(fm_virtual_sampler_create(&sampler, &options, NULL), FM_OK);
    assert_int_equal(fm_virtual_sampler_finish(sampler, &samples, NULL), FM_OK);
    assert_int_equal(fm_samples_watches(samples), 0);
    fm_samples_destroy(samples);
    fm_virtual_sampler_destroy(sampler);
}

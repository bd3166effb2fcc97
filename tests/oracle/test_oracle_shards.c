/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_oracle_shards.c - what `shards` and `aet` estimate. A sample of everything is exact, which the list
 * engine judges; a fixed number of samples equals a naive model of it; the confidence band holds the exact
 * curve as often as it says; the mean error is what sampling at that rate is good for; cyclic and independent
 * references have closed forms under the model of aet.
 *
 *     FATHOM_TEST_SEED=N     other traces
 */
#include "case.h"

#include "engine/sampled/sampled.h"
#include "oracle/engine_run.h"

#include <fathom/experimental.h>

static fm_profile *profile_by(const char *engine, const char *engine_options, fm_bins bins,
                              const uint64_t *trace, size_t length)
{
    fm_analyzer_options options = {
        .engine = engine, .bins = bins, .seed = 7, .engine_options = engine_options};
    fm_analyzer *analyzer;
    fm_profile *profile;
    fm_error error;
    if (fm_analyzer_create(&analyzer, &options, &error)) fail_msg("%s", error.reason);
    recipe_random random = {length};
    for (size_t i = 0; i < length;) {
        size_t chunk = 1 + recipe_below(&random, 10000);
        if (chunk > length - i) chunk = length - i;
        assert_int_equal(fm_analyzer_feed_blocks(analyzer, trace + i, chunk, NULL), FM_OK);
        i += chunk;
    }
    assert_int_equal(fm_analyzer_profile(analyzer, &profile, NULL), FM_OK);
    assert_true(fm_analyzer_memory(analyzer) <= fm_analyzer_memory_peak(analyzer));
    fm_analyzer_destroy(analyzer);
    uint64_t sum = profile->cold + profile->beyond;
    for (size_t i = 0; i < profile->distances.count; i++) sum += profile->distances.bins[i].count;
    assert_int_equal(sum, profile->references);
    assert_int_equal(profile->references, length);
    return profile;
}

/* ---- a sample of everything ---- */

static void assert_same_counts(const recipe *made, const fm_profile *a, const fm_profile *b)
{
    bool same = a->cold == b->cold && a->distinct == b->distinct &&
                a->distances.count == b->distances.count &&
                (a->distances.count == 0 ||
                 memcmp(a->distances.bins, b->distances.bins, a->distances.count * sizeof(fm_bin)) == 0);
    if (!same) {
        recipe_print(made);
        fail_msg("a sample of everything is not exact");
    }
}

CASE(test_everything_sampled)
{
    const uint64_t seed = from_environment("FATHOM_TEST_SEED", 2015);
    const uint64_t traces = from_environment("FATHOM_TEST_TRACES", 600);
    for (uint64_t index = 0; index < traces; index++) {
        recipe made = recipe_make(seed, index);
        uint64_t *trace = recipe_trace(&made);
        static const unsigned near[] = {0, 1, 16, 1024, 4096};
        char own[100];
        snprintf(own, sizeof own, "%s=%zu,hashes=%d,exact-below=%u", index % 2 ? "samples" : "rate",
                 index % 2 ? made.length + 1 : 1, (int)(1 + index % 3), near[index % 5]);
        /* The estimate is cut into loglinear bins at its finest. */
        fm_bins bins = index % 7 == 0 ? FM_BINS_LOG2 : FM_BINS_LOGLINEAR;
        fm_profile *expected = profile_by("list", NULL, bins, trace, made.length);
        fm_profile *got = profile_by("shards", own, bins, trace, made.length);
        assert_false(got->exact);
        assert_same_counts(&made, expected, got);
        fm_profile_destroy(expected);
        fm_profile_destroy(got);
        free(trace);
    }
}

/* ---- a fixed number of blocks, naively ---- */

typedef struct naive_sample {
    uint64_t block[64];
    uint32_t hash[64];
    size_t count; /* the most recent last */
    uint64_t threshold, dither;
    double cold, *counts;
} naive_sample;

static void naive_touch(naive_sample *naive, uint64_t block, uint32_t hash, size_t most)
{
    if (hash >= naive->threshold) return;
    const double rate = (double)naive->threshold / 4294967296.0;
    size_t at = naive->count;
    while (at > 0 && naive->block[at - 1] != block) at--;
    if (at > 0) {
        const size_t between = naive->count - at;
        /* Spread over what k/R stands for, by the same pseudo-random numbers. */
        naive->dither = fm_block_sample_next_dither(naive->dither);
        const double aside = ((double)(naive->dither >> 11) * 0x1p-53 - 0.5) * (1 / rate - 1);
        const double distance = fmax(0, (double)between / rate + aside);
        naive->counts[fm_bins_index(FM_BINS_LOGLINEAR, (uint64_t)distance)] += 1 / rate;
        for (size_t i = at; i < naive->count; i++) {
            naive->block[i - 1] = naive->block[i];
            naive->hash[i - 1] = naive->hash[i];
        }
        naive->count--;
    } else {
        naive->cold += 1 / rate;
    }
    naive->block[naive->count] = block;
    naive->hash[naive->count++] = hash;
    if (naive->count <= most) return;
    uint32_t largest = 0;
    for (size_t i = 0; i < naive->count; i++)
        if (naive->hash[i] > largest) largest = naive->hash[i];
    naive->threshold = largest;
    size_t kept = 0;
    for (size_t i = 0; i < naive->count; i++)
        if (naive->hash[i] < largest) {
            naive->block[kept] = naive->block[i];
            naive->hash[kept++] = naive->hash[i];
        }
    naive->count = kept;
}

CASE(test_fixed_number)
{
    const uint64_t seed = from_environment("FATHOM_TEST_SEED", 2015);
    const size_t bins = fm_bins_index(FM_BINS_LOGLINEAR, UINT64_MAX) + 1;
    double *counts = malloc(bins * sizeof *counts);
    assert_non_null(counts);
    for (uint64_t index = 0; index < 1500; index++) {
        recipe made = recipe_make(seed ^ 1, index);
        uint64_t *trace = recipe_trace(&made);
        const size_t most = 1 + index % 50;
        fm_block_sample sample;
        naive_sample naive = {.threshold = UINT64_C(1) << 32, .counts = counts};
        memset(counts, 0, bins * sizeof *counts);
        assert_int_equal(fm_block_sample_create(&sample, 0, most, index, NULL), FM_OK);
        for (size_t i = 0; i < made.length; i++) {
            const uint64_t common = fm_block_sample_common(trace[i]);
            const uint32_t hash = fm_block_sample_hash(&sample, common);
            assert_int_equal(fm_block_sample_reserve(&sample, 1, NULL), FM_OK);
            if (hash < sample.threshold) fm_block_sample_touch(&sample, trace[i], common, hash);
            naive_touch(&naive, trace[i], hash, most);
            assert_int_equal(sample.threshold, naive.threshold);
            assert_int_equal(sample.count, naive.count);
            assert_true(sample.count <= most);
        }
        assert_true(sample.cold == naive.cold);
        assert_memory_equal(sample.counts, counts, bins * sizeof *counts);
        fm_block_sample_clear(&sample);
        free(trace);
    }
    free(counts);
}

/* ---- how many distinct blocks ---- */

CASE(test_sketch)
{
    fm_distinct_sketch *sketch = malloc(sizeof *sketch);
    assert_non_null(sketch);
    double squares = 0, worst = 0;
    unsigned tries = 0;
    for (uint64_t seed = 0; seed < 6; seed++) {
        uint64_t added = 0;
        memset(sketch, 0, sizeof *sketch);
        assert_true(fm_distinct_sketch_count(sketch) == 0);
        for (uint64_t target = 1; target < 3000000; target = target * 3 / 2 + 1) {
            for (; added < target; added++) {
                /* The same block again changes nothing. */
                fm_distinct_sketch_add(sketch, fm_block_sample_common(seed << 40 | added));
                fm_distinct_sketch_add(sketch, fm_block_sample_common(seed << 40 | added / 2));
            }
            const double error = fm_distinct_sketch_count(sketch) / (double)target - 1;
            squares += error * error;
            worst = fmax(worst, fabs(error));
            tries++;
        }
    }
    assert_true(worst < 5 * FM_SKETCH_ERROR);
    assert_true(sqrt(squares / tries) < 1.3 * FM_SKETCH_ERROR);
    free(sketch);
}

/* ---- statistics ---- */

enum { KEYS = 100000, REFERENCES = 1000000 };

static uint64_t *generated(const char *pattern, uint64_t keys, uint64_t references, double skew)
{
    fm_generator_options options = {
        .pattern = pattern, .keys = keys, .references = references, .skew = skew, .seed = 11};
    fm_generator *generator;
    uint64_t *trace = malloc(references * sizeof *trace);
    assert_non_null(trace);
    assert_int_equal(fm_generator_create(&generator, &options, NULL), FM_OK);
    for (uint64_t made = 0; made < references;)
        made += fm_generator_next(generator, trace + made, references - made);
    fm_generator_destroy(generator);
    return trace;
}

static double mean_curve_error(const fm_profile *a, const fm_profile *b)
{
    fm_comparison comparison;
    assert_int_equal(fm_profile_compare(a, b, &comparison, NULL), FM_OK);
    return comparison.curve_mean;
}

/* 95 % of the points, over many hash functions, with some room for chance and for what the bins round. */
CASE(test_band_holds)
{
    static const char *const how[] = {"rate=0.02", "samples=1000", "rate=0.02,hashes=8"};
    uint64_t *trace = generated("zipf", KEYS, REFERENCES, 0.8);
    fm_profile *exact = profile_by("exact", NULL, FM_BINS_LOGLINEAR, trace, REFERENCES);
    for (size_t h = 0; h < sizeof how / sizeof *how; h++) {
        uint64_t points = 0, within = 0;
        for (uint64_t seed = 0; seed < (large_divisor() > 4 ? 2 : few_rounds(16)); seed++) {
            char own[100];
            snprintf(own, sizeof own, "%s,exact-below=256,hash-seed=%" PRIu64, how[h], seed);
            fm_profile *got = profile_by("shards", own, FM_BINS_LOGLINEAR, trace, REFERENCES);
            const fm_accuracy *accuracy = got->accuracy;
            assert_true(accuracy->confidence == 0.95);
            assert_true(accuracy->band_count > 20);
            for (size_t i = 0; i < accuracy->band_count; i++) {
                const double ratio = fm_profile_miss_ratio(exact, accuracy->band[i].blocks);
                points++;
                within += ratio >= accuracy->band[i].least && ratio <= accuracy->band[i].most;
            }
            fm_profile_destroy(got);
        }
        const double share = (double)within / (double)points;
        if (share < 0.92)
            fail_msg("way %zu: the band holds %.3f of the exact curve, expected 0.95", h, share);
    }
    fm_profile_destroy(exact);
    free(trace);
}

CASE(test_mean_error)
{
    static const struct {
        const char *pattern;
        double skew;
    } kinds[] = {{"zipf", 0.99}, {"zipf", 0.7}, {"uniform", 0}};
    /* These must be long, which is too long for sanitizers. */
    const size_t some = large_divisor() == 1 ? 3 : large_divisor() == 4 ? 1 : 0;
    if (some == 0) {
        print_message("SKIP: too long a trace for a sanitizer\n");
        skip();
    }
    for (size_t i = 0; i < some; i++) {
        uint64_t *trace = generated(kinds[i].pattern, 1000000, 4000000, kinds[i].skew);
        fm_profile *exact = profile_by("exact", NULL, FM_BINS_LOGLINEAR, trace, 4000000);
        fm_profile *sampled = profile_by("shards", "rate=0.001", FM_BINS_LOGLINEAR, trace, 4000000);
        fm_profile *fixed = profile_by("shards", "samples=8192", FM_BINS_LOGLINEAR, trace, 4000000);
        fm_profile *model = profile_by("aet", NULL, FM_BINS_LOGLINEAR, trace, 4000000);
        assert_true(mean_curve_error(exact, sampled) <= 0.01);
        assert_true(mean_curve_error(exact, fixed) <= 0.005);
        assert_true(mean_curve_error(exact, model) <= 0.005);
        /* Small distances are not estimated: those below 4096 by default. */
        for (uint64_t blocks = 1; blocks <= 4096; blocks *= 2)
            assert_true(fm_profile_miss_ratio(sampled, blocks) == fm_profile_miss_ratio(exact, blocks));
        fm_profile_destroy(exact);
        fm_profile_destroy(sampled);
        fm_profile_destroy(fixed);
        fm_profile_destroy(model);
        free(trace);
    }
}

CASE(test_memory)
{
    uint64_t *trace = generated("uniform", 1000000, 3000000, 0);
    fm_analyzer_options options = {.engine = "shards", .engine_options = "samples=8192"};
    fm_analyzer *analyzer;
    assert_int_equal(fm_analyzer_create(&analyzer, &options, NULL), FM_OK);
    assert_int_equal(fm_analyzer_feed_blocks(analyzer, trace, 3000000, NULL), FM_OK);
    const uint64_t peak = fm_analyzer_memory_peak(analyzer);
    if (peak > 4 << 20) fail_msg("%" PRIu64 " bytes, expected at most 4 MiB", peak);
    fm_analyzer_destroy(analyzer);
    /* At a rate, memory grows with the blocks: a limit stops it in time. */
    fm_analyzer_options limited = {
        .engine = "shards", .engine_options = "rate=1,exact-below=64", .max_memory = 24 << 20};
    assert_int_equal(fm_analyzer_create(&analyzer, &limited, NULL), FM_OK);
    assert_int_equal(fm_analyzer_feed_blocks(analyzer, trace, 3000000, NULL), FM_E_LIMIT);
    assert_true(fm_analyzer_memory_peak(analyzer) <= 24 << 20);
    fm_analyzer_destroy(analyzer);
    free(trace);
}

/* ---- aet ---- */

CASE(test_model_closed_forms)
{
    enum { LENGTH = 200000 };
    for (uint64_t keys = 1; keys < 20000; keys *= 7) {
        uint64_t *trace = generated("cyclic", keys, LENGTH, 0);
        fm_profile *exact = profile_by("exact", NULL, FM_BINS_LOGLINEAR, trace, LENGTH);
        fm_profile *model = profile_by("aet", NULL, FM_BINS_LOGLINEAR, trace, LENGTH);
        assert_int_equal(model->cold, keys);
        assert_int_equal(model->distances.count, 1);
        /* One reuse time: one distance, up to what the bins of times round. */
        const fm_bin *told = &model->distances.bins[0], *actual = &exact->distances.bins[0];
        assert_int_equal(told->count, LENGTH - keys);
        assert_true((double)told->lo <= (double)actual->hi * 1.02 &&
                    (double)told->hi >= (double)actual->lo * 0.98);
        if (keys < 1024) assert_int_equal(told->lo, keys - 1);
        fm_profile_destroy(exact);
        fm_profile_destroy(model);
        free(trace);
    }
    /* Independent references: the model is right in the limit, and a sample of it nearly so. */
    uint64_t *trace = generated("uniform", 20000, REFERENCES, 0);
    fm_profile *exact = profile_by("exact", NULL, FM_BINS_LOGLINEAR, trace, REFERENCES);
    for (int i = 0; i < 2; i++) {
        fm_profile *model = profile_by("aet", i ? "rate=0.1" : NULL, FM_BINS_LOGLINEAR, trace, REFERENCES);
        assert_true(mean_curve_error(exact, model) <= 0.005);
        fm_profile_destroy(model);
    }
    fm_profile_destroy(exact);
    free(trace);
}

/* ---- wrong wishes ---- */

CASE(test_refusals)
{
    static const uint64_t edges[] = {0, 8};
    const fm_analyzer_options bad[] = {
        {.engine = "shards", .engine_options = "rate=0.1,samples=5"},
        {.engine = "shards", .engine_options = "rate=1.5"},
        {.engine = "shards", .engine_options = "rate=-1"},
        {.engine = "shards", .engine_options = "samples=18446744073709551615"},
        {.engine = "shards", .engine_options = "hashes=33"},
        {.engine = "shards", .bound = 7},
        {.engine = "shards", .time_distances = true},
        {.engine = "shards", .edges = edges, .edge_count = 2},
        {.engine = "aet", .engine_options = "rate=2"},
        {.engine = "aet", .bound = 7},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        fm_analyzer *analyzer;
        assert_int_equal(fm_analyzer_create(&analyzer, &bad[i], NULL), FM_E_ARGUMENT);
        assert_null(analyzer);
    }
}

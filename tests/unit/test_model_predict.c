/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_model_predict.c - models: profiles that grow by known laws are predicted at sizes never seen; models
 * survive files; wrong input is refused; the sampler finds the size of data swept over again and again.
 */
#include "case.h"

#include <fathom/analyzer.h>
#include <fathom/model.h>
#include <fathom/predict.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char path[] = "/tmp/fathom-model-XXXXXX";

static int make_file(void **state)
{
    (void)state;
    int descriptor = mkstemp(path);
    return descriptor < 0 ? -1 : close(descriptor);
}

static int remove_file(void **state)
{
    (void)state;
    return unlink(path);
}

/* ---- profiles that follow a law ---- */

/* Part of the reuses at c + e s^exponent. */
typedef struct part {
    double share, c, e, exponent;
} part;

static fm_profile *lawful(const part *parts, size_t count, double size)
{
    fm_profile *profile;
    assert_int_equal(fm_profile_create(&profile, NULL), FM_OK);
    profile->distances.bins = calloc(count, sizeof(fm_bin));
    profile->distinct = profile->cold = (uint64_t)size;
    profile->references = profile->cold;
    const uint64_t reuses = (uint64_t)(size * 50);
    for (size_t i = 0; i < count; i++) {
        fm_bin *bin = &profile->distances.bins[profile->distances.count++];
        uint64_t distance = (uint64_t)llround(parts[i].c + parts[i].e * pow(size, parts[i].exponent));
        bin->count = (uint64_t)((double)reuses * parts[i].share);
        fm_bins_range(FM_BINS_LOGLINEAR, fm_bins_index(FM_BINS_LOGLINEAR, distance), &bin->lo, &bin->hi);
        profile->references += bin->count;
    }
    return profile;
}

static double overlap_of(const fm_profile *a, const fm_profile *b)
{
    fm_comparison comparison;
    assert_int_equal(fm_profile_compare(a, b, &comparison, NULL), FM_OK);
    return comparison.overlap;
}

static fm_model *trained(const fm_profile *const *profiles, size_t count, const fm_training_options *options)
{
    fm_model *model;
    fm_error error;
    if (fm_model_train(&model, profiles, count, options, &error)) fail_msg("%s", error.reason);
    return model;
}

static const struct {
    unsigned dimensions;
    size_t count;
    part parts[4];
} laws[] = {
    {1, 2, {{0.7, 3, 0, 0}, {0.3, 0, 0.9, 1}}},
    {2, 3, {{0.5, 12, 0, 0}, {0.3, 0, 3, 0.5}, {0.2, 0, 0.8, 1}}},
    {3, 4, {{0.4, 5, 0, 0}, {0.3, 0, 6, 1.0 / 3}, {0.2, 0, 2, 2.0 / 3}, {0.1, 0, 0.9, 1}}},
};

CASE(test_laws_are_found)
{
    for (size_t l = 0; l < sizeof laws / sizeof *laws; l++)
        for (size_t runs = 2; runs <= 4; runs++) {
            fm_profile *profiles[4];
            for (size_t r = 0; r < runs; r++)
                profiles[r] = lawful(laws[l].parts, laws[l].count, 40000 * pow(3, (double)r));
            fm_model *model = trained((const fm_profile *const *)profiles, runs, &(fm_training_options){0});
            /* One dimension needs no roots, so that any choice fits as well. */
            if (laws[l].dimensions > 1) assert_int_equal(model->dimensions, laws[l].dimensions);
            for (size_t p = 0, at = 0; p < laws[l].count; p++) {
                const part *expected = &laws[l].parts[p];
                at += (size_t)lround(expected->share * (double)model->share_count / 2);
                const fm_model_share *share = &model->shares[at];
                if (fabs(fm_growth_exponent(share->growth) - expected->exponent) > 1e-9)
                    fail_msg("law %zu, %zu runs, part %zu: found %s", l, runs, p,
                             fm_growth_name(share->growth));
                assert_true(share->mismatch < 0.05);
                at += (size_t)lround(expected->share * (double)model->share_count / 2);
            }
            double size = 20000;
            for (int step = 0; step < 7; step++, size *= 5) {
                fm_profile *actual = lawful(laws[l].parts, laws[l].count, size), *predicted;
                assert_int_equal(fm_model_predict(model, size, FM_BINS_LOG2, &predicted, NULL), FM_OK);
                assert_false(predicted->exact);
                assert_string_equal(predicted->engine, "predicted");
                const double expected = predicted->accuracy->expected_overlap;
                if (size < 8 * model->runs[runs - 1].size) assert_true(expected > 0.75);
                assert_true(fabs((double)predicted->references / (double)actual->references - 1) < 0.01);
                assert_true(fabs((double)predicted->cold / (double)actual->cold - 1) < 0.01);
                const double overlap = overlap_of(actual, predicted);
                if (overlap < expected)
                    fail_msg("law %zu, %zu runs, size %g: overlap %g, expected %g", l, runs, size, overlap,
                             expected);
                if (overlap < 0.9) fail_msg("law %zu, %zu runs, size %g: overlap %g", l, runs, size, overlap);
                fm_profile_destroy(actual);
                fm_profile_destroy(predicted);
            }
            fm_model_destroy(model);
            for (size_t r = 0; r < runs; r++) fm_profile_destroy(profiles[r]);
        }
}

/* A law that is none of ours: the model must say that it does not fit. */
CASE(test_mistrust)
{
    static const part wild[] = {{0.3, 3, 0, 0}, {0.7, 0, 0.0002, 1.75}};
    fm_profile *profiles[2] = {lawful(wild, 2, 10000), lawful(wild, 2, 20000)};
    fm_model *model = trained((const fm_profile *const *)profiles, 2, &(fm_training_options){0});
    fm_expectation expected;
    assert_int_equal(fm_model_expect(model, 20000.0 * 16, &expected, NULL), FM_OK);
    assert_true(expected.overlap < FM_TRUSTED && !expected.trusted);
    fm_profile *predicted;
    assert_int_equal(fm_model_predict(model, 20000.0 * 16, FM_BINS_LOGLINEAR, &predicted, NULL), FM_OK);
    assert_non_null(strstr(predicted->accuracy->statement, "does not trust"));
    fm_profile_destroy(predicted);
    fm_model_destroy(model);
    for (int i = 0; i < 2; i++) fm_profile_destroy(profiles[i]);
}

static fm_expectation expected_of(const double *sizes, size_t count, double size)
{
    fm_profile *profiles[8];
    for (size_t i = 0; i < count; i++) profiles[i] = lawful(laws[1].parts, laws[1].count, sizes[i]);
    fm_model *model = trained((const fm_profile *const *)profiles, count, &(fm_training_options){0});
    fm_expectation expected;
    assert_int_equal(fm_model_expect(model, size, &expected, NULL), FM_OK);
    assert_true(expected.overlap >= 0 && expected.overlap <= 1 && expected.references_factor >= 1);
    fm_model_destroy(model);
    for (size_t i = 0; i < count; i++) fm_profile_destroy(profiles[i]);
    return expected;
}

/* The law is the same; what is known of it is not. */
CASE(test_doubts)
{
    static const double two[] = {10000, 40000}, twice[] = {10000, 10000, 10500, 40000, 40000};
    static const double four[] = {10000, 20000, 40000, 80000}, narrow[] = {70000, 80000, 90000};
    static const double many[] = {10000, 14000, 20000, 28000, 40000, 56000, 80000, 112000};
    /* Runs of the same size, or nearly so, do not make a third one. */
    assert_int_equal(expected_of(two, 2, 160000).sizes, 2);
    const fm_expectation same = expected_of(twice, 5, 160000);
    assert_int_equal(same.sizes, 2);
    assert_true(same.overlap < 0.97 && same.references_factor > 1.1);
    /* More sizes, more trust. */
    const fm_expectation good = expected_of(four, 4, 160000);
    assert_int_equal(good.sizes, 4);
    assert_true(good.trusted && good.overlap > 0.9 && good.references_factor < 1.1);
    assert_true(good.references_factor < same.references_factor);
    assert_int_equal(expected_of(many, 8, 200000).sizes, 8);
    assert_true(expected_of(many, 8, 200000).trusted);
    /* Farther away, less of it: each power of two takes a part. */
    double last = 1;
    for (double size = 160000; size < 1e8; size *= 8) {
        const fm_expectation far = expected_of(four, 4, size);
        assert_true(fabs(far.octaves - log2(size / 80000)) < 1e-9);
        assert_true(far.overlap < last);
        last = far.overlap;
    }
    assert_true(expected_of(four, 4, 30000).octaves == 0);
    /* What was seen reaches over a third of a power of two: six of them are too far. */
    assert_false(expected_of(narrow, 3, 90000 * 64).trusted);
    /* At the sizes seen, at their edges, and where the counts of the law end. */
    for (double size = 1; size < 1e15; size *= 10) expected_of(four, 4, size);
    for (size_t i = 0; i < 4; i++) assert_true(expected_of(four, 4, four[i]).trusted);
    for (size_t i = 0; i < 5; i++) expected_of(twice, 5, twice[i]);
}

/* Runs of one size that differ: what they do does not follow from the size. */
CASE(test_same_size_differs)
{
    static const double sizes[] = {10000, 20000, 40000, 40000};
    fm_profile *profiles[4];
    for (int i = 0; i < 4; i++) profiles[i] = lawful(laws[0].parts, 2, sizes[i]);
    for (int i = 0; i < 2; i++) {
        profiles[3]->references += 3 * profiles[3]->distances.bins[i].count;
        profiles[3]->distances.bins[i].count *= 4;
    }
    fm_model *model = trained((const fm_profile *const *)profiles, 4, &(fm_training_options){0});
    fm_expectation expected;
    assert_int_equal(fm_model_expect(model, 40000, &expected, NULL), FM_OK);
    assert_true(expected.references_factor > 3.9 && !expected.trusted);
    fm_model_destroy(model);
    for (int i = 0; i < 4; i++) fm_profile_destroy(profiles[i]);
}

/* References that begin with many that do not depend on the size. */
CASE(test_references_are_doubted)
{
    static const double sizes[] = {17, 17, 4001, 64000};
    fm_profile *profiles[4];
    for (int i = 0; i < 4; i++) {
        profiles[i] = lawful(laws[0].parts, 2, sizes[i]);
        profiles[i]->distances.bins[0].count += 5000;
        profiles[i]->references += 5000;
    }
    fm_model *model = trained((const fm_profile *const *)profiles, 3, &(fm_training_options){0});
    fm_profile *predicted;
    assert_int_equal(fm_model_predict(model, 64000, FM_BINS_LOG2, &predicted, NULL), FM_OK);
    const double off = (double)profiles[3]->references / (double)predicted->references;
    assert_true(off > 2);
    assert_true(predicted->accuracy->references_least <= profiles[3]->references);
    assert_true(predicted->accuracy->references_most >= profiles[3]->references);
    assert_true(predicted->accuracy->expected_overlap < overlap_of(profiles[3], predicted));
    assert_non_null(strstr(predicted->accuracy->statement, "two sizes only"));
    assert_non_null(strstr(predicted->accuracy->statement, "does not trust"));
    assert_true(predicted->complete);
    fm_profile_destroy(predicted);
    /* What was learnt from incomplete input stays incomplete. */
    model->runs[1].incomplete = true;
    assert_int_equal(fm_model_predict(model, 64000, FM_BINS_LOG2, &predicted, NULL), FM_OK);
    assert_false(predicted->complete);
    assert_non_null(predicted->what_missing);
    fm_profile_destroy(predicted);
    fm_model_destroy(model);
    for (int i = 0; i < 4; i++) fm_profile_destroy(profiles[i]);
}

CASE(test_through_a_file)
{
    fm_profile *profiles[2] = {lawful(laws[2].parts, 4, 10000), lawful(laws[2].parts, 4, 90000)};
    profiles[0]->name = strdup("small \"one\"");
    profiles[0]->complete = false;
    static const double sizes[] = {21.5, 65};
    fm_model *model = trained((const fm_profile *const *)profiles, 2,
                              &(fm_training_options){.percent = 2.5, .dimensions = 3, .sizes = sizes});
    fm_model *read;
    assert_int_equal(model->share_count, 40);
    assert_int_equal(fm_model_write(path, model, NULL), FM_OK);
    assert_int_equal(fm_model_read(path, &read, NULL), FM_OK);
    assert_int_equal(read->granularity, model->granularity);
    assert_int_equal(read->dimensions, 3);
    assert_true(read->percent == model->percent);
    assert_int_equal(read->run_count, 2);
    assert_string_equal(read->runs[0].name, "small \"one\"");
    assert_null(read->runs[1].name);
    assert_true(read->runs[0].size == 21.5);
    assert_int_equal(read->runs[1].references, profiles[1]->references);
    assert_int_equal(read->runs[1].distance_count, 40);
    for (size_t i = 0; i < 40; i++) assert_true(read->runs[1].distances[i] == model->runs[1].distances[i]);
    assert_true(read->runs[0].incomplete && !read->runs[1].incomplete);
    assert_true(read->references_factor == model->references_factor);
    assert_true(read->references_exponent == model->references_exponent);
    assert_true(read->distinct_c == model->distinct_c && read->distinct_e == model->distinct_e);
    assert_int_equal(read->share_count, 40);
    for (size_t i = 0; i < 40; i++) {
        assert_int_equal(read->shares[i].growth, model->shares[i].growth);
        assert_true(read->shares[i].c == model->shares[i].c && read->shares[i].e == model->shares[i].e);
        assert_true(read->shares[i].mismatch == model->shares[i].mismatch);
    }
    fm_model_destroy(read);
    fm_model_destroy(model);
    for (int i = 0; i < 2; i++) fm_profile_destroy(profiles[i]);
}

#define RUN(size, references, distances)                                                                     \
    "{\"size\": " size ", \"references\": " references ", \"distinct\": 1, \"distances\": [" distances "]}"
#define MODEL(one, other)                                                                                    \
    "{\"schema\": \"fathom-model-1\", \"granularity\": 1, \"dimensions\": 1, \"references_factor\": 1, "     \
    "\"runs\": [" one ", " other "], \"shares\": [[\"linear\", 0, 0, 0], [\"linear\", 0, 0, 0]]}"

static void write_file(const char *text)
{
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(text, file);
    assert_int_equal(fclose(file), 0);
}

CASE(test_wrong_files)
{
    static const char *const wrong[] = {
        "", "[]",
        /* NOLINTBEGIN(bugprone-suspicious-missing-comma): long ones go on in the next line */
        "{}", "{\"schema\": \"fathom-profile-1\"}", "{\"schema\": \"fathom-model-1\"}",
        "{\"schema\": \"fathom-model-1\", \"dimensions\": 4}",
        "{\"schema\": \"fathom-model-1\", \"shares\": [[\"cubic\", 0, 0, 0]]}",
        "{\"schema\": \"fathom-model-1\", \"shares\": [[\"linear\", 0, 0]]}",
        "{\"schema\": \"fathom-model-1\", \"shares\": [[\"linear\", 0, 0, 0, 0]]}",
        "{\"schema\": \"fathom-model-1\", \"runs\": [], \"runs\": [{\"size\": -1}]}",
        "{\"schema\": \"fathom-model-1\", \"granularity\": 1, \"dimensions\": 1, \"references_factor\": 1,"
        "\"runs\": [{\"size\": 9}, {\"size\": 2}], \"shares\": [[\"linear\", 0, 0, 0], [\"linear\", 0, 0, "
        "0]]}",
        "{\"schema\": \"fathom-model-1\", \"granularity\": 3, \"dimensions\": 1, \"references_factor\": 1,"
        "\"runs\": [{\"size\": 1}, {\"size\": 2}], \"shares\": [[\"linear\", 0, 0, 0], [\"linear\", 0, 0, "
        "0]]}",
        /* No distances; too few of them; ones that cannot be; no references; one size only. */
        MODEL("{\"size\": 1, \"references\": 9, \"distinct\": 1}", RUN("9", "9", "1, 2")),
        MODEL(RUN("1", "9", "1"), RUN("9", "9", "1, 2")),
        MODEL(RUN("1", "9", "1, -2"), RUN("9", "9", "1, 2")),
        MODEL(RUN("1", "9", "1, 1e99"), RUN("9", "9", "1, 2")),
        MODEL(RUN("1", "0", "1, 2"), RUN("9", "9", "1, 2")),
        MODEL(RUN("9", "9", "1, 2"), RUN("9.5", "9", "1, 2")),
        MODEL(RUN("1", "9", "1, 2"), RUN("1e999", "9", "1, 2")),
        /* NOLINTEND(bugprone-suspicious-missing-comma) */
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        fm_model *model;
        write_file(wrong[i]);
        if (fm_model_read(path, &model, NULL) != FM_E_FORMAT) fail_msg("taken: %s", wrong[i]);
        assert_null(model);
    }
    /* The like of them that is right. */
    fm_model *model;
    write_file(MODEL(RUN("1", "9", "1, 2"), RUN("9", "9", "1, 2")));
    assert_int_equal(fm_model_read(path, &model, NULL), FM_OK);
    fm_model_destroy(model);
}

CASE(test_refusals)
{
    fm_profile *small = lawful(laws[0].parts, 2, 1000), *large = lawful(laws[0].parts, 2, 4000);
    const fm_profile *two[] = {small, large}, *same[] = {small, small};
    fm_model *model;
    assert_int_equal(fm_model_train(&model, two, 1, &(fm_training_options){0}, NULL), FM_E_ARGUMENT);
    assert_int_equal(fm_model_train(&model, same, 2, &(fm_training_options){0}, NULL), FM_E_ARGUMENT);
    assert_int_equal(fm_model_train(&model, two, 2, &(fm_training_options){.percent = 70}, NULL),
                     FM_E_ARGUMENT);
    assert_int_equal(fm_model_train(&model, two, 2, &(fm_training_options){.dimensions = 4}, NULL),
                     FM_E_ARGUMENT);
    large->granularity = 64;
    assert_int_equal(fm_model_train(&model, two, 2, &(fm_training_options){0}, NULL), FM_E_ARGUMENT);
    large->granularity = 1;
    large->bound = 10;
    assert_int_equal(fm_model_train(&model, two, 2, &(fm_training_options){0}, NULL), FM_E_ARGUMENT);
    large->bound = 0;
    model = trained(two, 2, &(fm_training_options){0});
    fm_profile *predicted;
    assert_int_equal(fm_model_predict(model, 0, FM_BINS_LOG2, &predicted, NULL), FM_E_ARGUMENT);
    assert_int_equal(fm_model_predict(model, NAN, FM_BINS_LOG2, &predicted, NULL), FM_E_ARGUMENT);
    assert_int_equal(fm_model_predict(model, 1e30, FM_BINS_LOG2, &predicted, NULL), FM_E_ARGUMENT);
    fm_model_destroy(model);
    fm_model_destroy(NULL);
    fm_profile_destroy(small);
    fm_profile_destroy(large);
}

/* ---- sampling ---- */

/* Sweeps over SIZE blocks: all reuses at SIZE - 1. Between the sweeps, a few blocks go round and round. */
CASE(test_sampler_finds_sweeps)
{
    enum { SIZE = 5000, SWEEPS = 4 };
    for (unsigned samples = 1; samples <= 8; samples++) {
        fm_sampler *sampler;
        assert_int_equal(
            fm_sampler_create(&sampler, &(fm_sampler_options){.threshold = 1000, .samples = samples}, NULL),
            FM_OK);
        uint64_t size = 0, after = 0;
        for (int sweep = 0; sweep < SWEEPS; sweep++)
            for (uint64_t block = 0; block < SIZE; block++) {
                const uint64_t blocks[] = {block, SIZE + 7, SIZE + 7};
                const uint64_t distances[] = {sweep ? SIZE : FM_COLD, block || sweep ? 1 : FM_COLD, 0};
                assert_int_equal(fm_sampler_feed(sampler, blocks, distances, 3, NULL), FM_OK);
            }
        assert_true(fm_sampler_found(sampler, &size, &after));
        assert_int_equal(size, SIZE + 1);
        /* The peaks of the second sweep are known in the third. */
        assert_true(after > 2 * 3 * SIZE && after <= 3 * 3 * SIZE);
        size_t count;
        const fm_data_sample *found = fm_sampler_samples(sampler, &count);
        assert_true(count >= samples);
        for (size_t i = 0; i < count; i++) {
            assert_int_equal(found[i].count, SWEEPS - 1);
            for (size_t j = 0; j < i; j++)
                assert_true(llabs((long long)found[i].block - (long long)found[j].block) >= SIZE / 10);
        }
        fm_sampler_destroy(sampler);
    }
}

CASE(test_peaks)
{
    fm_time_sample times[] = {{0, 50}, {1, 90}, {2, 93}, {3, 20}, {4, 30}, {5, 10}, {6, 80}, {7, 90}};
    static const bool peaks[] = {false, true, true, false, true, false, false, false};
    fm_data_sample sample = {.count = 8, .times = times};
    for (size_t i = 0; i < 8; i++) assert_int_equal(fm_time_sample_is_peak(&sample, i), peaks[i]);
}

CASES_WITH(make_file, remove_file);

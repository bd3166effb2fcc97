/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_sample_survival.c - time distances from watches and bursts: a published example, the definition of the
 * product-limit estimate worked out naively, the paper's attribution by hand.
 */
#include "case.h"

#include "model/sample_internal.h"

#include <math.h>
#include <stdlib.h>

#include "sample_builder.h"

enum { REFERENCES = 1000000000 };

/* Remission of 21 patients under 6-MP (Freireich et al., Blood 1963), the standard example of Kaplan-Meier:
 * minus is cut off. */
CASE(the_textbook_example)
{
    static const int weeks[] = {6,   6,   6,   -6, 7,  -9,  10,  -10, -11, 13, 16,
                                -17, -19, -20, 22, 23, -25, -32, -32, -34, -35};
    fm_samples *samples = samples_of_one(REFERENCES);
    for (size_t i = 0; i < sizeof weeks / sizeof *weeks; i++)
        put_watch(samples, (fm_sample_watch){.at = i,
                                             .length = (uint64_t)abs(weeks[i]),
                                             .end = weeks[i] > 0 ? FM_WATCH_USED : FM_WATCH_REPLACED});
    fm_estimate *estimate = estimate_by(samples, "capped", NULL);
    static const struct {
        uint64_t week;
        double survive;
    } published[] = {{6, .857}, {7, .807}, {10, .753}, {13, .690}, {16, .627}, {22, .538}, {23, .448}};
    for (size_t i = 0; i < sizeof published / sizeof *published; i++) {
        const double ended = (double)times_within(estimate->profile, 1, published[i].week) / REFERENCES;
        assert_true(fabs(1 - ended - published[i].survive) < 0.0006);
    }
    /* What is left is never used again, as far as anybody knows. */
    assert_true(fabs((double)estimate->profile->cold / REFERENCES - .448) < 0.0006);
    fm_estimate_destroy(estimate);
    fm_samples_destroy(samples);
}

typedef struct observation {
    uint64_t from, length;
    fm_sample_watch_end end;
    double weight;
} observation;

/* What was used again by t, by its definition: the sum over all times of the share that was left, times those
 * used again then over those in view. What is left shrinks by those and by those that the end of the thread
 * ended. Times are below 1000. */
static double naive_reused(const observation *all, size_t count, uint64_t upto)
{
    double left = 1, reused = 0;
    for (uint64_t t = 1; t <= upto; t++) {
        double there = 0, again = 0, never = 0;
        for (size_t i = 0; i < count; i++) {
            if (all[i].from >= t || all[i].length < t) continue;
            there += all[i].weight;
            if (all[i].length == t && all[i].end == FM_WATCH_USED) again += all[i].weight;
            if (all[i].length == t && all[i].end == FM_WATCH_NEVER) never += all[i].weight;
        }
        if (there <= 0) continue;
        reused += left * again / there;
        left *= 1 - (again + never) / there;
    }
    return reused;
}

static void compare_with_naive(const fm_profile *profile, const observation *all, size_t count)
{
    for (uint64_t t = 1; t < 1000; t += 7) {
        const double ended = (double)times_within(profile, 1, t) / (double)profile->references;
        assert_true(fabs(ended - naive_reused(all, count, t)) < 1e-7);
    }
}

/* Weights, late entries, ends of all kinds. */
CASE(random_observations)
{
    uint64_t random = 5;
    for (int round = 0; round < 20; round++) {
        enum { COUNT = 200 };
        observation all[COUNT];
        fm_samples *samples = samples_of_one(REFERENCES);
        for (size_t i = 0; i < COUNT; i++) {
            observation *one = &all[i];
            one->from = i < 20 || test_random(&random, 2) ? 0 : test_random(&random, 300);
            one->length = one->from + 1 + test_random(&random, 600);
            one->end = (fm_sample_watch_end)test_random(&random, 3);
            const double armed = 1.0 / (double)(1 + test_random(&random, 9));
            one->weight = (double)(1 + test_random(&random, 5)) / armed;
            put_watch(samples, (fm_sample_watch){.at = i,
                                                 .from = one->from,
                                                 .length = one->length,
                                                 .end = one->end,
                                                 .weight = one->weight * armed,
                                                 .armed = armed});
        }
        fm_estimate *estimate = estimate_by(samples, NULL, NULL);
        compare_with_naive(estimate->profile, all, COUNT);
        fm_estimate_destroy(estimate);
        fm_samples_destroy(samples);
    }
}

/* A burst is its uses, each watched from the beginning; a watch of it stands for those that were cut off. */
CASE(a_burst_is_its_uses)
{
    uint64_t random = 11;
    enum { BURSTS = 12, USES = 40, LENGTH = 80 };
    observation all[BURSTS * (USES + 1)];
    size_t count = 0;
    fm_samples *samples = samples_of_one(REFERENCES);
    for (uint64_t b = 0; b < BURSTS; b++) {
        fm_burst_reuse found[USES], cut[USES];
        fm_burst burst = {.at = b * 1000, .length = LENGTH, .uses = USES, .found = found, .cut = cut};
        burst.weight = 100 + (double)test_random(&random, 900);
        uint64_t picked = 0;
        for (uint64_t use = 0; use < USES; use++) {
            const uint64_t time = 1 + test_random(&random, 120);
            const bool seen = use + time < LENGTH;
            all[count++] = (observation){0, seen ? time : LENGTH - 1 - use,
                                         seen ? FM_WATCH_USED : FM_WATCH_REPLACED, burst.weight / USES};
            if (seen)
                found[burst.found_count++] = (fm_burst_reuse){.time = time, .count = 1};
            else
                cut[burst.cut_count++] = (fm_burst_reuse){.time = picked = LENGTH - 1 - use, .count = 1};
        }
        assert_int_equal(fm_samples_add_burst(samples, &burst, NULL), FM_OK);
        if (burst.cut_count == 0) continue;
        const uint64_t length = picked + 1 + test_random(&random, 500);
        const double weight = burst.weight * (double)burst.cut_count / USES;
        const fm_sample_watch_end end = (fm_sample_watch_end)test_random(&random, 3);
        all[count++] = (observation){picked, length, end, weight};
        put_watch(samples, (fm_sample_watch){.at = burst.at,
                                             .from = picked,
                                             .length = length,
                                             .end = end,
                                             .weight = weight,
                                             .burst = fm_samples_bursts(samples)});
    }
    fm_estimate *estimate = estimate_by(samples, NULL, NULL);
    compare_with_naive(estimate->profile, all, count);
    assert_int_equal(estimate->profile->sampling->bursts, BURSTS);
    assert_int_equal(estimate->profile->sampling->burst_uses, BURSTS * USES);
    fm_estimate_destroy(estimate);

    /* With a reach, watches count from there on and bursts until there. */
    fm_estimate_options options = {.reach = 60, .bootstrap = 1};
    assert_int_equal(fm_estimate_create(&estimate, samples, &options, NULL), FM_OK);
    observation kept[BURSTS * (USES + 1)];
    size_t kept_count = 0;
    for (size_t i = 0; i < count; i++) {
        observation one = all[i];
        if (one.from > 0) {
            one.from = one.from > 60 ? one.from : 60;
            if (one.length <= one.from) continue;
        } else if (one.length >= 60) {
            one.length = 60;
            one.end = FM_WATCH_REPLACED;
        }
        kept[kept_count++] = one;
    }
    compare_with_naive(estimate->profile, kept, kept_count);
    fm_estimate_destroy(estimate);
    fm_samples_destroy(samples);
}

/* A thread that ends within a burst: what the burst cut off was never used again. */
CASE(a_burst_at_the_end)
{
    fm_samples *samples = samples_of_one(1000);
    fm_burst_reuse found = {.time = 2, .count = 6}, cut = {.use = 3, .time = 4, .count = 2};
    fm_burst burst = {.ended = 1,
                      .length = 10,
                      .uses = 8,
                      .weight = 8,
                      .found = &found,
                      .found_count = 1,
                      .cut = &cut,
                      .cut_count = 1};
    assert_int_equal(fm_samples_add_burst(samples, &burst, NULL), FM_OK);
    fm_estimate *estimate = estimate_by(samples, NULL, NULL);
    assert_int_equal(estimate->profile->cold, 250);
    assert_int_equal(times_within(estimate->profile, 2, 2), 750);
    bool seen = false;
    for (size_t i = 0; i < estimate->pair_count; i++)
        if (estimate->pairs[i].never) {
            assert_int_equal(estimate->pairs[i].use, 3);
            assert_true(fabs(estimate->pairs[i].references - 250) < 1e-6);
            seen = true;
        }
    assert_true(seen);
    fm_estimate_destroy(estimate);
    fm_samples_destroy(samples);
}

/* ---- the paper's ---- */

/*
 * By hand, period 10, one register. Context 1 is sampled at 10, 20 and 30; the watch of 10 traps at 35, and
 * so stands for three; the others found no register, and that of 40 came after the trap. Context 2 is sampled
 * at 50, and traps at 52: one. Another thread's sample at 15 in context 1 is not counted.
 */
CASE(proportional_attribution_by_hand)
{
    fm_samples *samples = samples_of_one(4000);
    uint32_t other;
    assert_int_equal(fm_samples_add_thread(samples, 4000, &other, NULL), FM_OK);
    const fm_sample_watch watches[] = {
        {.at = 10, .length = 25, .end = FM_WATCH_USED, .use = 1, .reuse = 9},
        {.at = 20, .end = FM_WATCH_NOT_ARMED, .use = 1},
        {.at = 30, .end = FM_WATCH_NOT_ARMED, .use = 1},
        {.at = 40, .end = FM_WATCH_NOT_ARMED, .use = 1},
        {.at = 50, .length = 2, .end = FM_WATCH_USED, .use = 2, .reuse = 8},
        {.at = 55, .length = 500, .end = FM_WATCH_NEVER, .use = 2},
        {.at = 15, .end = FM_WATCH_NOT_ARMED, .use = 1, .thread = other},
    };
    for (size_t i = 0; i < sizeof watches / sizeof *watches; i++) {
        fm_sample_watch watch = watches[i];
        watch.weight = 10;
        put_watch(samples, watch);
    }
    fm_estimate *estimate = estimate_by(samples, "rdx", NULL);
    assert_int_equal(times_within(estimate->profile, 25, 25), 6000);
    assert_int_equal(times_within(estimate->profile, 2, 2), 2000);
    assert_int_equal(estimate->profile->cold, 0);
    assert_string_equal(estimate->profile->sampling->conversion, "shen");
    assert_int_equal(estimate->profile->sampling->not_armed, 4);
    assert_int_equal(estimate->pair_count, 2);
    assert_int_equal(estimate->pairs[0].use, 1);
    assert_int_equal(estimate->pairs[0].reuse, 9);
    assert_true(fabs(estimate->pairs[0].references - 6000) < 1e-6);
    fm_estimate_destroy(estimate);

    estimate = estimate_by(samples, "rdx-trapped", NULL);
    assert_int_equal(times_within(estimate->profile, 25, 25), 4000);
    assert_int_equal(times_within(estimate->profile, 2, 2), 4000);
    fm_estimate_destroy(estimate);
    fm_samples_destroy(samples);
}

/* A context other than the code of the use. */
CASE(contexts_of_calls)
{
    fm_samples *samples = samples_of_one(600);
    for (uint32_t i = 0; i < 2; i++) {
        put_watch(samples,
                  (fm_sample_watch){.at = 10 + i, .length = 100 + 50 * i, .use = 1, .context = 7 + i});
        put_watch(samples,
                  (fm_sample_watch){.at = 20 + i, .end = FM_WATCH_NOT_ARMED, .use = 1, .context = 7});
    }
    fm_estimate *estimate = estimate_by(samples, "rdx", NULL);
    assert_int_equal(times_within(estimate->profile, 100, 100), 450);
    assert_int_equal(times_within(estimate->profile, 150, 150), 150);
    fm_estimate_destroy(estimate);
    fm_samples_destroy(samples);
}

/* Horvitz-Thompson: 1/(armed kept), over what was seen to its end. */
CASE(both_probabilities)
{
    fm_samples *samples = samples_of_one(1400);
    put_watch(samples, (fm_sample_watch){.at = 1, .length = 5, .armed = 0.5, .kept = 0.5}); /* 4 */
    put_watch(samples, (fm_sample_watch){.at = 2, .length = 9, .armed = 1, .kept = 0.25});  /* 4 */
    put_watch(
        samples,
        (fm_sample_watch){
            .at = 3, .length = 90, .end = FM_WATCH_NEVER, .armed = 0.5, .kept = 1, .weight = 3}); /* 6 */
    put_watch(samples, (fm_sample_watch){.at = 4, .length = 70, .end = FM_WATCH_REPLACED});       /* 0 */
    fm_estimate *estimate = estimate_by(samples, "horvitz-thompson", NULL);
    assert_int_equal(times_within(estimate->profile, 5, 5), 400);
    assert_int_equal(times_within(estimate->profile, 9, 9), 400);
    assert_int_equal(estimate->profile->cold, 600);
    fm_estimate_destroy(estimate);
    fm_samples_destroy(samples);
}

/* Threads of one process, and of two that are merged, are the same. Weights decide, not numbers. */
CASE(threads_and_processes_add_up)
{
    fm_samples *together = samples_of_one(3000), *first = samples_of_one(3000),
               *second = samples_of_one(1000);
    uint32_t other;
    assert_int_equal(fm_samples_add_thread(together, 1000, &other, NULL), FM_OK);
    for (uint64_t i = 0; i < 30; i++) {
        fm_sample_watch watch = {.at = i, .length = 10 + i % 3, .weight = 100};
        put_watch(together, watch);
        put_watch(first, watch);
    }
    for (uint64_t i = 0; i < 100; i++) {
        fm_burst_reuse found = {.time = 50, .count = 1};
        fm_burst burst = {
            .at = i * 100, .length = 100, .uses = 1, .weight = 10, .found = &found, .found_count = 1};
        assert_int_equal(fm_samples_add_burst(second, &burst, NULL), FM_OK);
        burst.thread = other;
        assert_int_equal(fm_samples_add_burst(together, &burst, NULL), FM_OK);
        fm_sample_watch watch = {.at = i * 100, .from = 60, .length = 80, .burst = i + 1};
        put_watch(second, watch);
        watch.thread = other;
        put_watch(together, watch);
    }
    assert_int_equal(fm_samples_merge(first, second, NULL), FM_OK);
    assert_int_equal(fm_samples_watches(first), 130);
    assert_int_equal(fm_samples_bursts(first), 100);
    fm_estimate *a = estimate_by(together, NULL, NULL), *b = estimate_by(first, NULL, NULL);
    assert_int_equal(a->profile->references, 4000);
    assert_int_equal(b->profile->references, 4000);
    assert_int_equal(times_within(a->profile, 50, 50), 1000);
    assert_int_equal(times_within(a->profile, 10, 12), 3000);
    assert_int_equal(a->profile->times.count, b->profile->times.count);
    for (size_t i = 0; i < a->profile->times.count; i++)
        assert_int_equal(a->profile->times.bins[i].count, b->profile->times.bins[i].count);
    fm_estimate_destroy(a);
    fm_estimate_destroy(b);
    fm_samples_destroy(together);
    fm_samples_destroy(first);
    fm_samples_destroy(second);
}

/* ---- arguments ---- */

CASE(wrong_observations_are_refused)
{
    fm_samples *samples = samples_of_one(100);
    const fm_sample_watch watches[] = {
        {.thread = 1, .length = 1, .weight = 1, .armed = 1},
        {.length = 1, .weight = 0, .armed = 1},
        {.length = 1, .weight = INFINITY, .armed = 1},
        {.length = 1, .weight = 1, .armed = 0},
        {.length = 1, .weight = 1, .armed = 1.5},
        {.length = 1, .weight = 1, .armed = 1, .kept = -1},
        {.length = 0, .weight = 1, .armed = 1},
        {.length = 5, .from = 6, .weight = 1, .armed = 1, .end = FM_WATCH_REPLACED},
        {.length = UINT64_MAX, .weight = 1, .armed = 1},
        {.length = 1, .weight = 1, .armed = 1, .burst = 1},
        {.length = 1, .weight = 1, .armed = 1, .end = (fm_sample_watch_end)4},
    };
    for (size_t i = 0; i < sizeof watches / sizeof *watches; i++)
        assert_int_equal(fm_samples_add_watch(samples, &watches[i], NULL), FM_E_ARGUMENT);
    fm_burst_reuse found = {.time = 4, .count = 2}, none = {.time = 0, .count = 2};
    const fm_burst bursts[] = {
        {.thread = 1, .length = 10, .uses = 2, .weight = 1, .found = &found, .found_count = 1},
        {.length = 10, .uses = 2, .weight = -1, .found = &found, .found_count = 1},
        {.length = 10, .uses = 0, .weight = 1},
        {.length = 10, .uses = 11, .weight = 1},
        {.length = 10, .uses = 3, .weight = 1, .found = &found, .found_count = 1},
        {.length = 4, .uses = 2, .weight = 1, .found = &found, .found_count = 1},
        {.length = 10, .uses = 2, .weight = 1, .found = &none, .found_count = 1},
    };
    for (size_t i = 0; i < sizeof bursts / sizeof *bursts; i++)
        assert_int_equal(fm_samples_add_burst(samples, &bursts[i], NULL), FM_E_ARGUMENT);
    assert_int_equal(fm_samples_watches(samples) + fm_samples_bursts(samples), 0);
    assert_int_equal(fm_samples_merge(samples, samples, NULL), FM_E_ARGUMENT);
    fm_samples_destroy(samples);
    const fm_samples_options odd = {.granularity = 48};
    assert_int_equal(fm_samples_create(&samples, &odd, NULL), FM_E_ARGUMENT);
}

static fm_status try_estimate(const fm_samples *samples, fm_estimate_options options)
{
    fm_estimate *estimate;
    const fm_status status = fm_estimate_create(&estimate, samples, &options, NULL);
    assert_true((estimate != NULL) == (status == FM_OK));
    fm_estimate_destroy(estimate);
    return status;
}

CASE(wrong_options_are_refused)
{
    fm_samples *samples = samples_of_one(100);
    /* Nothing was seen. */
    assert_int_equal(try_estimate(samples, (fm_estimate_options){0}), FM_E_ARGUMENT);
    put_watch(samples, (fm_sample_watch){.end = FM_WATCH_NOT_ARMED});
    assert_int_equal(try_estimate(samples, (fm_estimate_options){0}), FM_E_ARGUMENT);
    put_watch(samples, (fm_sample_watch){.at = 5, .length = 9});
    assert_int_equal(try_estimate(samples, (fm_estimate_options){0}), FM_OK);
    const uint64_t down[] = {0, 5, 5}, not_from_0[] = {1, 2};
    const fm_estimate_options wrong[] = {
        {.estimator = "none"},
        {.conversion = "none"},
        {.confidence = 1},
        {.confidence = -0.5},
        {.blocks = 1000000},
        {.bootstrap = 100000000},
        {.reach = 100},
        {.edges = down, .edge_count = 3},
        {.edges = down, .edge_count = 0},
        {.edges = not_from_0, .edge_count = 2},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        assert_int_equal(try_estimate(samples, wrong[i]), FM_E_ARGUMENT);
    assert_int_equal(try_estimate(samples, (fm_estimate_options){.bins = FM_BINS_EXACT}), FM_E_UNSUPPORTED);
    /* kept is not known. */
    assert_int_equal(try_estimate(samples, (fm_estimate_options){.estimator = "horvitz-thompson"}),
                     FM_E_UNSUPPORTED);
    fm_burst_reuse found = {.time = 4, .count = 2};
    fm_burst burst = {.length = 10, .uses = 2, .weight = 1, .found = &found, .found_count = 1};
    assert_int_equal(fm_samples_add_burst(samples, &burst, NULL), FM_OK);
    assert_int_equal(try_estimate(samples, (fm_estimate_options){.estimator = "rdx"}), FM_E_UNSUPPORTED);
    assert_int_equal(try_estimate(samples, (fm_estimate_options){.estimator = "kaplan-meier"}), FM_OK);
    assert_int_equal(try_estimate(samples, (fm_estimate_options){.reach = 5}), FM_OK);
    assert_int_equal(fm_samples_set_references(samples, 0, 0, NULL), FM_OK);
    assert_int_equal(try_estimate(samples, (fm_estimate_options){0}), FM_E_ARGUMENT);
    fm_samples_destroy(samples);
}

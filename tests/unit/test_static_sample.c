/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_static_sample.c - sampled reuses: exact where every access is drawn, and within the band in at least
 * 95 of 100 repetitions where not; against distances by a list.
 */
#include "case.h"

#include "static/oracle/oracle.h"
#include "static/polyhedra/polyhedra.h"
#include "static_samples.h"

typedef struct truth {
    sample_lowered lowered;
    sample_points points;
    sample_distance *distances;
    size_t blocks;
    fm_reuses reuses;
} truth;

static void find_truth(truth *self, const char *text, uint64_t granularity, uint64_t sets)
{
    sample_lower(&self->lowered, text, granularity, FM_LAYOUT_CONTIGUOUS);
    sample_all_points(&self->points, &self->lowered.list);
    self->distances = sample_distances(&self->points, sets, &self->blocks);
    assert_int_equal(fm_reuses_create(&self->reuses, self->lowered.list.count, NULL), FM_OK);
    for (size_t i = 0; i < self->points.count; i++) {
        const sample_distance *one = &self->distances[i];
        const uint32_t to = self->points.points[i].reference;
        if (one->before == SIZE_MAX)
            self->reuses.firsts[to]++;
        else
            assert_int_equal(fm_reuses_add(&self->reuses, one->distance,
                                           self->points.points[one->before].reference, to, 1, NULL),
                             FM_OK);
    }
    fm_reuses_sort(&self->reuses);
}

static void forget_truth(truth *self)
{
    fm_reuses_clear(&self->reuses);
    free(self->distances);
    free(self->points.points);
    sample_clear(&self->lowered);
}

static void check_sums(const fm_reuses *reuses, const truth *right)
{
    uint64_t sum = reuses->first_touches, firsts = 0;
    assert_int_equal(reuses->accesses, right->points.count);
    assert_int_equal(reuses->first_touches, right->blocks);
    for (size_t i = 0; i < reuses->count; i++) sum += reuses->items[i].count;
    assert_int_equal(sum, reuses->accesses);
    for (size_t i = 0; i < reuses->reference_count; i++) firsts += reuses->firsts[i];
    assert_int_equal(firsts, reuses->first_touches);
}

/* Every access is drawn: all of it is exact, pairs too. */
CASE(test_everything)
{
    sample_text text;
    for (uint64_t seed = 0; seed < 100; seed++) {
        truth right;
        fm_sampled_reuses sampled;
        fm_error error;
        sample_region(&text, seed);
        find_truth(&right, text.text, 64, seed % 3 == 0 ? 2 : 0);
        const fm_sample_options options = {.samples = right.points.count + 5, .sets = seed % 3 == 0 ? 2 : 0};
        assert_int_equal(fm_sample(&sampled, &right.lowered.list, &options, &error), FM_OK);
        assert_true(sampled.exact && sampled.band == 0);
        check_sums(&sampled.reuses, &right);
        assert_int_equal(sampled.reuses.count, right.reuses.count);
        for (size_t i = 0; i < right.reuses.count; i++)
            assert_memory_equal(&sampled.reuses.items[i], &right.reuses.items[i],
                                sizeof right.reuses.items[i]);
        for (size_t i = 0; i < right.reuses.reference_count; i++)
            assert_int_equal(sampled.reuses.firsts[i], right.reuses.firsts[i]);
        fm_sampled_reuses_clear(&sampled);
        forget_truth(&right);
    }
}

/* Accesses that hit in a cache of more than `distance` blocks, for each item: the largest difference, as a
 * share. */
static double largest_error(const fm_reuses *sampled, const fm_reuses *right, double accesses)
{
    size_t i = 0, k = 0;
    double hits = 0, true_hits = 0, error = 0;
    while (i < sampled->count || k < right->count) {
        uint64_t distance = UINT64_MAX;
        if (i < sampled->count) distance = sampled->items[i].distance;
        if (k < right->count && right->items[k].distance < distance) distance = right->items[k].distance;
        for (; i < sampled->count && sampled->items[i].distance == distance; i++)
            hits += (double)sampled->items[i].count;
        for (; k < right->count && right->items[k].distance == distance; k++)
            true_hits += (double)right->items[k].count;
        const double now = (hits > true_hits ? hits - true_hits : true_hits - hits) / accesses;
        if (now > error) error = now;
    }
    return error;
}

#define BEGIN "fathom-region 1\n"

CASE(test_band)
{
    static const char *const texts[] = {
        BEGIN "param n = 14 array A[n][n] of 8 array B[n][n] of 8 array C[n][n] of 8 for i = 0 to n - 1 { "
              "for j = 0 to n - "
              "1 { for k = 0 to n - 1 { do { load C[i][j] load A[i][k] load B[k][j] store C[i][j] } } } }",
        BEGIN
        "param n = 30 array L[n][n] of 8 array x[n] of 8 for i = 0 to n - 1 { for j = 0 to i - 1 { do { load "
        "L[i][j] load x[j] load x[i] store x[i] } } }",
        BEGIN "param n = 2000 array A[n] of 64 for t = 0 to 1 { for i = 0 to n - 1 { do { load A[i] } } }",
        BEGIN "param n = 3000 array A[n] of 16 for i = 0 to n - 1 { do { load A[i] } }",
    };
    enum { TRIALS = 1000, SAMPLES = 60 };
    for (size_t t = 0; t < sizeof texts / sizeof texts[0]; t++) {
        truth right;
        unsigned outside = 0;
        double largest = 0, band = 0;
        find_truth(&right, texts[t], 64, 0);
        for (uint64_t trial = 0; trial < TRIALS; trial++) {
            fm_sampled_reuses sampled;
            fm_error error;
            const fm_sample_options options = {.samples = SAMPLES, .seed = trial};
            assert_int_equal(fm_sample(&sampled, &right.lowered.list, &options, &error), FM_OK);
            check_sums(&sampled.reuses, &right);
            assert_false(sampled.exact);
            band = sampled.band;
            const double now = largest_error(&sampled.reuses, &right.reuses, (double)right.points.count);
            if (now > largest) largest = now;
            if (now > band) outside++;
            fm_sampled_reuses_clear(&sampled);
        }
        print_message("region %zu: outside %u of %d times, largest error %.4f, band %.4f\n", t, outside,
                      TRIALS, largest, band);
        assert_true(outside <= TRIALS / 20);
        assert_true(band > 0.19 && band < 0.2); /* sqrt(ln(2e / 0.05) / 120) */
        forget_truth(&right);
    }
}

/* Each access is drawn equally often, wherever the cuts are. */
CASE(test_no_bias)
{
    truth right;
    fm_error error;
    find_truth(&right,
               BEGIN
               "array A[7] of 64 for i = 0 to 6 { do { load A[i] } } for i = 0 to 6 { do { load A[i] } }",
               64, 0);
    double hits[2] = {0};
    enum { TRIALS = 20000 };
    for (uint64_t trial = 0; trial < TRIALS; trial++) {
        fm_sampled_reuses sampled;
        const fm_sample_options options = {.samples = 3, .seed = trial};
        assert_int_equal(fm_sample(&sampled, &right.lowered.list, &options, &error), FM_OK);
        for (size_t i = 0; i < 2; i++) hits[i] += (double)sampled.reuses.firsts[i] / TRIALS;
        fm_sampled_reuses_clear(&sampled);
    }
    assert_true(hits[0] + hits[1] > 6.999999 && hits[0] + hits[1] < 7.000001); /* whatever was drawn */
    assert_true(hits[1] == 0);                                                 /* the second loop has none */
    forget_truth(&right);
}

CASE(test_given_up)
{
    truth right;
    fm_error error;
    fm_sampled_reuses sampled;
    find_truth(&right, BEGIN "array A[70] of 64 for i = 0 to 69 { do { load A[i] } }", 64, 0);
    const fm_sample_options options = {.samples = 69, .deadline = fm_now() - 1};
    assert_int_equal(fm_sample(&sampled, &right.lowered.list, &options, &error), FM_E_LIMIT);
    assert_null(sampled.reuses.items);
    forget_truth(&right);
    /* Nothing at all. */
    find_truth(&right, BEGIN "array A[70] of 64 for i = 1 to 0 { do { load A[i] } }", 64, 0);
    assert_int_equal(fm_sample(&sampled, &right.lowered.list, &(fm_sample_options){0}, &error), FM_OK);
    assert_true(sampled.exact && sampled.reuses.accesses == 0 && sampled.reuses.count == 0);
    fm_sampled_reuses_clear(&sampled);
    forget_truth(&right);
}

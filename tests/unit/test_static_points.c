/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_static_points.c - counts of points and the n-th point, against all points of random regions and
 * against formulas.
 */
#include "case.h"

#include "static/polyhedra/polyhedra.h"
#include "static_samples.h"

/* The points of one reference, in the order of time, are those of ranks 0, 1, … */
static void check_reference(const sample_points *all, uint32_t number, const char *text)
{
    const fm_reference *reference = &all->list->references[number];
    fm_points *points;
    fm_error error;
    if (fm_points_create(&points, reference, 0, &error) != FM_OK) fail_msg("%s\n%s", error.reason, text);
    uint64_t rank = 0;
    for (size_t i = 0; i < all->count; i++) {
        if (all->points[i].reference != number) continue;
        int64_t x[FM_REFERENCE_DEPTH];
        if (rank < fm_points_count(points) &&
            (fm_points_at(points, rank, x, &error) != FM_OK ||
             memcmp(x, all->points[i].x, reference->depth * sizeof x[0]) != 0))
            fail_msg("reference %u, point %llu\n%s", number, (unsigned long long)rank, text);
        rank++;
    }
    if (rank != fm_points_count(points))
        fail_msg("reference %u: %llu points, expected %llu\n%s", number,
                 (unsigned long long)fm_points_count(points), (unsigned long long)rank, text);
    fm_points_destroy(points);
}

static void check_text(const char *text, uint64_t granularity)
{
    sample_lowered lowered;
    sample_points all;
    sample_lower(&lowered, text, granularity, FM_LAYOUT_CONTIGUOUS);
    sample_all_points(&all, &lowered.list);
    for (uint32_t i = 0; i < lowered.list.count; i++) check_reference(&all, i, text);
    free(all.points);
    sample_clear(&lowered);
}

CASE(test_random_regions)
{
    static const uint64_t granularities[] = {64, 8, 16, 1};
    sample_text text;
    for (uint64_t seed = 0; seed < 600; seed++) {
        sample_region(&text, seed);
        check_text(text.text, granularities[seed % 4]);
    }
}

#define BEGIN "fathom-region 1\n"

/* Large enough that sums are in closed form, small enough to be enumerated. */
CASE(test_closed_forms)
{
    static const char *const texts[] = {
        BEGIN "array A[] of 8 for i = 0 to 40 { for j = 0 to i { for k = j to i { do { load A[k] } } } }",
        BEGIN "array A[] of 24 for i = 0 to 40 { for j = 3 to 2 * i { do { load A[5 * i + j] } } }",
        BEGIN "array A[] of 24 for i = 0 to 40 { for j = 3 to i + 7 { if mod(i + j, 3) == 1 { do { load A[i "
              "+ 2 * j] } } "
              "} }",
        BEGIN "array A[] of 8 for i = 0 to 60 { for j = 0 to floor(i, 3) { for k = floor(j, 2) to i step 2 { "
              "do { load "
              "A[k] } } } }",
        BEGIN "array A[] of 12 for t = 0 to 9 { for i = 8 * t to min(77, 8 * t + 7) { for j = i downto 0 "
              "step 3 { do { "
              "load A[i + j] } } } }",
    };
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) check_text(texts[i], 64);
}

static void check_count(const char *text, uint64_t expected)
{
    sample_lowered lowered;
    fm_points *points;
    fm_error error;
    sample_lower(&lowered, text, 64, FM_LAYOUT_CONTIGUOUS);
    assert_int_equal(lowered.list.count, 1);
    assert_int_equal(fm_points_create(&points, &lowered.list.references[0], fm_now() + 2, &error), FM_OK);
    assert_int_equal(fm_points_count(points), expected);
    /* Ends and the middle are found too. */
    for (int i = 0; i < 3; i++) {
        int64_t x[FM_REFERENCE_DEPTH];
        const uint64_t rank = i == 0 ? 0 : i == 1 ? expected / 2 : expected - 1;
        assert_int_equal(fm_points_at(points, rank, x, &error), FM_OK);
        assert_true(sample_rows_hold(&lowered.list.references[0], x, lowered.list.references[0].depth));
    }
    fm_points_destroy(points);
    sample_clear(&lowered);
}

CASE(test_large)
{
    const uint64_t n = 100000;
    check_count(
        BEGIN "array A[] of 8 for i = 1 to 100000 { for j = 1 to i { for k = 1 to j { do { load A[k] } } } }",
        n * (n + 1) / 2 * (n + 2) / 3);
    check_count(
        BEGIN
        "array A[] of 8 for i = 1 to 100000 { for j = 1 to i { if mod(i + j, 2) == 0 { do { load A[j] } } "
        "} }",
        n / 2 * (n / 2 + 1));
    check_count(BEGIN
                "array A[] of 8 for i = 1 to 3000000000 { for j = 1 to 3000000000 { do { load A[0] } } }",
                UINT64_C(9000000000000000000));
}

CASE(test_refused)
{
    sample_lowered lowered;
    fm_points *points;
    fm_error error;
    sample_lower(&lowered,
                 BEGIN
                 "array A[] of 8 for i = 1 to 4000000000 { for j = 1 to 4000000000 { do { load A[0] } } }",
                 64, FM_LAYOUT_CONTIGUOUS);
    assert_int_equal(fm_points_create(&points, &lowered.list.references[0], 0, &error), FM_E_LIMIT);
    sample_clear(&lowered);
    /* Two bounds compete in each of two loops: these are enumerated, and the time is up. */
    sample_lower(
        &lowered,
        BEGIN
        "array A[] of 8 for i = 0 to 1000000 { for j = 0 to 1000000 { for k = 0 to min(i, j) { for l = 0 "
        "to min(k, j) { do { load A[0] } } } } }",
        64, FM_LAYOUT_CONTIGUOUS);
    const double begin = fm_now();
    assert_int_equal(fm_points_create(&points, &lowered.list.references[0], begin + 0.05, &error),
                     FM_E_LIMIT);
    assert_true(fm_now() < begin + 1);
    sample_clear(&lowered);
}

CASE(test_random_numbers)
{
    fm_static_random random = {1};
    int seen[7] = {0};
    for (int i = 0; i < 70000; i++) seen[fm_static_random_below(&random, 7)]++;
    double chi = 0;
    for (int i = 0; i < 7; i++) chi += (seen[i] - 10000.0) * (seen[i] - 10000.0) / 10000;
    assert_true(chi < 30); /* 6 degrees of freedom: beyond it once in 25,000 */
}

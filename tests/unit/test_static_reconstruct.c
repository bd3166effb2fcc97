/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_static_reconstruct.c - reconstructed reuses equal those of a list, distance by distance and pair by
 * pair.
 */
#include "case.h"

#include "static/polyhedra/polyhedra.h"
#include "static/reconstruct/reconstruct.h"
#include "static_samples.h"

static void find_truth(const sample_lowered *lowered, uint64_t sets, fm_reuses *reuses)
{
    sample_points points;
    size_t blocks;
    sample_all_points(&points, &lowered->list);
    sample_distance *distances = sample_distances(&points, sets, &blocks);
    assert_int_equal(fm_reuses_create(reuses, lowered->list.count, NULL), FM_OK);
    reuses->accesses = points.count;
    reuses->first_touches = blocks;
    for (size_t i = 0; i < points.count; i++) {
        const uint32_t to = points.points[i].reference;
        if (distances[i].before == SIZE_MAX)
            reuses->firsts[to]++;
        else
            assert_int_equal(fm_reuses_add(reuses, distances[i].distance,
                                           points.points[distances[i].before].reference, to, 1, NULL),
                             FM_OK);
    }
    fm_reuses_sort(reuses);
    free(distances);
    free(points.points);
}

static void check_text(const char *text, uint64_t granularity, uint64_t sets, uint64_t checks,
                       uint64_t *asked, uint64_t *accesses)
{
    sample_lowered lowered;
    fm_reuses right;
    fm_reconstructed made;
    fm_error error;
    sample_lower(&lowered, text, granularity, FM_LAYOUT_CONTIGUOUS);
    find_truth(&lowered, sets, &right);
    const fm_reconstruct_options options = {.sets = sets, .checks = checks};
    if (fm_reconstruct(&made, &lowered.list, &options, &error) != FM_OK)
        fail_msg("%s\n%s", error.reason, text);
    assert_int_equal(made.reuses.accesses, right.accesses);
    assert_int_equal(made.reuses.first_touches, right.first_touches);
    for (size_t i = 0; i < right.count || i < made.reuses.count; i++)
        if (i >= right.count || i >= made.reuses.count ||
            memcmp(&right.items[i], &made.reuses.items[i], sizeof right.items[i]) != 0)
            fail_msg("item %zu of %zu, %zu differs\n%s", i, right.count, made.reuses.count, text);
    for (size_t i = 0; i < right.reference_count; i++)
        assert_int_equal(made.reuses.firsts[i], right.firsts[i]);
    if (right.accesses) assert_true(made.checked > 0);
    *asked += made.asked;
    *accesses += right.accesses;
    fm_reconstructed_clear(&made);
    fm_reuses_clear(&right);
    sample_clear(&lowered);
}

CASE(test_random_regions)
{
    static const uint64_t granularities[] = {64, 8, 16, 1}, sets[] = {0, 0, 2};
    sample_text text;
    uint64_t asked = 0, accesses = 0;
    const uint64_t end = getenv("FATHOM_TEST_STRIDE") ? 60 : 300; /* under a sanitizer */
    for (uint64_t seed = 0; seed < end; seed++) {
        sample_region(&text, seed);
        check_text(text.text, granularities[seed % 4], sets[seed % 3], 100, &asked, &accesses);
    }
    print_message("asked %llu of %llu accesses\n", (unsigned long long)asked, (unsigned long long)accesses);
}

/* Loops that are long enough for runs. Random strides meet in places that nobody foresees: here every access
 * is checked, so that what is given is right; few are refused. */
CASE(test_long_regions)
{
    sample_text text;
    uint64_t asked = 0, accesses = 0;
    const uint64_t end = getenv("FATHOM_TEST_STRIDE") ? 1020 : 1100; /* under a sanitizer */
    for (uint64_t seed = 1000; seed < end; seed++) {
        sample_region_of(&text, seed, 2, seed % 2 ? 70 : 150);
        check_text(text.text, seed % 3 ? 64 : 16, 0, UINT64_C(1) << 40, &asked, &accesses);
    }
    print_message("asked %llu of %llu accesses\n", (unsigned long long)asked, (unsigned long long)accesses);
}

#define BEGIN "fathom-region 1\n"

/* Long enough for runs at every level. */
CASE(test_kernels)
{
    static const char *const texts[] = {
        BEGIN "param n = 60 array A[n][n] of 8 array x[n] of 8 array y[n] of 8 for i = 0 to n - 1 { for j = "
              "0 to n - 1 { "
              "do { load A[i][j] load x[j] load y[i] store y[i] } } } for i = 0 to n - 1 { for j = 0 to n - "
              "1 { do { load "
              "A[j][i] load x[i] load y[j] store y[j] } } }",
        BEGIN
        "param n = 61 array L[n][n] of 8 array x[n] of 8 for i = 0 to n - 1 { for j = 0 to i - 1 { do { load "
        "L[i][j] load x[j] load x[i] store x[i] } } do { load L[i][i] load x[i] store x[i] } }",
        BEGIN "param n = 24 array A[n][n] of 8 array B[n][n] of 8 array C[n][n] of 8 for i = 0 to n - 1 { "
              "for j = 0 to n - "
              "1 { for k = 0 to n - 1 { do { load C[i][j] load A[i][k] load B[k][j] store C[i][j] } } } }",
        BEGIN "param n = 300 array A[n] of 8 array B[n] of 8 for t = 0 to 9 { for i = 1 to n - 2 { do { load "
              "A[i - 1] load "
              "A[i] load A[i + 1] store B[i] } } for i = 1 to n - 2 { do { load B[i] store A[i] } } }",
        /* two references meet in the middle: k / 2 */
        BEGIN "param n = 120 array y[n] of 8 array z[n] of 8 for k = 1 to n - 1 { for i = 0 to k - 1 { do { "
              "load y[i] load "
              "y[k - i - 1] store z[i] } } for i = 0 to k - 1 { do { load z[i] store y[i] } } }",
    };
    uint64_t asked = 0, accesses = 0;
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        for (uint64_t granularity = 8; granularity <= 64; granularity *= 8)
            check_text(texts[i], granularity, 0, 100, &asked, &accesses);
    print_message("asked %llu of %llu accesses\n", (unsigned long long)asked, (unsigned long long)accesses);
}

CASE(test_given_up)
{
    sample_lowered lowered;
    fm_reconstructed made;
    fm_error error;
    sample_lower(
        &lowered,
        BEGIN
        "param n = 2000 array A[n][n] of 8 for i = 0 to n - 1 { for j = 0 to n - 1 { for k = 0 to n - 1 { "
        "do { load A[i][k] load A[k][j] store A[i][j] } } } }",
        64, FM_LAYOUT_CONTIGUOUS);
    fm_reconstruct_options options = {.deadline = fm_now() + 0.05};
    const double begin = fm_now();
    assert_int_equal(fm_reconstruct(&made, &lowered.list, &options, &error), FM_E_LIMIT);
    assert_non_null(strstr(error.reason, "time"));
    assert_true(fm_now() - begin < 1);
    assert_null(made.reuses.items);
    options = (fm_reconstruct_options){.memory = 20000};
    assert_int_equal(fm_reconstruct(&made, &lowered.list, &options, &error), FM_E_LIMIT);
    assert_non_null(strstr(error.reason, "bytes"));
    sample_clear(&lowered);
}

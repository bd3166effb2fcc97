/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_static_oracle.c - previous access and distance of single accesses against a list: all points of random
 * regions in the order of time, and a stack of blocks that is searched from the top (static_samples.h).
 */
#include "case.h"

#include "static/oracle/oracle.h"
#include "static_samples.h"

static void check_points(const sample_lowered *lowered, uint64_t sets, const char *text, size_t *asked)
{
    sample_points points;
    fm_oracle *oracle;
    fm_error error;
    size_t blocks;
    sample_all_points(&points, &lowered->list);
    sample_distance *distances = sample_distances(&points, sets, &blocks);
    assert_int_equal(fm_oracle_create(&oracle, &lowered->list, sets, &error), FM_OK);
    for (size_t i = 0; i < points.count; i++) {
        const sample_point *at = &points.points[i];
        fm_point point = {.reference = at->reference};
        fm_reuse reuse;
        memcpy(point.x, at->x, sizeof point.x);
        if (fm_oracle_ask(oracle, &point, &reuse, &error) != FM_OK) fail_msg("%s\n%s", error.reason, text);
        if (reuse.first != (distances[i].before == SIZE_MAX))
            fail_msg("point %zu of reference %u: first %d\n%s", i, at->reference, reuse.first, text);
        if (reuse.first) continue;
        const sample_point *before = &points.points[distances[i].before];
        if (reuse.distance != distances[i].distance || reuse.previous.reference != before->reference ||
            memcmp(reuse.previous.x, before->x,
                   lowered->list.references[before->reference].depth * sizeof before->x[0]) != 0)
            fail_msg("point %zu of reference %u: distance %llu, previous %u; expected %llu, %u\n%s", i,
                     at->reference, (unsigned long long)reuse.distance, reuse.previous.reference,
                     (unsigned long long)distances[i].distance, before->reference, text);
    }
    uint64_t touched;
    assert_int_equal(fm_oracle_first_touches(oracle, &touched, &error), FM_OK);
    if (touched != blocks)
        fail_msg("%llu blocks, expected %zu\n%s", (unsigned long long)touched, blocks, text);
    *asked += points.count;
    fm_oracle_destroy(oracle);
    free(distances);
    free(points.points);
}

static void check_text(const char *text, uint64_t granularity, uint64_t sets, size_t *asked)
{
    sample_lowered lowered;
    sample_lower(&lowered, text, granularity, FM_LAYOUT_CONTIGUOUS);
    check_points(&lowered, sets, text, asked);
    sample_clear(&lowered);
}

CASE(test_random_regions)
{
    static const uint64_t granularities[] = {64, 8, 1, 16, 128, 4}, sets[] = {0, 0, 0, 4, 3};
    sample_text text;
    size_t asked = 0;
    for (uint64_t seed = 0; seed < 600; seed++) {
        sample_region(&text, seed);
        check_text(text.text, granularities[seed % 6], sets[seed % 5], &asked);
    }
    print_message("%zu accesses\n", asked);
    assert_true(asked > 25000);
}

#define BEGIN "fathom-region 1\nfile 1 \"k.c\"\n"

CASE(test_single_regions)
{
    static const char *const texts[] = {
        /* products of matrices, a stencil with time steps, a triangular solver */
        BEGIN
        "param n = 11 array A[n][n] of 8 array B[n][n] of 8 array C[n][n] of 8 for i = 0 to n - 1 { for j = "
        "0 "
        "to n - 1 { for k = 0 to n - 1 { do { load C[i][j] load A[i][k] load B[k][j] store C[i][j] } } } }",
        BEGIN "param n = 15 array A[n][n] of 8 array B[n][n] of 8 for t = 0 to 2 { for i = 1 to n - 2 { for "
              "j = 1 to n "
              "- 2 { do { load A[i][j] load A[i - 1][j] load A[i + 1][j] load A[i][j - 1] load A[i][j + 1] "
              "store B[i][j] "
              "} } } for i = 1 to n - 2 { for j = 1 to n - 2 { do { load B[i][j] store A[i][j] } } } }",
        BEGIN "param n = 17 array L[n][n] of 8 array x[n] of 8 array b[n] of 8 for i = 0 to n - 1 { do { "
              "load b[i] store "
              "x[i] } for j = 0 to i - 1 { do { load L[i][j] load x[j] load x[i] store x[i] } } do { load "
              "x[i] load "
              "L[i][i] store x[i] } }",
        /* the elimination of loops is not exact: 2 i + 3 j */
        BEGIN "array A[400] of 8 for i = 0 to 9 { for j = 0 to 9 { for k = 0 to 9 { if 2 * i + 3 * j == 5 * "
              "k { do { load "
              "A[k] load A[6 * i + 10 * j + 15 * k] } } } } }",
        BEGIN "array A[400] of 64 for i = 0 to 30 { for j = 0 to 30 { if 3 * j >= 2 * i and 5 * j <= 4 * i + "
              "1 { do { load "
              "A[i] load A[j] } } } }",
    };
    size_t asked = 0;
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        for (uint64_t granularity = 8; granularity <= 128; granularity *= 4)
            for (uint64_t sets = 0; sets <= 4; sets += 4) check_text(texts[i], granularity, sets, &asked);
}

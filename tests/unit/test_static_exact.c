/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_static_exact.c - distances that are counted by polyhedra against a list: all points of random regions
 * in the order of time, each block in a stack that is searched from the top. Histogram, pairs and single
 * points.
 */
#include "static/count_exact.h"
#include "static_samples.h"

#include <time.h>

typedef struct entry {
    int64_t block;
    size_t point; /* that touched it last */
} entry;

static double seconds_now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static uint64_t pair_at(const fm_static_counted *counted, uint32_t use, uint32_t reuse, uint64_t distance)
{
    for (size_t i = 0; i < counted->pair_count; i++)
        if (counted->pairs[i].use == use && counted->pairs[i].reuse == reuse &&
            counted->pairs[i].distance == distance)
            return counted->pairs[i].count;
    return 0;
}

/* The truth, point by point; those of the pieces are compared on the way. */
static void by_list(const fm_reference_list *list, const fm_formulas *formulas, fm_static_counted *counted,
                    const char *text)
{
    sample_points points;
    sample_all_points(&points, list);
    entry *stack = calloc(points.count + 1, sizeof *stack);
    assert_non_null(stack);
    size_t depth = 0;
    for (size_t i = 0; i < points.count; i++) {
        const sample_point *at = &points.points[i];
        uint32_t use = FM_FIRST_TOUCH, said_use, reuse = list->references[at->reference].access;
        uint64_t distance = 0, said;
        fm_error error;
        size_t place = depth;
        while (place && stack[place - 1].block != at->block) place--;
        if (place) {
            use = list->references[points.points[stack[place - 1].point].reference].access;
            distance = depth - place;
            memmove(&stack[place - 1], &stack[place], (depth - place) * sizeof *stack);
            depth--;
        }
        stack[depth++] = (entry){at->block, i};
        assert_int_equal(fm_static_counted_add(counted, use, reuse, distance, 1, NULL), FM_OK);
        if (fm_formulas_distance(formulas, at->reference, at->x, &said_use, &said, &error) != FM_OK)
            fail_msg("%s\n%s", error.reason, text);
        if (said_use != use || said != distance)
            fail_msg("point %zu of reference %u: use %u, distance %llu; expected %u, %llu\n%s", i,
                     at->reference, said_use, (unsigned long long)said, use, (unsigned long long)distance,
                     text);
    }
    assert_int_equal(fm_static_counted_finish(counted, NULL), FM_OK);
    free(stack);
    free(points.points);
}

/* False: given up. */
static bool check_text(const char *text, uint64_t granularity, fm_layout layout, double seconds)
{
    sample_lowered lowered;
    fm_formulas *formulas;
    fm_error error;
    fm_static_counted expected = {0}, counted;
    sample_lower(&lowered, text, granularity, layout);
    fm_isl_limits limits = {.seconds = seconds};
    fm_status status = fm_formulas_create(&formulas, &lowered.list, &limits, &error);
    if (status == FM_OK) {
        status = fm_formulas_count(formulas, &counted, &error);
        if (status == FM_OK) {
            by_list(&lowered.list, formulas, &expected, text);
            if (counted.points != expected.points || counted.cold != expected.cold ||
                counted.pair_count != expected.pair_count ||
                counted.distance_count != expected.distance_count)
                fail_msg("%llu points, %llu first touches\n%s", (unsigned long long)counted.points,
                         (unsigned long long)counted.cold, text);
            for (size_t i = 0; i < expected.pair_count; i++) {
                const fm_counted_pair *pair = &expected.pairs[i];
                if (pair_at(&counted, pair->use, pair->reuse, pair->distance) != pair->count)
                    fail_msg("pair %u %u %llu\n%s", pair->use, pair->reuse,
                             (unsigned long long)pair->distance, text);
            }
            for (size_t i = 0; i < expected.distance_count; i++) {
                assert_int_equal(expected.distances[i].distance, counted.distances[i].distance);
                assert_int_equal(expected.distances[i].count, counted.distances[i].count);
            }
            fm_static_counted_clear(&counted);
        }
        fm_formulas_destroy(formulas);
    }
    if (status != FM_OK && status != FM_E_LIMIT) fail_msg("%s\n%s", error.reason, text);
    if (status != FM_OK) print_message("given up: %s\n", error.reason);
    fm_static_counted_clear(&expected);
    sample_clear(&lowered);
    return status == FM_OK;
}

static void test_random_regions(void **state)
{
    (void)state;
    static const uint64_t granularities[] = {64, 8, 16, 128, 1, 4};
    sample_text text;
    size_t exact = 0, first = 0, last = 300;
    if (getenv("FIRST_SEED")) first = strtoul(getenv("FIRST_SEED"), NULL, 10);
    if (getenv("LAST_SEED")) last = strtoul(getenv("LAST_SEED"), NULL, 10);
    for (uint64_t seed = first; seed < last; seed++) {
        sample_region(&text, seed);
        double begin = seconds_now();
        bool done = check_text(text.text, granularities[seed % 6],
                               seed % 2 ? FM_LAYOUT_CONTIGUOUS : FM_LAYOUT_ALIGNED, 20);
        exact += done;
        if (seconds_now() - begin > 2)
            print_message("seed %d: %.1f s\n%s\n", (int)seed, seconds_now() - begin, text.text);
    }
    print_message("%zu of %zu regions\n", exact, last - first);
}

#define BEGIN "fathom-region 1\nfile 1 \"k.c\"\n"

static void test_single_regions(void **state)
{
    (void)state;
    static const char *const texts[] = {
        BEGIN "param n = 11 array A[n][n] of 8 array B[n][n] of 8 array C[n][n] of 8 for i = 0 to n - 1 { "
              "for j = 0 to n - 1 { for k = 0 to n - 1 { do { load C[i][j] load A[i][k] load B[k][j] store "
              "C[i][j] } "
              "} } }",
        BEGIN "param n = 15 array A[n][n] of 8 array B[n][n] of 8 for t = 0 to 2 { for i = 1 to n - 2 { for "
              "j = 1 to n - 2 { do { load A[i][j] load A[i - 1][j] load A[i + 1][j] load A[i][j - 1] load "
              "A[i][j + 1] "
              "store B[i][j] } } } for i = 1 to n - 2 { for j = 1 to n - 2 { do { load B[i][j] store A[i][j] "
              "} } } }",
        BEGIN "param n = 17 array L[n][n] of 8 array x[n] of 8 array b[n] of 8 for i = 0 to n - 1 { do { "
              "load b[i] store x[i] } for j = 0 to i - 1 { do { load L[i][j] load x[j] load x[i] store x[i] "
              "} } do { "
              "load x[i] load L[i][i] store x[i] } }",
    };
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        for (uint64_t granularity = 8; granularity <= 64; granularity *= 8)
            for (int layout = 0; layout < 2; layout++) {
                double begin = seconds_now();
                assert_true(check_text(texts[i], granularity, (fm_layout)layout, 100));
                print_message("region %zu, %d bytes, layout %d: %.3f s\n", i, (int)granularity, layout,
                              seconds_now() - begin);
            }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_single_regions),
        cmocka_unit_test(test_random_regions),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

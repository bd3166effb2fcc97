/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_static_exact.c - distances that are counted by polyhedra against a list: all points of random regions
 * in the order of time, each block in a stack that is searched from the top. Histogram, pairs and single
 * points.
 */
#include "case.h"

#include "static/counter/counter.h"
#include "static/oracle/oracle.h"
#include "static_samples.h"

typedef struct entry {
    int64_t block;
    size_t point; /* that touched it last */
} entry;

static uint64_t pair_at(const fm_static_counted *counted, uint32_t use, uint32_t reuse, uint64_t distance)
{
    for (size_t i = 0; i < counted->pair_count; i++)
        if (counted->pairs[i].use == use && counted->pairs[i].reuse == reuse &&
            counted->pairs[i].distance == distance)
            return counted->pairs[i].count;
    return 0;
}

/* The truth, point by point; those of the pieces are compared on the way. */
static void by_list(const fm_reference_list *list, const fm_distance_pieces *formulas,
                    fm_static_counted *counted, const char *text)
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
        if (fm_distance_pieces_at(formulas, at->reference, at->x, &said_use, &said, &error) != FM_OK)
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

/* In cells, there must be the sums of what is counted one by one. */
static void check_grouped(fm_distance_pieces *formulas, const fm_static_counted *expected, const char *text)
{
    static const uint64_t edges[] = {0, 3, 11, 40};
    const fm_grouping grouping = {.bins = FM_BINS_LOG2, .edges = edges, .edge_count = 4};
    fm_value_cells cells;
    fm_static_counted grouped, sums = {0};
    fm_error error;
    assert_true(fm_cells_create(&cells, &grouping, UINT64_MAX));
    if (fm_distance_pieces_count(formulas, &grouping, &grouped, &error) != FM_OK)
        fail_msg("%s\n%s", error.reason, text);
    for (size_t i = 0; i < expected->pair_count; i++) {
        const fm_counted_pair *pair = &expected->pairs[i];
        uint64_t low = cells.borders[fm_cells_index(&cells, pair->distance)];
        assert_int_equal(fm_static_counted_add(&sums, pair->use, pair->reuse, low, pair->count, NULL), FM_OK);
    }
    assert_int_equal(fm_static_counted_finish(&sums, NULL), FM_OK);
    if (sums.pair_count != grouped.pair_count || sums.distance_count != grouped.distance_count ||
        memcmp(sums.pairs, grouped.pairs, sums.pair_count * sizeof *sums.pairs) != 0)
        fail_msg("not the same in cells\n%s", text);
    fm_cells_destroy(&cells);
    fm_static_counted_clear(&sums);
    fm_static_counted_clear(&grouped);
}

/* False: given up. */
static bool check_text(const char *text, uint64_t granularity, fm_layout layout, unsigned long operations)
{
    sample_lowered lowered;
    fm_distance_pieces *formulas;
    fm_error error;
    fm_static_counted expected = {0}, counted;
    sample_lower(&lowered, text, granularity, layout);
    fm_isl_limits limits = {.operations = operations};
    fm_status status = fm_distance_pieces_create(&formulas, &lowered.list, &limits, &error);
    if (status == FM_OK) {
        status = fm_distance_pieces_count(formulas, NULL, &counted, &error);
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
            if (!operations) check_grouped(formulas, &expected, text);
        }
        fm_distance_pieces_destroy(formulas);
    }
    if (status != FM_OK && status != FM_E_LIMIT) fail_msg("%s\n%s", error.reason, text);
    if (status != FM_OK) assert_non_null(strstr(error.reason, "given up"));
    fm_static_counted_clear(&expected);
    sample_clear(&lowered);
    return status == FM_OK;
}

/* Of involved regions (nested quotients, remainders) some take long: isl's operations are limited, and what
 * is given up is given up. */
CASE(test_random_regions)
{
    static const uint64_t granularities[] = {64, 8, 16, 128, 1, 4};
    const char *wanted = getenv("FATHOM_STATIC_REGIONS"); /* how many, and without a limit: by hand */
    uint64_t count = wanted ? strtoull(wanted, NULL, 10) : getenv("FATHOM_TEST_STRIDE") ? 50 : 300;
    sample_text text;
    size_t exact = 0;
    for (uint64_t seed = 0; seed < count; seed++) {
        sample_region(&text, seed);
        exact += check_text(text.text, granularities[seed % 6],
                            seed % 2 ? FM_LAYOUT_CONTIGUOUS : FM_LAYOUT_ALIGNED, wanted ? 0 : 60000);
    }
    print_message("%zu of %zu regions\n", exact, (size_t)count);
    assert_true(exact >= count * 2 / 3);
}

#define BEGIN "fathom-region 1\nfile 1 \"k.c\"\n"

CASE(test_single_regions)
{
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
        for (uint64_t granularity = 8; granularity <= 64; granularity *= 8) {
            assert_true(check_text(texts[i], granularity, FM_LAYOUT_ALIGNED, 0));
            /* rows that are no whole blocks take a while: the last one */
            if (granularity == 8 || i == 2)
                assert_true(check_text(texts[i], granularity, FM_LAYOUT_CONTIGUOUS, 0));
        }
}

/* Large ones, whose counts are known in closed form: a product of matrices, element by element. */
CASE(test_large)
{
    sample_lowered lowered;
    fm_static_counted counted;
    fm_error error;
    const uint64_t n = 1000000;
    sample_lower(
        &lowered,
        BEGIN
        "param n = 1000000 array A[n][n] of 8 array x[n] of 8 for i = 0 to n - 1 { for j = 0 to n - 1 { "
        "do { load A[i][j] load x[j] } } }",
        8, FM_LAYOUT_CONTIGUOUS);
    assert_int_equal(fm_count_exactly(&lowered.list, NULL, 0, &counted, &error),
                     FM_E_LIMIT); /* 10^12 blocks */
    /* no matter where bins are counted; x again after each row, as below */
    const fm_grouping grouping = {.bins = FM_BINS_LOGLINEAR};
    if (fm_count_exactly(&lowered.list, &grouping, 0, &counted, &error) != FM_OK)
        fail_msg("%s", error.reason);
    assert_int_equal(counted.cold, n * n + n);
    assert_int_equal(counted.distance_count, 1);
    assert_int_equal(fm_bins_index(FM_BINS_LOGLINEAR, counted.distances[0].distance),
                     fm_bins_index(FM_BINS_LOGLINEAR, 2 * n - 1));
    assert_int_equal(counted.distances[0].count, n * (n - 1));
    fm_static_counted_clear(&counted);
    sample_clear(&lowered);
    /* x again after each row: n elements of a row and the others of x */
    sample_lower(
        &lowered,
        BEGIN
        "param n = 1000000 array A[n] of 8 array x[n] of 8 for t = 0 to n - 1 { for j = 0 to n - 1 { do { "
        "load A[j] load x[j] } } }",
        8, FM_LAYOUT_CONTIGUOUS);
    if (fm_count_exactly(&lowered.list, NULL, 0, &counted, &error) != FM_OK) fail_msg("%s", error.reason);
    assert_int_equal(counted.points, 2 * n * n);
    assert_int_equal(counted.cold, 2 * n);
    assert_int_equal(counted.distance_count, 1);
    assert_int_equal(counted.distances[0].distance, 2 * n - 1);
    assert_int_equal(counted.distances[0].count, 2 * n * (n - 1));
    assert_int_equal(counted.pair_count, 4); /* two first touches, two reuses */
    fm_static_counted_clear(&counted);
    sample_clear(&lowered);
}

/* Pieces against single accesses, which are worked out in another way, at a size that nobody goes through. */
static void check_against_oracle(const char *text, uint64_t granularity, const fm_isl_limits *limits)
{
    sample_text random = {.random = 12345};
    sample_lowered lowered;
    fm_distance_pieces *formulas;
    fm_oracle *oracle;
    fm_error error;
    sample_lower(&lowered, text, granularity, FM_LAYOUT_CONTIGUOUS);
    if (fm_distance_pieces_create(&formulas, &lowered.list, limits, &error) != FM_OK)
        fail_msg("%s", error.reason);
    assert_int_equal(fm_oracle_create(&oracle, &lowered.list, 0, &error), FM_OK);
    for (int asked = 0; asked < 50;) {
        fm_point point = {.reference = (uint32_t)sample_between(&random, 0, (int)lowered.list.count - 1)};
        const fm_reference *reference = &lowered.list.references[point.reference];
        for (unsigned j = 0; j < reference->depth; j++)
            point.x[j] = sample_between(&random, (int)reference->least[j], (int)reference->most[j]);
        if (!sample_rows_hold(reference, point.x, reference->depth)) continue;
        fm_reuse reuse;
        uint32_t use;
        uint64_t distance;
        assert_int_equal(fm_oracle_ask(oracle, &point, &reuse, &error), FM_OK);
        assert_int_equal(fm_distance_pieces_at(formulas, point.reference, point.x, &use, &distance, &error),
                         FM_OK);
        if (reuse.first) {
            assert_int_equal(use, FM_FIRST_TOUCH);
        } else {
            assert_int_equal(use, lowered.list.references[reuse.previous.reference].access);
            assert_int_equal(distance, reuse.distance);
        }
        asked++;
    }
    fm_oracle_destroy(oracle);
    fm_distance_pieces_destroy(formulas);
    sample_clear(&lowered);
}

CASE(test_against_oracle)
{
    const fm_isl_limits limits = {.seconds = 120};
    check_against_oracle(
        BEGIN "param n = 704 array A[n][n] of 8 for i = 0 to n - 1 { for j = 0 to i - 1 { for k = 0 to j - "
              "1 { do { load "
              "A[i][j] load A[i][k] load A[j][k] store A[i][j] } } do { load A[i][j] load A[j][j] store "
              "A[i][j] } } }",
        64, &limits);
    check_against_oracle(
        BEGIN "param n = 540 array A[n][n] of 8 array B[n][n] of 8 array C[n][n] of 8 for i = 0 to n - 1 { "
              "for k = 0 to n "
              "- 1 { for j = 0 to n - 1 { do { load C[i][j] load A[i][k] load B[k][j] store C[i][j] } } } }",
        64, &limits);
}

/* Rows that are no whole blocks, of two columns at a time: pieces are overlaid for each remainder. The limit
 * of isl's operations is what all remainders at once would exceed several times. */
CASE(test_odd_rows)
{
    const fm_isl_limits limits = {.operations = 3000000};
    check_against_oracle(
        BEGIN
        "param m = 1201 param n = 1401 array D[n][m] of 8 for i = 0 to m - 1 { for j = i to m - 1 { for k "
        "= 0 to n - 1 { do { load D[k][i] load D[k][j] } } } }",
        32, &limits);
}

/* What is too much is given up, in time and without leaks. */
CASE(test_limits)
{
    static const char hostile[] = BEGIN "param n = 97 array A[][89] of 8 for i = 0 to n { for j = max(0, 3 * "
                                        "i - 100) to min(n, 2 * i + 31) { "
                                        "for k = floor(i + 2 * j, 3) to n step 3 { for l = mod(i, 5) to "
                                        "floor(3 * k + j, 7) { do { load A[3 * i + 7 "
                                        "* k][5 * j + 11 * l] load A[2 * l + j][mod(k, 7)] store A[i + "
                                        "j][floor(k + l, 3)] load A[floor(5 * l + 3 "
                                        "* i, 8)][k] } } } } }";
    sample_lowered lowered;
    sample_lower(&lowered, hostile, 64, FM_LAYOUT_CONTIGUOUS);
    const fm_isl_limits limits[] = {
        {.seconds = 0.2}, {.operations = 20000}, {.memory = 1 << 20, .seconds = 5}};
    for (size_t i = 0; i < sizeof limits / sizeof limits[0]; i++) {
        fm_distance_pieces *formulas;
        fm_error error = {0};
        assert_int_equal(fm_distance_pieces_create(&formulas, &lowered.list, &limits[i], &error), FM_E_LIMIT);
        assert_null(formulas);
        assert_non_null(strstr(error.reason, "given up"));
    }
    fm_static_counted counted;
    fm_error error;
    assert_int_equal(fm_count_exactly(&lowered.list, NULL, 0.1, &counted, &error), FM_E_LIMIT);
    assert_int_equal(counted.pair_count, 0);
    sample_clear(&lowered);
}

CASE(test_nothing)
{
    fm_reference_list none = {.granularity = 64};
    fm_static_counted counted;
    fm_error error;
    assert_int_equal(fm_count_exactly(&none, NULL, 0, &counted, &error), FM_OK);
    assert_int_equal(counted.points, 0);
    fm_static_counted_clear(&counted);
    none.granularity = 0;
    assert_int_equal(fm_count_exactly(&none, NULL, 0, &counted, &error), FM_E_ARGUMENT);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_static_lower.c - regions as polyhedra: the points of all references, in the order of time, touch what
 * the walk over the region touches, block for block.
 */
#include "case.h"

#include "static_samples.h"

typedef struct touch {
    int64_t block;
    uint32_t tag;
} touch;

typedef struct touches {
    int64_t granularity;
    size_t count, capacity;
    touch *items;
} touches;

static fm_status note(void *context, const uint64_t *addresses, const uint32_t *sizes, const uint32_t *tags,
                      size_t count, fm_error *error)
{
    touches *all = context;
    (void)error;
    for (size_t i = 0; i < count; i++) {
        int64_t first = (int64_t)addresses[i] / all->granularity,
                last = ((int64_t)addresses[i] + sizes[i] - 1) / all->granularity;
        for (int64_t block = first; block <= last; block++) {
            if (all->count == all->capacity) {
                all->capacity = all->capacity ? all->capacity * 2 : 1024;
                all->items = realloc(all->items, all->capacity * sizeof *all->items);
                assert_non_null(all->items);
            }
            all->items[all->count++] = (touch){block, tags[i]};
        }
    }
    return FM_OK;
}

static size_t check_region(const char *text, uint64_t granularity, fm_layout layout)
{
    sample_lowered lowered;
    touches walked = {.granularity = (int64_t)granularity};
    sample_points points;
    fm_error error;
    sample_lower(&lowered, text, granularity, layout);
    if (fm_region_walk(lowered.region, granularity, layout, note, &walked, &error) != FM_OK)
        fail_msg("%s\n%s", error.reason, text);
    sample_all_points(&points, &lowered.list);
    if (points.count != walked.count)
        fail_msg("%zu points, %zu walked, granularity %d\n%s", points.count, walked.count, (int)granularity,
                 text);
    for (size_t i = 0; i < points.count; i++) {
        uint32_t tag = lowered.list.references[points.points[i].reference].access + 1;
        if (points.points[i].block != walked.items[i].block || tag != walked.items[i].tag)
            fail_msg("point %zu of %zu: block %lld of access %u, walked %lld of %u\n%s", i, points.count,
                     (long long)points.points[i].block, tag, (long long)walked.items[i].block,
                     walked.items[i].tag, text);
    }
    size_t count = points.count;
    free(points.points);
    free(walked.items);
    sample_clear(&lowered);
    return count;
}

CASE(test_random_regions)
{
    static const uint64_t granularities[] = {64, 1, 8, 16, 4};
    sample_text text;
    size_t points = 0, filled = 0;
    for (uint64_t seed = 0; seed < 600; seed++) {
        sample_region(&text, seed);
        size_t now = check_region(text.text, granularities[seed % 5],
                                  seed % 7 == 0 ? FM_LAYOUT_ALIGNED : FM_LAYOUT_CONTIGUOUS);
        points += now;
        filled += now > 0;
    }
    print_message("%zu points in %zu regions\n", points, filled);
    assert_true(filled > 400);
}

#define BEGIN "fathom-region 1\nfile 1 \"k.c\"\n"

CASE(test_single_regions)
{
    static const char *const texts[] = {
        /* triangular, tiled, descending, by steps */
        BEGIN "param n = 13 array A[n][n] of 8 for i = 0 to n - 1 { for j = 0 to i { do { load A[i][j] store "
              "A[j][i] } } }",
        BEGIN
        "param n = 37 array A[n] of 8 for t = 0 to floor(n - 1, 8) { for i = 8 * t to min(n - 1, 8 * t + 7) "
        "{ do { load A[i] } } }",
        BEGIN "param n = 10 array A[100] of 8 for i = n downto 1 step 3 { for j = i downto 0 { do { load A[i "
              "+ j] } } "
              "}",
        BEGIN
        "param n = 9 array A[100] of 8 for i = 0 to n { for j = min(i, 4) to max(i, 5) step 2 { do { load "
        "A[i + j] } } }",
        /* as in C: towards zero */
        BEGIN "array A[] of 4 for i = -7 to 7 { do { load A[i / 3] load A[i % 3] load A[mod(i, 3)] load "
              "A[floor(i, 3)] } }",
        BEGIN
        "array A[] of 4 for i = -7 to 7 { if i % 3 == -1 or i / 2 > 1 { do { load A[i] } } else { do { store "
        "A[0 - i] } } }",
        BEGIN "array A[] of 4 for i = 0 to 20 { if i != 3 and not (i == 5 or i == 7) { do { load A[i] } } }",
        /* nothing at all */
        BEGIN "array A[3] of 4 for i = 5 to 2 { do { load A[i] } }",
        BEGIN "array A[3] of 4",
        BEGIN "array s of 8 do { load s store s }",
        /* elements across borders: three blocks each */
        BEGIN "array A[20] of 40 offset 3 for i = 0 to 19 { do { load A[i] member 5 33 } }",
        BEGIN "array A[20][3] of 12 column-major low 0 0 for i = 0 to 2 { for j = 0 to 19 { do { load "
              "A[j][i] } } }",
        /* members that reach over the elements behind */
        BEGIN "array A[9][12] of 4 for i = 0 to 8 { for k = 0 to 2 { do { load A[i][2 * k] member 0 8 store "
              "A[i][k + 8] load A[i][6] member 1 9 } } }",
        BEGIN "array A[][7] of 2 for i = 0 to 8 { do { load A[i][5] member 1 40 } }",
    };
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        for (uint64_t granularity = 1; granularity <= 64; granularity *= 4)
            check_region(texts[i], granularity, FM_LAYOUT_CONTIGUOUS);
}

static void refuse(const char *text, fm_status expected, uint64_t line, const char *reason)
{
    fm_region *region;
    fm_placement *placement;
    fm_reference_list list;
    fm_error error;
    assert_int_equal(fm_region_parse(&region, text, strlen(text), "sample.fir", &error), FM_OK);
    assert_int_equal(fm_placement_create(&placement, region, 64, FM_LAYOUT_CONTIGUOUS, &error), FM_OK);
    assert_int_equal(fm_references_create(&list, region, placement, &error), expected);
    if (!strstr(error.reason, reason)) fail_msg("'%s' does not say '%s'", error.reason, reason);
    if (strcmp(error.path, "k.c") != 0) fail_msg("'%s': %s", error.path, error.reason);
    assert_int_equal(error.offset, line);
    fm_placement_destroy(placement);
    fm_region_destroy(region);
}

CASE(test_refused)
{
    refuse(BEGIN "array A[10] of 8 for i = 0 to 10 { do { load A[i] @1:5 \"A[i]\" } }", FM_E_ARGUMENT, 5,
           "A[i] touches element A[10] outside the array: its byte 87, and the array has 80 bytes");
    refuse(BEGIN "array A[10] of 8 for i = 0 to 9 { do { load A[2 * i - 3] @1:6 \"A[2*i-3]\" } }",
           FM_E_ARGUMENT, 6, "A[2*i-3] touches element A[-3] outside the array: 24 bytes before its begin");
    refuse(
        BEGIN
        "param n = 4000000000000000000 array A[] of 1 for i = 0 to n @1:7 { for j = i to 2 * i { do @1:8 { "
        "load A[0] } } }",
        FM_E_LIMIT, 8, "beyond 2^62");
}

/* Too much of something: refused, and soon. */
CASE(test_limits)
{
    char text[4096];
    size_t used = (size_t)sprintf(text, "%s", BEGIN "array A[] of 8 ");
    for (int i = 0; i < 17; i++) used += (size_t)sprintf(text + used, "for v%d = 0 to 1 @1:%d { ", i, i + 1);
    used += (size_t)sprintf(text + used, "do { load A[0] } ");
    for (int i = 0; i < 17; i++) used += (size_t)sprintf(text + used, "}");
    refuse(text, FM_E_LIMIT, 17, "more than 16 loops and quotients inside each other");
    used = (size_t)sprintf(
        text, "%s",
        BEGIN "array A[] of 8 for i = 0 to 99 { for j = 0 to 99 { for k = 0 to 99 { for l = 0 to 99 { "
              "if i != j ");
    for (int i = 0; i < 30; i++)
        used += (size_t)sprintf(text + used, "and %d * i + %d * j - %d * k - %d * l != %d ", i % 5 + 1,
                                i % 7 + 1, i % 3 + 1, i % 4 + 1, i % 2);
    sprintf(text + used, "@1:9 { do { load A[i] } } } } } }");
    refuse(text, FM_E_LIMIT, 9, "the condition has more than 4096 cases");
}

/* Rows only just inside: the exact end counts, not that of the box around the points. */
CASE(test_exact_ends)
{
    check_region(BEGIN "array A[10] of 8 for i = 0 to 9 { for j = 0 to 9 - i { do { load A[i + j] } } }", 64,
                 FM_LAYOUT_CONTIGUOUS);
    check_region(
        BEGIN
        "array A[10] of 8 for i = 0 to 30 { for j = 0 to 30 { if 3 * i + 2 * j == 9 { do { load A[3 * i "
        "+ j] } } } }",
        64, FM_LAYOUT_CONTIGUOUS);
}

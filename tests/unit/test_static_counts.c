/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_static_counts.c - how often a region does something: numbers against the walk, formulas against
 * numbers, and closed forms worked by hand.
 */
#include "case.h"

#include "unit/static_samples.h"

#include "static/counts/counts.h"

#include <inttypes.h>

static fm_region *parse(const char *text)
{
    fm_region *region;
    fm_error error;
    if (fm_region_parse(&region, text, strlen(text), "test.fir", &error) != FM_OK)
        fail_msg("line %llu: %s\n%s", (unsigned long long)error.offset, error.reason, text);
    return region;
}

static fm_status tally(void *context, const uint64_t *addresses, const uint32_t *sizes, const uint32_t *tags,
                       size_t count, fm_error *error)
{
    uint64_t *by_tag = context;
    (void)addresses, (void)sizes, (void)error;
    for (size_t i = 0; i < count; i++) by_tag[tags[i]]++;
    return FM_OK;
}

/* Every access is executed as often as its statement. */
static void check_node(const fm_region_node *node, const uint64_t *by_tag, const uint64_t *executions,
                       const char *text)
{
    for (; node; node = node->next) {
        for (size_t i = 0; node->kind == FM_NODE_STATEMENT && i < node->access_count; i++)
            if (by_tag[node->first_access + i + 1] != executions[node->statement])
                fail_msg("statement %u: %" PRIu64 " counted, %" PRIu64 " walked\n%s", node->statement,
                         executions[node->statement], by_tag[node->first_access + i + 1], text);
        check_node(node->body, by_tag, executions, text);
        check_node(node->otherwise, by_tag, executions, text);
    }
}

CASE(numbers_are_those_of_the_walk)
{
    unsigned walked = 0;
    for (uint64_t seed = 1; seed <= 600; seed++) {
        sample_text *sample = calloc(1, sizeof *sample);
        sample_region(sample, seed);
        fm_region *region = parse(sample->text);
        uint64_t by_tag[64] = {0}, executions[64];
        int64_t parameters[8] = {0};
        assert_true(region->access_count < 64 && region->statement_count < 64 && region->parameter_count < 8);
        for (size_t i = 0; i < region->parameter_count; i++) parameters[i] = region->parameters[i].value;
        if (fm_region_walk(region, 64, FM_LAYOUT_CONTIGUOUS, tally, by_tag, NULL) == FM_OK) {
            walked++;
            assert_int_equal(fm_count_executions(region, parameters, 0, executions, NULL), FM_OK);
            check_node(region->body, by_tag, executions, sample->text);
        }
        fm_region_destroy(region);
        free(sample);
    }
    assert_true(walked > 400);
}

/* ---- formulas ---- */

static uint64_t seed = 7;
static int between(int least, int most)
{
    seed = seed * UINT64_C(6364136223846793005) + 1442695040888963407;
    return least + (int)((seed >> 33) % (uint64_t)(most - least + 1));
}

static size_t put_nest(char *text, unsigned level, unsigned depth)
{
    static const char *const firsts[] = {"0", "1", "m", "v%u", "v%u + 1", "-n", "2 * v%u"};
    static const char *const lasts[] = {"n - 1",   "n",           "n + m",   "v%u",
                                        "v%u + m", "2 * n - v%u", "v%u - 1", "9"};
    size_t used = 0;
    if (level == depth) return (size_t)sprintf(text, "do adds 1 { store x }\n");
    int first = between(0, level ? 6 : 2), last = between(0, level ? 7 : 2);
    unsigned outer = level ? (unsigned)between(0, (int)level - 1) : 0;
    bool down = between(0, 3) == 0;
    char bounds[2][40];
    snprintf(bounds[0], sizeof bounds[0], firsts[first], outer);
    snprintf(bounds[1], sizeof bounds[1], lasts[last], outer);
    used += (size_t)sprintf(text + used, "for v%u = %s %s %s {\n", level, bounds[down],
                            down ? "downto" : "to", bounds[!down]);
    used += put_nest(text + used, level + 1, depth);
    if (between(0, 2) == 0) used += (size_t)sprintf(text + used, "do integers 2 { load x }\n");
    used += (size_t)sprintf(text + used, "}\n");
    return used;
}

CASE(formulas_are_right_where_they_say)
{
    unsigned found = 0, compared = 0;
    for (int round = 0; round < 1500; round++) {
        char text[2000] = "fathom-region 1\nparam n\nparam m\narray x of 8\n";
        put_nest(text + strlen(text), 0, (unsigned)between(1, 4));
        fm_region *region = parse(text);
        fm_formulas formulas;
        fm_error error;
        fm_status status = fm_formulas_find(&formulas, region, &error);
        if (status != FM_OK) {
            assert_int_equal(status, FM_E_UNSUPPORTED);
            fm_region_destroy(region);
            continue;
        }
        found++;
        /* The condition, read back by the reader of regions (which has no powers; these have none either). */
        char with[4000];
        snprintf(with, sizeof with, "fathom-region 1\nparam n\nparam m\nassume %s\n",
                 formulas.condition ? formulas.condition : "true");
        fm_region *judge = parse(with);
        for (int64_t n = -1; n <= 6; n++)
            for (int64_t m = -1; m <= 3; m++) {
                const int64_t values[FM_COLUMNS] = {n, m};
                uint64_t executions[16];
                bool holds;
                assert_true(fm_condition_value(judge->assumptions[0], values, NULL, &holds));
                if (!holds) continue;
                compared++;
                assert_int_equal(fm_count_executions(region, values, 0, executions, NULL), FM_OK);
                for (uint32_t s = 0; s < region->statement_count; s++) {
                    int64_t value = -1;
                    fm_quick_poly quick;
                    assert_true(fm_quick_poly_create(&quick, &formulas.executions[s]));
                    bool whole = fm_quick_poly_value(&quick, values, &value);
                    fm_quick_poly_clear(&quick);
                    if (!whole || value != (int64_t)executions[s])
                        fail_msg("n %lld, m %lld, statement %u: formula %lld, counted %llu where %s\n%s",
                                 (long long)n, (long long)m, s, (long long)value,
                                 (unsigned long long)executions[s], formulas.condition, text);
                }
            }
        fm_region_destroy(judge);
        fm_formulas_clear(&formulas);
        fm_region_destroy(region);
    }
    assert_true(found > 300 && compared > 5000);
}

CASE(texts)
{
    fm_region *region =
        parse("fathom-region 1\nfile 1 \"g.c\"\nparam n\nparam m = 3\narray A[n][n] of 8\narray C[n][n] of "
              "8\nfor i = 0 to n - 1 { for j = 0 to i { do @1:4 { store C[i][j] }\n"
              "for k = 0 to j - 1 { do adds 1 multiplies 1 integers 3 @1:6 { load A[i][k] load A[j][k] "
              "load C[i][j] store C[i][j] } } } }\n");
    fm_region_counts *counts;
    fm_error error;
    if (fm_region_count(region, 0, &counts, &error) != FM_OK) fail_msg("%s", error.reason);
    /* n(n+1)/2 and (n-1)n(n+1)/6 times. */
    assert_string_equal(counts->statements[0].executions, "(n^2 + n)/2");
    assert_string_equal(counts->statements[1].executions, "(n^3 - n)/6");
    assert_string_equal(counts->loads, "(n^3 - n)/2");
    assert_string_equal(counts->stores, "(n^3 + 3*n^2 + 2*n)/6");
    assert_string_equal(counts->flops, "(n^3 - n)/3");
    assert_string_equal(counts->integer_operations, "(n^3 - n)/2");
    assert_string_equal(counts->condition, "n >= 0");
    assert_string_equal(counts->statements[1].file, "g.c");
    assert_int_equal(counts->statements[1].line, 6);
    fm_region_counts_destroy(counts);
    /* The same as numbers. */
    assert_int_equal(fm_region_set_parameter(region, "n", 1000, NULL), FM_OK);
    assert_int_equal(fm_region_count(region, 0, &counts, NULL), FM_OK);
    assert_string_equal(counts->statements[1].executions, "166666500");
    assert_string_equal(counts->loads, "499999500");
    assert_null(counts->condition);
    fm_region_counts_destroy(counts);
    fm_region_destroy(region);
}

/* The last two of loops that depend on each other take no steps, however often they run: guards cut them. */
CASE(triangles_take_no_steps)
{
    fm_region *region = parse("fathom-region 1\nparam n = 3000000000\narray x of 8\n"
                              "for i = 0 to n - 1 { for j = 0 to i { do { store x } }\n"
                              "if i >= 1000 { for k = n - 1 downto i { do { store x } } }\n"
                              "if i == 7 { do { store x } } }\n");
    fm_region_counts *counts;
    fm_error error;
    if (fm_region_count(region, 20, &counts, &error) != FM_OK) fail_msg("%s", error.reason);
    const uint64_t n = 3000000000, rows = n - 1000;
    char first[32], second[32];
    snprintf(first, sizeof first, "%" PRIu64, n / 2 * (n + 1));
    snprintf(second, sizeof second, "%" PRIu64, rows / 2 * (rows + 1));
    assert_string_equal(counts->statements[0].executions, first);
    assert_string_equal(counts->statements[1].executions, second);
    assert_string_equal(counts->statements[2].executions, "1");
    fm_region_counts_destroy(counts);
    fm_region_destroy(region);
    /* Beyond 2^64. */
    region = parse(
        "fathom-region 1\narray x of 8\nfor i = 0 to 8000000000 { for j = 0 to i { do { store x } } }\n");
    assert_int_equal(fm_region_count(region, 20, &counts, NULL), FM_E_LIMIT);
    fm_region_destroy(region);
}

CASE(what_has_no_formula)
{
    static const char *const bodies[] = {
        "for i = 0 to n - 1 { if i % 2 == 0 { do { store x } } }",
        "for i = 0 to min(n, 7) { do { store x } }",
        "for i = 0 to n / 2 { do { store x } }",
        "for i = 0 to n step 2 { do { store x } }",
        "for i = 0 to n { for j = 5 to i { do { store x } } }", /* runs backwards where i is 0 */
    };
    for (size_t i = 0; i < sizeof bodies / sizeof bodies[0]; i++) {
        char text[300];
        snprintf(text, sizeof text, "fathom-region 1\nparam n\narray x of 8\n%s\n", bodies[i]);
        fm_region *region = parse(text);
        fm_region_counts *counts;
        fm_error error;
        assert_int_equal(fm_region_count(region, 0, &counts, &error), FM_E_UNSUPPORTED);
        assert_true(error.reason[0]);
        fm_region_destroy(region);
    }
    /* More parameters than a formula has room for. */
    char many_parameters[4000] = "fathom-region 1\n";
    for (int i = 0; i < 100; i++) sprintf(many_parameters + strlen(many_parameters), "param p%d\n", i);
    strcat(many_parameters, "array x of 8\nfor i = 0 to p99 { do { store x } }\n");
    fm_region *crowded = parse(many_parameters);
    fm_region_counts *none;
    assert_int_equal(fm_region_count(crowded, 0, &none, NULL), FM_E_UNSUPPORTED);
    fm_region_destroy(crowded);
    /* A deadline, and numbers that do not fit. */
    fm_region *slow =
        parse("fathom-region 1\narray x of 8\nfor i = 0 to 99999999 { for j = 0 to i { for k = 0 to j "
              "{ do { store x } } } }\n");
    fm_region_counts *counts;
    assert_int_equal(fm_region_count(slow, 0.01, &counts, NULL), FM_E_LIMIT);
    fm_region_destroy(slow);
    fm_region *many =
        parse("fathom-region 1\nparam n = 4000000000000\narray x of 8\nfor i = 0 to n { for j = 0 to n { "
              "do { store x } } }\n");
    assert_int_equal(fm_region_count(many, 0, &counts, NULL), FM_E_LIMIT);
    fm_region_destroy(many);
}

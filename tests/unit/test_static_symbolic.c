/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_static_symbolic.c - formulas of open parameters against a walk and a list: the accesses of random
 * loops one after the other, each block in a stack that is searched from the top. What formulas are right
 * for, and what is refused.
 */
#include "case.h"
#include "random.h"

#include "static/region/region.h"

#include <fathom/experimental/region_formulas.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
// cmocka needs the headers above first
enum { MOST = 4096, SIZES = 3 };
static const uint64_t sizes[SIZES] = {64, 8 * 64, 1 << 20};

/* ---- the judge ---- */

typedef struct judge {
    uint64_t stack[MOST];
    size_t depth;
    uint64_t references, cold, misses[SIZES];
} judge;

static fm_status visit(void *context, const uint64_t *addresses, const uint32_t *bytes, const uint32_t *tags,
                       size_t count, fm_error *error)
{
    judge *this = context;
    (void)bytes, (void)tags, (void)error;
    for (size_t i = 0; i < count; i++) {
        const uint64_t block = addresses[i] / 64;
        size_t place = this->depth;
        while (place && this->stack[place - 1] != block) place--;
        for (int k = 0; k < SIZES; k++) this->misses[k] += place == 0 || this->depth - place >= sizes[k] / 64;
        this->references++;
        if (place)
            memmove(&this->stack[place - 1], &this->stack[place], (this->depth-- - place) * sizeof block);
        else
            this->cold++;
        assert_true(this->depth < MOST);
        this->stack[this->depth++] = block;
    }
    return FM_OK;
}

static fm_region *parse(const char *text)
{
    fm_region *region;
    fm_error error;
    if (fm_region_parse(&region, text, strlen(text), "test", &error)) fail_msg("%s\n%s", error.reason, text);
    return region;
}

static void compare(const fm_symbolic *symbolic, const char *text, fm_layout layout, const int64_t *values)
{
    fm_region *region = parse(text);
    judge *truth = calloc(1, sizeof *truth);
    fm_symbolic_values found;
    fm_error error;
    for (size_t i = 0; i < fm_symbolic_parameter_count(symbolic); i++)
        assert_int_equal(
            fm_region_set_parameter(region, fm_symbolic_parameter_at(symbolic, i).name, values[i], NULL),
            FM_OK);
    if (fm_region_walk(region, 64, layout, visit, truth, &error)) fail_msg("%s\n%s", error.reason, text);
    if (fm_symbolic_evaluate(symbolic, values, &found, &error)) fail_msg("%s\n%s", error.reason, text);
    bool same = found.references == truth->references && found.cold == truth->cold &&
                found.loads + found.stores == truth->references && found.size_count == SIZES;
    for (int k = 0; k < SIZES; k++) same = same && found.misses[k] == truth->misses[k];
    if (!same)
        fail_msg(
            "n = %lld: %llu references, %llu first touches, misses %llu %llu %llu; expected %llu, %llu, %llu "
            "%llu %llu\n%s",
            (long long)values[0], (unsigned long long)found.references, (unsigned long long)found.cold,
            (unsigned long long)found.misses[0], (unsigned long long)found.misses[1],
            (unsigned long long)found.misses[2], (unsigned long long)truth->references,
            (unsigned long long)truth->cold, (unsigned long long)truth->misses[0],
            (unsigned long long)truth->misses[1], (unsigned long long)truth->misses[2], text);
    free(truth);
    fm_region_destroy(region);
}

/* ---- random loops ---- */

static const char *one_of(const char *const *words, unsigned count)
{
    return words[(unsigned)random_below(count)];
}

static void random_text(char *text, size_t room)
{
    static const char *const outer[] = {"for i = 0 to n - 1", "for i = n - 1 downto 0", "for i = 1 to n - 2",
                                        "for i = 0 to n - 1 step 2"};
    static const char *const inner[] = {"for j = 0 to n - 1", "for j = i to n - 1", "for j = 0 to i",
                                        "for j = max(0, i - 2) to min(n - 1, i + 2)",
                                        "for j = n - 1 downto i"};
    static const char *const guards[] = {"", "", "if i != j", "if j >= i + 2", "if j <= 3"};
    static const char *const accesses[] = {"load A[i][j]", "store A[j][i]", "load B[j]",         "store B[i]",
                                           "load A[i][i]", "load C[j]",     "store C[n - 1 - j]"};
    FILE *out = fmemopen(text, room, "w");
    fputs("fathom-region 1 param n array A[n][n] of 8 array B[n] of 8 array C[n] of 4\n", out);
    {
        const char *guard = one_of(guards, 5);
        fprintf(out, "%s { %s { %s%s do { %s %s } %s } do { %s } }\n", one_of(outer, 4), one_of(inner, 5),
                guard, guard[0] ? " {" : "", one_of(accesses, 7), one_of(accesses, 7), guard[0] ? "}" : "",
                "load B[i]");
    }
    fclose(out);
}

CASE(test_random_loops)
{
    for (int round = 0; round < 5; round++) {
        char text[2048];
        const fm_layout layout = round % 3 == 2 ? FM_LAYOUT_ALIGNED : FM_LAYOUT_CONTIGUOUS;
        const int64_t remainder = 0;
        const fm_symbolic_options options = {.layout = layout,
                                             .sizes = sizes,
                                             .size_count = SIZES,
                                             .remainders = &remainder,
                                             .limit_seconds = 5};
        random_text(text, sizeof text);
        fm_region *region = parse(text);
        fm_symbolic *symbolic;
        fm_error error;
        fm_status status = fm_region_symbolic(region, &options, &symbolic, &error);
        fm_region_destroy(region);
        if (status == FM_E_LIMIT) continue; /* a busy machine */
        if (status != FM_OK) fail_msg("%s\n%s", error.reason, text);
        const fm_symbolic_parameter n = fm_symbolic_parameter_at(symbolic, 0);
        for (int64_t value = n.least; value < 36; value += n.modulus) compare(symbolic, text, layout, &value);
        fm_symbolic_destroy(symbolic);
    }
}

/* Formulas of the literature: a matrix product, row by row of the result. */
CASE(test_closed_forms)
{
    const char text[] =
        "fathom-region 1 param n array A[n][n] of 8 array B[n][n] of 8 array C[n][n] of 8\n"
        "for i = 0 to n - 1 { for k = 0 to n - 1 { for j = 0 to n - 1 {"
        "do multiplies 1 adds 1 { load C[i][j] load A[i][k] load B[k][j] store C[i][j] } } } }";
    const fm_symbolic_options options = {.sizes = sizes, .size_count = SIZES};
    fm_region *region = parse(text);
    fm_symbolic *symbolic;
    fm_symbolic_values found;
    fm_symbolic_text shown;
    int64_t n = 800;
    fm_error error;
    assert_int_equal(fm_region_symbolic(region, &options, &symbolic, &error), FM_OK);
    assert_int_equal(fm_symbolic_evaluate(symbolic, &n, &found, &error), FM_OK);
    assert_int_equal(found.loads, 3 * n * n * n);
    assert_int_equal(found.stores, n * n * n);
    assert_int_equal(found.flops, 2 * n * n * n);
    assert_int_equal(found.cold, 3 * n * n / 8);
    /* A row of each fits 1 MiB, all of B does not: B comes from memory n times, A and C once. */
    assert_int_equal(found.misses[2], n * n * n / 8 + 2 * n * n / 8);
    assert_true(fm_symbolic_text_at(symbolic, 0, &shown));
    assert_string_equal(shown.text, "3*n^3");
    assert_string_equal(shown.from, "");
    n = 801;
    assert_int_equal(fm_symbolic_evaluate(symbolic, &n, &found, &error), FM_E_ARGUMENT);
    n = 0;
    assert_int_equal(fm_symbolic_evaluate(symbolic, &n, &found, &error), FM_E_ARGUMENT);
    n = INT64_MAX - 7;
    assert_int_equal(fm_symbolic_evaluate(symbolic, &n, &found, &error), FM_E_ARGUMENT);
    fm_symbolic_destroy(symbolic);
    fm_region_destroy(region);
}

CASE(test_refused)
{
    static const char *const texts[] = {
        "fathom-region 1 param n array A[n][n] of 24 for i = 0 to n - 1 { do { load A[i][i] } }",
        "fathom-region 1 param n array A[n] of 8 for i = 0 to n { do { load A[i] } }",
    };
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        fm_region *region = parse(texts[i]);
        fm_symbolic *symbolic;
        fm_error error;
        const fm_symbolic_options options = {.sizes = sizes, .size_count = 1};
        fm_status status = fm_region_symbolic(region, &options, &symbolic, &error);
        assert_true(status == FM_E_UNSUPPORTED && error.reason[0] && !symbolic);
        fm_region_destroy(region);
    }
    const uint64_t tiny = 32;
    const fm_symbolic_options options = {.sizes = &tiny, .size_count = 1};
    fm_region *region =
        parse("fathom-region 1 param n array A[n] of 8 for i = 0 to n - 1 { do { load A[i] } }");
    fm_symbolic *symbolic;
    fm_error error;
    assert_int_equal(fm_region_symbolic(region, &options, &symbolic, &error), FM_E_ARGUMENT);
    fm_region_destroy(region);
}

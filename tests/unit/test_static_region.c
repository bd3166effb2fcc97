/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_static_region.c - regions from text and back, where their arrays lie, and the walk: against addresses
 * that the same loops, written in C, compute.
 */
#include "case.h"
#include "random.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "static/region/region.h"

static fm_region *parse(const char *text)
{
    fm_region *region;
    fm_error error;
    if (fm_region_parse(&region, text, strlen(text), "test.fir", &error) != FM_OK)
        fail_msg("line %llu: %s", (unsigned long long)error.offset, error.reason);
    return region;
}

static void refuse(const char *text, fm_status status, uint64_t line, const char *reason)
{
    fm_region *region;
    fm_error error;
    assert_int_equal(fm_region_parse(&region, text, strlen(text), "test.fir", &error), status);
    assert_null(region);
    if (!strstr(error.reason, reason)) fail_msg("'%s' does not say '%s'", error.reason, reason);
    if (line) assert_int_equal(error.offset, line);
}

enum { MOST = 100000 };
typedef struct seen {
    size_t count;
    uint64_t addresses[MOST];
    uint32_t sizes[MOST], tags[MOST];
    size_t fail_after;
} seen;

static fm_status note(void *context, const uint64_t *addresses, const uint32_t *sizes, const uint32_t *tags,
                      size_t count, fm_error *error)
{
    seen *all = context;
    if (all->fail_after && all->count >= all->fail_after) {
        if (error) error->status = FM_E_LIMIT;
        return FM_E_LIMIT;
    }
    assert_in_range(count, 1, 65536);
    for (size_t i = 0; i < count && all->count < MOST; i++, all->count++) {
        all->addresses[all->count] = addresses[i];
        all->sizes[all->count] = sizes[i];
        all->tags[all->count] = tags[i];
    }
    return FM_OK;
}

static seen *walk_as(const char *text, uint64_t granularity, fm_layout layout)
{
    fm_region *region = parse(text);
    seen *all = calloc(1, sizeof *all);
    fm_error error;
    if (fm_region_walk(region, granularity, layout, note, all, &error) != FM_OK) fail_msg("%s", error.reason);
    fm_region_destroy(region);
    return all;
}

static void expect(const seen *all, size_t i, uint32_t tag, int64_t address, uint32_t size)
{
    if (i >= all->count || all->tags[i] != tag || all->addresses[i] != (uint64_t)address ||
        all->sizes[i] != size)
        fail_msg("access %zu of %zu: tag %u at %lld, %u bytes; expected %u at %lld, %u", i, all->count,
                 all->tags[i], (long long)all->addresses[i], all->sizes[i], tag, (long long)address, size);
}

#define BEGIN "fathom-region 1\n"

static const char matrices[] =
    BEGIN "file 1 \"/a/gemm.c\"\n"
          "function \"gemm\" @1:3-9\n"
          "param n = 13\n"
          "param m = 7\n"
          "array A[n][m] of 8\n"
          "array x[m] of 4 @1:4\n"
          "array s of 8\n"
          "for i = 0 to n - 1 @1:5 { for j = i to m - 1 @1:6 {\n"
          "  do adds 1 multiplies 2 @1:7 { load A[i][j] @1:7:4 \"A[i][j]\" load x[j] store s }\n"
          "} }\n";

CASE(loops)
{
    for (int layout = 0; layout < 2; layout++) {
        seen *all = walk_as(matrices, 64, (fm_layout)layout);
        int64_t row = layout ? 64 : 56, base_a = 65536, base_x = (base_a + 13 * row + 63) / 64 * 64;
        int64_t base_s = base_x + 64;
        size_t at = 0;
        for (int i = 0; i < 13; i++)
            for (int j = i; j < 7; j++) {
                expect(all, at++, 1, base_a + i * row + j * 8, 8);
                expect(all, at++, 2, base_x + j * 4, 4);
                expect(all, at++, 3, base_s, 8);
            }
        assert_int_equal(all->count, at);
        free(all);
    }
}

CASE(every_kind_of_loop_and_guard)
{
    seen *all = walk_as(
        BEGIN "array A[200] of 1\narray p[50] of 24\n"
              "for i = 20 downto 0 step 3 {\n"
              "  for k = max(i - 4, 1) to min(i, 9, 100) step 2 {\n"
              "    if (k % 3 == 1 or i / 4 >= 3) and not (i == 8) { do { load A[k + 10 * (i / 5)] } }\n"
              "    else { do { store p[mod(k - 7, 5)] member 8 4 load p[floor(k - 9, 2) + 5] } }\n"
              "  }\n"
              "  if i < 0 { do { load A[i] } }\n"
              "}\n",
        1, FM_LAYOUT_CONTIGUOUS);
    size_t at = 0;
    for (int i = 20; i >= 0; i -= 3)
        for (int k = i - 4 > 1 ? i - 4 : 1; k <= (i < 9 ? i : 9); k += 2)
            if ((k % 3 == 1 || i / 4 >= 3) && i != 8) {
                expect(all, at++, 1, 65536 + k + 10 * (i / 5), 1);
            } else {
                int mod = ((k - 7) % 5 + 5) % 5, half = k - 9 >= 0 ? (k - 9) / 2 : -((10 - k) / 2);
                expect(all, at++, 2, 65536 + 200 + 24 * mod + 8, 4);
                expect(all, at++, 3, 65536 + 200 + 24 * (half + 5), 24);
            }
    assert_int_equal(all->count, at);
    assert_true(at > 10);
    free(all);
}

CASE(layouts)
{
    /* Column-major with smallest subscripts, an offset, a pointer whose length nobody knows. */
    seen *all = walk_as(BEGIN "param n = 5\narray F[n][3] of 8 column-major low 1 -1\n"
                              "array B[10] of 8 align 4096 offset 24\narray q[] of 8\narray r[][4] of 2\n"
                              "for j = -1 to 1 { for i = 1 to n { do { load F[i][j] } } }\n"
                              "for i = 0 to 9 { do { load B[i] store q[i - 3] load r[2 * i][3] } }\n",
                        64, FM_LAYOUT_CONTIGUOUS);
    size_t at = 0;
    for (int k = 0; k < 15; k++) expect(all, at++, 1, 65536 + 8 * k, 8);
    /* B: behind F, at a multiple of 4096, and 24 bytes on; q: room for 24 bytes before q[0], 56 from there
     * on. */
    int64_t b = 65536 + 4096 + 24, q = b + 80 + 24 + 64, r;
    q -= q % 64;
    r = q + 56 + 63;
    r -= r % 64;
    for (int i = 0; i < 10; i++) {
        expect(all, at++, 2, b + 8 * i, 8);
        expect(all, at++, 3, q + 8 * (i - 3), 8);
        expect(all, at++, 4, r + 8 * 2 * i + 6, 2);
    }
    assert_int_equal(all->count, at);
    free(all);
}

static char *written(const fm_region *region)
{
    char *text = NULL;
    size_t size;
    FILE *stream = open_memstream(&text, &size);
    assert_int_equal(fm_region_write(region, stream, NULL), FM_OK);
    fclose(stream);
    return text;
}

CASE(text_and_back)
{
    static const char *const texts[] = {
        matrices,
        BEGIN
        "file 1 \"a \\\"b\\\\c\\n\"\nnote \"both arms\"\nparam n\nparam k = -3\nassume n >= 1 and (k < 0 or "
        "not "
        "(n == 4))\narray A[n * 2 + 1][k + 10] of 16 column-major align 64 offset 8 low 1 1\n"
        "for i = -n downto k - (n - 2) step 7 { if i != 3 or i % 2 == 0 and 3 * (i + 1) > n { do specials 2 "
        "integers 3 { load A[i - (n - i)][-i] member 8 8 } } else { for i = 0 to 1 { do { store A[i][2] } } "
        "} "
        "}\ndo { }\n",
        BEGIN "for i = 0 to 9 { if true { do divides 1 { } } if false { } }",
    };
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        fm_region *region = parse(texts[i]), *again;
        char *first = written(region), *second;
        again = parse(first);
        second = written(again);
        assert_string_equal(first, second);
        assert_int_equal(region->access_count, again->access_count);
        assert_int_equal(region->statement_count, again->statement_count);
        free(first);
        free(second);
        fm_region_destroy(region);
        fm_region_destroy(again);
    }
}

CASE(questions)
{
    fm_region *region = parse(matrices);
    const char *file;
    uint32_t first, last;
    int64_t value;
    fm_error error;
    assert_string_equal(fm_region_name(region), "gemm");
    assert_true(fm_region_lines(region, &file, &first, &last));
    assert_string_equal(file, "/a/gemm.c");
    assert_true(first == 3 && last == 9);
    assert_int_equal(fm_region_parameter_count(region), 2);
    assert_string_equal(fm_region_parameter_name(region, 1), "m");
    assert_true(fm_region_parameter_value(region, 1, &value) && value == 7);
    assert_int_equal(fm_region_set_parameter(region, "m", 8, NULL), FM_OK);
    assert_true(fm_region_parameter_value(region, 1, &value) && value == 8);
    assert_int_equal(fm_region_set_parameter(region, "q", 8, &error), FM_E_ARGUMENT);
    assert_non_null(strstr(error.reason, "it has n, m"));
    assert_string_equal(fm_region_access_at(region, 0)->text, "A[i][j]");
    assert_int_equal(fm_region_access_at(region, 2)->place.line, 7); /* the statement's */
    assert_null(fm_region_access_at(region, 3));
    assert_null(fm_region_note(region, 0));
    fm_region_destroy(region);
}

CASE(what_is_no_region)
{
    refuse("", FM_E_FORMAT, 0, "no region");
    refuse("int main", FM_E_FORMAT, 0, "no region");
    refuse("fathom-region 2", FM_E_UNSUPPORTED, 0, "version 2");
    refuse(BEGIN "param n\nparam n", FM_E_FORMAT, 3, "declared twice");
    refuse(BEGIN "array A[n] of 8", FM_E_FORMAT, 2, "no parameter");
    refuse(BEGIN "array A[3][] of 8", FM_E_FORMAT, 2, "only the first extent");
    refuse(BEGIN "array A[3] of 0", FM_E_FORMAT, 2, "size of an element");
    refuse(BEGIN "array A[3] of 8 align 48", FM_E_FORMAT, 2, "power of two");
    refuse(BEGIN "file 2 \"x\"", FM_E_FORMAT, 2, "one after the other");
    refuse(BEGIN "for i = 0 to 9 {\n\n", FM_E_FORMAT, 4, "found the end");
    refuse(BEGIN "for i = 0 to 9 { } }", FM_E_FORMAT, 2, "a statement or the end");
    refuse(BEGIN "for i = 0 to 9 step 0 { }", FM_E_FORMAT, 2, "a step from 1");
    refuse(BEGIN "for i = 0 to 9 @1 { }", FM_E_FORMAT, 2, "no file 1");
    refuse(BEGIN "array A[3] of 8\nfor i = 0 to 9 { do { load A } }", FM_E_FORMAT, 3, "1 dimensions");
    refuse(BEGIN "array A[3] of 8\nfor i = 0 to 9 { do { load A[1][2] } }", FM_E_FORMAT, 3,
           "more subscripts");
    refuse(BEGIN "array A[3] of 8\ndo { load A[i] }", FM_E_FORMAT, 3, "no loop here");
    refuse(BEGIN "array A[3] of 8\ndo { load A[1] member 8 8 }", FM_E_FORMAT, 3, "not begin inside");
    refuse(BEGIN "array A[3] of 8\ndo { load A[1] member 4 16777213 }", FM_E_FORMAT, 3, "more than 16777216");
    refuse(BEGIN "array A[9] of 8\nfor i = 0 to 2 { do { load A[i * i] } }", FM_E_FORMAT, 3, "not affine");
    refuse(BEGIN "array A[9] of 8\nfor i = 1 to 2 { do { load A[9 / i] } }", FM_E_FORMAT, 3, "not affine");
    refuse(BEGIN "do { load B[1] }", FM_E_FORMAT, 2, "no array");
    refuse(BEGIN "param n = 99999999999999999999", FM_E_FORMAT, 2, "2^63");
    refuse(BEGIN "note \"never ends\n", FM_E_FORMAT, 2, "does not end");
    refuse(BEGIN "if 1 { }", FM_E_FORMAT, 2, "a comparison");
    refuse(BEGIN "for i = floor(1) to 2 { }", FM_E_FORMAT, 2, "another number");
    refuse(BEGIN "for i = sqrt(1) to 2 { }", FM_E_FORMAT, 2, "no function");
    refuse(BEGIN "for i = 0 to \x80 { }", FM_E_FORMAT, 2, "0x80");
    char deep[4000] = BEGIN "for i = ";
    for (int i = 0; i < 500; i++) strcat(deep, "(");
    refuse(deep, FM_E_FORMAT, 2, "inside each other");
    char *wide = calloc(1, 30000);
    strcpy(wide, BEGIN "param n\nassume n");
    for (int i = 0; i < 5000; i++) memcpy(wide + strlen(wide), " + n", 4);
    strcat(wide, " > 0");
    refuse(wide, FM_E_FORMAT, 3, "operators");
    free(wide);
    char loops_inside[1000] = BEGIN;
    for (int i = 0; i < 30; i++) strcat(loops_inside, "for i = 0 to 1 { ");
    refuse(loops_inside, FM_E_FORMAT, 2, "loops inside");
}

CASE(what_cannot_be_walked)
{
    static const struct {
        const char *text;
        fm_status status;
        const char *reason;
    } cases[] = {
        {BEGIN "param n\nfor i = 0 to n { }", FM_E_ARGUMENT, "'n' has no value"},
        {BEGIN "param n = 3\nassume n > 3", FM_E_ARGUMENT, "assumption 1"},
        {BEGIN "param n = -3\narray A[n] of 8\n", FM_E_ARGUMENT, "is -3"},
        {BEGIN "array A[10] of 8\nfor i = 0 to 10 { do { load A[i] } }", FM_E_ARGUMENT, "at byte 80 of 80"},
        {BEGIN "array A[10] of 8\nfor i = 0 to 9 { do { load A[i - 1] } }", FM_E_ARGUMENT,
         "at byte -8 of 80"},
        {BEGIN "param n = 0\narray A[9 / n] of 8\n", FM_E_ARGUMENT, "extent 1"},
        {BEGIN "param n = 9223372036854775807\narray A[n] of 8\n", FM_E_LIMIT, "2^56"},
        {BEGIN "param n = 9223372036854775807\narray A[] of 8\nfor i = 0 to n { do { load A[i] } }",
         FM_E_LIMIT, "2^56"},
    };
    static seen all;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        fm_region *region = parse(cases[i].text);
        fm_error error;
        assert_int_equal(fm_region_walk(region, 64, FM_LAYOUT_CONTIGUOUS, note, &all, &error),
                         cases[i].status);
        if (!strstr(error.reason, cases[i].reason)) fail_msg("'%s': %s", error.reason, cases[i].reason);
        fm_region_destroy(region);
    }
    /* What the visitor says ends the walk. */
    fm_region *region =
        parse(BEGIN "array A[10] of 8\nfor t = 0 to 99999999 { for i = 0 to 9 { do { load A[i] } } }");
    seen *stopped = calloc(1, sizeof *stopped);
    stopped->fail_after = 1;
    assert_int_equal(fm_region_walk(region, 64, FM_LAYOUT_CONTIGUOUS, note, stopped, NULL), FM_E_LIMIT);
    free(stopped);
    fm_region_destroy(region);
}

/* Ranges hold every value, on random expressions. */
static const fm_expr *random_expression(fm_arena *arena, unsigned depth)
{
    if (depth == 0 || random_below(5) == 0)
        return random_below(2) ? fm_expr_number(arena, (int64_t)random_below(13) - 6)
                               : fm_expr_variable(arena, (uint32_t)random_below(2));
    static const fm_expr_kind kinds[] = {FM_EXPR_ADD,   FM_EXPR_MULTIPLY, FM_EXPR_QUOTIENT, FM_EXPR_REMAINDER,
                                         FM_EXPR_FLOOR, FM_EXPR_MODULO,   FM_EXPR_MIN,      FM_EXPR_MAX};
    fm_expr_kind kind = kinds[random_below(8)];
    const fm_expr *left = random_expression(arena, depth - 1);
    bool divides = kind == FM_EXPR_QUOTIENT || kind == FM_EXPR_REMAINDER || kind == FM_EXPR_FLOOR ||
                   kind == FM_EXPR_MODULO;
    return fm_expr_binary(arena, kind, left,
                          divides ? fm_expr_number(arena, 1 + (int64_t)random_below(5))
                                  : random_expression(arena, depth - 1));
}

CASE(ranges_hold_every_value)
{
    for (int n = 0; n < 3000; n++) {
        fm_arena *arena = fm_arena_create();
        const fm_expr *expression = random_expression(arena, 4);
        fm_range variables[2], range;
        for (int i = 0; i < 2; i++) {
            variables[i].least = (int64_t)random_below(15) - 7;
            variables[i].most = variables[i].least + (int64_t)random_below(6);
        }
        assert_true(fm_expr_range(expression, NULL, variables, &range));
        int64_t x[2], value;
        for (x[0] = variables[0].least; x[0] <= variables[0].most; x[0]++)
            for (x[1] = variables[1].least; x[1] <= variables[1].most; x[1]++) {
                assert_true(fm_expr_value(expression, NULL, x, &value));
                if (value < range.least || value > range.most)
                    fail_msg("case %d: %lld is not in %lld … %lld", n, (long long)value,
                             (long long)range.least, (long long)range.most);
            }
        fm_arena_destroy(arena);
    }
}

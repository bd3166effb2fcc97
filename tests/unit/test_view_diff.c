/* SPDX-License-Identifier: Apache-2.0 */
/* test_view_diff.c - lines are matched as an independent computation has it; what got better and worse, and
 * the conditions, are those of closed forms. */
#define _GNU_SOURCE
#include "case.h"

#include <fathom/diff.h>
#include <stdio.h>

#include "attribution_samples.h"
#include "profile/attribution_parts.h"
#include "view/diff/diff_parts.h"

/* ---- lines ---- */

/* The longest common subsequence, by the textbook's table. */
static size_t longest_common(const uint32_t *a, size_t n, const uint32_t *b, size_t m)
{
    static size_t table[64][64];
    for (size_t i = 0; i <= n; i++)
        for (size_t j = 0; j <= m; j++)
            table[i][j] = i == 0 || j == 0                    ? 0
                          : a[i - 1] == b[j - 1]              ? table[i - 1][j - 1] + 1
                          : table[i - 1][j] > table[i][j - 1] ? table[i - 1][j]
                                                              : table[i][j - 1];
    return table[n][m];
}

CASE(lines_are_matched_as_by_the_textbook)
{
    uint64_t random = 7;
    for (int round = 0; round < 3000; round++) {
        uint32_t a[60], b[60];
        const uint32_t letters = 2 + (uint32_t)(round % 9);
        random = random * 6364136223846793005u + 1442695040888963407u;
        const size_t n = random >> 33 & 31, m = random >> 40 & 31;
        for (size_t i = 0; i < n + m; i++) {
            random = random * 6364136223846793005u + 1442695040888963407u;
            *(i < n ? &a[i] : &b[i - n]) = (uint32_t)(random >> 33) % letters;
        }
        fm_line_match match;
        fm_error error;
        assert_int_equal(fm_line_match_make(&match, a, n, b, m, &error), FM_OK);
        size_t equal = 0;
        uint32_t last = 0;
        bool begun = false;
        for (size_t i = 0; i < n; i++) {
            const uint32_t to = match.to_after[i];
            if (to == UINT32_MAX) continue;
            assert_true(to < m && match.to_before[to] == i);
            assert_true(!begun || to > last);
            begun = true;
            last = to;
            equal += a[i] == b[to];
        }
        assert_false(match.given_up);
        assert_int_equal(equal, longest_common(a, n, b, m));
        fm_line_match_clear(&match);
    }
}

CASE(changed_lines_and_far_apart_files)
{
    fm_error error;
    fm_line_match match;
    /* Two lines changed in place; then one more put in, so that nobody knows which became which. */
    const uint32_t before[] = {1, 2, 3, 4, 5}, changed[] = {1, 12, 13, 4, 5}, more[] = {1, 12, 13, 14, 4, 5};
    assert_int_equal(fm_line_match_make(&match, before, 5, changed, 5, &error), FM_OK);
    for (uint32_t i = 0; i < 5; i++) assert_int_equal(match.to_after[i], i);
    fm_line_match_clear(&match);
    assert_int_equal(fm_line_match_make(&match, before, 5, more, 6, &error), FM_OK);
    assert_int_equal(match.to_after[0], 0);
    assert_int_equal(match.to_after[1], UINT32_MAX);
    assert_int_equal(match.to_after[3], 4);
    fm_line_match_clear(&match);
    /* Nothing in common but the ends. */
    enum { MANY = 5000 };
    uint32_t *a = malloc(MANY * sizeof *a), *b = malloc(MANY * sizeof *b);
    assert_true(a && b);
    for (uint32_t i = 0; i < MANY; i++) a[i] = i, b[i] = i == 0 || i == MANY - 1 ? i : MANY + i;
    assert_int_equal(fm_line_match_make(&match, a, MANY, b, MANY, &error), FM_OK);
    assert_true(match.given_up);
    assert_int_equal(match.to_after[0], 0);
    assert_int_equal(match.to_after[MANY - 1], MANY - 1);
    assert_int_equal(match.to_after[MANY / 2], UINT32_MAX);
    fm_line_match_clear(&match);
    free(a);
    free(b);
    /* Blanks at both ends do not matter. */
    assert_int_equal(fm_line_sum("\t  x = 1;\r", 10), fm_line_sum("x = 1;", 6));
    assert_int_not_equal(fm_line_sum("x = 1;", 6), fm_line_sum("x =  1;", 7));
}

/* ---- profiles ---- */

static const fm_cache caches[] = {{.name = "L1d", .bytes = 32 << 10}, {.name = "L2", .bytes = 1310720}};

/* Lines 10 (late at L1d: `near`), 20 (late at L1d and L2: `far`), 30 (`hits` hits), moved down by `down`; a
 * heap block allocated at line 5. */
static fm_profile *sample(uint32_t down, uint64_t near, uint64_t far, uint64_t hits)
{
    fm_attribution *made = sample_attribution(1, 4, 1, 1);
    made->modules[0].path = "/home/you/prog";
    sample_site(made, 0, 0x10, "solve", "/home/you/a.c", 10 + down, NULL, NULL, 0);
    sample_site(made, 1, 0x20, "scan", "/home/you/a.c", 20 + down, NULL, NULL, 0);
    sample_site(made, 2, 0x30, "main", "/home/you/a.c", 30 + down, NULL, NULL, 0);
    sample_site(made, 3, 0x40, "main", "/home/you/a.c", 5 + down, NULL, NULL, 0);
    made->paths[0] = (fm_call_path){FM_NONE, 3};
    made->objects[0] = (fm_object){FM_OBJECT_HEAP, NULL, FM_NONE, 0, 100, 1, 0, 0, 0, 0};
    if (near) sample_pair(made, 0, 0, sample_range(1024), near);
    if (far) sample_pair(made, 1, 1, sample_range(32768), far);
    sample_pair(made, FM_NONE, 2, FM_RANGE_COLD, 100);
    if (hits) sample_pair(made, 2, 2, sample_range(1), hits);
    if (near) {
        const fm_bin bins[] = {{1024, 2047, near}};
        const fm_object_use uses[] = {{0, 0, near, 0, 0, 1, bins}};
        sample_uses(made, uses, 1);
    }
    /* The file: one line a number, and `down` lines put in at its beginning. */
    char text[2000] = "";
    size_t used = 0;
    for (uint32_t i = 0; i < down; i++)
        used += (size_t)snprintf(text + used, sizeof text - used, "new %u\n", i);
    for (uint32_t i = 1; i <= 40; i++)
        used += (size_t)snprintf(text + used, sizeof text - used, "line %u\n", i);
    size_t room = 0;
    SAMPLE_REQUIRE(fm_line_sums_record(made, &room, "/home/you/a.c", text, used));
    fm_profile *profile = sample_attributed(made);
    profile->name = strdup("/home/you/prog");
    return profile;
}

static fm_diff *made(const fm_profile *before, const fm_profile *after)
{
    fm_diff *diff;
    fm_error error;
    const fm_diff_options options = {
        .caches = caches, .cache_count = 2, .name_before = "before.json", .name_after = "after.json"};
    if (fm_diff_create(&diff, before, after, &options, &error)) fail_msg("%s", error.reason);
    return diff;
}

typedef enum kind { TERMINAL, MARKDOWN, JSON, PAGE } kind;

__attribute__((noinline)) static char *shown(const fm_diff *diff, kind what, fm_by by)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    assert_non_null(out);
    const fm_view_options options = {.width = 80};
    fm_error error;
    if (what == TERMINAL) fm_view_diff(out, diff, by, 10, &options);
    if (what == MARKDOWN) fm_view_diff_markdown(out, diff, by, 10);
    if (what == JSON) fm_view_diff_json(out, diff);
    if (what == PAGE) assert_int_equal(fm_view_diff_page(out, diff, NULL, &error), FM_OK);
    assert_int_equal(fclose(out), 0);
    return text;
}

static void in_order(const char *text, const char *const *parts)
{
    const char *at = text;
    for (; *parts; parts++) {
        const char *found = strstr(at, *parts);
        if (!found) fail_msg("expected '%s' in:\n%s", *parts, at);
        at = found + strlen(*parts);
    }
}
#define ORDER(text, ...) in_order(text, (const char *const[]){__VA_ARGS__, NULL})

CASE(better_and_worse_are_told)
{
    /* L1d: 8000 + 1000 + 100 -> 2000 + 3000 + 100; L2: 1100 -> 3100. */
    fm_profile *before = sample(0, 8000, 1000, 10000), *after = sample(3, 2000, 3000, 10000);
    fm_diff *diff = made(before, after);
    char *text = shown(diff, TERMINAL, FM_BY_LINE);
    ORDER(text, "mixed: 4.00 k fewer misses in L1d (9.10 k -> 5.10 k, -44 %); 2.00 k more misses\nin L2",
          "(1.10 k -> 3.10 k, +182 %)\n", "references fell from 19.1 k to 15.1 k", "in L1d 47.6 % ->",
          "33.8 %");
    ORDER(text, "L1d      line (after)     before    after\n", "better   a.c:13           8.00 k   2.00 k\n",
          "same     1 line              100      100\n", "worse    a.c:23           1.00 k   3.00 k\n");
    free(text);
    text = shown(diff, TERMINAL, FM_BY_FUNCTION);
    ORDER(text, "better   solve", "8.00 k   2.00 k", "worse    scan", "1.00 k   3.00 k");
    free(text);
    /* The heap block's line moved with the edit: it is the same one. */
    text = shown(diff, TERMINAL, FM_BY_OBJECT);
    ORDER(text, "better   heap block from main (a.c:8)   8.00 k   2.00 k\n", "worse    none");
    free(text);
    text = shown(diff, JSON, FM_BY_LINE);
    ORDER(text, "\"schema\": \"fathom-diff-1\"", "\"verdict\": \"mixed\"", "\"caches\"", "\"before\": 9100",
          "\"after\": 5100", "\"better\"", "\"worse\"", "\"lines\"", "\"line\": 10", "\"line\": 13",
          "[[8000, 2000], [0, 0]]", "\"functions\"", "\"objects\"");
    free(text);
    text = shown(diff, MARKDOWN, FM_BY_LINE);
    ORDER(text, "**mixed: ", "| L1d | 32 KiB | 9.10 k | 5.10 k | -44 % |",
          "| better | `a.c:13` | 8.00 k | 2.00 k |", "| worse | `a.c:23` | 1.00 k | 3.00 k |");
    free(text);
    if (fm_report_available()) {
        text = shown(diff, PAGE, FM_BY_LINE);
        ORDER(text, "\"verdict\":\"mixed\"",
              "mixed: 4.00 k fewer misses in L1d (9.10 k -\\u003e 5.10 k, -44 %)",
              "[\"better\",\"L1d\",\"32 KiB\",\"9.10 k\",\"5.10 k\",\"-44 %\"",
              "[\"better\",\"a.c:13\",\"8.00 k\",\"2.00 k\"]", "\"rows\":[\n", "null");
        free(text);
    }
    fm_diff_destroy(diff);
    fm_profile_destroy(before);
    fm_profile_destroy(after);
}

/* The file has another name after; that a file is there that was not there before does not matter. */
CASE(renamed_files_are_found_by_their_lines)
{
    fm_profile *before = sample(0, 8000, 1000, 10000), *after = sample(3, 2000, 3000, 10000);
    fm_attribution *code = after->attribution;
    for (size_t i = 0; i < 4; i++) {
        fm_frame *frame = (fm_frame *)&code->sites[i].frames[0];
        frame->file = i == 2 ? "/home/you/other.c" : "/home/you/b.c";
    }
    code->line_sums[0].path = "/home/you/b.c";
    fm_diff *diff = made(before, after);
    char *text = shown(diff, TERMINAL, FM_BY_LINE);
    ORDER(text, "better   b.c:13", "8.00 k   2.00 k\n");
    ORDER(text, "worse    b.c:23", "1.00 k   3.00 k\n");
    free(text);
    text = shown(diff, TERMINAL, FM_BY_FUNCTION);
    ORDER(text, "better   solve", "8.00 k   2.00 k", "worse    scan", "1.00 k   3.00 k");
    free(text);
    fm_diff_destroy(diff);
    fm_profile_destroy(before);
    fm_profile_destroy(after);
}

CASE(a_ratio_is_no_progress)
{
    /* As many misses, twice the references. */
    fm_profile *before = sample(0, 8000, 0, 10000), *after = sample(0, 8000, 0, 30000);
    fm_diff *diff = made(before, after);
    char *text = shown(diff, TERMINAL, FM_BY_LINE);
    ORDER(text, "same: misses did not change", "references rose from 18.1 k to 38.1 k", "44.8 %", "21.3 %",
          "no progress");
    free(text);
    fm_diff_destroy(diff);
    diff = made(after, before);
    text = shown(diff, TERMINAL, FM_BY_LINE);
    ORDER(text, "same: ", "references fell", "no loss");
    free(text);
    fm_diff_destroy(diff);
    fm_profile_destroy(before);
    fm_profile_destroy(after);
}

static void set_band(fm_profile *profile, double least, double most)
{
    fm_error error;
    profile->exact = false;
    assert_int_equal(fm_accuracy_create(&profile->accuracy, &error, "within a band"), FM_OK);
    profile->accuracy->confidence = 0.95;
    profile->accuracy->band = calloc(1, sizeof(fm_band_point));
    profile->accuracy->band_count = 1;
    profile->accuracy->band[0] = (fm_band_point){512, least, most};
}

CASE(what_bands_leave_open_is_no_change)
{
    bool holds;
    fm_error error;
    fm_profile *before = sample(0, 8000, 0, 10000), *after = sample(0, 9000, 0, 10000);
    fm_diff *diff = made(before, after);
    assert_int_equal(fm_diff_condition(diff, "misses@L1d > +5%", &holds, &error), FM_OK);
    assert_true(holds);
    fm_diff_destroy(diff);
    set_band(before, 0.40, 0.50); /* 8100 of 18100 are 44.8 %: 7240 to 9050 */
    set_band(after, 0.43, 0.52);  /* 9100 of 19100 are 47.6 %: 8213 to 9932 */
    diff = made(before, after);
    char *text = shown(diff, TERMINAL, FM_BY_LINE);
    ORDER(text, "same: ", "bands", "APPROXIMATE: before: within a band", "(within the bands)",
          "better   none", "worse    none");
    free(text);
    assert_int_equal(fm_diff_condition(diff, "misses@L1d > +5%", &holds, &error), FM_OK);
    assert_false(holds);
    fm_diff_destroy(diff);
    fm_profile_destroy(before);
    fm_profile_destroy(after);
}

CASE(conditions_are_judged)
{
    fm_profile *before = sample(0, 8000, 1000, 10000), *after = sample(3, 2000, 3000, 10000);
    fm_diff *diff = made(before, after);
    const struct {
        const char *text;
        bool holds;
    } cases[] = {
        {"misses@L1d > +5%", false},
        {"misses@L2 > +5%", true},  /* 1100 -> 3100 */
        {"misses@l2>+182%", false}, /* 181.8 % */
        {"misses@L2 > +181%", true},
        {"misses@1310720 > +5%", true}, /* by its size */
        {"misses@32K < -43%", true},    /* -43.96 % */
        {"misses@32K < -44%", false},
        {"misses@L2 > 3100", false},
        {"misses@L2 >= 3100", true},
        {"misses@L2 > 3K", true},
        {"misses@L2 > +1999", true},
        {"misses@L2 > +2000", false},
        {"late@L2 >= 3000", true},
        {"late@L2 > 3000", false},
        {"ratio@L1d > 33%", true}, /* 5100 of 15100 are 33.8 % */
        {"ratio@L1d > 34%", false},
        {"references > +0%", false},
        {"references < -20%", true}, /* 19100 -> 15100: -20.9 % */
        {"misses@L1d in scan > +199%", true},
        {"misses@L1d in scan > +200%", false},
        {"misses@L1d in solve > +0%", false},
        {"misses@L1d in * > +0%", true},
        {"misses@L1d in * > 3000", false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        bool holds;
        fm_error error;
        if (fm_diff_condition(diff, cases[i].text, &holds, &error))
            fail_msg("%s: %s", cases[i].text, error.reason);
        if (holds != cases[i].holds) fail_msg("%s: found %d", cases[i].text, holds);
    }
    static const char *const wrong[] = {"",
                                        "misses",
                                        "misses > 5",
                                        "misses@L9 > 5",
                                        "misses@ > 5",
                                        "hits@L2 > 5",
                                        "misses@L2 = 5",
                                        "misses@L2 > ",
                                        "misses@L2 > many",
                                        "misses@L2 > 5 apples",
                                        "misses@L2 > 5%",
                                        "misses@L2 > nan",
                                        "ratio@L2 > 5",
                                        "references@L2 > 5",
                                        "misses@L2 in > 5",
                                        "misses@L2 in nowhere > 5"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        bool holds;
        fm_error error;
        if (fm_diff_condition(diff, wrong[i], &holds, &error) != FM_E_ARGUMENT)
            fail_msg("'%s' was taken", wrong[i]);
    }
    fm_diff_destroy(diff);
    fm_profile_destroy(before);
    fm_profile_destroy(after);
}

CASE(what_cannot_be_compared_is_refused)
{
    fm_profile *before = sample(0, 8000, 1000, 10000), *after = sample(0, 8000, 1000, 10000);
    fm_diff *diff;
    fm_error error;
    fm_diff_options options = {.caches = caches, .cache_count = 0};
    assert_int_equal(fm_diff_create(&diff, before, after, &options, &error), FM_E_ARGUMENT);
    options.cache_count = 2;
    after->granularity = 128;
    assert_int_equal(fm_diff_create(&diff, before, after, &options, &error), FM_E_ARGUMENT);
    after->granularity = 64;
    /* Without code there are still the caches. */
    fm_attribution_destroy(after->attribution);
    after->attribution = NULL;
    diff = made(before, after);
    char *text = shown(diff, TERMINAL, FM_BY_LINE);
    ORDER(text, "same: ", "after does not say where its references come from", "L1d", "9.10 k", "9.10 k",
          "0 %");
    free(text);
    bool holds;
    assert_int_equal(fm_diff_condition(diff, "misses@L1d in solve > 0", &holds, &error), FM_E_ARGUMENT);
    fm_diff_destroy(diff);
    fm_profile_destroy(before);
    fm_profile_destroy(after);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* test_view_verdict.c - the first screen says what is wrong at every cache, by lines that a reader wrote, in
 * 80 columns; the caches of a run survive a file. */
#define _GNU_SOURCE
#include "case.h"

#include <fathom/view.h>
#include <stdio.h>
#include <unistd.h>

#include "attribution_samples.h"
#include "temporary_folder.h"
#include "view/text.h"

static const fm_cache caches[] = {
    {.name = "L1d", .bytes = 32 << 10}, {.name = "L2", .bytes = 1310720}, {.name = "L3", .bytes = 64 << 20}};

__attribute__((noinline)) static char *shown(const fm_profile *profile, fm_by by, size_t most, unsigned width)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    assert_non_null(out);
    const fm_view_options options = {.width = width};
    fm_error error;
    if (fm_view_verdict(out, profile, caches, 3, by, most, &options, &error)) fail_msg("%s", error.reason);
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

static void fits(const char *text, unsigned width)
{
    for (; *text; text += strcspn(text, "\n") + 1)
        if (strcspn(text, "\n") > width)
            fail_msg("wider than %u: %.*s", width, (int)strcspn(text, "\n"), text);
}

/*
 * Two instances of one template line, one of them inlined through the library's headers; a second line; two
 * places of the C library. Of 10,000 references:
 *
 *     solve.cc:10   2 x 1500 at [1024, 2048)       late at L1d only
 *     solve.cc:20   1000 at [32768, 65536), 200 first touches      late at L1d and L2
 *     libc          300 + 100 at [512, 1024)
 *     solve.cc:30   the rest at once
 */
static fm_profile *sample(void)
{
    fm_attribution *made = sample_attribution(2, 6, 0, 2);
    made->modules[0].path = "/home/you/prog";
    made->modules[1].path = "/lib/x86_64-linux-gnu/libc.so.6";
    sample_site(made, 0, 0x10, "solve<int>(int*)", "/home/you/solve.cc", 10, NULL, NULL, 0);
    sample_site(made, 1, 0x20, "std::vector<double>::operator[](unsigned long)",
                "/usr/include/c++/12/bits/stl_vector.h", 1043, "solve<double>(double*)", "/home/you/solve.cc",
                10);
    sample_site(made, 2, 0x30, "scan", "/home/you/solve.cc", 20, NULL, NULL, 0);
    sample_site(made, 3, 0x40, "main", "/home/you/solve.cc", 30, NULL, NULL, 0);
    sample_site(made, 4, 0x50, "memcpy", "./string/memcpy.S", 7, NULL, NULL, 0);
    sample_site(made, 5, 0x60, "malloc", "./malloc/malloc.c", 8, NULL, NULL, 0);
    made->sites[4].module = made->sites[5].module = 1;
    made->objects[0] = (fm_object){FM_OBJECT_GLOBAL, "table", 0, 0, 0, 0, FM_NONE, 0, 0, 0};
    made->objects[1] = (fm_object){FM_OBJECT_GLOBAL, "other", 0, 8, 0, 0, FM_NONE, 0, 0, 0};
    sample_pair(made, 0, 0, sample_range(1024), 1500);
    sample_pair(made, 1, 1, sample_range(1024), 1500);
    sample_pair(made, 3, 2, sample_range(32768), 1000);
    sample_pair(made, FM_NONE, 2, FM_RANGE_COLD, 200);
    sample_pair(made, 4, 4, sample_range(512), 300);
    sample_pair(made, 5, 5, sample_range(512), 100);
    sample_pair(made, 3, 3, sample_range(1), 5400);
    const fm_bin near[] = {{1024, 2047, 1500}}, far[] = {{32768, 65535, 1000}};
    const fm_object_use uses[] = {
        {0, 0, 1500, 0, 0, 1, near}, {0, 1, 1500, 0, 0, 1, near}, {1, 2, 1200, 200, 0, 1, far}};
    sample_uses(made, uses, 3);
    fm_profile *profile = sample_attributed(made);
    profile->name = strdup("/home/you/prog");
    profile->run = calloc(1, sizeof *profile->run);
    profile->run->ending = strdup("exited with 0");
    profile->run->what = strdup("all references");
    return profile;
}

CASE(every_level_is_told)
{
    fm_profile *profile = sample();
    char *text = shown(profile, FM_BY_LINE, 10, 80);
    fits(text, 80);
    ORDER(text, "prog exited with 0: 10.0 k references to 625 KiB, every one seen, exact\n");
    /* L1d: 3000 + 1000 + 400 late and 200 first; L2: 1000 and 200; L3: 200 first touches. */
    ORDER(text, "cache", "most of them at", "\nL1d ", "32 KiB", "4.60 k", "46.0 %", "96 %", "4 %",
          "solve.cc:10, solve.cc:20\n", "L2 ", "1.25 MiB", "1.20 k", "12.0 %", "83 %", "17 %",
          "solve.cc:20\n", "L3 ", "64 MiB", "200", "2.0 %", "0 %", "100 %", "solve.cc:20 (first)\n");
    /* The list is about the first level that loses something. Instances of one line are one line, and the C
     * library is one row. */
    ORDER(text, "\nL1d: two lines make 91 % of the misses\n", "L1d", "L2", "L3", "of L1d\n", "solve.cc:10",
          "3.00 k", " 0 ", " 0 ", "65 %", "on global `table`", "solve.cc:20", "1.20 k", "1.20 k", "200",
          "26 %", "in scan, on global `other`", "libc.so.6", "400", "9 %", "most at memcpy");
    assert_null(strstr(text, "solve.cc:30"));
    assert_null(strstr(text, "malloc"));
    /* 3000 of 4400 late re-uses are below 2048 blocks: a cache of that size keeps 1200 misses. */
    ORDER(text, "used again after 1,024 to 2,048 other blocks (64 KiB to 128 KiB)", "128 KiB", "12.0 %",
          "instead of 46.0 %");
    free(text);
    for (unsigned width = 60; width <= 200; width += 7) {
        text = shown(profile, FM_BY_LINE, 10, width);
        if (width >= 80) fits(text, width);
        free(text);
    }
    fm_profile_destroy(profile);
}

/* A line of the screen that begins like this, without what stands before it. */
static char *line_of(const char *text, const char *begin)
{
    const char *found = strstr(text, begin);
    if (!found) fail_msg("expected '%s' in:\n%s", begin, text);
    return strndup(found, strcspn(found, "\n"));
}

CASE(page_and_terminal_say_the_same)
{
    static const char *const sentences[] = {"prog exited with", "L1d: ", "used again after"};
    if (!fm_report_available()) {
        print_message("SKIP: this build has no report page (made with FATHOM_REPORT=OFF)\n");
        skip();
    }
    fm_profile *profile = sample();
    char *text = shown(profile, FM_BY_LINE, 10, 1000), *page = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&page, &size);
    fm_error error;
    assert_non_null(out);
    if (fm_report_write(out, "t", (const fm_profile *const *)&profile, 1, caches, 3, &error))
        fail_msg("%s", error.reason);
    assert_int_equal(fclose(out), 0);
    for (size_t i = 0; i < sizeof sentences / sizeof *sentences; i++) {
        char *line = line_of(text, sentences[i]);
        if (!strstr(page, line)) fail_msg("the page does not say '%s'", line);
        free(line);
    }
    /* Places of each level, and its numbers; what stands below a row of the list. */
    ORDER(page, "\"levels\":[", "\"name\":\"L1d\"", "\"numbers\":[\"4.60 k\",\"46.0 %\",\"96 %\",\"4 %\"]",
          "\"places\":\"solve.cc:10, solve.cc:20\"", "\"places\":\"solve.cc:20 (first touches)\"");
    ORDER(page, "\"heading\":\"L1d: two lines make 91 % of the misses\"", "solve.cc:10", "3.00 k", "65 %",
          "libc.so.6", "most at memcpy");
    free(text);
    free(page);
    fm_profile_destroy(profile);
}

CASE(by_function_and_by_object)
{
    fm_profile *profile = sample();
    char *text = shown(profile, FM_BY_FUNCTION, 10, 80);
    fits(text, 80);
    ORDER(text, "L1d: two functions make 91 % of the misses", "solve<>", "3.00 k", "65 %", "most at", "scan",
          "1.20 k", "memcpy in libc.so.6", "300");
    free(text);
    text = shown(profile, FM_BY_OBJECT, 10, 80);
    fits(text, 80);
    ORDER(text, "L1d: two objects make 91 % of the misses", "global `table`", "3.00 k", "65 %",
          "global `other`", "1.20 k", "1.20 k", "200", "26 %");
    free(text);
    /* As many as are asked for; none. */
    text = shown(profile, FM_BY_LINE, 1, 80);
    ORDER(text, "L1d: one line makes 65 % of the misses", "solve.cc:10");
    assert_null(strstr(text, "libc.so.6  "));
    free(text);
    text = shown(profile, FM_BY_LINE, 0, 80);
    assert_null(strstr(text, "of the misses"));
    free(text);
    fm_profile_destroy(profile);
}

CASE(first_touches_have_no_culprit)
{
    fm_attribution *made = sample_attribution(1, 1, 0, 0);
    made->modules[0].path = "/home/you/prog";
    sample_site(made, 0, 0x10, "main", "/home/you/a.c", 10, NULL, NULL, 0);
    sample_pair(made, FM_NONE, 0, FM_RANGE_COLD, 1000);
    sample_pair(made, 0, 0, sample_range(1), 9000);
    fm_profile *profile = sample_attributed(made);
    char *text = shown(profile, FM_BY_LINE, 10, 80);
    ORDER(text, "L1d", "1.00 k", "10.0 %", "0 %", "100 %", "a.c:10 (first touches)", "first touches only");
    assert_null(strstr(text, "used again after"));
    free(text);
    fm_profile_destroy(profile);
    /* And no reference at all. */
    assert_int_equal(fm_profile_create(&profile, NULL), FM_OK);
    text = shown(profile, FM_BY_LINE, 10, 80);
    ORDER(text, "0 references", "nothing to show");
    free(text);
    fm_profile_destroy(profile);
}

CASE(bounds_bands_and_gaps_are_said)
{
    fm_profile *profile = sample();
    fm_error error;
    profile->complete = false;
    profile->lost = 7;
    profile->what_missing = strdup("it was killed");
    profile->exact = false;
    assert_int_equal(fm_accuracy_create(&profile->accuracy, &error, "within a band"), FM_OK);
    profile->accuracy->confidence = 0.95;
    profile->accuracy->band = calloc(1, sizeof(fm_band_point));
    profile->accuracy->band_count = 1;
    profile->accuracy->band[0] = (fm_band_point){20480, 0.1, 0.14};
    char *text = shown(profile, FM_BY_LINE, 10, 80);
    fits(text, 80);
    ORDER(text, "estimated\n", "APPROXIMATE within a band\n",
          "INCOMPLETE 7 references are known to be missing: it was killed\n", "(95 % band)", "\nL2 ",
          "12.0 %", "(10.0 % to 14.0 %)");
    free(text);
    fm_profile_destroy(profile);
}

CASE(caches_survive_a_file)
{
    const char *path = in_folder("profile.json");
    fm_profile *profile = sample();
    fm_error error;
    profile->cache_count = 3;
    profile->caches = malloc(sizeof caches);
    assert_non_null(profile->caches);
    memcpy(profile->caches, caches, sizeof caches);
    profile->caches[1].ways = 20;
    profile->caches[1].line = 64;
    profile->caches[1].shared_by = 2;
    assert_int_equal(fm_profile_write(path, (const fm_profile *const *)&profile, 1, &error), FM_OK);
    fm_profile_list list;
    if (fm_profile_read(path, &list, &error)) fail_msg("%s", error.reason);
    assert_int_equal(list.profiles[0]->cache_count, 3);
    assert_memory_equal(list.profiles[0]->caches, profile->caches, 3 * sizeof(fm_cache));
    fm_profile_list_clear(&list);
    fm_profile_destroy(profile);
}

CASES_WITH(make_folder, remove_folder);

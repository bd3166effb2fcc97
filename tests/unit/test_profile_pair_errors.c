/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_profile_pair_errors.c - how sure pairs of code are that were estimated from samples: it survives
 * writing and reading, is added up, is shown, and what cannot be is refused.
 */

#include "case.h"

#include "unit/temporary_folder.h"
#include <fathom/view.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "attribution_samples.h"

enum { SITES = 3, LATE_FROM = 512, LATE_RANGE = 11 /* [1024, 2048) */ };

/* Line `from` + i uses again what the line before used: 1000 (i + 1) times too late, ± 100 (i + 1), from i +
 * 4 samples; the first what it used itself. And line `from` uses it again soon, most of the time. */
static fm_profile *profile_from(uint32_t from)
{
    fm_error error;
    fm_attribution *made = sample_attribution(1, SITES, 0, 0);
    const uint32_t map[SITES + 1] = {FM_NONE, 0, 1, 2};
    made->modules[0].path = fm_attribution_intern(made, "/no/such/program");
    fm_pair_error raw[SITES];
    for (uint32_t i = 0; i < SITES; i++) {
        sample_site(made, i, 0x1000 + from + i, "f", "/a.c", from + i, NULL, NULL, 0);
        sample_pair(made, i ? i - 1 : 0, i, LATE_RANGE, 1000 * (i + 1));
        raw[SITES - 1 - i] = (fm_pair_error){i ? i : 1, i + 1, 100 * (i + 1), i + 4};
    }
    sample_pair(made, 0, 0, 0, 50000);
    assert_int_equal(fm_attribution_add_pair_errors(made, raw, SITES, map, SITES + 1, &error), FM_OK);
    assert_int_equal(made->pair_error_count, SITES);
    return sample_attributed(made);
}

/* The row of the pair whose reuse is at a line. */
static const fm_pair_error *of_line(const fm_profile *profile, uint32_t line)
{
    const fm_attribution *of = profile->attribution;
    for (size_t i = 0; i < of->pair_error_count; i++)
        if (of->sites[of->pair_errors[i].reuse].frames[0].line == line) return &of->pair_errors[i];
    return NULL;
}

static fm_profile *read_back(const char *path)
{
    fm_error error;
    fm_profile_list list;
    assert_int_equal(fm_profile_read(path, &list, &error), FM_OK);
    fm_profile *read = list.profiles[0];
    list.profiles[0] = NULL;
    fm_profile_list_clear(&list);
    return read;
}

CASE(written_and_read_it_is_the_same)
{
    fm_error error;
    fm_profile *made = profile_from(5);
    const fm_profile *list[] = {made};
    assert_int_equal(fm_profile_write(in_folder("profile.json"), list, 1, &error), FM_OK);
    fm_profile *read = read_back(in_folder("profile.json"));
    assert_int_equal(read->attribution->pair_error_count, SITES);
    assert_memory_equal(read->attribution->pair_errors, made->attribution->pair_errors,
                        SITES * sizeof(fm_pair_error));
    fm_profile_destroy(made);
    fm_profile_destroy(read);
}

/* Of two runs: errors are independent, samples are different ones. */
CASE(added_up)
{
    fm_error error;
    fm_profile *sum = profile_from(5), *same = profile_from(5), *other = profile_from(15);
    assert_int_equal(fm_profile_merge(sum, same, &error), FM_OK);
    assert_int_equal(sum->attribution->pair_error_count, SITES);
    assert_int_equal(of_line(sum, 6)->error, 282); /* 200 times the root of two */
    assert_int_equal(of_line(sum, 6)->samples, 10);
    assert_int_equal(fm_profile_merge(sum, other, &error), FM_OK);
    assert_int_equal(sum->attribution->pair_error_count, 2 * SITES);
    assert_int_equal(of_line(sum, 16)->error, 200);
    assert_int_equal(of_line(sum, 6)->error, 282);
    fm_profile_destroy(sum);
    fm_profile_destroy(same);
    fm_profile_destroy(other);
}

/* Tags of one site (data apart) may be wrong together. What the map does not have is nobody's. */
CASE(tags_of_one_site_are_joined)
{
    fm_error error;
    fm_attribution *made = sample_attribution(1, 2, 0, 0);
    const uint32_t map[] = {FM_NONE, 0, 1, 1};
    const fm_pair_error raw[] = {{1, 2, 30, 5}, {1, 3, 40, 7}, {0, 1, 9, 1}, {1, 9, 9, 9}, {1, 0, 9, 9}};
    assert_int_equal(fm_attribution_add_pair_errors(made, raw, 5, map, 4, &error), FM_OK);
    assert_int_equal(made->pair_error_count, 2);
    const fm_pair_error wanted[] = {{FM_NONE, 0, 9, 1}, {0, 1, 70, 7}};
    assert_memory_equal(made->pair_errors, wanted, sizeof wanted);
    fm_attribution_destroy(made);
}

CASE(dropped_with_their_sites)
{
    fm_error error;
    fm_attribution *made = sample_attribution(1, 3, 0, 0);
    const uint32_t map[] = {FM_NONE, 0, 1, 2};
    const fm_pair_error raw[] = {{1, 3, 30, 5}, {2, 3, 40, 7}, {3, 3, 50, 9}};
    sample_pair(made, 0, 2, LATE_RANGE, 1000);
    sample_pair(made, 2, 2, LATE_RANGE, 1000);
    assert_int_equal(fm_attribution_add_pair_errors(made, raw, 3, map, 4, &error), FM_OK);
    assert_int_equal(fm_attribution_drop_unused(made, &error), FM_OK);
    assert_int_equal(made->site_count, 2);
    const fm_pair_error wanted[] = {{0, 1, 30, 5}, {1, 1, 50, 9}};
    assert_int_equal(made->pair_error_count, 2);
    assert_memory_equal(made->pair_errors, wanted, sizeof wanted);
    fm_attribution_destroy(made);
}

CASE(shown_beside_pairs_and_lines)
{
    fm_error error;
    fm_profile *made = profile_from(5);
    const fm_cache cache = {.name = "L1", .bytes = LATE_FROM * made->granularity};
    const fm_view_options options = {.width = 100};
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    assert_int_equal(fm_view_pairs(out, made, &cache, 10, &options, &error), FM_OK);
    fclose(out);
    const char *third = strstr(text, "a.c:7"), *second = strstr(text, "+- 10 %, from 5 samples");
    assert_true(third && second && third < second);
    assert_non_null(strstr(text, "+- 10 %, from 6 samples\n"));
    assert_non_null(strstr(text, "+- 10 %, from 4 samples\n")); /* of the late ones, not of all 51,000 */
    free(text);
    fm_profile_destroy(made);
}

static void expect_refused(const char *row, const char *why)
{
    static const char right[] = "[0,1,200,5]";
    fm_profile *made = profile_from(5);
    const fm_profile *list[] = {made};
    fm_error error;
    fm_profile_list read;
    char text[1 << 14], changed[1 << 14], message[512];
    assert_int_equal(fm_profile_write(in_folder("profile.json"), list, 1, &error), FM_OK);
    FILE *file = fopen(in_folder("profile.json"), "r");
    text[fread(text, 1, sizeof text - 1, file)] = '\0';
    fclose(file);
    char *at = strstr(text, right);
    assert_non_null(at);
    snprintf(changed, sizeof changed, "%.*s%s%s", (int)(at - text), text, row, at + strlen(right));
    write_file(in_folder("changed.json"), changed);
    assert_int_not_equal(fm_profile_read(in_folder("changed.json"), &read, &error), FM_OK);
    fm_error_message(&error, message, sizeof message);
    if (!strstr(message, why)) fail_msg("expected '%s' in '%s'", why, message);
    fm_profile_destroy(made);
}

CASE(damaged_tables_are_refused)
{
    expect_refused("[0,1,200]", "pair_errors\"[1]");
    expect_refused("[0,9,200,5]", "expected one of the sites");
    expect_refused("[9,1,200,5]", "expected one of the sites");
    expect_refused("[0,0,200,5]", "the pair is there twice");
    expect_refused("[0,1,-1,5]", "pair_errors\"[1]");
}

CASES_WITH(make_folder, remove_folder);

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_profile_latencies.c - what a processor told of sampled accesses, in a profile: it survives writing and
 * reading, is added up by site, is shown by line, and what cannot be is refused.
 */

#include "case.h"

#include "unit/temporary_folder.h"
#include <fathom/view.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "attribution_samples.h"

/* Sites at the lines of a.c; site i has i + 1 samples of 10 (i + 1) cycles each, from L1, and one that is not
 * timed, from memory. from: the first line. */
static fm_profile *profile_from(uint32_t from, uint32_t count)
{
    fm_attribution *made = sample_attribution(1, count, 0, 0);
    made->modules[0].path = fm_attribution_intern(made, "/no/such/program");
    made->latencies = fm_attribution_allocate(made, count, sizeof *made->latencies);
    made->latency_count = count;
    for (uint32_t i = 0; i < count; i++) {
        sample_site(made, i, 0x1000 + from + i, "f", "/a.c", from + i, NULL, NULL, 0);
        sample_pair(made, FM_NONE, i, FM_RANGE_COLD, 10);
        fm_site_latency *latency = &made->latencies[i];
        *latency = (fm_site_latency){
            .site = i, .samples = i + 2, .timed = i + 1, .cycles = (uint64_t)10 * (i + 1) * (i + 1)};
        latency->levels[FM_LEVEL_L1] = i + 1;
        latency->levels[FM_LEVEL_MEMORY] = 1;
    }
    return sample_attributed(made);
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

static fm_profile *written_and_read(const fm_profile *profile)
{
    fm_error error;
    assert_int_equal(fm_profile_write(in_folder("profile.json"), &profile, 1, &error), FM_OK);
    return read_back(in_folder("profile.json"));
}

/* The row of a line; NULL: none. */
static const fm_site_latency *of_line(const fm_profile *profile, uint32_t line)
{
    const fm_attribution *attribution = profile->attribution;
    for (size_t i = 0; i < attribution->latency_count; i++)
        if (attribution->sites[attribution->latencies[i].site].frames[0].line == line)
            return &attribution->latencies[i];
    return NULL;
}

CASE(written_and_read_it_is_the_same)
{
    fm_profile *made = profile_from(5, 3), *read = written_and_read(made);
    assert_int_equal(read->attribution->latency_count, 3);
    for (size_t i = 0; i < 3; i++)
        assert_memory_equal(&read->attribution->latencies[i], &made->attribution->latencies[i],
                            sizeof(fm_site_latency));
    fm_profile_destroy(made);
    fm_profile_destroy(read);
}

CASE(added_up_by_site)
{
    fm_error error;
    fm_profile *sum = profile_from(5, 3), *other = profile_from(7, 2); /* line 7: third there, first here */
    assert_int_equal(fm_profile_merge(sum, other, &error), FM_OK);
    assert_int_equal(sum->attribution->latency_count, 4);
    const fm_site_latency *both = of_line(sum, 7), *alone = of_line(sum, 8);
    assert_int_equal(both->samples, 4 + 2);
    assert_int_equal(both->timed, 3 + 1);
    assert_int_equal(both->cycles, 90 + 10);
    assert_int_equal(both->levels[FM_LEVEL_L1], 3 + 1);
    assert_int_equal(both->levels[FM_LEVEL_MEMORY], 2);
    assert_int_equal(alone->samples, 3);
    assert_int_equal(of_line(sum, 5)->samples, 2);
    fm_profile_destroy(sum);
    fm_profile_destroy(other);
}

CASE(shown_by_line)
{
    fm_profile *made = profile_from(5, 3);
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    const fm_view_options options = {.width = 100};
    fm_view_latencies(out, made->attribution, 2, &options);
    fclose(out);
    /* The most cycles first: 90 in 3, 40 in 2; not the third. */
    const char *first = strstr(text, "a.c:7"), *second = strstr(text, "a.c:6");
    assert_true(first && second && first < second);
    assert_null(strstr(text, "a.c:5"));
    assert_non_null(strstr(first, " 30 cycles  L1 75 %, memory 25 %\n"));
    assert_non_null(strstr(second, " 20 cycles  L1 67 %, memory 33 %\n"));
    free(text);
    fm_profile_destroy(made);
}

/* The row of the first site in the file, put in place of `[0,2,1,10,[0,1,0,0,0,0,1,0,0]]`. */
static void expect_refused(const char *row, const char *why)
{
    static const char right[] = "[0,2,1,10,[0,1,0,0,0,0,1,0,0]]";
    fm_profile *made = profile_from(5, 2);
    const fm_profile *list[] = {made};
    fm_error error;
    fm_profile_list read;
    char text[1 << 14], changed[1 << 14];
    assert_int_equal(fm_profile_write(in_folder("profile.json"), list, 1, &error), FM_OK);
    FILE *file = fopen(in_folder("profile.json"), "r");
    text[fread(text, 1, sizeof text - 1, file)] = '\0';
    fclose(file);
    char *at = strstr(text, right);
    assert_non_null(at);
    snprintf(changed, sizeof changed, "%.*s%s%s", (int)(at - text), text, row, at + strlen(right));
    write_file(in_folder("changed.json"), changed);
    assert_int_not_equal(fm_profile_read(in_folder("changed.json"), &read, &error), FM_OK);
    char message[512];
    fm_error_message(&error, message, sizeof message);
    if (!strstr(message, why)) fail_msg("expected '%s', found '%s'", why, message);
    fm_profile_destroy(made);
}

CASE(what_cannot_be_is_refused)
{
    expect_refused("[7,2,1,10,[0,1,0,0,0,0,1,0,0]]", "expected one of the sites");
    expect_refused("[null,2,1,10,[0,1,0,0,0,0,1,0,0]]", "expected one of the sites");
    expect_refused("[1,2,1,10,[0,1,0,0,0,0,1,0,0]]", "twice");
    expect_refused("[0,3,1,10,[0,1,0,0,0,0,1,0,0]]", "do not add up");
    expect_refused("[0,2,1,10,[0,18446744073709551615,3,0,0,0,0,0,0]]", "do not add up");
    expect_refused("[0,2,3,10,[0,1,0,0,0,0,1,0,0]]", "more are timed");
    expect_refused("[0,2,1,10,[0,1,0,0,0,0,1,0]]", "found less");
    expect_refused("[0,2,1,10,[0,1,0,0,0,0,1,0,0,0]]", "found more");
    expect_refused("[0,2,1,10]", "found less");
    expect_refused("[0,2,1,-1,[0,1,0,0,0,0,1,0,0]]", "latencies\"[0]");
}

CASES_WITH(make_folder, remove_folder);

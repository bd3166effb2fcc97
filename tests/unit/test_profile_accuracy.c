/* SPDX-License-Identifier: Apache-2.0 */
/* test_profile_accuracy.c - what a profile promises survives files, and a sum promises no more than its
 * parts. */
#include "case.h"

#include <fathom/profile.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char path[] = "/tmp/fathom-accuracy-XXXXXX";

static int make_file(void **state)
{
    (void)state;
    int descriptor = mkstemp(path);
    return descriptor < 0 ? -1 : close(descriptor);
}

static int remove_file(void **state)
{
    (void)state;
    return unlink(path);
}

static fm_profile *profile_with(const char *statement)
{
    fm_profile *profile;
    assert_int_equal(fm_profile_create(&profile, NULL), FM_OK);
    profile->references = profile->cold = profile->distinct = 3;
    if (!statement) return profile;
    profile->exact = false;
    assert_int_equal(fm_accuracy_create(&profile->accuracy, NULL, "%s", statement), FM_OK);
    return profile;
}

static fm_profile *through_file(const fm_profile *profile)
{
    fm_profile_list list;
    assert_int_equal(fm_profile_write(path, &profile, 1, NULL), FM_OK);
    assert_int_equal(fm_profile_read(path, &list, NULL), FM_OK);
    assert_int_equal(list.count, 1);
    fm_profile *read = list.profiles[0];
    free(list.profiles);
    return read;
}

CASE(test_through_a_file)
{
    fm_profile *written = profile_with("at most \"5\" % off");
    written->accuracy->relative_error = 0.05;
    written->accuracy->absolute_error = 7;
    written->accuracy->exact_below = UINT64_MAX;
    written->accuracy->rate = 0.125;
    written->accuracy->samples = 99;
    written->accuracy->confidence = 0.95;
    static const fm_band_point band[] = {{4096, 0.25, 0.5}, {UINT64_MAX, 0, 1}};
    written->accuracy->band = malloc(sizeof band);
    memcpy(written->accuracy->band, band, sizeof band);
    written->accuracy->band_count = 2;
    fm_profile *read = through_file(written);
    assert_false(read->exact);
    assert_string_equal(read->accuracy->statement, "at most \"5\" % off");
    assert_true(read->accuracy->relative_error == 0.05);
    assert_int_equal(read->accuracy->absolute_error, 7);
    assert_true(read->accuracy->exact_below == UINT64_MAX);
    assert_true(read->accuracy->rate == 0.125);
    assert_int_equal(read->accuracy->samples, 99);
    assert_true(read->accuracy->confidence == 0.95);
    assert_int_equal(read->accuracy->band_count, 2);
    for (size_t i = 0; i < 2; i++) {
        assert_true(read->accuracy->band[i].blocks == band[i].blocks);
        assert_true(read->accuracy->band[i].least == band[i].least);
        assert_true(read->accuracy->band[i].most == band[i].most);
    }
    /* How much was sampled, and a band, say nothing about a sum. */
    fm_profile *exact = profile_with(NULL);
    assert_int_equal(fm_profile_merge(exact, read, NULL), FM_OK);
    assert_null(exact->accuracy);
    assert_false(exact->exact);
    fm_profile_destroy(exact);
    fm_profile_destroy(read);
    fm_profile_destroy(written);

    written = profile_with(NULL);
    read = through_file(written);
    assert_true(read->exact);
    assert_null(read->accuracy);
    fm_profile_destroy(read);
    fm_profile_destroy(written);
}

CASE(test_wrong_files)
{
    static const struct {
        const char *accuracy, *reason;
    } wrong[] = {
        {"7", "\"accuracy\": expected an object, found a number"},
        {"{}", "\"accuracy\": expected a \"statement\", found none"},
        {"{\"statement\": 5}", "\"accuracy.statement\": expected a string, found a number"},
        {"{\"statement\": \"\", \"relative_error\": 1.5}",
         "\"accuracy.relative_error\": expected a number from 0 to 1, found another"},
        {"{\"statement\": \"\", \"relative_error\": -0.1}",
         "\"accuracy.relative_error\": expected a number from 0 to 1, found another"},
        {"{\"statement\": \"\", \"band\": [[1, 0, 1, 2]]}",
         "\"accuracy.band\": expected [blocks, least, most]"},
        {"{\"statement\": \"\", \"band\": [[1, 0]]}", "\"accuracy.band\": expected [blocks, least, most]"},
        {"{\"statement\": \"\", \"band\": [[1, 0.5, 0.25]]}",
         "\"accuracy.band\": expected least <= most, found another order"},
        {"{\"statement\": \"\", \"band\": [[5, 0, 1], [5, 0, 1]]}",
         "\"accuracy.band\": expected ascending sizes, found 5 after 5"},
        {"{\"statement\": \"\", \"band\": [], \"band\": [[1, 0, 2]]}", NULL},
        {"{\"statement\": \"\", \"absolute_error\": -1}", NULL},
        {"{\"statement\": \"\", \"exact_below\": \"x\"}", NULL},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        FILE *file = fopen(path, "w");
        assert_non_null(file);
        fprintf(file,
                "{\"schema\": \"fathom-profile-1\", \"engine\": \"e\", \"exact\": false, \"granularity\": 1,"
                "\"references\": 0, \"distinct\": 0, \"cold\": 0, \"complete\": true, \"lost\": 0,"
                "\"histogram\": [], \"accuracy\": %s}",
                wrong[i].accuracy);
        assert_int_equal(fclose(file), 0);
        fm_profile_list list;
        fm_error error;
        assert_int_equal(fm_profile_read(path, &list, &error), FM_E_FORMAT);
        if (wrong[i].reason) assert_string_equal(error.reason, wrong[i].reason);
    }
}

CASE(test_sums)
{
    static const struct {
        const char *into, *from, *sum;
    } cases[] = {
        {NULL, NULL, NULL}, {"a", NULL, "a"}, {NULL, "b", "b"}, {"a", "a", "a"}, {"a", "b", NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        fm_profile *into = profile_with(cases[i].into), *from = profile_with(cases[i].from);
        assert_int_equal(fm_profile_merge(into, from, NULL), FM_OK);
        assert_int_equal(into->exact, !cases[i].into && !cases[i].from);
        if (cases[i].sum)
            assert_string_equal(into->accuracy->statement, cases[i].sum);
        else
            assert_null(into->accuracy);
        fm_profile_destroy(into);
        fm_profile_destroy(from);
    }
    /* Not exact, and nobody says how far off: the sum cannot say either. */
    fm_profile *into = profile_with("a"), *from = profile_with(NULL);
    from->exact = false;
    assert_int_equal(fm_profile_merge(into, from, NULL), FM_OK);
    assert_null(into->accuracy);
    fm_profile_destroy(into);
    fm_profile_destroy(from);
}

CASES_WITH(make_file, remove_file);

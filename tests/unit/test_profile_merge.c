/* SPDX-License-Identifier: Apache-2.0 */
/* test_profile_merge.c - merged profiles are those of one naive count over both runs. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <fathom/profile.h>
#include <stdlib.h>
#include <string.h>

enum { LARGEST = 5000 };

static uint64_t random_state = 0x2545F4914F6CDD1Du;
static uint64_t random_next(void)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return random_state;
}

/* A profile out of counts per distance. */
static fm_profile *from_counts(const uint64_t *counts, fm_bins bins, uint64_t cold)
{
    fm_profile *profile;
    assert_int_equal(fm_profile_create(&profile, NULL), FM_OK);
    profile->bins = bins;
    profile->distances.bins = calloc(LARGEST, sizeof(fm_bin));
    profile->distinct = profile->cold = profile->references = cold;
    for (uint64_t d = 0; d < LARGEST; d++) {
        if (!counts[d]) continue;
        fm_bin *last =
            profile->distances.count ? &profile->distances.bins[profile->distances.count - 1] : NULL;
        uint64_t lo, hi;
        fm_bins_range(bins, fm_bins_index(bins, d), &lo, &hi);
        if (!last || last->lo != lo) {
            last = &profile->distances.bins[profile->distances.count++];
            *last = (fm_bin){lo, hi, 0};
        }
        last->count += counts[d];
        profile->references += counts[d];
    }
    return profile;
}

static void sums_are_those_of_one_count(void **state)
{
    (void)state;
    static const fm_bins all[] = {FM_BINS_EXACT, FM_BINS_LOGLINEAR, FM_BINS_LOG2}; /* finest first */
    for (int round = 0; round < 30; round++)
        for (size_t x = 0; x < 3; x++)
            for (size_t y = 0; y < 3; y++) {
                uint64_t a[LARGEST] = {0}, b[LARGEST] = {0}, both[LARGEST];
                for (int i = 0; i < 200; i++) {
                    a[random_next() % LARGEST] += random_next() % 5;
                    b[random_next() % LARGEST] += random_next() % 5;
                }
                for (size_t d = 0; d < LARGEST; d++) both[d] = a[d] + b[d];
                fm_profile *into = from_counts(a, all[x], 10), *from = from_counts(b, all[y], 7);
                fm_profile *wanted = from_counts(both, all[x > y ? x : y], 17);
                assert_int_equal(fm_profile_merge(into, from, NULL), FM_OK);
                assert_int_equal(into->references, wanted->references);
                assert_int_equal(into->cold, 17);
                assert_int_equal(into->distinct, 17);
                assert_int_equal(into->bins, wanted->bins);
                assert_int_equal(into->distances.count, wanted->distances.count);
                assert_memory_equal(into->distances.bins, wanted->distances.bins,
                                    wanted->distances.count * sizeof(fm_bin));
                fm_profile_destroy(into);
                fm_profile_destroy(from);
                fm_profile_destroy(wanted);
            }
}

static void words_are_joined(void **state)
{
    (void)state;
    uint64_t counts[LARGEST] = {[3] = 4};
    fm_profile *into = from_counts(counts, FM_BINS_EXACT, 1), *from = from_counts(counts, FM_BINS_EXACT, 1);
    into->name = strdup("a");
    from->name = strdup("b");
    from->complete = false;
    from->lost = 3;
    from->exact = false;
    from->what_missing = strdup("cut");
    into->has_times = true;
    into->times.bins = malloc(sizeof(fm_bin));
    into->times.bins[0] = (fm_bin){4, 4, 4};
    into->times.count = 1;
    assert_int_equal(fm_profile_merge(into, from, NULL), FM_OK);
    assert_string_equal(into->name, "a + b");
    assert_string_equal(into->engine, "exact");
    assert_string_equal(into->what_missing, "cut");
    assert_false(into->complete);
    assert_false(into->exact);
    assert_int_equal(into->lost, 3);
    assert_false(into->has_times); /* half of them would look like all */
    assert_int_equal(into->times.count, 0);
    for (int i = 0; i < 2000; i++) {
        free(from->name);
        from->name = strdup(i % 2 ? "a rather long name of a run" : "another rather long name");
        from->references = from->cold = from->distinct = 0;
        from->distances.count = 0;
        assert_int_equal(fm_profile_merge(into, from, NULL), FM_OK);
    }
    assert_true(strlen(into->name) < 2000);
    fm_profile_destroy(into);
    fm_profile_destroy(from);
}

static void what_does_not_fit_is_refused_and_changes_nothing(void **state)
{
    (void)state;
    uint64_t counts[LARGEST] = {[3] = 4};
    fm_profile *into = from_counts(counts, FM_BINS_EXACT, 1), *from = from_counts(counts, FM_BINS_EXACT, 1);
    fm_error error;
    from->granularity = 64;
    assert_int_equal(fm_profile_merge(into, from, &error), FM_E_ARGUMENT);
    assert_non_null(strstr(error.reason, "1 and 64"));
    from->granularity = 1;
    from->bound = 10;
    assert_int_equal(fm_profile_merge(into, from, &error), FM_E_ARGUMENT);
    assert_non_null(strstr(error.reason, "0 and 10"));
    from->bound = 0;
    from->distances.bins[0].count = UINT64_MAX;
    assert_int_equal(fm_profile_merge(into, from, &error), FM_E_ARGUMENT);
    from->references = UINT64_MAX;
    assert_int_equal(fm_profile_merge(into, from, &error), FM_E_ARGUMENT);
    assert_non_null(strstr(error.reason, "references"));
    assert_int_equal(into->references, 5);
    assert_int_equal(into->distances.count, 1);
    assert_int_equal(into->distances.bins[0].count, 4);
    fm_profile_destroy(into);
    fm_profile_destroy(from);
}

static void the_last_bin_ends_at_the_bound(void **state)
{
    (void)state;
    uint64_t counts[LARGEST] = {[1100] = 4};
    fm_profile *into = from_counts(counts, FM_BINS_LOGLINEAR, 1),
               *from = from_counts(counts, FM_BINS_LOG2, 1);
    into->bound = from->bound = 1200;
    assert_int_equal(fm_profile_merge(into, from, NULL), FM_OK);
    assert_int_equal(into->distances.count, 1);
    assert_int_equal(into->distances.bins[0].lo, 1024);
    assert_int_equal(into->distances.bins[0].hi, 1199);
    assert_int_equal(into->distances.bins[0].count, 8);
    fm_profile_destroy(into);
    fm_profile_destroy(from);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sums_are_those_of_one_count),
        cmocka_unit_test(words_are_joined),
        cmocka_unit_test(what_does_not_fit_is_refused_and_changes_nothing),
        cmocka_unit_test(the_last_bin_ends_at_the_bound),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

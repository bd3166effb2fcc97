/* SPDX-License-Identifier: Apache-2.0 */
/* test_seen_set.c - the bounded memory of blocks against a plain array, at its edges and past its limit. */
#include "case.h"

#include "engine/engine_tables.h"
#include "oracle/trace_recipe.h"

CASE(test_first_and_again)
{
    static const uint64_t keys[] = {0, UINT64_MAX, 1, UINT64_C(1) << 63, 5};
    fm_seen_set *set = fm_seen_set_create(FM_SEEN_LIMIT, 1, false);
    assert_non_null(set);
    for (size_t i = 0; i < 5; i++) {
        assert_int_equal(fm_seen_set_count(set), i);
        assert_int_equal(fm_seen_set_insert(set, keys[i], UINT64_MAX, NULL), FM_SEEN_NEW);
        for (size_t j = 0; j <= i; j++)
            assert_int_equal(fm_seen_set_insert(set, keys[j], UINT64_MAX, NULL), FM_SEEN_KNOWN);
    }
    fm_seen_set_destroy(set);
    fm_seen_set_destroy(NULL);
}

/* Random keys of a small alphabet, so that known and new ones mix, through several doublings. */
CASE(test_against_an_array)
{
    enum { ALPHABET = 20000 };
    uint64_t *last = calloc(ALPHABET, sizeof *last);
    assert_non_null(last);
    recipe_random random = {17};
    fm_seen_set *set = fm_seen_set_create(FM_SEEN_LIMIT, 99, true);
    assert_non_null(set);
    uint64_t distinct = 0;
    for (uint64_t time = 1; time < 100000; time++) {
        uint64_t k = recipe_below(&random, ALPHABET), key = k << 40, stored = 12345;
        fm_seen seen = fm_seen_set_insert(set, key, UINT64_MAX, &stored);
        assert_int_equal(seen, last[k] ? FM_SEEN_KNOWN : FM_SEEN_NEW);
        if (last[k]) assert_int_equal(stored, last[k]);
        distinct += last[k] == 0;
        fm_seen_set_store_time(set, key, time);
        last[k] = time;
    }
    assert_int_equal(fm_seen_set_count(set), distinct);
    assert_true(fm_seen_set_memory(set) >= distinct * 16);
    assert_true(fm_seen_set_memory_peak(set) > fm_seen_set_memory(set));
    /* Two words for each of at most 2.67 slots a key, and while growing half as much again. */
    assert_true(fm_seen_set_memory_peak(set) < distinct * 16 * 5);
    fm_seen_set_destroy(set);
    free(last);
}

CASE(test_limit)
{
    for (uint64_t limit = 0; limit < 2000; limit += limit < 3 ? 1 : 397) {
        fm_seen_set *set = fm_seen_set_create(limit, 3, false);
        assert_non_null(set);
        for (uint64_t i = 0; i < limit; i++)
            assert_int_equal(fm_seen_set_insert(set, i, UINT64_MAX, NULL), FM_SEEN_NEW);
        if (limit) assert_int_equal(fm_seen_set_insert(set, limit - 1, UINT64_MAX, NULL), FM_SEEN_KNOWN);
        assert_false(fm_seen_set_given_up(set));
        uint64_t before = fm_seen_set_memory(set);
        assert_int_equal(fm_seen_set_insert(set, limit, UINT64_MAX, NULL), FM_SEEN_GIVEN_UP);
        assert_true(fm_seen_set_given_up(set));
        assert_true(fm_seen_set_memory(set) < before);
        assert_int_equal(fm_seen_set_count(set), limit);
        assert_int_equal(fm_seen_set_insert(set, 0, UINT64_MAX, NULL), FM_SEEN_GIVEN_UP);
        fm_seen_set_store_time(set, 0, 1);
        fm_seen_set_destroy(set);
    }
}

CASE(test_budget)
{
    fm_seen_set *set = fm_seen_set_create(FM_SEEN_LIMIT, 3, false);
    assert_non_null(set);
    const uint64_t budget = 100000;
    uint64_t i = 0;
    fm_seen seen;
    while ((seen = fm_seen_set_insert(set, i, budget, NULL)) == FM_SEEN_NEW) {
        i++;
        assert_true(fm_seen_set_memory_peak(set) <= budget);
    }
    assert_int_equal(seen, FM_SEEN_GIVEN_UP);
    assert_true(i > 1000);
    assert_true(i < budget / 8);
    assert_int_equal(fm_seen_set_count(set), i);
    fm_seen_set_destroy(set);
}

/* Every key once: the ones that a table might take for something else, and others. */
CASE(test_all_keys)
{
    for (uint64_t keys = 0; keys < 3000; keys += keys < 4 ? 1 : 743) {
        bool given[3000] = {false};
        fm_seen_set *set = fm_seen_set_create(2000, 3, false);
        assert_non_null(set);
        for (uint64_t i = 0; i < keys; i++) (void)fm_seen_set_insert(set, i - 1, UINT64_MAX, NULL);
        uint64_t cursor = 0, key, count = 0;
        while (fm_seen_set_next(set, &cursor, &key)) {
            assert_true(key + 1 < keys);
            assert_false(given[key + 1]);
            given[key + 1] = true;
            count++;
        }
        assert_false(fm_seen_set_next(set, &cursor, &key));
        assert_int_equal(count, keys <= 2000 ? keys : 0); /* none is left of a set that was given up */
        fm_seen_set_destroy(set);
    }
}

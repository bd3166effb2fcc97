/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_pairs.c - the counters of attribution: ranges of distances against a linear search, the table of
 * pairs against sorting, for every instruction set; growth, order, limits and the spread of the hash.
 */
#include "case.h"
#include "random.h"

#include "engine/exact/exact_kernels.h"

#include <fathom/analyzer.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
// cmocka needs the four headers above first
/* ---- ranges ---- */

static uint32_t by_search(const uint64_t *edges, size_t count, uint64_t distance)
{
    uint32_t range = 0;
    while (range + 1 < count && edges[range + 1] <= distance) range++;
    return range;
}

static void check_ranges(const uint64_t *edges, size_t count)
{
    static fm_ranges ranges;
    assert_int_equal(fm_ranges_create(&ranges, edges, count, NULL), FM_OK);
    assert_int_equal(fm_range_of(&ranges, FM_COLD), FM_RANGE_COLD);
    assert_int_equal(fm_range_of(&ranges, FM_BEYOND), FM_RANGE_BEYOND);
    const char *isa;
    for (size_t k = 0; (isa = fm_isa_at(k)); k++) {
        const fm_exact_kernels *kernels = fm_exact_kernels_find(isa);
        uint32_t distances[FM_LOOKUPS_ROOM];
        uint64_t words[FM_LOOKUPS_ROOM];
        for (size_t i = 0; i < FM_LOOKUPS; i++) {
            uint64_t near_edge = edges[random_next() % count] - 2 + random_next() % 5;
            distances[i] = (uint32_t)(i % 2 ? near_edge : random_next() >> (32 + random_next() % 32));
            if (distances[i] == UINT32_MAX) distances[i]--; /* fewer blocks than that are live */
            words[i] = fm_pair_word(5, 6, 0);
        }
        kernels->add_ranges(&ranges, distances, FM_LOOKUPS, words);
        for (size_t i = 0; i < FM_LOOKUPS; i++) {
            uint32_t range = by_search(edges, count, distances[i]);
            assert_int_equal(words[i], fm_pair_word(5, 6, range));
            assert_int_equal(fm_range_of(&ranges, distances[i]), range);
        }
    }
    for (size_t i = 0; i < 100; i++) {
        uint64_t distance = random_next() >> (random_next() % 64);
        if (distance < FM_BEYOND)
            assert_int_equal(fm_range_of(&ranges, distance), by_search(edges, count, distance));
    }
}

CASE(test_ranges)
{
    uint64_t edges[FM_EDGES_MAX] = {0};
    check_ranges(edges, 1);
    for (size_t i = 0; i < 64; i++) edges[i + 1] = UINT64_C(1) << i;
    for (size_t count = 1; count <= 65; count++) check_ranges(edges, count);
    for (int round = 0; round < 300; round++) {
        /* Steps that keep some rounds within few octaves and let others run far out. */
        size_t count = 1 + random_next() % FM_EDGES_MAX;
        uint64_t most = 1 + random_next() % 6, far = random_next() % 3;
        for (size_t i = 1; i < count; i++)
            edges[i] = edges[i - 1] + 1 + random_next() % most +
                       (far ? (edges[i - 1] >> (far + 1)) * (random_next() % 2) : 0);
        for (size_t i = 1; i < count; i++)
            if (edges[i] <= edges[i - 1]) count = i;
        check_ranges(edges, count);
    }
}

/* ---- the table ---- */

static int compare_words(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

static void check_counts(const fm_exact_kernels *kernels, size_t count, uint32_t sites, unsigned ranges)
{
    enum { MOST = 500 };
    fm_pair_table table;
    uint64_t *all = calloc(count + 1, sizeof *all), words[MOST + 8] = {0};
    assert_non_null(all);
    fm_pair_table other; /* which gets a part of them, until they are put together */
    assert_int_equal(fm_pair_table_create(&table, random_next(), 0, NULL), FM_OK);
    assert_int_equal(fm_pair_table_create(&other, random_next(), 0, NULL), FM_OK);
    for (size_t i = 0; i < count;) {
        size_t part = 1 + random_next() % MOST;
        if (part > count - i) part = count - i;
        const unsigned runs = random_next() % 4 ? 1 : 12; /* of as many in a row, most are the same */
        for (size_t j = 0; j < part; j++) {
            /* Small numbers more often than large ones. */
            uint32_t use = (uint32_t)(random_next() % sites) >> random_next() % 16;
            uint32_t reuse = (uint32_t)(random_next() % sites) >> random_next() % 16;
            uint32_t range = (uint32_t)(random_next() % ranges);
            words[j] = fm_pair_word(use, reuse, range == 7 ? FM_RANGE_BEYOND : range);
            if (j > 1 && random_next() % runs) words[j] = words[j - 1 - random_next() % 2];
            all[i + j] = words[j];
        }
        fm_pair_table *one = random_next() % 3 ? &table : &other;
        assert_int_equal(fm_pair_table_reserve(one, part, NULL), FM_OK);
        kernels->count_pairs(one, words, part);
        assert_true(table.used <= table.limit);
        assert_true(fm_pair_table_memory(&table) <= table.memory_peak);
        i += part;
    }
    assert_int_equal(fm_pair_table_merge(&table, &other, NULL), FM_OK);
    assert_null(other.buckets);
    assert_int_equal(fm_pair_table_merge(&table, &other, NULL), FM_OK); /* nothing more */
    qsort(all, count, sizeof *all, compare_words);
    fm_raw_pair *pairs;
    size_t listed, at = 0;
    assert_int_equal(fm_pair_table_list(&table, &pairs, &listed, NULL), FM_OK);
    for (size_t i = 0; i < listed; i++) {
        uint64_t word = fm_pair_word(pairs[i].use, pairs[i].reuse, pairs[i].range), same = 0;
        while (at < count && all[at] == word) at++, same++;
        assert_true(same > 0);
        assert_int_equal(pairs[i].count, same);
    }
    assert_int_equal(at, count);
    assert_int_equal(listed, table.used);
    free(pairs);
    free(all);
    fm_pair_table_clear(&table);
}

CASE(test_counts)
{
    const char *isa;
    for (size_t k = 0; (isa = fm_isa_at(k)); k++) {
        const fm_exact_kernels *kernels = fm_exact_kernels_find(isa);
        check_counts(kernels, 0, 1, 1);
        for (int round = 0; round < 40; round++)
            check_counts(kernels, random_next() % 5000, 1 + (uint32_t)(random_next() % 3000),
                         1 + (unsigned)(random_next() % 9));
        check_counts(kernels, 300000, FM_TAG_MAX, 3);
    }
}

/* Sites are numbered in order of appearance: words are small numbers, packed. They must spread all the same.
 */
CASE(test_spread)
{
    for (uint64_t seed = 1; seed < 6; seed++)
        for (uint32_t step = 1; step <= 4096; step *= 8) {
            fm_pair_table table;
            assert_int_equal(fm_pair_table_create(&table, seed * UINT64_C(0x123456789ABCDEF), 0, NULL),
                             FM_OK);
            for (uint32_t use = 0; use < 200; use++)
                for (uint32_t reuse = 0; reuse < 200; reuse++) {
                    uint64_t word = fm_pair_word(use * step, reuse, (use + reuse) % 3);
                    assert_int_equal(fm_pair_table_reserve(&table, 1, NULL), FM_OK);
                    uint64_t home = fm_pair_home(word, table.multiplier, table.bucket_count);
                    fm_pair_table_add(&table, table.buckets + home, word, 1);
                }
            uint64_t away = 0;
            for (uint64_t b = 0; b < table.bucket_count; b++)
                for (size_t slot = 0; slot < FM_PAIR_SLOTS && table.buckets[b].word[slot]; slot++)
                    away +=
                        fm_pair_home(table.buckets[b].word[slot], table.multiplier, table.bucket_count) != b;
            assert_int_equal(table.used, 40000);
            assert_true(away < table.used / 3); /* a random hash leaves about one in seven outside its home */
            fm_pair_table_clear(&table);
        }
}

CASE(test_limit)
{
    fm_pair_table table;
    fm_error error = {0};
    assert_int_equal(fm_pair_table_create(&table, 1, 300000, NULL), FM_OK);
    fm_status status = FM_OK;
    uint64_t more = 100;
    while (status == FM_OK && more < 1000000) {
        status = fm_pair_table_reserve(&table, more, &error);
        if (status == FM_OK) assert_true(fm_pair_table_has_room(&table, more));
        more += more / 3;
    }
    assert_int_equal(status, FM_E_LIMIT);
    assert_non_null(strstr(error.reason, "300000"));
    assert_true(table.memory_peak <= 300000);
    fm_pair_table_clear(&table);
    fm_pair_table_clear(&table);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* test_profile_attribution.c - pairs are those of a naive count; misses are those of the bins; edges are
 * right. */
#include "case.h"
#include "random.h"

#include <fathom/model.h>
#include <stdio.h>

#include "attribution_samples.h"
#include "base/table.h"

enum { TAGS = 12, SITES = 7, RANGES = SAMPLE_EDGES };

/* What tag t is: tags share sites, some have none. */
static const uint32_t map[TAGS] = {FM_NONE, 0, 1, 2, 2, 3, FM_NONE, 4, 5, 6, 6, 6};

static int by_tags(const void *a, const void *b)
{
    const fm_raw_pair *x = a, *y = b;
    if (x->reuse != y->reuse) return x->reuse < y->reuse ? -1 : 1;
    if (x->use != y->use) return x->use < y->use ? -1 : 1;
    return x->range < y->range ? -1 : x->range > y->range;
}

CASE(pairs_are_those_of_a_naive_count)
{
    for (int round = 0; round < 50; round++) {
        /* [use + 1][reuse][range]; one more site for "unknown"; ranges, then cold, then beyond. */
        static uint64_t wanted[SITES + 1][SITES + 1][RANGES + 2];
        memset(wanted, 0, sizeof wanted);
        fm_attribution *made = sample_attribution(0, SITES, 0, 0);
        bool unknown = false;
        for (int part = 0; part < 3; part++) {
            fm_raw_pair raw[200];
            for (size_t i = 0; i < 200; i++) {
                uint32_t range = (uint32_t)(random_next() % (RANGES + 2));
                uint32_t use = (uint32_t)(random_next() % (TAGS + 2)),
                         reuse = (uint32_t)(random_next() % (TAGS + 2));
                uint64_t count = random_next() % 1000;
                raw[i] = (fm_raw_pair){use, reuse,
                                       range == RANGES       ? FM_RANGE_COLD
                                       : range == RANGES + 1 ? FM_RANGE_BEYOND
                                                             : range,
                                       count};
                uint32_t use_site = use < TAGS ? map[use] : FM_NONE,
                         reuse_site = reuse < TAGS ? map[reuse] : FM_NONE;
                unknown |= reuse_site == FM_NONE && count;
                wanted[use_site == FM_NONE ? 0 : use_site + 1][reuse_site == FM_NONE ? SITES : reuse_site]
                      [range] += count;
            }
            if (round % 2) qsort(raw, 200, sizeof *raw, by_tags);
            assert_int_equal(fm_attribution_add_pairs(made, raw, 200, map, TAGS, NULL), FM_OK);
        }
        assert_int_equal(made->site_count, SITES + unknown);
        if (unknown) assert_string_equal(made->sites[SITES].symbol, "unknown");
        size_t pairs = 0;
        for (size_t use = 0; use <= SITES; use++)
            for (size_t reuse = 0; reuse <= SITES; reuse++) {
                uint64_t sum = 0;
                for (size_t r = 0; r < RANGES + 2; r++) sum += wanted[use][reuse][r];
                pairs += sum != 0;
            }
        assert_int_equal(made->pair_count, pairs);
        for (size_t i = 0; i < made->pair_count; i++) {
            const fm_pair *pair = &made->pairs[i];
            uint64_t *counts = wanted[pair->use == FM_NONE ? 0 : pair->use + 1][pair->reuse];
            uint64_t sum = 0;
            size_t bins = 0;
            for (size_t r = 0; r < RANGES + 2; r++) sum += counts[r], bins += r < RANGES && counts[r];
            assert_int_equal(pair->count, sum);
            assert_int_equal(pair->cold, counts[RANGES]);
            assert_int_equal(pair->beyond, counts[RANGES + 1]);
            assert_int_equal(pair->bin_count, bins);
            for (size_t b = 0; b < pair->bin_count; b++) {
                const fm_bin *bin = &pair->bins[b];
                uint32_t range = sample_range(bin->lo);
                assert_int_equal(bin->count, counts[range]);
                assert_int_equal(bin->hi, range + 1 < RANGES ? made->edges[range + 1] - 1 : UINT64_MAX);
                if (b) assert_true(bin->lo > bin[-1].hi);
            }
            /* Misses at every edge, by hand. */
            for (uint32_t edge = 0; edge < RANGES; edge++) {
                uint64_t late = counts[RANGES] + counts[RANGES + 1];
                for (uint32_t r = edge; r < RANGES; r++) late += counts[r];
                assert_true(fm_pair_misses(pair, made->edges[edge]) == (double)late);
            }
            if (i) assert_true(pair->count <= pair[-1].count);
        }
        fm_attribution_destroy(made);
    }
}

CASE(misses_between_edges_are_spread_evenly)
{
    const fm_bin bins[] = {{4, 7, 40}, {8, 15, 80}};
    fm_pair pair = {0, 0, 127, 3, 4, 2, bins};
    assert_true(fm_pair_misses(&pair, 0) == 127);
    assert_true(fm_pair_misses(&pair, 4) == 127);
    assert_true(fm_pair_misses(&pair, 5) == 127 - 10);
    assert_true(fm_pair_misses(&pair, 7) == 127 - 30);
    assert_true(fm_pair_misses(&pair, 8) == 87);
    assert_true(fm_pair_misses(&pair, 12) == 47);
    assert_true(fm_pair_misses(&pair, 16) == 7);
    assert_true(fm_pair_misses(&pair, UINT64_MAX) == 7);
    fm_object_use use = {0, 0, 127, 3, 4, 2, bins};
    assert_true(fm_object_use_misses(&use, 12) == 47);
}

CASE(wrong_pairs_and_edges_are_refused)
{
    fm_attribution *made = sample_attribution(0, 2, 0, 0);
    fm_error error;
    const uint32_t own[] = {FM_NONE, 0, 1, 7};
    const fm_raw_pair wrong_range = {1, 2, SAMPLE_EDGES, 1}, wrong_site = {1, 3, 0, 1},
                      most[] = {{1, 2, 0, UINT64_MAX}, {1, 2, 1, 1}};
    assert_int_equal(fm_attribution_add_pairs(made, &wrong_range, 1, own, 4, &error), FM_E_ARGUMENT);
    assert_non_null(strstr(error.reason, "range 23 of 23"));
    assert_int_equal(fm_attribution_add_pairs(made, &wrong_site, 1, own, 4, &error), FM_E_ARGUMENT);
    assert_non_null(strstr(error.reason, "site 7 of 2"));
    assert_int_equal(fm_attribution_add_pairs(made, most, 2, own, 4, &error), FM_E_ARGUMENT);
    assert_non_null(strstr(error.reason, "64 bits"));
    assert_int_equal(made->pair_count, 0);
    assert_int_equal(fm_attribution_add_pairs(made, most, 1, own, 4, &error), FM_OK);
    assert_int_equal(fm_attribution_add_pairs(made, most, 1, own, 4, &error), FM_E_ARGUMENT);
    assert_int_equal(made->pairs[0].count, UINT64_MAX);
    fm_attribution_destroy(made);

    static const uint64_t from_one[] = {1, 2}, falling[] = {0, 5, 5};
    static uint64_t many[251];
    for (size_t i = 0; i < 251; i++) many[i] = i;
    assert_int_equal(fm_attribution_create(&made, NULL), FM_OK);
    assert_int_equal(fm_attribution_set_edges(made, from_one, 2, 0, &error), FM_E_ARGUMENT);
    assert_int_equal(fm_attribution_set_edges(made, falling, 3, 0, &error), FM_E_ARGUMENT);
    assert_int_equal(fm_attribution_set_edges(made, many, 251, 0, &error), FM_E_ARGUMENT);
    assert_int_equal(fm_attribution_set_edges(made, many, 0, 0, &error), FM_E_ARGUMENT);
    assert_int_equal(made->edge_count, 0);
    assert_int_equal(fm_attribution_set_edges(made, many, 250, 9, &error), FM_OK);
    assert_int_equal(made->edge_count, 250);
    assert_int_equal(made->late_from, 9);
    fm_attribution_destroy(made);
    fm_attribution_destroy(NULL);
}

CASE(texts_are_kept_once_and_memory_is_zero)
{
    fm_arena *arena = fm_arena_create();
    assert_non_null(arena);
    char text[64];
    const char *kept[3000];
    for (int i = 0; i < 3000; i++) {
        snprintf(text, sizeof text, "text %d", i % 1500);
        kept[i] = fm_arena_intern(arena, text);
        assert_string_equal(kept[i], text);
        if (i >= 1500) assert_ptr_equal(kept[i], kept[i - 1500]);
        size_t size = random_next() % 5000 + 1;
        unsigned char *bytes = fm_arena_allocate(arena, size, 1);
        assert_int_equal((uintptr_t)bytes % 16, 0);
        for (size_t at = 0; at < size; at += 97) assert_int_equal(bytes[at], 0);
        memset(bytes, 0xAB, size);
    }
    for (int i = 0; i < 1500; i++) { /* nobody wrote over them */
        snprintf(text, sizeof text, "text %d", i);
        assert_string_equal(kept[i], text);
    }
    assert_non_null(fm_arena_allocate(arena, 5 << 20, 1));
    assert_null(fm_arena_allocate(arena, SIZE_MAX, 2));
    assert_null(fm_arena_allocate(arena, SIZE_MAX, 1));
    assert_non_null(fm_arena_allocate(arena, 0, 8));
    assert_ptr_equal(fm_arena_intern(arena, ""), fm_arena_intern(arena, ""));
    fm_arena_destroy(arena);
}

CASE(edges_are_powers_of_two_and_caches)
{
    static const fm_cache caches[] = {
        {.bytes = 48 << 10}, {.bytes = 1310720}, {.bytes = 1 << 20}, {.bytes = 63}, {.bytes = 100 << 10}};
    uint64_t edges[128];
    size_t count = fm_cache_edges(caches, 5, 64, edges, 128);
    /* 0, 1 … 2^40, and 768, 20480, 1600; 2^14 is there, 63 bytes are no block. */
    assert_int_equal(count, 1 + 41 + 3);
    bool found[4] = {false};
    static const uint64_t wanted[] = {768, 20480, 1600, 1 << 14};
    for (size_t i = 0; i < count; i++) {
        if (i) assert_true(edges[i] > edges[i - 1]);
        for (size_t j = 0; j < 4; j++) found[j] |= edges[i] == wanted[j];
    }
    assert_true(found[0] && found[1] && found[2] && found[3]);
    assert_int_equal(edges[0], 0);
    assert_int_equal(edges[1], 1);
    assert_true(edges[count - 1] == UINT64_C(1) << 40);
    assert_int_equal(fm_cache_edges(NULL, 0, 1, edges, 128), 42);
    assert_int_equal(fm_cache_edges(NULL, 0, 0, edges, 128), 42);
    static const fm_cache huge = {.bytes = UINT64_MAX};
    assert_int_equal(fm_cache_edges(&huge, 1, 1, edges, 128), 43);
    assert_true(edges[42] == UINT64_MAX);
    /* Without room the largest are left out, never more written than fits. */
    edges[10] = 77;
    assert_int_equal(fm_cache_edges(caches, 5, 64, edges, 10), 10);
    assert_int_equal(edges[9], 256);
    assert_int_equal(edges[10], 77);
    assert_int_equal(fm_cache_edges(caches, 5, 64, edges, 0), 0);
    fm_cache many[32];
    for (size_t i = 0; i < 32; i++) many[i] = (fm_cache){.bytes = (i + 1) * 1000003};
    assert_int_equal(fm_cache_edges(many, 32, 64, edges, 128), 42 + 32);
}

/* Ten sites, known by their addresses, and three paths: what nothing refers to goes, the rest stays what it
 * was. */
CASE(what_nothing_refers_to_is_dropped)
{
    fm_attribution *made = sample_attribution(0, 10, 4, 2);
    for (uint32_t i = 0; i < 10; i++) made->sites[i].address = 100 + i;
    made->paths[0] = (fm_call_path){FM_NONE, 7};
    made->paths[1] = (fm_call_path){FM_NONE, 9}; /* of nothing */
    made->paths[2] = (fm_call_path){0, 8};
    made->paths[3] = (fm_call_path){0, 6};
    made->sites[4].path = 2;
    made->sites[1].path = 1;
    made->objects[1].allocation = 3;
    const uint32_t tags[] = {FM_NONE, 2, 4};
    const fm_raw_pair raw[] = {{1, 2, 3, 50}, {0, 1, FM_RANGE_COLD, 7}};
    assert_int_equal(fm_attribution_add_pairs(made, raw, 2, tags, 3, NULL), FM_OK);
    made->object_uses = fm_attribution_allocate(made, 1, sizeof *made->object_uses);
    made->object_uses[0] = (fm_object_use){.object = 1, .site = 5, .count = 1, .cold = 1};
    made->object_use_count = 1;
    made->latencies = fm_attribution_allocate(made, 1, sizeof *made->latencies);
    made->latencies[0] = (fm_site_latency){.site = 0};
    made->latency_count = 1;
    for (int again = 0; again < 2; again++) { /* the second time nothing is left to drop */
        assert_int_equal(fm_attribution_drop_unused(made, NULL), FM_OK);
        static const uint64_t left[] = {100, 102, 104, 105, 106, 107, 108};
        assert_int_equal(made->site_count, 7);
        for (size_t i = 0; i < 7; i++) {
            assert_int_equal(made->sites[i].address, left[i]);
            assert_int_equal(made->sites[i].path, left[i] == 104 ? 1 : FM_NONE);
        }
        static const fm_call_path paths[] = {{FM_NONE, 5}, {0, 6}, {0, 4}};
        assert_int_equal(made->path_count, 3);
        assert_memory_equal(made->paths, paths, sizeof paths);
        assert_int_equal(made->pair_count, 2);
        assert_int_equal(made->pairs[0].use, 1);
        assert_int_equal(made->pairs[0].reuse, 2);
        assert_int_equal(made->pairs[1].use, FM_NONE);
        assert_int_equal(made->pairs[1].reuse, 1);
        assert_int_equal(made->objects[0].allocation, FM_NONE);
        assert_int_equal(made->objects[1].allocation, 2);
        assert_int_equal(made->object_uses[0].site, 3);
        assert_int_equal(made->latencies[0].site, 0);
    }
    fm_attribution_destroy(made);
}

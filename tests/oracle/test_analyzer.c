/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_analyzer.c - the streaming analyzer through its public header: cutting addresses into blocks,
 * bins, sinks, snapshots, bounds and memory. The judge is a naive splitter in front of the list engine.
 */
#include "case.h"

#include "analyzer/analyzer_state.h"

#include "engine/engine.h"
#include "engine/engine_tables.h"
#include "engine/exact/exact_kernels.h"
#include "oracle/counting_run.h"

#include <fathom/experimental.h>

#include <stdlib.h>
#include <string.h>

static fm_analyzer *analyzer_made(const fm_analyzer_options *options)
{
    fm_analyzer *analyzer = NULL;
    fm_error error = {0};
    if (fm_analyzer_create(&analyzer, options, &error)) fail_msg("not created: %s", error.reason);
    assert_non_null(analyzer);
    return analyzer;
}

static fm_profile *profile_of(fm_analyzer *analyzer)
{
    fm_profile *profile = NULL;
    assert_int_equal(fm_analyzer_profile(analyzer, &profile, NULL), FM_OK);
    assert_non_null(profile);
    return profile;
}

typedef struct numbers {
    uint64_t *values;
    size_t count, capacity;
} numbers;

static void numbers_add(numbers *list, uint64_t value)
{
    if (list->count == list->capacity) {
        list->capacity = list->capacity ? list->capacity * 2 : 1024;
        list->values = realloc(list->values, list->capacity * sizeof *list->values);
        if (!list->values) abort();
    }
    list->values[list->count++] = value;
}

static fm_status collect(void *context, const uint64_t *blocks, const uint64_t *distances, size_t count,
                         fm_error *error)
{
    (void)blocks;
    (void)error;
    for (size_t i = 0; i < count; i++) numbers_add(context, distances[i]);
    return FM_OK;
}

/* Distances (and times) of blocks by the list engine. */
static void judge(const numbers *blocks, uint64_t bound, uint64_t *distances, uint64_t *times)
{
    fm_engine_options options = {.bound = bound, .seed = 1, .time_distances = true};
    fm_engine *list;
    size_t done = 0;
    assert_int_equal(fm_engine_list.create(&list, &options, NULL), FM_OK);
    assert_int_equal(
        feed_blocks(&fm_engine_list, list, blocks->values, blocks->count, distances, times, &done, NULL),
        FM_OK);
    fm_engine_list.destroy(list);
}

/* Counts by looking at every value for every bin: slow and plain. */
static void check_histogram(const fm_histogram *histogram, fm_bins bins, const uint64_t *values, size_t count,
                            uint64_t expected_total, uint64_t bound)
{
    uint64_t total = 0;
    for (size_t b = 0; b < histogram->count; b++) {
        const fm_bin *bin = &histogram->bins[b];
        uint64_t inside = 0;
        for (size_t i = 0; i < count; i++) inside += values[i] >= bin->lo && values[i] <= bin->hi;
        assert_int_equal(bin->count, inside);
        assert_true(bin->count > 0);
        assert_true(bin->lo <= bin->hi);
        if (bound) assert_true(bin->hi < bound);
        if (b) assert_true(bin->lo > histogram->bins[b - 1].hi);
        if (bins == FM_BINS_EXACT) assert_int_equal(bin->lo, bin->hi);
        if (bins == FM_BINS_LOG2) {
            if (bin->lo == 0)
                assert_int_equal(bin->hi, 0);
            else {
                assert_int_equal(bin->lo & (bin->lo - 1), 0);
                assert_true(bin->hi == bin->lo * 2 - 1 || (bound && bin->hi == bound - 1));
            }
        }
        if (bins == FM_BINS_LOGLINEAR) {
            if (bin->lo < 1024)
                assert_int_equal(bin->lo, bin->hi);
            else
                assert_true((bin->hi - bin->lo + 1) * 64 <= bin->lo);
        }
        total += bin->count;
    }
    assert_int_equal(total, expected_total);
}

/* ---- blocks ---- */

CASE(test_straddling)
{
    static const uint64_t address[] = {60, 0, 63, 64, 128, 10};
    static const uint32_t size[] = {8, 64, 1, 1, 129, 4};
    /* blocks 0 1 | 0 | 0 | 1 | 2 3 4 | 0 */
    static const uint64_t expected[] = {FM_COLD, FM_COLD, 1, 0, 1, FM_COLD, FM_COLD, FM_COLD, 4};
    fm_analyzer_options options = {.granularity = 64};
    fm_analyzer *analyzer = analyzer_made(&options);
    numbers got = {0};
    assert_int_equal(fm_analyzer_set_sink(analyzer, collect, &got, NULL), FM_OK);
    fm_batch batch = {.count = 6, .address = address, .size = size};
    assert_int_equal(fm_analyzer_feed(analyzer, &batch, NULL), FM_OK);
    assert_int_equal(got.count, 9);
    assert_memory_equal(got.values, expected, sizeof expected);
    fm_profile *profile = profile_of(analyzer);
    assert_int_equal(profile->references, 9);
    assert_int_equal(profile->distinct, 5);
    assert_int_equal(profile->cold, 5);
    assert_int_equal(profile->granularity, 64);
    fm_profile_destroy(profile);
    fm_analyzer_destroy(analyzer);
    free(got.values);
}

static void check_splitting(uint64_t granularity, const char *engine, bool sizes)
{
    const size_t accesses = few_rounds(20000);
    recipe_random random = {granularity + 1};
    uint64_t *address = malloc(accesses * sizeof *address);
    uint32_t *size = malloc(accesses * sizeof *size);
    assert_non_null(address);
    assert_non_null(size);
    numbers blocks = {0}, got = {0};
    for (size_t i = 0; i < accesses; i++) {
        address[i] = recipe_below(&random, 2000 * granularity);
        if (recipe_chance(&random, 2))
            address[i] = UINT64_MAX - address[i] - 1000; /* high addresses, ends inside */
        size[i] = (uint32_t)(1 + recipe_below(&random, recipe_chance(&random, 10) ? 300 : 8));
        uint64_t last = sizes ? (address[i] + size[i] - 1) / granularity : address[i] / granularity;
        for (uint64_t block = address[i] / granularity; block <= last; block++) numbers_add(&blocks, block);
    }
    uint64_t *distances = malloc(blocks.count * sizeof *distances),
             *times = malloc(blocks.count * sizeof *times);
    assert_non_null(distances);
    assert_non_null(times);
    judge(&blocks, 0, distances, times);
    fm_analyzer_options options = {.granularity = granularity, .engine = engine, .bins = FM_BINS_EXACT};
    fm_analyzer *analyzer = analyzer_made(&options);
    assert_int_equal(fm_analyzer_set_sink(analyzer, collect, &got, NULL), FM_OK);
    for (size_t i = 0; i < accesses;) {
        size_t count = 1 + recipe_below(&random, 3000);
        if (count > accesses - i) count = accesses - i;
        fm_batch batch = {.count = count, .address = address + i, .size = sizes ? size + i : NULL};
        assert_int_equal(fm_analyzer_feed(analyzer, &batch, NULL), FM_OK);
        i += count;
    }
    assert_int_equal(got.count, blocks.count);
    assert_memory_equal(got.values, distances, got.count * sizeof *distances);
    fm_analyzer_destroy(analyzer);
    free(blocks.values);
    free(got.values);
    free(distances);
    free(times);
    free(address);
    free(size);
}

CASE(test_splitting)
{
    static const uint64_t granularities[] = {1, 2, 8, 64, 4096};
    for (size_t i = 1; i < 5; i++) check_splitting(granularities[i], i % 2 ? NULL : "tree", true);
    for (size_t i = 0; i < 5; i++) check_splitting(granularities[i], "exact", false);
}

/* What another thread prepared gives the profile that feeding would have given. */
static void check_prepared(uint64_t granularity, const fm_analyzer_options *wishes)
{
    enum { ACCESSES = 30000 };
    recipe_random random = {granularity + wishes->bound};
    uint64_t *address = malloc(ACCESSES * sizeof *address);
    uint32_t *size = malloc(ACCESSES * sizeof *size);
    assert_non_null(address);
    assert_non_null(size);
    for (size_t i = 0; i < ACCESSES; i++) {
        address[i] = recipe_below(&random, 3000 * granularity);
        if (i > 0 && recipe_chance(&random, 2)) address[i] = address[i - 1];
        size[i] = (uint32_t)(1 + recipe_below(&random, recipe_chance(&random, 30) ? 3 * granularity : 8));
    }
    fm_analyzer_options options = *wishes;
    options.granularity = granularity;
    fm_analyzer *fed = analyzer_made(&options), *given = analyzer_made(&options);
    assert_true(fm_analyzer_can_prepare(given));
    fm_prepared prepared = {0};
    for (size_t i = 0; i < ACCESSES;) {
        size_t count = recipe_below(&random, recipe_chance(&random, 3) ? 10 : 9000);
        if (count > ACCESSES - i) count = ACCESSES - i;
        fm_batch batch = {
            .count = count, .address = address + i, .size = recipe_chance(&random, 4) ? NULL : size + i};
        assert_int_equal(fm_analyzer_feed(fed, &batch, NULL), FM_OK);
        assert_int_equal(fm_analyzer_prepare(given, &batch, &prepared, NULL), FM_OK);
        if (fm_analyzer_can_digest(given) && recipe_chance(&random, 2))
            assert_int_equal(fm_analyzer_digest(given, &prepared, NULL), FM_OK);
        assert_int_equal(fm_analyzer_feed_prepared(given, &prepared, NULL), FM_OK);
        if (recipe_chance(&random, 8)) fm_profile_destroy(profile_of(given)); /* a look changes nothing */
        i += count;
    }
    fm_profile *wanted = profile_of(fed), *found = profile_of(given);
    assert_same_counts(wanted, found);
    fm_profile_destroy(wanted);
    fm_profile_destroy(found);
    fm_prepared_free(&prepared);
    fm_analyzer_destroy(fed);
    fm_analyzer_destroy(given);
    free(address);
    free(size);
}

CASE(test_prepared)
{
    static const uint64_t granularities[] = {1, 2, 64, 4096};
    static const fm_analyzer_options wishes[] = {
        {0}, {.bins = FM_BINS_EXACT}, {.bound = 1}, {.bound = 700}, {.threads = 2}};
    for (size_t g = 0; g < 4; g++)
        for (size_t w = 0; w < sizeof wishes / sizeof wishes[0]; w++)
            check_prepared(granularities[g], &wishes[w]);
}

/* A batch is cut into parts that are as long as they may be, or as is usual, or halves: all of them against
 * the list. */
CASE(test_sizes_of_parts)
{
    enum { MOST = 3 * FM_CACHE_CHUNK_MOST };
    static const size_t counts[] = {FM_CACHE_CHUNK,
                                    FM_CACHE_CHUNK + 1,
                                    FM_CACHE_CHUNK_MOST - 1,
                                    FM_CACHE_CHUNK_MOST,
                                    FM_CACHE_CHUNK_MOST + 1,
                                    2 * FM_CACHE_CHUNK,
                                    2 * FM_CACHE_CHUNK_MOST - 1,
                                    2 * FM_CACHE_CHUNK_MOST,
                                    2 * FM_CACHE_CHUNK_MOST + 1,
                                    MOST};
    static uint64_t address[MOST];
    static const fm_analyzer_options listed = {.engine = "list", .bins = FM_BINS_EXACT},
                                     exact = {.bins = FM_BINS_EXACT};
    recipe_random random = {17};
    for (size_t c = 0; c < sizeof counts / sizeof counts[0]; c++)
        for (int digested = 0; digested < 2; digested++) {
            const size_t count = counts[c];
            fm_analyzer *judged = analyzer_made(&listed), *given = analyzer_made(&exact);
            fm_prepared prepared = {0};
            for (int batches = 0; batches < 2; batches++) { /* in the second, few are first touches */
                for (size_t i = 0; i < count; i++) {
                    const uint64_t other = i > 0 ? address[i - 1] : UINT64_MAX;
                    do /* no repeats */
                        address[i] =
                            recipe_chance(&random, 2) ? recipe_below(&random, 1000) : 1000 + i % 1500;
                    while (address[i] == other);
                }
                const fm_batch batch = {.count = count, .address = address};
                assert_int_equal(fm_analyzer_feed(judged, &batch, NULL), FM_OK);
                assert_int_equal(fm_analyzer_prepare(given, &batch, &prepared, NULL), FM_OK);
                assert_int_equal(prepared.count, count);
                if (digested) assert_int_equal(fm_analyzer_digest(given, &prepared, NULL), FM_OK);
                assert_true(!digested ||
                            prepared.chunk_count == (count + FM_CACHE_CHUNK_MOST - 1) / FM_CACHE_CHUNK_MOST);
                assert_int_equal(fm_analyzer_feed_prepared(given, &prepared, NULL), FM_OK);
            }
            fm_profile *wanted = profile_of(judged), *found = profile_of(given);
            assert_same_counts(wanted, found);
            fm_profile_destroy(wanted);
            fm_profile_destroy(found);
            fm_prepared_free(&prepared);
            fm_analyzer_destroy(judged);
            fm_analyzer_destroy(given);
        }
}

/* Those that need every single reference say so. */
CASE(test_not_prepared)
{
    static const uint64_t edges[] = {0, 8};
    static const fm_analyzer_options wishes[] = {{.time_distances = true},
                                                 {.edges = edges, .edge_count = 2, .max_memory = 64 << 20},
                                                 {.edges = edges, .edge_count = 2, .engine = "tree"},
                                                 {.engine = "list"},
                                                 {.engine = "tree"},
                                                 {.engine = "shards"},
                                                 {.engine = "hp-rda"}};
    fm_error error;
    fm_prepared nothing = {0};
    for (size_t w = 0; w < sizeof wishes / sizeof wishes[0]; w++) {
        fm_analyzer *analyzer = analyzer_made(&wishes[w]);
        assert_false(fm_analyzer_can_prepare(analyzer));
        assert_int_equal(fm_analyzer_feed_prepared(analyzer, &nothing, &error), FM_E_ARGUMENT);
        fm_analyzer_destroy(analyzer);
    }
    fm_analyzer_options plain = {0};
    fm_analyzer *analyzer = analyzer_made(&plain);
    numbers got = {0};
    assert_int_equal(fm_analyzer_set_sink(analyzer, collect, &got, NULL), FM_OK);
    assert_false(fm_analyzer_can_prepare(analyzer));
    fm_analyzer_destroy(analyzer);
}

/* What one analyzer has digested is for nobody else; and those that cannot say so. */
CASE(test_digested)
{
    static uint64_t address[10000];
    for (size_t i = 0; i < 10000; i++) address[i] = i % 7 + i / 1000;
    const fm_batch batch = {.count = 10000, .address = address};
    const fm_analyzer_options plain = {0}, bound = {.bound = 100}, limit = {.max_memory = 64 << 20};
    fm_analyzer *one = analyzer_made(&plain), *other = analyzer_made(&plain);
    fm_analyzer *bounded = analyzer_made(&bound), *limited = analyzer_made(&limit);
    fm_prepared prepared = {0};
    fm_error error;
    assert_true(fm_analyzer_can_digest(one));
    assert_int_equal(fm_analyzer_prepare(one, &batch, &prepared, NULL), FM_OK);
    assert_false(fm_analyzer_can_digest(bounded));
    assert_int_equal(fm_analyzer_digest(bounded, &prepared, &error), FM_E_ARGUMENT);
    assert_false(fm_analyzer_can_digest(limited));
    assert_int_equal(fm_analyzer_digest(one, &prepared, NULL), FM_OK);
    assert_true(prepared.count < 100); /* first touches of some thousand references each */
    assert_int_equal(fm_analyzer_digest(one, &prepared, NULL), FM_OK); /* once is enough */
    assert_int_equal(fm_analyzer_feed_prepared(other, &prepared, &error), FM_E_ARGUMENT);
    assert_int_equal(fm_analyzer_feed_prepared(one, &prepared, NULL), FM_OK);
    assert_int_equal(fm_analyzer_prepare(other, &batch, &prepared, NULL), FM_OK); /* it may be used again */
    assert_int_equal(fm_analyzer_feed_prepared(other, &prepared, NULL), FM_OK);
    fm_profile *found = profile_of(one), *wanted = profile_of(other);
    assert_int_equal(found->references, 10000);
    assert_same_counts(wanted, found);
    fm_profile_destroy(found);
    fm_profile_destroy(wanted);
    fm_prepared_free(&prepared);
    fm_analyzer_destroy(one);
    fm_analyzer_destroy(other);
    fm_analyzer_destroy(bounded);
    fm_analyzer_destroy(limited);
}

/* What accesses to many blocks may cost: 2^22 blocks, and for each access 1026 or those of 64 KiB. */
CASE(test_long_accesses_have_a_bound)
{
    enum { FREE = 1 << 22, EACH = 1026, SHORT = 1000 };
    if (getenv("FATHOM_TEST_TRACES")) {
        print_message(
            "SKIP: millions of blocks take long where few traces are asked for; make test runs this\n");
        skip();
    }
    static const uint64_t address[SHORT];
    fm_analyzer *analyzer = analyzer_made(&(fm_analyzer_options){.granularity = 64});
    const uint32_t fits = (FREE + (SHORT + 1) * EACH) * 64, too_many = 2 * EACH * 64;
    fm_error error;
    fm_batch batch = {.count = SHORT, .address = address};
    assert_int_equal(fm_analyzer_feed(analyzer, &batch, NULL), FM_OK);
    batch = (fm_batch){.count = 1, .address = address, .size = &fits};
    assert_int_equal(fm_analyzer_feed(analyzer, &batch, NULL), FM_OK);
    batch.size = &too_many;
    assert_int_equal(fm_analyzer_feed(analyzer, &batch, &error), FM_E_CORRUPT);
    assert_non_null(strstr(error.reason, "reference 1002 touches 2052 blocks"));
    fm_profile *profile = profile_of(analyzer); /* of what came before */
    assert_int_equal(profile->references, SHORT + FREE + (SHORT + 1) * EACH);
    assert_int_equal(profile->cold, FREE + (SHORT + 1) * EACH);
    fm_profile_destroy(profile);
    fm_analyzer_destroy(analyzer);
    /* What a collector delivers is always within, whatever the granularity. */
    const uint32_t range = 64 << 10;
    const uint64_t odd = 1;
    for (uint64_t granularity = 1; granularity <= 4096; granularity *= 64) {
        analyzer = analyzer_made(&(fm_analyzer_options){.granularity = granularity});
        batch = (fm_batch){.count = 1, .address = &odd, .size = &range};
        for (int i = 0; i < 5000; i += granularity == 1 ? 50 : 1)
            assert_int_equal(fm_analyzer_feed(analyzer, &batch, NULL), FM_OK);
        fm_analyzer_destroy(analyzer);
    }
}

/* A copy of gigabytes would be cut into more blocks than anyone wants to hold. */
CASE(test_too_long_to_prepare)
{
    static const uint64_t address[] = {0, 1 << 20, 7}, edges[] = {0, 8};
    enum { MUCH = 19000, MORE = 20000 }; /* blocks; three accesses may have 2^14 + 3 * 1026 */
    static const uint32_t much[] = {8, MUCH * 64, 8}, more[] = {8, MORE * 64, 8};
    const fm_analyzer_options wishes[] = {{.granularity = 64},
                                          {.granularity = 64, .edges = edges, .edge_count = 2}};
    for (size_t w = 0; w < 2; w++) {
        fm_analyzer *analyzer = analyzer_made(&wishes[w]);
        fm_prepared prepared = {0};
        fm_batch batch = {.count = 3, .address = address, .size = more};
        assert_int_equal(fm_analyzer_prepare(analyzer, &batch, &prepared, NULL), FM_E_LIMIT);
        assert_int_equal(fm_analyzer_feed(analyzer, &batch, NULL), FM_OK);
        batch.size = much;
        assert_int_equal(fm_analyzer_prepare(analyzer, &batch, &prepared, NULL), FM_OK);
        assert_int_equal(fm_analyzer_feed_prepared(analyzer, &prepared, NULL), FM_OK);
        fm_profile *profile = profile_of(analyzer);
        assert_int_equal(profile->references, 2 * 2 + MUCH + MORE);
        assert_int_equal(profile->cold, 1 + MORE);
        fm_profile_destroy(profile);
        fm_prepared_free(&prepared);
        fm_analyzer_destroy(analyzer);
    }
    /* Small accesses are many blocks where a block is a byte. */
    enum { ACCESSES = 1000 };
    static uint64_t places[ACCESSES];
    static uint32_t sizes[ACCESSES];
    for (size_t i = 0; i < ACCESSES; i++) sizes[i] = 300;
    fm_analyzer *bytes = analyzer_made(&(fm_analyzer_options){.granularity = 1});
    fm_prepared prepared = {0};
    fm_batch batch = {.count = ACCESSES, .address = places, .size = sizes};
    assert_int_equal(fm_analyzer_prepare(bytes, &batch, &prepared, NULL), FM_E_LIMIT);
    batch.count = 800;
    assert_int_equal(fm_analyzer_prepare(bytes, &batch, &prepared, NULL), FM_OK);
    assert_int_equal(prepared.count + prepared.repeats, 800 * 300);
    fm_prepared_free(&prepared);
    fm_analyzer_destroy(bytes);
}

static fm_status hear_late(void *context, const fm_late *late, size_t count, fm_error *error)
{
    (void)context, (void)late, (void)count, (void)error;
    return FM_OK;
}

/* With attribution: what lacks tags is refused, and tags that are too large are named. */
CASE(test_prepared_tags)
{
    static const uint64_t edges[] = {0, 8}, address[] = {1, 1, 2, 1};
    static const uint32_t tag[] = {1, 2, FM_TAG_MAX, FM_TAG_MAX + 1};
    const fm_analyzer_options tagged = {.edges = edges, .edge_count = 2}, plain = {0};
    fm_analyzer *analyzer = analyzer_made(&tagged), *other = analyzer_made(&plain);
    fm_prepared prepared = {0}, without = {0};
    fm_error error;
    fm_batch batch = {.count = 4, .address = address, .tag = tag};
    assert_int_equal(fm_analyzer_prepare(other, &batch, &without, NULL), FM_OK);
    assert_int_equal(fm_analyzer_feed_prepared(analyzer, &without, &error), FM_E_ARGUMENT);
    assert_int_equal(fm_analyzer_prepare(analyzer, &batch, &prepared, &error), FM_E_ARGUMENT);
    assert_string_equal(error.reason, "tag 16777216 of reference 3 is over 16777215");
    /* What has tags is good for an analyzer without attribution, too. */
    batch.count = 3;
    assert_int_equal(fm_analyzer_prepare(other, &batch, &prepared, NULL), FM_OK);
    assert_int_equal(fm_analyzer_feed_prepared(other, &prepared, NULL), FM_OK);
    fm_profile *profile = profile_of(other);
    assert_int_equal(profile->references, 3);
    assert_int_equal(profile->cold, 2);
    fm_profile_destroy(profile);
    assert_int_equal(fm_analyzer_set_late_sink(analyzer, 0, hear_late, NULL, NULL),
                     FM_OK); /* every reference is late */
    assert_false(fm_analyzer_can_prepare(analyzer));
    fm_prepared_free(&prepared);
    fm_prepared_free(&without);
    fm_analyzer_destroy(analyzer);
    fm_analyzer_destroy(other);
}

/* An access that would run over the end of the address space must end, and be counted. */
CASE(test_end_of_the_address_space)
{
    static const uint64_t address[] = {UINT64_MAX - 3, UINT64_MAX};
    static const uint32_t size[] = {8, UINT32_MAX};
    fm_analyzer_options options = {.granularity = UINT64_C(1) << 31};
    fm_analyzer *analyzer = analyzer_made(&options);
    fm_batch batch = {.count = 2, .address = address, .size = size};
    fm_status status = fm_analyzer_feed(analyzer, &batch, NULL);
    fm_profile *profile = profile_of(analyzer);
    if (status == FM_OK) assert_in_range(profile->references, 2, 6);
    fm_profile_destroy(profile);
    fm_analyzer_destroy(analyzer);
}

/* Addresses and block numbers of granularity 1 are the same thing. */
CASE(test_default_granularity)
{
    static const uint64_t address[] = {0, UINT64_MAX, 0, 1, UINT64_MAX};
    fm_analyzer_options options = {0};
    fm_analyzer *analyzer = analyzer_made(&options);
    fm_batch batch = {.count = 5, .address = address};
    assert_int_equal(fm_analyzer_feed(analyzer, &batch, NULL), FM_OK);
    assert_int_equal(fm_analyzer_feed_blocks(analyzer, address, 5, NULL), FM_OK);
    fm_profile *profile = profile_of(analyzer);
    assert_int_equal(profile->granularity, 1);
    assert_int_equal(profile->references, 10);
    assert_int_equal(profile->distinct, 3);
    assert_string_equal(profile->engine, "exact");
    assert_true(profile->exact);
    assert_true(profile->complete);
    fm_profile_destroy(profile);
    fm_analyzer_destroy(analyzer);
}

/* ---- what is counted ---- */

static void check_profile(const char *engine, fm_bins bins, uint64_t bound, bool times_wanted)
{
    enum { REFERENCES = 12000 };
    recipe made = recipe_make(5, 1);
    made.kind = RECIPE_PHASES;
    made.length = REFERENCES;
    made.alphabet = 5000;
    made.keys = RECIPE_KEYS_EDGES;
    uint64_t *trace = recipe_trace(&made);
    uint64_t *distances = malloc(REFERENCES * sizeof *distances), *times = malloc(REFERENCES * sizeof *times);
    assert_non_null(distances);
    assert_non_null(times);
    numbers blocks = {trace, REFERENCES, REFERENCES};
    judge(&blocks, bound, distances, times);

    fm_analyzer_options options = {
        .engine = engine, .bins = bins, .bound = bound, .time_distances = times_wanted, .seed = 9};
    fm_analyzer *analyzer = analyzer_made(&options);
    /* Snapshots on the way: each is the profile of what was fed so far, and feeding goes on. */
    static const size_t stops[] = {0, 1, 100, 5000, REFERENCES};
    for (size_t s = 0, fed = 0; s < sizeof stops / sizeof stops[0]; s++) {
        assert_int_equal(fm_analyzer_feed_blocks(analyzer, trace + fed, stops[s] - fed, NULL), FM_OK);
        fed = stops[s];
        fm_profile *profile = profile_of(analyzer);
        uint64_t cold = 0, beyond = 0;
        for (size_t i = 0; i < fed; i++) cold += distances[i] == FM_COLD, beyond += distances[i] == FM_BEYOND;
        assert_int_equal(profile->references, fed);
        assert_int_equal(profile->cold, cold);
        assert_int_equal(profile->distinct, cold);
        assert_int_equal(profile->beyond, beyond);
        assert_int_equal(profile->bound, bound);
        assert_true(profile->cold_known);
        assert_int_equal(profile->bins, bins);
        assert_string_equal(profile->engine, engine);
        check_histogram(&profile->distances, bins, distances, fed, fed - cold - beyond, bound);
        assert_int_equal(profile->has_times, times_wanted);
        if (times_wanted) check_histogram(&profile->times, bins, times, fed, fed - cold, 0);
        fm_profile_destroy(profile);
    }
    fm_analyzer_destroy(analyzer);
    free(distances);
    free(times);
    free(trace);
}

CASE(test_profiles)
{
    for (size_t e = 0; fm_engine_at(e); e++)
        for (int bins = FM_BINS_LOGLINEAR;
             bins <= FM_BINS_EXACT && fm_engine_at(e)->exact && !fm_engine_at(e)->on_card; bins++) {
            check_profile(fm_engine_at(e)->name, (fm_bins)bins, 0, true);
            check_profile(fm_engine_at(e)->name, (fm_bins)bins, 1500, bins == FM_BINS_LOG2);
        }
}

CASE(test_forgotten_first_touches)
{
    fm_seen_limit = 50;
    for (size_t e = 0; e < 2; e++) {
        fm_analyzer_options options = {.engine = fm_engine_at(e)->name, .bound = 10, .time_distances = true};
        fm_analyzer *analyzer = analyzer_made(&options);
        uint64_t blocks[100];
        for (uint64_t i = 0; i < 100; i++) blocks[i] = i;
        assert_int_equal(fm_analyzer_feed_blocks(analyzer, blocks, 100, NULL), FM_OK);
        assert_int_equal(fm_analyzer_feed_blocks(analyzer, blocks + 95, 5, NULL), FM_OK);
        fm_profile *profile = profile_of(analyzer);
        assert_false(profile->cold_known);
        assert_int_equal(profile->cold, 50);
        assert_int_equal(profile->distinct, 50);
        assert_int_equal(profile->beyond, 50);
        assert_int_equal(profile->references, 105);
        assert_int_equal(profile->distances.count, 1);
        assert_int_equal(profile->distances.bins[0].lo, 4);
        assert_int_equal(profile->distances.bins[0].count, 5);
        fm_profile_destroy(profile);
        fm_analyzer_destroy(analyzer);
    }
    fm_seen_limit = FM_SEEN_LIMIT;
}

/* ---- sinks ---- */

typedef struct failing_sink {
    uint64_t accepted;
    size_t calls_left;
} failing_sink;

static fm_status refuse_later(void *context, const uint64_t *blocks, const uint64_t *distances, size_t count,
                              fm_error *error)
{
    (void)blocks;
    (void)distances;
    failing_sink *sink = context;
    if (sink->calls_left == 0) {
        if (error) {
            memset(error, 0, sizeof *error);
            error->status = FM_E_IO;
            snprintf(error->reason, sizeof error->reason, "the sink is full");
        }
        return FM_E_IO;
    }
    sink->calls_left--;
    sink->accepted += count;
    return FM_OK;
}

CASE(test_failing_sink)
{
    static uint64_t blocks[200000];
    for (size_t i = 0; i < 200000; i++) blocks[i] = i % 777;
    for (size_t calls = 0; calls < 3; calls++) {
        fm_analyzer_options options = {0};
        fm_analyzer *analyzer = analyzer_made(&options);
        failing_sink sink = {0, calls};
        fm_error error = {0};
        assert_int_equal(fm_analyzer_set_sink(analyzer, refuse_later, &sink, NULL), FM_OK);
        fm_status status = FM_OK;
        for (int feeds = 0; feeds < 5 && !status; feeds++)
            status = fm_analyzer_feed_blocks(analyzer, blocks, 200000, &error);
        assert_int_equal(status, FM_E_IO);
        assert_string_equal(error.reason, "the sink is full");
        fm_profile *profile = profile_of(analyzer);
        assert_int_equal(profile->references, sink.accepted);
        assert_int_equal(profile->distinct, profile->cold);
        fm_profile_destroy(profile);
        fm_analyzer_destroy(analyzer);
    }
}

/* ---- arguments ---- */

static void refused(fm_analyzer_options options, const char *mentioned)
{
    fm_analyzer *analyzer = (fm_analyzer *)&options;
    fm_error error = {0};
    fm_status status = fm_analyzer_create(&analyzer, &options, &error);
    assert_true(status == FM_E_ARGUMENT || status == FM_E_UNSUPPORTED);
    assert_int_equal(error.status, status);
    if (!strstr(error.reason, mentioned)) fail_msg("'%s' does not mention '%s'", error.reason, mentioned);
    assert_int_equal(fm_analyzer_create(&analyzer, &options, NULL), status);
}

CASE(test_wrong_arguments)
{
    refused((fm_analyzer_options){.granularity = 3}, "3");
    refused((fm_analyzer_options){.granularity = UINT64_MAX}, "18446744073709551615");
    refused((fm_analyzer_options){.engine = "guess"}, "guess");
    refused((fm_analyzer_options){.isa = "abacus"}, "abacus");
    fm_analyzer_destroy(NULL);
}

/* ---- memory ---- */

/* The promise: 48 bytes per distinct block plus 64 MiB, at any moment, growth included. */
CASE(test_memory_promise)
{
    enum { CHUNK = 10000, CHUNKS = 300 };
    static uint64_t blocks[CHUNK];
    fm_analyzer_options options = {.time_distances = true};
    fm_analyzer *analyzer = analyzer_made(&options);
    uint64_t distinct = 0;
    const int chunks = getenv("FATHOM_TEST_TRACES") ? CHUNKS / 3 : CHUNKS;
    for (int chunk = 0; chunk < chunks; chunk++) {
        for (size_t i = 0; i < CHUNK; i++) blocks[i] = distinct++;
        assert_int_equal(fm_analyzer_feed_blocks(analyzer, blocks, CHUNK, NULL), FM_OK);
        assert_true(fm_analyzer_memory(analyzer) <= fm_analyzer_memory_peak(analyzer));
        assert_true(fm_analyzer_memory_peak(analyzer) <= 48 * distinct + (UINT64_C(64) << 20));
        assert_true(fm_analyzer_memory(analyzer) >= distinct * 8);
    }
    fm_analyzer_destroy(analyzer);
}

CASE(test_memory_limit)
{
    enum { CHUNK = 10000 };
    static uint64_t blocks[CHUNK];
    for (size_t e = 0; e < 2; e++) {
        fm_analyzer_options options = {.engine = fm_engine_at(e)->name, .max_memory = UINT64_C(16) << 20};
        fm_analyzer *analyzer = analyzer_made(&options);
        fm_error error = {0};
        fm_status status = FM_OK;
        uint64_t fed = 0;
        while (!status && fed < UINT64_C(16) << 20) {
            for (size_t i = 0; i < CHUNK; i++) blocks[i] = fed + i;
            status = fm_analyzer_feed_blocks(analyzer, blocks, CHUNK, &error);
            if (!status) fed += CHUNK;
        }
        assert_int_equal(status, FM_E_LIMIT);
        assert_true(error.reason[0] != '\0');
        assert_true(fm_analyzer_memory_peak(analyzer) <= options.max_memory);
        /* What was counted until then is still to be had. */
        fm_profile *profile = profile_of(analyzer);
        assert_true(profile->references >= fed);
        assert_true(profile->references <= fed + CHUNK);
        assert_int_equal(profile->cold, profile->references);
        fm_profile_destroy(profile);
        fm_analyzer_destroy(analyzer);
    }
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_static_sets.c - misses of caches with sets. The judge looks back from every reference, block by block:
 * how many others of its set were used since it was used itself? Regions are random; then conflicts that can
 * be told by hand.
 */
#include "case.h"

#include "static_samples.h"

#include <inttypes.h>

typedef struct recorded {
    uint64_t *blocks;
    size_t count, capacity;
    uint64_t granularity;
} recorded;

static fm_status record(void *context, const uint64_t *addresses, const uint32_t *sizes, const uint32_t *tags,
                        size_t count, fm_error *error)
{
    recorded *self = context;
    (void)tags, (void)error;
    for (size_t i = 0; i < count; i++)
        for (uint64_t block = addresses[i] / self->granularity;
             block <= (addresses[i] + sizes[i] - 1) / self->granularity; block++) {
            if (self->count == self->capacity) {
                self->capacity = 2 * self->capacity + 1000;
                self->blocks = realloc(self->blocks, self->capacity * sizeof *self->blocks);
                assert_non_null(self->blocks);
            }
            self->blocks[self->count++] = block;
        }
    return FM_OK;
}

static uint64_t judged_misses(const recorded *of, uint64_t sets, uint64_t ways)
{
    uint64_t misses = 0;
    for (size_t i = 0; i < of->count; i++) {
        const uint64_t own = of->blocks[i];
        uint64_t others = 0;
        size_t back = i;
        while (back > 0 && of->blocks[back - 1] != own && others < ways) {
            back--;
            bool counted = of->blocks[back] % sets != own % sets;
            for (size_t k = back + 1; k < i && !counted; k++) counted = of->blocks[k] == of->blocks[back];
            others += !counted;
        }
        misses += back == 0 || others >= ways || of->blocks[back - 1] != own;
    }
    return misses;
}

static fm_region *parse(const char *text)
{
    fm_region *region;
    fm_error error;
    if (fm_region_parse(&region, text, strlen(text), "test.fir", &error) != FM_OK)
        fail_msg("%s\n%s", error.reason, text);
    return region;
}

CASE(random_regions)
{
    static const uint64_t shapes[][2] = {{1, 4}, {2, 1}, {4, 2}, {3, 2}, {8, 1}, {5, 3}};
    static const char *const methods[] = {NULL, "walk", "sample", "reconstruct"};
    static const uint64_t granularities[] = {64, 8, 16};
    unsigned compared = 0, reconstructed = 0;
    for (uint64_t seed = 1; seed <= 240; seed++) {
        sample_text *sample = calloc(1, sizeof *sample);
        sample_region(sample, seed);
        fm_region *region = parse(sample->text);
        recorded trace = {.granularity = granularities[seed % 3]};
        if (fm_region_walk(region, trace.granularity, FM_LAYOUT_CONTIGUOUS, record, &trace, NULL) == FM_OK) {
            for (size_t m = 0; m < 4; m++) {
                const uint64_t *shape = shapes[(seed + m) % 6];
                fm_set_misses cache = {.sets = shape[0], .ways = shape[1]};
                const fm_static_options options = {
                    .granularity = trace.granularity, .method = methods[m], .samples = 1000000};
                fm_error error;
                fm_status status = fm_region_set_misses(region, &options, &cache, 1, &error);
                if (m == 3 && status == FM_E_LIMIT) continue; /* it could not be reconstructed */
                if (status != FM_OK) fail_msg("%s\n%s", error.reason, sample->text);
                const uint64_t wanted = judged_misses(&trace, shape[0], shape[1]);
                if (cache.misses != wanted || cache.references != trace.count)
                    fail_msg("%s: %" PRIu64 " misses of %" PRIu64 ", expected %" PRIu64 " of %zu; %" PRIu64
                             " sets, %" PRIu64 " ways\n%s",
                             methods[m] ? methods[m] : "-", cache.misses, cache.references, wanted,
                             trace.count, shape[0], shape[1], sample->text);
                assert_string_equal(cache.certainty, m == 3 ? "reconstructed, checked" : "exact");
                compared++;
                reconstructed += m == 3;
            }
        }
        free(trace.blocks);
        fm_region_destroy(region);
        free(sample);
    }
    print_message("%u compared, %u of them reconstructed\n", compared, reconstructed);
    assert_true(compared > 700 && reconstructed > 150);
}

/* A column of n rows, each a multiple of the cache's way apart: one set for all. */
CASE(conflicts)
{
    fm_region *region = parse("fathom-region 1\nparam n = 12\narray A[n][512] of 8\n"
                              "for t = 0 to 9 { for i = 0 to n - 1 { do { load A[i][0] } } }\n");
    fm_set_misses caches[] = {
        {.sets = 64, .ways = 8},  /* 32 KiB: 12 blocks in a set of 8: all miss */
        {.sets = 64, .ways = 12}, /* just fit */
        {.sets = 1, .ways = 12},
        {.sets = 61, .ways = 1}, /* rows are 64 blocks: 3 sets further each */
    };
    fm_error error;
    const fm_static_options options = {.granularity = 64};
    assert_int_equal(fm_region_set_misses(region, &options, caches, 4, &error), FM_OK);
    assert_int_equal(caches[0].misses, 120);
    assert_int_equal(caches[1].misses, 12);
    assert_int_equal(caches[2].misses, 12);
    assert_int_equal(caches[3].misses, 12);
    const char *name;
    uint64_t address;
    assert_int_equal(fm_region_array_at(region, 64, FM_LAYOUT_CONTIGUOUS, 0, &name, &address, &error), FM_OK);
    assert_string_equal(name, "A");
    assert_int_equal(address % 64, 0);
    assert_int_equal(fm_region_array_at(region, 64, FM_LAYOUT_CONTIGUOUS, 1, &name, &address, &error),
                     FM_E_ARGUMENT);
    fm_region_destroy(region);
}

/* So large that it cannot be walked: two arrays whose blocks meet in a direct-mapped cache, or do not. */
CASE(large_regions)
{
    char text[400];
    for (int apart = 0; apart < 2; apart++) {
        snprintf(text, sizeof text,
                 "fathom-region 1\nparam n = 4096\narray A[n + %d] of 8\narray B[n] of 8\n"
                 "for t = 0 to 99999 { for i = 0 to n - 1 { do { load A[i] load B[i] } } }\n",
                 8 * apart);
        fm_region *region = parse(text);
        fm_set_misses cache = {.sets = 512, .ways = 1}; /* 32 KiB, as large as an array */
        fm_error error;
        const fm_static_options options = {.granularity = 64, .limit_seconds = 300};
        assert_int_equal(fm_region_set_misses(region, &options, &cache, 1, &error), FM_OK);
        const uint64_t rounds = 100000, all = rounds * 8192;
        assert_int_equal(cache.references, all);
        assert_string_equal(cache.certainty, "reconstructed, checked");
        /* Both in one set: every access finds the other's block. One set apart: once for each block. */
        assert_int_equal(cache.misses, apart ? rounds * 1024 : all);
        assert_true(cache.least <= cache.misses && cache.misses <= cache.most);
        const fm_static_options drawn = {.granularity = 64, .method = "sample", .samples = 2000};
        assert_int_equal(fm_region_set_misses(region, &drawn, &cache, 1, &error), FM_OK);
        assert_string_equal(cache.certainty, "sampled");
        const uint64_t truth = apart ? rounds * 1024 : all;
        if (cache.least > truth || truth > cache.most)
            fail_msg("%d: %" PRIu64 " misses between %" PRIu64 " and %" PRIu64 ", of %" PRIu64, apart,
                     cache.misses, cache.least, cache.most, truth);
        fm_region_destroy(region);
    }
}

CASE(wrong_caches)
{
    fm_region *region = parse("fathom-region 1\narray A[9] of 8\nfor i = 0 to 8 { do { load A[i] } }\n");
    fm_error error;
    const fm_static_options options = {.granularity = 64}, odd = {.granularity = 48},
                            proved = {.method = "count"}, walk = {.method = "walk"};
    fm_set_misses cache = {.sets = 0, .ways = 1};
    assert_int_equal(fm_region_set_misses(region, &options, &cache, 1, &error), FM_E_ARGUMENT);
    cache = (fm_set_misses){.sets = 1};
    assert_int_equal(fm_region_set_misses(region, &options, &cache, 1, &error), FM_E_ARGUMENT);
    cache = (fm_set_misses){.sets = 1, .ways = 1, .line = 32};
    assert_int_equal(fm_region_set_misses(region, &options, &cache, 1, &error), FM_E_ARGUMENT);
    cache = (fm_set_misses){.sets = 4, .ways = 1};
    assert_int_equal(fm_region_set_misses(region, &odd, &cache, 1, &error), FM_E_ARGUMENT);
    assert_int_equal(fm_region_set_misses(region, &proved, &cache, 1, &error), FM_E_UNSUPPORTED);
    cache = (fm_set_misses){.sets = UINT32_MAX, .ways = UINT64_MAX};
    assert_int_equal(fm_region_set_misses(region, &walk, &cache, 1, &error), FM_E_LIMIT);
    assert_int_equal(fm_region_set_misses(region, &options, &cache, 1, &error),
                     FM_OK); /* worked out otherwise */
    assert_int_equal(cache.misses, 2);
    fm_region_destroy(region);
}

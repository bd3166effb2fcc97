/* SPDX-License-Identifier: Apache-2.0 */
/* test_site_index.c - code addresses to tags in order of appearance, and from tags to modules. The judge is a
 * search through all that was seen before. */
#include "case.h"

#include "trace/supply.h"
#include "unit/trace_helpers.h"

#include <fathom/attribution.h>
#include <pthread.h>

CASE(order_of_appearance)
{
    enum { COUNT = 20000, DIFFERENT = 700 };
    static uint64_t sites[COUNT], known[DIFFERENT];
    static uint32_t tags[COUNT];
    uint64_t seed = 1;
    for (size_t i = 0; i < COUNT; i++) {
        uint64_t r = random_from(&seed) % DIFFERENT;
        /* Extremes, neighbours, and addresses that fall on the same places of a small cache. */
        sites[i] = r == 0   ? 0
                   : r == 1 ? UINT64_MAX
                   : r < 99 ? r
                            : UINT64_C(0x7f0000000000) + (r % 3 == 0 ? r << 22 : r);
    }
    fm_site_index *index;
    assert_int_equal(fm_site_index_create(&index, NULL), FM_OK);
    for (size_t at = 0, piece = 1; at < COUNT; at += piece, piece = piece * 2 % 997 + 1)
        assert_int_equal(
            fm_site_index_tags(index, sites + at, piece < COUNT - at ? piece : COUNT - at, tags + at, NULL),
            FM_OK);
    size_t found = 0;
    for (size_t i = 0; i < COUNT; i++) {
        size_t k = 0;
        while (k < found && known[k] != sites[i]) k++;
        if (k == found) known[found++] = sites[i];
        assert_int_equal(tags[i], k + 1);
    }
    fm_site_index_destroy(index);
    fm_site_index_destroy(NULL);
}

/* As many as there are tags, and one more. */
CASE(too_many)
{
    enum { PIECE = 65536 };
    if (test_stride() > 1) {
        print_message(
            "SKIP: sixteen million sites take long under a sanitizer; the release build runs this\n");
        skip();
    }
    static uint64_t sites[PIECE];
    static uint32_t tags[PIECE];
    fm_site_index *index;
    assert_int_equal(fm_site_index_create(&index, NULL), FM_OK);
    for (uint64_t from = 0; from < (uint64_t)FM_TAG_MAX + 1 + PIECE; from += PIECE) {
        for (size_t i = 0; i < PIECE; i++) sites[i] = (from + i) * 16;
        assert_int_equal(fm_site_index_tags(index, sites, PIECE, tags, NULL), FM_OK);
        for (size_t i = 0; i < PIECE; i += 255) {
            uint64_t expected = from + i + 1;
            assert_int_equal(tags[i], expected <= FM_TAG_MAX ? expected : 0);
        }
    }
    assert_int_equal(tags[PIECE - 1], 0);
    sites[0] = 16; /* those that were there are there */
    sites[1] = ((uint64_t)FM_TAG_MAX - 1) * 16;
    assert_int_equal(fm_site_index_tags(index, sites, 2, tags, NULL), FM_OK);
    assert_int_equal(tags[0], 2);
    assert_int_equal(tags[1], FM_TAG_MAX);
    fm_site_index_destroy(index);
}

/* ---- by several threads ---- */

enum { SHARED = 30000, STRETCH = 700, WORKERS = 4 };

typedef struct shared_trace {
    uint64_t sites[SHARED];
    uint32_t tags[SHARED];
    fm_site_share *share;
    size_t next; /* stretch; atomic */
} shared_trace;

typedef struct shared_worker {
    shared_trace *trace;
    unsigned number;
} shared_worker;

static void *tag_stretches(void *context)
{
    const shared_worker *self = context;
    shared_trace *trace = self->trace;
    for (size_t at; (at = __atomic_fetch_add(&trace->next, STRETCH, __ATOMIC_RELAXED)) < SHARED;) {
        const size_t count = SHARED - at < STRETCH ? SHARED - at : STRETCH;
        assert_int_equal(fm_site_share_tags(trace->share, self->number, trace->sites + at, count, at,
                                            trace->tags + at, NULL),
                         FM_OK);
    }
    return NULL;
}

static void run_workers(shared_trace *trace)
{
    pthread_t thread[WORKERS];
    shared_worker workers[WORKERS];
    trace->next = 0;
    for (unsigned i = 0; i < WORKERS; i++) {
        workers[i] = (shared_worker){trace, i};
        assert_int_equal(pthread_create(&thread[i], NULL, tag_stretches, &workers[i]), 0);
    }
    for (unsigned i = 0; i < WORKERS; i++) pthread_join(thread[i], NULL);
}

/* The second time after some that the index knows already. Not settled, it is as it was. */
CASE(shared)
{
    static shared_trace trace;
    static uint32_t wanted[SHARED];
    const uint64_t known[] = {7, 1U << 20, 9};
    uint32_t tags[3];
    for (unsigned round = 0; round < 20; round++) {
        fm_site_index *index, *judge;
        uint64_t seed = round + 1;
        /* New ones to the end, and many at the beginning. */
        for (size_t i = 0; i < SHARED; i++) trace.sites[i] = random_from(&seed) % (1 + i / (1 + round % 4));
        assert_int_equal(fm_site_index_create(&index, NULL), FM_OK);
        assert_int_equal(fm_site_index_create(&judge, NULL), FM_OK);
        const size_t before = round % 2 ? 3 : 0;
        assert_int_equal(fm_site_index_tags(index, known, before, tags, NULL), FM_OK);
        assert_int_equal(fm_site_index_tags(judge, known, before, tags, NULL), FM_OK);
        for (unsigned time = 0; time < 2; time++) {
            assert_int_equal(fm_site_share_create(&trace.share, index, WORKERS, NULL), FM_OK);
            run_workers(&trace);
            if (time == 0) fm_site_share_destroy(trace.share);
            if (time == 0) assert_int_equal(fm_site_index_count(index), before);
        }
        uint32_t *map;
        size_t map_count;
        assert_int_equal(fm_site_share_settle(trace.share, &map, &map_count, NULL), FM_OK);
        fm_site_share_destroy(trace.share);
        assert_int_equal(fm_site_index_tags(judge, trace.sites, SHARED, wanted, NULL), FM_OK);
        assert_int_equal(map_count, fm_site_index_count(judge) + 1);
        for (size_t i = 0; i < SHARED; i++) {
            assert_true(trace.tags[i] > 0 && trace.tags[i] < map_count);
            assert_int_equal(map ? map[trace.tags[i]] : trace.tags[i], wanted[i]);
        }
        assert_int_equal(fm_site_index_tags(index, trace.sites, SHARED, trace.tags, NULL), FM_OK);
        assert_memory_equal(trace.tags, wanted, sizeof wanted);
        free(map);
        fm_site_index_destroy(index);
        fm_site_index_destroy(judge);
    }
}

CASE(described)
{
    const fm_trace_module modules[] = {
        {"/bin/program", "abcd", 0x1000, 0x2000, 0},
        {"/lib/large.so", NULL, 0x10000, 0x20000, 0xf000},
        {"/lib/inside.so", NULL, 0x18000, 0x18100, 0x18000}, /* took the place of a piece */
        {"/lib/inside-too.so", NULL, 0x19000, 0x19100, 0x19000},
        {"/lib/top.so", "ff", UINT64_MAX - 15, UINT64_MAX, UINT64_MAX - 15},
        {"/lib/empty.so", NULL, 0x2000, 0x2000, 0},
    };
    static const struct {
        uint64_t site;
        uint32_t module;
        uint64_t address;
    } expected[] = {
        {0x1000, 0, 0x1000},
        {0x1fff, 0, 0x1fff},
        {0xfff, FM_NONE, 0xfff},
        {0x2000, FM_NONE, 0x2000},
        {0x10000, 1, 0x1000},
        {0x17fff, 1, 0x8fff},
        {0x18000, 2, 0},
        {0x180ff, 2, 0xff},
        {0x18100, 1, 0x9100},
        {0x19050, 3, 0x50},
        {0x19100, 1, 0xa100},
        {0x1ffff, 1, 0x10fff},
        {0x20000, FM_NONE, 0x20000},
        {0, FM_NONE, 0},
        {UINT64_MAX, FM_NONE, UINT64_MAX},
        {UINT64_MAX - 1, 4, 14},
    };
    enum { COUNT = sizeof expected / sizeof expected[0] };
    uint64_t sites[COUNT];
    uint32_t tags[COUNT];
    for (size_t i = 0; i < COUNT; i++) sites[i] = expected[i].site;
    fm_site_index *index;
    fm_attribution *attribution;
    const uint32_t *map;
    size_t map_count;
    assert_int_equal(fm_site_index_create(&index, NULL), FM_OK);
    assert_int_equal(fm_site_index_tags(index, sites, COUNT, tags, NULL), FM_OK);
    assert_int_equal(fm_attribution_create(&attribution, NULL), FM_OK);
    /* Twice: the second time behind what is there. */
    for (size_t time = 0; time < 2; time++) {
        assert_int_equal(fm_site_index_describe(index, modules, 6, attribution, &map, &map_count, NULL),
                         FM_OK);
        assert_int_equal(map_count, COUNT + 1);
        assert_int_equal(map[0], FM_NONE);
        assert_int_equal(attribution->module_count, 6 * (time + 1));
        assert_int_equal(attribution->site_count, COUNT * (time + 1));
        for (size_t t = 0; t < COUNT; t++) {
            assert_int_equal(map[tags[t]], COUNT * time + t);
            const fm_site *site = &attribution->sites[map[tags[t]]];
            assert_int_equal(site->module,
                             expected[t].module == FM_NONE ? FM_NONE : expected[t].module + 6 * time);
            assert_int_equal(site->address, expected[t].address);
            assert_int_equal(site->path, FM_NONE);
            assert_int_equal(site->frame_count, 0);
        }
    }
    assert_string_equal(attribution->modules[7].path, "/lib/large.so");
    assert_int_equal(attribution->modules[7].bias, 0xf000);
    assert_null(attribution->modules[7].build_id);
    assert_string_equal(attribution->modules[0].build_id, "abcd");
    assert_int_equal(attribution->sites[0].module, 0); /* the first time's are as they were */
    fm_attribution_destroy(attribution);
    /* Nothing was told of modules: addresses as they are. */
    assert_int_equal(fm_attribution_create(&attribution, NULL), FM_OK);
    assert_int_equal(fm_site_index_describe(index, NULL, 0, attribution, &map, &map_count, NULL), FM_OK);
    assert_int_equal(attribution->site_count, COUNT);
    assert_int_equal(attribution->sites[4].module, FM_NONE);
    assert_int_equal(attribution->sites[4].address, 0x10000);
    fm_attribution_destroy(attribution);
    fm_site_index_destroy(index);
}

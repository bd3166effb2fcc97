/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_preparers.c - several threads that prepare and digest what another one feeds: the profile, the pairs
 * of sites and the late references are those of one thread.
 */
#include "case.h"

#include "analyzer/analyzer_state.h"

#include "oracle/counting_run.h"

#include <fathom/experimental.h>

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

enum { ACCESSES = 160000, BATCH = 8192, BATCHES = (ACCESSES + BATCH - 1) / BATCH, THREADS = 3, TAGS = 3000 };

static uint64_t address[ACCESSES];
static uint32_t size[ACCESSES], tag[ACCESSES];

/* Most references are near the last ones, some repeat, some reach into the next block. */
static int make_accesses(void **state)
{
    (void)state;
    recipe_random random = {1};
    for (size_t i = 0; i < ACCESSES; i++) {
        address[i] = recipe_below(&random, recipe_chance(&random, 5) ? 4000000 : 20000);
        if (i > 0 && recipe_chance(&random, 3)) address[i] = address[i - 1];
        size[i] = 1 + (uint32_t)recipe_below(&random, 8);
        tag[i] = 1 + (uint32_t)recipe_below(&random, TAGS);
    }
    return 0;
}

static fm_batch batch_at(size_t number, bool tagged)
{
    const size_t from = number * BATCH, count = ACCESSES - from < BATCH ? ACCESSES - from : BATCH;
    return (fm_batch){
        .count = count, .address = address + from, .size = size + from, .tag = tagged ? tag + from : NULL};
}

/* ---- late references: how many there were of each access ---- */

typedef struct late_counts {
    size_t from; /* of the batch that is fed */
    uint8_t *count;
} late_counts;

static fm_status count_late(void *context, const fm_late *late, size_t count, fm_error *error)
{
    (void)error;
    const late_counts *counts = context;
    for (size_t i = 0; i < count; i++) counts->count[counts->from + late[i].index]++;
    return FM_OK;
}

/* ---- preparing ---- */

typedef struct work {
    fm_analyzer *analyzer;
    bool tagged;
    atomic_size_t claimed;
    struct {
        fm_prepared prepared;
        fm_status status;
        atomic_bool ready;
    } batches[BATCHES];
} work;

typedef struct preparer {
    work *all;
    pthread_t thread;
    unsigned number;
} preparer;

static void *prepare(void *context)
{
    const preparer *self = context;
    work *all = self->all;
    for (size_t i; (i = all->claimed++) < BATCHES;) {
        fm_prepared *prepared = &all->batches[i].prepared;
        const fm_batch batch = batch_at(i, all->tagged);
        prepared->preparer = self->number;
        all->batches[i].status = fm_analyzer_prepare(all->analyzer, &batch, prepared, NULL);
        if (all->batches[i].status == FM_OK && i % 5 != 0 && fm_analyzer_can_digest(all->analyzer))
            all->batches[i].status = fm_analyzer_digest(all->analyzer, prepared, NULL);
        all->batches[i].ready = true;
    }
    return NULL;
}

static void feed_prepared(work *all, late_counts *late)
{
    preparer preparers[THREADS];
    for (unsigned i = 0; i < THREADS; i++) {
        preparers[i] = (preparer){.all = all, .number = i == 0 ? FM_PREPARERS - 1 : i};
        assert_int_equal(pthread_create(&preparers[i].thread, NULL, prepare, &preparers[i]), 0);
    }
    for (size_t i = 0; i < BATCHES; i++) {
        while (!all->batches[i].ready) sched_yield();
        assert_int_equal(all->batches[i].status, FM_OK);
        late->from = i * BATCH;
        assert_int_equal(fm_analyzer_feed_prepared(all->analyzer, &all->batches[i].prepared, NULL), FM_OK);
        fm_prepared_free(&all->batches[i].prepared);
    }
    for (unsigned i = 0; i < THREADS; i++) pthread_join(preparers[i].thread, NULL);
}

/* ---- comparing ---- */

static void compare_profiles(fm_analyzer *one, fm_analyzer *other)
{
    fm_profile *wanted, *found;
    assert_int_equal(fm_analyzer_profile(one, &wanted, NULL), FM_OK);
    assert_int_equal(fm_analyzer_profile(other, &found, NULL), FM_OK);
    assert_same_counts(wanted, found);
    fm_profile_destroy(wanted);
    fm_profile_destroy(found);
}

static void compare_pairs(fm_analyzer *one, fm_analyzer *other)
{
    fm_raw_pair *wanted, *found;
    size_t wanted_count, found_count;
    assert_int_equal(fm_analyzer_pairs(one, &wanted, &wanted_count, NULL), FM_OK);
    assert_int_equal(fm_analyzer_pairs(other, &found, &found_count, NULL), FM_OK);
    assert_true(wanted_count > 100000); /* so many that preparers pour theirs together */
    assert_int_equal(found_count, wanted_count);
    assert_memory_equal(found, wanted, wanted_count * sizeof *wanted);
    free(wanted);
    free(found);
}

static void check(const fm_analyzer_options *options)
{
    static const uint64_t edges[] = {0, 1, 4, 32, 300, 2000};
    static work all;
    static uint8_t late[2][ACCESSES];
    fm_analyzer_options wishes = *options;
    const bool tagged = wishes.edge_count > 0;
    wishes.granularity = 64;
    if (tagged) wishes.edges = edges;
    memset(late, 0, sizeof late);
    memset(&all, 0, sizeof all);
    late_counts counts[2] = {{.count = late[0]}, {.count = late[1]}};
    fm_analyzer *fed;
    all.tagged = tagged;
    assert_int_equal(fm_analyzer_create(&fed, &wishes, NULL), FM_OK);
    assert_int_equal(fm_analyzer_create(&all.analyzer, &wishes, NULL), FM_OK);
    if (tagged) {
        assert_int_equal(fm_analyzer_set_late_sink(fed, 4, count_late, &counts[0], NULL), FM_OK);
        assert_int_equal(fm_analyzer_set_late_sink(all.analyzer, 4, count_late, &counts[1], NULL), FM_OK);
    }
    for (size_t i = 0; i < BATCHES; i++) {
        const fm_batch batch = batch_at(i, tagged);
        counts[0].from = i * BATCH;
        assert_int_equal(fm_analyzer_feed(fed, &batch, NULL), FM_OK);
    }
    feed_prepared(&all, &counts[1]);
    compare_profiles(fed, all.analyzer);
    if (tagged) compare_pairs(fed, all.analyzer);
    assert_memory_equal(late[1], late[0], sizeof late[0]);
    fm_analyzer_destroy(fed);
    fm_analyzer_destroy(all.analyzer);
}

CASE(test_distances)
{
    check(&(fm_analyzer_options){0});
    check(&(fm_analyzer_options){.bound = 500}); /* which cannot be digested */
}

CASE(test_sites)
{
    check(&(fm_analyzer_options){.edge_count = 6});
}

/* The batch is fed as it is; prepared; or digested too. */
typedef enum how { AS_IT_IS, PREPARED, DIGESTED } how;

static void feed_by(fm_analyzer *analyzer, const fm_batch *batch, how by)
{
    fm_prepared prepared = {0};
    if (by == AS_IT_IS) {
        assert_int_equal(fm_analyzer_feed(analyzer, batch, NULL), FM_OK);
        return;
    }
    assert_int_equal(fm_analyzer_prepare(analyzer, batch, &prepared, NULL), FM_OK);
    if (by == DIGESTED) assert_int_equal(fm_analyzer_digest(analyzer, &prepared, NULL), FM_OK);
    assert_int_equal(fm_analyzer_feed_prepared(analyzer, &prepared, NULL), FM_OK);
    fm_prepared_free(&prepared);
}

/* Time and again around so many blocks: all distances are the same, but those of first touches. */
static void check_circle(const fm_analyzer_options *options, size_t circle, const size_t *counts,
                         const how *ways, size_t batches)
{
    fm_analyzer *analyzer;
    fm_profile *profile;
    size_t all = 0;
    assert_int_equal(fm_analyzer_create(&analyzer, options, NULL), FM_OK);
    for (size_t b = 0; b < batches; b++) {
        const fm_batch batch = {.count = counts[b], .address = address, .tag = tag};
        for (size_t i = 0; i < counts[b]; i++, all++) {
            address[i] = all % circle;
            tag[i] = 1;
        }
        feed_by(analyzer, &batch, ways[b]);
    }
    assert_int_equal(fm_analyzer_profile(analyzer, &profile, NULL), FM_OK);
    assert_int_equal(profile->references, all);
    assert_int_equal(profile->cold, circle);
    assert_int_equal(profile->distances.count, 1);
    assert_int_equal(profile->distances.bins[0].count, all - circle);
    assert_in_range(circle - 1, profile->distances.bins[0].lo, profile->distances.bins[0].hi);
    fm_profile_destroy(profile);
    fm_analyzer_destroy(analyzer);
}

CASE(test_ways_in_turn)
{
    static const uint64_t edges[] = {0, 1};
    const fm_analyzer_options plain = {0}, sites = {.edges = edges, .edge_count = 2};
    /* What was fed before waits to be counted: it comes first all the same, also where blocks are so many
     * that nothing is digested. */
    static const how turns[] = {DIGESTED, AS_IT_IS, DIGESTED, AS_IT_IS, PREPARED, AS_IT_IS, DIGESTED};
    static const size_t counts[] = {50000, 100, 60000, 4096 + 17, 9000, 33, 70000};
    check_circle(&plain, 80000, counts, turns, 7);
    check_circle(&sites, 80000, counts, turns, 7);
    check_circle(&sites, 900, counts, turns, 7);
}

/* Parts are of one size, also where that leaves a rest: 65535 blocks are 15 of 4096 and one of 4095. Around
 * 1000 blocks, with 7 new ones before the last 7. */
CASE(test_uneven_parts)
{
    enum { COUNT = 65535, CIRCLE = 1000, LAST = 7 };
    const fm_batch batch = {.count = COUNT, .address = address};
    fm_analyzer *analyzer;
    fm_profile *profile;
    for (size_t i = 0; i < COUNT; i++)
        address[i] = i < COUNT - 2 * LAST ? i % CIRCLE : i < COUNT - LAST ? CIRCLE + i : (i - LAST) % CIRCLE;
    assert_int_equal(fm_analyzer_create(&analyzer, &(fm_analyzer_options){0}, NULL), FM_OK);
    feed_by(analyzer, &batch, DIGESTED);
    assert_int_equal(fm_analyzer_profile(analyzer, &profile, NULL), FM_OK);
    assert_int_equal(profile->cold, CIRCLE + LAST);
    assert_int_equal(profile->distances.count, 2);
    assert_int_equal(profile->distances.bins[0].lo, CIRCLE - 1);
    assert_int_equal(profile->distances.bins[1].lo, CIRCLE - 1 + LAST);
    assert_int_equal(profile->distances.bins[1].count, LAST);
    fm_profile_destroy(profile);
    fm_analyzer_destroy(analyzer);
}

CASE(test_too_many)
{
    fm_analyzer *analyzer;
    fm_error error;
    static const uint64_t edges[] = {0, 1};
    const fm_analyzer_options options = {.granularity = 64, .edges = edges, .edge_count = 2};
    const fm_batch batch = batch_at(0, true);
    fm_prepared prepared = {.preparer = FM_PREPARERS};
    assert_int_equal(fm_analyzer_create(&analyzer, &options, NULL), FM_OK);
    assert_int_equal(fm_analyzer_prepare(analyzer, &batch, &prepared, &error), FM_E_ARGUMENT);
    assert_string_equal(error.reason, "a preparer has the number 1024, over 1023");
    fm_prepared_free(&prepared);
    fm_analyzer_destroy(analyzer);
}

CASES_WITH(make_accesses, NULL);

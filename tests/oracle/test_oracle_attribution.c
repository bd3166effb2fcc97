/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_oracle_attribution.c - pairs of tags as every engine and instruction set counts them, against the
 * naive answer (attribution_case.h): on generated traces of every shape, fed in odd pieces, with and
 * without bounds, sinks, sizes that straddle blocks; across restarts, growth and limits of memory.
 *
 *     FATHOM_TEST_SEED, FATHOM_TEST_TRACES, FATHOM_TEST_ONLY: as in test_oracle_engines.c
 */
#include "case.h"

#include "analyzer/analyzer_state.h"

#include "oracle/attribution_case.h"

enum { TRACES = 1000, TRACES_PER_LONG_ONE = 1000, LONG = 100000 };

/* ---- one way to count a case ---- */

typedef struct how {
    const char *engine, *isa;
    bool late, distances, times, snapshots, prepared;
} how;

typedef struct late_state {
    const tagged_case *wanted;
    size_t base;          /* accesses fed before this batch */
    size_t batch;         /* accesses of this batch */
    size_t calls;         /* for this batch */
    unsigned char *found; /* for each reference of the case: how often it was told */
    const char *wrong;
} late_state;

/* A late reference names its access: any of the access's references with this tag and range may be meant. */
static fm_status take_late(void *context, const fm_late *late, size_t count, fm_error *error)
{
    (void)error;
    late_state *state = context;
    const tagged_case *wanted = state->wanted;
    if (count == 0) state->wrong = "late: called with nothing";
    state->calls++;
    for (size_t i = 0; i < count && !state->wrong; i++) {
        if (late[i].index >= state->batch) {
            state->wrong = "late: no such reference in the batch";
            break;
        }
        size_t access = state->base + late[i].index, low = 0, high = wanted->references;
        while (low < high) { /* the first reference of the access */
            size_t middle = (low + high) / 2;
            if (wanted->access[middle] < access)
                low = middle + 1;
            else
                high = middle;
        }
        while (low < wanted->references && wanted->access[low] == access &&
               (wanted->range[low] != late[i].range || state->found[low]))
            low++;
        if (low == wanted->references || wanted->access[low] != access)
            state->wrong = "late: one that is not, or not of that range, or told twice";
        else if (wanted->block_tag[low] != late[i].tag)
            state->wrong = "late: a wrong tag";
        else
            state->found[low] = 1;
    }
    return FM_OK;
}

typedef struct distance_state {
    const tagged_case *wanted;
    size_t count;
    const char *wrong;
} distance_state;

static fm_status take_distances(void *context, const uint64_t *blocks, const uint64_t *distances,
                                size_t count, fm_error *error)
{
    (void)blocks;
    (void)error;
    distance_state *state = context;
    if (state->count + count > state->wanted->references ||
        memcmp(distances, state->wanted->distance + state->count, count * sizeof *distances) != 0)
        state->wrong = "a wrong distance";
    state->count += count;
    return FM_OK;
}

/* Pairs and profile after `fed` references. */
static const char *check_state(fm_analyzer *analyzer, const tagged_case *wanted, size_t fed)
{
    const char *wrong = tagged_case_pairs_agree(analyzer, wanted, fed);
    fm_profile *profile;
    uint64_t cold = 0, beyond = 0;
    if (wrong) return wrong;
    if (fm_analyzer_profile(analyzer, &profile, NULL)) return "fm_analyzer_profile failed";
    for (size_t i = 0; i < fed; i++) {
        cold += wanted->range[i] == FM_RANGE_COLD;
        beyond += wanted->range[i] == FM_RANGE_BEYOND;
    }
    if (profile->references != fed) wrong = "pairs and profile do not add up";
    if (cold != profile->cold || beyond != profile->beyond) wrong = "cold or beyond of pairs and profile";
    fm_profile_destroy(profile);
    return wrong;
}

static size_t references_until(const tagged_case *wanted, size_t access, size_t from)
{
    while (from < wanted->references && wanted->access[from] < access) from++;
    return from;
}

static const char *check_late(const late_state *state, const tagged_case *wanted, size_t from, size_t to)
{
    for (size_t i = from; i < to; i++) {
        bool late = wanted->range[i] >= FM_RANGE_COLD || wanted->range[i] >= wanted->late_from;
        if (late != state->found[i]) return late ? "late: one is missing" : "late: one too many";
    }
    return NULL;
}

/* A batch goes as it is, or in steps of which another thread may do the first ones. */
static fm_status feed_batch(fm_analyzer *analyzer, const fm_batch *batch, bool prepare, bool digest,
                            fm_prepared *prepared)
{
    if (!prepare || !fm_analyzer_can_prepare(analyzer)) return fm_analyzer_feed(analyzer, batch, NULL);
    fm_status status = fm_analyzer_prepare(analyzer, batch, prepared, NULL);
    if (status == FM_E_LIMIT) return fm_analyzer_feed(analyzer, batch, NULL);
    if (status == FM_OK && digest && fm_analyzer_can_digest(analyzer))
        status = fm_analyzer_digest(analyzer, prepared, NULL);
    return status == FM_OK ? fm_analyzer_feed_prepared(analyzer, prepared, NULL) : status;
}

static const char *count_case(const tagged_case *wanted, const how *way)
{
    fm_analyzer_options options = {.engine = way->engine,
                                   .isa = way->isa,
                                   .granularity = wanted->granularity,
                                   .bound = wanted->made.bound,
                                   .seed = wanted->made.engine_seed,
                                   .time_distances = way->times,
                                   .bins = (fm_bins)(wanted->made.index % 3),
                                   .edges = wanted->edges,
                                   .edge_count = wanted->edge_count};
    fm_analyzer *analyzer;
    if (fm_analyzer_create(&analyzer, &options, NULL)) return "the analyzer was not created";
    late_state late = {.wanted = wanted, .found = case_array(wanted->references, 1)};
    distance_state distances = {.wanted = wanted};
    if (way->late)
        assert_int_equal(fm_analyzer_set_late_sink(analyzer, wanted->late_from, take_late, &late, NULL),
                         FM_OK);
    if (way->distances)
        assert_int_equal(fm_analyzer_set_sink(analyzer, take_distances, &distances, NULL), FM_OK);
    recipe_random random = {wanted->made.seed ^ 99};
    fm_prepared prepared = {0};
    const char *wrong = NULL;
    size_t fed = 0;
    for (size_t i = 0; i < wanted->accesses && !wrong;) {
        size_t count = 1 + recipe_below(&random, wanted->made.chunk_most);
        if (count > wanted->accesses - i) count = wanted->accesses - i;
        if (count > 65536) count = 65536;
        fm_batch batch = {.count = count,
                          .address = wanted->address + i,
                          .size = wanted->size ? wanted->size + i : NULL,
                          .tag = wanted->tag + i};
        late.base = i;
        late.batch = count;
        late.calls = 0;
        const bool prepare = way->prepared && !recipe_chance(&random, 8);
        if (feed_batch(analyzer, &batch, prepare, !recipe_chance(&random, 3), &prepared))
            wrong = "feeding failed";
        if (late.calls > 1) wrong = "late: more than one call for a batch";
        if (late.wrong) wrong = late.wrong;
        i += count;
        size_t now = references_until(wanted, i, fed);
        if (!wrong && way->late) wrong = check_late(&late, wanted, fed, now);
        if (!wrong && distances.wrong) wrong = distances.wrong;
        fed = now;
        if (!wrong && way->snapshots && recipe_chance(&random, 40))
            wrong = check_state(analyzer, wanted, fed);
    }
    if (!wrong) wrong = check_state(analyzer, wanted, wanted->references);
    if (!wrong && fm_analyzer_memory(analyzer) > fm_analyzer_memory_peak(analyzer))
        wrong = "memory is over its own peak";
    if (!wrong && way->distances && distances.count != wanted->references) wrong = "not every distance came";
    fm_analyzer_destroy(analyzer);
    fm_prepared_free(&prepared);
    free(late.found);
    return wrong;
}

/* ---- generated traces ---- */

static bool check_ways(const tagged_case *wanted)
{
    recipe_random random = {wanted->made.seed ^ 1234};
    for (size_t e = 0; fm_engine_at(e); e++) {
        const char *engine = fm_engine_at(e)->name;
        if (!fm_engine_at(e)->exact || fm_engine_at(e)->no_sites) continue;
        const bool exact = strcmp(engine, "exact") == 0, list = strcmp(engine, "list") == 0;
        /* The oracle never forgets a block, and takes its time. */
        if (list && (wanted->made.length > LONG || wanted->forgetful)) continue;
        for (size_t i = 0; exact ? fm_isa_at(i) != NULL : i == 0; i++) {
            how way = {.engine = engine, .isa = exact ? fm_isa_at(i) : NULL};
            way.late = recipe_chance(&random, 2);
            way.distances = recipe_chance(&random, 6);
            way.times = recipe_chance(&random, 8);
            way.snapshots = wanted->made.length < LONG && recipe_chance(&random, 3);
            way.prepared = recipe_chance(&random, 2);
            const char *wrong = count_case(wanted, &way);
            if (!wrong) continue;
            fprintf(stderr,
                    "%s %s (late %d from %" PRIu32 ", distances %d, times %d, prepared %d, %zu edges): %s\n",
                    engine, way.isa ? way.isa : "", way.late, wanted->late_from, way.distances, way.times,
                    way.prepared, wanted->edge_count, wrong);
            recipe_print(&wanted->made);
            return false;
        }
    }
    return true;
}

static bool check_recipe(const recipe *from)
{
    tagged_case wanted;
    fm_seen_limit = from->seen_limit;
    const char *wrong = tagged_case_make(&wanted, *from, from->index % 3 == 0);
    if (wrong) fprintf(stderr, "the judge: %s\n", wrong);
    bool good = !wrong && check_ways(&wanted);
    tagged_case_free(&wanted);
    fm_seen_limit = FM_SEEN_LIMIT;
    return good;
}

/* Long ones: windows that are full and restart, tables that grow. Tags must stay with their blocks. */
RECIPE_CASES(test, check_recipe, 20240602, TRACES, TRACES_PER_LONG_ONE)

/*
 * Hundreds of thousands of live blocks, so that the table grows and the window has more levels, where the
 * list engine would take hours: a cyclic sweep has distances and uses in closed form.
 */
CASE(test_many_live_blocks)
{
    if (getenv("FATHOM_TEST_ONLY")) return;
    const uint64_t sweeps = few_rounds(8);
    enum { BLOCKS = 300000, TAGS = 1000, BATCH = 50000 };
    static const uint64_t edges[] = {0, 1, 1024, BLOCKS - 1, BLOCKS};
    static uint64_t address[BATCH];
    static uint32_t tag[BATCH];
    for (size_t k = 0; fm_isa_at(k); k++)
        for (int bounded = 0; bounded < 2; bounded++) {
            fm_analyzer_options options = {
                .isa = fm_isa_at(k), .edges = edges, .edge_count = 5, .seed = 3, .bound = bounded ? 1000 : 0};
            fm_analyzer *analyzer;
            assert_int_equal(fm_analyzer_create(&analyzer, &options, NULL), FM_OK);
            for (uint64_t i = 0; i < BLOCKS * sweeps; i += BATCH) {
                for (uint64_t j = 0; j < BATCH; j++) {
                    address[j] = (i + j) % BLOCKS;
                    tag[j] = (uint32_t)(1 + (i + j) / BLOCKS * TAGS + address[j] % TAGS);
                }
                fm_batch batch = {.count = BATCH, .address = address, .tag = tag};
                assert_int_equal(fm_analyzer_feed(analyzer, &batch, NULL), FM_OK);
            }
            fm_raw_pair *pairs;
            size_t count;
            assert_int_equal(fm_analyzer_pairs(analyzer, &pairs, &count, NULL), FM_OK);
            assert_int_equal(count, sweeps * TAGS);
            for (size_t i = 0; i < count; i++) {
                assert_int_equal(pairs[i].reuse, 1 + i);
                assert_int_equal(pairs[i].use, i < TAGS || bounded ? 0 : 1 + i - TAGS);
                assert_int_equal(pairs[i].range, i < TAGS ? FM_RANGE_COLD : bounded ? FM_RANGE_BEYOND : 3);
                assert_int_equal(pairs[i].count, BLOCKS / TAGS);
            }
            free(pairs);
            fm_analyzer_destroy(analyzer);
        }
}

/*
 * Under a bound, blocks are dropped again and again while a few that come back in time stay: with their tags.
 * Nine new blocks, then the next of a hundred: 900 new ones and 99 others lie between two uses.
 */
CASE(test_tags_outlive_dropping)
{
    if (getenv("FATHOM_TEST_ONLY")) return;
    enum { HOT = 100, ROUNDS = 600, BATCH = HOT * 10 };
    static const uint64_t edges[] = {0, 999, 1000};
    static uint64_t address[BATCH];
    static uint32_t tag[BATCH];
    for (size_t k = 0; fm_isa_at(k); k++) {
        fm_analyzer_options options = {
            .isa = fm_isa_at(k), .edges = edges, .edge_count = 3, .seed = 3, .bound = 5000};
        fm_analyzer *analyzer;
        assert_int_equal(fm_analyzer_create(&analyzer, &options, NULL), FM_OK);
        for (uint32_t round = 0; round < ROUNDS; round++) {
            for (uint32_t i = 0; i < BATCH; i++) {
                const bool hot = i % 10 == 9;
                address[i] = hot ? i / 10 : HOT + (uint64_t)round * BATCH + i;
                tag[i] = hot ? 1 + round : FM_TAG_MAX;
            }
            fm_batch batch = {.count = BATCH, .address = address, .tag = tag};
            assert_int_equal(fm_analyzer_feed(analyzer, &batch, NULL), FM_OK);
        }
        fm_raw_pair *pairs;
        size_t count;
        assert_int_equal(fm_analyzer_pairs(analyzer, &pairs, &count, NULL), FM_OK);
        assert_int_equal(count, ROUNDS + 1);
        for (uint32_t round = 0; round < ROUNDS; round++) {
            assert_int_equal(pairs[round].reuse, 1 + round);
            assert_int_equal(pairs[round].use, round);
            assert_int_equal(pairs[round].range, round ? 1 : FM_RANGE_COLD);
            assert_int_equal(pairs[round].count, HOT);
        }
        assert_int_equal(pairs[ROUNDS].reuse, FM_TAG_MAX);
        assert_int_equal(pairs[ROUNDS].count, (uint64_t)ROUNDS * HOT * 9);
        free(pairs);
        fm_analyzer_destroy(analyzer);
    }
}

/* ---- arguments ---- */

CASE(test_wrong_arguments)
{
    static const uint64_t not_from_0[] = {1, 2}, descending[] = {0, 5, 5};
    static uint64_t many[251];
    for (size_t i = 0; i < 251; i++) many[i] = i;
    const fm_analyzer_options wrong[] = {{.edges = not_from_0, .edge_count = 2},
                                         {.edges = descending, .edge_count = 3},
                                         {.edges = many, .edge_count = 251},
                                         {.edges = many, .edge_count = 0}};
    fm_analyzer *analyzer = NULL;
    fm_error error = {0};
    for (size_t i = 0; i < 4; i++) {
        assert_int_equal(fm_analyzer_create(&analyzer, &wrong[i], &error), FM_E_ARGUMENT);
        assert_null(analyzer);
        assert_non_null(strstr(error.reason, "edge"));
    }
    /* A tag that does not fit is refused before anything is counted. */
    fm_analyzer_options options = {.edges = many, .edge_count = 250};
    static const uint64_t address[] = {1, 2, 1};
    static const uint32_t tag[] = {1, FM_TAG_MAX, FM_TAG_MAX + 1};
    fm_batch batch = {.count = 3, .address = address, .tag = tag};
    assert_int_equal(fm_analyzer_create(&analyzer, &options, NULL), FM_OK);
    assert_int_equal(fm_analyzer_feed(analyzer, &batch, &error), FM_E_ARGUMENT);
    assert_non_null(strstr(error.reason, "16777216"));
    fm_raw_pair *pairs;
    size_t count;
    assert_int_equal(fm_analyzer_pairs(analyzer, &pairs, &count, NULL), FM_OK);
    assert_int_equal(count, 0);
    free(pairs);
    /* Without tags, and as blocks: everything is counted under 0. */
    batch.tag = NULL;
    assert_int_equal(fm_analyzer_feed(analyzer, &batch, NULL), FM_OK);
    assert_int_equal(fm_analyzer_feed_blocks(analyzer, address, 3, NULL), FM_OK);
    assert_int_equal(fm_analyzer_pairs(analyzer, &pairs, &count, NULL), FM_OK);
    assert_int_equal(count, 3);
    static const uint32_t ranges[] = {0, 1, FM_RANGE_COLD};
    static const uint64_t counts[] = {1, 3, 2};
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(pairs[i].use, 0);
        assert_int_equal(pairs[i].reuse, 0);
        assert_int_equal(pairs[i].range, ranges[i]);
        assert_int_equal(pairs[i].count, counts[i]);
    }
    free(pairs);
    fm_analyzer_destroy(analyzer);
    /* Without edges there are none. */
    fm_analyzer_options none = {0};
    assert_int_equal(fm_analyzer_create(&analyzer, &none, NULL), FM_OK);
    assert_int_equal(fm_analyzer_pairs(analyzer, &pairs, &count, &error), FM_E_ARGUMENT);
    assert_int_equal(fm_analyzer_set_late_sink(analyzer, 0, NULL, NULL, NULL), FM_OK);
    fm_analyzer_destroy(analyzer);
}

/* Late ones of a batch that is larger than any reader's come in several calls, with the right indices. */
typedef struct counting {
    uint64_t seen, sum, calls;
} counting;

static fm_status sum_late(void *context, const fm_late *late, size_t count, fm_error *error)
{
    counting *sums = context;
    sums->calls++;
    for (size_t i = 0; i < count; i++) {
        sums->seen++;
        sums->sum += late[i].index;
        if (late[i].range != FM_RANGE_COLD || late[i].tag != 7) sums->sum += UINT64_C(1) << 60;
    }
    if (sums->calls < 100) return FM_OK;
    memset(error, 0, sizeof *error);
    error->status = FM_E_IO;
    return FM_E_IO;
}

CASE(test_large_batch)
{
    enum { COUNT = 200000 };
    static const uint64_t edges[] = {0, 1};
    uint64_t *address = case_array(COUNT, sizeof *address);
    uint32_t *tag = case_array(COUNT, sizeof *tag);
    for (size_t i = 0; i < COUNT; i++) {
        address[i] = i;
        tag[i] = 7;
    }
    for (size_t e = 0; e < 2; e++) {
        fm_analyzer_options options = {.engine = fm_engine_at(e)->name, .edges = edges, .edge_count = 2};
        fm_analyzer *analyzer;
        counting sums = {0};
        fm_error error = {0};
        assert_int_equal(fm_analyzer_create(&analyzer, &options, NULL), FM_OK);
        assert_int_equal(fm_analyzer_set_late_sink(analyzer, 1, sum_late, &sums, NULL), FM_OK);
        fm_batch batch = {.count = COUNT, .address = address, .tag = tag};
        assert_int_equal(fm_analyzer_feed(analyzer, &batch, NULL), FM_OK);
        assert_int_equal(sums.calls, 4);
        assert_int_equal(sums.seen, COUNT);
        assert_int_equal(sums.sum, (uint64_t)COUNT * (COUNT - 1) / 2);
        /* A sink that fails is heard; what it was told of is counted. */
        sums.calls = 99;
        for (size_t i = 0; i < COUNT; i++) address[i] += COUNT;
        batch.count = 10;
        assert_int_equal(fm_analyzer_feed(analyzer, &batch, &error), FM_E_IO);
        fm_profile *profile;
        assert_int_equal(fm_analyzer_profile(analyzer, &profile, NULL), FM_OK);
        assert_int_equal(profile->references, COUNT + 10);
        fm_profile_destroy(profile);
        fm_analyzer_destroy(analyzer);
        for (size_t i = 0; i < COUNT; i++) address[i] = i;
    }
    free(address);
    free(tag);
}

/* ---- memory ---- */

/* Every reference makes a pair of its own until the limit is met: then all that was counted adds up. */
static void check_memory_limit(const char *engine, uint64_t limit, bool new_blocks, bool late)
{
    enum { BATCH = 3000 };
    static const uint64_t edges[] = {0, 1, 2, 4, 8, 16, 1000};
    static uint64_t address[BATCH];
    static uint32_t tag[BATCH];
    fm_analyzer_options options = {
        .engine = engine, .edges = edges, .edge_count = 7, .max_memory = limit, .seed = 11};
    fm_analyzer *analyzer;
    fm_error error = {0};
    counting sums = {0};
    assert_int_equal(fm_analyzer_create(&analyzer, &options, &error), FM_OK);
    if (late) assert_int_equal(fm_analyzer_set_late_sink(analyzer, 7, sum_late, &sums, NULL), FM_OK);
    fm_status status = FM_OK;
    uint64_t fed = 0;
    uint32_t next = 0;
    while (!status && fed < UINT64_C(5) << 20) {
        for (size_t i = 0; i < BATCH; i++) {
            address[i] = new_blocks ? (fed + i) / 2 : (fed + i) % 50; /* each new one twice */
            tag[i] = new_blocks ? 7 : 1 + next++;
        }
        fm_batch batch = {.count = BATCH, .address = address, .tag = tag};
        status = fm_analyzer_feed(analyzer, &batch, &error);
        if (!status) fed += BATCH;
        sums.calls = 0;
    }
    assert_int_equal(status, FM_E_LIMIT);
    assert_true(error.reason[0] != '\0');
    assert_true(fm_analyzer_memory_peak(analyzer) <= limit);
    fm_profile *profile;
    fm_raw_pair *pairs;
    size_t count;
    assert_int_equal(fm_analyzer_profile(analyzer, &profile, NULL), FM_OK);
    assert_int_equal(fm_analyzer_pairs(analyzer, &pairs, &count, NULL), FM_OK);
    uint64_t sum = 0;
    for (size_t i = 0; i < count; i++) sum += pairs[i].count;
    assert_int_equal(sum, profile->references);
    assert_true(sum >= fed);
    assert_true(sum <= fed + BATCH);
    if (!new_blocks) assert_int_equal(count, sum);
    free(pairs);
    fm_profile_destroy(profile);
    fm_analyzer_destroy(analyzer);
}

CASE(test_memory_limit)
{
    static const char *const engines[] = {"exact", "tree", "list"};
    for (size_t e = 0; e < 3; e++) {
        check_memory_limit(engines[e], UINT64_C(8) << 20, false, false);
        check_memory_limit(engines[e], (UINT64_C(9) << 20) + 12345, false, e == 0);
        if (e < 2) check_memory_limit(engines[e], UINT64_C(16) << 20, true, true);
    }
}

/* The promise: 64 bytes for every distinct pair beyond what the same analysis takes without attribution. */
CASE(test_memory_promise)
{
    enum { BATCH = 10000, SITES = 3000 };
    static uint64_t address[BATCH], edges[40];
    static uint32_t tag[BATCH];
    size_t edge_count = 1;
    for (unsigned bit = 0; bit < 32; bit++) edges[edge_count++] = UINT64_C(1) << bit;
    fm_analyzer_options options = {.granularity = 1, .seed = 4}, attributing = options;
    attributing.edges = edges;
    attributing.edge_count = edge_count;
    fm_analyzer *plain, *tagged;
    assert_int_equal(fm_analyzer_create(&plain, &options, NULL), FM_OK);
    assert_int_equal(fm_analyzer_create(&tagged, &attributing, NULL), FM_OK);
    recipe_random random = {5};
    for (size_t b = 0; b < few_rounds(120); b++) {
        for (size_t i = 0; i < BATCH; i++) {
            /* The block chooses the sites that touch it, the depth the range: about two ranges a pair. */
            uint64_t die = recipe_next(&random);
            uint64_t block = die % 4 ? (die >> 8) % 64 : (die >> 8) % 20000;
            address[i] = block;
            tag[i] = (uint32_t)(1 + (block * 7 + (die >> 50) % 50) % SITES);
        }
        fm_batch batch = {.count = BATCH, .address = address, .tag = tag};
        assert_int_equal(fm_analyzer_feed(plain, &batch, NULL), FM_OK);
        assert_int_equal(fm_analyzer_feed(tagged, &batch, NULL), FM_OK);
        if (b % 15 != 14) continue;
        fm_raw_pair *pairs;
        size_t count, distinct = 0;
        assert_int_equal(fm_analyzer_pairs(tagged, &pairs, &count, NULL), FM_OK);
        for (size_t i = 0; i < count; i++)
            distinct += i == 0 || pairs[i].use != pairs[i - 1].use || pairs[i].reuse != pairs[i - 1].reuse;
        free(pairs);
        uint64_t allowed = fm_analyzer_memory_peak(plain) + 64 * distinct + (UINT64_C(1) << 20);
        if (fm_analyzer_memory_peak(tagged) > allowed)
            fail_msg("%zu pairs in %zu ranges: %" PRIu64 " bytes, %" PRIu64 " are allowed", distinct, count,
                     fm_analyzer_memory_peak(tagged), allowed);
    }
    fm_analyzer_destroy(plain);
    fm_analyzer_destroy(tagged);
}

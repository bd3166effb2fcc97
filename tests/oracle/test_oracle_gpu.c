/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_oracle_gpu.c - the gpu engine equals the list engine: histogram for histogram, and reference by
 * reference, on thousands of generated traces, with batches from 1 reference on, on one to four cards, with
 * cards that outgrow their memory, fed or fetched by threads, and all that may change between two feeds.
 * Where there is a graphics card and FATHOM_TEST_GPU=1, it does the counting, for all four; otherwise a
 * stand-in (gpu_stand_in.h).
 *
 *     FATHOM_TEST_SEED=N, FATHOM_TEST_TRACES=N, FATHOM_TEST_ONLY=N    as in test_oracle_engines.c
 *     FATHOM_TEST_BATCH=N                                             no shorter batches: for slow sanitizers
 */
#define _GNU_SOURCE
#include "case.h"

#include "engine/gpu/gpu.h"
#include "oracle/engine_run.h"
#include "oracle/gpu_stand_in.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <limits.h>
#include <unistd.h>

enum { TRACES = 1500 };

static const fm_gpu_module gpu_stand_in = GPU_STAND_IN_TABLE;

static bool on_card(void)
{
    return from_environment("FATHOM_TEST_GPU", 0) != 0;
}

/* One card that pretends to be four. */
static const fm_gpu_module *real_module;
static fm_gpu_module four_fold;

static fm_status count_four(unsigned *count, fm_error *error)
{
    fm_status status = real_module->devices(count, error);
    *count *= 4;
    return status;
}

static fm_status describe_first(unsigned device, fm_gpu_description *description, fm_error *error)
{
    (void)device;
    return real_module->describe(0, description, error);
}

static fm_status open_first(fm_gpu_card **card, const fm_gpu_setup *setup, fm_error *error)
{
    fm_gpu_setup on_first = *setup;
    on_first.device = 0;
    return real_module->open(card, &on_first, error);
}

static void use_card(void)
{
    fm_error error;
    fm_gpu_stand_in = NULL;
    if (fm_gpu_load(&real_module, &error)) fail_msg("%s", error.reason);
    four_fold = *real_module;
    four_fold.devices = count_four;
    four_fold.describe = describe_first;
    four_fold.open = open_first;
    fm_gpu_stand_in = &four_fold;
}

static int use_stand_in(void **state)
{
    (void)state;
    if (on_card())
        use_card();
    else
        fm_gpu_stand_in = &gpu_stand_in;
    stand_in = (stand_in_nature){.memory = UINT64_MAX};
    return 0;
}

typedef struct sunk {
    const uint64_t *expected;
    size_t count, wrong_at;
} sunk;

static fm_status take_sunk(void *context, const uint64_t *blocks, const uint64_t *distances, size_t count,
                           fm_error *error)
{
    (void)blocks;
    (void)error;
    sunk *sink = context;
    for (size_t i = 0; i < count; i++)
        if (distances[i] != sink->expected[sink->count + i] && sink->wrong_at == SIZE_MAX)
            sink->wrong_at = sink->count + i;
    sink->count += count;
    return FM_OK;
}

/* ---- what threads fetch for themselves ---- */

enum { MOST_FETCHERS = 6, MOST_FETCHED = 100 };

/* Some references, in ranges that are longer or shorter than was asked for, and with or without those that
 * repeat the one before. */
typedef struct fetched {
    const uint64_t *blocks;
    size_t count, claimed;
    recipe_random random;
    bool spares_repeats;
    size_t fail_at; /* a range from here on cannot be had; 0: all can */
    uint64_t kept[MOST_FETCHERS][MOST_FETCHED];
} fetched;

static bool claim_some(void *context, uint64_t wanted, fm_trace_range *range)
{
    fetched *self = context;
    const uint64_t left = self->count - self->claimed, some = 1 + recipe_below(&self->random, 3 * wanted);
    if (left == 0) return false;
    *range = (fm_trace_range){.at = self->claimed, .left = some < left ? some : left};
    self->claimed += (size_t)range->left;
    return true;
}

static fm_status fetch_some(void *context, unsigned worker, fm_trace_range *range, fm_references *references,
                            uint64_t *repeats, fm_error *error)
{
    fetched *self = context;
    const uint64_t *from = self->blocks + range->at;
    const size_t some = range->left < MOST_FETCHED ? (size_t)range->left : MOST_FETCHED;
    uint64_t *kept = self->kept[worker];
    size_t kept_count = 0;
    if (self->fail_at && range->at >= self->fail_at)
        return stand_in_fail(error, FM_E_CORRUPT, "a range of it is damaged");
    for (size_t i = 0; i < some; i++)
        if (i == 0 || !self->spares_repeats || from[i] != from[i - 1]) kept[kept_count++] = from[i];
    range->at += some;
    range->left -= some;
    *references = (fm_references){.count = kept_count, .blocks = kept};
    *repeats = some - kept_count;
    return FM_OK;
}

static uint64_t left_to_fetch(const void *context)
{
    const fetched *self = context;
    return self->count - self->claimed;
}

static fm_status draw(fm_engine *engine, fetched *from, const fm_engine_results *results, fm_error *error)
{
    const fm_block_supply supply = {
        .context = from, .claim = claim_some, .fetch = fetch_some, .left = left_to_fetch};
    return fm_engine_gpu.draw(engine, &supply, results, error);
}

/* ---- generated traces ---- */

/* How a trace is fed. */
typedef struct feeding {
    fm_bins bins;
    bool times, sometimes_sink;
    unsigned cards;
    unsigned threads; /* that fetch */
    fm_gpu_sizes sizes;
} feeding;

static feeding choose_feeding(const recipe *made, recipe_random *random)
{
    feeding how = {.bins = (fm_bins)recipe_below(random, 3),
                   .times = recipe_chance(random, 2),
                   .sometimes_sink = recipe_chance(random, 3)};
    uint64_t batch =
        recipe_chance(random, 4) ? 1 + recipe_below(random, 3) : 1 + recipe_below(random, made->length + 1);
    const uint64_t least = from_environment("FATHOM_TEST_BATCH", 1);
    if (batch < least) batch = least;
    how.sizes = (fm_gpu_sizes){.batch = (size_t)batch,
                               .each_batch = 1 + (size_t)recipe_below(random, batch),
                               .stack = (size_t)(2 * batch + recipe_below(random, made->alphabet + 1)),
                               .piece = 1 + (size_t)recipe_below(random, batch < 500 ? batch : 500)};
    stand_in.memory = recipe_chance(random, 2) ? UINT64_MAX : 4 * (how.sizes.batch + how.sizes.stack) + 64;
    how.cards = (unsigned)recipe_below(random, 5);
    how.sizes.alone = recipe_chance(random, 2) ? 0 : (size_t)recipe_below(random, 4);
    if (how.cards > 1 && !recipe_chance(random, 4))
        how.times = how.sometimes_sink = false; /* one counts them */
    how.threads = 1 + (unsigned)recipe_below(random, MOST_FETCHERS);
    stand_in.more_cards = 3;
    return how;
}

static bool tallies_agree(const fm_tally *wanted, const fm_tally *got, const char **wrong)
{
    if (wanted->total != got->total) *wrong = "a wrong number of distances";
    for (uint64_t i = 0; i < wanted->capacity || i < got->capacity; i++)
        if ((i < wanted->capacity ? wanted->counts[i] : 0) != (i < got->capacity ? got->counts[i] : 0))
            *wrong = "a wrong bin";
    return !*wrong;
}

/* NULL, or what went wrong. */
static const char *compare(const recipe *made, const uint64_t *trace, const engine_answers *expected,
                           const feeding *how, recipe_random *random)
{
    fm_engine_options options = engine_options_of(made);
    options.time_distances = how->times;
    options.threads = how->threads;
    char own[32];
    snprintf(own, sizeof own, "cards=%u", how->cards);
    engine_own_options(&fm_engine_gpu, own, &options);
    fm_tally distances, times, wanted, wanted_times;
    fm_error error = {0};
    fm_engine *engine;
    if (fm_tally_create(&distances, how->bins, NULL) || fm_tally_create(&times, how->bins, NULL) ||
        fm_tally_create(&wanted, how->bins, NULL) || fm_tally_create(&wanted_times, how->bins, NULL))
        abort();
    fm_gpu_first_sizes = how->sizes;
    const char *wrong = NULL;
    if (fm_engine_gpu.create(&engine, &options, &error)) return "the engine was not created";
    sunk sink = {.expected = expected->distances, .wrong_at = SIZE_MAX};
    fm_engine_results results = {.distances = &distances, .times = how->times ? &times : NULL};
    for (size_t i = 0; i < made->length && !wrong;) {
        size_t chunk = 1 + recipe_below(random, made->chunk_most);
        if (chunk > made->length - i) chunk = made->length - i;
        if (how->sometimes_sink && recipe_chance(random, 8)) {
            if (fm_engine_gpu.catch_up(engine, &results, &error)) wrong = "catch_up failed";
            results.sink = results.sink ? NULL : take_sunk;
            results.sink_context = &sink;
            sink.expected = expected->distances + i;
            sink.count = 0;
        }
        const fm_references run = {.count = chunk, .blocks = trace + i};
        size_t done;
        if (!how->times && !results.sink && recipe_chance(random, 12)) {
            chunk = 1 + recipe_below(random, made->length - i); /* much at once: threads are started */
            fetched from = {.blocks = trace + i,
                            .count = chunk,
                            .random = {recipe_below(random, UINT64_MAX)},
                            .spares_repeats = recipe_chance(random, 2)};
            if (!wrong && draw(engine, &from, &results, &error)) wrong = "draw failed";
        } else if (!wrong && fm_engine_gpu.count(engine, &run, &results, &done, &error)) {
            wrong = "count failed";
        }
        i += chunk;
    }
    if (!wrong && fm_engine_gpu.catch_up(engine, &results, &error)) wrong = "catch_up failed";
    if (!wrong && sink.wrong_at != SIZE_MAX) wrong = "a wrong single distance";
    if (fm_tally_add(&wanted, expected->distances, made->length, NULL)) abort();
    for (size_t i = 0; i < made->length; i++)
        if (expected->times[i] < FM_BEYOND && fm_tally_add(&wanted_times, &expected->times[i], 1, NULL))
            abort();
    if (!wrong && (distances.cold != wanted.cold || distances.beyond != wanted.beyond))
        wrong = "cold or beyond";
    if (!wrong) tallies_agree(&wanted, &distances, &wrong);
    /* Once blocks were forgotten, times of returns from beyond the bound need not be known. */
    if (!wrong && how->times && expected->cold_known) tallies_agree(&wanted_times, &times, &wrong);
    if (!wrong && fm_engine_gpu.distinct(engine) != expected->distinct)
        wrong = "a wrong number of distinct blocks";
    if (!wrong && fm_engine_gpu.cold_known(engine) != expected->cold_known) wrong = "a wrong cold_known";
    if (!wrong && fm_engine_gpu.memory(engine) > fm_engine_gpu.memory_peak(engine))
        wrong = "memory over its peak";
    if (wrong && error.reason[0]) fprintf(stderr, "%s\n", error.reason);
    fm_engine_gpu.destroy(engine);
    fm_tally_clear(&distances);
    fm_tally_clear(&times);
    fm_tally_clear(&wanted);
    fm_tally_clear(&wanted_times);
    return wrong;
}

static const char *run_gpu(const recipe *made, const uint64_t *trace, const engine_answers *expected,
                           char *text, size_t size)
{
    recipe_random random = {made->seed ^ 4242};
    const feeding how = choose_feeding(made, &random);
    snprintf(text, size, "bins %s%s%s, %u cards, batch %zu, each %zu, stack %zu, card memory %" PRIu64,
             fm_bins_name(how.bins), how.times ? ", times" : "", how.sometimes_sink ? ", sink" : "",
             how.cards, how.sizes.batch, how.sizes.each_batch, how.sizes.stack, stand_in.memory);
    return compare(made, trace, expected, &how, &random);
}

static bool check_recipe(const recipe *from)
{
    recipe made = *from;
    made.times = true; /* the judge's */
    return recipe_agrees(&made, run_gpu);
}

CASE_WITH(test_generated_traces, use_stand_in, NULL)
{
    const fm_gpu_sizes usual = fm_gpu_first_sizes;
    const uint64_t traces = from_environment("FATHOM_TEST_TRACES", TRACES);
    const uint64_t bad = recipes_failing(check_recipe, 20260101, traces);
    fm_gpu_first_sizes = usual;
    assert_int_equal(bad, 0);
}

/* ---- through the analyzer ---- */

/* Pieces by several threads, and several batches: one cycle after the other has one distance only. */
CASE_WITH(test_large_feeds, use_stand_in, NULL)
{
    if (!on_card()) stand_in.memory = UINT64_MAX;
    const fm_gpu_sizes usual = fm_gpu_first_sizes;
    const unsigned shift = on_card() ? 20 : 15;
    fm_gpu_first_sizes = (fm_gpu_sizes){.batch = (size_t)5 << shift,
                                        .each_batch = (size_t)3 << shift,
                                        .stack = (size_t)10 << shift,
                                        .piece = (size_t)1 << shift};
    enum { BLOCKS = 5 };
    const size_t references = ((size_t)11 << shift) + 12345;
    uint64_t *trace = malloc(references * sizeof *trace);
    if (!trace) abort();
    for (size_t i = 0; i < references; i++) trace[i] = i % BLOCKS;
    fm_analyzer_options options = {.engine = "gpu", .time_distances = true};
    fm_analyzer *analyzer;
    fm_profile *profile;
    fm_error error;
    if (fm_analyzer_create(&analyzer, &options, &error)) fail_msg("%s", error.reason);
    assert_int_equal(fm_analyzer_feed_blocks(analyzer, trace, 3, NULL), FM_OK);
    assert_int_equal(fm_analyzer_feed_blocks(analyzer, trace + 3, references - 3, NULL), FM_OK);
    assert_int_equal(fm_analyzer_profile(analyzer, &profile, NULL), FM_OK);
    assert_int_equal(profile->references, references);
    assert_int_equal(profile->cold, BLOCKS);
    assert_int_equal(profile->distances.count, 1);
    assert_int_equal(profile->distances.bins[0].lo, BLOCKS - 1);
    assert_int_equal(profile->distances.bins[0].count, references - BLOCKS);
    assert_int_equal(profile->times.count, 1);
    assert_int_equal(profile->times.bins[0].lo, BLOCKS);
    assert_string_equal(profile->engine, "gpu");
    assert_true(profile->exact);
    fm_profile_destroy(profile);
    fm_analyzer_destroy(analyzer);
    free(trace);
    fm_gpu_first_sizes = usual;
}

CASE_WITH(test_attribution_is_refused, use_stand_in, NULL)
{
    static const uint64_t edges[] = {0, 8};
    fm_analyzer_options options = {.engine = "gpu", .edges = edges, .edge_count = 2};
    fm_analyzer *analyzer;
    fm_error error;
    assert_int_equal(fm_analyzer_create(&analyzer, &options, &error), FM_E_ARGUMENT);
    assert_non_null(strstr(error.reason, "code sites"));
}

/* Each analyzer on the card it was given, counted round. */
CASE_WITH(test_several_cards, use_stand_in, NULL)
{
    if (on_card()) skip();
    stand_in.more_cards = 2;
    const fm_gpu_sizes usual = fm_gpu_first_sizes;
    fm_gpu_first_sizes = (fm_gpu_sizes){.batch = 1000, .each_batch = 1000, .stack = 4000, .piece = 300};
    const uint64_t blocks[] = {1, 2, 1};
    static const unsigned asked[] = {0, 1, 2, 3, 5}, expected[] = {0, 1, 2, 0, 2};
    for (size_t i = 0; i < sizeof asked / sizeof asked[0]; i++) {
        char own[32];
        snprintf(own, sizeof own, "card=%u", asked[i]);
        fm_analyzer_options options = {.engine = "gpu", .engine_options = own};
        fm_analyzer *analyzer;
        assert_int_equal(fm_analyzer_create(&analyzer, &options, NULL), FM_OK);
        assert_int_equal(fm_analyzer_feed_blocks(analyzer, blocks, 3, NULL), FM_OK);
        assert_int_equal(stand_in.opened_on, expected[i]);
        fm_analyzer_destroy(analyzer);
    }
    fm_gpu_first_sizes = usual;
}

/* One trace on several cards: which are opened, and that all of them count. */
CASE_WITH(test_shared_counting, use_stand_in, NULL)
{
    if (on_card()) skip();
    enum { BATCH = 250, BLOCKS = 6 * BATCH / 4, REFERENCES = 20 * BATCH };
    const fm_gpu_sizes usual = fm_gpu_first_sizes;
    fm_gpu_first_sizes = (fm_gpu_sizes){.batch = BATCH, .each_batch = BATCH, .stack = 4 * BATCH, .piece = 75};
    uint64_t blocks[REFERENCES];
    for (size_t i = 0; i < REFERENCES; i++) blocks[i] = i % BLOCKS;
    static const struct {
        unsigned card, cards, full;
        bool times;
        size_t opened; /* cards */
    } cases[] = {
        {0, 0, 0, false, 4}, {0, 1, 0, false, 1}, {0, 2, 0, false, 2},        {3, 3, 0, false, 3},
        {1, 4, 0, false, 4}, {1, 9, 0, false, 4}, {0, UINT_MAX, 0, false, 4}, {0, 4, 2, false, 2},
        {0, 4, 1, false, 1}, {0, 4, 0, true, 1},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        stand_in = (stand_in_nature){.memory = UINT64_MAX, .more_cards = 3, .full_card = cases[i].full};
        char own[64];
        snprintf(own, sizeof own, "card=%u,cards=%u", cases[i].card, cases[i].cards);
        fm_analyzer_options options = {
            .engine = "gpu", .engine_options = own, .time_distances = cases[i].times};
        fm_analyzer *analyzer;
        fm_profile *profile;
        assert_int_equal(fm_analyzer_create(&analyzer, &options, NULL), FM_OK);
        assert_int_equal(fm_analyzer_feed_blocks(analyzer, blocks, REFERENCES, NULL), FM_OK);
        assert_int_equal(stand_in.opened, cases[i].opened);
        size_t used = 0;
        for (unsigned card = 0; card < STAND_IN_CARDS; card++) used += stand_in.taken[card] > 0;
        assert_int_equal(used, cases[i].opened);
        assert_int_equal(fm_analyzer_profile(analyzer, &profile, NULL), FM_OK);
        assert_int_equal(profile->references, REFERENCES);
        assert_int_equal(profile->cold, BLOCKS);
        assert_int_equal(profile->distances.count, 1);
        assert_in_range(BLOCKS - 1, profile->distances.bins[0].lo, profile->distances.bins[0].hi);
        assert_int_equal(profile->distances.bins[0].count, REFERENCES - BLOCKS);
        /* A batch on another card is counted there, and what it left open once more. */
        const size_t batches = REFERENCES / BATCH,
                     others = batches - (batches + cases[i].opened - 1) / cases[i].opened;
        assert_int_equal(stand_in.counted, batches + others);
        fm_profile_destroy(profile);
        fm_analyzer_destroy(analyzer);
        for (unsigned card = 0; card < STAND_IN_CARDS; card++) assert_int_equal(stand_in.taken[card], 0);
    }
    fm_gpu_first_sizes = usual;
}

/* A batch is filled while the one before is counted, also after the first ones: the sizes to begin with leave
 * room for that. */
CASE_WITH(test_overlap, use_stand_in, NULL)
{
    if (on_card()) skip();
    const fm_gpu_sizes usual = fm_gpu_first_sizes;
    fm_gpu_first_sizes = (fm_gpu_sizes){
        .batch = 1000, .each_batch = 250, .stack = 1000 * (usual.stack / usual.batch), .piece = 300};
    uint64_t blocks[10000];
    for (size_t i = 0; i < 10000; i++) blocks[i] = i % 700;
    stand_in.patient = true;
    fm_analyzer_options options = {.engine = "gpu"};
    fm_analyzer *analyzer;
    fm_profile *profile;
    assert_int_equal(fm_analyzer_create(&analyzer, &options, NULL), FM_OK);
    for (size_t i = 0; i < 10000; i += 250)
        assert_int_equal(fm_analyzer_feed_blocks(analyzer, blocks + i, 250, NULL), FM_OK);
    assert_int_equal(fm_analyzer_profile(analyzer, &profile, NULL), FM_OK);
    assert_int_equal(profile->cold, 700);
    assert_int_equal(stand_in.counted, 10);
    assert_int_equal(stand_in.in_vain, 1); /* nothing comes after the last */
    fm_profile_destroy(profile);
    fm_analyzer_destroy(analyzer);
    fm_gpu_first_sizes = usual;
}

/* A card is chosen where there is one and many references are expected. */
CASE_WITH(test_choice, use_stand_in, NULL)
{
    assert_string_equal(fm_engine_choose(0), "exact");
    assert_string_equal(fm_engine_choose(1000000), "exact");
    assert_string_equal(fm_engine_choose(UINT64_C(1) << 30), "gpu");
    if (on_card()) return;
    stand_in.devices = FM_E_UNSUPPORTED;
    assert_string_equal(fm_engine_choose(UINT64_C(1) << 30), "exact");
}

/* ---- failure ---- */

CASE_WITH(test_no_device, use_stand_in, NULL)
{
    if (on_card()) skip();
    stand_in.devices = FM_E_UNSUPPORTED;
    fm_analyzer_options options = {.engine = "gpu"};
    fm_analyzer *analyzer;
    fm_error error;
    assert_int_equal(fm_analyzer_create(&analyzer, &options, &error), FM_E_UNSUPPORTED);
    assert_null(analyzer);
}

CASE_WITH(test_too_little_card_memory, use_stand_in, NULL)
{
    if (on_card()) skip();
    stand_in.memory = 1000;
    const uint64_t blocks[] = {1, 2, 1};
    fm_analyzer_options options = {.engine = "gpu"};
    fm_analyzer *analyzer;
    fm_error error;
    assert_int_equal(fm_analyzer_create(&analyzer, &options, &error), FM_OK);
    assert_int_equal(fm_analyzer_feed_blocks(analyzer, blocks, 3, &error), FM_E_NOMEM);
    assert_non_null(strstr(error.reason, "1000 bytes of free memory"));
    fm_analyzer_destroy(analyzer);
}

CASE_WITH(test_host_memory_limit, use_stand_in, NULL)
{
    const uint64_t blocks[] = {1, 2, 1};
    fm_analyzer_options options = {.engine = "gpu", .max_memory = 32 << 20};
    fm_analyzer *analyzer;
    fm_error error;
    assert_int_equal(fm_analyzer_create(&analyzer, &options, &error), FM_OK);
    assert_int_equal(fm_analyzer_feed_blocks(analyzer, blocks, 3, &error), FM_E_LIMIT);
    fm_analyzer_destroy(analyzer);
}

/* A system that does not say how many processors it has. */
static bool processors_unknown;
long sysconf(int name)
{
    if (name == _SC_NPROCESSORS_ONLN && processors_unknown) return -1;
    long (*real)(int);
    *(void **)&real = dlsym(RTLD_NEXT, "sysconf");
    return real(name);
}

CASE_WITH(test_unknown_processors, use_stand_in, NULL)
{
    if (on_card()) skip();
    const fm_gpu_sizes usual = fm_gpu_first_sizes;
    fm_gpu_first_sizes = (fm_gpu_sizes){.batch = 1000, .each_batch = 1000, .stack = 4000, .piece = 300};
    const uint64_t blocks[] = {1, 2, 1};
    fm_analyzer_options options = {.engine = "gpu"};
    fm_analyzer *analyzer;
    fm_error error = {0};
    fm_profile *profile;
    assert_int_equal(fm_analyzer_create(&analyzer, &options, &error), FM_OK);
    processors_unknown = true;
    assert_int_equal(sysconf(_SC_NPROCESSORS_ONLN), -1);
    fm_status status = fm_analyzer_feed_blocks(analyzer, blocks, 3, &error);
    processors_unknown = false;
    if (status != FM_OK) fail_msg("%s", error.reason);
    assert_int_equal(fm_analyzer_profile(analyzer, &profile, &error), FM_OK);
    assert_int_equal(profile->cold, 2);
    fm_profile_destroy(profile);
    fm_analyzer_destroy(analyzer);
    fm_gpu_first_sizes = usual;
}

/* A card that fails in the middle: the error comes out, nothing hangs, nothing leaks. */
CASE_WITH(test_failing_card, use_stand_in, NULL)
{
    if (on_card()) skip();
    const fm_gpu_sizes usual = fm_gpu_first_sizes;
    fm_gpu_first_sizes = (fm_gpu_sizes){.batch = 1000, .each_batch = 1000, .stack = 4000, .piece = 300};
    uint64_t blocks[5000];
    for (size_t i = 0; i < 5000; i++) blocks[i] = i % 7;
    stand_in.more_cards = 3;
    for (unsigned cards = 1; cards <= 4; cards++)
        for (size_t at = 1; at <= 4; at++) {
            stand_in.counted = 0;
            stand_in.fail_at = at;
            char own[32];
            snprintf(own, sizeof own, "cards=%u", cards);
            fm_analyzer_options options = {.engine = "gpu", .engine_options = own};
            fm_analyzer *analyzer;
            fm_profile *profile;
            fm_error error;
            assert_int_equal(fm_analyzer_create(&analyzer, &options, &error), FM_OK);
            fm_status status = fm_analyzer_feed_blocks(analyzer, blocks, 5000, &error);
            if (status == FM_OK) status = fm_analyzer_profile(analyzer, &profile, &error);
            assert_int_equal(status, FM_E_IO);
            assert_string_equal(error.reason, "the card fell off the bus");
            fm_analyzer_destroy(analyzer);
        }
    fm_gpu_first_sizes = usual;
}

/* The same while threads fetch; and what they fetch may be what fails. */
CASE_WITH(test_failing_draw, use_stand_in, NULL)
{
    if (on_card()) skip();
    const fm_gpu_sizes usual = fm_gpu_first_sizes;
    fm_gpu_first_sizes = (fm_gpu_sizes){.batch = 1000, .each_batch = 1000, .stack = 4000, .piece = 300};
    uint64_t blocks[5000];
    for (size_t i = 0; i < 5000; i++) blocks[i] = i % 7;
    stand_in.more_cards = 3;
    for (unsigned turn = 0; turn < 40; turn++) {
        const bool damaged = turn % 2;
        fm_engine_options options = {.threads = 1 + turn % MOST_FETCHERS, .seed = 1};
        engine_own_options(&fm_engine_gpu, turn % 3 ? "cards=1" : "cards=3", &options);
        fm_tally distances;
        fm_engine *engine;
        fm_error error = {0};
        const fm_engine_results results = {.distances = &distances};
        fetched from = {.blocks = blocks,
                        .count = 5000,
                        .random = {turn},
                        .spares_repeats = true,
                        .fail_at = damaged ? 100 * turn : 0};
        stand_in.counted = 0;
        stand_in.fail_at = damaged ? 0 : 1 + turn / 2 % 4;
        assert_int_equal(fm_tally_create(&distances, FM_BINS_LOGLINEAR, NULL), FM_OK);
        assert_int_equal(fm_engine_gpu.create(&engine, &options, &error), FM_OK);
        fm_status status = draw(engine, &from, &results, &error);
        if (status == FM_OK) status = fm_engine_gpu.catch_up(engine, &results, &error);
        assert_int_equal(status, damaged ? FM_E_CORRUPT : FM_E_IO);
        assert_string_equal(error.reason, damaged ? "a range of it is damaged" : "the card fell off the bus");
        fm_engine_gpu.destroy(engine);
        fm_tally_clear(&distances);
    }
    fm_gpu_first_sizes = usual;
}

/* ---- from a file ---- */

static void write_trace(const char *path, const uint64_t *address, const uint32_t *size, size_t count)
{
    fm_writer *writer;
    fm_error error;
    const fm_writer_options options = {.format = "fathom", .columns = FM_COLUMN_SIZE};
    const fm_batch batch = {.count = count, .address = address, .size = size};
    if (fm_writer_open(&writer, path, &options, &error)) fail_msg("%s", error.reason);
    assert_int_equal(fm_writer_append(writer, &batch, NULL), FM_OK);
    assert_int_equal(fm_writer_finish(writer, NULL), FM_OK);
    fm_writer_close(writer);
}

static void count_damage(void *context, const fm_error *error)
{
    (void)error;
    ++*(size_t *)context;
}

static fm_profile *profile_of_file(const char *path, const char *engine, unsigned threads, size_t *damages)
{
    const fm_analyzer_options options = {.engine = engine, .granularity = 64, .threads = threads};
    const fm_analyze_options how = {.threads = threads, .damage = count_damage, .context = damages};
    fm_reader *reader;
    fm_analyzer *analyzer;
    fm_profile *profile;
    fm_error error;
    *damages = 0;
    assert_int_equal(fm_reader_open(&reader, path, &(fm_reader_options){.threads = threads}, &error), FM_OK);
    assert_int_equal(fm_analyzer_create(&analyzer, &options, &error), FM_OK);
    if (fm_analyze(reader, &analyzer, 1, &how, &error)) fail_msg("%s", error.reason);
    assert_int_equal(fm_analyzer_profile(analyzer, &profile, &error), FM_OK);
    fm_analyzer_destroy(analyzer);
    fm_reader_close(reader);
    return profile;
}

/* Accesses that cross blocks, through threads that fetch and cut them, against `exact` with one thread; and
 * the same file with a damaged block, which is told once, and costs its own references only. */
CASE_WITH(test_file, use_stand_in, NULL)
{
    enum { REFERENCES = 300000 };
    const fm_gpu_sizes usual = fm_gpu_first_sizes;
    fm_gpu_first_sizes = (fm_gpu_sizes){.batch = 70000, .each_batch = 70000, .stack = 280000, .piece = 10000};
    uint64_t *address = malloc(REFERENCES * sizeof *address);
    uint32_t *size = malloc(REFERENCES * sizeof *size);
    if (!address || !size) abort();
    recipe_random random = {5};
    for (size_t i = 0; i < REFERENCES; i++) {
        address[i] = recipe_chance(&random, 3) ? recipe_below(&random, 1 << 12) : i * 24 % 1000;
        size[i] = (uint32_t)recipe_below(&random, recipe_chance(&random, 20) ? 300 : 9);
    }
    char path[] = "/tmp/fathom-gpu-XXXXXX";
    const int file = mkstemp(path);
    assert_true(file >= 0);
    write_trace(path, address, size, REFERENCES);
    for (unsigned damaged = 0; damaged < 2; damaged++) {
        size_t damages, expected_damages;
        if (damaged) {
            const int again = open(path, O_RDWR);
            const off_t middle = lseek(again, 0, SEEK_END) / 2;
            assert_int_equal(pwrite(again, "damage", 6, middle), 6);
            close(again);
        }
        fm_profile *expected = profile_of_file(path, "exact", 1, &expected_damages);
        assert_int_equal(expected_damages > 0, damaged);
        for (unsigned threads = 1; threads <= 4; threads++) {
            fm_profile *found = profile_of_file(path, "gpu", threads, &damages);
            assert_int_equal(damages, expected_damages);
            assert_int_equal(found->references, expected->references);
            assert_int_equal(found->cold, expected->cold);
            assert_int_equal(found->distances.count, expected->distances.count);
            assert_memory_equal(found->distances.bins, expected->distances.bins,
                                found->distances.count * sizeof(fm_bin));
            fm_profile_destroy(found);
        }
        fm_profile_destroy(expected);
    }
    close(file);
    unlink(path);
    free(address);
    free(size);
    fm_gpu_first_sizes = usual;
}

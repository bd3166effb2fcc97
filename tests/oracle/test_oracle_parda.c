/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_oracle_parda.c - the engine `parda` with several threads counts what the list engine finds, on
 * thousands of generated traces (trace_recipe.h): 1 to 8 threads, shares from one reference up, bounds from 1
 * up, traces shorter than the number of threads, results asked for in between, distances in order after
 * counting.
 *
 *     FATHOM_TEST_SEED, FATHOM_TEST_TRACES, FATHOM_TEST_ONLY   as in test_oracle_engines.c
 */
#include "engine/parda.h"
#include "oracle/team_case.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

enum { TRACES = 1200 };

static uint64_t from_environment(const char *name, uint64_t usual)
{
    const char *text = getenv(name);
    return text && *text ? strtoull(text, NULL, 0) : usual;
}

/* How a recipe goes through the engine; follows from its seed. */
typedef struct way {
    unsigned threads;
    size_t share;
    fm_bins bins;
    unsigned catch_up_one_in; /* calls after which results are asked for */
    size_t ordered_from;      /* reference from which on distances are wanted in order */
} way;

static way way_of(const recipe *made)
{
    static const size_t shares[] = {1, 2, 3, 7, 64, 447, 1000, 20000};
    recipe_random random = {made->seed ^ 4};
    way chosen = {.threads = 1 + (unsigned)recipe_below(&random, 8),
                  .share = shares[recipe_below(&random, sizeof shares / sizeof shares[0])],
                  .bins = (fm_bins)recipe_below(&random, 3),
                  .catch_up_one_in = recipe_chance(&random, 3) ? 4 : 1000000,
                  .ordered_from = made->length};
    /* A few hundred phases are enough. */
    if (chosen.share < made->length / 1000) chosen.share = made->length / 1000;
    if (recipe_chance(&random, 4)) chosen.ordered_from = (size_t)recipe_below(&random, made->length + 1);
    return chosen;
}

/* `count` references from number `at` on: counted, or found in order. */
static const char *give(fm_engine *engine, const way *chosen, const uint64_t *trace, size_t at, size_t count,
                        const engine_answers *expected, fm_tally *got, fm_tally *wanted, uint64_t *distances)
{
    const fm_engine_ops *ops = &fm_engine_parda;
    size_t done = 12345678;
    if (at >= chosen->ordered_from) {
        if (ops->feed(engine, trace + at, count, distances, NULL, &done, NULL)) return "feed failed";
        if (memcmp(distances, expected->distances + at, count * sizeof *distances) != 0)
            return "wrong distances in order";
    } else {
        if (ops->count(engine, trace + at, count, got, &done, NULL)) return "count failed";
        if (fm_tally_add(wanted, expected->distances + at, count, NULL)) abort();
    }
    return done == count ? NULL : "fewer references were taken than given";
}

static const char *run(const recipe *made, const way *chosen, const uint64_t *trace,
                       const engine_answers *expected)
{
    const fm_engine_ops *ops = &fm_engine_parda;
    fm_engine_options options = engine_options_of(made);
    options.time_distances = false;
    options.threads = chosen->threads;
    fm_engine *engine;
    fm_tally got, wanted;
    uint64_t *distances = malloc((made->length + 1) * sizeof *distances);
    if (!distances || ops->create(&engine, &options, NULL) || fm_tally_create(&got, chosen->bins, NULL) ||
        fm_tally_create(&wanted, chosen->bins, NULL))
        abort();
    recipe_random random = {made->seed ^ 44};
    const char *wrong = NULL;
    for (size_t i = 0; i < made->length && !wrong;) {
        size_t count = 1 + recipe_below(&random, made->chunk_most);
        const size_t end = i < chosen->ordered_from ? chosen->ordered_from : made->length;
        if (count > end - i) count = end - i;
        wrong = give(engine, chosen, trace, i, count, expected, &got, &wanted, distances);
        i += count;
        if (!wrong && recipe_chance(&random, chosen->catch_up_one_in)) {
            if (ops->catch_up(engine, &got, NULL)) wrong = "catching up failed";
            if (!wrong) wrong = team_tallies_agree(&got, &wanted);
        }
    }
    if (!wrong && ops->catch_up(engine, &got, NULL)) wrong = "catching up at the end failed";
    if (!wrong) wrong = team_tallies_agree(&got, &wanted);
    if (!wrong && ops->distinct(engine) != expected->distinct) wrong = "wrong number of distinct blocks";
    if (!wrong && ops->cold_known(engine) != expected->cold_known) wrong = "wrong cold_known";
    if (!wrong && ops->memory(engine) > ops->memory_peak(engine)) wrong = "memory is over its own peak";
    ops->destroy(engine);
    fm_tally_clear(&got);
    fm_tally_clear(&wanted);
    free(distances);
    return wrong;
}

static bool check_recipe(const recipe *made)
{
    uint64_t *trace = recipe_trace(made);
    engine_answers expected = engine_answers_make(made->length);
    const way chosen = way_of(made);
    const size_t usual = fm_parda_share;
    fm_seen_limit = made->seen_limit;
    fm_parda_share = chosen.share;
    const char *wrong = engine_expect(made, trace, &expected);
    if (!wrong) wrong = run(made, &chosen, trace, &expected);
    fm_seen_limit = FM_SEEN_LIMIT;
    fm_parda_share = usual;
    if (wrong) {
        fprintf(stderr, "%s: %u threads, shares of %zu, bins %d, in order from %zu\n", wrong, chosen.threads,
                chosen.share, (int)chosen.bins, chosen.ordered_from);
        recipe_print(made);
    }
    engine_answers_free(&expected);
    free(trace);
    return !wrong;
}

static void test_generated_traces(void **state)
{
    (void)state;
    const uint64_t seed = from_environment("FATHOM_TEST_SEED", 20240613);
    const uint64_t traces = from_environment("FATHOM_TEST_TRACES", TRACES);
    const uint64_t only = from_environment("FATHOM_TEST_ONLY", UINT64_MAX);
    uint64_t bad = 0;
    for (uint64_t index = 0; index < traces && bad < 5; index++) {
        if (only != UINT64_MAX && index != only) continue;
        const recipe made = recipe_make(seed, index);
        bad += !check_recipe(&made);
    }
    assert_int_equal(bad, 0);
}

/* Through the public door, with more blocks and phases of the usual size: `exact` is the judge. */
static void test_profiles(void **state)
{
    (void)state;
    if (getenv("FATHOM_TEST_ONLY")) return;
    enum { LENGTH = 1200000 };
    static const struct {
        uint64_t keys, bound;
        unsigned threads;
    } cases[] = {{600000, 0, 3}, {400000, 20000, 4}, {1000, 0, 2}, {1200000, 1, 2}};
    uint64_t *trace = malloc(LENGTH * sizeof *trace);
    if (!trace) abort();
    for (size_t c = 0; c < sizeof cases / sizeof cases[0]; c++) {
        recipe_random random = {c};
        for (size_t i = 0; i < LENGTH; i++) trace[i] = recipe_below(&random, cases[c].keys);
        fm_profile *profile[2];
        for (int parda = 0; parda < 2; parda++) {
            fm_analyzer_options options = {.engine = parda ? "parda" : "exact",
                                           .bound = cases[c].bound,
                                           .threads = parda ? cases[c].threads : 1,
                                           .bins = FM_BINS_EXACT};
            fm_analyzer *analyzer;
            assert_int_equal(fm_analyzer_create(&analyzer, &options, NULL), FM_OK);
            assert_int_equal(fm_analyzer_feed_blocks(analyzer, trace, LENGTH, NULL), FM_OK);
            assert_int_equal(fm_analyzer_profile(analyzer, &profile[parda], NULL), FM_OK);
            fm_analyzer_destroy(analyzer);
        }
        const fm_profile *one = profile[0], *many = profile[1];
        assert_string_equal(many->engine, "parda");
        assert_int_equal(one->references, many->references);
        assert_int_equal(one->distinct, many->distinct);
        assert_int_equal(one->cold, many->cold);
        assert_int_equal(one->beyond, many->beyond);
        assert_int_equal(one->cold_known, many->cold_known);
        assert_int_equal(one->distances.count, many->distances.count);
        for (size_t i = 0; i < one->distances.count; i++)
            assert_memory_equal(&one->distances.bins[i], &many->distances.bins[i], sizeof(fm_bin));
        fm_profile_destroy(profile[0]);
        fm_profile_destroy(profile[1]);
    }
    free(trace);
}

/* Memory must not grow with the trace: a phase has a size of its own. */
static void test_memory(void **state)
{
    (void)state;
    enum { BATCH = 100000, BATCHES = 60, KEYS = 5000 };
    static uint64_t blocks[BATCH];
    const fm_engine_options options = {.seed = 3, .threads = 2};
    fm_engine *engine;
    fm_tally tally;
    size_t done;
    uint64_t early = 0;
    assert_int_equal(fm_engine_parda.create(&engine, &options, NULL), FM_OK);
    assert_int_equal(fm_tally_create(&tally, FM_BINS_LOG2, NULL), FM_OK);
    for (size_t batch = 0; batch < BATCHES; batch++) {
        for (size_t i = 0; i < BATCH; i++) blocks[i] = (batch + i * 7) % KEYS;
        assert_int_equal(fm_engine_parda.count(engine, blocks, BATCH, &tally, &done, NULL), FM_OK);
        if (batch == BATCHES / 2) early = fm_engine_parda.memory_peak(engine);
    }
    assert_int_equal(fm_engine_parda.catch_up(engine, &tally, NULL), FM_OK);
    assert_int_equal(fm_engine_parda.memory_peak(engine), early);
    assert_true(early < 2 * fm_parda_share * sizeof(uint64_t) + KEYS * 200 + 1000000);
    assert_int_equal(tally.total + tally.cold, (uint64_t)BATCH * BATCHES);
    assert_int_equal(tally.cold, KEYS);
    fm_engine_parda.destroy(engine);
    fm_tally_clear(&tally);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_generated_traces),
        cmocka_unit_test(test_profiles),
        cmocka_unit_test(test_memory),
    };
    return cmocka_run_group_tests_name("engine parda", tests, NULL, NULL);
}

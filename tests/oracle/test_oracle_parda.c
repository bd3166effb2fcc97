/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_oracle_parda.c - the engine `parda` with several threads counts what the list engine finds, on
 * thousands of generated traces (trace_recipe.h): 1 to 8 threads, shares from one reference up, bounds from 1
 * up, traces shorter than the number of threads, results asked for in between, distances in order after
 * counting.
 *
 *     FATHOM_TEST_SEED, FATHOM_TEST_TRACES, FATHOM_TEST_ONLY   as in test_oracle_engines.c
 */
#include "case.h"

#include "cluster/parda.h"
#include "oracle/counting_run.h"

enum { TRACES = 250 };

/* How a recipe goes through the engine; follows from its seed. */
typedef struct way {
    counting_way counting;
    size_t share;
} way;

static way way_of(const recipe *made)
{
    static const size_t shares[] = {1, 2, 3, 7, 64, 447, 1000, 20000};
    recipe_random random = {made->seed ^ 4};
    way chosen = {.counting.threads = 1 + (unsigned)recipe_below(&random, 8),
                  .share = shares[recipe_below(&random, sizeof shares / sizeof shares[0])],
                  .counting.bins = (fm_bins)recipe_below(&random, 3),
                  .counting.catch_up_one_in = recipe_chance(&random, 3) ? 4 : 1000000,
                  .counting.ordered_from = made->length};
    /* A few hundred phases are enough. */
    if (chosen.share < made->length / 300) chosen.share = made->length / 300;
    if (recipe_chance(&random, 4))
        chosen.counting.ordered_from = (size_t)recipe_below(&random, made->length + 1);
    return chosen;
}

static const char *run_parda(const recipe *made, const uint64_t *trace, const engine_answers *expected,
                             char *how, size_t size)
{
    const way chosen = way_of(made);
    const size_t usual = fm_parda_share;
    fm_parda_share = chosen.share;
    const char *wrong = counting_run(&fm_engine_parda, made, &chosen.counting, trace, expected);
    fm_parda_share = usual;
    if (wrong) fprintf(stderr, "shares of %zu\n", chosen.share);
    counting_way_print(&chosen.counting, how, size);
    return wrong;
}

static bool check_recipe(const recipe *made)
{
    return recipe_agrees(made, run_parda);
}

CASE(test_generated_traces)
{
    const uint64_t traces = from_environment("FATHOM_TEST_TRACES", TRACES);
    assert_int_equal(recipes_failing(check_recipe, 20240613, traces), 0);
}

/* Through the public door, with more blocks and phases of the usual size: `exact` is the judge. */
CASE(test_profiles)
{
    if (getenv("FATHOM_TEST_ONLY")) return;
    const size_t length = large_length(1200000);
    static const struct {
        uint64_t keys, bound;
        unsigned threads;
    } cases[] = {{600000, 0, 3}, {400000, 20000, 4}, {1000, 0, 2}, {1200000, 1, 2}};
    uint64_t *trace = malloc(length * sizeof *trace);
    if (!trace) abort();
    const size_t usual = fm_parda_share;
    fm_parda_share = usual / large_divisor(); /* as many phases of fewer references */
    for (size_t c = 0; c < sizeof cases / sizeof cases[0]; c++) {
        recipe_random random = {c};
        for (size_t i = 0; i < length; i++) trace[i] = recipe_below(&random, cases[c].keys);
        fm_profile *profile[2];
        for (int parda = 0; parda < 2; parda++) {
            fm_analyzer_options options = {.engine = parda ? "parda" : "exact",
                                           .bound = cases[c].bound,
                                           .threads = parda ? cases[c].threads : 1,
                                           .bins = FM_BINS_EXACT};
            fm_analyzer *analyzer;
            assert_int_equal(fm_analyzer_create(&analyzer, &options, NULL), FM_OK);
            assert_int_equal(fm_analyzer_feed_blocks(analyzer, trace, length, NULL), FM_OK);
            assert_int_equal(fm_analyzer_profile(analyzer, &profile[parda], NULL), FM_OK);
            fm_analyzer_destroy(analyzer);
        }
        assert_string_equal(profile[1]->engine, "parda");
        assert_same_counts(profile[0], profile[1]);
        fm_profile_destroy(profile[0]);
        fm_profile_destroy(profile[1]);
    }
    fm_parda_share = usual;
    free(trace);
}

/* Memory must not grow with the trace: a phase has a size of its own. */
CASE(test_memory)
{
    enum { BATCH = 12500, BATCHES = 60, KEYS = 5000 };
    static uint64_t blocks[BATCH];
    const size_t usual = fm_parda_share;
    fm_parda_share = usual / 8;
    const fm_engine_options options = {.seed = 3, .threads = 2};
    fm_engine *engine;
    fm_tally tally;
    size_t done;
    uint64_t early = 0;
    assert_int_equal(fm_engine_parda.create(&engine, &options, NULL), FM_OK);
    assert_int_equal(fm_tally_create(&tally, FM_BINS_LOG2, NULL), FM_OK);
    for (size_t batch = 0; batch < BATCHES; batch++) {
        for (size_t i = 0; i < BATCH; i++) blocks[i] = (batch + i * 7) % KEYS;
        assert_int_equal(count_blocks(&fm_engine_parda, engine, blocks, BATCH, &tally, &done, NULL), FM_OK);
        if (batch == BATCHES / 2) early = fm_engine_parda.memory_peak(engine);
    }
    assert_int_equal(catch_up(&fm_engine_parda, engine, &tally, NULL), FM_OK);
    assert_int_equal(fm_engine_parda.memory_peak(engine), early);
    assert_true(early < 2 * fm_parda_share * sizeof(uint64_t) + KEYS * 200 + 1000000);
    assert_int_equal(tally.total + tally.cold, (uint64_t)BATCH * BATCHES);
    assert_int_equal(tally.cold, KEYS);
    fm_engine_parda.destroy(engine);
    fm_tally_clear(&tally);
    fm_parda_share = usual;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_oracle_approx.c - what `approx` promises is kept for every single reference, judged by the list engine
 * on thousands of generated traces: errors from 0.001 to 0.5, and absolute ones with and without a cutoff.
 * The number of nodes stays under the bound of Ding & Zhong's Proposition 2.1, and a merge halves it.
 *
 *     FATHOM_TEST_SEED=N     other traces
 *     FATHOM_TEST_TRACES=N   more (or fewer) of them
 */
#include "case.h"

#include "engine/approximate/merged_stack.h"
#include "oracle/engine_run.h"

enum { TRACES = 2000 };

/* ---- the promise ---- */

typedef struct promise {
    double relative_error;
    uint64_t absolute_error, cutoff; /* instead, where it is not 0 */
} promise;

static void ask_for(const promise *promised, fm_engine_options *options)
{
    char own[100];
    if (promised->absolute_error)
        snprintf(own, sizeof own, "abs-error=%" PRIu64 ",cutoff=%" PRIu64, promised->absolute_error,
                 promised->cutoff);
    else
        snprintf(own, sizeof own, "error=%.17g", promised->relative_error);
    engine_own_options(&fm_engine_approx, own, options);
}

static bool keeps_promise(const promise *promised, uint64_t actual, uint64_t told)
{
    if (actual == FM_COLD || told == FM_COLD) return actual == told;
    if (told > actual) return false;
    if (promised->absolute_error)
        return actual - told <= promised->absolute_error && (actual >= promised->cutoff || told == actual);
    return (long double)actual * (1 - (long double)promised->relative_error) <= (long double)told + 1e-12L;
}

/* Errors of all sizes; for every trace another. */
static promise promise_of(uint64_t index)
{
    static const double errors[] = {0.001, 0.002, 0.01, 0.05, 0.1, 0.2, 0.3, 0.4999, 0.5};
    static const uint64_t blocks[] = {1, 2, 3, 7, 64, 500, UINT64_MAX};
    static const uint64_t cutoffs[] = {0, 1, 2, 16, 100, 1000};
    if (index % 2 == 0) return (promise){.relative_error = errors[index / 2 % 9]};
    return (promise){.absolute_error = blocks[index / 2 % 7], .cutoff = cutoffs[index / 14 % 6]};
}

static recipe unbounded_recipe(uint64_t seed, uint64_t index)
{
    recipe made = recipe_make(seed, index);
    made.bound = 0;
    made.seen_limit = UINT64_MAX;
    made.times = true;
    return made;
}

/* ---- the engine, through its own door ---- */

static fm_engine *created(const recipe *made, const promise *promised)
{
    fm_engine_options options = engine_options_of(made);
    ask_for(promised, &options);
    fm_engine *engine;
    assert_int_equal(fm_engine_approx.create(&engine, &options, NULL), FM_OK);
    return engine;
}

static void check_engine(const recipe *made, const promise *promised, const uint64_t *trace,
                         const engine_answers *expected, engine_answers *got)
{
    fm_engine *engine = created(made, promised);
    recipe_random random = {made->seed ^ 77};
    for (size_t i = 0; i < made->length;) {
        size_t chunk = 1 + recipe_below(&random, made->chunk_most), done = 0;
        if (chunk > made->length - i) chunk = made->length - i;
        assert_int_equal(feed_blocks(&fm_engine_approx, engine, trace + i, chunk, got->distances + i,
                                     got->times + i, &done, NULL),
                         FM_OK);
        assert_int_equal(done, chunk);
        i += chunk;
    }
    assert_int_equal(fm_engine_approx.distinct(engine), expected->distinct);
    assert_true(fm_engine_approx.memory(engine) <= fm_engine_approx.memory_peak(engine));
    fm_engine_approx.destroy(engine);
    for (size_t i = 0; i < made->length; i++) {
        /* NOLINTNEXTLINE(clang-analyzer-core.CallAndMessage): the loop above has filled them */
        if (keeps_promise(promised, expected->distances[i], got->distances[i]) &&
            got->times[i] == expected->times[i])
            continue;
        recipe_print(made);
        fail_msg("error %g, %" PRIu64 " blocks, cutoff %" PRIu64 ": reference %zu has distance %" PRIu64
                 ", told %" PRIu64,
                 promised->relative_error, promised->absolute_error, promised->cutoff, i,
                 expected->distances[i], got->distances[i]);
    }
}

/* ---- the number of nodes ---- */

static double proven_bound(const promise *promised, uint64_t distinct)
{
    double blocks = distinct > 1 ? (double)distinct : 1;
    if (promised->relative_error > 0) {
        double share = promised->relative_error / (1 - promised->relative_error);
        return 4 * log(blocks) / log(1 + share) + 4;
    }
    return 2 * fmin((double)promised->cutoff, blocks) + 4 * blocks / ((double)promised->absolute_error + 1) +
           6;
}

/* The stack alone, fed with the times that the list engine told. */
static void check_nodes(const recipe *made, const promise *promised, const engine_answers *expected)
{
    fm_merge_rule rule = {promised->relative_error, promised->absolute_error, promised->cutoff};
    fm_merged_stack stack;
    fm_merged_stack_start(&stack, &rule);
    uint64_t distinct = 0;
    for (size_t i = 0; i < made->length; i++) {
        const bool merges = stack.count == stack.limit;
        const double most = proven_bound(promised, distinct);
        assert_int_equal(fm_merged_stack_reserve(&stack, 1, NULL), FM_OK);
        if (expected->distances[i] == FM_COLD) {
            fm_merged_stack_first(&stack);
            distinct++;
        } else {
            uint64_t told = fm_merged_stack_reuse(&stack, i - expected->times[i]);
            assert_true(keeps_promise(promised, expected->distances[i], told));
        }
        assert_true((double)stack.count <= proven_bound(promised, distinct));
        assert_int_equal(stack.live, distinct);
        if (merges) assert_true((double)(stack.count - 1) <= most / 2);
    }
    fm_merged_stack_clear(&stack);
}

CASE(test_generated_traces)
{
    const uint64_t seed = from_environment("FATHOM_TEST_SEED", 20030609);
    const uint64_t traces = from_environment("FATHOM_TEST_TRACES", TRACES);
    for (uint64_t index = 0; index < traces; index++) {
        recipe made = unbounded_recipe(seed, index);
        uint64_t *trace = recipe_trace(&made);
        engine_answers expected = engine_answers_make(made.length), got = engine_answers_make(made.length);
        const char *wrong = engine_expect(&made, trace, &expected);
        if (wrong) fail_msg("%s", wrong);
        promise promised = promise_of(index);
        check_engine(&made, &promised, trace, &expected, &got);
        check_nodes(&made, &promised, &expected);
        engine_answers_free(&expected);
        engine_answers_free(&got);
        free(trace);
    }
}

/* ---- more blocks than the list engine can hold ---- */

/*
 * The paper's own test: M blocks are swept through in pieces of M/100, each piece twice, so that every reuse
 * has the same distance, and the time of the last use is known without a table. Here the blocks are 10^7; in
 * bench/bench_approx.c, 10^12.
 */
CASE(test_closed_form)
{
    enum { BLOCKS = 10000000, PIECE = BLOCKS / 100 };
    static const double errors[] = {0.001, 0.01, 0.3};
    for (size_t e = 0; e < 3; e++) {
        fm_merge_rule rule = {.relative_error = errors[e]};
        promise promised = {.relative_error = errors[e]};
        fm_merged_stack stack;
        fm_merged_stack_start(&stack, &rule);
        assert_int_equal(fm_merged_stack_reserve(&stack, BLOCKS, NULL), FM_OK);
        for (int piece = 0; piece < 100; piece++) {
            for (int i = 0; i < PIECE; i++) fm_merged_stack_first(&stack);
            for (int i = 0; i < PIECE; i++) {
                uint64_t told = fm_merged_stack_reuse(&stack, stack.clock - PIECE);
                assert_true(keeps_promise(&promised, PIECE - 1, told));
            }
        }
        assert_true((double)stack.count <= proven_bound(&promised, BLOCKS));
        fm_merged_stack_clear(&stack);
    }
}

/* ---- through the public door ---- */

CASE(test_profile_says_so)
{
    static const char *const own[] = {NULL, "error=0.2", "abs-error=5", "abs-error=5,cutoff=9"};
    static const promise asked[] = {{.relative_error = 0.01}, /* the usual one */
                                    {.relative_error = 0.2},
                                    {.absolute_error = 5},
                                    {.absolute_error = 5, .cutoff = 9}};
    for (size_t i = 0; i < 4; i++) {
        fm_analyzer_options options = {.engine = "approx", .engine_options = own[i], .seed = 5};
        fm_analyzer *analyzer;
        fm_profile *profile;
        assert_int_equal(fm_analyzer_create(&analyzer, &options, NULL), FM_OK);
        const uint64_t blocks[] = {1, 2, 3, 1, 1};
        assert_int_equal(fm_analyzer_feed_blocks(analyzer, blocks, 5, NULL), FM_OK);
        assert_int_equal(fm_analyzer_profile(analyzer, &profile, NULL), FM_OK);
        assert_false(profile->exact);
        assert_string_equal(profile->engine, "approx");
        assert_non_null(profile->accuracy);
        assert_non_null(profile->accuracy->statement);
        assert_true(profile->accuracy->relative_error == asked[i].relative_error);
        assert_int_equal(profile->accuracy->absolute_error, asked[i].absolute_error);
        assert_int_equal(profile->accuracy->exact_below, asked[i].cutoff);
        assert_int_equal(profile->references, 5);
        assert_int_equal(profile->cold, 3);
        fm_profile_destroy(profile);
        fm_analyzer_destroy(analyzer);
    }
}

CASE(test_refusals)
{
    static const char *const bad[] = {
        "error=1", "error=-0.1", "error=nan", "error=0.1,abs-error=5", "error=0.1,cutoff=5", "cutoff=5"};
    fm_analyzer *analyzer;
    fm_error error;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        fm_analyzer_options options = {.engine = "approx", .engine_options = bad[i]};
        assert_int_equal(fm_analyzer_create(&analyzer, &options, &error), FM_E_ARGUMENT);
        assert_null(analyzer);
    }
    fm_analyzer_options bounded = {.engine = "approx", .bound = 5};
    assert_int_equal(fm_analyzer_create(&analyzer, &bounded, &error), FM_E_ARGUMENT);
}

/* Stops before the limit, and everything up to there is counted. */
CASE(test_memory_limit)
{
    static const promise asked[] = {{.relative_error = 0.001}, {.absolute_error = 1}};
    for (size_t i = 0; i < 2; i++) {
        fm_engine_options options = {.seed = 3, .max_memory = 16 << 20};
        ask_for(&asked[i], &options);
        fm_engine *engine;
        assert_int_equal(fm_engine_approx.create(&engine, &options, NULL), FM_OK);
        uint64_t fed = 0, distances[1000], blocks[1000];
        fm_status status = FM_OK;
        size_t done = 0;
        while (status == FM_OK) {
            for (size_t j = 0; j < 1000; j++) blocks[j] = fed + j;
            status = feed_blocks(&fm_engine_approx, engine, blocks, 1000, distances, NULL, &done, NULL);
            fed += done;
            assert_true(fm_engine_approx.memory_peak(engine) <= 16 << 20);
        }
        assert_int_equal(status, FM_E_LIMIT);
        assert_int_equal(fm_engine_approx.distinct(engine), fed);
        assert_true(fed >= 50000);
        fm_engine_approx.destroy(engine);
    }
}

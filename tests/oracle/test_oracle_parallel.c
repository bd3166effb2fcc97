/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_oracle_parallel.c - `exact` with several threads counts what the list engine finds, on thousands of
 * generated traces (trace_recipe.h): 1 to 8 threads, pieces from one reference up, bounds from 1 up, traces
 * shorter than a piece and than the number of threads, results asked for in between, distances in order after
 * counting.
 *
 *     FATHOM_TEST_SEED, FATHOM_TEST_TRACES, FATHOM_TEST_ONLY   as in test_oracle_engines.c
 */
#include "engine/parallel.h"
#include "oracle/engine_run.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

enum { TRACES = 4000, TRACES_PER_LONG_ONE = 400 };

static uint64_t from_environment(const char *name, uint64_t usual)
{
    const char *text = getenv(name);
    return text && *text ? strtoull(text, NULL, 0) : usual;
}

/* How a recipe goes through the engine; follows from its seed. */
typedef struct way {
    unsigned threads;
    size_t piece, least;
    fm_bins bins;
    unsigned catch_up_one_in; /* calls after which results are asked for */
    size_t ordered_from;      /* reference from which on distances are wanted in order */
    const char *isa;
} way;

static way way_of(const recipe *made)
{
    recipe_random random = {made->seed ^ 4};
    way chosen = {.threads = 1 + (unsigned)recipe_below(&random, 8),
                  .bins = (fm_bins)recipe_below(&random, 3)};
    static const size_t pieces[] = {1, 2, 3, 7, 64, 447, 448, 449, 1000, 4095, 4096, 4097, 20000};
    chosen.piece = pieces[recipe_below(&random, sizeof pieces / sizeof pieces[0])];
    if (made->length > 100000) chosen.piece = 2000 + (size_t)recipe_below(&random, 100000);
    chosen.least = recipe_chance(&random, 8) ? (size_t)recipe_below(&random, made->length + 2) : 0;
    chosen.catch_up_one_in = recipe_chance(&random, 3) ? 4 : 1000000;
    chosen.ordered_from =
        recipe_chance(&random, 4) ? (size_t)recipe_below(&random, made->length + 1) : made->length;
    size_t isas = 0;
    while (fm_isa_at(isas)) isas++;
    chosen.isa = fm_isa_at((size_t)recipe_below(&random, isas));
    return chosen;
}

static const char *compare_tallies(const fm_tally *got, const fm_tally *wanted)
{
    if (got->cold != wanted->cold) return "wrong number of first touches";
    if (got->beyond != wanted->beyond) return "wrong number beyond the bound";
    if (got->total != wanted->total) return "wrong total";
    const uint64_t end = got->capacity > wanted->capacity ? got->capacity : wanted->capacity;
    for (uint64_t b = 0; b < end; b++)
        if ((b < got->capacity ? got->counts[b] : 0) != (b < wanted->capacity ? wanted->counts[b] : 0))
            return "a wrong bin";
    return NULL;
}

/* One call with a random number of references from number `at` on: counted, or found in order. */
static const char *give(fm_engine *engine, const way *chosen, const uint64_t *trace, size_t at, size_t count,
                        const engine_answers *expected, fm_tally *got, fm_tally *wanted, uint64_t *distances)
{
    const fm_engine_ops *ops = &fm_engine_parallel;
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
    const fm_engine_ops *ops = &fm_engine_parallel;
    fm_engine_options options = engine_options_of(made);
    options.time_distances = false;
    options.threads = chosen->threads;
    options.isa = chosen->isa;
    fm_parallel_piece = chosen->piece;
    fm_parallel_least = chosen->least;
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
            if (!wrong) wrong = compare_tallies(&got, &wanted);
        }
    }
    if (!wrong && ops->catch_up(engine, &got, NULL)) wrong = "catching up at the end failed";
    if (!wrong) wrong = compare_tallies(&got, &wanted);
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
    const size_t usual_piece = fm_parallel_piece, usual_least = fm_parallel_least;
    fm_seen_limit = made->seen_limit;
    const char *wrong = engine_expect(made, trace, &expected);
    if (!wrong) wrong = run(made, &chosen, trace, &expected);
    fm_seen_limit = FM_SEEN_LIMIT;
    fm_parallel_piece = usual_piece;
    fm_parallel_least = usual_least;
    if (wrong) {
        fprintf(stderr, "%s: %u threads, pieces of %zu, from %zu on, bins %d, in order from %zu, %s\n", wrong,
                chosen.threads, chosen.piece, chosen.least, (int)chosen.bins, chosen.ordered_from,
                chosen.isa);
        recipe_print(made);
    }
    engine_answers_free(&expected);
    free(trace);
    return !wrong;
}

static void test_generated_traces(void **state)
{
    (void)state;
    const uint64_t seed = from_environment("FATHOM_TEST_SEED", 20240604);
    const uint64_t traces = from_environment("FATHOM_TEST_TRACES", TRACES);
    const uint64_t only = from_environment("FATHOM_TEST_ONLY", UINT64_MAX);
    uint64_t bad = 0;
    if (only != UINT64_MAX) {
        const recipe made =
            only >= RECIPE_FIRST_LONG ? recipe_make_long(seed, only) : recipe_make(seed, only);
        assert_true(check_recipe(&made));
        return;
    }
    for (uint64_t index = 0; index < traces && bad < 5; index++) {
        const recipe made = recipe_make(seed, index);
        bad += !check_recipe(&made);
    }
    assert_int_equal(bad, 0);
}

/* Long enough for the window to restart. */
static void test_long_traces(void **state)
{
    (void)state;
    if (getenv("FATHOM_TEST_ONLY")) return;
    const uint64_t seed = from_environment("FATHOM_TEST_SEED", 20240604);
    const uint64_t traces = from_environment("FATHOM_TEST_TRACES", TRACES) / TRACES_PER_LONG_ONE;
    uint64_t bad = 0;
    for (uint64_t index = 0; index < traces && bad < 3; index++) {
        const recipe made = recipe_make_long(seed, RECIPE_FIRST_LONG + index);
        bad += !check_recipe(&made);
    }
    assert_int_equal(bad, 0);
}

/* More live blocks than the list engine can take: one thread of `exact` is the judge. */
static void test_many_live_blocks(void **state)
{
    (void)state;
    if (getenv("FATHOM_TEST_ONLY")) return;
    enum { LENGTH = 3000000 };
    static const struct {
        uint64_t keys, bound;
        unsigned threads;
    } cases[] = {{1500000, 0, 3}, {900000, 20000, 4}, {100000, 0, 8}, {3000000, 1, 2}};
    uint64_t *trace = malloc(LENGTH * sizeof *trace);
    if (!trace) abort();
    for (size_t c = 0; c < sizeof cases / sizeof cases[0]; c++) {
        recipe_random random = {c};
        for (size_t i = 0; i < LENGTH; i++) trace[i] = recipe_below(&random, cases[c].keys);
        fm_profile *profile[2];
        for (int several = 0; several < 2; several++) {
            fm_analyzer_options options = {
                .bound = cases[c].bound, .threads = several ? cases[c].threads : 1, .bins = FM_BINS_EXACT};
            fm_analyzer *analyzer;
            assert_int_equal(fm_analyzer_create(&analyzer, &options, NULL), FM_OK);
            assert_int_equal(fm_analyzer_feed_blocks(analyzer, trace, LENGTH, NULL), FM_OK);
            assert_int_equal(fm_analyzer_profile(analyzer, &profile[several], NULL), FM_OK);
            assert_true(fm_analyzer_memory(analyzer) <= fm_analyzer_memory_peak(analyzer));
            fm_analyzer_destroy(analyzer);
        }
        const fm_profile *one = profile[0], *many = profile[1];
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_generated_traces),
        cmocka_unit_test(test_long_traces),
        cmocka_unit_test(test_many_live_blocks),
    };
    return cmocka_run_group_tests_name("several threads", tests, NULL, NULL);
}

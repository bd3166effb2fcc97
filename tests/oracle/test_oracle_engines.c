/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_oracle_engines.c - every engine, and every instruction set of the default one, equals the list
 * engine reference by reference on thousands of generated traces (trace_recipe.h); and the list engine
 * equals the definition, computed naively.
 *
 *     FATHOM_TEST_SEED=N     other traces
 *     FATHOM_TEST_TRACES=N   more (or fewer) of them; one long one for every 500
 *     FATHOM_TEST_ONLY=N     just the one a failure named
 */
#include "case.h"

#include "oracle/engine_run.h"

enum { TRACES = 1500, TRACES_PER_LONG_ONE = 500 };

/* ---- the definition ---- */

static void by_definition(const uint64_t *trace, size_t length, uint64_t *distances, uint64_t *times)
{
    for (size_t i = 0; i < length; i++) {
        distances[i] = times[i] = FM_COLD;
        for (size_t last = i; last-- > 0;) {
            if (trace[last] != trace[i]) continue;
            uint64_t distinct = 0;
            for (size_t j = last + 1; j < i; j++) {
                bool repeated = false;
                for (size_t k = last + 1; k < j && !repeated; k++) repeated = trace[k] == trace[j];
                distinct += !repeated;
            }
            distances[i] = distinct;
            times[i] = i - last;
            break;
        }
    }
}

CASE(test_list_is_the_definition)
{
    for (uint64_t index = 0; index < 2000; index++) {
        recipe made = recipe_make(4711, index);
        if (made.length > 150) made.length %= 150;
        if (made.alphabet > made.length) made.alphabet = made.length ? made.length : 1;
        made.times = true;
        made.seen_limit = UINT64_MAX;
        uint64_t *trace = recipe_trace(&made);
        engine_answers expected = engine_answers_make(made.length), got = engine_answers_make(made.length);
        by_definition(trace, made.length, expected.distances, expected.times);
        expected.distinct = 0;
        for (size_t i = 0; i < made.length; i++) {
            if (expected.distances[i] == FM_COLD)
                expected.distinct++;
            else if (made.bound && expected.distances[i] >= made.bound)
                expected.distances[i] = FM_BEYOND;
        }
        assert_null(engine_answer(&fm_engine_list, NULL, &made, trace, &got));
        assert_true(engine_answers_agree("list against the definition", &made, trace, &expected, &got));
        engine_answers_free(&expected);
        engine_answers_free(&got);
        free(trace);
    }
}

/* ---- the contract's examples, for every engine ---- */

typedef void (*engine_visitor)(const fm_engine_ops *ops, const char *isa, const char *who);

static void for_every_engine(engine_visitor visit)
{
    for (size_t e = 0; fm_engine_at(e); e++) {
        const fm_engine_ops *ops = fm_engine_find(fm_engine_at(e)->name);
        assert_non_null(ops);
        if (!ops->info.exact) continue; /* test_oracle_approx.c */
        if (!ops->feed) continue;       /* it gathers batches; test_oracle_gpu.c, test_oracle_hp_rda.c */
        visit(ops, NULL, ops->info.name);
        if (strcmp(ops->info.name, "exact") != 0) continue;
        for (size_t i = 0; fm_isa_at(i); i++) visit(ops, fm_isa_at(i), fm_isa_at(i));
    }
}

static void check_examples(const fm_engine_ops *ops, const char *isa, const char *who)
{
    (void)who;
    static const uint64_t blocks[] = {'a', 'a', 'b', 'c', 'b', 'a'};
    static const uint64_t distances[] = {FM_COLD, 0, FM_COLD, FM_COLD, 1, 2};
    static const uint64_t times[] = {FM_COLD, 1, FM_COLD, FM_COLD, 2, 4};
    fm_engine_options options = {.seed = 1, .time_distances = true, .isa = isa};
    fm_engine *engine;
    uint64_t got[6], got_times[6];
    size_t done = 0;
    assert_int_equal(ops->create(&engine, &options, NULL), FM_OK);
    assert_int_equal(ops->distinct(engine), 0);
    assert_int_equal(feed_blocks(ops, engine, blocks, 6, got, got_times, &done, NULL), FM_OK);
    assert_int_equal(done, 6);
    assert_memory_equal(got, distances, sizeof distances);
    assert_memory_equal(got_times, times, sizeof times);
    assert_int_equal(ops->distinct(engine), 3);
    assert_true(ops->cold_known(engine));
    assert_int_equal(feed_blocks(ops, engine, blocks, 0, got, got_times, &done, NULL), FM_OK);
    assert_int_equal(done, 0);
    ops->destroy(engine);
    ops->destroy(NULL);
}

CASE(test_contract_examples)
{
    for_every_engine(check_examples);
}

CASE(test_table_of_engines)
{
    assert_string_equal(fm_engine_at(0)->name, "exact");
    assert_string_equal(fm_engine_at(1)->name, "tree");
    assert_string_equal(fm_engine_at(2)->name, "list");
    assert_string_equal(fm_engine_at(3)->name, "parda");
    assert_string_equal(fm_engine_at(4)->name, "approx");
    assert_string_equal(fm_engine_at(5)->name, "shards");
    assert_string_equal(fm_engine_at(6)->name, "aet");
    assert_string_equal(fm_engine_at(7)->name, "gpu");
    assert_string_equal(fm_engine_at(8)->name, "hp-rda");
    assert_string_equal(fm_engine_at(9)->name, "hp-rda-gpu");
    assert_null(fm_engine_at(10));
    assert_null(fm_engine_find("lists"));
    assert_null(fm_engine_find(""));
    assert_ptr_equal(fm_engine_find("tree"), &fm_engine_tree);
}

/* ---- generated traces ---- */

typedef struct sink_state {
    uint64_t *distances;
    size_t count, capacity;
} sink_state;

static fm_status take_distances(void *context, const uint64_t *blocks, const uint64_t *distances,
                                size_t count, fm_error *error)
{
    (void)blocks;
    (void)error;
    sink_state *sink = context;
    if (count > sink->capacity - sink->count) return FM_E_ARGUMENT;
    memcpy(sink->distances + sink->count, distances, count * sizeof *distances);
    sink->count += count;
    return FM_OK;
}

/* The same through the public door. */
static const char *analyzer_answer(const char *engine, const recipe *made, const uint64_t *trace,
                                   engine_answers *got)
{
    fm_analyzer_options options = {
        .engine = engine, .bound = made->bound, .seed = made->engine_seed, .bins = FM_BINS_EXACT};
    fm_analyzer *analyzer;
    if (fm_analyzer_create(&analyzer, &options, NULL)) return "the analyzer was not created";
    sink_state sink = {got->distances, 0, made->length};
    assert_int_equal(fm_analyzer_set_sink(analyzer, take_distances, &sink, NULL), FM_OK);
    recipe_random random = {made->seed ^ 99};
    const char *wrong = NULL;
    for (size_t i = 0; i < made->length && !wrong;) {
        size_t chunk = 1 + recipe_below(&random, made->chunk_most);
        if (chunk > made->length - i) chunk = made->length - i;
        if (fm_analyzer_feed_blocks(analyzer, trace + i, chunk, NULL))
            wrong = "fm_analyzer_feed_blocks failed";
        i += chunk;
    }
    fm_profile *profile = NULL;
    if (!wrong && fm_analyzer_profile(analyzer, &profile, NULL)) wrong = "fm_analyzer_profile failed";
    if (!wrong && (sink.count != made->length || profile->references != made->length))
        wrong = "not every reference was counted";
    if (!wrong) {
        got->distinct = profile->distinct;
        got->cold_known = profile->cold_known;
    }
    fm_profile_destroy(profile);
    fm_analyzer_destroy(analyzer);
    return wrong;
}

static bool agrees(const char *who, const char *wrong, const recipe *made, const uint64_t *trace,
                   const engine_answers *expected, const engine_answers *got)
{
    if (!wrong) return engine_answers_agree(who, made, trace, expected, got);
    fprintf(stderr, "%s: %s\n", who, wrong);
    recipe_print(made);
    return false;
}

/* One engine, fed and counted; NULL, or what was wrong. */
static const char *run_engine(const fm_engine_ops *ops, const char *isa, const recipe *made,
                              const uint64_t *trace, const engine_answers *expected, engine_answers *got)
{
    const char *wrong = engine_answer(ops, isa, made, trace, got);
    if (!wrong) wrong = engine_count_agrees(ops, isa, made, trace, expected);
    return agrees(ops->info.name, wrong, made, trace, expected, got) ? NULL
                                                                     : "it differs from the list engine";
}

static const char *run_engines(const recipe *made, const uint64_t *trace, const engine_answers *expected,
                               char *how, size_t size)
{
    engine_answers got = engine_answers_make(made->length);
    const char *wrong = NULL;
    for (size_t e = 0; !wrong && fm_engine_at(e); e++) {
        const fm_engine_ops *ops = fm_engine_find(fm_engine_at(e)->name);
        if (!ops->info.exact || !ops->feed || ops == &fm_engine_list) continue;
        const bool exact = strcmp(ops->info.name, "exact") == 0;
        for (size_t i = 0; !wrong && (exact ? fm_isa_at(i) != NULL : i == 0); i++) {
            const char *isa = exact ? fm_isa_at(i) : NULL;
            snprintf(how, size, "%s %s", ops->info.name, isa ? isa : "");
            wrong = run_engine(ops, isa, made, trace, expected, &got);
        }
    }
    if (!wrong && made->index % 5 == 0) {
        recipe plain = *made;
        plain.times = false;
        const char *engine = fm_engine_at(made->index / 5 % 2)->name;
        snprintf(how, size, "analyzer of %s", engine);
        wrong = analyzer_answer(engine, &plain, trace, &got);
        if (!agrees(how, wrong, &plain, trace, expected, &got)) wrong = "it differs from the list engine";
    }
    engine_answers_free(&got);
    return wrong;
}

static bool check_recipe(const recipe *made)
{
    return recipe_agrees(made, run_engines);
}

/* Long ones are long enough for windows to be compacted, several times at the least sizes. */
RECIPE_CASES(test, check_recipe, 20240601, TRACES, TRACES_PER_LONG_ONE)

/*
 * Half a million live blocks and more: another level in the exact engine's window, table growth, and under
 * a bound the dropping of blocks before the window is full. The list engine would take hours, so the
 * tree engine is the judge here, which the tests above judged.
 */
CASE(test_many_live_blocks)
{
    if (getenv("FATHOM_TEST_ONLY")) return;
    static const struct {
        uint64_t keys, bound;
        bool times;
    } cases[] = {{600000, 0, false}, {480000, 0, true}, {300000, 1000, true}, {300000, 100000, false}};
    for (size_t c = 0; c < sizeof cases / sizeof cases[0]; c++) {
        recipe made = recipe_make(31, c);
        const uint64_t keys = large_length(cases[c].keys);
        made.length = large_length(1200000);
        made.bound = cases[c].bound;
        made.times = cases[c].times;
        made.seen_limit = FM_SEEN_LIMIT;
        made.chunk_most = 100000;
        uint64_t *trace = malloc(made.length * sizeof *trace);
        if (!trace) abort();
        /* Sweeps that stop at random places and turn round, with some strays: easy for a splay tree. */
        recipe_random random = {c};
        uint64_t at = 0, left = 0, step = 1;
        for (size_t i = 0; i < made.length; i++) {
            if (left-- == 0) {
                left = recipe_below(&random, keys);
                step = i < keys || recipe_chance(&random, 2) ? 1 : keys - 1;
            }
            at = (at + step) % keys;
            trace[i] = recipe_key(&made, recipe_chance(&random, 100) ? recipe_below(&random, keys) : at);
        }
        engine_answers expected = engine_answers_make(made.length), got = engine_answers_make(made.length);
        assert_null(engine_answer(&fm_engine_tree, NULL, &made, trace, &expected));
        for (size_t i = 0; fm_isa_at(i); i++) {
            const char *wrong = engine_answer(&fm_engine_exact, fm_isa_at(i), &made, trace, &got);
            if (!wrong) wrong = engine_count_agrees(&fm_engine_exact, fm_isa_at(i), &made, trace, &expected);
            assert_true(agrees(fm_isa_at(i), wrong, &made, trace, &expected, &got));
        }
        engine_answers_free(&expected);
        engine_answers_free(&got);
        free(trace);
    }
}

/* The largest boundary, 65536, with as few references as show it: the oracle takes seconds on these. */
CASE(test_large_boundaries)
{
    if (getenv("FATHOM_TEST_ONLY")) return;
    static const recipe large[] = {
        {.index = 1000001, .kind = RECIPE_HOT_COLD, .length = 70000, .alphabet = 1, .seed = 7},
        {.index = 1000002, .kind = RECIPE_FRONT, .length = 200000, .alphabet = 17000, .seed = 8},
        {.index = 1000003,
         .kind = RECIPE_UNIFORM,
         .length = 67000,
         .alphabet = 4097,
         .seed = 9,
         .bound = 4096},
        {.index = 1000004,
         .kind = RECIPE_CYCLIC,
         .length = 66000,
         .alphabet = 16384,
         .seed = 10,
         .bound = 16383},
    };
    const bool all = large_divisor() == 1; /* otherwise those where few blocks are passed by */
    for (size_t i = all ? 0 : 1; i < (all ? sizeof large / sizeof large[0] : 3); i++) {
        recipe made = large[i];
        made.seen_limit = FM_SEEN_LIMIT;
        made.engine_seed = 3;
        made.chunk_most = 9999;
        made.first_time = (UINT64_C(1) << 32) - 65536;
        assert_true(check_recipe(&made));
    }
}

/* The seed of the hash must not show in the answers. */
CASE(test_seeds)
{
    for (uint64_t seed = 1; seed <= 30; seed++) {
        recipe made = recipe_make(99, 5000 + seed);
        made.engine_seed = seed % 2 ? seed : UINT64_MAX - seed;
        assert_true(check_recipe(&made));
    }
}

/* ---- memory limits ---- */

/* Feeds new blocks until the engine refuses; returns how many it took. */
static uint64_t feed_to_the_limit(const fm_engine_ops *ops, fm_engine *engine, uint64_t most, fm_error *error)
{
    enum { CHUNK = 5000 };
    uint64_t blocks[CHUNK], distances[CHUNK], taken = 0;
    fm_status status = FM_OK;
    while (taken <= most && !status) {
        size_t done = CHUNK + 1;
        for (uint64_t i = 0; i < CHUNK; i++) blocks[i] = (taken + i) * 4096;
        status = feed_blocks(ops, engine, blocks, CHUNK, distances, NULL, &done, error);
        assert_true(done <= CHUNK);
        for (size_t i = 0; i < done; i++) assert_true(distances[i] == FM_COLD);
        taken += done;
    }
    assert_int_equal(status, FM_E_LIMIT);
    return taken;
}

static void check_limit(const fm_engine_ops *ops, const char *isa, const char *who)
{
    (void)who;
    fm_engine_options options = {.seed = 5, .isa = isa};
    fm_engine *engine;
    assert_int_equal(ops->create(&engine, &options, NULL), FM_OK);
    uint64_t least = ops->memory_peak(engine);
    ops->destroy(engine);

    fm_error error = {0};
    options.max_memory = 1;
    engine = NULL;
    assert_int_equal(ops->create(&engine, &options, &error), FM_E_LIMIT);
    assert_null(engine);

    for (uint64_t extra = 0; extra < 300000; extra += 60000) {
        options.max_memory = least + extra;
        memset(&error, 0, sizeof error);
        assert_int_equal(ops->create(&engine, &options, &error), FM_OK);
        /* Whoever holds blocks exactly needs more than six bytes for each. */
        uint64_t taken = feed_to_the_limit(ops, engine, options.max_memory / 6, &error);
        assert_true(taken > 0);
        assert_true(ops->memory_peak(engine) <= options.max_memory);
        assert_int_equal(ops->distinct(engine), taken);
        char limit[32];
        snprintf(limit, sizeof limit, "%" PRIu64, options.max_memory);
        assert_non_null(strstr(error.reason, limit));
        /* It stands exactly after those taken, and goes on with blocks that need no more room; but an engine
         * may make room for a whole chunk before it looks at the blocks, and then refuses again. */
        uint64_t block = 0, distance = 7;
        size_t done = 9;
        fm_status status = feed_blocks(ops, engine, &block, 1, &distance, NULL, &done, &error);
        if (ops == &fm_engine_tree || ops == &fm_engine_list) assert_int_equal(status, FM_OK);
        if (status == FM_OK) {
            assert_int_equal(distance, taken - 1);
            assert_int_equal(feed_blocks(ops, engine, &block, 1, &distance, NULL, &done, &error), FM_OK);
            assert_int_equal(distance, 0);
        }
        block = taken * 4096;
        assert_int_equal(feed_blocks(ops, engine, &block, 1, &distance, NULL, &done, &error), FM_E_LIMIT);
        assert_int_equal(done, 0);
        assert_int_equal(ops->distinct(engine), taken);
        ops->destroy(engine);
    }
}

CASE(test_memory_limit)
{
    for_every_engine(check_limit);
}

/* Under a bound, memory must not grow with the trace. */
static void check_bounded_memory(const fm_engine_ops *ops, const char *isa, const char *who)
{
    (void)who;
    if (ops == &fm_engine_list) return; /* the oracle keeps everything */
    fm_engine_options options = {.seed = 5, .isa = isa, .bound = 100};
    fm_engine *engine;
    uint64_t blocks[1000], distances[1000];
    size_t done;
    fm_seen_limit = 1000;
    assert_int_equal(ops->create(&engine, &options, NULL), FM_OK);
    uint64_t early = 0;
    for (uint64_t round = 0; round < few_rounds(1000); round++) {
        for (uint64_t i = 0; i < 1000; i++) blocks[i] = round * 1000 + i;
        assert_int_equal(feed_blocks(ops, engine, blocks, 1000, distances, NULL, &done, NULL), FM_OK);
        assert_int_equal(distances[999], round == 0 ? FM_COLD : FM_BEYOND);
        if (round == 99) early = ops->memory_peak(engine);
    }
    assert_int_equal(ops->memory_peak(engine), early);
    assert_false(ops->cold_known(engine));
    assert_int_equal(ops->distinct(engine), 1000);
    ops->destroy(engine);
    fm_seen_limit = FM_SEEN_LIMIT;
}

CASE(test_bounded_memory)
{
    for_every_engine(check_bounded_memory);
}

/* The account must include the memory of blocks seen, which is the largest part under a small bound. */
static void check_seen_account(const fm_engine_ops *ops, const char *isa, const char *who)
{
    enum { CHUNK = 10000 };
    (void)who;
    if (ops == &fm_engine_list) return;
    static uint64_t blocks[CHUNK], distances[CHUNK];
    fm_engine_options options = {.seed = 5, .isa = isa, .bound = 100};
    fm_engine *engine;
    assert_int_equal(ops->create(&engine, &options, NULL), FM_OK);
    fm_seen_set *alone = fm_seen_set_create(FM_SEEN_LIMIT, 1, false);
    assert_non_null(alone);
    for (uint64_t chunk = 0; chunk < few_rounds(60); chunk++) {
        size_t done;
        for (uint64_t i = 0; i < CHUNK; i++) {
            blocks[i] = chunk * CHUNK + i;
            assert_int_equal(fm_seen_set_insert(alone, blocks[i], UINT64_MAX, NULL), FM_SEEN_NEW);
        }
        assert_int_equal(feed_blocks(ops, engine, blocks, CHUNK, distances, NULL, &done, NULL), FM_OK);
        assert_true(ops->memory(engine) <= ops->memory_peak(engine));
        assert_true(ops->memory(engine) >= fm_seen_set_memory(alone));
        assert_true(ops->memory_peak(engine) >= fm_seen_set_memory_peak(alone));
    }
    assert_true(ops->cold_known(engine));
    fm_seen_set_destroy(alone);
    ops->destroy(engine);
}

CASE(test_seen_account)
{
    for_every_engine(check_seen_account);
}

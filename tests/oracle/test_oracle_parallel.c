/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_oracle_parallel.c - `exact` with several threads counts what the list engine finds, on thousands of
 * generated traces (trace_recipe.h): 1 to 8 threads, pieces from one reference up, bounds from 1 up, traces
 * shorter than a piece and than the number of threads, results asked for in between, distances in order after
 * counting; pieces that threads draw for themselves; limits of memory.
 *
 *     FATHOM_TEST_SEED, FATHOM_TEST_TRACES, FATHOM_TEST_ONLY   as in test_oracle_engines.c
 */
#include "case.h"

#include "oracle/access_supply.h"
#include "oracle/counting_run.h"
#include "oracle/parallel_sizes.h"

enum { TRACES = 500, TRACES_PER_LONG_ONE = 250 };

/* How a recipe goes through the engine; follows from its seed. */
typedef struct way {
    counting_way counting;
    parallel_sizes sizes;
} way;

static way way_of(const recipe *made)
{
    recipe_random random = {made->seed ^ 4};
    way chosen = {.counting.threads = 1 + (unsigned)recipe_below(&random, 8),
                  .counting.bins = (fm_bins)recipe_below(&random, 3),
                  .sizes = parallel_sizes_at_random(&random, made->length)};
    static const size_t pieces[] = {1, 2, 3, 7, 64, 447, 448, 449, 1000, 4095, 4096, 4097, 20000};
    chosen.sizes.piece = pieces[recipe_below(&random, sizeof pieces / sizeof pieces[0])];
    if (made->length > 100000) chosen.sizes.piece = 2000 + (size_t)recipe_below(&random, 100000);
    chosen.counting.catch_up_one_in = recipe_chance(&random, 3) ? 4 : 1000000;
    chosen.counting.ordered_from =
        recipe_chance(&random, 4) ? (size_t)recipe_below(&random, made->length + 1) : made->length;
    size_t isas = 0;
    while (fm_isa_at(isas)) isas++;
    chosen.counting.isa = fm_isa_at((size_t)recipe_below(&random, isas));
    return chosen;
}

static const char *run_parallel(const recipe *made, const uint64_t *trace, const engine_answers *expected,
                                char *how, size_t size)
{
    const way chosen = way_of(made);
    const parallel_sizes usual = parallel_sizes_now();
    parallel_sizes_set(&chosen.sizes);
    const char *wrong = counting_run(&fm_engine_parallel, made, &chosen.counting, trace, expected);
    parallel_sizes_set(&usual);
    if (wrong) parallel_sizes_print(&chosen.sizes);
    counting_way_print(&chosen.counting, how, size);
    return wrong;
}

static bool check_recipe(const recipe *made)
{
    return recipe_agrees(made, run_parallel);
}

/* The long ones are long enough for the window to restart. */
RECIPE_CASES(test, check_recipe, 20240604, TRACES, TRACES_PER_LONG_ONE)

/* More live blocks than the list engine can take: one thread of `exact` is the judge. */
CASE(test_many_live_blocks)
{
    if (getenv("FATHOM_TEST_ONLY")) return;
    const size_t length = large_length(1200000);
    static const struct {
        uint64_t keys, bound;
        unsigned threads;
    } cases[] = {{600000, 0, 3}, {400000, 20000, 4}, {50000, 0, 8}, {1200000, 1, 2}};
    uint64_t *trace = malloc(length * sizeof *trace);
    if (!trace) abort();
    /* As many pieces of fewer references. */
    const size_t usual_piece = fm_parallel_chunk, usual_least = fm_parallel_least;
    fm_parallel_chunk /= large_divisor();
    fm_parallel_least /= large_divisor();
    for (size_t c = 0; c < sizeof cases / sizeof cases[0]; c++) {
        recipe_random random = {c};
        for (size_t i = 0; i < length; i++) trace[i] = recipe_below(&random, cases[c].keys);
        fm_profile *profile[2];
        for (int several = 0; several < 2; several++) {
            fm_analyzer_options options = {
                .bound = cases[c].bound, .threads = several ? cases[c].threads : 1, .bins = FM_BINS_EXACT};
            fm_analyzer *analyzer;
            assert_int_equal(fm_analyzer_create(&analyzer, &options, NULL), FM_OK);
            assert_int_equal(fm_analyzer_feed_blocks(analyzer, trace, length, NULL), FM_OK);
            assert_int_equal(fm_analyzer_profile(analyzer, &profile[several], NULL), FM_OK);
            assert_true(fm_analyzer_memory(analyzer) <= fm_analyzer_memory_peak(analyzer));
            fm_analyzer_destroy(analyzer);
        }
        assert_same_counts(profile[0], profile[1]);
        fm_profile_destroy(profile[0]);
        fm_profile_destroy(profile[1]);
    }
    fm_parallel_chunk = usual_piece;
    fm_parallel_least = usual_least;
    free(trace);
}

/* ---- accesses that threads fetch for themselves ---- */

enum { MOST_ACCESSES = 200000, MOST_TURNS = 8, LEAST_TURNS = 3 };

static fm_profile *profile_of_accesses(access_supply *from, fm_analyzer_options options, bool draws)
{
    const fm_supply supply = supply_of(from);
    const size_t first = from->end / 10; /* the beginning is fed: both ways follow each other */
    const fm_batch begin = {.count = first, .address = from->address, .size = from->size};
    const fm_batch rest = {.count = from->end - first,
                           .address = from->address + first,
                           .size = from->size ? from->size + first : NULL};
    fm_analyzer *analyzer;
    fm_profile *profile;
    from->claimed = first;
    assert_int_equal(fm_analyzer_create(&analyzer, &options, NULL), FM_OK);
    assert_int_equal(fm_analyzer_can_draw(analyzer), options.threads > 1);
    assert_int_equal(fm_analyzer_feed(analyzer, &begin, NULL), FM_OK);
    assert_int_equal(draws ? fm_analyzer_draw(analyzer, &supply, NULL, NULL)
                           : fm_analyzer_feed(analyzer, &rest, NULL),
                     FM_OK);
    assert_int_equal(fm_analyzer_feed(analyzer, &begin, NULL), FM_OK);
    assert_int_equal(fm_analyzer_profile(analyzer, &profile, NULL), FM_OK);
    assert_true(fm_analyzer_memory(analyzer) <= fm_analyzer_memory_peak(analyzer));
    fm_analyzer_destroy(analyzer);
    return profile;
}

CASE(test_drawn_accesses)
{
    if (getenv("FATHOM_TEST_ONLY")) return;
    const size_t count = large_length(MOST_ACCESSES);
    uint64_t *const addresses = malloc(count * sizeof *addresses);
    uint32_t *const sizes = malloc(count * sizeof *sizes);
    access_supply from = {.address = addresses, .end = count, .most_in_batch = MOST_IN_BATCH};
    /* As many pieces of fewer accesses. */
    const uint64_t usual_least = fm_parallel_drawn_least;
    fm_parallel_drawn_least = usual_least * count / MOST_ACCESSES;
    if (!addresses || !sizes) abort();
    const uint64_t turns = from_environment("FATHOM_TEST_TRACES", TRACES) / (TRACES / MOST_TURNS);
    for (unsigned turn = 0; turn < (turns < LEAST_TURNS ? LEAST_TURNS : turns); turn++) {
        recipe_random random = {turn};
        /* A loop over a few pages, with strays; sizes that cross blocks; or all over the place. */
        for (size_t i = 0; i < count; i++) {
            addresses[i] = turn % 3 == 2 || recipe_chance(&random, 50) ? recipe_below(&random, 1U << 24)
                                                                       : i * 24 % (4096 << turn % 5);
            sizes[i] = (uint32_t)recipe_below(&random, recipe_chance(&random, 20) ? 300 : 9);
        }
        from.size = turn % 4 == 3 ? NULL : sizes;
        fm_analyzer_options options = {.granularity = turn % 2 ? 64 : 1,
                                       .bound = turn % 5 == 4 ? 1 + recipe_below(&random, 5000) : 0,
                                       .bins = (fm_bins)(turn % 3)};
        options.threads = 1;
        fm_profile *alone = profile_of_accesses(&from, options, false);
        options.threads = 2 + turn % (MOST_DRAWING - 1);
        fm_profile *drawn = profile_of_accesses(&from, options, true);
        assert_same_counts(alone, drawn);
        fm_profile_destroy(alone);
        fm_profile_destroy(drawn);
    }
    /* What a thread would have to hold too many blocks for is refused, and can be fed. */
    from.size = sizes;
    for (size_t i = 0; i < count; i++) sizes[i] = 4000;
    const fm_supply supply = supply_of(&from);
    fm_analyzer *analyzer;
    fm_error error;
    from.claimed = 0;
    assert_int_equal(fm_analyzer_create(&analyzer, &(fm_analyzer_options){.threads = 3}, NULL), FM_OK);
    assert_int_equal(fm_analyzer_draw(analyzer, &supply, NULL, &error), FM_E_LIMIT);
    fm_analyzer_destroy(analyzer);
    fm_parallel_drawn_least = usual_least;
    free(addresses);
    free(sizes);
}

/*
 * Keys of which few are new after a while: each thread tries a piece, then all that is left is dealt out, a
 * piece for each. And the table has room for the blocks there are, not for the events of a phase. Where most
 * are new to the end, nothing is dealt out: parts, in pieces of the least size. Under a bound, engines keep
 * all blocks where these are not too many; where there are more than can be remembered, they drop blocks.
 */
CASE(test_shares)
{
    if (getenv("FATHOM_TEST_ONLY")) return;
    enum { MOST_KEYS = 1 << 15, LEAST_TABLES = 2 << 20, BYTES_A_BLOCK = 64 };
    static const struct {
        unsigned threads;
        bool few_new, dealt_out;
        uint64_t bound, seen_limit;
        bool drops;
    } cases[] = {
        {.threads = 4, .few_new = true, .dealt_out = true},
        {.threads = 2, .few_new = true, .dealt_out = true},
        {.threads = 3},
        {.threads = 8},
        {.threads = 2, .few_new = true, .dealt_out = true, .bound = 100},
        {.threads = 3, .few_new = true, .dealt_out = true, .bound = 1000, .seen_limit = 2 * MOST_KEYS},
        {.threads = 2, .dealt_out = true, .bound = MOST_KEYS / 2, .seen_limit = MOST_KEYS, .drops = true},
        {.threads = 3, .few_new = true, .bound = 100, .seen_limit = MOST_KEYS / 8, .drops = true},
    };
    const size_t length = 3000000;
    if (large_length(length) < length) return; /* with fewer, too many are new */
    uint64_t *trace = malloc(length * sizeof *trace);
    if (!trace) abort();
    const uint64_t usual_least = fm_parallel_drawn_least;
    fm_parallel_drawn_least = 2000;
    for (size_t c = 0; c < sizeof cases / sizeof cases[0]; c++) {
        recipe_random random = {5};
        for (size_t i = 0; i < length; i++) /* as often below 2^k as above, for each k; or mostly new */
            trace[i] = cases[c].few_new
                           ? recipe_below(&random, 1 + ((uint64_t)MOST_KEYS >> recipe_below(&random, 15)))
                           : recipe_below(&random, 4 * length);
        fm_tally tallies[2];
        fm_seen_limit = cases[c].seen_limit ? cases[c].seen_limit : FM_SEEN_LIMIT;
        const fm_references references = {.count = length, .blocks = trace};
        for (int several = 0; several < 2; several++) {
            const unsigned threads = several ? cases[c].threads : 1;
            const fm_engine_options options = {.threads = threads, .bound = cases[c].bound};
            const fm_engine_ops *const ops = several ? &fm_engine_parallel : &fm_engine_exact;
            const fm_engine_results results = {.distances = &tallies[several]};
            fm_engine *engine;
            size_t done;
            assert_int_equal(fm_tally_create(&tallies[several], FM_BINS_LOGLINEAR, NULL), FM_OK);
            assert_int_equal(ops->create(&engine, &options, NULL), FM_OK);
            assert_int_equal(ops->count(engine, &references, &results, &done, NULL), FM_OK);
            assert_int_equal(done, length);
            if (several) {
                const fm_parallel *self = (const fm_parallel *)engine;
                assert_int_equal(ops->catch_up(engine, &results, NULL), FM_OK);
                assert_int_equal(self->shared_out, cases[c].dealt_out);
                assert_int_equal(self->drops_freely, cases[c].drops);
                assert_int_equal(self->drops, cases[c].drops);
                assert_int_equal(ops->cold_known(engine), !cases[c].drops);
                if (cases[c].drops)
                    assert_true(self->filled < 50 * threads);
                else if (cases[c].dealt_out)
                    assert_true(self->filled <= 2 * threads);
                else
                    assert_true(self->filled >= length / fm_parallel_drawn_least / 2);
                assert_true(cases[c].bound ||
                            self->table_bytes <= LEAST_TABLES + BYTES_A_BLOCK * ops->distinct(engine));
                assert_true(self->partitions > 1); /* they draw: two threads divide, too */
            }
            ops->destroy(engine);
        }
        assert_int_equal(tallies[0].cold, tallies[1].cold);
        assert_int_equal(tallies[0].beyond, tallies[1].beyond);
        const uint64_t bins = fm_tally_end(&tallies[0]);
        assert_int_equal(bins, fm_tally_end(&tallies[1]));
        assert_memory_equal(tallies[0].counts, tallies[1].counts, bins * sizeof *tallies[0].counts);
        for (int several = 0; several < 2; several++) fm_tally_clear(&tallies[several]);
    }
    fm_seen_limit = FM_SEEN_LIMIT;
    fm_parallel_drawn_least = usual_least;
    free(trace);
}

/* Under a limit of memory threads that draw count the same, and never hold more, or refuse before they would:
 * then one thread, which is fed, begins anew. */
CASE(test_limits)
{
    if (getenv("FATHOM_TEST_ONLY")) return;
    static const struct {
        uint64_t megabytes;
        bool refused;
    } limits[] = {{30, true}, {50, true}, {250, false}};
    const size_t count = 2500000;
    if (large_length(count) < count) return; /* with fewer, nothing has to be refused */
    uint64_t *const addresses = malloc(count * sizeof *addresses);
    if (!addresses) abort();
    access_supply from = {.address = addresses, .end = count, .most_in_batch = MOST_IN_BATCH};
    /* Most of them are new blocks, to the end. */
    recipe_random random = {77};
    for (size_t i = 0; i < count; i++) addresses[i] = i % 8 ? i : recipe_below(&random, i + 1);
    fm_profile *alone = profile_of_accesses(&from, (fm_analyzer_options){.threads = 1}, false);
    for (size_t i = 0; i < sizeof limits / sizeof limits[0]; i++) {
        const fm_analyzer_options options = {.threads = MOST_DRAWING,
                                             .max_memory = limits[i].megabytes << 20};
        const fm_supply supply = supply_of(&from);
        fm_analyzer *analyzer;
        fm_error error;
        from.claimed = 0;
        assert_int_equal(fm_analyzer_create(&analyzer, &options, NULL), FM_OK);
        const fm_status status = fm_analyzer_draw(analyzer, &supply, NULL, &error);
        assert_int_equal(status, limits[i].refused ? FM_E_LIMIT : FM_OK);
        assert_true(fm_analyzer_memory_peak(analyzer) <= options.max_memory);
        fm_analyzer_destroy(analyzer);
        if (limits[i].refused) continue;
        fm_profile *drawn = profile_of_accesses(&from, options, true);
        assert_same_counts(alone, drawn);
        fm_profile_destroy(drawn);
    }
    fm_profile_destroy(alone);
    free(addresses);
}

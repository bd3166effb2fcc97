/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_oracle_parallel_order.c - single distances in the order of the trace, and time distances, as several
 * threads find them that each fetch their own part of a trace, against the list engine's and a plain search:
 * on generated traces of every shape, with and without bounds, sizes that straddle blocks, more blocks than
 * are remembered; pieces from one reference up; what is fed before, between and after, and results asked for
 * in between; sinks that fail.
 *
 *     FATHOM_TEST_SEED, FATHOM_TEST_TRACES, FATHOM_TEST_ONLY: as in test_oracle_engines.c
 */
#include "case.h"

#include "oracle/access_supply.h"
#include "oracle/attribution_case.h"
#include "oracle/parallel_sizes.h"

enum { TRACES = 700, TRACES_PER_LONG_ONE = 350, LONG = 100000 };

/* How a case goes through threads; follows from its seed. */
typedef struct way {
    unsigned threads;
    const char *isa;
    bool single, blocks; /* single distances are wanted, and their blocks */
    bool times;
    bool fed_first; /* one thread has counted the beginning */
    size_t steps;   /* so many times something is drawn, or fed */
    unsigned fed;   /* one step in so many is fed; 0: none */
    bool snapshots; /* results are asked for after each step */
    parallel_sizes sizes;
    size_t most_in_batch;
} way;

static way way_of(const tagged_case *wanted)
{
    recipe_random random = {wanted->made.seed ^ 9};
    const bool is_long = wanted->references > LONG;
    static const size_t batches[] = {1, 3, 100, 1000, MOST_IN_BATCH};
    size_t isas = 0;
    while (fm_isa_at(isas)) isas++;
    way chosen = {.threads = 2 + (unsigned)recipe_below(&random, MOST_DRAWING - 1),
                  .isa = fm_isa_at((size_t)recipe_below(&random, isas)),
                  .single = !recipe_chance(&random, 4),
                  .blocks = recipe_chance(&random, 2),
                  .times = !wanted->made.bound && recipe_chance(&random, 2),
                  .fed_first = recipe_chance(&random, 10),
                  .steps = 1 + recipe_chance(&random, 2) * recipe_below(&random, 4),
                  .fed = recipe_chance(&random, 3) ? 3 : 0,
                  .snapshots = recipe_chance(&random, 3),
                  .sizes = parallel_sizes_at_random(&random, wanted->references),
                  .most_in_batch = batches[recipe_below(&random, 5)]};
    if (!chosen.times) chosen.single = true;
    if (is_long) chosen.most_in_batch = MOST_IN_BATCH;
    return chosen;
}

/* ---- a listener of single distances ---- */

typedef struct listener {
    const tagged_case *wanted;
    bool blocks;       /* are asked for */
    size_t heard;      /* references */
    size_t fails_from; /* reference */
    const char *wrong;
} listener;

static fm_status hear(void *context, const uint64_t *blocks, const uint64_t *distances, size_t count,
                      fm_error *error)
{
    listener *self = context;
    const tagged_case *wanted = self->wanted;
    if (self->heard + count > self->fails_from)
        return fm_fail(error, FM_E_IO, "a sink", "it has heard enough");
    if (self->heard + count > wanted->references)
        self->wrong = "more distances than references";
    else if (memcmp(distances, wanted->distance + self->heard, count * sizeof *distances) != 0)
        self->wrong = "a wrong distance, or order";
    else if (self->blocks && !blocks)
        self->wrong = "no blocks";
    else if (blocks && memcmp(blocks, wanted->block + self->heard, count * sizeof *blocks) != 0)
        self->wrong = "a wrong block";
    self->heard += count;
    return FM_OK;
}

/* ---- one case ---- */

/* References since the last one to the same block, FM_COLD for the first: found in a table of its own. */
static uint64_t *times_of(const tagged_case *wanted)
{
    size_t slots = 64;
    while (slots < wanted->references * 2) slots *= 2;
    uint64_t *key = case_array(slots, sizeof *key);
    size_t *last = case_array(slots, sizeof *last);
    uint64_t *time = case_array(wanted->references, sizeof *time);
    for (size_t i = 0; i < wanted->references; i++) {
        size_t at = (size_t)(wanted->block[i] * UINT64_C(0xD1342543DE82EF95) >> 20) & (slots - 1);
        while (last[at] && key[at] != wanted->block[i]) at = (at + 1) & (slots - 1);
        time[i] = last[at] ? i - (last[at] - 1) : FM_COLD;
        key[at] = wanted->block[i];
        last[at] = i + 1;
    }
    free(key);
    free(last);
    return time;
}

static bool same_bins(const fm_histogram *got, const uint64_t *values, size_t count, fm_bins bins,
                      uint64_t bound, const fm_profile *profile)
{
    fm_tally tally;
    fm_histogram histogram;
    if (fm_tally_create(&tally, bins, NULL) || fm_tally_add(&tally, values, count, NULL) ||
        fm_tally_histogram(&tally, bound, &histogram, NULL))
        abort();
    const bool same = profile->cold == tally.cold && profile->beyond == tally.beyond &&
                      got->count == histogram.count &&
                      memcmp(got->bins, histogram.bins, histogram.count * sizeof(fm_bin)) == 0;
    free(histogram.bins);
    fm_tally_clear(&tally);
    return same;
}

/* The profile after `fed` references. times: NULL, nobody asked for them. */
static const char *check_state(fm_analyzer *analyzer, const tagged_case *wanted, const uint64_t *times,
                               size_t fed)
{
    const fm_bins bins = analyzer->distances.bins;
    fm_profile *profile;
    if (fm_analyzer_profile(analyzer, &profile, NULL)) return "fm_analyzer_profile failed";
    const char *wrong = profile->references != fed ? "a wrong number of references" : NULL;
    if (!wrong && !same_bins(&profile->distances, wanted->distance, fed, bins, wanted->made.bound, profile))
        wrong = "a wrong histogram of distances";
    if (!wrong && times && !same_bins(&profile->times, times, fed, bins, 0, profile))
        wrong = "a wrong histogram of times";
    fm_profile_destroy(profile);
    return wrong;
}

static const char *run_case(const tagged_case *wanted, const way *chosen, const uint64_t *times,
                            fm_analyzer *analyzer, const listener *heard)
{
    access_supply from = {
        .address = wanted->address, .size = wanted->size, .most_in_batch = chosen->most_in_batch};
    const fm_supply supply = supply_of(&from);
    const bool draws = fm_analyzer_can_draw(analyzer);
    recipe_random random = {wanted->made.seed ^ 32};
    const char *wrong = NULL;
    size_t fed = 0;
    if (draws == (times && analyzer->distances.bins == FM_BINS_EXACT)) return "it is drawn, or not, wrongly";
    for (size_t step = 0; step < chosen->steps && !wrong; step++) {
        const size_t left = wanted->accesses - from.claimed;
        from.end = step + 1 == chosen->steps ? wanted->accesses
                                             : from.claimed + (size_t)recipe_below(&random, left + 1);
        const bool feeds = !draws || (step == 0 ? chosen->fed_first
                                                : chosen->fed > 0 && recipe_chance(&random, chosen->fed));
        if (!feeds && fm_analyzer_draw(analyzer, &supply, NULL, NULL)) wrong = "drawing failed";
        if (!wrong && feed_accesses(analyzer, &from, NULL)) wrong = "feeding failed"; /* what is left */
        while (fed < wanted->references && wanted->access[fed] < from.claimed) fed++;
        if (!wrong && chosen->snapshots) wrong = check_state(analyzer, wanted, times, fed);
        if (!wrong && fm_analyzer_memory(analyzer) > fm_analyzer_memory_peak(analyzer))
            wrong = "memory is over its own peak";
    }
    if (!wrong) wrong = check_state(analyzer, wanted, times, wanted->references);
    if (!wrong) wrong = heard->wrong;
    return !wrong && chosen->single && heard->heard != wanted->references ? "fewer distances than references"
                                                                          : wrong;
}

static const char *count_case(const tagged_case *wanted, const way *chosen)
{
    const fm_analyzer_options options = {.isa = chosen->isa,
                                         .threads = chosen->threads,
                                         .granularity = wanted->granularity,
                                         .bound = wanted->made.bound,
                                         .seed = wanted->made.engine_seed,
                                         .time_distances = chosen->times,
                                         .distances_only = !chosen->blocks,
                                         .bins = (fm_bins)(wanted->made.index % 3)};
    listener heard = {.wanted = wanted, .blocks = chosen->blocks, .fails_from = SIZE_MAX};
    fm_analyzer *analyzer;
    if (fm_analyzer_create(&analyzer, &options, NULL)) return "the analyzer was not created";
    if (chosen->single && fm_analyzer_set_sink(analyzer, hear, &heard, NULL)) return "no sink was taken";
    uint64_t *times = chosen->times ? times_of(wanted) : NULL;
    const char *wrong = run_case(wanted, chosen, times, analyzer, &heard);
    fm_analyzer_destroy(analyzer);
    free(times);
    return wrong;
}

static bool check_recipe(const recipe *made)
{
    const parallel_sizes usual = parallel_sizes_now();
    tagged_case wanted;
    fm_seen_limit = made->seen_limit;
    const char *wrong = tagged_case_make(&wanted, *made, made->index % 3 == 0);
    const way chosen = way_of(&wanted);
    parallel_sizes_set(&chosen.sizes);
    if (!wrong) wrong = count_case(&wanted, &chosen);
    fm_seen_limit = FM_SEEN_LIMIT;
    parallel_sizes_set(&usual);
    if (wrong) {
        fprintf(stderr,
                "%s: %u threads, %s, single %d, blocks %d, times %d, batches of %zu, %zu steps, fed %d %u, "
                "snapshots %d\n",
                wrong, chosen.threads, chosen.isa, chosen.single, chosen.blocks, chosen.times,
                chosen.most_in_batch, chosen.steps, chosen.fed_first, chosen.fed, chosen.snapshots);
        parallel_sizes_print(&chosen.sizes);
        recipe_print(made);
    }
    tagged_case_free(&wanted);
    return !wrong;
}

CASE(test_generated_traces)
{
    const uint64_t traces = from_environment("FATHOM_TEST_TRACES", TRACES);
    assert_int_equal(recipes_failing(check_recipe, 20261119, traces), 0);
}

/* Long enough for the window to restart. */
CASE(test_long_traces)
{
    if (getenv("FATHOM_TEST_ONLY")) return;
    const uint64_t traces = from_environment("FATHOM_TEST_TRACES", TRACES) / TRACES_PER_LONG_ONE;
    assert_int_equal(long_recipes_failing(check_recipe, 20261119, traces), 0);
}

/* ---- a sink that fails: its error comes out, and nobody waits for ever ---- */

CASE(test_failing_sinks)
{
    if (getenv("FATHOM_TEST_ONLY")) return;
    enum { SINKS = 12 };
    const uint64_t usual_least = fm_parallel_drawn_least;
    const recipe made = {.kind = RECIPE_ZIPF, .seed = 3, .length = 60000, .alphabet = 5000};
    tagged_case wanted;
    assert_null(tagged_case_make(&wanted, made, false));
    fm_parallel_drawn_least = 500;
    for (size_t i = 0; i < SINKS; i++) {
        const fm_analyzer_options options = {.threads = 2 + (unsigned)(i % (MOST_DRAWING - 1)),
                                             .granularity = wanted.granularity};
        access_supply from = {
            .address = wanted.address, .end = wanted.accesses, .most_in_batch = MOST_IN_BATCH};
        const fm_supply supply = supply_of(&from);
        listener heard = {.wanted = &wanted, .fails_from = i * wanted.references / SINKS};
        fm_analyzer *analyzer;
        fm_error error;
        assert_int_equal(fm_analyzer_create(&analyzer, &options, NULL), FM_OK);
        assert_int_equal(fm_analyzer_set_sink(analyzer, hear, &heard, NULL), FM_OK);
        const size_t least = fm_parallel_least;
        fm_parallel_least = 0;
        assert_int_equal(fm_analyzer_draw(analyzer, &supply, NULL, &error), FM_E_IO);
        fm_parallel_least = least;
        assert_string_equal(error.reason, "it has heard enough");
        assert_true(heard.heard <= heard.fails_from);
        assert_null(heard.wrong);
        fm_analyzer_destroy(analyzer);
    }
    fm_parallel_drawn_least = usual_least;
    tagged_case_free(&wanted);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_oracle_parallel_drawn.c - an analyzer whose threads each fetch their own part of a trace, against the
 * naive answer (attribution_case.h): pairs of tags, and of code sites; single distances in the order of the
 * trace, and time distances. On generated traces of every shape, with and without bounds, sizes that straddle
 * blocks, more blocks than are remembered; pieces from one reference up; batches that are fed before, between
 * and after; results asked for in between; sinks that fail.
 *
 *     FATHOM_TEST_SEED, FATHOM_TEST_TRACES, FATHOM_TEST_ONLY: as in test_oracle_engines.c
 */
#include "case.h"

#include "oracle/access_supply.h"
#include "oracle/attribution_case.h"
#include "oracle/parallel_sizes.h"

enum { TRACES = 700, TRACES_PER_LONG_ONE = 350, LONG = 100000 };
#define CODE UINT64_C(0x400000)

/* How a case goes through threads; follows from its seed. */
typedef struct way {
    unsigned threads;
    const char *isa;
    bool tags;           /* pairs are counted; otherwise some of the next three */
    bool single, blocks; /* single distances, and their blocks */
    bool times;
    bool sites;     /* tags are those of code sites, which threads number */
    bool fed_first; /* one thread has counted the beginning */
    size_t steps;   /* so many times something is drawn, or fed */
    unsigned fed;   /* one step in so many is fed; 0: none */
    bool snapshots; /* results are asked for after each step */
    parallel_sizes sizes;
    size_t most_in_batch;
} way;

static way way_of(const tagged_case *wanted, bool tags)
{
    recipe_random random = {wanted->made.seed ^ (tags ? 8 : 9)};
    const bool is_long = wanted->references > LONG;
    static const size_t batches[] = {1, 3, 100, 1000, MOST_IN_BATCH};
    size_t isas = 0;
    while (fm_isa_at(isas)) isas++;
    way chosen = {.tags = tags,
                  .threads = 2 + (unsigned)recipe_below(&random, MOST_DRAWING - 1),
                  .isa = fm_isa_at((size_t)recipe_below(&random, isas)),
                  .sites = tags && recipe_chance(&random, 2),
                  .single = !tags && !recipe_chance(&random, 4),
                  .blocks = !tags && recipe_chance(&random, 2),
                  .times = !tags && !wanted->made.bound && recipe_chance(&random, 2),
                  .fed_first = recipe_chance(&random, 10),
                  .steps = 1 + recipe_chance(&random, 2) * recipe_below(&random, 4),
                  .fed = recipe_chance(&random, 3) ? 3 : 0,
                  .snapshots = recipe_chance(&random, 3),
                  .sizes = parallel_sizes_at_random(&random, wanted->references),
                  .most_in_batch = is_long ? MOST_IN_BATCH : batches[recipe_below(&random, 5)]};
    if (!tags && !chosen.times) chosen.single = true;
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

/* The profile after `fed` references, and the pairs. times: NULL, nobody asked for them. */
static const char *check_state(fm_analyzer *analyzer, const tagged_case *wanted, const way *chosen,
                               const uint64_t *times, size_t fed)
{
    const fm_bins bins = analyzer->distances.bins;
    const char *wrong = chosen->tags ? tagged_case_pairs_agree(analyzer, wanted, fed) : NULL;
    fm_profile *profile;
    if (wrong) return wrong;
    if (fm_analyzer_profile(analyzer, &profile, NULL)) return "fm_analyzer_profile failed";
    if (profile->references != fed)
        wrong = "a wrong number of references";
    else if (!same_bins(&profile->distances, wanted->distance, fed, bins, wanted->made.bound, profile))
        wrong = "a wrong histogram of distances";
    else if (times && !same_bins(&profile->times, times, fed, bins, 0, profile))
        wrong = "a wrong histogram of times";
    fm_profile_destroy(profile);
    return wrong;
}

static const char *run_case(const tagged_case *wanted, const way *chosen, const uint64_t *times,
                            access_supply *from, fm_analyzer *analyzer, fm_site_index *index)
{
    const fm_supply supply = supply_of(from);
    const fm_analyze_options numbers = {.sites = chosen->sites ? index : NULL};
    const bool draws = fm_analyzer_can_draw(analyzer);
    recipe_random random = {wanted->made.seed ^ 31};
    const char *wrong = NULL;
    size_t fed = 0;
    if (draws == (times && analyzer->distances.bins == FM_BINS_EXACT)) return "it is drawn, or not, wrongly";
    for (size_t step = 0; step < chosen->steps && !wrong; step++) {
        const size_t left = wanted->accesses - from->claimed;
        from->end = step + 1 == chosen->steps ? wanted->accesses
                                              : from->claimed + (size_t)recipe_below(&random, left + 1);
        const bool feeds = !draws || (step == 0 ? chosen->fed_first
                                                : chosen->fed > 0 && recipe_chance(&random, chosen->fed));
        if (!feeds && fm_analyzer_draw(analyzer, &supply, &numbers, NULL)) wrong = "drawing failed";
        /* Too little for threads is left to be fed, but where tags are counted. */
        if (!wrong && (feeds || !chosen->tags) && feed_accesses(analyzer, from, index))
            wrong = "feeding failed";
        if (!wrong && from->claimed != from->end) wrong = "something was left";
        while (fed < wanted->references && wanted->access[fed] < from->claimed) fed++;
        if (!wrong && chosen->snapshots) wrong = check_state(analyzer, wanted, chosen, times, fed);
        if (!wrong && fm_analyzer_memory(analyzer) > fm_analyzer_memory_peak(analyzer))
            wrong = "memory is over its own peak";
    }
    return wrong ? wrong : check_state(analyzer, wanted, chosen, times, wanted->references);
}

/* With sites, the tags that are expected are those that one thread gives. */
static uint64_t *make_sites(tagged_case *wanted)
{
    uint64_t *site = case_array(wanted->accesses, sizeof *site);
    uint32_t *tag = case_array(wanted->accesses, sizeof *tag);
    fm_site_index *index;
    for (size_t i = 0; i < wanted->accesses; i++) site[i] = CODE + 16 * (uint64_t)wanted->tag[i];
    assert_int_equal(fm_site_index_create(&index, NULL), FM_OK);
    assert_int_equal(fm_site_index_tags(index, site, wanted->accesses, tag, NULL), FM_OK);
    fm_site_index_destroy(index);
    for (size_t i = 0; i < wanted->references; i++) wanted->block_tag[i] = tag[wanted->access[i]];
    case_uses(wanted);
    free(tag);
    return site;
}

static const char *count_case(tagged_case *wanted, const way *chosen)
{
    const fm_analyzer_options options = {.isa = chosen->isa,
                                         .threads = chosen->threads,
                                         .granularity = wanted->granularity,
                                         .bound = wanted->made.bound,
                                         .seed = wanted->made.engine_seed,
                                         .time_distances = chosen->times,
                                         .distances_only = !chosen->tags && !chosen->blocks,
                                         .bins = (fm_bins)(wanted->made.index % 3),
                                         .edges = chosen->tags ? wanted->edges : NULL,
                                         .edge_count = chosen->tags ? wanted->edge_count : 0};
    listener heard = {.wanted = wanted, .blocks = chosen->blocks, .fails_from = SIZE_MAX};
    fm_analyzer *analyzer;
    fm_site_index *index;
    uint64_t *site = chosen->sites ? make_sites(wanted) : NULL;
    access_supply from = {.address = wanted->address,
                          .size = wanted->size,
                          .tag = chosen->tags ? wanted->tag : NULL,
                          .site = site,
                          .most_in_batch = chosen->most_in_batch};
    if (fm_analyzer_create(&analyzer, &options, NULL)) return "the analyzer was not created";
    if (chosen->single && fm_analyzer_set_sink(analyzer, hear, &heard, NULL)) return "no sink was taken";
    assert_int_equal(fm_site_index_create(&index, NULL), FM_OK);
    uint64_t *times = chosen->times ? times_of(wanted) : NULL;
    const char *wrong = run_case(wanted, chosen, times, &from, analyzer, index);
    if (!wrong) wrong = heard.wrong;
    if (!wrong && chosen->single && heard.heard != wanted->references)
        wrong = "fewer distances than references";
    fm_analyzer_destroy(analyzer);
    fm_site_index_destroy(index);
    free(times);
    free(site);
    return wrong;
}

static bool check_drawn(const recipe *made, bool tags)
{
    const parallel_sizes usual = parallel_sizes_now();
    tagged_case wanted;
    fm_seen_limit = made->seen_limit;
    const char *wrong = tagged_case_make(&wanted, *made, made->index % 3 == 0);
    const way chosen = way_of(&wanted, tags);
    parallel_sizes_set(&chosen.sizes);
    if (!wrong) wrong = count_case(&wanted, &chosen);
    fm_seen_limit = FM_SEEN_LIMIT;
    parallel_sizes_set(&usual);
    if (wrong) {
        fprintf(stderr,
                "%s: %u threads, %s, tags %d, sites %d, single %d, blocks %d, times %d, batches of %zu, %zu "
                "steps, "
                "fed %d %u, snapshots %d\n",
                wrong, chosen.threads, chosen.isa, chosen.tags, chosen.sites, chosen.single, chosen.blocks,
                chosen.times, chosen.most_in_batch, chosen.steps, chosen.fed_first, chosen.fed,
                chosen.snapshots);
        parallel_sizes_print(&chosen.sizes);
        recipe_print(made);
    }
    tagged_case_free(&wanted);
    return !wrong;
}

static bool check_tags(const recipe *made)
{
    return check_drawn(made, true);
}

static bool check_order(const recipe *made)
{
    return check_drawn(made, false);
}

/* The long ones are long enough for the window to restart. */
RECIPE_CASES(tags, check_tags, 20261118, TRACES, TRACES_PER_LONG_ONE)
RECIPE_CASES(order, check_order, 20261119, TRACES, TRACES_PER_LONG_ONE)

/* ---- more than the list engine can take: one thread is the judge ---- */

static fm_raw_pair *pairs_of(access_supply *from, fm_analyzer_options options, size_t *count,
                             fm_profile **profile)
{
    const fm_supply supply = supply_of(from);
    const fm_analyze_options plain = {0};
    fm_analyzer *analyzer;
    fm_raw_pair *pairs;
    from->claimed = 0;
    assert_int_equal(fm_analyzer_create(&analyzer, &options, NULL), FM_OK);
    assert_int_equal(fm_analyzer_can_draw(analyzer), options.threads > 1);
    assert_int_equal(options.threads > 1 ? fm_analyzer_draw(analyzer, &supply, &plain, NULL)
                                         : feed_accesses(analyzer, from, NULL),
                     FM_OK);
    assert_int_equal(fm_analyzer_pairs(analyzer, &pairs, count, NULL), FM_OK);
    assert_int_equal(fm_analyzer_profile(analyzer, profile, NULL), FM_OK);
    fm_analyzer_destroy(analyzer);
    return pairs;
}

/*
 * Keys of which few are new after a while, dealt out in shares; or most are, in parts; more pairs than a
 * thread keeps for itself; and under bounds that are much smaller than there are blocks.
 */
CASE(test_many_blocks)
{
    if (getenv("FATHOM_TEST_ONLY")) return;
    static const struct {
        uint64_t keys;
        bool zipf;
        uint32_t tags;
        uint64_t bound;
        unsigned threads;
        uint64_t least; /* references of a piece */
    } cases[] = {{1 << 15, true, 20, 0, 2, 4000},      {1 << 15, true, 1 << 20, 0, 5, 4000},
                 {400000, false, 300, 0, 3, 20000},    {400000, false, 1 << 20, 30000, 8, 20000},
                 {1 << 17, true, 300, 20000, 4, 4000}, {1 << 15, true, 9, 1, 2, 4000}};
    static const uint64_t edges[] = {0, 1, 2, 64, 1000, 8192, 100000};
    const size_t length = large_length(2000000);
    const uint64_t usual_least = fm_parallel_drawn_least;
    uint64_t *address = case_array(length, sizeof *address);
    uint32_t *tag = case_array(length, sizeof *tag);
    for (size_t c = 0; c < sizeof cases / sizeof cases[0]; c++) {
        recipe_random random = {c};
        fm_parallel_drawn_least = cases[c].least / large_divisor() + 100;
        for (size_t i = 0; i < length; i++) { /* as often below 2^k as above, for each k; or all alike */
            const uint64_t keys =
                cases[c].zipf ? 1 + (cases[c].keys >> recipe_below(&random, 15)) : cases[c].keys;
            address[i] = recipe_below(&random, keys);
            tag[i] = (uint32_t)recipe_below(&random, cases[c].tags);
        }
        access_supply from = {.address = address, .tag = tag, .end = length, .most_in_batch = MOST_IN_BATCH};
        fm_raw_pair *pairs[2];
        size_t count[2];
        fm_profile *profile[2];
        for (int several = 0; several < 2; several++) {
            const fm_analyzer_options options = {.bound = cases[c].bound,
                                                 .threads = several ? cases[c].threads : 1,
                                                 .edges = edges,
                                                 .edge_count = sizeof edges / sizeof edges[0]};
            pairs[several] = pairs_of(&from, options, &count[several], &profile[several]);
        }
        assert_int_equal(count[0], count[1]);
        assert_memory_equal(pairs[0], pairs[1], count[0] * sizeof *pairs[0]);
        assert_int_equal(profile[0]->cold, profile[1]->cold);
        assert_int_equal(profile[0]->beyond, profile[1]->beyond);
        assert_int_equal(profile[0]->distances.count, profile[1]->distances.count);
        assert_memory_equal(profile[0]->distances.bins, profile[1]->distances.bins,
                            profile[0]->distances.count * sizeof(fm_bin));
        for (int several = 0; several < 2; several++) {
            free(pairs[several]);
            fm_profile_destroy(profile[several]);
        }
    }
    fm_parallel_drawn_least = usual_least;
    free(address);
    free(tag);
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

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_oracle_parallel_tags.c - pairs of tags, and of code sites, as several threads count them that each
 * fetch their own part of a trace, against the naive answer (attribution_case.h): on generated traces of
 * every shape, with and without bounds, sizes that straddle blocks, more blocks than are remembered; pieces
 * from one reference up; what is fed before, between and after, and results asked for in between.
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
    bool sites;     /* tags are those of code sites, which threads number */
    bool fed_first; /* one thread has counted the beginning */
    size_t steps;   /* so many times something is drawn, or fed */
    unsigned fed;   /* one step in so many is fed; 0: none */
    bool snapshots; /* results are asked for after each step */
    parallel_sizes sizes;
    size_t most_in_batch;
} way;

static way way_of(const tagged_case *wanted)
{
    recipe_random random = {wanted->made.seed ^ 8};
    const bool is_long = wanted->references > LONG;
    static const size_t batches[] = {1, 3, 100, 1000, MOST_IN_BATCH};
    size_t isas = 0;
    while (fm_isa_at(isas)) isas++;
    way chosen = {.threads = 2 + (unsigned)recipe_below(&random, MOST_DRAWING - 1),
                  .isa = fm_isa_at((size_t)recipe_below(&random, isas)),
                  .sites = recipe_chance(&random, 2),
                  .fed_first = recipe_chance(&random, 10),
                  .steps = 1 + recipe_chance(&random, 2) * recipe_below(&random, 4),
                  .fed = recipe_chance(&random, 2) ? 3 : 0,
                  .snapshots = recipe_chance(&random, 3),
                  .sizes = parallel_sizes_at_random(&random, wanted->references),
                  .most_in_batch = batches[recipe_below(&random, 5)]};
    if (is_long) chosen.most_in_batch = MOST_IN_BATCH;
    return chosen;
}

/* ---- one case ---- */

/* Pairs and profile after `fed` references. */
static const char *check_state(fm_analyzer *analyzer, const tagged_case *wanted, size_t fed)
{
    fm_raw_pair *got = NULL;
    size_t got_count = 0, wanted_count;
    fm_profile *profile = NULL;
    if (fm_analyzer_pairs(analyzer, &got, &got_count, NULL)) return "fm_analyzer_pairs failed";
    fm_raw_pair *naive = tagged_case_pairs(wanted, fed, &wanted_count);
    const char *wrong = got_count != wanted_count ? "another number of pairs" : NULL;
    for (size_t i = 0; i < got_count && !wrong; i++)
        if (compare_raw(&got[i], &naive[i]) != 0 || got[i].count != naive[i].count) wrong = "a wrong pair";
    if (!wrong && fm_analyzer_profile(analyzer, &profile, NULL)) wrong = "fm_analyzer_profile failed";
    if (!wrong) {
        fm_tally tally;
        fm_histogram histogram;
        const uint64_t bound = wanted->made.bound;
        if (fm_tally_create(&tally, analyzer->distances.bins, NULL) ||
            fm_tally_add(&tally, wanted->distance, fed, NULL) ||
            fm_tally_histogram(&tally, bound, &histogram, NULL))
            abort();
        if (profile->references != fed || profile->cold != tally.cold || profile->beyond != tally.beyond)
            wrong = "a wrong number of references, cold or beyond";
        else if (profile->distances.count != histogram.count ||
                 memcmp(profile->distances.bins, histogram.bins, histogram.count * sizeof(fm_bin)) != 0)
            wrong = "a wrong histogram";
        free(histogram.bins);
        fm_tally_clear(&tally);
    }
    fm_profile_destroy(profile);
    free(naive);
    free(got);
    return wrong;
}

static const char *run_case(const tagged_case *wanted, const way *chosen, access_supply *from,
                            fm_analyzer *analyzer, fm_site_index *index)
{
    const fm_supply supply = supply_of(from);
    const fm_analyze_options listener = {.sites = chosen->sites ? index : NULL};
    recipe_random random = {wanted->made.seed ^ 31};
    const char *wrong = NULL;
    size_t fed = 0;
    for (size_t step = 0; step < chosen->steps && !wrong; step++) {
        const size_t left = wanted->accesses - from->claimed;
        from->end = step + 1 == chosen->steps ? wanted->accesses
                                              : from->claimed + (size_t)recipe_below(&random, left + 1);
        const bool feeds =
            step == 0 ? chosen->fed_first : chosen->fed > 0 && recipe_chance(&random, chosen->fed);
        const fm_status status = feeds ? feed_accesses(analyzer, from, index)
                                       : fm_analyzer_draw(analyzer, &supply, &listener, NULL);
        if (status != FM_OK) wrong = feeds ? "feeding failed" : "drawing failed";
        if (!wrong && from->claimed != from->end) wrong = "something was left";
        while (fed < wanted->references && wanted->access[fed] < from->claimed) fed++;
        if (!wrong && chosen->snapshots) wrong = check_state(analyzer, wanted, fed);
        if (!wrong && fm_analyzer_memory(analyzer) > fm_analyzer_memory_peak(analyzer))
            wrong = "memory is over its own peak";
    }
    return wrong ? wrong : check_state(analyzer, wanted, wanted->references);
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
    fm_analyzer_options options = {.isa = chosen->isa,
                                   .threads = chosen->threads,
                                   .granularity = wanted->granularity,
                                   .bound = wanted->made.bound,
                                   .seed = wanted->made.engine_seed,
                                   .bins = (fm_bins)(wanted->made.index % 3),
                                   .edges = wanted->edges,
                                   .edge_count = wanted->edge_count};
    fm_analyzer *analyzer;
    fm_site_index *index;
    uint64_t *site = chosen->sites ? make_sites(wanted) : NULL;
    access_supply from = {.address = wanted->address,
                          .size = wanted->size,
                          .tag = wanted->tag,
                          .site = site,
                          .most_in_batch = chosen->most_in_batch};
    if (fm_analyzer_create(&analyzer, &options, NULL)) return "the analyzer was not created";
    assert_int_equal(fm_site_index_create(&index, NULL), FM_OK);
    const char *wrong = run_case(wanted, chosen, &from, analyzer, index);
    fm_analyzer_destroy(analyzer);
    fm_site_index_destroy(index);
    free(site);
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
        fprintf(stderr, "%s: %u threads, %s, batches of %zu, sites %d, %zu steps, fed %d %u, snapshots %d\n",
                wrong, chosen.threads, chosen.isa, chosen.most_in_batch, chosen.sites, chosen.steps,
                chosen.fed_first, chosen.fed, chosen.snapshots);
        parallel_sizes_print(&chosen.sizes);
        recipe_print(made);
    }
    tagged_case_free(&wanted);
    return !wrong;
}

CASE(test_generated_traces)
{
    const uint64_t traces = from_environment("FATHOM_TEST_TRACES", TRACES);
    assert_int_equal(recipes_failing(check_recipe, 20261118, traces), 0);
}

/* Long enough for the window to restart: tags must stay with their blocks. */
CASE(test_long_traces)
{
    if (getenv("FATHOM_TEST_ONLY")) return;
    const uint64_t traces = from_environment("FATHOM_TEST_TRACES", TRACES) / TRACES_PER_LONG_ONE;
    assert_int_equal(long_recipes_failing(check_recipe, 20261118, traces), 0);
}

/* ---- more than the list engine can take: one thread is the judge ---- */

static fm_raw_pair *pairs_of(access_supply *from, fm_analyzer_options options, size_t *count,
                             fm_profile **profile)
{
    const fm_supply supply = supply_of(from);
    const fm_analyze_options listener = {0};
    fm_analyzer *analyzer;
    fm_raw_pair *pairs;
    from->claimed = 0;
    assert_int_equal(fm_analyzer_create(&analyzer, &options, NULL), FM_OK);
    assert_int_equal(fm_analyzer_can_draw(analyzer), options.threads > 1);
    assert_int_equal(options.threads > 1 ? fm_analyzer_draw(analyzer, &supply, &listener, NULL)
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

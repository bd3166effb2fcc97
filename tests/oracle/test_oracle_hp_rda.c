/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_oracle_hp_rda.c - the engine hp-rda gives what the paper's formulas give, computed naively here; with
 * one thread-level trace it equals the list engine; the number of CPU threads changes nothing; and on a
 * graphics card (FATHOM_TEST_GPU=1) it gives the same again.
 *
 *     FATHOM_TEST_SEED=N, FATHOM_TEST_TRACES=N    as in test_oracle_engines.c
 */
#include "case.h"

#include "engine/hp_rda/hp_rda.h"
#include "oracle/engine_run.h"

enum { TRACES = 1000, LONGEST = 2500 };

static bool on_card(void)
{
    return from_environment("FATHOM_TEST_GPU", 0) != 0;
}

/* ---- the paper, naively ---- */

typedef struct stretch {
    size_t start, end;
} stretch;

static bool occurs(const uint64_t *trace, stretch in, uint64_t block)
{
    for (size_t i = in.start; i < in.end; i++)
        if (trace[i] == block) return true;
    return false;
}

static size_t distinct_in(const uint64_t *trace, stretch in)
{
    size_t count = 0;
    for (size_t i = in.start; i < in.end; i++) count += !occurs(trace, (stretch){in.start, i}, trace[i]);
    return count;
}

static size_t first_in(const uint64_t *trace, stretch in, uint64_t block)
{
    size_t at = in.start;
    while (trace[at] != block) at++;
    return distinct_in(trace, (stretch){in.start, at});
}

static size_t latest_in(const uint64_t *trace, stretch in, uint64_t block)
{
    size_t at = in.end - 1;
    while (trace[at] != block) at--;
    return distinct_in(trace, (stretch){at + 1, in.end});
}

static uint64_t naive_adjust(bool adjust, uint64_t distance, uint64_t distinct, uint64_t sum)
{
    return adjust && distance > distinct ? distance * distinct / sum : distance;
}

/* One level: parts of a stretch, with what each says about a block and how many distinct blocks it has. */
typedef struct level {
    size_t parts;
    stretch part[LONGEST];
    uint64_t count[LONGEST]; /* distinct blocks */
    uint64_t sum;            /* of counts */
} level;

typedef void (*ask)(const void *context, size_t part, uint64_t block, uint64_t *first, uint64_t *latest);

/* Formula 1 over the parts that have the block; distances go to `wanted`. */
static void merge(const level *parts, const uint64_t *trace, uint64_t block, ask use, const void *context,
                  bool adjust, uint64_t distinct, fm_tally *wanted, uint64_t *first, uint64_t *latest)
{
    uint64_t between = 0, before = 0, last_latest = 0;
    bool any = false;
    for (size_t part = 0; part < parts->parts; part++) {
        if (!occurs(trace, parts->part[part], block)) {
            between += parts->count[part];
            continue;
        }
        uint64_t part_first, part_latest;
        use(context, part, block, &part_first, &part_latest);
        if (any) {
            uint64_t distance =
                naive_adjust(adjust, last_latest + between + part_first, distinct, parts->sum);
            if (wanted && fm_tally_add(wanted, &distance, 1, NULL)) abort();
        } else {
            before = between + part_first;
        }
        any = true;
        last_latest = part_latest;
        between = 0;
    }
    *first = before;
    *latest = last_latest + between;
}

typedef struct naive_block {
    const uint64_t *trace;
    level threads;
    uint64_t distinct;
} naive_block;

typedef struct naive_trace {
    const uint64_t *trace;
    bool adjust;
    level blocks;
    naive_block *block;
} naive_trace;

static void ask_thread(const void *context, size_t part, uint64_t block, uint64_t *first, uint64_t *latest)
{
    const naive_block *in = context;
    *first = first_in(in->trace, in->threads.part[part], block);
    *latest = latest_in(in->trace, in->threads.part[part], block);
}

static void ask_block(const void *context, size_t part, uint64_t block, uint64_t *first, uint64_t *latest)
{
    const naive_trace *in = context;
    const naive_block *of = &in->block[part];
    merge(&of->threads, in->trace, block, ask_thread, of, false, 0, NULL, first, latest);
    *first = naive_adjust(in->adjust, *first, of->distinct, of->threads.sum);
    *latest = naive_adjust(in->adjust, *latest, of->distinct, of->threads.sum);
}

static void cut(level *parts, const uint64_t *trace, stretch all, size_t length)
{
    *parts = (level){0};
    for (size_t start = all.start; start < all.end; start += length) {
        stretch part = {start, start + length < all.end ? start + length : all.end};
        parts->part[parts->parts] = part;
        parts->sum += parts->count[parts->parts++] = distinct_in(trace, part);
    }
}

/* Distances within thread-level traces, exactly. */
static void count_within(const uint64_t *trace, stretch in, fm_tally *wanted)
{
    for (size_t i = in.start; i < in.end; i++)
        for (size_t last = i; last-- > in.start;)
            if (trace[last] == trace[i]) {
                uint64_t distance = distinct_in(trace, (stretch){last + 1, i});
                if (fm_tally_add(wanted, &distance, 1, NULL)) abort();
                break;
            }
}

/* One trace of HP-RDA; *first and *latest of its blocks by ask_trace. */
static naive_trace *naive_analyze(const uint64_t *trace, stretch all, size_t thread_trace, bool adjust,
                                  fm_tally *wanted)
{
    naive_trace *made = calloc(1, sizeof *made);
    if (!made) abort();
    made->trace = trace;
    made->adjust = adjust;
    cut(&made->blocks, trace, all, thread_trace * FM_HP_RDA_THREADS);
    made->block = calloc(made->blocks.parts + 1, sizeof *made->block);
    if (!made->block) abort();
    for (size_t b = 0; b < made->blocks.parts; b++) {
        naive_block *block = &made->block[b];
        const stretch in = made->blocks.part[b];
        block->trace = trace;
        block->distinct = made->blocks.count[b];
        cut(&block->threads, trace, in, thread_trace);
        for (size_t t = 0; t < block->threads.parts; t++) count_within(trace, block->threads.part[t], wanted);
        for (size_t i = in.start; i < in.end; i++) {
            uint64_t first, latest;
            if (occurs(trace, (stretch){in.start, i}, trace[i])) continue;
            merge(&block->threads, trace, trace[i], ask_thread, block, adjust, block->distinct, wanted,
                  &first, &latest);
        }
    }
    return made;
}

typedef struct hp_rda_wishes {
    uint64_t trace_size, thread_trace_size;
    bool disable_adjusting;
} hp_rda_wishes;

static size_t naive_profile(const uint64_t *given, size_t given_length, const hp_rda_wishes *options,
                            fm_tally *wanted)
{
    const bool adjust = !options->disable_adjusting;
    uint64_t *trace = malloc((given_length + 1) * sizeof *trace);
    naive_trace **traces = calloc(given_length + 1, sizeof *traces);
    level *all = calloc(1, sizeof *all);
    if (!trace || !traces || !all) abort();
    size_t length = 0, cold = 0;
    for (size_t i = 0; i < given_length; i++) {
        const uint64_t zero = 0;
        if (length && trace[length - 1] == given[i])
            (void)fm_tally_add(wanted, &zero, 1, NULL);
        else
            trace[length++] = given[i];
    }
    size_t count = 0;
    uint64_t sum = 0, seen = 0;
    for (size_t start = 0; start < length; start += options->trace_size) {
        const stretch in = {start,
                            start + options->trace_size < length ? start + options->trace_size : length};
        naive_trace *now = traces[count] =
            naive_analyze(trace, in, options->thread_trace_size, adjust, wanted);
        const uint64_t distinct = distinct_in(trace, in);
        all->part[count] = in;
        all->count[count] = distinct;
        sum += distinct;
        count++;
        for (size_t i = in.start; i < in.end; i++) seen += !occurs(trace, (stretch){0, i}, trace[i]);
        for (size_t i = in.start; i < in.end; i++) {
            if (occurs(trace, (stretch){in.start, i}, trace[i])) continue;
            uint64_t first, latest, between = 0;
            merge(&now->blocks, trace, trace[i], ask_block, now, adjust, distinct, wanted, &first, &latest);
            /* The last trace before that has the block. */
            size_t before = count - 1;
            while (before > 0 && !occurs(trace, all->part[before - 1], trace[i]))
                between += all->count[--before];
            if (before == 0) {
                cold++;
                continue;
            }
            uint64_t old_first, old_latest;
            naive_trace *old = traces[before - 1];
            merge(&old->blocks, trace, trace[i], ask_block, old, adjust, 0, NULL, &old_first, &old_latest);
            uint64_t distance = naive_adjust(adjust, old_latest + between + first, seen, sum);
            if (fm_tally_add(wanted, &distance, 1, NULL)) abort();
        }
    }
    for (size_t i = 0; i < count; i++) {
        free(traces[i]->block);
        free(traces[i]);
    }
    free(traces);
    free(trace);
    free(all);
    return cold;
}

/* ---- the engine ---- */

static const char *engine_run(const fm_engine_ops *ops, const uint64_t *trace, size_t length, uint64_t chunk,
                              fm_engine_options options, const char *own, fm_tally *tally, uint64_t *distinct)
{
    static fm_error error;
    fm_engine *engine;
    engine_own_options(ops, own, &options);
    if (ops->create(&engine, &options, &error)) return error.reason;
    const char *wrong = NULL;
    size_t done;
    for (size_t i = 0; i < length && !wrong; i += chunk)
        if (count_blocks(ops, engine, trace + i, length - i < chunk ? length - i : chunk, tally, &done,
                         &error))
            wrong = error.reason;
    if (!wrong && catch_up(ops, engine, tally, &error)) wrong = error.reason;
    *distinct = ops->distinct(engine);
    ops->destroy(engine);
    return wrong;
}

static void assert_same(const fm_tally *wanted, const fm_tally *got, const recipe *made)
{
    bool same = wanted->total == got->total;
    for (uint64_t i = 0; i < wanted->capacity || i < got->capacity; i++)
        same = same &&
               (i < wanted->capacity ? wanted->counts[i] : 0) == (i < got->capacity ? got->counts[i] : 0);
    if (!same) recipe_print(made);
    assert_true(same);
}

CASE(test_against_the_formulas)
{
    const uint64_t seed = from_environment("FATHOM_TEST_SEED", 4),
                   traces = from_environment("FATHOM_TEST_TRACES", TRACES);
    for (uint64_t index = 0; index < traces; index++) {
        recipe made = recipe_make(seed, index);
        made.length %= index % 10 ? 300 : 900;
        if (made.alphabet > 60 && index % 3) made.alphabet = 60;
        uint64_t *trace = recipe_trace(&made);
        recipe_random random = {made.seed ^ 11};
        fm_engine_options options = {.seed = made.engine_seed,
                                     .threads = 1 + (unsigned)recipe_below(&random, 3)};
        hp_rda_wishes wishes = {.thread_trace_size =
                                    1 + recipe_below(&random, recipe_chance(&random, 2) ? 4 : 100)};
        wishes.trace_size = wishes.thread_trace_size + recipe_below(&random, 2 * made.length + 1);
        wishes.disable_adjusting = recipe_chance(&random, 3);
        char own[200];
        size_t used = (size_t)snprintf(
            own, sizeof own, "thread-trace-size=%" PRIu64 ",trace-size=%" PRIu64 ",disable-adjusting=%s",
            wishes.thread_trace_size, wishes.trace_size, wishes.disable_adjusting ? "yes" : "no");
        if (recipe_chance(&random, 4))
            snprintf(own + used, sizeof own - used, ",hash-size=%" PRIu64, 1 + recipe_below(&random, 20));
        const fm_bins bins = (fm_bins)recipe_below(&random, 3);
        fm_tally wanted, got;
        if (fm_tally_create(&wanted, bins, NULL) || fm_tally_create(&got, bins, NULL)) abort();
        const size_t cold = naive_profile(trace, made.length, &wishes, &wanted);
        uint64_t distinct = 0;
        const char *wrong =
            engine_run(on_card() ? &fm_engine_hp_rda_gpu : &fm_engine_hp_rda, trace, made.length,
                       1 + recipe_below(&random, 500), options, own, &got, &distinct);
        if (wrong) fail_msg("%s", wrong);
        assert_same(&wanted, &got, &made);
        assert_int_equal(got.cold, cold);
        assert_int_equal(distinct, cold);
        fm_tally_clear(&wanted);
        fm_tally_clear(&got);
        free(trace);
    }
}

CASE(test_one_thread_trace_is_exact)
{
    const uint64_t traces = from_environment("FATHOM_TEST_TRACES", TRACES) / 3;
    for (uint64_t index = 0; index < traces; index++) {
        recipe made = recipe_make(99, index);
        made.bound = 0;
        uint64_t *trace = recipe_trace(&made);
        engine_answers expected = engine_answers_make(made.length);
        assert_null(engine_expect(&made, trace, &expected));
        fm_engine_options options = {.seed = 1, .threads = 2};
        char own[100];
        snprintf(own, sizeof own, "trace-size=%zu,thread-trace-size=%zu", made.length + 1, made.length + 1);
        fm_tally wanted, got;
        if (fm_tally_create(&wanted, FM_BINS_EXACT, NULL) || fm_tally_create(&got, FM_BINS_EXACT, NULL))
            abort();
        if (fm_tally_add(&wanted, expected.distances, made.length, NULL)) abort();
        uint64_t distinct = 0;
        const char *wrong = engine_run(on_card() ? &fm_engine_hp_rda_gpu : &fm_engine_hp_rda, trace,
                                       made.length, 1000, options, own, &got, &distinct);
        if (wrong) fail_msg("%s", wrong);
        assert_same(&wanted, &got, &made);
        assert_int_equal(distinct, expected.distinct);
        assert_int_equal(got.cold, wanted.cold);
        fm_tally_clear(&wanted);
        fm_tally_clear(&got);
        engine_answers_free(&expected);
        free(trace);
    }
}

/* Long enough for many thread blocks; CPU threads, one and several, and the card. */
CASE(test_who_works_does_not_matter)
{
    const size_t length = large_length(1200000);
    uint64_t *trace = malloc(length * sizeof *trace);
    if (!trace) abort();
    recipe_random random = {5};
    for (size_t i = 0; i < length; i++)
        trace[i] = recipe_chance(&random, 3) ? recipe_below(&random, 40) : recipe_below(&random, 30000);
    for (uint64_t thread_trace = 64; thread_trace <= 4096; thread_trace *= 4) {
        fm_tally tallies[3];
        fm_engine_options options = {.seed = 3};
        char own[100];
        snprintf(own, sizeof own, "thread-trace-size=%" PRIu64 ",trace-size=%zu", thread_trace, length / 4);
        const int ways = on_card() ? 3 : 2;
        for (int way = 0; way < ways; way++) {
            uint64_t distinct = 0;
            options.threads = way == 0 ? 1 : 4;
            if (fm_tally_create(&tallies[way], FM_BINS_EXACT, NULL)) abort();
            const char *wrong = engine_run(way == 2 ? &fm_engine_hp_rda_gpu : &fm_engine_hp_rda, trace,
                                           length, 100000, options, own, &tallies[way], &distinct);
            if (wrong) fail_msg("%s", wrong);
            assert_int_equal(distinct, tallies[way].cold);
            recipe none = {0};
            if (way > 0) assert_same(&tallies[0], &tallies[way], &none);
        }
        for (int way = 0; way < ways; way++) fm_tally_clear(&tallies[way]);
    }
    free(trace);
}

CASE(test_pools_that_are_too_small)
{
    uint64_t trace[1000];
    for (size_t i = 0; i < 1000; i++) trace[i] = i;
    fm_engine_options options = {.seed = 3};
    fm_tally tally;
    uint64_t distinct = 0;
    if (fm_tally_create(&tally, FM_BINS_EXACT, NULL)) abort();
    const char *wrong = engine_run(&fm_engine_hp_rda, trace, 1000, 1000, options,
                                   "trace-size=1000,thread-trace-size=10,pool-size=500", &tally, &distinct);
    assert_non_null(wrong);
    assert_non_null(strstr(wrong, "memory pool"));
    fm_tally_clear(&tally);
}

CASE(test_refusals)
{
    fm_analyzer *analyzer;
    fm_error error;
    fm_analyzer_options bound = {.engine = "hp-rda", .bound = 5},
                        times = {.engine = "hp-rda", .time_distances = true};
    fm_analyzer_options large = {.engine = "hp-rda", .engine_options = "trace-size=1T"};
    fm_analyzer_options limit = {.engine = "hp-rda", .max_memory = 1 << 20};
    assert_int_equal(fm_analyzer_create(&analyzer, &bound, &error), FM_E_ARGUMENT);
    assert_int_equal(fm_analyzer_create(&analyzer, &times, &error), FM_E_ARGUMENT);
    assert_int_equal(fm_analyzer_create(&analyzer, &large, &error), FM_E_ARGUMENT);
    assert_int_equal(fm_analyzer_create(&analyzer, &limit, &error), FM_OK);
    const uint64_t blocks[] = {1, 2, 3, 1};
    fm_profile *profile;
    assert_int_equal(fm_analyzer_feed_blocks(analyzer, blocks, 4, &error), FM_OK);
    assert_int_equal(fm_analyzer_profile(analyzer, &profile, &error), FM_E_LIMIT);
    fm_analyzer_destroy(analyzer);
}

CASE(test_stages)
{
    fm_analyzer *analyzer;
    fm_profile *profile;
    fm_analyzer_options options = {.engine = "hp-rda", .engine_options = "trace-size=64K"};
    uint64_t trace[50000];
    for (size_t i = 0; i < 50000; i++) trace[i] = i % 777;
    assert_int_equal(fm_analyzer_create(&analyzer, &options, NULL), FM_OK);
    assert_int_equal(fm_analyzer_feed_blocks(analyzer, trace, 50000, NULL), FM_OK);
    assert_int_equal(fm_analyzer_profile(analyzer, &profile, NULL), FM_OK);
    assert_false(profile->exact);
    assert_int_equal(profile->references, 50000);
    assert_int_equal(profile->stage_count, FM_HP_RDA_STAGES);
    assert_true(profile->stages[FM_HP_RDA_ANALYZE].seconds > 0);
    fm_profile_destroy(profile);
    fm_analyzer_destroy(analyzer);
}

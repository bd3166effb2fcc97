/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_oracle_small_stack.c - the exact part of `shards`: below any bound it counts what the list engine
 * says, whatever the parts and the instruction set; all other references are beyond, or listed as fresh, and
 * every first touch is among those. And samples see the same references through its links as one by one.
 *
 *     FATHOM_TEST_SEED=N     other traces
 */
#include "case.h"

#include "engine/sampled/sampled.h"
#include "oracle/engine_run.h"

#include <fathom/experimental.h>

static uint64_t *true_distances(const uint64_t *trace, size_t length)
{
    fm_engine_options options = {.seed = 1};
    fm_engine *list;
    uint64_t *distances = malloc((length + 1) * sizeof *distances);
    size_t done = 0;
    assert_non_null(distances);
    /* `tree` where `list` takes minutes. */
    const fm_engine_ops *ops = length > 20000 ? &fm_engine_tree : &fm_engine_list;
    assert_int_equal(ops->create(&list, &options, NULL), FM_OK);
    assert_int_equal(feed_blocks(ops, list, trace, length, distances, NULL, &done, NULL), FM_OK);
    assert_int_equal(done, length);
    ops->destroy(list);
    return distances;
}

static bool is_among(const uint64_t *blocks, size_t count, uint64_t block)
{
    for (size_t i = 0; i < count; i++)
        if (blocks[i] == block) return true;
    return false;
}

static void assert_same_tally(const fm_tally *got, const fm_tally *wanted, uint64_t bound, const char *isa)
{
    if (got->total == wanted->total && got->beyond == wanted->beyond && got->cold == wanted->cold &&
        memcmp(got->counts, wanted->counts, wanted->capacity * sizeof *wanted->counts) == 0)
        return;
    fail_msg("bound %" PRIu64 ", %s: %" PRIu64 " below, %" PRIu64 " beyond, %" PRIu64
             " cold; expected %" PRIu64 ", %" PRIu64 ", %" PRIu64,
             bound, isa, got->total, got->beyond, got->cold, wanted->total, wanted->beyond, wanted->cold);
}

/* How blocks are hashed: with multipliers of 0, all into one slot. */
typedef enum crowd { NO_CROWD, PART_CROWDED, ALL_CROWDED } crowd;

static void check_stack(const uint64_t *trace, const uint64_t *distances, size_t length, uint64_t bound,
                        const char *isa, recipe_random *random, crowd how)
{
    fm_small_stack *stack =
        fm_small_stack_create(bound, 1 + recipe_below(random, 1000), fm_exact_kernels_find(isa));
    fm_tally got, wanted;
    assert_non_null(stack);
    if (how != NO_CROWD) stack->chunk.multiplier[0] = stack->chunk.multiplier[1] = 0;
    if (how == ALL_CROWDED) stack->multiplier[0] = stack->multiplier[1] = 0;
    const fm_bins bins = (fm_bins)recipe_below(random, 3);
    assert_int_equal(fm_tally_create(&got, bins, NULL), FM_OK);
    assert_int_equal(fm_tally_create(&wanted, bins, NULL), FM_OK);
    assert_int_equal(fm_tally_reserve(&got, bound, NULL), FM_OK);
    assert_int_equal(fm_tally_reserve(&wanted, bound, NULL), FM_OK);
    const bool whole = recipe_chance(random, 2);
    uint64_t far = 0, fresh = 0;
    for (size_t i = 0; i < length;) {
        size_t part = whole ? FM_CACHE_CHUNK : recipe_below(random, FM_CACHE_CHUNK + 1);
        if (part > length - i) part = length - i;
        fm_small_stack_count(stack, trace + i, part, &got);
        for (size_t j = i; j < i + part; j++) {
            if (distances[j] < bound)
                fm_tally_add_many(&wanted, distances[j], 1);
            else
                far++;
            if (distances[j] == FM_COLD && length < 5000)
                assert_true(is_among(stack->fresh, stack->fresh_count, trace[j]));
        }
        fresh += stack->fresh_count;
        i += part;
    }
    assert_true(fresh <= far);
    wanted.beyond = far - fresh;
    assert_same_tally(&got, &wanted, bound, isa);
    fm_tally_clear(&got);
    fm_tally_clear(&wanted);
    fm_small_stack_destroy(stack);
}

static void check_all_isas(const uint64_t *trace, size_t length, uint64_t bound, recipe_random *random,
                           crowd how)
{
    uint64_t *distances = true_distances(trace, length);
    const char *isa;
    for (size_t i = 0; (isa = fm_isa_at(i)); i++)
        check_stack(trace, distances, length, bound, isa, random, how);
    free(distances);
}

CASE(test_recipes)
{
    const uint64_t seed = from_environment("FATHOM_TEST_SEED", 4096);
    recipe_random random = {seed};
    for (uint64_t index = 0; index < few_rounds(2000); index++) {
        recipe made = recipe_make(seed, index);
        uint64_t *trace = recipe_trace(&made);
        const uint64_t bound = 1 + recipe_below(&random, index % 3 == 0 ? 80 : FM_SMALL_BOUND);
        check_all_isas(trace, made.length, bound, &random,
                       index % 10 == 0   ? PART_CROWDED
                       : index % 10 == 1 ? ALL_CROWDED
                                         : NO_CROWD);
        free(trace);
    }
}

/* Long enough for many restarts: new blocks, a drifting working set, blocks in clusters. */
CASE(test_restarts)
{
    const size_t length = few_rounds(120000);
    recipe_random random = {from_environment("FATHOM_TEST_SEED", 4096)};
    uint64_t *trace = malloc(length * sizeof *trace);
    assert_non_null(trace);
    static const uint64_t bounds[] = {
        1, 63, 64, 65, 1000, 4095, 4096, 4097, FM_SMALL_BOUND - 1, FM_SMALL_BOUND};
    for (size_t round = 0; round < few_rounds(40); round++) { /* each bound at least once */
        const uint64_t keys = UINT64_C(1) << (4 + recipe_below(&random, 14)),
                       drift = recipe_below(&random, 3);
        const unsigned runs = 1 + (unsigned)recipe_below(&random, 3);
        for (size_t i = 0; i < length; i++) {
            trace[i] = recipe_below(&random, keys) + drift * i / 2;
            if (i > 0 && recipe_below(&random, runs) > 0)
                trace[i] = trace[i - 1 - recipe_below(&random, i < 100 ? i : 100)];
            if (round % 3 == 0) trace[i] *= UINT64_C(0x9E3779B97F4A7C15);
        }
        check_all_isas(trace, length, bounds[round % 10], &random, round % 7 == 0 ? PART_CROWDED : NO_CROWD);
    }
    free(trace);
}

/* First touches are told as long as there are at most twice as many blocks as the bound; from either way. */
CASE(test_first_touches)
{
    enum { LENGTH = 60000 };
    recipe_random random = {from_environment("FATHOM_TEST_SEED", 4096)};
    uint64_t *trace = malloc(LENGTH * sizeof *trace);
    assert_non_null(trace);
    for (size_t round = 0; round < few_rounds(60); round++) {
        const uint64_t bound =
            round % 2 ? 1 + recipe_below(&random, 3 * FM_SMALL_BOUND) : 1 + recipe_below(&random, 500);
        const uint64_t keys = 1 + recipe_below(&random, 4 * bound);
        for (size_t i = 0; i < LENGTH; i++) trace[i] = recipe_below(&random, keys);
        uint64_t *distances = true_distances(trace, LENGTH), distinct = 0;
        const char *other = fm_isa_at(round % 3), *isa = other ? other : fm_isa_at(0);
        fm_exact_below below;
        fm_tally got, wanted;
        assert_int_equal(fm_exact_below_create(&below, bound, fm_exact_kernels_find(isa), 7, 0, NULL), FM_OK);
        assert_true((below.small != NULL) == (bound <= FM_SMALL_BOUND));
        assert_int_equal(fm_tally_create(&got, FM_BINS_LOGLINEAR, NULL), FM_OK);
        assert_int_equal(fm_tally_create(&wanted, FM_BINS_LOGLINEAR, NULL), FM_OK);
        for (size_t i = 0, done; i < LENGTH; i += done) {
            size_t part = 1 + recipe_below(&random, FM_CACHE_CHUNK);
            if (part > LENGTH - i) part = LENGTH - i;
            assert_int_equal(fm_exact_below_count(&below, trace + i, part, &got, &done, NULL), FM_OK);
            assert_int_equal(done, part);
        }
        for (size_t i = 0; i < LENGTH; i++) {
            if (distances[i] < bound)
                fm_tally_add_many(&wanted, distances[i], 1);
            else if (distances[i] == FM_COLD && ++distinct <= 2 * bound)
                wanted.cold++;
            else
                wanted.beyond++;
        }
        assert_same_tally(&got, &wanted, bound, isa);
        assert_int_equal(fm_exact_below_cold_known(&below), distinct <= 2 * bound);
        assert_true(fm_exact_below_memory(&below) <= fm_exact_below_memory_peak(&below));
        fm_exact_below_clear(&below);
        fm_tally_clear(&got);
        fm_tally_clear(&wanted);
        free(distances);
    }
    free(trace);
}

/* What is remembered of first touches keeps to the limit; without room for it, they are not told. */
CASE(test_memory_limit)
{
    const fm_exact_kernels *kernels = fm_exact_kernels_find(NULL);
    fm_exact_below below;
    assert_int_equal(fm_exact_below_create(&below, 4096, kernels, 7, 1000, NULL), FM_E_LIMIT);
    assert_null(below.small);
    const uint64_t limit = sizeof(fm_small_stack) + (64 << 10);
    fm_tally tally;
    assert_int_equal(fm_exact_below_create(&below, 4096, kernels, 7, limit, NULL), FM_OK);
    assert_int_equal(fm_tally_create(&tally, FM_BINS_LOGLINEAR, NULL), FM_OK);
    for (uint64_t i = 0; i < 8000; i++) {
        size_t done;
        assert_int_equal(fm_exact_below_count(&below, &i, 1, &tally, &done, NULL), FM_OK);
        assert_true(fm_exact_below_memory(&below) <= limit);
    }
    assert_false(fm_exact_below_cold_known(&below));
    assert_true(fm_exact_below_memory_peak(&below) <= limit);
    assert_int_equal(tally.cold + tally.beyond, 8000);
    fm_tally_clear(&tally);
    fm_exact_below_clear(&below);
}

/* ---- samples ---- */

static void touch_one_by_one(fm_block_sample *sample, const uint64_t *blocks, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const uint64_t common = fm_block_sample_common(blocks[i]);
        const uint32_t hash = fm_block_sample_hash(sample, common);
        if (hash < sample->threshold) fm_block_sample_touch(sample, blocks[i], common, hash);
    }
}

static void assert_same_samples(const fm_block_sample *a, const fm_block_sample *b)
{
    assert_int_equal(a->threshold, b->threshold);
    assert_int_equal(a->count, b->count);
    assert_int_equal(a->references, b->references);
    assert_int_equal(a->dither, b->dither);
    assert_true(a->cold == b->cold);
    assert_memory_equal(a->counts, b->counts, a->count_bins * sizeof *a->counts);
}

/* Few blocks, so that parts pay, and repeats within and between parts. Returns how many parts had links. */
static size_t check_samples(const char *isa, uint64_t keys, uint64_t most, recipe_random *random)
{
    enum { LENGTH = 30000 };
    const fm_exact_kernels *kernels = fm_exact_kernels_find(isa);
    static fm_sampled_chunk sampled;
    static uint64_t trace[LENGTH];
    fm_block_sample got, wanted;
    fm_tally tally;
    fm_small_stack *stack = fm_small_stack_create(1 + recipe_below(random, 5000), 7, kernels);
    assert_non_null(stack);
    assert_int_equal(fm_tally_create(&tally, FM_BINS_LOGLINEAR, NULL), FM_OK);
    assert_int_equal(fm_block_sample_create(&got, 0.1, most, 3, NULL), FM_OK);
    assert_int_equal(fm_block_sample_create(&wanted, 0.1, most, 3, NULL), FM_OK);
    const unsigned repeats = 1 + (unsigned)recipe_below(random, 4);
    for (size_t i = 0; i < LENGTH; i++)
        trace[i] = i > 0 && recipe_below(random, repeats) > 0 ? trace[i - 1] : recipe_below(random, keys);
    size_t linked = 0;
    for (size_t i = 0, now; i < LENGTH; i += now) {
        now = recipe_chance(random, 2) ? FM_CACHE_CHUNK : 1 + recipe_below(random, FM_CACHE_CHUNK);
        if (now > LENGTH - i) now = LENGTH - i;
        assert_int_equal(fm_block_sample_reserve(&got, FM_CACHE_CHUNK, NULL), FM_OK);
        assert_int_equal(fm_block_sample_reserve(&wanted, FM_CACHE_CHUNK, NULL), FM_OK);
        fm_small_stack_count(stack, trace + i, now, &tally);
        fm_sampled_chunk_start(&sampled, kernels, trace + i, now, stack);
        fm_sampled_chunk_touch(&sampled, &got, 1);
        touch_one_by_one(&wanted, trace + i, now);
        assert_same_samples(&got, &wanted);
        linked += stack->linked;
    }
    fm_block_sample_clear(&got);
    fm_block_sample_clear(&wanted);
    fm_tally_clear(&tally);
    fm_small_stack_destroy(stack);
    return linked;
}

CASE(test_samples)
{
    recipe_random random = {from_environment("FATHOM_TEST_SEED", 4096)};
    size_t linked = 0;
    const char *isa;
    for (size_t i = 0; (isa = fm_isa_at(i)); i++)
        for (unsigned round = 0; round < 40; round++)
            linked += check_samples(isa, 1 + recipe_below(&random, round % 2 ? 600 : 20000),
                                    round % 3 == 0 ? 1 + recipe_below(&random, 50) : 0, &random);
    assert_true(linked > 100);
}

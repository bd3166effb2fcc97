/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_oracle_team_parda.c - a PARDA team counts what the list engine finds, on thousands of generated traces
 * (trace_recipe.h, team_case.h): 1 to 8 ranks of one and more chunks, shares from no reference up, one phase
 * and many, bounds from 1 up, messages from one block up.
 *
 *     FATHOM_TEST_SEED, FATHOM_TEST_TRACES, FATHOM_TEST_ONLY   as in test_oracle_engines.c
 */
#include "case.h"

#include "cluster/parda.h"
#include "oracle/team_case.h"

enum { TRACES = 200, TRACES_PER_LONG_ONE = 100 };

static bool check_recipe(const recipe *made)
{
    static const size_t messages[] = {1, 2, 3, 16, 100, 16384};
    recipe_random random = {made->seed ^ 9};
    const team_case chosen = team_case_of(&fm_team_parda, made);
    const size_t usual = fm_parda_message_blocks;
    fm_parda_message_blocks = messages[recipe_below(&random, sizeof messages / sizeof messages[0])];
    /* A message of one block for each of many would only show how slow that is. */
    if (fm_parda_message_blocks < made->length / 500) fm_parda_message_blocks = made->length / 500;
    const bool good = team_case_agrees(&chosen, made);
    if (!good) fprintf(stderr, "messages of %zu blocks\n", fm_parda_message_blocks);
    fm_parda_message_blocks = usual;
    return good;
}

RECIPE_CASES(test, check_recipe, 20240612, TRACES, TRACES_PER_LONG_ONE)

/* The smallest traces, and the smallest bounds, with every number of ranks. */
CASE(test_smallest)
{
    if (getenv("FATHOM_TEST_ONLY")) return;
    /* One in five, where few are asked for one in eleven: numbers that leave all lengths, ranks and kinds. */
    const uint64_t step = from_environment("FATHOM_TEST_TRACES", TRACES) < TRACES ? 11 : 5;
    for (uint64_t index = 0; index < 12u * TEAM_CASE_MOST_RANKS * RECIPE_KINDS; index += step) {
        recipe made = recipe_make(7, index);
        made.length = index / RECIPE_KINDS % 12;
        made.alphabet = 1 + index % 5;
        made.bound = index % 4;
        made.seen_limit = index % 3 ? FM_SEEN_LIMIT : index % 7;
        team_case chosen = team_case_of(&fm_team_parda, &made);
        chosen.ranks = 1 + (uint32_t)(index / RECIPE_KINDS / 12);
        assert_true(team_case_agrees(&chosen, &made));
    }
}

/* Table II of the paper: two processors, and the distances that both together must find. */
CASE(test_the_papers_example)
{
    static const char trace[] = "dacbccg" /* the first processor's */
                                "efafbc";
    enum { FIRST = 7, LENGTH = sizeof trace - 1 };
    uint64_t blocks[LENGTH];
    fm_parda_chunk first, second;
    for (size_t i = 0; i < LENGTH; i++) blocks[i] = (uint64_t)trace[i];
    assert_int_equal(fm_parda_chunk_create(&first, 0, FM_BINS_EXACT, 1, NULL), FM_OK);
    assert_int_equal(fm_parda_chunk_create(&second, 0, FM_BINS_EXACT, 2, NULL), FM_OK);
    fm_parda_chunk_begin_phase(&first, true);
    assert_int_equal(fm_parda_chunk_feed(&first, blocks, FIRST, NULL), FM_OK);
    assert_int_equal(fm_parda_chunk_feed(&second, blocks + FIRST, LENGTH - FIRST, NULL), FM_OK);
    static const uint64_t infinities[] = {'e', 'f', 'a', 'b', 'c'};
    size_t count = second.infinity_count;
    assert_int_equal(count, 5);
    assert_memory_equal(second.infinities, infinities, sizeof infinities);
    assert_int_equal(fm_parda_chunk_absorb(&first, second.infinities, &count, NULL), FM_OK);
    assert_int_equal(count, 0);
    assert_int_equal(fm_tally_move(&first.tally, &second.tally, NULL), FM_OK);
    assert_int_equal(first.tally.cold, 7);
    assert_int_equal(first.tally.total, 6);
    assert_int_equal(first.tally.counts[0], 1);
    assert_int_equal(first.tally.counts[1], 2);
    assert_int_equal(first.tally.counts[5], 3);
    fm_parda_chunk_clear(&first);
    fm_parda_chunk_clear(&second);
}

/* Algorithm 4: what the right has is forgotten on the left, so that together the ranks hold each block once.
 */
CASE(test_no_block_twice)
{
    enum { LENGTH = 4000, BLOCKS = 500 };
    fm_parda_chunk earlier, later;
    assert_int_equal(fm_parda_chunk_create(&earlier, 0, FM_BINS_EXACT, 1, NULL), FM_OK);
    assert_int_equal(fm_parda_chunk_create(&later, 0, FM_BINS_EXACT, 1, NULL), FM_OK);
    fm_parda_chunk_begin_phase(&earlier, true);
    bool touched[BLOCKS] = {false};
    uint64_t distinct = 0;
    recipe_random random = {5};
    for (size_t i = 0; i < LENGTH; i++) {
        /* Each half has blocks that the other has not. */
        const uint64_t block = recipe_below(&random, 300) + (i < LENGTH / 2 ? 0 : 200);
        assert_int_equal(fm_parda_chunk_feed(i < LENGTH / 2 ? &earlier : &later, &block, 1, NULL), FM_OK);
        distinct += !touched[block];
        touched[block] = true;
    }
    size_t count = later.infinity_count;
    assert_int_equal(count, later.blocks.count);
    assert_int_equal(fm_parda_chunk_absorb(&earlier, later.infinities, &count, NULL), FM_OK);
    assert_int_equal(count, 0);
    assert_int_equal(earlier.blocks.count + later.blocks.count, distinct);
    for (uint64_t block = 0; block < BLOCKS; block++) {
        unsigned holders = 0;
        const fm_parda_chunk *both[] = {&earlier, &later};
        for (int i = 0; i < 2; i++) {
            const fm_block_tree *held = &both[i]->blocks;
            holders += fm_block_tree_find(held, block, fm_block_tree_hash(held, block))->node != SPLAY_NONE;
        }
        assert_int_equal(holders, touched[block]);
    }
    assert_int_equal(earlier.tally.cold, distinct);
    fm_parda_chunk_clear(&earlier);
    fm_parda_chunk_clear(&later);
}

/* Algorithm 7: under a bound, neither what a chunk holds nor what it passes on grows with the chunk. */
CASE(test_bounded_chunk)
{
    enum { BOUND = 100 };
    fm_parda_chunk chunk;
    assert_int_equal(fm_parda_chunk_create(&chunk, BOUND, FM_BINS_LOG2, 1, NULL), FM_OK);
    for (uint64_t block = 0; block < 10000; block++)
        assert_int_equal(fm_parda_chunk_feed(&chunk, &block, 1, NULL), FM_OK);
    assert_int_equal(chunk.blocks.count, BOUND);
    assert_int_equal(chunk.infinity_count, BOUND);
    assert_int_equal(chunk.tally.beyond, 10000 - BOUND);
    uint64_t more[3] = {50, 9999, 20000}; /* dropped, held, never seen */
    size_t count = 3;
    assert_int_equal(fm_parda_chunk_absorb(&chunk, more, &count, NULL), FM_OK);
    assert_int_equal(count, 0);
    assert_int_equal(chunk.tally.total, 1);
    assert_int_equal(chunk.tally.beyond, 10000 - BOUND + 2);
    fm_parda_chunk_clear(&chunk);
}

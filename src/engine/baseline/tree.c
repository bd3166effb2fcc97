/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tree.c - Olken's algorithm: a splay tree of blocks ordered by the time of their last access, each
 * node with a count of its subtree, and a hash table from block to node (block_tree.h). It is the baseline
 * of the literature, tuned by measurement (block_tree.h); the default engine (exact) is measured against it.
 *
 * A reference to a known block finds its node, and so its last time, through the hash table. A
 * top-down splay towards that time takes the node out of the tree, and counts on its way the blocks
 * that are older; all others were touched since: that is the distance. Then the node becomes the root
 * with all others to its left. A new block is hung above the root in one step. Time O(log distinct)
 * amortised per reference, less for recent blocks (the working-set property of splaying); space 32
 * bytes per block for the node and 8 to 22 for the hash slot.
 *
 * Under a bound the tree keeps only that many blocks and drops the oldest, as in the papers; what it
 * has seen is remembered beside it (engine_tables.h).
 *
 * It does not use more than one thread, and holds at most 3 * 2^30 blocks; then it refuses to go on.
 *
 * F. Olken: Efficient methods for calculating the success function of fixed space replacement
 * policies, LBL-12370, 1981.
 */
#include "base/error.h"
#include "base/memory.h"
#include "engine/baseline/block_tree.h"
#include "engine/engine.h"
#include "engine/engine_tables.h"

#include <inttypes.h>
#include <stdlib.h>

struct fm_engine {
    fm_block_tree blocks;
    uint64_t bound, max_memory;
    fm_seen_set *seen; /* NULL without a bound */
    uint64_t memory_peak;
};

/* ---- memory ---- */

static uint64_t memory_beside_blocks(const fm_engine *tree)
{
    return sizeof *tree + (tree->seen ? fm_seen_set_memory(tree->seen) : 0);
}

static uint64_t tree_memory(const fm_engine *tree)
{
    return memory_beside_blocks(tree) + fm_block_tree_memory(&tree->blocks);
}

static void note_peak(fm_engine *tree, uint64_t memory)
{
    if (memory > tree->memory_peak) tree->memory_peak = memory;
}

static bool over_limit(const fm_engine *tree, uint64_t needed)
{
    return tree->max_memory && needed > tree->max_memory;
}

static fm_status check_limit(const fm_engine *tree, uint64_t needed, fm_error *error)
{
    if (!over_limit(tree, needed)) return FM_OK;
    return fm_fail(error, FM_E_LIMIT, NULL,
                   "the tree engine needs %" PRIu64 " bytes for %" PRIu32 " blocks, the limit is %" PRIu64,
                   needed, tree->blocks.count + 1, tree->max_memory);
}

static fm_status tree_grow(fm_engine *tree, fm_error *error)
{
    const uint64_t others = memory_beside_blocks(tree);
    const bool sparing = over_limit(tree, others + fm_block_tree_memory_next(&tree->blocks, false));
    fm_status status = check_limit(tree, others + fm_block_tree_memory_next(&tree->blocks, sparing), error);
    if (status == FM_OK) status = fm_block_tree_grow(&tree->blocks, sparing, error);
    note_peak(tree, tree_memory(tree));
    return status;
}

/* ---- the engine ---- */

/* Asks the seen set about a block that is not held. */
static fm_status tree_classify(fm_engine *tree, uint64_t block, uint64_t *distance, uint64_t *time_distance,
                               fm_error *error)
{
    *distance = *time_distance = FM_COLD;
    if (!tree->seen) return FM_OK;
    uint64_t others = tree_memory(tree) - fm_seen_set_memory(tree->seen);
    uint64_t budget = !tree->max_memory           ? UINT64_MAX
                      : tree->max_memory > others ? tree->max_memory - others
                                                  : 0;
    uint64_t next = fm_seen_set_memory_next(tree->seen);
    uint64_t last_time = 0;
    fm_seen seen = fm_seen_set_insert(tree->seen, block, budget, &last_time);
    switch (seen) {
    case FM_SEEN_NEW:
        note_peak(tree, others + next);
        break;
    case FM_SEEN_KNOWN:
        *distance = FM_BEYOND;
        *time_distance = tree->blocks.time - last_time;
        break;
    case FM_SEEN_GIVEN_UP:
        *distance = *time_distance = FM_BEYOND;
        break;
    case FM_SEEN_NO_MEMORY:
        return fm_fail_memory(error, next, "the set of blocks seen");
    }
    return FM_OK;
}

/* A block that is not in the tree: nothing has changed when this fails. */
static fm_status add_block(fm_engine *tree, uint64_t block, uint32_t hash, uint64_t *distance,
                           uint64_t *time_distance, fm_error *error)
{
    fm_block_tree *blocks = &tree->blocks;
    const bool full = tree->bound && blocks->count >= tree->bound;
    fm_status status = FM_OK;
    if (!full && !fm_block_tree_has_room(blocks)) status = tree_grow(tree, error);
    if (status == FM_OK) status = tree_classify(tree, block, distance, time_distance, error);
    if (status != FM_OK) return status;
    uint32_t x;
    if (full) {
        x = fm_block_tree_drop_oldest(blocks);
        fm_seen_set_store_time(tree->seen, blocks->nodes[x].block, blocks->nodes[x].time);
    } else {
        x = fm_block_tree_new_node(blocks);
    }
    fm_block_tree_add(blocks, x, block, hash);
    return FM_OK;
}

static fm_status tree_feed(fm_engine *tree, const fm_references *references, const fm_engine_results *results,
                           size_t *done, fm_error *error)
{
    const uint64_t *const blocks = references->blocks;
    const size_t count = references->count;
    uint64_t *const distances = results->each_distance, *const times = results->each_time;
    fm_block_tree *const held = &tree->blocks;
    for (size_t i = 0; i < count; i++) {
        fm_block_tree_fetch(held, blocks, i, count);
        const uint32_t hash = fm_block_tree_hash(held, blocks[i]);
        const uint32_t x = fm_block_tree_find(held, blocks[i], hash)->node;
        uint64_t time_distance;
        if (x == SPLAY_NONE) {
            fm_status status = add_block(tree, blocks[i], hash, &distances[i], &time_distance, error);
            if (status) {
                *done = i;
                return status;
            }
        } else {
            time_distance = held->time - held->nodes[x].time;
            distances[i] = fm_block_tree_touch(held, x);
        }
        if (times) times[i] = time_distance;
        held->time++;
    }
    *done = count;
    return FM_OK;
}

static void tree_destroy(fm_engine *tree)
{
    if (!tree) return;
    fm_block_tree_clear(&tree->blocks);
    fm_seen_set_destroy(tree->seen);
    free(tree);
}

static fm_status tree_create(fm_engine **engine, const fm_engine_options *options, fm_error *error)
{
    *engine = NULL;
    fm_engine *tree = fm_calloc(1, sizeof *tree);
    if (!tree) return fm_fail_memory(error, sizeof *tree, "the tree engine");
    tree->bound = options->bound;
    tree->max_memory = options->max_memory;
    fm_status status = fm_block_tree_create(&tree->blocks, options->seed, options->first_time, error);
    if (status == FM_OK && options->bound) {
        tree->seen = fm_seen_set_create(fm_seen_limit, options->seed, options->time_distances);
        if (!tree->seen) status = fm_fail_memory(error, tree_memory(tree), "the set of blocks seen");
    }
    if (status == FM_OK) status = check_limit(tree, tree_memory(tree), error);
    if (status != FM_OK) {
        tree_destroy(tree);
        return status;
    }
    note_peak(tree, tree_memory(tree));
    *engine = tree;
    return FM_OK;
}

static uint64_t tree_distinct(const fm_engine *tree)
{
    return tree->seen ? fm_seen_set_count(tree->seen) : tree->blocks.count;
}

static bool tree_cold_known(const fm_engine *tree)
{
    return !tree->seen || !fm_seen_set_given_up(tree->seen);
}

static uint64_t tree_memory_peak(const fm_engine *tree)
{
    return tree->memory_peak;
}

const fm_engine_ops fm_engine_tree = {
    .info = {.name = "tree",
             .summary = "Olken's splay tree with a hash table: the papers' baseline",
             .exact = true},
    .create = tree_create,
    .destroy = tree_destroy,
    .feed = tree_feed,
    .distinct = tree_distinct,
    .cold_known = tree_cold_known,
    .memory = tree_memory,
    .memory_peak = tree_memory_peak,
};

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tree.c - Olken's algorithm: a splay tree of blocks ordered by the time of their last access, each
 * node with a count of its subtree, and a hash table from block to node. It is the baseline of the
 * literature, tuned by measurement (splay.h); the default engine (exact) is measured against it.
 *
 * A reference to a known block finds its node, and so its last time, through the hash table. A
 * top-down splay towards that time takes the node out of the tree, and counts on its way the blocks
 * that are older; all others were touched since: that is the distance. Then the node becomes the root
 * with all others to its left. A new block is hung above the root in one step. Time O(log distinct)
 * amortised per reference, less for recent blocks (the working-set property of splaying); space 32
 * bytes per block for the node and 8 to 22 for the hash slot.
 *
 * Under a bound the tree keeps only that many blocks and drops the oldest, as in the papers; what it
 * has seen is remembered beside it (seen_set.h).
 *
 * It does not use more than one thread, and holds at most 3 * 2^30 blocks; then it refuses to go on.
 *
 * F. Olken: Efficient methods for calculating the success function of fixed space replacement
 * policies, LBL-12370, 1981.
 */
#include "base/error.h"
#include "base/memory.h"
#include "engine/engine.h"
#include "engine/seen_set.h"
#include "engine/splay.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum {
    FIRST_NODES = 128, /* 4 KiB */
    FIRST_BITS = 9,    /* 512 slots: 4 KiB */
    LAST_BITS = 32,    /* a slot's home comes from 32 bits of hash */
    NODE_AHEAD = 8,    /* so many references early the node is fetched, */
    SLOT_AHEAD = 16,   /* and so many early its slot */
};

typedef struct slot {
    uint32_t hash;
    uint32_t node; /* SPLAY_NONE: the slot is empty */
} slot;

struct fm_engine {
    splay_node *nodes;
    slot *slots;
    uint32_t root;  /* the most recent block, so it never has a right subtree; SPLAY_NONE before the first */
    uint32_t count; /* nodes in the tree: nodes[1] … nodes[count] */
    uint64_t capacity; /* of nodes, nodes[0] included */
    unsigned bits;     /* the table has 2^bits slots, at most three quarters of them taken */
    uint64_t time;     /* of the next reference */
    uint64_t bound, max_memory;
    uint64_t seed_add, seed_multiply;
    fm_seen_set *seen; /* NULL without a bound */
    uint64_t memory_peak;
};

/* ---- memory ---- */

static uint64_t slots_in(unsigned bits)
{
    return UINT64_C(1) << bits;
}

static uint64_t memory_with(const fm_engine *tree, uint64_t capacity, unsigned bits)
{
    return sizeof *tree + capacity * sizeof(splay_node) + slots_in(bits) * sizeof(slot) +
           (tree->seen ? fm_seen_set_memory(tree->seen) : 0);
}

static uint64_t tree_memory(const fm_engine *tree)
{
    return memory_with(tree, tree->capacity, tree->bits);
}

static void note_peak(fm_engine *tree, uint64_t memory)
{
    if (memory > tree->memory_peak) tree->memory_peak = memory;
}

static fm_status check_limit(const fm_engine *tree, uint64_t needed, fm_error *error)
{
    if (!tree->max_memory || needed <= tree->max_memory) return FM_OK;
    return fm_fail(error, FM_E_LIMIT, NULL,
                   "the tree engine needs %" PRIu64 " bytes for %" PRIu32 " blocks, the limit is %" PRIu64,
                   needed, tree->count + 1, tree->max_memory);
}

/* ---- the hash table: linear probing ---- */

/* Seeded, so that nobody can choose blocks that meet in one place. */
static inline uint32_t hash_of(const fm_engine *tree, uint64_t block)
{
    __uint128_t product = (__uint128_t)(block ^ tree->seed_add) * tree->seed_multiply;
    uint64_t folded = (uint64_t)product ^ (uint64_t)(product >> 64);
    return (uint32_t)((folded * UINT64_C(0x9E3779B97F4A7C15)) >> 32);
}

static inline uint64_t home_of(const fm_engine *tree, uint32_t hash)
{
    return (uint64_t)hash >> (32 - tree->bits);
}

/* The slot of the block, or the empty one where it belongs. */
static inline slot *slot_find(const fm_engine *tree, uint64_t block, uint32_t hash)
{
    uint64_t mask = slots_in(tree->bits) - 1;
    uint64_t at = home_of(tree, hash);
    for (;;) {
        slot *candidate = &tree->slots[at];
        if (candidate->node == SPLAY_NONE) return candidate;
        if (candidate->hash == hash && tree->nodes[candidate->node].block == block) return candidate;
        at = (at + 1) & mask;
    }
}

/* Empties a slot and moves up what had been pushed past it, so that no tombstone is needed. */
static void slot_remove(fm_engine *tree, slot *removed)
{
    uint64_t mask = slots_in(tree->bits) - 1;
    uint64_t hole = (uint64_t)(removed - tree->slots);
    for (uint64_t at = (hole + 1) & mask; tree->slots[at].node != SPLAY_NONE; at = (at + 1) & mask) {
        uint64_t home = home_of(tree, tree->slots[at].hash);
        /* It may move to the hole unless its home lies after the hole. */
        if (((at - home) & mask) >= ((at - hole) & mask)) {
            tree->slots[hole] = tree->slots[at];
            hole = at;
        }
    }
    tree->slots[hole] = (slot){0, SPLAY_NONE};
}

/* The nodes hold the blocks, so the doubled table is filled anew in place: never two tables at once. */
static fm_status slots_double(fm_engine *tree, fm_error *error)
{
    if (tree->bits == LAST_BITS)
        return fm_fail(error, FM_E_UNSUPPORTED, NULL, "the tree engine holds at most %" PRIu32 " blocks",
                       tree->count);
    uint64_t needed = memory_with(tree, tree->capacity, tree->bits + 1);
    fm_status status = check_limit(tree, needed, error);
    if (status) return status;
    size_t bytes = slots_in(tree->bits) * sizeof(slot);
    slot *slots = fm_pages_resize(tree->slots, bytes, bytes * 2);
    if (!slots) return fm_fail_memory(error, bytes * 2, "the tree engine's hash table");
    memset(slots, 0, bytes);
    tree->slots = slots;
    tree->bits++;
    note_peak(tree, needed);
    for (uint32_t i = 1; i <= tree->count; i++) {
        uint32_t hash = hash_of(tree, tree->nodes[i].block);
        *slot_find(tree, tree->nodes[i].block, hash) = (slot){hash, i};
    }
    return FM_OK;
}

static fm_status nodes_grow(fm_engine *tree, fm_error *error)
{
    /* A quarter more; where the limit does not allow that, one page more. */
    uint64_t capacity = (tree->capacity + tree->capacity / 4 + FIRST_NODES) / FIRST_NODES * FIRST_NODES;
    if (tree->max_memory && memory_with(tree, capacity, tree->bits) > tree->max_memory)
        capacity = tree->capacity + FIRST_NODES;
    uint64_t needed = memory_with(tree, capacity, tree->bits);
    fm_status status = check_limit(tree, needed, error);
    if (status) return status;
    size_t bytes = capacity * sizeof(splay_node);
    splay_node *nodes = fm_pages_resize(tree->nodes, tree->capacity * sizeof(splay_node), bytes);
    if (!nodes) return fm_fail_memory(error, bytes, "the tree engine's nodes");
    tree->nodes = nodes;
    tree->capacity = capacity;
    note_peak(tree, needed);
    return FM_OK;
}

/* ---- the splay tree: see splay.h ---- */

/* Hangs x, which is newer than all of the `others` nodes in the tree, above the root. */
static inline void tree_put(fm_engine *tree, uint32_t x, uint32_t others)
{
    splay_node *put = &tree->nodes[x];
    put->time = tree->time;
    put->left = tree->root;
    put->right = SPLAY_NONE;
    put->older = others;
    tree->root = x;
}

/* Drops the oldest block; its node is free to be used. */
static uint32_t tree_drop_oldest(fm_engine *tree)
{
    uint32_t oldest = tree->root;
    while (tree->nodes[oldest].left != SPLAY_NONE) oldest = tree->nodes[oldest].left;
    if (oldest == tree->root)
        tree->root = SPLAY_NONE;
    else
        splay_take(tree->nodes, &tree->root, oldest);
    const splay_node *dropped = &tree->nodes[oldest];
    slot_remove(tree, slot_find(tree, dropped->block, hash_of(tree, dropped->block)));
    fm_seen_set_store_time(tree->seen, dropped->block, dropped->time);
    return oldest;
}

/* ---- the engine ---- */

/* Asks the seen set about a block that is not held. */
static fm_status classify(fm_engine *tree, uint64_t block, uint64_t *distance, uint64_t *time_distance,
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
        *time_distance = tree->time - last_time;
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
    fm_status status = FM_OK;
    bool full = tree->bound && tree->count >= tree->bound;
    if (!full) {
        if (tree->count + 1 >= tree->capacity) status = nodes_grow(tree, error);
        if (!status && tree->count >= slots_in(tree->bits) / 4 * 3) status = slots_double(tree, error);
        if (status) return status;
    }
    status = classify(tree, block, distance, time_distance, error);
    if (status) return status;
    uint32_t x = full ? tree_drop_oldest(tree) : ++tree->count;
    tree->nodes[x].block = block;
    *slot_find(tree, block, hash) = (slot){hash, x};
    tree_put(tree, x, tree->count - 1);
    return FM_OK;
}

static inline void fetch_slot(const fm_engine *tree, uint64_t block)
{
    __builtin_prefetch(&tree->slots[home_of(tree, hash_of(tree, block))]);
}

static inline void fetch_node(const fm_engine *tree, uint64_t block)
{
    __builtin_prefetch(&tree->nodes[tree->slots[home_of(tree, hash_of(tree, block))].node]);
}

static fm_status tree_feed(fm_engine *tree, const uint64_t *blocks, size_t count, uint64_t *distances,
                           uint64_t *times, size_t *done, fm_error *error)
{
    for (size_t i = 0; i < count; i++) {
        if (count - i > SLOT_AHEAD) fetch_slot(tree, blocks[i + SLOT_AHEAD]);
        if (count - i > NODE_AHEAD) fetch_node(tree, blocks[i + NODE_AHEAD]);
        uint32_t hash = hash_of(tree, blocks[i]);
        uint32_t x = slot_find(tree, blocks[i], hash)->node;
        uint64_t time_distance;
        if (x == SPLAY_NONE) {
            fm_status status = add_block(tree, blocks[i], hash, &distances[i], &time_distance, error);
            if (status) {
                *done = i;
                return status;
            }
        } else {
            time_distance = tree->time - tree->nodes[x].time;
            if (x == tree->root) {
                distances[i] = 0;
                tree->nodes[x].time = tree->time;
            } else {
                uint32_t others = tree->count - 1;
                distances[i] = others - splay_take(tree->nodes, &tree->root, x);
                tree_put(tree, x, others);
            }
        }
        if (times) times[i] = time_distance;
        tree->time++;
    }
    *done = count;
    return FM_OK;
}

static void tree_destroy(fm_engine *tree)
{
    if (!tree) return;
    fm_pages_free(tree->nodes, tree->capacity * sizeof(splay_node));
    fm_pages_free(tree->slots, slots_in(tree->bits) * sizeof(slot));
    fm_seen_set_destroy(tree->seen);
    free(tree);
}

static uint64_t mixed(uint64_t value)
{
    value = (value ^ (value >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    value = (value ^ (value >> 27)) * UINT64_C(0x94D049BB133111EB);
    return value ^ (value >> 31);
}

static fm_status tree_create(fm_engine **engine, const fm_engine_options *options, fm_error *error)
{
    *engine = NULL;
    fm_engine *tree = fm_calloc(1, sizeof *tree);
    if (!tree) return fm_fail_memory(error, sizeof *tree, "the tree engine");
    tree->bits = FIRST_BITS;
    tree->capacity = FIRST_NODES;
    tree->time = options->first_time;
    tree->bound = options->bound;
    tree->max_memory = options->max_memory;
    tree->seed_add = mixed(options->seed);
    tree->seed_multiply = mixed(options->seed + UINT64_C(0x9E3779B97F4A7C15)) | 1;
    tree->nodes = fm_pages_allocate(FIRST_NODES * sizeof(splay_node));
    tree->slots = fm_pages_allocate(slots_in(FIRST_BITS) * sizeof(slot));
    if (options->bound)
        tree->seen = fm_seen_set_create(fm_seen_limit, options->seed, options->time_distances);
    fm_status status = FM_OK;
    if (!tree->nodes || !tree->slots || (options->bound && !tree->seen))
        status = fm_fail_memory(error, tree_memory(tree), "the tree engine");
    else
        status = check_limit(tree, tree_memory(tree), error);
    if (status) {
        tree_destroy(tree);
        return status;
    }
    note_peak(tree, tree_memory(tree));
    *engine = tree;
    return FM_OK;
}

static uint64_t tree_distinct(const fm_engine *tree)
{
    return tree->seen ? fm_seen_set_count(tree->seen) : tree->count;
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

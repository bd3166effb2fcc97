/* SPDX-License-Identifier: Apache-2.0 */
/* block_sample.c - see block_sample.h. */
#include "engine/block_sample.h"

#include "base/error.h"
#include "base/memory.h"

#include <string.h>

enum {
    FIRST_CAPACITY = 256,
    FIRST_BITS = 9,
    LAST_BITS = 31, /* node numbers have 32 bits */
};

/* ---- memory ---- */

static uint64_t node_bytes(const fm_block_sample *sample)
{
    return sizeof(splay_node) + (sample->most ? sizeof(uint32_t) : 0);
}

static uint64_t bytes_with(const fm_block_sample *sample, uint64_t capacity, unsigned bits)
{
    return (capacity + 1) * node_bytes(sample) + (sizeof(uint32_t) << bits) +
           sample->count_bins * sizeof(double);
}

/* At most five eighths of the slots are taken. */
static bool fits(uint64_t blocks, unsigned bits)
{
    return 8 * blocks <= UINT64_C(5) << bits;
}

static unsigned bits_for(const fm_block_sample *sample, uint64_t blocks)
{
    unsigned bits = sample->bits ? sample->bits : FIRST_BITS;
    while (bits < LAST_BITS && !fits(blocks, bits)) bits++;
    return bits;
}

/* The blocks there may be after `more` new ones: one too many for a moment, with a fixed number. */
static uint64_t blocks_after(const fm_block_sample *sample, uint64_t more)
{
    const uint64_t blocks = sample->count + more;
    return sample->most && blocks > sample->most + 1 ? sample->most + 1 : blocks;
}

static uint64_t capacity_for(const fm_block_sample *sample, uint64_t blocks)
{
    uint64_t capacity = sample->capacity ? sample->capacity : FIRST_CAPACITY;
    while (capacity < blocks) capacity += capacity / 2;
    return sample->most && capacity > sample->most + 1 ? sample->most + 1 : capacity;
}

bool fm_block_sample_has_room(const fm_block_sample *sample, uint64_t more)
{
    const uint64_t blocks = blocks_after(sample, more);
    return blocks <= sample->capacity && fits(blocks, sample->bits);
}

uint64_t fm_block_sample_memory(const fm_block_sample *sample)
{
    return sample->nodes ? bytes_with(sample, sample->capacity, sample->bits) : 0;
}

uint64_t fm_block_sample_memory_growing(const fm_block_sample *sample, uint64_t more)
{
    const uint64_t blocks = blocks_after(sample, more);
    const unsigned bits = bits_for(sample, blocks);
    const uint64_t old_slots = bits > sample->bits ? sizeof(uint32_t) << sample->bits : 0;
    return bytes_with(sample, capacity_for(sample, blocks), bits) + old_slots;
}

/* ---- the hash table ---- */

static inline uint64_t home_of(const fm_block_sample *sample, uint64_t common)
{
    return common >> (64 - sample->bits);
}

/* The slot of the block, or the empty one where it belongs. */
static inline uint32_t *slot_find(const fm_block_sample *sample, uint64_t block, uint64_t common)
{
    const uint64_t mask = (UINT64_C(1) << sample->bits) - 1;
    uint64_t at = home_of(sample, common);
    while (sample->slots[at] != SPLAY_NONE && sample->nodes[sample->slots[at]].block != block)
        at = (at + 1) & mask;
    return &sample->slots[at];
}

/* Empties a slot and moves up what had been pushed past it. */
static void slot_remove(fm_block_sample *sample, const uint32_t *removed)
{
    const uint64_t mask = (UINT64_C(1) << sample->bits) - 1;
    uint64_t hole = (uint64_t)(removed - sample->slots);
    for (uint64_t at = (hole + 1) & mask; sample->slots[at] != SPLAY_NONE; at = (at + 1) & mask) {
        const uint64_t common = fm_block_sample_common(sample->nodes[sample->slots[at]].block);
        const uint64_t home = home_of(sample, common);
        if (((at - home) & mask) >= ((at - hole) & mask)) {
            sample->slots[hole] = sample->slots[at];
            hole = at;
        }
    }
    sample->slots[hole] = SPLAY_NONE;
}

static fm_status grow_slots(fm_block_sample *sample, unsigned bits, fm_error *error)
{
    const size_t bytes = sizeof(uint32_t) << bits;
    uint32_t *slots = fm_pages_allocate(bytes);
    if (!slots) return fm_fail_memory(error, bytes, "a sample's hash table");
    if (sample->slots) fm_pages_free(sample->slots, sizeof(uint32_t) << sample->bits);
    sample->slots = slots;
    sample->bits = bits;
    /* It grows only while no block has left yet: then all numbers up to `used` are taken. */
    for (uint32_t i = 1; i <= sample->used; i++) {
        const uint64_t block = sample->nodes[i].block;
        *slot_find(sample, block, fm_block_sample_common(block)) = i;
    }
    return FM_OK;
}

/* ---- life ---- */

static void *resized(void *array, uint64_t old_count, uint64_t count, size_t size)
{
    if (!array) return fm_pages_allocate((size_t)count * size);
    return fm_pages_resize(array, (size_t)old_count * size, (size_t)count * size);
}

fm_status fm_block_sample_reserve(fm_block_sample *sample, uint64_t more, fm_error *error)
{
    if (fm_block_sample_has_room(sample, more)) return FM_OK;
    const uint64_t blocks = blocks_after(sample, more), capacity = capacity_for(sample, blocks);
    const unsigned bits = bits_for(sample, blocks);
    if (!fits(blocks, bits)) return fm_fail(error, FM_E_LIMIT, NULL, "a sample holds at most 2^30 blocks");
    if (capacity > sample->capacity) {
        const size_t bytes = (size_t)((capacity + 1) * node_bytes(sample));
        splay_node *nodes = resized(sample->nodes, sample->capacity + 1, capacity + 1, sizeof *nodes);
        if (!nodes) return fm_fail_memory(error, bytes, "a sample's blocks");
        sample->nodes = nodes;
        uint32_t *heap = NULL;
        if (sample->most) heap = resized(sample->heap, sample->capacity + 1, capacity + 1, sizeof *heap);
        if (sample->most && !heap) {
            /* Back to what clear and memory count with. Making an array smaller does not fail. */
            nodes =
                sample->capacity ? resized(nodes, capacity + 1, sample->capacity + 1, sizeof *nodes) : nodes;
            if (sample->capacity == 0) fm_pages_free(nodes, (size_t)(capacity + 1) * sizeof *nodes);
            sample->nodes = sample->capacity ? nodes : NULL;
            return fm_fail_memory(error, bytes, "a sample's blocks");
        }
        sample->heap = heap;
        sample->capacity = capacity;
    }
    return bits > sample->bits ? grow_slots(sample, bits, error) : FM_OK;
}

fm_status fm_block_sample_create(fm_block_sample *sample, double rate, uint64_t most, uint64_t seed,
                                 fm_error *error)
{
    memset(sample, 0, sizeof *sample);
    sample->most = most;
    sample->threshold = most || rate >= 1 ? UINT64_C(1) << 32 : (uint64_t)(rate * 0x1p32);
    if (sample->threshold == 0) sample->threshold = 1;
    sample->multiplier = fm_block_sample_common(seed + UINT64_C(0x9E3779B97F4A7C15)) | 1;
    sample->count_bins = fm_bins_index(FM_BINS_LOGLINEAR, UINT64_MAX) + 1;
    sample->counts = fm_pages_allocate(sample->count_bins * sizeof *sample->counts);
    if (!sample->counts)
        return fm_fail_memory(error, sample->count_bins * sizeof *sample->counts, "a sample's histogram");
    return fm_block_sample_reserve(sample, 1, error);
}

void fm_block_sample_clear(fm_block_sample *sample)
{
    const size_t nodes = (size_t)sample->capacity + 1;
    if (sample->nodes) fm_pages_free(sample->nodes, nodes * sizeof *sample->nodes);
    if (sample->heap) fm_pages_free(sample->heap, nodes * sizeof *sample->heap);
    if (sample->slots) fm_pages_free(sample->slots, sizeof(uint32_t) << sample->bits);
    if (sample->counts) fm_pages_free(sample->counts, sample->count_bins * sizeof *sample->counts);
    memset(sample, 0, sizeof *sample);
}

/* ---- the heap of hashes ---- */

static inline uint32_t heap_hash(const fm_block_sample *sample, uint64_t at)
{
    return sample->nodes[sample->heap[at]].unused;
}

static void heap_push(fm_block_sample *sample, uint32_t node)
{
    uint64_t at = sample->count; /* it is counted already: the heap is [1 … count] */
    while (at > 1 && heap_hash(sample, at / 2) < sample->nodes[node].unused) {
        sample->heap[at] = sample->heap[at / 2];
        at /= 2;
    }
    sample->heap[at] = node;
}

/* Takes the first away; the node `count` is in the heap still. */
static void heap_pop(fm_block_sample *sample)
{
    const uint64_t last = sample->count;
    const uint32_t moved = sample->heap[last];
    uint64_t at = 1;
    for (uint64_t child; (child = 2 * at) < last; at = child) {
        if (child + 1 < last && heap_hash(sample, child + 1) > heap_hash(sample, child)) child++;
        if (heap_hash(sample, child) <= sample->nodes[moved].unused) break;
        sample->heap[at] = sample->heap[child];
    }
    sample->heap[at] = moved;
}

/* ---- references ---- */

static void tree_put(fm_block_sample *sample, uint32_t node, uint32_t others)
{
    splay_node *put = &sample->nodes[node];
    put->time = sample->clock;
    put->left = sample->root;
    put->right = SPLAY_NONE;
    put->older = others;
    sample->root = node;
}

/* Returns how many are older. */
static uint32_t tree_take(fm_block_sample *sample, uint32_t node)
{
    if (node != sample->root) return splay_take(sample->nodes, &sample->root, node);
    const splay_node *taken = &sample->nodes[node];
    const uint32_t older = taken->older;
    sample->root = splay_join(sample->nodes, taken->left, taken->right);
    return older;
}

/* The block with the largest hash, and those with the same, leave; the rate falls to what is left. */
static void shrink(fm_block_sample *sample)
{
    sample->threshold = heap_hash(sample, 1);
    while (sample->count > 0 && heap_hash(sample, 1) >= sample->threshold) {
        const uint32_t gone = sample->heap[1];
        heap_pop(sample);
        const uint64_t block = sample->nodes[gone].block;
        tree_take(sample, gone);
        slot_remove(sample, slot_find(sample, block, fm_block_sample_common(block)));
        sample->count--;
        sample->nodes[gone].left = sample->free;
        sample->free = gone;
    }
    if (sample->threshold == 0) sample->threshold = 1;
}

static uint32_t new_node(fm_block_sample *sample)
{
    sample->count++;
    if (sample->free == SPLAY_NONE) return ++sample->used;
    const uint32_t node = sample->free;
    sample->free = sample->nodes[node].left;
    return node;
}

/* Only multiples of 1/R can come out: each is spread over its surroundings, as far as to the next. */
static void count_distance(fm_block_sample *sample, uint32_t between)
{
    const double rate = fm_block_sample_rate(sample);
    sample->dither = fm_block_sample_next_dither(sample->dither);
    const double aside = ((double)(sample->dither >> 11) * 0x1p-53 - 0.5) * (1 / rate - 1);
    const double distance = (double)between / rate + aside;
    sample->counts[fm_bins_index(FM_BINS_LOGLINEAR, distance > 0 ? (uint64_t)distance : 0)] += 1 / rate;
}

void fm_block_sample_touch(fm_block_sample *sample, uint64_t block, uint64_t common, uint32_t hash)
{
    uint32_t *slot = slot_find(sample, block, common);
    const uint32_t node = *slot;
    sample->references++;
    if (node != SPLAY_NONE && sample->nodes[node].time + 1 == sample->clock) {
        count_distance(sample, 0); /* the newest again: nothing moves */
        sample->nodes[node].time = sample->clock;
    } else if (node != SPLAY_NONE) {
        const uint32_t others = sample->count - 1;
        count_distance(sample, others - tree_take(sample, node));
        tree_put(sample, node, others);
    } else {
        sample->cold += 1 / fm_block_sample_rate(sample);
        const uint32_t made = *slot = new_node(sample);
        sample->nodes[made].block = block;
        sample->nodes[made].unused = hash;
        tree_put(sample, made, sample->count - 1);
        if (sample->most) {
            heap_push(sample, made);
            if (sample->count > sample->most) shrink(sample);
        }
    }
    sample->clock++;
}

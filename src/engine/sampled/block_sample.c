/* SPDX-License-Identifier: Apache-2.0 */
/* block_sample.c - samples of blocks, the order of their last touches, and chunks of the trace on their way
 * in (sampled.h). */
#include "base/error.h"
#include "base/memory.h"
#include "engine/sampled/sampled.h"

#include <string.h>

/* ==== recency bits ==== */

static size_t word_bytes(uint64_t size)
{
    return (size_t)(size / 64 * sizeof(uint64_t));
}

/* Bytes for so many positions, a multiple of 64. */
static uint64_t recency_bits_memory(uint64_t size)
{
    return word_bytes(size) + (size / 64 + 1) * sizeof(uint32_t);
}

bool fm_recency_bits_grow(fm_recency_bits *bits, uint32_t size)
{
    const size_t old = (size_t)recency_bits_memory(bits->size), bytes = (size_t)recency_bits_memory(size);
    uint64_t *words = bits->words ? fm_pages_resize(bits->words, old, bytes) : fm_pages_allocate(bytes);
    if (!words) return false;
    bits->words = words;
    bits->sums = (uint32_t *)(words + size / 64);
    bits->size = size;
    return true;
}

void fm_recency_bits_clear(fm_recency_bits *bits)
{
    fm_pages_free(bits->words, (size_t)recency_bits_memory(bits->size));
    memset(bits, 0, sizeof *bits);
}

void fm_recency_bits_start_ranks(fm_recency_bits *bits)
{
    uint32_t sum = 0;
    for (uint32_t word = 0; word < bits->size / 64; word++) {
        bits->sums[word] = sum;
        sum += (uint32_t)__builtin_popcountll(bits->words[word]);
    }
}

uint32_t fm_recency_bits_rank(const fm_recency_bits *bits, uint32_t position)
{
    const uint64_t below = (UINT64_C(1) << (position % 64)) - 1;
    return bits->sums[position / 64] + (uint32_t)__builtin_popcountll(bits->words[position / 64] & below);
}

void fm_recency_bits_restart(fm_recency_bits *bits, uint32_t live)
{
    const uint32_t words = bits->size / 64;
    memset(bits->words, 0xFF, word_bytes(bits->size));
    bits->sums[0] = 0;
    for (uint32_t node = 1; node <= words; node++) bits->sums[node] = 64 * (node & -node);
    bits->next = bits->live = live;
}

uint32_t fm_recency_bits_remove(fm_recency_bits *bits, uint32_t position)
{
    const uint32_t at = position / 64, words = bits->size / 64;
    const uint64_t word = bits->words[at], bit = UINT64_C(1) << (position % 64);
    uint32_t before = (uint32_t)__builtin_popcountll(word & (bit - 1));
    bits->words[at] = word & ~bit;
    for (uint32_t node = at; node > 0; node &= node - 1) before += bits->sums[node];
    for (uint32_t node = at + 1; node <= words; node += node & -node) bits->sums[node]--;
    bits->live--;
    return bits->live - before;
}

/* ==== sample of blocks ==== */

enum {
    FIRST_CAPACITY = 256,
    FIRST_BITS = 9,
    LAST_BITS = 31,        /* node numbers have 32 bits */
    POSITIONS_A_BLOCK = 8, /* blocks are renumbered after seven touches for each, at the earliest */
};
#define LAST_POSITIONS (UINT32_MAX - 63) /* positions have 32 bits, too; FM_SAMPLE_GONE is none */

/* ---- memory ---- */

static uint64_t node_bytes(const fm_block_sample *sample)
{
    return sizeof(fm_sample_node) + (sample->most ? sizeof(uint32_t) : 0);
}

/* Positions for so many blocks. */
static uint32_t positions_for(uint64_t capacity)
{
    const uint64_t positions = (capacity * POSITIONS_A_BLOCK + 63) / 64 * 64;
    return positions < LAST_POSITIONS ? (uint32_t)positions : LAST_POSITIONS;
}

static uint64_t bytes_with(const fm_block_sample *sample, uint64_t capacity, unsigned bits)
{
    return (capacity + 1) * node_bytes(sample) + recency_bits_memory(positions_for(capacity)) +
           (sizeof(uint32_t) << bits) + sample->count_bins * sizeof(double);
}

/* At most five eighths of the slots are taken. */
static bool slots_fit(uint64_t blocks, unsigned bits)
{
    return 8 * blocks <= UINT64_C(5) << bits;
}

static unsigned bits_for(const fm_block_sample *sample, uint64_t blocks)
{
    unsigned bits = sample->bits ? sample->bits : FIRST_BITS;
    while (bits < LAST_BITS && !slots_fit(blocks, bits)) bits++;
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
    return blocks <= sample->capacity && slots_fit(blocks, sample->bits);
}

uint64_t fm_block_sample_memory(const fm_block_sample *sample)
{
    return sample->capacity ? bytes_with(sample, sample->capacity, sample->bits) : 0;
}

uint64_t fm_block_sample_memory_growing(const fm_block_sample *sample, uint64_t more)
{
    const uint64_t blocks = blocks_after(sample, more);
    const unsigned bits = bits_for(sample, blocks);
    const uint64_t old_slots = bits > sample->bits ? sizeof(uint32_t) << sample->bits : 0;
    return bytes_with(sample, capacity_for(sample, blocks), bits) + old_slots;
}

/* ---- the hash table ---- */

/* The slot of the block, or the empty one where it belongs. */
static inline uint32_t *slot_find(const fm_block_sample *sample, uint64_t block, uint64_t common)
{
    const uint64_t mask = (UINT64_C(1) << sample->bits) - 1;
    uint64_t at = (uint64_t)(fm_block_sample_home(sample, common) - sample->slots);
    while (sample->slots[at] != FM_SAMPLE_NONE && sample->nodes[sample->slots[at]].block != block)
        at = (at + 1) & mask;
    return &sample->slots[at];
}

/* Empties a slot and moves up what had been pushed past it. */
static void slot_remove(fm_block_sample *sample, const uint32_t *removed)
{
    const uint64_t mask = (UINT64_C(1) << sample->bits) - 1;
    uint64_t hole = (uint64_t)(removed - sample->slots);
    for (uint64_t at = (hole + 1) & mask; sample->slots[at] != FM_SAMPLE_NONE; at = (at + 1) & mask) {
        const uint64_t common = fm_block_sample_common(sample->nodes[sample->slots[at]].block);
        const uint64_t home = (uint64_t)(fm_block_sample_home(sample, common) - sample->slots);
        if (((at - home) & mask) >= ((at - hole) & mask)) {
            sample->slots[hole] = sample->slots[at];
            hole = at;
        }
    }
    sample->slots[hole] = FM_SAMPLE_NONE;
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

static void *array_resized(void *array, uint64_t old_count, uint64_t count, size_t size)
{
    if (!array) return fm_pages_allocate((size_t)count * size);
    return fm_pages_resize(array, (size_t)old_count * size, (size_t)count * size);
}

/* Live blocks move to the first positions. */
static void sample_renumber(fm_block_sample *sample)
{
    fm_recency_bits_start_ranks(&sample->order);
    for (uint32_t i = 1; i <= sample->used; i++) {
        fm_sample_node *node = &sample->nodes[i];
        if (node->position != FM_SAMPLE_GONE)
            node->position = fm_recency_bits_rank(&sample->order, node->position);
    }
    fm_recency_bits_restart(&sample->order, sample->count);
}

/* Each array by itself; what has grown stays so where another cannot. */
static bool grow_nodes(fm_block_sample *sample, uint64_t capacity)
{
    if (capacity > sample->node_capacity) {
        fm_sample_node *nodes =
            array_resized(sample->nodes, sample->node_capacity + 1, capacity + 1, sizeof *nodes);
        if (!nodes) return false;
        sample->nodes = nodes;
        sample->node_capacity = capacity;
    }
    if (sample->most && capacity > sample->heap_capacity) {
        uint32_t *heap = array_resized(sample->heap, sample->heap_capacity + 1, capacity + 1, sizeof *heap);
        if (!heap) return false;
        sample->heap = heap;
        sample->heap_capacity = capacity;
    }
    if (sample->order.size) sample_renumber(sample);
    if (!fm_recency_bits_grow(&sample->order, positions_for(capacity))) return false;
    fm_recency_bits_restart(&sample->order, sample->count);
    sample->capacity = capacity;
    return true;
}

fm_status fm_block_sample_reserve(fm_block_sample *sample, uint64_t more, fm_error *error)
{
    if (fm_block_sample_has_room(sample, more)) return FM_OK;
    const uint64_t blocks = blocks_after(sample, more), capacity = capacity_for(sample, blocks);
    const unsigned bits = bits_for(sample, blocks);
    if (!slots_fit(blocks, bits))
        return fm_fail(error, FM_E_LIMIT, NULL, "a sample holds at most 2^30 blocks");
    if (capacity > sample->capacity && !grow_nodes(sample, capacity))
        return fm_fail_memory(error, (size_t)((capacity + 1) * node_bytes(sample)), "a sample's blocks");
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
    fm_recency_bits_clear(&sample->order);
    fm_pages_free(sample->nodes, (size_t)(sample->node_capacity + 1) * sizeof *sample->nodes);
    fm_pages_free(sample->heap, (size_t)(sample->heap_capacity + 1) * sizeof *sample->heap);
    if (sample->slots) fm_pages_free(sample->slots, sizeof(uint32_t) << sample->bits);
    if (sample->counts) fm_pages_free(sample->counts, sample->count_bins * sizeof *sample->counts);
    memset(sample, 0, sizeof *sample);
}

/* ---- the heap of hashes ---- */

static inline uint32_t heap_hash(const fm_block_sample *sample, uint64_t at)
{
    return sample->nodes[sample->heap[at]].hash;
}

static void heap_push(fm_block_sample *sample, uint32_t node)
{
    uint64_t at = sample->count; /* it is counted already: the heap is [1 … count] */
    while (at > 1 && heap_hash(sample, at / 2) < sample->nodes[node].hash) {
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
        if (heap_hash(sample, child) <= sample->nodes[moved].hash) break;
        sample->heap[at] = sample->heap[child];
    }
    sample->heap[at] = moved;
}

/* ---- references ---- */

/* The block with the largest hash, and those with the same, leave; the rate falls to what is left. */
static void sample_shrink(fm_block_sample *sample)
{
    sample->threshold = heap_hash(sample, 1);
    while (sample->count > 0 && heap_hash(sample, 1) >= sample->threshold) {
        const uint32_t gone = sample->heap[1];
        heap_pop(sample);
        fm_sample_node *node = &sample->nodes[gone];
        fm_recency_bits_remove(&sample->order, node->position);
        slot_remove(sample, slot_find(sample, node->block, fm_block_sample_common(node->block)));
        sample->count--;
        node->position = FM_SAMPLE_GONE;
        node->hash = sample->free;
        sample->free = gone;
    }
    if (sample->threshold == 0) sample->threshold = 1;
}

static uint32_t new_node(fm_block_sample *sample)
{
    sample->count++;
    if (sample->free == FM_SAMPLE_NONE) return ++sample->used;
    const uint32_t node = sample->free;
    sample->free = sample->nodes[node].hash;
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
    sample->references++;
    if (*slot != FM_SAMPLE_NONE && sample->nodes[*slot].position + 1 == sample->order.next) {
        count_distance(sample, 0); /* the newest again: nothing moves */
        return;
    }
    if (sample->order.next == sample->order.size) sample_renumber(sample);
    if (*slot != FM_SAMPLE_NONE) {
        fm_sample_node *node = &sample->nodes[*slot];
        count_distance(sample, fm_recency_bits_remove(&sample->order, node->position));
        node->position = fm_recency_bits_give(&sample->order);
        return;
    }
    sample->cold += 1 / fm_block_sample_rate(sample);
    const uint32_t made = *slot = new_node(sample);
    sample->nodes[made] =
        (fm_sample_node){.block = block, .position = fm_recency_bits_give(&sample->order), .hash = hash};
    if (sample->most) {
        heap_push(sample, made);
        if (sample->count > sample->most) sample_shrink(sample);
    }
}

/* ==== chunk in samples ==== */

void fm_sampled_chunk_start(fm_sampled_chunk *sampled, const fm_exact_kernels *kernels,
                            const uint64_t *blocks, size_t count, const fm_small_stack *small)
{
    sampled->kernels = kernels;
    sampled->blocks = sampled->left = blocks;
    sampled->count = count;
    sampled->chunk = NULL;
    sampled->at = NULL;
    if (!small || !small->linked) {
        kernels->sample_common(blocks, count, sampled->common);
        return;
    }
    sampled->chunk = &small->chunk;
    kernels->sample_common(small->chunk.key, small->chunk.first_count, sampled->common);
    if (small->left_count == count) return;
    sampled->left = small->unrepeated;
    /* The first reference is left unless it repeats that before the chunk. */
    const size_t later = kernels->sample_changes(blocks, count, sampled->index + 1);
    sampled->index[0] = 0;
    sampled->index[1 + later] = (uint16_t)count;
    sampled->at = sampled->index + (small->left_count > later ? 0 : 1);
}

static void sample_touch(fm_block_sample *sample, uint64_t block, size_t times)
{
    const uint64_t common = fm_block_sample_common(block);
    const uint32_t hash = fm_block_sample_hash(sample, common);
    for (; times > 0 && hash < sample->threshold; times--) fm_block_sample_touch(sample, block, common, hash);
}

/* What is in a sample; the slots of those blocks are fetched. */
static void chunk_choose(fm_sampled_chunk *sampled, const fm_block_sample *sample, unsigned which)
{
    uint16_t *const chosen = sampled->chosen[which];
    const size_t hashed = sampled->chunk ? sampled->chunk->first_count : sampled->count;
    const size_t count = sampled->kernels->sample_choose(sampled->common, hashed, sample->multiplier,
                                                         fm_block_sample_limit(sample), chosen);
    for (size_t i = 0; i < count; i++) fm_block_sample_fetch_slot(sample, sampled->common[chosen[i]]);
    sampled->chosen_count[which] = count;
}

static void fetch_nodes(const fm_sampled_chunk *sampled, const fm_block_sample *sample, unsigned which)
{
    for (size_t i = 0; i < sampled->chosen_count[which]; i++)
        fm_block_sample_fetch_node(sample, sampled->common[sampled->chosen[which][i]]);
}

/* References to blocks whose first touches were chosen: marked along the links, then taken in order. */
static void touch_linked(const fm_sampled_chunk *sampled, fm_block_sample *sample, const uint16_t *chosen,
                         size_t count)
{
    const fm_cache_chunk *chunk = sampled->chunk;
    uint64_t marked[FM_CACHE_CHUNK_WORDS] = {0};
    for (size_t i = 0; i < count; i++)
        for (size_t next = chunk->last[chosen[i]] + 1U; next > 0; next = chunk->before[next - 1])
            marked[(next - 1) / 64] |= UINT64_C(1) << ((next - 1) % 64);
    if (sampled->at) sample_touch(sample, sampled->blocks[0], sampled->at[0]);
    for (size_t word = 0; word < FM_CACHE_CHUNK_WORDS; word++)
        for (uint64_t bits = marked[word]; bits; bits &= bits - 1) {
            const size_t which = 64 * word + (size_t)__builtin_ctzll(bits);
            const size_t times = sampled->at ? (size_t)sampled->at[which + 1] - sampled->at[which] : 1;
            sample_touch(sample, sampled->left[which], times);
        }
}

static void touch_all(const fm_sampled_chunk *sampled, fm_block_sample *sample, const uint16_t *chosen,
                      size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const size_t which = chosen[i];
        const uint32_t hash = fm_block_sample_hash(sample, sampled->common[which]);
        /* The threshold may have fallen since. */
        if (hash < sample->threshold)
            fm_block_sample_touch(sample, sampled->blocks[which], sampled->common[which], hash);
    }
}

/* While it is found out what is in the next sample, what this one needs is on its way. */
void fm_sampled_chunk_touch(fm_sampled_chunk *sampled, fm_block_sample *samples, unsigned count)
{
    if (count > 0) chunk_choose(sampled, &samples[0], 0);
    for (unsigned k = 0; k < count; k++) {
        fetch_nodes(sampled, &samples[k], k % 2);
        if (k + 1 < count) chunk_choose(sampled, &samples[k + 1], (k + 1) % 2);
        const uint16_t *const chosen = sampled->chosen[k % 2];
        if (sampled->chunk)
            touch_linked(sampled, &samples[k], chosen, sampled->chosen_count[k % 2]);
        else
            touch_all(sampled, &samples[k], chosen, sampled->chosen_count[k % 2]);
    }
}

/* SPDX-License-Identifier: Apache-2.0 */
/* exact_small_body.h - the loops of samples: those of the stack of a small bound, and which references are in
 * a sample. */
#include "engine/engine_tables.h"
#include "engine/exact/exact_kernels.h"

/*
 * ==== small stack ====
 *
 * The loops of the small stack: blocks found in its table, ranks, the restart.
 */

/* The rest of a lookup when another block has the first slot. Returns where the block was, or 0. */
ALWAYS_INLINE uint16_t small_probe(fm_small_stack *stack, uint64_t block, uint32_t slot, uint16_t position)
{
    uint16_t found;
    do {
        slot = (slot + 1) % FM_SMALL_SLOTS;
        found = stack->position[slot];
    } while (found != 0 && stack->block[found] != block);
    stack->position[slot] = position;
    return found;
}

/* From where every block was to the lists of those that are held and of those that are not. */
static void small_split(const uint64_t *restrict blocks, size_t count, fm_small_stack *restrict stack)
{
    size_t held = 0, fresh = stack->fresh_count, i = 0;
#if defined(__AVX512F__)
    const __m512i lane = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    for (; i + 16 <= count; i += 16) {
        __m512i old = _mm512_cvtepu16_epi32(_mm256_loadu_si256((const __m256i *)(stack->old + i)));
        const unsigned is_held = mask_bits(_mm512_test_epi32_mask(old, old)), is_fresh = is_held ^ 0xFFFF;
        /* The k-th that is held, from 0, finds k bits less than there would be without those before it. */
        __m512i index = _mm512_maskz_compress_epi32((__mmask16)is_held, lane);
        __m512i live = _mm512_set1_epi32((int)(stack->live + (uint32_t)(i - held)));
        _mm512_storeu_si512(stack->held_position + held,
                            _mm512_maskz_compress_epi32((__mmask16)is_held, old));
        _mm512_storeu_si512(stack->held_distance + held,
                            _mm512_add_epi32(live, _mm512_sub_epi32(index, lane)));
        held += (unsigned)__builtin_popcount(is_held);
        for (unsigned half = 0; half < 2; half++) {
            const unsigned these = is_fresh >> (8 * half) & 0xFF;
            __m512i some = _mm512_loadu_si512(blocks + i + 8 * half);
            _mm512_storeu_si512(stack->fresh + fresh, _mm512_maskz_compress_epi64((__mmask8)these, some));
            fresh += (unsigned)__builtin_popcount(these);
        }
    }
#endif
    for (; i < count; i++) {
        const uint16_t old = stack->old[i];
        stack->held_position[held] = old;
        stack->held_distance[held] = stack->live + (uint32_t)(i - held);
        stack->fresh[fresh] = blocks[i];
        held += old != 0;
        fresh += old == 0;
    }
    stack->held_count = held;
    stack->fresh_count = fresh;
}

/*
 * No branch depends on which blocks are held: lookups that end at the first slot, and most do, are finished
 * in the first loop, the others in the second. All touches of a block go the same way, so that their order is
 * kept.
 */
static void kernel_small_find(const uint64_t *restrict blocks, size_t count, fm_small_stack *restrict stack)
{
    const uint64_t *const positions = stack->chunk.position;
    uint16_t rest[FM_CACHE_CHUNK_ROOM];
    size_t rest_count = 0;
    chunk_slots(blocks, count, stack->multiplier, FM_SMALL_SLOT_BITS, stack->slot);
    for (size_t i = 0; i < count; i++) {
        const uint64_t block = blocks[i];
        const uint32_t slot = stack->slot[i];
        const uint16_t position = (uint16_t)positions[i], found = stack->position[slot];
        const bool same = stack->block[found] == block, other = found != 0 && !same;
        stack->block[position] = block;
        stack->old[i] = same ? found : 0; /* that of a free slot is 0 */
        stack->position[slot] = other ? found : position;
        rest[rest_count] = (uint16_t)i;
        rest_count += other;
    }
    for (size_t r = 0; r < rest_count; r++) {
        const size_t at = rest[r];
        stack->old[at] = small_probe(stack, blocks[at], stack->slot[at], (uint16_t)positions[at]);
    }
    small_split(blocks, count, stack);
}

static void kernel_small_places(size_t count, fm_small_stack *restrict stack)
{
    const uint32_t next = stack->next;
    for (size_t i = 0; i < count; i++) stack->chunk.position[i] = fm_small_position(next + (uint32_t)i);
}

static void kernel_small_ranks(fm_small_stack *stack)
{
    near_body(stack->words, stack->lines, stack->held_position, stack->held_distance, stack->held_count,
              NULL);
}

/* The blocks of the region's places up to `next`, as far as they are live, the latest last. */
static size_t small_pack(fm_small_stack *restrict stack)
{
    size_t packed = 0;
    for (uint32_t place = 0; place < stack->next; place += 64) {
        const uint32_t position = fm_small_position(place);
        uint64_t live = stack->words[position / 64];
        if (stack->next - place < 64) live &= (UINT64_C(1) << (stack->next - place)) - 1;
        if (place == 0) live &= ~UINT64_C(1);
        const uint64_t *const blocks = stack->block + position;
#if defined(__AVX512F__)
        for (unsigned eight = 0; eight < 64; eight += 8) {
            const unsigned these = (unsigned)(live >> eight) & 0xFF;
            _mm512_storeu_si512(
                stack->packed + packed,
                _mm512_maskz_compress_epi64((__mmask8)these, _mm512_loadu_si512(blocks + eight)));
            packed += (unsigned)__builtin_popcount(these);
        }
#else
        for (; live; live &= live - 1) stack->packed[packed++] = blocks[__builtin_ctzll(live)];
#endif
    }
    return packed;
}

static void kernel_small_restart(fm_small_stack *restrict stack)
{
    const size_t live = small_pack(stack), kept = live < stack->bound ? live : (size_t)stack->bound;
    const uint64_t *const blocks = stack->packed + (live - kept);
    memset(stack->position, 0, sizeof stack->position);
    for (size_t done = 0; done < kept;) {
        uint16_t slots[FM_CACHE_CHUNK];
        const size_t now = kept - done < FM_CACHE_CHUNK ? kept - done : FM_CACHE_CHUNK;
        chunk_slots(blocks + done, now, stack->multiplier, FM_SMALL_SLOT_BITS, slots);
        for (size_t i = 0; i < now; i++) {
            uint32_t slot = slots[i];
            const uint32_t position = fm_small_position((uint32_t)(1 + done + i));
            while (stack->position[slot] != 0) slot = (slot + 1) % FM_SMALL_SLOTS;
            stack->position[slot] = (uint16_t)position;
            stack->block[position] = blocks[done + i];
        }
        done += now;
    }
    fm_recency_region_fill(stack->words, stack->lines);
    stack->next = stack->live = (uint32_t)kept + 1;
}

/*
 * ==== which references are in a sample of `shards` ====
 *
 * Which references are in a sample of `shards`: hashes (engine_tables.h) and comparisons.
 */

#if defined(__AVX512F__)
ALWAYS_INLINE __m512i mix(__m512i value, const unsigned shift, uint64_t multiplier)
{
    return _mm512_mullo_epi64(_mm512_xor_si512(value, _mm512_srli_epi64(value, shift)),
                              _mm512_set1_epi64((long long)multiplier));
}

/* Those of 16 indices that are in a mask; returns how many these are. Writes all 16 places. */
ALWAYS_INLINE size_t store_indices(unsigned these, __m512i index, uint16_t *to)
{
    _mm256_storeu_si256((__m256i *)to,
                        _mm512_cvtepi32_epi16(_mm512_maskz_compress_epi32((__mmask16)these, index)));
    return (size_t)__builtin_popcount(these);
}
#endif

/* fm_block_sample_common of every block. */
static void kernel_sample_common(const uint64_t *restrict blocks, size_t count, uint64_t *restrict common)
{
    size_t i = 0;
#if defined(__AVX512F__)
    const __m512i for_zero = _mm512_set1_epi64((long long)FM_SAMPLE_FOR_ZERO);
    for (; i + 8 <= count; i += 8) {
        __m512i mixed = _mm512_loadu_si512(blocks + i);
        mixed = _mm512_mask_mov_epi64(mixed, _mm512_testn_epi64_mask(mixed, mixed), for_zero);
        mixed = mix(mixed, 32, FM_SAMPLE_MIX_FIRST);
        mixed = mix(mixed, 28, FM_SAMPLE_MIX_SECOND);
        _mm512_storeu_si512(common + i, _mm512_xor_si512(mixed, _mm512_srli_epi64(mixed, 32)));
    }
#endif
    for (; i < count; i++) common[i] = fm_block_sample_common(blocks[i]);
}

static size_t kernel_sample_changes(const uint64_t *restrict blocks, size_t count, uint16_t *restrict changes)
{
    size_t found = 0, i = 1;
#if defined(__AVX512F__)
    __m512i index = _mm512_setr_epi32(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16);
    for (; i + 16 <= count; i += 16) {
        const unsigned low = mask_bits(
            _mm512_cmpneq_epi64_mask(_mm512_loadu_si512(blocks + i), _mm512_loadu_si512(blocks + i - 1)));
        const unsigned high = mask_bits(
            _mm512_cmpneq_epi64_mask(_mm512_loadu_si512(blocks + i + 8), _mm512_loadu_si512(blocks + i + 7)));
        const unsigned these = low | high << 8;
        found += store_indices(these, index, changes + found);
        index = _mm512_add_epi32(index, _mm512_set1_epi32(16));
    }
#endif
    for (; i < count; i++) {
        changes[found] = (uint16_t)i;
        found += blocks[i] != blocks[i - 1];
    }
    return found;
}

static size_t kernel_sample_choose(const uint64_t *restrict common, size_t count, uint64_t multiplier,
                                   uint64_t limit, uint16_t *restrict chosen)
{
    size_t taken = 0, i = 0;
#if defined(__AVX512F__)
    const __m512i by = _mm512_set1_epi64((long long)multiplier), most = _mm512_set1_epi64((long long)limit);
    __m512i index = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    for (; i + 16 <= count; i += 16) {
        __m512i low = _mm512_mullo_epi64(_mm512_loadu_si512(common + i), by),
                high = _mm512_mullo_epi64(_mm512_loadu_si512(common + i + 8), by);
        const unsigned these = mask_bits(
            _mm512_kunpackb(_mm512_cmple_epu64_mask(high, most), _mm512_cmple_epu64_mask(low, most)));
        taken += store_indices(these, index, chosen + taken);
        index = _mm512_add_epi32(index, _mm512_set1_epi32(16));
    }
#endif
    for (; i < count; i++) {
        chosen[taken] = (uint16_t)i;
        taken += common[i] * multiplier <= limit;
    }
    return taken;
}

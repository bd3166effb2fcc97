/* SPDX-License-Identifier: Apache-2.0 */
/*
 * exact_kernels_body.h - the kernels of one instruction set. exact_avx512.c, exact_avx2.c and
 * exact_portable.c define KERNEL_ISA and KERNEL_TABLE and include this file, which includes the loops:
 *
 *     exact_lookup_body.h   repeats removed, blocks found in the table, lists of near, far and fresh
 *     exact_window_body.h   distances, by counting and clearing bits of the window; blocks that leave the
 * table exact_chunk_body.h     what follows from a chunk of the trace alone exact_small_body.h    the stack
 * of a small bound, and which references are in a sample of `shards` exact_pairs_body.h    ranges of
 * distances, counters of pairs, cutting accesses into blocks
 *
 * AVX-512 has code of its own nearly everywhere: it keeps the counters that every reference changes in
 * registers, and moves the lanes of a mask together in one instruction. AVX2 has it where loops choose among
 * references, which no compiler turns into vectors. Elsewhere, counters are rows of a table of steps, and
 * loops plain ones.
 */
#include "engine/exact/exact_kernels.h"

#include <string.h>
#if defined(__AVX2__)
#include <immintrin.h>
#endif

#define ALWAYS_INLINE static inline __attribute__((always_inline))

#if defined(__AVX512F__)
/*
 * A mask as a number, in a general register from here on. gcc 12 may otherwise keep it as one byte in
 * memory and then count the bits of four (seen in builds with sanitizers, where registers are short).
 */
ALWAYS_INLINE unsigned mask_bits(unsigned mask)
{
    __asm__("" : "+r"(mask));
    return mask;
}
#endif

#if defined(__AVX2__) && !defined(__AVX512F__)
/* The numbers of the lanes in a mask of eight, moved together: a byte each. */
#define LANE(mask, lane)                                                                                     \
    ((uint64_t)((mask) >> (lane)&1) * (lane) << 8 * __builtin_popcount((mask) & ((1U << (lane)) - 1)))
#define LANES(mask)                                                                                          \
    (LANE(mask, 1) | LANE(mask, 2) | LANE(mask, 3) | LANE(mask, 4) | LANE(mask, 5) | LANE(mask, 6) |         \
     LANE(mask, 7))
#define LANES_4(mask) LANES(mask), LANES((mask) + 1), LANES((mask) + 2), LANES((mask) + 3)
#define LANES_16(mask) LANES_4(mask), LANES_4((mask) + 4), LANES_4((mask) + 8), LANES_4((mask) + 12)
#define LANES_64(mask) LANES_16(mask), LANES_16((mask) + 16), LANES_16((mask) + 32), LANES_16((mask) + 48)
static const uint64_t lanes_of[256] = {LANES_64(0U), LANES_64(64U), LANES_64(128U), LANES_64(192U)};

ALWAYS_INLINE __m128i lane_bytes(unsigned mask)
{
    return _mm_loadl_epi64((const __m128i *)&lanes_of[mask]);
}

/* The number of the highest bit of eight values, none of them 0: the exponent of what they are as floats.
 * With the second highest bit cleared they are not rounded up. */
ALWAYS_INLINE __m256i highest_bits(__m256i values)
{
    const __m256i lower = _mm256_andnot_si256(_mm256_srli_epi32(values, 1), values);
    const __m256i exponent = _mm256_srli_epi32(_mm256_castps_si256(_mm256_cvtepi32_ps(lower)), 23);
    const __m256i highest = _mm256_sub_epi32(exponent, _mm256_set1_epi32(127));
    /* As a signed number, one with bit 31 is below 0. */
    return _mm256_blendv_epi8(highest, _mm256_set1_epi32(31), _mm256_srai_epi32(values, 31));
}

/* Eight words from their halves. */
ALWAYS_INLINE void store_words(uint64_t *to, __m256i low, __m256i high)
{
    const __m256i even = _mm256_unpacklo_epi32(low, high), odd = _mm256_unpackhi_epi32(low, high);
    _mm256_storeu_si256((__m256i *)to, _mm256_permute2x128_si256(even, odd, 0x20));
    _mm256_storeu_si256((__m256i *)(to + 4), _mm256_permute2x128_si256(even, odd, 0x31));
}
#endif

/* In this order: each uses what comes before. */
#include "engine/exact/exact_lookup_body.h"

#include "engine/exact/exact_window_body.h"

#include "engine/exact/exact_chunk_body.h"

#include "engine/exact/exact_small_body.h"

#include "engine/exact/exact_pairs_body.h"

static bool kernel_usable(void)
{
#if defined(__AVX512F__)
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
           __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") &&
           __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("popcnt") &&
           __builtin_cpu_supports("bmi2");
#elif defined(__AVX2__)
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("popcnt") &&
           __builtin_cpu_supports("bmi2");
#else
    return true;
#endif
}

const fm_exact_kernels KERNEL_TABLE = {
    .isa = KERNEL_ISA,
    .usable = kernel_usable,
    .drop_repeats = kernel_drop_repeats,
    .drop_repeats_tagged = kernel_drop_repeats_tagged,
    .home = kernel_home,
    .exchange = kernel_exchange,
    .exchange_tagged = kernel_exchange_tagged,
    .exchange_timed = kernel_exchange_timed,
    .depths = kernel_depths,
    .renumber = kernel_renumber,
    .drop = kernel_drop,
    .sample_common = kernel_sample_common,
    .sample_choose = kernel_sample_choose,
    .sample_changes = kernel_sample_changes,
    .small_places = kernel_small_places,
    .small_find = kernel_small_find,
    .small_ranks = kernel_small_ranks,
    .small_restart = kernel_small_restart,
    .partition = kernel_partition,
    .split_ranges = kernel_split_ranges,
    .split_ranges_tagged = kernel_split_ranges_tagged,
    .lookup = kernel_lookup,
    .lookup_tagged = kernel_lookup_tagged,
    .lookup_timed = kernel_lookup_timed,
    .near = kernel_near,
    .far = kernel_far,
    .keep_small = kernel_keep_small,
    .loglinear = kernel_loglinear,
    .add_ranges = kernel_add_ranges,
    .count_pairs = kernel_count_pairs,
    .cut = kernel_cut,
    .cut_distinct = kernel_cut_distinct,
    .cut_tagged = kernel_cut_tagged,
    .copy_tags = kernel_copy_tags,
    .all_bits = kernel_all_bits,
    .list_late = kernel_list_late,
    .chunk_link = kernel_chunk_link,
    .chunk_sort = kernel_chunk_sort,
    .chunk_close = kernel_chunk_close,
    .chunk_apart = kernel_chunk_apart,
    .chunk_pairs = kernel_chunk_pairs,
    .chunk_first = kernel_chunk_first,
    .lookup_first = kernel_lookup_first,
    .lookup_first_tagged = kernel_lookup_first_tagged,
};

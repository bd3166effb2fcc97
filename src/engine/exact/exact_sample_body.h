/* SPDX-License-Identifier: Apache-2.0 */
/* exact_sample_body.h - which references are in a sample of `shards`: hashes (sample_hash.h) and comparisons.
 */
#include "engine/sample_hash.h"

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

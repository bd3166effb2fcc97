/* SPDX-License-Identifier: Apache-2.0 */
/*
 * decode_avx512.c - the receiver's kernels (decode_body.h) with AVX-512: eight words at a time.
 */
#include "collect/decode_kernels.h"

#if defined(__x86_64__)
#include <immintrin.h>

#define ISA __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,avx2,bmi,bmi2,popcnt")))
#define ISA_INLINE static inline __attribute__((always_inline)) ISA

enum { AHEAD = 512 }; /* words */

static bool isa_usable(void)
{
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
           __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") &&
           __builtin_cpu_supports("bmi2") && __builtin_cpu_supports("popcnt");
}

enum { HEAD_STEP = 16, SPECIAL_STEP = 8, LANES = 8 };

ISA_INLINE unsigned mark_heads(const uint64_t *words, unsigned *zero)
{
    __m512i low = _mm512_loadu_si512(words), high = _mm512_loadu_si512(words + 8);
    /* The next page of memory: the processor does not look that far by itself. */
    _mm_prefetch((const char *)(words + AHEAD), _MM_HINT_T0);
    _mm_prefetch((const char *)(words + AHEAD + 8), _MM_HINT_T0);
    *zero |= (unsigned)(_mm512_testn_epi64_mask(low, low) | _mm512_testn_epi64_mask(high, high));
    return _mm512_kunpackb(_mm512_movepi64_mask(high), _mm512_movepi64_mask(low));
}

ISA_INLINE unsigned mark_specials(const uint64_t *words)
{
    const __m512i size_of = _mm512_loadu_si512(fm_access_sizes);
    __m512i eight = _mm512_loadu_si512(words);
    _mm_prefetch((const char *)(words + AHEAD), _MM_HINT_T0);
    __m256i codes = _mm256_srli_epi32(_mm512_cvtepi64_epi32(eight), 12); /* low four bits select */
    __m256i sizes = _mm512_castsi512_si256(_mm512_permutexvar_epi32(_mm512_castsi256_si512(codes), size_of));
    return _mm512_movepi64_mask(eight) | (unsigned)_mm256_testn_epi32_mask(sizes, sizes);
}

typedef __m512i head_places;
typedef __m256i special_places;

ISA_INLINE head_places first_heads(size_t from)
{
    return _mm512_add_epi32(_mm512_set_epi32(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0),
                            _mm512_set1_epi32((int)from));
}

ISA_INLINE void store_heads(uint32_t *to, head_places *places, unsigned found)
{
    _mm512_storeu_si512(to, _mm512_maskz_compress_epi32((__mmask16)found, *places));
    *places = _mm512_add_epi32(*places, _mm512_set1_epi32(HEAD_STEP));
}

ISA_INLINE special_places first_specials(size_t from)
{
    return _mm256_add_epi32(_mm256_set_epi32(7, 6, 5, 4, 3, 2, 1, 0), _mm256_set1_epi32((int)from));
}

ISA_INLINE void store_specials(uint32_t *to, special_places *places, unsigned found)
{
    _mm256_storeu_si256((__m256i *)to, _mm256_maskz_compress_epi32((__mmask8)found, *places));
    *places = _mm256_add_epi32(*places, _mm256_set1_epi32(SPECIAL_STEP));
}

/* The columns that a block's definition gives, for its accesses from `row` on: eight, or those in keep moved
 * together. */
ISA_INLINE void store_static_fields(fm_row_memory *rows, size_t row, fm_loop_kind loop,
                                    const fm_block_run *run, size_t group, bool plain, bool all,
                                    __mmask8 keep)
{
    if (loop.columns & FM_COLUMN_SIZE) {
        __m256i sizes = plain
                            ? _mm256_cvtepu8_epi32(_mm_loadl_epi64((const __m128i *)run->groups[group].size))
                            : _mm256_cvtepu16_epi32(_mm_loadu_si128((const __m128i *)run->marks[group].size));
        if (!all) sizes = _mm256_maskz_compress_epi32(keep, sizes);
        _mm256_storeu_si256((__m256i *)(rows->size + row), sizes);
    }
    if (loop.columns & FM_COLUMN_TAG) {
        __m256i tags = _mm256_load_si256((const __m256i *)run->groups[group].tag);
        if (!all) tags = _mm256_maskz_compress_epi32(keep, tags);
        _mm256_storeu_si256((__m256i *)(rows->tag + row), tags);
    }
    if (loop.columns & FM_COLUMN_KIND) {
        __m128i kinds = _mm_loadl_epi64((const __m128i *)run->marks[group].kind);
        if (!all)
            kinds = _mm256_cvtepi32_epi8(_mm256_maskz_compress_epi32(keep, _mm256_cvtepu8_epi32(kinds)));
        _mm_storel_epi64((__m128i *)(rows->kind + row), kinds);
    }
    if (loop.columns & FM_COLUMN_SITE) {
        __m512i sites = _mm512_loadu_si512(run->sites + group * FM_GROUP);
        if (!all) sites = _mm512_maskz_compress_epi64(keep, sites);
        _mm512_storeu_si512(rows->site + row, sites);
    }
}

/* The addresses of a group, by the words that tell of them. */
ISA_INLINE __m512i group_addresses(const fm_block_group *group, const uint64_t *words)
{
    /* The lowest three bits of each select. */
    const __m512i from = _mm512_srlv_epi64(_mm512_set1_epi64((long long)group->words),
                                           _mm512_set_epi64(21, 18, 15, 12, 9, 6, 3, 0));
    const __m512i delta = _mm512_cvtepi16_epi64(_mm_load_si128((const __m128i *)group->delta));
    return _mm512_add_epi64(_mm512_permutexvar_epi64(from, _mm512_loadu_si512(words)), delta);
}

/* Up to eight accesses; returns the row behind them. */
ISA_INLINE size_t store_group(fm_row_memory *rows, size_t row, fm_loop_kind loop, fm_block_run *run,
                              size_t at, size_t group, size_t count)
{
    __m512i addresses = group_addresses(&run->groups[group], run->words + at);
    __mmask8 there = 0, missing = 0, stack = 0;
    if (loop.zeros || loop.no_stack) {
        there = (__mmask8)_bzhi_u32(255, (unsigned)count);
        missing = _mm512_mask_testn_epi64_mask(there, addresses, addresses);
    }
    if (loop.no_stack) {
        __m512i offsets = _mm512_sub_epi64(addresses, _mm512_set1_epi64((long long)run->stack_low));
        stack = _mm512_mask_cmplt_epu64_mask(there & (__mmask8)~missing, offsets,
                                             _mm512_set1_epi64((long long)run->stack_span));
        missing |= stack;
    }
    if (__builtin_expect(missing == 0, 1)) {
        _mm512_storeu_si512(rows->address + row, addresses);
        store_static_fields(rows, row, loop, run, group, true, true, 0);
        return row + count;
    }
    __mmask8 keep = there & (__mmask8)~missing;
    _mm512_storeu_si512(rows->address + row, _mm512_maskz_compress_epi64(keep, addresses));
    store_static_fields(rows, row, loop, run, group, true, false, keep);
    if (loop.no_stack) run->left_out += (uint64_t)_mm_popcnt_u32(stack);
    return row + (size_t)_mm_popcnt_u32(keep);
}

/* The same for one group of a block that need not be plain. */
ISA_INLINE size_t store_any(fm_row_memory *rows, size_t row, unsigned columns, fm_block_run *run, size_t at,
                            size_t group, size_t count, const uint32_t *tags, bool inside)
{
    const fm_block_marks *marks = &run->marks[group];
    __mmask8 there = (__mmask8)_bzhi_u32(255, (unsigned)count);
    __m512i addresses = group_addresses(&run->groups[group], run->words + at);
    __mmask8 happened = _mm512_mask_test_epi64_mask(there & marks->wanted, addresses, addresses);
    __mmask8 keep = inside ? happened : happened & marks->inlined;
    if (run->stack_span)
        keep = _mm512_mask_cmpge_epu64_mask(
            keep, _mm512_sub_epi64(addresses, _mm512_set1_epi64((long long)run->stack_low)),
            _mm512_set1_epi64((long long)run->stack_span));
    if (!tags) tags = run->groups[group].tag;
    fm_loop_kind loop = {columns & ~(unsigned)FM_COLUMN_TAG, true, true};
    bool all = keep == there;
    __m256i eight = _mm256_loadu_si256((const __m256i *)tags);
    if (__builtin_expect(all, 1)) {
        _mm512_storeu_si512(rows->address + row, addresses);
        store_static_fields(rows, row, loop, run, group, false, true, 0);
        if (columns & FM_COLUMN_TAG) _mm256_storeu_si256((__m256i *)(rows->tag + row), eight);
        return row + count;
    }
    _mm512_storeu_si512(rows->address + row, _mm512_maskz_compress_epi64(keep, addresses));
    store_static_fields(rows, row, loop, run, group, false, false, keep);
    if (columns & FM_COLUMN_TAG)
        _mm256_storeu_si256((__m256i *)(rows->tag + row), _mm256_maskz_compress_epi32(keep, eight));
    run->left_out += (uint64_t)_mm_popcnt_u32((unsigned)(happened & (__mmask8)~keep));
    return row + (size_t)_mm_popcnt_u32(keep);
}

/* Tags of eight places in a page. Not a gather: with the microcode against "Downfall" that takes 40 cycles.
 */
ISA_INLINE __m256i look_up(const uint32_t *tags, __m256i places)
{
    uint32_t place[8] __attribute__((aligned(32)));
    _mm256_store_si256((__m256i *)place, places);
    __m128i low = _mm_cvtsi32_si128((int)tags[place[0]]), high = _mm_cvtsi32_si128((int)tags[place[4]]);
    low = _mm_insert_epi32(low, (int)tags[place[1]], 1);
    high = _mm_insert_epi32(high, (int)tags[place[5]], 1);
    low = _mm_insert_epi32(low, (int)tags[place[2]], 2);
    high = _mm_insert_epi32(high, (int)tags[place[6]], 2);
    low = _mm_insert_epi32(low, (int)tags[place[3]], 3);
    high = _mm_insert_epi32(high, (int)tags[place[7]], 3);
    return _mm256_inserti128_si256(_mm256_castsi128_si256(low), high, 1);
}

/* Up to eight accesses; *stopped: how many were done where one has no tag, else as it was. */
ISA_INLINE size_t store_accesses(fm_row_memory *rows, size_t row, fm_loop_kind loop, fm_access_run *run,
                                 const fm_code_page *page, size_t at, unsigned count, unsigned *stopped)
{
    const __m512i size_of = _mm512_loadu_si512(fm_access_sizes);
    const __m512i kind_of = _mm512_cvtepu8_epi32(_mm_loadu_si128((const __m128i *)fm_access_kinds));
    __m512i words = _mm512_loadu_si512(run->words + at);
    __m256i lower = _mm512_cvtepi64_epi32(words);
    __m512i codes = _mm512_castsi256_si512(_mm256_srli_epi32(lower, 12)); /* low four bits select */
    __m256i sizes = _mm512_castsi512_si256(_mm512_permutexvar_epi32(codes, size_of));
    __m256i places = _mm256_and_si256(lower, _mm256_set1_epi32(4095)), tags = _mm256_setzero_si256();
    if (loop.columns & FM_COLUMN_TAG) {
        tags = look_up(page->tag, places);
        unsigned without = _bzhi_u32(_mm256_testn_epi32_mask(tags, tags), count);
        if (__builtin_expect(without && !run->tags_full, 0)) count = *stopped = _tzcnt_u32(without);
    }
    __m512i addresses = _mm512_srli_epi64(words, 16), sites = _mm512_setzero_si512();
    __m256i kinds = _mm256_setzero_si256();
    if (loop.columns & FM_COLUMN_SITE)
        sites = _mm512_add_epi64(_mm512_cvtepu32_epi64(places), _mm512_set1_epi64((long long)page->base));
    if (loop.columns & FM_COLUMN_KIND)
        kinds = _mm512_castsi512_si256(_mm512_permutexvar_epi32(codes, kind_of));
    if (loop.no_stack) {
        __m512i offsets = _mm512_sub_epi64(addresses, _mm512_set1_epi64((long long)run->stack_low));
        __mmask8 there = (__mmask8)_bzhi_u32(255, count);
        __mmask8 keep =
            _mm512_mask_cmpge_epu64_mask(there, offsets, _mm512_set1_epi64((long long)run->stack_span));
        if (__builtin_expect(keep != there, 0)) {
            addresses = _mm512_maskz_compress_epi64(keep, addresses);
            sizes = _mm256_maskz_compress_epi32(keep, sizes);
            tags = _mm256_maskz_compress_epi32(keep, tags);
            kinds = _mm256_maskz_compress_epi32(keep, kinds);
            sites = _mm512_maskz_compress_epi64(keep, sites);
            unsigned kept = (unsigned)_mm_popcnt_u32(keep);
            run->left_out += count - kept;
            count = kept;
        }
    }
    _mm512_storeu_si512(rows->address + row, addresses);
    if (loop.columns & FM_COLUMN_SIZE) _mm256_storeu_si256((__m256i *)(rows->size + row), sizes);
    if (loop.columns & FM_COLUMN_TAG) _mm256_storeu_si256((__m256i *)(rows->tag + row), tags);
    if (loop.columns & FM_COLUMN_KIND)
        _mm_storel_epi64((__m128i *)(rows->kind + row), _mm256_cvtepi32_epi8(kinds));
    if (loop.columns & FM_COLUMN_SITE) _mm512_storeu_si512(rows->site + row, sites);
    return row + count;
}

#define KERNELS fm_decode_avx512
#define ISA_TEXT "avx512"
#include "collect/decode_body.h"
#endif

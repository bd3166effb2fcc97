/* SPDX-License-Identifier: Apache-2.0 */
/*
 * decode_avx2.c - the receiver's kernels (decode_body.h) with AVX2: four words at a time; what has to be left
 * out is left out row by row.
 */
#include "collect/decode_kernels.h"

#if defined(__x86_64__)
#include <immintrin.h>

#define ISA __attribute__((target("avx2,bmi,bmi2,popcnt")))
#define ISA_INLINE static inline __attribute__((always_inline)) ISA

static bool isa_usable(void)
{
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi2") &&
           __builtin_cpu_supports("popcnt");
}

/* The set bits of four, moved together. */
static const uint32_t set_bits[16][4] = {
    {0}, {0},    {1},    {0, 1},    {2},    {0, 2},    {1, 2},    {0, 1, 2},
    {3}, {0, 3}, {1, 3}, {0, 1, 3}, {2, 3}, {0, 2, 3}, {1, 2, 3}, {0, 1, 2, 3},
};

/* Which addresses are 0 or in the stack: bit by lane. */
ISA_INLINE unsigned left_out_lanes(__m256i addresses, __m256i low, __m256i span_flipped)
{
    const __m256i flip = _mm256_set1_epi64x(INT64_MIN); /* unsigned comparison by a signed one */
    __m256i offset = _mm256_xor_si256(_mm256_sub_epi64(addresses, low), flip);
    __m256i inside = _mm256_cmpgt_epi64(span_flipped, offset);
    __m256i zero = _mm256_cmpeq_epi64(addresses, _mm256_setzero_si256());
    return (unsigned)_mm256_movemask_pd(_mm256_castsi256_pd(_mm256_or_si256(inside, zero)));
}

/* The addresses of a group, by the words that tell of them. */
ISA_INLINE void group_addresses(const fm_block_group *group, const uint64_t *words, __m256i addresses[2])
{
    addresses[0] = _mm256_loadu_si256((const __m256i *)words);
    addresses[1] = _mm256_loadu_si256((const __m256i *)(words + 4));
    if ((group->words & FM_FROM_BITS) == FM_FROM_OWN) return;
    const uint64_t from = group->words;
    const __m128i delta = _mm_load_si128((const __m128i *)group->delta);
    addresses[0] = _mm256_set_epi64x((long long)words[from >> 9 & 7], (long long)words[from >> 6 & 7],
                                     (long long)words[from >> 3 & 7], (long long)words[from & 7]);
    addresses[1] = _mm256_set_epi64x((long long)words[from >> 21 & 7], (long long)words[from >> 18 & 7],
                                     (long long)words[from >> 15 & 7], (long long)words[from >> 12 & 7]);
    addresses[0] = _mm256_add_epi64(addresses[0], _mm256_cvtepi16_epi64(delta));
    addresses[1] = _mm256_add_epi64(addresses[1], _mm256_cvtepi16_epi64(_mm_srli_si128(delta, 8)));
}

ISA_INLINE void copy_four(void *to, const void *from)
{
    _mm256_storeu_si256((__m256i *)to, _mm256_loadu_si256((const __m256i *)from));
}

/* When all of them count. Zeros and the stack: that has to be seen first. */
ISA_INLINE size_t store_group(fm_row_memory *to, size_t row, fm_loop_kind loop, fm_block_run *run, size_t at,
                              size_t group, size_t count)
{
    const unsigned columns = loop.columns;
    __m256i addresses[2];
    group_addresses(&run->groups[group], run->words + at, addresses);
    if (loop.zeros || loop.no_stack) {
        const __m256i low = _mm256_set1_epi64x((long long)run->stack_low);
        const __m256i span =
            _mm256_xor_si256(_mm256_set1_epi64x((long long)run->stack_span), _mm256_set1_epi64x(INT64_MIN));
        unsigned out = left_out_lanes(addresses[0], low, span) | left_out_lanes(addresses[1], low, span) << 4;
        if (__builtin_expect(out & ((1U << count) - 1), 0))
            return fm_store_each(to, row, columns, run, at, group, count, NULL, true);
    }
    _mm256_storeu_si256((__m256i *)(to->address + row), addresses[0]);
    _mm256_storeu_si256((__m256i *)(to->address + row + 4), addresses[1]);
    if (columns & FM_COLUMN_SIZE)
        _mm256_storeu_si256((__m256i *)(to->size + row),
                            _mm256_cvtepu8_epi32(_mm_loadl_epi64((const __m128i *)run->groups[group].size)));
    if (columns & FM_COLUMN_TAG) copy_four(to->tag + row, run->groups[group].tag);
    if (columns & FM_COLUMN_KIND)
        _mm_storel_epi64((__m128i *)(to->kind + row),
                         _mm_loadl_epi64((const __m128i *)run->marks[group].kind));
    if (columns & FM_COLUMN_SITE) {
        copy_four(to->site + row, run->sites + group * FM_GROUP);
        copy_four(to->site + row + 4, run->sites + group * FM_GROUP + 4);
    }
    return row + count;
}

/* The lower halves of four words, and the sizes that their codes stand for. */
ISA_INLINE __m128i lower_halves(__m256i words)
{
    return _mm256_castsi256_si128(
        _mm256_permutevar8x32_epi32(words, _mm256_set_epi32(0, 0, 0, 0, 6, 4, 2, 0)));
}

ISA_INLINE __m128i by_code(__m128i lower, __m128i table)
{
    /* A byte index with its highest bit set gives 0. */
    __m128i codes = _mm_and_si128(_mm_srli_epi32(lower, 12), _mm_set1_epi32(15));
    return _mm_shuffle_epi8(table, _mm_or_si128(codes, _mm_set1_epi32((int)0x80808000)));
}

/* fm_access_sizes as bytes. */
ISA_INLINE __m128i size_table(void)
{
    return _mm_set_epi8(0, 0, 32, 16, 8, 4, 2, 1, 0, 32, 16, 8, 4, 2, 1, 0);
}

enum { HEAD_STEP = 4, SPECIAL_STEP = 4, LANES = 4 };

ISA_INLINE unsigned mark_heads(const uint64_t *words, unsigned *zero)
{
    __m256i four = _mm256_loadu_si256((const __m256i *)words);
    _mm_prefetch((const char *)(words + 512), _MM_HINT_T0); /* the next page of memory */
    const __m256i none = _mm256_cmpeq_epi64(four, _mm256_setzero_si256());
    *zero |= (unsigned)_mm256_movemask_pd(_mm256_castsi256_pd(none));
    return (unsigned)_mm256_movemask_pd(_mm256_castsi256_pd(four));
}

ISA_INLINE unsigned mark_specials(const uint64_t *words)
{
    __m256i four = _mm256_loadu_si256((const __m256i *)words);
    __m128i none = _mm_cmpeq_epi32(by_code(lower_halves(four), size_table()), _mm_setzero_si128());
    return (unsigned)_mm256_movemask_pd(_mm256_castsi256_pd(four)) |
           (unsigned)_mm_movemask_ps(_mm_castsi128_ps(none));
}

typedef __m128i head_places, special_places;

ISA_INLINE __m128i first_heads(size_t from)
{
    return _mm_set1_epi32((int)from);
}

ISA_INLINE void store_heads(uint32_t *to, __m128i *places, unsigned found)
{
    const __m128i set = _mm_loadu_si128((const __m128i *)set_bits[found]);
    _mm_storeu_si128((__m128i *)to, _mm_add_epi32(set, *places));
    *places = _mm_add_epi32(*places, _mm_set1_epi32(HEAD_STEP));
}

/* Leaves out rows of the last `count` that are in the stack; returns the row behind the others. */
static size_t squeeze_rows(fm_access_run *run, fm_row_memory *at, unsigned columns, size_t row,
                           unsigned count)
{
    size_t to = row;
    for (size_t from = row; from < row + count; from++) {
        at->address[to] = at->address[from];
        if (columns & FM_COLUMN_SIZE) at->size[to] = at->size[from];
        if (columns & FM_COLUMN_TAG) at->tag[to] = at->tag[from];
        if (columns & FM_COLUMN_SITE) at->site[to] = at->site[from];
        if (columns & FM_COLUMN_KIND) at->kind[to] = at->kind[from];
        to += at->address[from] - run->stack_low >= run->stack_span;
    }
    run->left_out += row + count - to;
    return to;
}

/* Up to four accesses; *stopped: how many were done where one has no tag, else as it was. */
ISA_INLINE size_t store_accesses(fm_row_memory *to, size_t row, fm_loop_kind loop, fm_access_run *run,
                                 const fm_code_page *page, size_t at, unsigned count, unsigned *stopped)
{
    const unsigned columns = loop.columns;
    __m256i words = _mm256_loadu_si256((const __m256i *)(run->words + at));
    __m128i lower = lower_halves(words), places = _mm_and_si128(lower, _mm_set1_epi32(4095));
    if (columns & FM_COLUMN_TAG) { /* no gather: see decode_avx512.c */
        uint32_t place[4] __attribute__((aligned(16)));
        _mm_store_si128((__m128i *)place, places);
        __m128i tags = _mm_cvtsi32_si128((int)page->tag[place[0]]);
        tags = _mm_insert_epi32(tags, (int)page->tag[place[1]], 1);
        tags = _mm_insert_epi32(tags, (int)page->tag[place[2]], 2);
        tags = _mm_insert_epi32(tags, (int)page->tag[place[3]], 3);
        __m128i none = _mm_cmpeq_epi32(tags, _mm_setzero_si128());
        unsigned without = (unsigned)_mm_movemask_ps(_mm_castsi128_ps(none)) & ((1U << count) - 1);
        if (__builtin_expect(without && !run->tags_full, 0)) count = *stopped = _tzcnt_u32(without);
        _mm_storeu_si128((__m128i *)(to->tag + row), tags);
    }
    __m256i addresses = _mm256_srli_epi64(words, 16);
    _mm256_storeu_si256((__m256i *)(to->address + row), addresses);
    if (columns & FM_COLUMN_SIZE) _mm_storeu_si128((__m128i *)(to->size + row), by_code(lower, size_table()));
    if (columns & FM_COLUMN_SITE)
        _mm256_storeu_si256(
            (__m256i *)(to->site + row),
            _mm256_add_epi64(_mm256_cvtepu32_epi64(places), _mm256_set1_epi64x((long long)page->base)));
    if (columns & FM_COLUMN_KIND) {
        __m128i kinds = by_code(lower, _mm_loadu_si128((const __m128i *)fm_access_kinds));
        kinds = _mm_shuffle_epi8(kinds,
                                 _mm_set_epi8(-1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, 12, 8, 4, 0));
        _mm_storeu_si32(to->kind + row, kinds);
    }
    if (loop.no_stack && run->stack_span != 0) return squeeze_rows(run, to, columns, row, count);
    return row + count;
}

/* Blocks that are not plain come one by one, with calls: the row by row way is good enough. */
#define store_any fm_store_each
#define store_specials store_heads
#define first_specials first_heads
#define KERNELS fm_decode_avx2
#define ISA_TEXT "avx2"
#include "collect/decode_body.h"
#endif

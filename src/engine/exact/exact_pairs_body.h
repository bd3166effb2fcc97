/* SPDX-License-Identifier: Apache-2.0 */
/*
 * exact_pairs_body.h - kernels add_ranges, count_pairs and cut…: what attribution adds to a reference, and
 * the cutting of accesses into blocks, which the analyzer does for every engine.
 */

#if defined(__AVX2__) && !defined(__AVX512F__)
/* What a table has for each of eight octaves. */
ALWAYS_INLINE __m256i by_octave(const uint32_t table[FM_OCTAVES], __m256i octave)
{
    __m256 of[4]; /* of every eight octaves */
    for (unsigned eight = 0; eight < 4; eight++)
        of[eight] = _mm256_castsi256_ps(
            _mm256_permutevar8x32_epi32(_mm256_load_si256((const __m256i *)(table + 8 * eight)), octave));
    const __m256 bit_3 = _mm256_castsi256_ps(_mm256_slli_epi32(octave, 28)),
                 bit_4 = _mm256_castsi256_ps(_mm256_slli_epi32(octave, 27)); /* blendv takes the highest */
    return _mm256_castps_si256(_mm256_blendv_ps(_mm256_blendv_ps(of[0], of[1], bit_3),
                                                _mm256_blendv_ps(of[2], of[3], bit_3), bit_4));
}
#endif

static void kernel_add_ranges(const fm_ranges *restrict ranges, const uint32_t *restrict distances,
                              size_t count, uint64_t *restrict pairs)
{
    if (ranges->inner > FM_INNER_MAX) {
        for (size_t i = 0; i < count; i++) pairs[i] |= fm_range_of(ranges, distances[i]);
        return;
    }
    /* By the highest bit: the range of the least distance that has it, and one more for every edge passed. */
    const unsigned inner = ranges->inner;
#if defined(__AVX512F__)
    const __m512i base_low = _mm512_load_si512(ranges->base),
                  base_high = _mm512_load_si512(ranges->base + 16);
    const __m512i one = _mm512_set1_epi32(1);
    for (size_t i = 0; i < count; i += 16) {
        __m512i distance = _mm512_loadu_si512(distances + i);
        __m512i octave =
            _mm512_sub_epi32(_mm512_set1_epi32(31), _mm512_lzcnt_epi32(_mm512_or_si512(distance, one)));
        __m512i range = _mm512_permutex2var_epi32(base_low, octave, base_high);
        for (unsigned e = 0; e < inner; e++) {
            __m512i edge = _mm512_permutex2var_epi32(_mm512_load_si512(ranges->edge[e]), octave,
                                                     _mm512_load_si512(ranges->edge[e] + 16));
            range = _mm512_mask_add_epi32(range, _mm512_cmpge_epu32_mask(distance, edge), range, one);
        }
        __m512i first = _mm512_cvtepu32_epi64(_mm512_castsi512_si256(range));
        __m512i second = _mm512_cvtepu32_epi64(_mm512_extracti64x4_epi64(range, 1));
        _mm512_storeu_si512(pairs + i, _mm512_or_si512(_mm512_loadu_si512(pairs + i), first));
        _mm512_storeu_si512(pairs + i + 8, _mm512_or_si512(_mm512_loadu_si512(pairs + i + 8), second));
    }
#elif defined(__AVX2__)
    for (size_t i = 0; i < count; i += 8) {
        const __m256i distance = _mm256_loadu_si256((const __m256i *)(distances + i));
        const __m256i octave = highest_bits(_mm256_or_si256(distance, _mm256_set1_epi32(1)));
        __m256i range = by_octave(ranges->base, octave);
        for (unsigned e = 0; e < inner; e++) {
            const __m256i edge = by_octave(ranges->edge[e], octave);
            const __m256i passed = _mm256_cmpeq_epi32(_mm256_max_epu32(distance, edge), distance); /* -1 */
            range = _mm256_sub_epi32(range, passed);
        }
        for (unsigned half = 0; half < 2; half++) {
            __m256i *const words = (__m256i *)(pairs + i + 4 * half);
            const __m128i four = half ? _mm256_extracti128_si256(range, 1) : _mm256_castsi256_si128(range);
            _mm256_storeu_si256(words,
                                _mm256_or_si256(_mm256_loadu_si256(words), _mm256_cvtepu32_epi64(four)));
        }
    }
#else
    for (size_t i = 0; i < count; i++) {
        uint32_t distance = distances[i];
        unsigned octave = 31U - (unsigned)__builtin_clz(distance | 1);
        uint32_t range = ranges->base[octave];
        for (unsigned e = 0; e < inner; e++) range += distance >= ranges->edge[e][octave];
        pairs[i] |= range;
    }
#endif
}

/* The slot of the word in its home bucket; over FM_PAIR_SLOTS where it is not there. */
ALWAYS_INLINE unsigned pair_slot(const fm_pair_bucket *bucket, const uint64_t *word)
{
#if defined(__AVX2__)
    __m256i wanted;
    /* From memory: gcc would load it and then move it over, one more operation on the busiest port. */
    __asm__("vpbroadcastq %1, %0" : "=x"(wanted) : "m"(*word));
    __m256i equal = _mm256_cmpeq_epi64(_mm256_load_si256((const __m256i *)bucket->word), wanted);
    return _tzcnt_u32((unsigned)_mm256_movemask_pd(_mm256_castsi256_pd(equal)));
#else
    unsigned slot = 0;
    while (slot < FM_PAIR_SLOTS && bucket->word[slot] != *word) slot++;
    return slot;
#endif
}

/* The home buckets of `count` words; with vectors, up to the next multiple of 8 or 4. */
ALWAYS_INLINE void pair_homes(const fm_pair_table *table, const uint64_t *restrict words, size_t count,
                              fm_pair_bucket **restrict homes)
{
#if defined(__AVX512F__)
    const __m512i low_multiplier = _mm512_set1_epi64(table->multiplier[0]);
    const __m512i high_multiplier = _mm512_set1_epi64(table->multiplier[1]);
    const __m512i last_multiplier = _mm512_set1_epi64(table->multiplier[2]);
    const __m512i buckets = _mm512_set1_epi64((long long)table->bucket_count);
    const __m512i base = _mm512_set1_epi64((long long)(uintptr_t)table->buckets);
    for (size_t i = 0; i < count; i += 8) {
        __m512i word = _mm512_loadu_si512(words + i);
        __m512i mixed = _mm512_add_epi64(_mm512_mul_epu32(word, low_multiplier),
                                         _mm512_mul_epu32(_mm512_srli_epi64(word, 32), high_multiplier));
        mixed = _mm512_xor_si512(mixed, _mm512_srli_epi64(mixed, 29));
        __m512i hash = _mm512_mul_epu32(mixed, last_multiplier);
        __m512i index = _mm512_srli_epi64(_mm512_mul_epu32(hash, buckets), 32);
        _mm512_storeu_si512(homes + i, _mm512_add_epi64(base, _mm512_slli_epi64(index, 6)));
    }
#elif defined(__AVX2__)
    const __m256i low_multiplier = _mm256_set1_epi64x(table->multiplier[0]);
    const __m256i high_multiplier = _mm256_set1_epi64x(table->multiplier[1]);
    const __m256i last_multiplier = _mm256_set1_epi64x(table->multiplier[2]);
    const __m256i buckets = _mm256_set1_epi64x((long long)table->bucket_count);
    const __m256i base = _mm256_set1_epi64x((long long)(uintptr_t)table->buckets);
    for (size_t i = 0; i < count; i += 4) {
        __m256i word = _mm256_loadu_si256((const __m256i *)(words + i));
        __m256i mixed = _mm256_add_epi64(_mm256_mul_epu32(word, low_multiplier),
                                         _mm256_mul_epu32(_mm256_srli_epi64(word, 32), high_multiplier));
        mixed = _mm256_xor_si256(mixed, _mm256_srli_epi64(mixed, 29));
        __m256i hash = _mm256_mul_epu32(mixed, last_multiplier);
        __m256i index = _mm256_srli_epi64(_mm256_mul_epu32(hash, buckets), 32);
        _mm256_storeu_si256((__m256i *)(homes + i), _mm256_add_epi64(base, _mm256_slli_epi64(index, 6)));
    }
#else
    const uint32_t multiplier[3] = {table->multiplier[0], table->multiplier[1], table->multiplier[2]};
    for (size_t i = 0; i < count; i++)
        homes[i] = table->buckets + fm_pair_home(words[i], multiplier, table->bucket_count);
#endif
}

ALWAYS_INLINE void count_word(fm_pair_table *table, fm_pair_bucket *home, const uint64_t *word,
                              uint64_t times)
{
    const unsigned slot = pair_slot(home, word);
    if (__builtin_expect(slot < FM_PAIR_SLOTS, 1))
        home->count[slot] += times;
    else
        fm_pair_table_add(table, home, *word, times);
}

/* Which of eight words are the same as the first; with vectors, else not looked for. */
ALWAYS_INLINE unsigned same_as_first(const uint64_t *words)
{
#if defined(__AVX512F__)
    return mask_bits(
        _mm512_cmpeq_epi64_mask(_mm512_loadu_si512(words), _mm512_set1_epi64((long long)words[0])));
#elif defined(__AVX2__)
    const __m256i first = _mm256_set1_epi64x((long long)words[0]);
    const __m256i low = _mm256_cmpeq_epi64(_mm256_loadu_si256((const __m256i *)words), first),
                  high = _mm256_cmpeq_epi64(_mm256_loadu_si256((const __m256i *)(words + 4)), first);
    return (unsigned)_mm256_movemask_pd(_mm256_castsi256_pd(low)) |
           (unsigned)_mm256_movemask_pd(_mm256_castsi256_pd(high)) << 4;
#else
    (void)words;
    return 1;
#endif
}

/* Words of which most in a row are the same: each would wait for the one before. A multiple of eight. */
static void count_runs(fm_pair_table *table, const uint64_t *words, fm_pair_bucket *const *homes,
                       size_t count)
{
    for (size_t i = 0; i < count; i += 8) {
        const unsigned same = same_as_first(words + i);
        count_word(table, homes[i], words + i, (unsigned)__builtin_popcount(same));
        for (unsigned others = same ^ 0xFF; others; others &= others - 1) {
            const size_t other = i + (unsigned)__builtin_ctz(others);
            count_word(table, homes[other], &words[other], 1);
        }
    }
}

static void kernel_count_pairs(fm_pair_table *table, const uint64_t *restrict pairs, size_t count)
{
    /* Buckets found together; and from how many on (512 KiB) they are prefetched. Loops over arrays give the
     * same word many times over: the first eight tell. */
    enum { AHEAD = 64, MANY = 1 << 15, MOST = 6 };
    fm_pair_bucket *homes[AHEAD];
    for (size_t i = 0; i < count; i += AHEAD) {
        const size_t chunk = count - i < AHEAD ? count - i : AHEAD;
        const uint64_t *const words = pairs + i;
        pair_homes(table, words, chunk, homes);
        if (chunk == AHEAD && __builtin_popcount(same_as_first(words)) >= MOST) {
            count_runs(table, words, homes, chunk);
            continue;
        }
        if (table->bucket_count >= MANY)
            for (size_t j = 0; j < chunk; j++) __builtin_prefetch(homes[j], 1, 3);
#pragma GCC unroll 4
        for (size_t j = 0; j < chunk; j++) count_word(table, homes[j], &words[j], 1);
    }
}

static size_t kernel_cut(const uint64_t *restrict address, const uint32_t *restrict size, size_t count,
                         unsigned shift, uint64_t *restrict blocks)
{
    enum { STEP = 16 };
    const uint64_t granularity = UINT64_C(1) << shift, within = granularity - 1;
    size_t i = 0;
    if (!size) {
        for (; i < count; i++) blocks[i] = address[i] >> shift;
        return count;
    }
    for (; i + STEP <= count; i += STEP) {
        uint64_t over = 0;
        for (size_t j = 0; j < STEP; j++) {
            blocks[i + j] = address[i + j] >> shift;
            over |= (address[i + j] & within) + size[i + j] > granularity;
        }
        if (__builtin_expect(over != 0, 0)) break;
    }
    for (; i < count && (address[i] & within) + size[i] <= granularity; i++) blocks[i] = address[i] >> shift;
    return i;
}

#if defined(__AVX2__) && !defined(__AVX512F__)
/* Which halves of four numbers move to the front, by a mask of those that are kept. */
static const uint32_t kept_first[16][8] = {
    {6, 7, 6, 7, 6, 7, 6, 7}, {0, 1, 6, 7, 6, 7, 6, 7}, {2, 3, 6, 7, 6, 7, 6, 7}, {0, 1, 2, 3, 6, 7, 6, 7},
    {4, 5, 6, 7, 6, 7, 6, 7}, {0, 1, 4, 5, 6, 7, 6, 7}, {2, 3, 4, 5, 6, 7, 6, 7}, {0, 1, 2, 3, 4, 5, 6, 7},
    {6, 7, 6, 7, 6, 7, 6, 7}, {0, 1, 6, 7, 6, 7, 6, 7}, {2, 3, 6, 7, 6, 7, 6, 7}, {0, 1, 2, 3, 6, 7, 6, 7},
    {4, 5, 6, 7, 6, 7, 6, 7}, {0, 1, 4, 5, 6, 7, 6, 7}, {2, 3, 4, 5, 6, 7, 6, 7}, {0, 1, 2, 3, 4, 5, 6, 7},
};
#endif

static size_t kernel_cut_distinct(const uint64_t *restrict address, const uint32_t *restrict size,
                                  size_t count, unsigned shift, uint64_t *restrict before,
                                  uint64_t *restrict blocks, size_t *restrict kept)
{
    const uint64_t granularity = UINT64_C(1) << shift, within = granularity - 1;
    uint64_t latest = *before;
    size_t taken = 0, i = 0;
#if defined(__AVX512F__)
    const __m512i all = _mm512_set1_epi64((long long)granularity),
                  rest = _mm512_set1_epi64((long long)within);
    const __m128i by = _mm_cvtsi32_si128((int)shift);
    __m512i last = _mm512_set1_epi64((long long)latest);
    for (; i + 8 <= count; i += 8) {
        __m512i where = _mm512_loadu_si512(address + i), now = _mm512_srl_epi64(where, by);
        if (size) {
            __m512i bytes = _mm512_cvtepu32_epi64(_mm256_loadu_si256((const __m256i *)(size + i)));
            __m512i end = _mm512_add_epi64(_mm512_and_si512(where, rest), bytes);
            if (__builtin_expect(mask_bits(_mm512_cmpgt_epu64_mask(end, all)) != 0, 0)) break;
        }
        unsigned keep = mask_bits(_mm512_cmpneq_epi64_mask(now, _mm512_alignr_epi64(now, last, 7)));
        _mm512_storeu_si512(blocks + taken, _mm512_maskz_compress_epi64((__mmask8)keep, now));
        taken += (size_t)__builtin_popcount(keep);
        last = now;
    }
    if (i > 0) latest = address[i - 1] >> shift;
#elif defined(__AVX2__)
    const __m256i all = _mm256_set1_epi64x((long long)granularity),
                  rest = _mm256_set1_epi64x((long long)within);
    const __m128i by = _mm_cvtsi32_si128((int)shift);
    __m256i last = _mm256_set1_epi64x((long long)latest);
    /* Comparisons are of signed numbers: larger blocks are left to the loop below. */
    for (; shift < 62 && i + 4 <= count; i += 4) {
        __m256i where = _mm256_loadu_si256((const __m256i *)(address + i)), now = _mm256_srl_epi64(where, by);
        if (size) {
            __m256i bytes = _mm256_cvtepu32_epi64(_mm_loadu_si128((const __m128i *)(size + i)));
            __m256i end = _mm256_add_epi64(_mm256_and_si256(where, rest), bytes);
            __m256i over = _mm256_cmpgt_epi64(end, all);
            if (__builtin_expect(!_mm256_testz_si256(over, over), 0)) break;
        }
        __m256i one_before = _mm256_permute4x64_epi64(_mm256_blend_epi32(now, last, 0xC0), 0x93);
        unsigned repeats =
            (unsigned)_mm256_movemask_pd(_mm256_castsi256_pd(_mm256_cmpeq_epi64(now, one_before)));
        __m256i order = _mm256_loadu_si256((const __m256i *)kept_first[repeats ^ 15]);
        _mm256_storeu_si256((__m256i *)(blocks + taken), _mm256_permutevar8x32_epi32(now, order));
        taken += 4 - (size_t)__builtin_popcount(repeats);
        last = now;
    }
    if (i > 0) latest = address[i - 1] >> shift;
#endif
    for (; i < count && (!size || (address[i] & within) + size[i] <= granularity); i++) {
        const uint64_t block = address[i] >> shift;
        blocks[taken] = block;
        taken += block != latest;
        latest = block;
    }
    *before = latest;
    *kept = taken;
    return i;
}

#if defined(__AVX2__) && !defined(__AVX512F__)
/* Those of four 64-bit lanes that are in the mask, moved together. */
ALWAYS_INLINE __m256i four_together(__m256i lanes, unsigned mask)
{
    const __m256i numbers = _mm256_cvtepu8_epi64(lane_bytes(mask));
    const __m256i low = _mm256_add_epi64(numbers, numbers); /* of halves: 2 n, 2 n + 1 */
    const __m256i both =
        _mm256_or_si256(low, _mm256_slli_epi64(_mm256_add_epi64(low, _mm256_set1_epi64x(1)), 32));
    return _mm256_permutevar8x32_epi32(lanes, both);
}
#endif

#if defined(__AVX2__)
/* Of eight accesses, some of which reach beyond their blocks: how many there are up to the first of these,
 * and with it where that touches two blocks. */
ALWAYS_INLINE unsigned up_to_two(const uint64_t *address, const uint32_t *size, unsigned shift, unsigned over)
{
    const unsigned first = _tzcnt_u32(over);
    const uint64_t end = fm_last_block(address[first], size[first], shift);
    return first + (end - (address[first] >> shift) <= 1);
}
#endif

#if defined(__AVX2__) && !defined(__AVX512F__)
/* The first ones of eight, and zeroes. */
ALWAYS_INLINE __m256i first_lanes(__m256i lanes, unsigned count)
{
    const __m256i number = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
    return _mm256_and_si256(lanes, _mm256_cmpgt_epi32(_mm256_set1_epi32((int)count), number));
}
#endif

static size_t kernel_cut_tagged(const uint64_t *restrict address, const uint32_t *restrict size,
                                const uint32_t *restrict tag, size_t count, unsigned shift,
                                uint32_t reference, fm_tagged_cut *restrict cut)
{
    uint64_t block = cut->block;
    uint32_t before = cut->tag, all = cut->all_tags;
    size_t kept = cut->count, pairs = 0, i = 0;
#if defined(__AVX2__)
    const uint64_t granularity = UINT64_C(1) << shift, within = granularity - 1;
    __m256i some = _mm256_setzero_si256();
#endif
    bool again; /* vectors stopped behind an access to two blocks */
    do {
        again = false;
#if defined(__AVX2__)
        const size_t from = i;
        unsigned over = 0, taken = 8; /* those of eight that reach beyond their blocks; so many are cut */
#endif
#if defined(__AVX512F__)
        const __m512i whole = _mm512_set1_epi64((long long)granularity),
                      rest = _mm512_set1_epi64((long long)within),
                      mark = _mm512_set1_epi64((long long)FM_PAIR_MARK);
        const __m128i by = _mm_cvtsi32_si128((int)shift);
        __m512i last = _mm512_set1_epi64((long long)block);
        __m256i last_tags = _mm256_set1_epi32((int)before);
        __m256i number = _mm256_add_epi32(_mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7),
                                          _mm256_set1_epi32((int)(reference + (uint32_t)i)));
        for (; over == 0 && i + 8 <= count; i += taken) {
            __m512i where = _mm512_loadu_si512(address + i), here = _mm512_srl_epi64(where, by);
            if (size) {
                __m512i bytes = _mm512_cvtepu32_epi64(_mm256_loadu_si256((const __m256i *)(size + i)));
                __m512i end = _mm512_add_epi64(_mm512_and_si512(where, rest), bytes);
                over = mask_bits(_mm512_cmpgt_epu64_mask(end, whole));
            }
            if (__builtin_expect(over != 0, 0)) taken = up_to_two(address + i, size + i, shift, over);
            const unsigned live = (1U << taken) - 1;
            __m256i tags = _mm256_loadu_si256((const __m256i *)(tag + i));
            __m256i tags_before = _mm256_alignr_epi32(tags, last_tags, 7);
            const unsigned keep =
                live & mask_bits(_mm512_cmpneq_epi64_mask(here, _mm512_alignr_epi64(here, last, 7)));
            const __mmask8 kept_ones = (__mmask8)keep;
            _mm512_storeu_si512(cut->blocks + kept, _mm512_maskz_compress_epi64(kept_ones, here));
            _mm256_storeu_si256((__m256i *)(cut->now + kept), _mm256_maskz_compress_epi32(kept_ones, tags));
            /* Whoever is kept ends the repeats of the one kept before it. */
            _mm256_storeu_si256((__m256i *)(cut->leave + kept - 1),
                                _mm256_maskz_compress_epi32(kept_ones, tags_before));
            _mm256_storeu_si256((__m256i *)(cut->reference + kept),
                                _mm256_maskz_compress_epi32(kept_ones, number));
            __m512i reuse = _mm512_slli_epi64(_mm512_cvtepu32_epi64(tags), 32);
            __m512i use = _mm512_slli_epi64(_mm512_cvtepu32_epi64(tags_before), 8);
            __m512i pair = _mm512_or_si512(_mm512_or_si512(reuse, use), mark);
            _mm512_storeu_si512(cut->pair + pairs,
                                _mm512_maskz_compress_epi64((__mmask8)(keep ^ live), pair));
            const unsigned ones = (unsigned)__builtin_popcount(keep);
            kept += ones;
            pairs += taken - ones;
            some = _mm256_mask_or_epi32(some, (__mmask8)live, some, tags);
            number = _mm256_add_epi32(number, _mm256_set1_epi32(8));
            last = here;
            last_tags = tags;
        }
#elif defined(__AVX2__)
        const __m256i whole = _mm256_set1_epi64x((long long)granularity),
                      rest = _mm256_set1_epi64x((long long)within),
                      mark = _mm256_set1_epi32((int)(FM_PAIR_MARK >> 32)),
                      one_back = _mm256_setr_epi32(7, 0, 1, 2, 3, 4, 5, 6);
        const __m128i by = _mm_cvtsi32_si128((int)shift);
        __m256i last = _mm256_set1_epi64x((long long)block), last_tags = _mm256_set1_epi32((int)before);
        for (; over == 0 && i + 8 <= count; i += taken) {
            __m256i here[2], latest = last;
            unsigned repeats = 0;
            for (unsigned half = 0; half < 2; half++) {
                const __m256i where = _mm256_loadu_si256((const __m256i *)(address + i + 4 * half));
                here[half] = _mm256_srl_epi64(where, by);
                const __m256i turned = _mm256_permute4x64_epi64(here[half], 0x93); /* the last one first */
                const __m256i equal = _mm256_cmpeq_epi64(here[half], _mm256_blend_epi32(turned, latest, 3));
                repeats |= (unsigned)_mm256_movemask_pd(_mm256_castsi256_pd(equal)) << (4 * half);
                latest = turned;
                if (!size) continue;
                __m256i bytes =
                    _mm256_cvtepu32_epi64(_mm_loadu_si128((const __m128i *)(size + i + 4 * half)));
                __m256i end = _mm256_add_epi64(_mm256_and_si256(where, rest), bytes);
                const __m256d beyond = _mm256_castsi256_pd(_mm256_cmpgt_epi64(end, whole));
                over |= (unsigned)_mm256_movemask_pd(beyond) << (4 * half);
            }
            if (__builtin_expect(over != 0, 0)) taken = up_to_two(address + i, size + i, shift, over);
            const unsigned live = (1U << taken) - 1;
            repeats &= live;
            const unsigned keep = repeats ^ live, ones = (unsigned)__builtin_popcount(keep);
            const __m256i keep_lanes = _mm256_cvtepu8_epi32(lane_bytes(keep)),
                          repeat_lanes = _mm256_cvtepu8_epi32(lane_bytes(repeats));
            const __m256i tags = _mm256_loadu_si256((const __m256i *)(tag + i)),
                          turned_tags = _mm256_permutevar8x32_epi32(tags, one_back),
                          tags_before = _mm256_blend_epi32(turned_tags, last_tags, 1);
            _mm256_storeu_si256((__m256i *)(cut->blocks + kept), four_together(here[0], keep & 15));
            _mm256_storeu_si256((__m256i *)(cut->blocks + kept + (unsigned)__builtin_popcount(keep & 15)),
                                four_together(here[1], keep >> 4));
            _mm256_storeu_si256((__m256i *)(cut->now + kept), _mm256_permutevar8x32_epi32(tags, keep_lanes));
            /* Whoever is kept ends the repeats of the one kept before it. */
            _mm256_storeu_si256((__m256i *)(cut->leave + kept - 1),
                                _mm256_permutevar8x32_epi32(tags_before, keep_lanes));
            _mm256_storeu_si256(
                (__m256i *)(cut->reference + kept),
                _mm256_add_epi32(keep_lanes, _mm256_set1_epi32((int)(reference + (uint32_t)i))));
            /* The words of the repeats, from their halves. */
            const __m256i use = _mm256_permutevar8x32_epi32(_mm256_slli_epi32(tags_before, 8), repeat_lanes),
                          reuse = _mm256_permutevar8x32_epi32(_mm256_or_si256(tags, mark), repeat_lanes);
            store_words(cut->pair + pairs, use, reuse);
            kept += ones;
            pairs += taken - ones;
            some = _mm256_or_si256(some, taken == 8 ? tags : first_lanes(tags, taken));
            last = latest;
            last_tags = turned_tags;
        }
#endif
#if defined(__AVX2__)
        if (i > from) {
            block = address[i - 1] >> shift;
            before = tag[i - 1];
            const uint64_t end = size ? fm_last_block(address[i - 1], size[i - 1], shift) : block;
            if (end != block) {
                cut->leave[kept - 1] = cut->now[kept] = before;
                cut->reference[kept] = reference + (uint32_t)i - 1;
                cut->blocks[kept++] = block = end;
            }
            again = over != 0;
        }
#endif
        for (; i < count && !again; i++) {
            const uint64_t here = address[i] >> shift,
                           end = size ? fm_last_block(address[i], size[i], shift) : here;
            if (__builtin_expect(end - here > 1, 0)) break;
            const size_t keep = here != block;
            cut->blocks[kept] = here;
            cut->now[kept] = tag[i];
            cut->reference[kept] = reference + (uint32_t)i;
            cut->leave[kept - 1] = before;
            cut->pair[pairs] = fm_pair_word(before, tag[i], 0);
            kept += keep;
            pairs += 1 - keep;
            all |= before = tag[i];
            block = end;
            if (end == here) continue;
            cut->leave[kept - 1] = cut->now[kept] = before;
            cut->reference[kept] = reference + (uint32_t)i;
            cut->blocks[kept++] = end;
        }
    } while (again);
#if defined(__AVX2__)
    uint32_t bits[8];
    _mm256_storeu_si256((__m256i *)bits, some);
    for (unsigned j = 0; j < 8; j++) all |= bits[j];
#endif
    cut->leave[kept - 1] = before;
    cut->count = kept;
    cut->pair_count = pairs;
    cut->block = block;
    cut->tag = before;
    cut->all_tags = all;
    return i;
}

static uint32_t kernel_all_bits(const uint32_t *restrict numbers, size_t count)
{
    enum { STEP = 64 }; /* several sums: one would wait for itself */
    uint32_t sums[STEP] = {0}, all = 0;
    size_t i = 0;
    for (; i + STEP <= count; i += STEP)
        for (size_t j = 0; j < STEP; j++) sums[j] |= numbers[i + j];
    for (; i < count; i++) all |= numbers[i];
    for (size_t j = 0; j < STEP; j++) all |= sums[j];
    return all;
}

static uint32_t kernel_copy_tags(const uint32_t *restrict from, size_t count, uint32_t *restrict to)
{
    uint32_t all = 0;
    for (size_t i = 0; i < count; i++) all |= to[i] = from[i];
    return all;
}

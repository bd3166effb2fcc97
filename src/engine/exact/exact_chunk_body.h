/* SPDX-License-Identifier: Apache-2.0 */
/*
 * exact_chunk_body.h - a chunk of the trace by itself: which references touch a block that the chunk touched
 * before, and their distances; what is left for the table and the window. See fm_cache_chunk in
 * exact_kernels.h.
 */

/* A lag that is none: more than FM_CLOSE, and not reached by counting down from FM_CLOSE through 0. */
enum { FAR_LAG = 2 * FM_CLOSE };

/*
 * The slot in which a block is looked for first, of 2^bits. Blocks that share all but their lowest `bits`
 * bits never meet: these are spread by a fixed odd factor, so that neighbours lie far apart, and moved on by
 * a secret hash of the others. What a program touches within a chunk is mostly in few such ranges.
 * Products of halves, as in fm_pair_home.
 */
ALWAYS_INLINE void chunk_slots(const uint64_t *restrict keys, size_t count, const uint32_t multiplier[3],
                               const unsigned bits, uint16_t *restrict slots)
{
    const uint64_t within = (UINT64_C(1) << bits) - 1;
    const uint32_t spread =
        2 * (UINT32_C(0x9E3779B1) >> (33 - bits)) + 1; /* of 2^bits, the golden ratio's chunk */
    size_t i = 0;
#if defined(__AVX512F__)
    const __m512i low = _mm512_set1_epi64(multiplier[0]), high = _mm512_set1_epi64(multiplier[1]),
                  last = _mm512_set1_epi64(multiplier[2]), apart = _mm512_set1_epi64(spread),
                  mask = _mm512_set1_epi64((long long)within);
    for (; i < count; i += 8) {
        const unsigned live = count - i >= 8 ? 0xFF : (1U << (count - i)) - 1;
        __m512i key = _mm512_maskz_loadu_epi64((__mmask8)live, keys + i);
        __m512i upper = _mm512_srli_epi64(key, bits);
        __m512i mixed = _mm512_add_epi64(_mm512_mul_epu32(upper, low),
                                         _mm512_mul_epu32(_mm512_srli_epi64(upper, 32), high));
        __m512i hash = _mm512_mul_epu32(_mm512_xor_si512(mixed, _mm512_srli_epi64(mixed, 29)), last);
        __m512i slot = _mm512_add_epi64(_mm512_srli_epi64(hash, 32 - bits), _mm512_mul_epu32(key, apart));
        _mm_storeu_si128((__m128i *)(slots + i), _mm512_cvtepi64_epi16(_mm512_and_si512(slot, mask)));
    }
#else
#if defined(__AVX2__)
    const __m256i low = _mm256_set1_epi64x(multiplier[0]), high = _mm256_set1_epi64x(multiplier[1]),
                  last = _mm256_set1_epi64x(multiplier[2]), apart = _mm256_set1_epi64x(spread),
                  mask = _mm256_set1_epi64x((long long)within);
    const __m128i by = _mm_cvtsi32_si128((int)bits), rest = _mm_cvtsi32_si128((int)(32 - bits));
    for (; i + 4 <= count; i += 4) {
        __m256i key = _mm256_loadu_si256((const __m256i *)(keys + i)), upper = _mm256_srl_epi64(key, by);
        __m256i mixed = _mm256_add_epi64(_mm256_mul_epu32(upper, low),
                                         _mm256_mul_epu32(_mm256_srli_epi64(upper, 32), high));
        __m256i hash = _mm256_mul_epu32(_mm256_xor_si256(mixed, _mm256_srli_epi64(mixed, 29)), last);
        __m256i slot = _mm256_and_si256(
            _mm256_add_epi64(_mm256_srl_epi64(hash, rest), _mm256_mul_epu32(key, apart)), mask);
        __m128i halves = _mm_castps_si128(_mm_shuffle_ps(_mm_castsi128_ps(_mm256_castsi256_si128(slot)),
                                                         _mm_castsi128_ps(_mm256_extracti128_si256(slot, 1)),
                                                         _MM_SHUFFLE(2, 0, 2, 0)));
        _mm_storel_epi64((__m128i *)(slots + i), _mm_packus_epi32(halves, halves));
    }
#endif
    for (; i < count; i++) {
        const uint64_t upper = keys[i] >> bits;
        uint64_t mixed =
            (uint64_t)(uint32_t)upper * multiplier[0] + (uint64_t)(uint32_t)(upper >> 32) * multiplier[1];
        uint32_t hash = (uint32_t)(mixed ^ mixed >> 29) * multiplier[2];
        slots[i] = (uint16_t)(((hash >> (32 - bits)) + (uint32_t)keys[i] * spread) & within);
    }
#endif
}

/* Another block's slot: looks on. Returns the block's latest reference (1 + …) or 0; stores this one. */
static size_t chunk_probe(const uint64_t *keys, size_t i, fm_cache_chunk *chunk, size_t *probes)
{
    size_t slot = chunk->slot[i], found;
    do {
        slot = (slot + 1) % FM_CACHE_CHUNK_SLOTS;
        found = chunk->entry[slot];
        ++*probes;
    } while (found != 0 && keys[found - 1] != keys[i]);
    chunk->entry[slot] = (uint16_t)(i + 1);
    chunk->slot[i] = (uint16_t)slot;
    return found;
}

static bool kernel_chunk_link(const uint64_t *restrict keys, size_t count, fm_cache_chunk *restrict chunk)
{
    uint16_t *const entry = chunk->entry, *const before = chunk->before;
    size_t probes = 0;
    chunk_slots(keys, count, chunk->multiplier, FM_CACHE_CHUNK_SLOT_BITS, chunk->slot);
    for (size_t i = 0; i < count; i++) {
        const size_t slot = chunk->slot[i];
        size_t found = entry[slot], at = found ? found - 1 : i; /* a free slot agrees with everything */
        entry[slot] = (uint16_t)(i + 1);
        if (__builtin_expect(keys[at] != keys[i], 0)) {
            entry[slot] = (uint16_t)found;
            found = chunk_probe(keys, i, chunk, &probes);
            if (probes >
                2 * FM_CACHE_CHUNK_MOST) { /* keys that were not chosen to collide do not meet that often */
                memset(entry, 0, sizeof chunk->entry);
                return false;
            }
        }
        before[i] = (uint16_t)found;
    }
    return true;
}

#if defined(__AVX2__) && !defined(__AVX512F__)
/* A bit for each of 16 lanes that are all ones or zero. */
ALWAYS_INLINE unsigned word_mask(__m256i lanes)
{
    return (unsigned)_mm_movemask_epi8(
        _mm_packs_epi16(_mm256_castsi256_si128(lanes), _mm256_extracti128_si256(lanes, 1)));
}
#endif

static void kernel_chunk_sort(size_t count, fm_cache_chunk *restrict chunk)
{
    size_t firsts = 0, aparts = 0, i = 0;
    memset(chunk->first_bits, 0, sizeof chunk->first_bits);
#if defined(__AVX512F__)
    const __m512i close = _mm512_set1_epi16(FM_CLOSE), none = _mm512_set1_epi16(FAR_LAG);
    __m512i index = _mm512_add_epi16(
        _mm512_set1_epi16(1),
        _mm512_cvtepu8_epi16(_mm256_setr_epi8(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17,
                                              18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31)));
    __m512i number = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    for (; i < count; i += 32) {
        __m512i before = _mm512_loadu_si512(chunk->before + i);
        __m512i lag = _mm512_sub_epi16(index, before);
        const uint32_t live = count - i >= 32 ? UINT32_MAX : (UINT32_C(1) << (count - i)) - 1;
        uint32_t first = mask_bits(_mm512_testn_epi16_mask(before, before)) & live;
        uint32_t near = mask_bits(_mm512_cmple_epu16_mask(lag, close)) & live & ~first;
        uint32_t apart = live & ~first & ~near;
        _mm256_storeu_si256((__m256i *)(chunk->lags + FM_CLOSE + i),
                            _mm512_cvtepi16_epi8(_mm512_mask_mov_epi16(none, near, lag)));
        chunk->first_bits[i / 64] |= (uint64_t)first << (i % 64);
        for (unsigned half = 0; half < 2; half++) {
            __mmask16 some = (__mmask16)(first >> (16 * half)), others = (__mmask16)(apart >> (16 * half));
            _mm256_storeu_si256((__m256i *)(chunk->first + firsts),
                                _mm512_cvtepi32_epi16(_mm512_maskz_compress_epi32(some, number)));
            _mm256_storeu_si256((__m256i *)(chunk->apart + aparts),
                                _mm512_cvtepi32_epi16(_mm512_maskz_compress_epi32(others, number)));
            firsts += (unsigned)__builtin_popcount(mask_bits(some));
            aparts += (unsigned)__builtin_popcount(mask_bits(others));
            number = _mm512_add_epi32(number, _mm512_set1_epi32(16));
        }
        index = _mm512_add_epi16(index, _mm512_set1_epi16(32));
    }
#elif defined(__AVX2__)
    const __m256i close = _mm256_set1_epi16(FM_CLOSE), none = _mm256_set1_epi16(FAR_LAG);
    __m256i number = _mm256_setr_epi16(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    for (; i < count; i += 16) {
        const __m256i before = _mm256_loadu_si256((const __m256i *)(chunk->before + i));
        const __m256i lag = _mm256_sub_epi16(number, _mm256_sub_epi16(before, _mm256_set1_epi16(1)));
        const __m256i firsts_here = _mm256_cmpeq_epi16(before, _mm256_setzero_si256());
        const __m256i near =
            _mm256_andnot_si256(firsts_here, _mm256_cmpeq_epi16(_mm256_min_epu16(lag, close), lag));
        const __m256i lags = _mm256_blendv_epi8(none, lag, near);
        _mm_storeu_si128((__m128i *)(chunk->lags + FM_CLOSE + i),
                         _mm_packus_epi16(_mm256_castsi256_si128(lags), _mm256_extracti128_si256(lags, 1)));
        const unsigned live = count - i >= 16 ? 0xFFFF : (1U << (count - i)) - 1;
        const unsigned first = word_mask(firsts_here) & live;
        const unsigned apart = live & ~(first | word_mask(near));
        chunk->first_bits[i / 64] |= (uint64_t)first << (i % 64);
        for (unsigned half = 0; half < 2; half++) {
            const __m128i from = _mm_set1_epi16((short)(i + 8 * half));
            const unsigned some = first >> (8 * half) & 0xFF, others = apart >> (8 * half) & 0xFF;
            _mm_storeu_si128((__m128i *)(chunk->first + firsts),
                             _mm_add_epi16(from, _mm_cvtepu8_epi16(lane_bytes(some))));
            _mm_storeu_si128((__m128i *)(chunk->apart + aparts),
                             _mm_add_epi16(from, _mm_cvtepu8_epi16(lane_bytes(others))));
            firsts += (unsigned)__builtin_popcount(some);
            aparts += (unsigned)__builtin_popcount(others);
        }
        number = _mm256_add_epi16(number, _mm256_set1_epi16(16));
    }
#else
    for (; i < count; i++) {
        const size_t lag = i + 1 - chunk->before[i];
        const bool first = chunk->before[i] == 0, near = !first && lag <= FM_CLOSE;
        chunk->lags[FM_CLOSE + i] = (uint8_t)(near ? lag : FAR_LAG);
        chunk->first_bits[i / 64] |= (uint64_t)first << (i % 64);
        chunk->first[firsts] = (uint16_t)i;
        chunk->apart[aparts] = (uint16_t)i;
        firsts += first;
        aparts += !first && !near;
    }
#endif
    memset(chunk->lags + FM_CLOSE + count, FAR_LAG, 64);
    chunk->first_count = firsts;
    chunk->apart_count = aparts;
    memset(chunk->latest, 0, count);
    for (size_t f = 0; f < firsts; f++) {
        uint16_t *const entry = &chunk->entry[chunk->slot[chunk->first[f]]];
        chunk->last[f] = (uint16_t)(*entry - 1);
        chunk->latest[*entry - 1] = FM_LAST;
        *entry = 0;
    }
}

/*
 * The distance of a close reference with lag L is the number of references among the L - 1 before it that are
 * the first to their blocks there: those that are d back and have themselves a lag over L - d. So counting d
 * up and L - d down, one comparison and one addition serve many references. Where d comes to L, the block's
 * own reference is counted too, which is why it begins at -1; beyond that, L - d is over every lag.
 *
 * With AVX-512, the other way round: a bit for each of the 64 references before, set while it is the latest
 * to its block. The distance is the number of bits below that of lag L, which is then cleared.
 */
#if defined(__AVX512F__)
/* The distances of all references, those that are not close included, which get anything. Eight eighths of
 * the chunk at once, of which each begins 64 references earlier: then its bits are known. */
ALWAYS_INLINE void chunk_close_all(size_t count, const uint8_t *lag, uint8_t *distance)
{
    const size_t length = (count + 63) / 64 * 8;
    const __m512i one = _mm512_set1_epi64(1), byte = _mm512_set1_epi64(0xFF), low = _mm512_set1_epi8(15),
                  ones_of =
                      _mm512_broadcast_i32x4(_mm_setr_epi8(0, 1, 1, 2, 1, 2, 2, 3, 1, 2, 2, 3, 2, 3, 3, 4));
    __m512i latest = _mm512_setzero_si512();
    for (size_t at = 0; at < FM_CLOSE + length; at += 8) {
        const bool counted = at >= FM_CLOSE;
        uint64_t eight[8];
        for (size_t eighth = 0; eighth < 8; eighth++)
            memcpy(&eight[eighth], lag + eighth * length + at - FM_CLOSE, 8);
        const __m512i lags = _mm512_sub_epi8(_mm512_loadu_si512(eight), _mm512_set1_epi8(1));
        __m512i found = _mm512_setzero_si512();
#pragma GCC unroll 8
        for (unsigned step = 0; step < 64; step += 8) {
            /* Shifts by more than 63 leave nothing: of those that are not close, all are below. */
            const __m512i own = _mm512_sllv_epi64(one, _mm512_and_si512(_mm512_srli_epi64(lags, step), byte));
            if (counted) {
                const __m512i below = _mm512_and_si512(latest, _mm512_sub_epi64(own, one));
                const __m512i ones = _mm512_add_epi8(
                    _mm512_shuffle_epi8(ones_of, _mm512_and_si512(below, low)),
                    _mm512_shuffle_epi8(ones_of, _mm512_and_si512(_mm512_srli_epi64(below, 4), low)));
                found = _mm512_or_si512(
                    found, _mm512_slli_epi64(_mm512_sad_epu8(ones, _mm512_setzero_si512()), step));
            }
            latest = _mm512_andnot_si512(own, latest);
            latest = _mm512_or_si512(_mm512_add_epi64(latest, latest), one);
        }
        if (!counted) continue;
        _mm512_storeu_si512(eight, found);
        for (size_t eighth = 0; eighth < 8; eighth++)
            memcpy(distance + eighth * length + at - FM_CLOSE, &eight[eighth], 8);
    }
}
#endif

#if defined(__AVX2__) && !defined(__AVX512F__)
/* The distance of one close reference, by comparing with all 64 before it at once: those that are d back and
 * whose lag and d are over L together. */
ALWAYS_INLINE unsigned chunk_close_one(const uint8_t *lag, unsigned own)
{
    uint64_t first = 0;
    for (unsigned half = 0; half < 2; half++) {
        const __m256i ramp = _mm256_setr_epi8(32, 31, 30, 29, 28, 27, 26, 25, 24, 23, 22, 21, 20, 19, 18, 17,
                                              16, 15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1);
        const __m256i back = _mm256_add_epi8(ramp, _mm256_set1_epi8(half ? 0 : 32));
        const __m256i sum =
            _mm256_adds_epu8(back, _mm256_loadu_si256((const __m256i *)(lag - 64 + 32 * half)));
        const __m256i limit = _mm256_set1_epi8((char)own);
        const __m256i not_over = _mm256_cmpeq_epi8(_mm256_max_epu8(sum, limit), limit);
        first |= (uint64_t) ~(uint32_t)_mm256_movemask_epi8(not_over) << (32 * half);
    }
    return (unsigned)__builtin_popcountll(first >> (65 - own)); /* own - 1 of them */
}

/* Of 32 references: those with small lags together, as above, and the others one by one. */
ALWAYS_INLINE void chunk_close_half(const uint8_t *lag, uint8_t *distance, uint64_t *close_count)
{
    enum { TOGETHER = 16 };
    const __m256i one = _mm256_set1_epi8(1), lags = _mm256_loadu_si256((const __m256i *)lag);
    const __m256i close = _mm256_cmpeq_epi8(_mm256_min_epu8(lags, _mm256_set1_epi8(FM_CLOSE)), lags);
    const __m256i small = _mm256_cmpeq_epi8(_mm256_min_epu8(lags, _mm256_set1_epi8(TOGETHER)), lags);
    const uint32_t together = (uint32_t)_mm256_movemask_epi8(small);
    /* Not the first ones there are taken off. */
    __m256i left = lags, counted = _mm256_set1_epi8(TOGETHER - 1);
    for (unsigned d = 1; d <= TOGETHER; d++) {
        left = _mm256_sub_epi8(left, one);
        const __m256i back = _mm256_loadu_si256((const __m256i *)(lag - d));
        counted = _mm256_add_epi8(counted, _mm256_cmpeq_epi8(_mm256_max_epu8(left, back), left));
    }
    _mm256_storeu_si256((__m256i *)distance, counted);
    for (unsigned value = 0; value < TOGETHER; value++) {
        const __m256i equal = _mm256_cmpeq_epi8(counted, _mm256_set1_epi8((char)value));
        close_count[value] += (uint64_t)__builtin_popcount((uint32_t)_mm256_movemask_epi8(equal) & together);
    }
    uint32_t others = (uint32_t)_mm256_movemask_epi8(close) & ~together;
    for (; others; others &= others - 1) {
        const unsigned i = (unsigned)__builtin_ctz(others), found = chunk_close_one(lag + i, lag[i]);
        distance[i] = (uint8_t)found;
        close_count[found]++;
    }
}
#endif

#if defined(__AVX512F__)
/* How many close references have which distance: small ones are counted in bytes of registers, the others
 * listed first, as it is hard to predict which these are. */
ALWAYS_INLINE void chunk_close_counts(size_t count, const uint8_t *lag, const uint8_t *distance,
                                      uint64_t *counts)
{
    enum { SMALL = 16 };
    _Static_assert((int)FM_CACHE_CHUNK_WORDS <= (int)UINT8_MAX, "the bytes do not overflow");
    uint8_t large[FM_CACHE_CHUNK_ROOM];
    size_t large_count = 0;
    __m512i sums[SMALL];
#pragma GCC unroll 16
    for (unsigned value = 0; value < SMALL; value++) sums[value] = _mm512_setzero_si512();
    for (size_t i = 0; i < count; i += 64) {
        const __m512i found = _mm512_loadu_si512(distance + i);
        const __mmask64 close =
            _mm512_cmple_epu8_mask(_mm512_loadu_si512(lag + i), _mm512_set1_epi8(FM_CLOSE));
#pragma GCC unroll 16
        for (unsigned value = 0; value < SMALL; value++) {
            const __mmask64 these = _mm512_mask_cmpeq_epi8_mask(close, found, _mm512_set1_epi8((char)value));
            sums[value] = _mm512_mask_sub_epi8(sums[value], these, sums[value], _mm512_set1_epi8(-1));
        }
        uint64_t others = _mm512_mask_cmpge_epu8_mask(close, found, _mm512_set1_epi8(SMALL));
        for (unsigned quarter = 0; quarter < 4; quarter++, others >>= 16) {
            const __m512i sixteen =
                _mm512_cvtepu8_epi32(_mm_loadu_si128((const __m128i *)(distance + i + 16 * quarter)));
            _mm_storeu_si128((__m128i *)(large + large_count),
                             _mm512_cvtepi32_epi8(_mm512_maskz_compress_epi32((__mmask16)others, sixteen)));
            large_count += (unsigned)__builtin_popcount((uint16_t)others);
        }
    }
    for (size_t i = 0; i < large_count; i++) counts[large[i]]++;
#pragma GCC unroll 16
    for (unsigned value = 0; value < SMALL; value++)
        counts[value] =
            (uint64_t)_mm512_reduce_add_epi64(_mm512_sad_epu8(sums[value], _mm512_setzero_si512()));
}
#endif

static void kernel_chunk_close(size_t count, fm_cache_chunk *restrict chunk)
{
    const uint8_t *const lag = fm_chunk_lag(chunk);
    memset(chunk->close_count, 0, sizeof chunk->close_count);
    if (chunk->first_count + chunk->apart_count == count) return; /* none is close */
#if defined(__AVX512F__)
    chunk_close_all(count, lag, chunk->distance);
    chunk_close_counts(count, lag, chunk->distance, chunk->close_count);
#elif defined(__AVX2__)
    for (size_t i = 0; i < count; i += 32) chunk_close_half(lag + i, chunk->distance + i, chunk->close_count);
#else
    for (size_t i = 0; i < count; i += 64) {
        uint8_t left[64], counted[64];
        for (unsigned j = 0; j < 64; j++) {
            left[j] = lag[i + j];
            counted[j] = UINT8_MAX;
        }
        for (unsigned d = 1; d <= FM_CLOSE; d++) {
            const uint8_t *const back = lag + i - d;
            for (unsigned j = 0; j < 64; j++) {
                left[j]--;
                counted[j] = (uint8_t)(counted[j] + (back[j] > left[j]));
            }
        }
        memcpy(chunk->distance + i, counted, 64);
        for (unsigned j = 0; j < 64; j++)
            if (lag[i + j] <= FM_CLOSE) chunk->close_count[counted[j]]++;
    }
#endif
}

/* Which references are marked, at least as high as `least`. */
static void chunk_bits(const fm_cache_chunk *chunk, size_t count, uint8_t least, uint64_t *bits)
{
    for (size_t word = 0; word < FM_CACHE_CHUNK_WORDS; word++) {
        const uint8_t *const latest = chunk->latest + 64 * word;
        uint64_t all = 0;
        if (64 * word < count) {
#if defined(__AVX512F__)
            all = _mm512_cmpge_epu8_mask(_mm512_loadu_si512(latest), _mm512_set1_epi8((char)least));
#elif defined(__AVX2__)
            const __m256i edge = _mm256_set1_epi8((char)least);
            for (unsigned half = 0; half < 2; half++) {
                const __m256i marks = _mm256_loadu_si256((const __m256i *)(latest + 32 * half));
                const __m256i high = _mm256_cmpeq_epi8(_mm256_max_epu8(marks, edge), marks);
                all |= (uint64_t)(uint32_t)_mm256_movemask_epi8(high) << (32 * half);
            }
#else
            for (unsigned bit = 0; bit < 64; bit++) all |= (uint64_t)(latest[bit] >= least) << bit;
#endif
            if (count - 64 * word < 64) all &= (UINT64_C(1) << (count - 64 * word)) - 1;
        }
        bits[word] = all;
    }
}

/* counters[w]: how many bits are set in the words before w. In two steps where they are not in registers: in
 * all rows before that of w, and in its row. */
enum { CHUNK_ROW = 8, CHUNK_ROWS = 8, CHUNK_COUNTERS = 64 };
typedef struct chunk_counters {
#if defined(__AVX512F__)
    __m512i low, high;
#else
    uint16_t rows[CHUNK_ROWS] __attribute__((aligned(16)));
    uint16_t words[CHUNK_ROWS][CHUNK_ROW] __attribute__((aligned(16)));
#endif
} chunk_counters;
_Static_assert(CHUNK_ROW == CHUNK_ROWS, "one table of steps serves both");

ALWAYS_INLINE void chunk_counters_load(chunk_counters *counters, const uint16_t *from)
{
#if defined(__AVX512F__)
    counters->low = _mm512_loadu_si512(from);
    counters->high = _mm512_loadu_si512(from + 32);
#else
    for (size_t row = 0; row < CHUNK_ROWS; row++) {
        counters->rows[row] = from[CHUNK_ROW * row];
        for (size_t word = 0; word < CHUNK_ROW; word++)
            counters->words[row][word] = (uint16_t)(from[CHUNK_ROW * row + word] - from[CHUNK_ROW * row]);
    }
#endif
}

/* The counter of a word, and one less for every word behind it. */
ALWAYS_INLINE uint32_t chunk_counters_clear(chunk_counters *counters, uint32_t word)
{
#if defined(__AVX512F__)
    const __m512i one = _mm512_set1_epi16(1);
    const __m512i number = _mm512_set1_epi16((short)counter_number[word]);
    const __m512i found = _mm512_permutex2var_epi16(counters->low, number, counters->high);
    const __mmask32 behind_low = counters_behind[word][0], behind_high = counters_behind[word][1];
    counters->low = _mm512_mask_sub_epi16(counters->low, behind_low, counters->low, one);
    counters->high = _mm512_mask_sub_epi16(counters->high, behind_high, counters->high, one);
    return (uint32_t)_mm_cvtsi128_si32(_mm512_castsi512_si128(found)) & 0xFFFF;
#else
    static const uint16_t behind[CHUNK_ROW][CHUNK_ROW] __attribute__((aligned(16))) = {
        {0, 1, 1, 1, 1, 1, 1, 1}, {0, 0, 1, 1, 1, 1, 1, 1},
        {0, 0, 0, 1, 1, 1, 1, 1}, {0, 0, 0, 0, 1, 1, 1, 1},
        {0, 0, 0, 0, 0, 1, 1, 1}, {0, 0, 0, 0, 0, 0, 1, 1},
        {0, 0, 0, 0, 0, 0, 0, 1}, {0},
    };
    const uint32_t row = word / CHUNK_ROW, in = word % CHUNK_ROW;
    const uint32_t found = (uint32_t)counters->rows[row] + counters->words[row][in];
    for (uint32_t i = 0; i < CHUNK_ROW; i++) {
        counters->rows[i] = (uint16_t)(counters->rows[i] - behind[row][i]);
        counters->words[row][i] = (uint16_t)(counters->words[row][i] - behind[in][i]);
    }
    return found;
#endif
}

/*
 * At an apart reference, the blocks touched since the one before to its block are all that the chunk touched
 * so far, but for those whose latest reference lies no later than that. Whatever is touched again closely is
 * not among these by then: so a bitmap of the other references is enough, in which apart ones clear what they
 * leave. wide: a counter is of two words.
 */
ALWAYS_INLINE void chunk_apart_body(size_t count, fm_cache_chunk *restrict chunk, const bool wide)
{
    const size_t aparts = chunk->apart_count;
    uint64_t latest[FM_CACHE_CHUNK_WORDS];
    uint16_t before[CHUNK_COUNTERS] = {0}, touched[FM_CACHE_CHUNK_WORDS];
    for (size_t a = 0; a < aparts; a++) chunk->latest[chunk->before[chunk->apart[a]] - 1] = FM_LEFT_LATER;
    chunk_bits(chunk, count, FM_LEFT_LATER, latest);
    uint32_t live = 0, firsts = 0;
    for (size_t word = 0; 64 * word < count; word++) {
        if (!wide || word % 2 == 0) before[word >> wide] = (uint16_t)live;
        touched[word] = (uint16_t)firsts;
        live += (uint32_t)__builtin_popcountll(latest[word]);
        firsts += (uint32_t)__builtin_popcountll(chunk->first_bits[word]);
    }
    chunk_counters counters;
    chunk_counters_load(&counters, before);
    for (size_t a = 0; a < aparts; a++) {
        const uint32_t reference = chunk->apart[a], left = chunk->before[reference] - 1U;
        const uint64_t word = latest[left / 64], bit = UINT64_C(1) << (left % 64);
        const uint64_t earlier = chunk->first_bits[reference / 64] & ((UINT64_C(1) << (reference % 64)) - 1);
        uint32_t rank = (uint32_t)__builtin_popcountll(word & (bit | (bit - 1)));
        if (wide) { /* the word before, if there is one that the counter is of */
            const uint64_t second = left / 64 % 2;
            rank += (uint32_t)__builtin_popcountll(latest[left / 128 * 2] & (0 - second));
        }
        latest[left / 64] = word & ~bit;
        rank += chunk_counters_clear(&counters, (left / 64) >> wide);
        chunk->apart_distance[a] = touched[reference / 64] + (uint32_t)__builtin_popcountll(earlier) - rank;
    }
}

static void kernel_chunk_apart(size_t count, fm_cache_chunk *restrict chunk)
{
    if (chunk->apart_count == 0) return;
    if (count > 64 * CHUNK_COUNTERS)
        chunk_apart_body(count, chunk, true);
    else
        chunk_apart_body(count, chunk, false);
}

static void kernel_chunk_pairs(size_t count, const uint32_t *restrict now, const uint32_t *restrict leave,
                               const uint8_t *restrict close_range, const fm_cache_chunk *restrict chunk,
                               fm_kept_tags *restrict kept)
{
    const uint8_t *const lag = fm_chunk_lag(chunk);
    size_t pairs = kept->pair_count, i = 0;
#if defined(__AVX512F__)
    const __m512i mark = _mm512_set1_epi64((long long)FM_PAIR_MARK), one = _mm512_set1_epi32(1);
    __m512i ranges[4];
    for (int r = 0; r < 4; r++)
        ranges[r] = _mm512_cvtepu8_epi32(_mm_loadu_si128((const __m128i *)(close_range + 16 * r)));
    for (; i < count; i += 16) {
        __mmask16 close =
            _mm_cmple_epu8_mask(_mm_loadu_si128((const __m128i *)(lag + i)), _mm_set1_epi8(FM_CLOSE));
        __m512i back = _mm512_cvtepu16_epi32(_mm256_loadu_si256((const __m256i *)(chunk->before + i)));
        __m512i use = _mm512_mask_i32gather_epi32(back, close, _mm512_sub_epi32(back, one), leave, 4);
        __m512i distance = _mm512_cvtepu8_epi32(_mm_loadu_si128((const __m128i *)(chunk->distance + i)));
        __m512i range = _mm512_permutex2var_epi32(ranges[0], distance, ranges[1]);
        range = _mm512_mask_mov_epi32(range, _mm512_test_epi32_mask(distance, _mm512_set1_epi32(32)),
                                      _mm512_permutex2var_epi32(ranges[2], distance, ranges[3]));
        __m512i low = _mm512_or_si512(_mm512_slli_epi32(use, 8), range);
        const unsigned all = mask_bits(close);
        for (unsigned half = 0; half < 2; half++) {
            __m512i reuse = _mm512_slli_epi64(
                _mm512_cvtepu32_epi64(_mm256_loadu_si256((const __m256i *)(now + i + 8 * half))), 32);
            __m512i words = _mm512_or_si512(_mm512_or_si512(reuse, mark),
                                            _mm512_cvtepu32_epi64(half ? _mm512_extracti64x4_epi64(low, 1)
                                                                       : _mm512_castsi512_si256(low)));
            const unsigned these = all >> (8 * half) & 0xFF;
            _mm512_storeu_si512(kept->pair + pairs, _mm512_maskz_compress_epi64((__mmask8)these, words));
            pairs += (unsigned)__builtin_popcount(these);
        }
    }
#elif defined(__AVX2__)
    const __m256i mark = _mm256_set1_epi32((int)(FM_PAIR_MARK >> 32));
    __m128i ranges[4];
    for (int r = 0; r < 4; r++) ranges[r] = _mm_loadu_si128((const __m128i *)(close_range + 16 * r));
    for (; i < count; i += 16) {
        const __m128i lags = _mm_loadu_si128((const __m128i *)(lag + i)),
                      close = _mm_cmpeq_epi8(_mm_min_epu8(lags, _mm_set1_epi8(FM_CLOSE)), lags);
        /* By the upper two of six bits, which blendv finds in the highest one of each byte. */
        const __m128i distance = _mm_loadu_si128((const __m128i *)(chunk->distance + i)),
                      bit_4 = _mm_slli_epi16(distance, 3), bit_5 = _mm_slli_epi16(distance, 2);
        const __m128i below_32 = _mm_blendv_epi8(_mm_shuffle_epi8(ranges[0], distance),
                                                 _mm_shuffle_epi8(ranges[1], distance), bit_4),
                      from_32 = _mm_blendv_epi8(_mm_shuffle_epi8(ranges[2], distance),
                                                _mm_shuffle_epi8(ranges[3], distance), bit_4);
        __m128i range = _mm_blendv_epi8(below_32, from_32, bit_5);
        const __m256i before = _mm256_loadu_si256((const __m256i *)(chunk->before + i));
        uint16_t back[16] __attribute__((aligned(32))); /* 0 where it is not close */
        _mm256_store_si256((__m256i *)back, _mm256_and_si256(_mm256_sub_epi16(before, _mm256_set1_epi16(1)),
                                                             _mm256_cvtepi8_epi16(close)));
        const unsigned all = (unsigned)_mm_movemask_epi8(close);
        for (unsigned half = 0; half < 2; half++) {
            const unsigned these = all >> (8 * half) & 0xFF;
            const uint16_t *const at = back + 8 * half;
            const __m256i use =
                _mm256_setr_epi32((int)leave[at[0]], (int)leave[at[1]], (int)leave[at[2]], (int)leave[at[3]],
                                  (int)leave[at[4]], (int)leave[at[5]], (int)leave[at[6]], (int)leave[at[7]]);
            const __m256i lanes = _mm256_cvtepu8_epi32(lane_bytes(these));
            const __m256i low = _mm256_permutevar8x32_epi32(
                _mm256_or_si256(_mm256_slli_epi32(use, 8), _mm256_cvtepu8_epi32(range)), lanes);
            const __m256i high = _mm256_permutevar8x32_epi32(
                _mm256_or_si256(_mm256_loadu_si256((const __m256i *)(now + i + 8 * half)), mark), lanes);
            store_words(kept->pair + pairs, low, high);
            pairs += (unsigned)__builtin_popcount(these);
            range = _mm_srli_si128(range, 8);
        }
    }
#else
    for (; i < count; i++) {
        const bool close = lag[i] <= FM_CLOSE;
        const uint32_t use = leave[chunk->before[i] - (size_t)close];
        kept->pair[pairs] = fm_pair_word(use, now[i], close_range[chunk->distance[i] % FM_CLOSE]);
        pairs += close;
    }
#endif
    kept->pair_count = pairs;
}

static void kernel_chunk_first(const uint64_t *restrict keys, size_t count, uint64_t position,
                               const uint32_t *restrict now, const uint32_t *restrict leave,
                               fm_cache_chunk *restrict chunk)
{
    uint64_t last_bits[FM_CACHE_CHUNK_WORDS];
    const uint64_t line = position >> FM_LINE_SHIFT;
    const uint32_t offset = (uint32_t)position & ((1U << FM_LINE_SHIFT) - 1);
    uint32_t earlier[FM_CACHE_CHUNK_WORDS], lasts = 0;
    chunk_bits(chunk, count, FM_LAST, last_bits);
    for (size_t word = 0; word < FM_CACHE_CHUNK_WORDS; word++) {
        earlier[word] = lasts;
        lasts += (uint32_t)__builtin_popcountll(last_bits[word]);
    }
    /* The positions in order, from the first line's beginning on: without a division for each reference. */
    uint16_t places[FM_CACHE_CHUNK_MOST];
    for (uint32_t k = 0; k < lasts; k++) {
        const uint32_t at = offset + k;
        places[k] = (uint16_t)((at / FM_LINE_BITS) << FM_LINE_SHIFT | at % FM_LINE_BITS);
    }
    for (size_t f = 0; f < chunk->first_count; f++) {
        const size_t first = chunk->first[f], last = chunk->last[f];
        const uint64_t before = last_bits[last / 64] & ((UINT64_C(1) << (last % 64)) - 1);
        chunk->key[f] = keys[first];
        chunk->position[f] =
            (line << FM_LINE_SHIFT) + places[earlier[last / 64] + (uint32_t)__builtin_popcountll(before)];
        if (now) {
            chunk->position[f] |= (uint64_t)leave[last] << FM_TAG_SHIFT;
            chunk->now[f] = now[first];
        }
    }
}

ALWAYS_INLINE void lookup_first_body(fm_block_table *table, const fm_recency_window *window,
                                     const fm_cache_chunk *restrict chunk, size_t first,
                                     fm_bucket *const *restrict homes, fm_lookups *restrict lookups,
                                     const bool tagged)
{
    const char *const lines = (const char *)window->words;
    const size_t count = lookups->count;
    uint64_t old[FM_LOOKUPS];
    for (size_t i = 0; i < count; i++) {
        fetch_spill(homes, i, count);
        uint64_t *slot = place(table, homes[i], chunk->key[first + i]);
        old[i] = *slot;
        *slot = chunk->position[first + i];
        fetch_line(lines, old[i], tagged);
    }
    /* Blocks that the chunk touched before are more recent than whatever the window has. */
    split(window, old, chunk->now + first, window->open_live + (uint32_t)first, lookups, tagged);
}

static void kernel_lookup_first(fm_block_table *table, const fm_recency_window *window,
                                const fm_cache_chunk *chunk, size_t first, fm_bucket *const *homes,
                                fm_lookups *lookups)
{
    lookup_first_body(table, window, chunk, first, homes, lookups, false);
}

static void kernel_lookup_first_tagged(fm_block_table *table, const fm_recency_window *window,
                                       const fm_cache_chunk *chunk, size_t first, fm_bucket *const *homes,
                                       fm_lookups *lookups)
{
    lookup_first_body(table, window, chunk, first, homes, lookups, true);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * exact_kernels_body.h - the loops themselves, compiled once per instruction set: exact_avx512.c,
 * exact_avx2.c and exact_portable.c define KERNEL_ISA and KERNEL_TABLE and include this file.
 *
 * Only AVX-512 needs code of its own: it keeps the counters that every reference changes in registers.
 * The others subtract rows of a table of steps, plain loops that the compiler turns into vectors.
 */
#include "engine/exact_kernels.h"

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
ALWAYS_INLINE unsigned mask_bits(__mmask8 mask)
{
    unsigned bits = mask;
    __asm__("" : "+r"(bits));
    return bits;
}

/* Byte b of entry m: how many of the bits below b are set in m. */
static uint64_t ones_before[256];

__attribute__((constructor)) static void fill_ones_before(void)
{
    for (unsigned mask = 0; mask < 256; mask++)
        for (unsigned bit = 0; bit < 8; bit++)
            ones_before[mask] |= (uint64_t)__builtin_popcount(mask & ((1U << bit) - 1)) << (8 * bit);
}
#endif

static size_t kernel_collapse(const uint64_t *restrict keys, size_t count, uint64_t *restrict last,
                              uint64_t *restrict left)
{
    size_t kept = 0, i = 0;
    uint64_t before = *last;
#if defined(__AVX512F__)
    if (count > 0) {
        left[0] = keys[0];
        kept = keys[0] != before;
        i = 1;
    }
    for (; i + 8 <= count; i += 8) {
        __m512i now = _mm512_loadu_si512(keys + i);
        unsigned keep = mask_bits(_mm512_cmpneq_epi64_mask(now, _mm512_loadu_si512(keys + i - 1)));
        _mm512_storeu_si512(left + kept, _mm512_maskz_compress_epi64((__mmask8)keep, now));
        kept += (size_t)__builtin_popcount(keep);
    }
    if (i > 0) before = keys[i - 1];
#endif
    for (; i < count; i++) {
        left[kept] = keys[i];
        kept += keys[i] != before;
        before = keys[i];
    }
    *last = before;
    return kept;
}

static void kernel_home(const fm_block_table *table, const uint64_t *restrict keys, size_t count,
                        fm_bucket **restrict homes)
{
    const uint64_t seed[3] = {table->seed[0], table->seed[1], table->seed[2]}, buckets = table->bucket_count;
    fm_bucket *const base = table->buckets;
    for (size_t i = 0; i < count; i++) {
        homes[i] = base + fm_block_home_index(fm_block_hash(keys[i], seed), buckets);
    }
}

#if defined(__AVX2__)
/* Where the key's position stands in this bucket; NULL when it is not there. Free slots lie behind the used
 * ones: the first match is the block's, if any is. */
ALWAYS_INLINE uint64_t *find(fm_bucket *bucket, __m256i key)
{
    __m256i equal = _mm256_cmpeq_epi64(_mm256_load_si256((const __m256i *)bucket->key), key);
    unsigned mask = (unsigned)_mm256_movemask_pd(_mm256_castsi256_pd(equal));
    unsigned slot = (unsigned)__builtin_ctz(mask | 1U << FM_BUCKET_SLOTS) & (FM_BUCKET_SLOTS - 1);
    return mask != 0 && bucket->position[slot] != 0 ? &bucket->position[slot] : NULL;
}
#endif

/* Where the position of the key stands; a new key is inserted and has 0 there. */
ALWAYS_INLINE uint64_t *place(fm_block_table *table, fm_bucket *bucket, uint64_t key)
{
#if defined(__AVX2__)
    const __m256i wanted = _mm256_set1_epi64x((long long)key);
    uint64_t *slot = find(bucket, wanted);
    if (__builtin_expect(slot != NULL, 1)) return slot;
    /* A full bucket spills into the next: most others are there. */
    if (bucket->position[FM_BUCKET_SLOTS - 1] != 0 && bucket + 1 < table->buckets + table->bucket_count) {
        slot = find(bucket + 1, wanted);
        if (slot) return slot;
    }
#else
    for (int slot = 0; slot < FM_BUCKET_SLOTS; slot++)
        if (bucket->key[slot] == key && bucket->position[slot] != 0) return &bucket->position[slot];
#endif
    return fm_block_table_place_slow(table, bucket, key);
}

/* From where every block of the chunk was to the lists of near, far and fresh ones. live: blocks that are
 * more recent than the closed regions at the chunk's start. */
static void split(const fm_recency_window *window, const uint64_t *restrict old, uint32_t live,
                  fm_chunk *restrict chunk)
{
    const uint64_t base = fm_recency_window_open_base(window);
    const size_t count = chunk->count;
    size_t near = 0, far = 0, fresh = 0, i = 0;
#if defined(__AVX512F__)
    const __m512i bases = _mm512_set1_epi64((long long)base);
    __m512i index = _mm512_setr_epi64(0, 1, 2, 3, 4, 5, 6, 7);
    for (; i + 8 <= count; i += 8) {
        __m512i position = _mm512_loadu_si512(old + i);
        unsigned is_near = mask_bits(_mm512_cmpge_epu64_mask(position, bases));
        unsigned is_fresh = mask_bits(_mm512_testn_epi64_mask(position, position));
        unsigned is_far = (is_near | is_fresh) ^ 0xFF;
        /* Live bits at each reference: one more for every one before it that was not near. */
        __m256i lives =
            _mm256_add_epi32(_mm256_set1_epi32((int)live),
                             _mm256_cvtepu8_epi32(_mm_cvtsi64_si128((long long)ones_before[is_near ^ 0xFF])));
        __m256i indices = _mm512_cvtepi64_epi32(index);
        __m512i relative = _mm512_sub_epi64(position, bases);
        _mm256_storeu_si256((__m256i *)(chunk->near_position + near),
                            _mm512_cvtepi64_epi32(_mm512_maskz_compress_epi64((__mmask8)is_near, relative)));
        _mm256_storeu_si256((__m256i *)(chunk->near_distance + near),
                            _mm256_maskz_compress_epi32((__mmask8)is_near, lives));
        _mm256_storeu_si256((__m256i *)(chunk->near_index + near),
                            _mm256_maskz_compress_epi32((__mmask8)is_near, indices));
        _mm512_storeu_si512(chunk->far_position + far,
                            _mm512_maskz_compress_epi64((__mmask8)is_far, position));
        _mm256_storeu_si256((__m256i *)(chunk->far_distance + far),
                            _mm256_maskz_compress_epi32((__mmask8)is_far, lives));
        _mm256_storeu_si256((__m256i *)(chunk->far_index + far),
                            _mm256_maskz_compress_epi32((__mmask8)is_far, indices));
        if (is_fresh)
            _mm256_storeu_si256((__m256i *)(chunk->fresh_index + fresh),
                                _mm256_maskz_compress_epi32((__mmask8)is_fresh, indices));
        unsigned nears = (unsigned)__builtin_popcount(is_near);
        near += nears;
        far += (unsigned)__builtin_popcount(is_far);
        fresh += (unsigned)__builtin_popcount(is_fresh);
        live += 8 - nears;
        index = _mm512_add_epi64(index, _mm512_set1_epi64(8));
    }
#endif
    for (; i < count; i++) {
        size_t is_near = old[i] >= base, is_fresh = old[i] == 0;
        chunk->near_position[near] = (uint32_t)(old[i] - base);
        chunk->near_distance[near] = live;
        chunk->near_index[near] = (uint32_t)i;
        chunk->far_position[far] = old[i];
        chunk->far_distance[far] = live;
        chunk->far_index[far] = (uint32_t)i;
        chunk->fresh_index[fresh] = (uint32_t)i;
        near += is_near;
        far += 1 - is_near - is_fresh;
        fresh += is_fresh;
        live += 1 - (uint32_t)is_near;
    }
    chunk->near_count = near;
    chunk->far_count = far;
    chunk->fresh_count = fresh;
}

static void kernel_lookup(fm_block_table *table, const fm_recency_window *window,
                          const uint64_t *restrict keys, fm_bucket *const *restrict homes,
                          fm_chunk *restrict chunk)
{
    const uint64_t first = window->position;
    const char *const lines = (const char *)window->words;
    const size_t count = chunk->count;
    uint64_t old[FM_CHUNK];
    for (size_t i = 0; i < count; i++) {
        uint64_t *slot = place(table, homes[i], keys[i]);
        old[i] = *slot;
        *slot = first + i;
        /* A line takes 2^9 positions and 2^6 bytes. */
        __builtin_prefetch(lines + ((old[i] >> 3) & ~UINT64_C(63)), 1, 3);
    }
    split(window, old, window->open_live, chunk);
}

#if defined(__AVX512F__)

/* Row p: where everything comes from when place p moves to the front; the last row is a miss, for which the
 * last place is taken. */
static uint8_t to_front[FM_FRONT + 1][FM_FRONT] __attribute__((aligned(16)));

__attribute__((constructor)) static void fill_to_front(void)
{
    for (unsigned p = 0; p <= FM_FRONT; p++) {
        unsigned from = p < FM_FRONT ? p : FM_FRONT - 1;
        to_front[p][0] = (uint8_t)from;
        for (unsigned i = 1; i < FM_FRONT; i++) to_front[p][i] = (uint8_t)(i <= from ? i - 1 : i);
    }
}

/* The place of a key in the front, FM_FRONT where it is not there. */
ALWAYS_INLINE unsigned front_place(__m512i low, __m512i high, uint64_t key)
{
    __m512i wanted = _mm512_set1_epi64((long long)key);
    unsigned match = mask_bits(_mm512_cmpeq_epi64_mask(low, wanted)) |
                     mask_bits(_mm512_cmpeq_epi64_mask(high, wanted)) << 8;
    return (unsigned)__builtin_ctz(match | 1U << FM_FRONT);
}

/* keys: no two neighbours are the same. */
static void kernel_front(const uint64_t *restrict keys, size_t count, fm_front *restrict front)
{
    uint64_t block[FM_FRONT] = {0};
    uint32_t number[FM_FRONT] = {0};
    size_t held = 0, i = 0, missed = 0;
    memset(front->hits, 0, sizeof front->hits);
    for (; i < count && held < FM_FRONT; i++) {
        size_t above = 0;
        while (above < held && block[above] != keys[i]) above++;
        uint32_t moved = (uint32_t)missed;
        if (above < held) {
            moved = number[above];
            front->hits[above]++;
        } else {
            front->key[missed++] = keys[i];
            held++;
        }
        memmove(block + 1, block, above * sizeof *block);
        memmove(number + 1, number, above * sizeof *number);
        block[0] = keys[i];
        number[0] = moved;
    }
    __m512i low = _mm512_loadu_si512(block), high = _mm512_loadu_si512(block + 8);
    /* Numbers do not move; what moves with the blocks is where theirs stands, one byte each. */
    __m128i order = _mm_setr_epi8(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    /*
     * Where the next key stands is asked before this one has moved to the front, so that neither waits for
     * the other; it then stands one place lower if it was above this one. (It is never this one.)
     */
    unsigned place = i < count ? front_place(low, high, keys[i]) : 0;
    for (; i < count; i++) {
        unsigned next = front_place(low, high, keys[i + 1 < count ? i + 1 : i]);
        /* The places above it move down by one; all of them where it was not there. */
        uint32_t down = (UINT32_C(2) << place) - 1;
        __m512i key = _mm512_set1_epi64((long long)keys[i]);
        high = _mm512_mask_alignr_epi64(high, (__mmask8)(down >> 8), high, low, 7);
        low = _mm512_mask_alignr_epi64(low, (__mmask8)down, low, key, 7);
        order = _mm_shuffle_epi8(order, _mm_load_si128((const __m128i *)to_front[place]));
        unsigned holder = (unsigned)_mm_cvtsi128_si32(order) & 0xFF;
        uint32_t held_there = number[holder]; /* the block's own, or on a miss that of the one that leaves */
        front->key[missed] = keys[i];
        front->evicted[missed] = (uint16_t)held_there;
        number[holder] = place < FM_FRONT ? held_there : (uint32_t)missed;
        front->hits[place]++;
        missed += place / FM_FRONT;
        place = next + (next < place);
    }
    uint8_t final_order[FM_FRONT];
    _mm_storeu_si128((__m128i *)final_order, order);
    for (size_t n = 0; n < held; n++) front->inside[n] = (uint16_t)number[final_order[n]];
    front->inside_count = held;
    front->missed = missed;
}

static void kernel_lookup_missed(fm_block_table *table, const fm_recency_window *window,
                                 const fm_front *restrict front, size_t first,
                                 fm_bucket *const *restrict homes, uint64_t **restrict slots,
                                 fm_chunk *restrict chunk)
{
    const char *const lines = (const char *)window->words;
    const size_t count = chunk->count;
    const bool full = first >= FM_FRONT;
    uint64_t position = window->position;
    uint64_t old[FM_CHUNK];
    for (size_t i = 0; i < count; i++) {
        uint64_t *slot = place(table, homes[i], front->key[first + i]);
        old[i] = *slot;
        *slot = 1; /* held, and in the front: read by nobody until it is stored anew */
        slots[first + i] = slot;
        __builtin_prefetch(lines + ((old[i] >> 3) & ~UINT64_C(63)), 1, 3);
        if (full) *slots[front->evicted[first + i]] = position++;
    }
    split(window, old, window->open_live + (uint32_t)(full ? FM_FRONT : first), chunk);
}

#endif

/* The bits of a line up to a position, and its bit cleared. */
ALWAYS_INLINE uint32_t line_clear(uint64_t *words, uint64_t position)
{
    uint64_t index = position >> 6;
    uint64_t word = words[index], packed = words[index | 7];
    unsigned in_line = (unsigned)index & 7;
    words[index] = word & ~(UINT64_C(1) << (position & 63));
    words[index | 7] = packed - fm_line_packed_step[in_line];
    return (uint32_t)__builtin_popcountll(word << (~position & 63)) +
           ((uint32_t)(packed >> (9 * in_line)) & 511);
}

#if defined(__AVX512F__)

typedef struct top_counters {
    __m512i low, high;
} top_counters;

ALWAYS_INLINE void top_load(top_counters *top, const fm_recency_window *window)
{
    top->low = _mm512_load_si512(window->top);
    top->high = _mm512_load_si512(window->top + 16);
}

ALWAYS_INLINE void top_store(const top_counters *top, fm_recency_window *window)
{
    _mm512_store_si512(window->top, top->low);
    _mm512_store_si512(window->top + 16, top->high);
}

/* The counter of a child, and one less for every child behind it. */
ALWAYS_INLINE uint32_t top_clear(top_counters *top, uint32_t child)
{
    const __m512i one = _mm512_set1_epi32(1);
    __m512i found = _mm512_permutex2var_epi32(top->low, _mm512_set1_epi32((int)child), top->high);
    uint32_t behind = (UINT32_MAX - 1) << (child & 31);
    top->low = _mm512_mask_sub_epi32(top->low, (__mmask16)behind, top->low, one);
    top->high = _mm512_mask_sub_epi32(top->high, (__mmask16)(behind >> 16), top->high, one);
    return (uint32_t)_mm_cvtsi128_si32(_mm512_castsi512_si128(found));
}

ALWAYS_INLINE uint32_t node_clear(uint32_t *counters, uint64_t child)
{
    uint32_t *node = counters + (child & ~(uint64_t)(FM_NODE_CHILDREN - 1));
    uint32_t found = counters[child];
    __mmask16 behind = (__mmask16)(0xFFFEU << (child & (FM_NODE_CHILDREN - 1)));
    __m512i all = _mm512_load_si512(node);
    _mm512_store_si512(node, _mm512_mask_sub_epi32(all, behind, all, _mm512_set1_epi32(1)));
    return found;
}

ALWAYS_INLINE uint32_t lines_clear(uint16_t *counters, uint64_t line)
{
    uint16_t *node = counters + (line & ~(uint64_t)(FM_REGION_LINES - 1));
    uint32_t found = counters[line];
    __mmask32 behind = (UINT32_MAX - 1) << (line & (FM_REGION_LINES - 1));
    __m512i all = _mm512_load_si512(node);
    _mm512_store_si512(node, _mm512_mask_sub_epi16(all, behind, all, _mm512_set1_epi16(1)));
    return found;
}

static void kernel_near(fm_recency_window *window, fm_chunk *chunk, fm_bucket *const *soon)
{
    uint64_t *const words = window->words + window->open * FM_REGION_LINES * FM_LINE_WORDS;
    uint16_t *const node = window->lines + window->open * FM_REGION_LINES;
    const __m512i one = _mm512_set1_epi16(1);
    __m512i counters = _mm512_load_si512(node);
    const size_t count = chunk->near_count;
    for (size_t i = 0; i < count; i++) {
        __builtin_prefetch(soon[i], 1, 3);
        uint32_t position = chunk->near_position[i];
        uint32_t rank = line_clear(words, position);
        uint32_t line = position >> FM_LINE_SHIFT;
        __m512i found = _mm512_permutexvar_epi16(_mm512_set1_epi16((short)line), counters);
        counters = _mm512_mask_sub_epi16(counters, (UINT32_MAX - 1) << (line & 31), counters, one);
        rank += (uint32_t)_mm_cvtsi128_si32(_mm512_castsi512_si128(found)) & 0xFFFF;
        chunk->near_distance[i] -= rank;
    }
    _mm512_store_si512(node, counters);
}

#else /* portable, and AVX2 through the compiler's vectors */

/* Row c: one for every child behind c. */
static uint16_t steps16[FM_REGION_LINES][FM_REGION_LINES] __attribute__((aligned(64)));
static uint32_t steps32[FM_TOP_CHILDREN][FM_TOP_CHILDREN] __attribute__((aligned(64)));

__attribute__((constructor)) static void fill_steps(void)
{
    for (int c = 0; c < FM_REGION_LINES; c++)
        for (int i = 0; i < FM_REGION_LINES; i++) steps16[c][i] = (uint16_t)(i > c);
    for (int c = 0; c < FM_TOP_CHILDREN; c++)
        for (int i = 0; i < FM_TOP_CHILDREN; i++) steps32[c][i] = (uint32_t)(i > c);
}

/* Without registers for all of them, the counters stay where they are: nothing is to be stored back. */
typedef struct top_counters {
    uint32_t *memory;
} top_counters;

ALWAYS_INLINE void top_load(top_counters *top, fm_recency_window *window)
{
    top->memory = window->top;
}

ALWAYS_INLINE void top_store(const top_counters *top, const fm_recency_window *window)
{
    (void)top;
    (void)window;
}

ALWAYS_INLINE uint32_t top_clear(top_counters *top, uint32_t child)
{
    uint32_t *counters = __builtin_assume_aligned(top->memory, 64);
    const uint32_t *step = __builtin_assume_aligned(steps32[child & (FM_TOP_CHILDREN - 1)], 64);
    uint32_t found = counters[child];
    for (int i = 0; i < FM_TOP_CHILDREN; i++) counters[i] -= step[i];
    return found;
}

ALWAYS_INLINE uint32_t node_clear(uint32_t *counters, uint64_t child)
{
    uint32_t *node = __builtin_assume_aligned(counters + (child & ~(uint64_t)(FM_NODE_CHILDREN - 1)), 64);
    const uint32_t *step = __builtin_assume_aligned(steps32[child & (FM_NODE_CHILDREN - 1)], 64);
    uint32_t found = counters[child];
    for (int i = 0; i < FM_NODE_CHILDREN; i++) node[i] -= step[i];
    return found;
}

ALWAYS_INLINE uint32_t lines_clear(uint16_t *counters, uint64_t line)
{
    uint16_t *node = __builtin_assume_aligned(counters + (line & ~(uint64_t)(FM_REGION_LINES - 1)), 64);
    const uint16_t *step = __builtin_assume_aligned(steps16[line & (FM_REGION_LINES - 1)], 64);
    uint32_t found = counters[line];
    for (int i = 0; i < FM_REGION_LINES; i++) node[i] = (uint16_t)(node[i] - step[i]);
    return found;
}

static void kernel_near(fm_recency_window *window, fm_chunk *chunk, fm_bucket *const *soon)
{
    uint64_t *const words = window->words + window->open * FM_REGION_LINES * FM_LINE_WORDS;
    uint16_t *const node = window->lines + window->open * FM_REGION_LINES;
    const size_t count = chunk->near_count;
    for (size_t i = 0; i < count; i++) {
        __builtin_prefetch(soon[i], 1, 3);
        uint32_t position = chunk->near_position[i];
        chunk->near_distance[i] -= line_clear(words, position) + lines_clear(node, position >> FM_LINE_SHIFT);
    }
}

#endif

ALWAYS_INLINE void far_body(fm_recency_window *window, fm_chunk *restrict chunk,
                            fm_bucket *const *restrict soon, const int levels)
{
    uint64_t *const restrict words = window->words;
    uint16_t *const restrict lines = window->lines;
    uint32_t *const restrict nodes2 = window->nodes[2];
    uint32_t *const restrict nodes3 = window->nodes[3];
    const size_t count = chunk->far_count;
    uint32_t live = window->closed_live;
    top_counters top;
    top_load(&top, window);
    for (size_t i = 0; i < count; i++) {
        __builtin_prefetch(soon[i], 1, 3);
        uint64_t position = chunk->far_position[i];
        uint32_t rank = line_clear(words, position);
        rank += lines_clear(lines, position >> FM_LINE_SHIFT);
        uint64_t child = position >> FM_REGION_SHIFT;
        if (levels >= 2) {
            rank += node_clear(nodes2, child);
            child >>= FM_NODE_SHIFT;
        }
        if (levels >= 3) {
            rank += node_clear(nodes3, child);
            child >>= FM_NODE_SHIFT;
        }
        for (int level = 4; level <= levels; level++) {
            rank += node_clear(window->nodes[level], child);
            child >>= FM_NODE_SHIFT;
        }
        rank += top_clear(&top, (uint32_t)child);
        chunk->far_distance[i] += live - rank;
        live--;
    }
    top_store(&top, window);
    window->closed_live = live;
}

static void kernel_far(fm_recency_window *window, fm_chunk *chunk, fm_bucket *const *soon)
{
    switch (window->levels) {
    case 1:
        far_body(window, chunk, soon, 1);
        break;
    case 2:
        far_body(window, chunk, soon, 2);
        break;
    case 3:
        far_body(window, chunk, soon, 3);
        break;
    case 4:
        far_body(window, chunk, soon, 4);
        break;
    default:
        far_body(window, chunk, soon, window->levels);
        break;
    }
}

/*
 * Without branches: by the distance's highest bit, at least 9. Single distances below 1024, then 64 bins
 * for every power of two.
 */
static void kernel_loglinear(uint32_t *distances, size_t count)
{
#if defined(__AVX512F__)
    const __m512i single = _mm512_set1_epi32(1023), nine = _mm512_set1_epi32(9);
    for (size_t i = 0; i < count; i += 16) {
        __m512i distance = _mm512_loadu_si512(distances + i);
        __m512i highest =
            _mm512_sub_epi32(_mm512_set1_epi32(31), _mm512_lzcnt_epi32(_mm512_or_si512(distance, single)));
        __mmask16 wide = _mm512_cmpgt_epi32_mask(highest, nine);
        __m512i shift = _mm512_maskz_sub_epi32(wide, highest, _mm512_set1_epi32(6));
        __m512i base = _mm512_maskz_add_epi32(
            wide, _mm512_slli_epi32(_mm512_sub_epi32(highest, _mm512_set1_epi32(10)), 6),
            _mm512_set1_epi32(1024 - 64));
        _mm512_storeu_si512(distances + i, _mm512_add_epi32(base, _mm512_srlv_epi32(distance, shift)));
    }
#else
    for (size_t i = 0; i < count; i++) {
        uint32_t distance = distances[i];
        uint32_t highest = 31U - (uint32_t)__builtin_clz(distance | 1023);
        uint32_t shift = highest > 9 ? highest - 6 : 0;
        uint32_t base = highest > 9 ? 1024 - 64 + ((highest - 10) << 6) : 0;
        distances[i] = base + (distance >> shift);
    }
#endif
}

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
    .collapse = kernel_collapse,
    .home = kernel_home,
    .lookup = kernel_lookup,
    .near = kernel_near,
    .far = kernel_far,
    .loglinear = kernel_loglinear,
#if defined(__AVX512F__)
    .front = kernel_front,
    .lookup_missed = kernel_lookup_missed,
#endif
};

/* SPDX-License-Identifier: Apache-2.0 */
/* exact_window_body.h - kernels near and far: ranks in the recency window; the bins of distances; and blocks
 * beyond the bound that leave the table. */

/*
 * ==== drop ====
 *
 * Blocks beyond the bound leave the table, the others get
 * their packed positions, in one sweep.
 *
 * Which blocks go is told by their positions alone: only those that stay need their ranks. Buckets go in
 * order, from one that no block has come past: those before are final but for what is added to them. A block
 * goes to the first hole from its home on, or stays in its bucket: no hole is left before it.
 */

ALWAYS_INLINE uint64_t drop_rank(const fm_dropping *what, uint64_t position)
{
    if (what->window) return fm_recency_window_rank(what->window, position);
    return what->before[position >> FM_REGION_SHIFT] + what->lines[position >> FM_LINE_SHIFT] +
           fm_recency_line_rank(what->words, position);
}

/* A hole for the key before bucket number `at`; NULL where there is none. */
ALWAYS_INLINE uint64_t *drop_hole(fm_block_table *table, uint64_t at, uint64_t key)
{
    uint64_t home = fm_block_home_index(fm_block_hash(key, table->seed), table->bucket_count);
    while (home != at) {
        fm_bucket *bucket = &table->buckets[home];
        if (bucket->position[FM_BUCKET_SLOTS - 1] == 0) {
            size_t slot = 0;
            while (bucket->position[slot]) slot++;
            bucket->key[slot] = key;
            return &bucket->position[slot];
        }
        if (++home == table->bucket_count) home = 0;
    }
    return NULL;
}

ALWAYS_INLINE uint64_t drop_bucket(fm_block_table *table, uint64_t at, const fm_dropping *what)
{
    fm_bucket *const bucket = &table->buckets[at];
    uint64_t kept = 0;
    size_t end = 0;
    for (size_t slot = 0; slot < FM_BUCKET_SLOTS; slot++) {
        const uint64_t key = bucket->key[slot], old = bucket->position[slot];
        const uint64_t position = old & FM_POSITION_BITS;
        bucket->position[slot] = 0;
        if (position < what->from) continue;
        uint64_t *place = drop_hole(table, at, key);
        if (!place) {
            bucket->key[end] = key;
            place = &bucket->position[end++];
        }
        *place = fm_recency_window_packed_position(drop_rank(what, position) - what->dropped) |
                 (old & ~FM_POSITION_BITS);
        kept++;
    }
    return kept;
}

ALWAYS_INLINE uint64_t drop_buckets(fm_block_table *table, uint64_t from, uint64_t to,
                                    const fm_dropping *what)
{
    enum { AHEAD = 8 }; /* buckets whose lines of the window are fetched ahead */
    const uint64_t *const words = what->window ? what->window->words : what->words;
    uint64_t kept = 0;
    for (uint64_t i = from; i < to; i++) {
        if (i + AHEAD < to)
            for (int slot = 0; slot < FM_BUCKET_SLOTS; slot++) {
                const uint64_t position = table->buckets[i + AHEAD].position[slot] & FM_POSITION_BITS;
                __builtin_prefetch(words +
                                   ((position < what->from ? what->from : position) >> FM_LINE_SHIFT) *
                                       FM_LINE_WORDS);
            }
        kept += drop_bucket(table, i, what);
    }
    return kept;
}

static void kernel_drop(fm_block_table *table, const fm_dropping *what)
{
    uint64_t first = 0;
    while (table->buckets[first++].position[FM_BUCKET_SLOTS - 1]) {
    }
    table->used = drop_buckets(table, first, table->bucket_count, what);
    table->used += drop_buckets(table, 0, first, what);
}

/*
 * ==== near and far ====
 *
 * Kernels near and far: ranks in the recency window; and the bins of distances.
 */

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

/* The number of each of 64 counters, and which ones are behind it: read from memory, where they cost less
 * than moves from general registers. */
#define EIGHT(of, first)                                                                                     \
    of((first) + 0), of((first) + 1), of((first) + 2), of((first) + 3), of((first) + 4), of((first) + 5),    \
        of((first) + 6), of((first) + 7)
#define ALL_COUNTERS(of)                                                                                     \
    EIGHT(of, 0), EIGHT(of, 8), EIGHT(of, 16), EIGHT(of, 24), EIGHT(of, 32), EIGHT(of, 40), EIGHT(of, 48),   \
        EIGHT(of, 56)
#define ITSELF(counter) (counter)
#define BEHIND(counter)                                                                                      \
    {                                                                                                        \
        (uint32_t)((UINT64_MAX - 1) << (counter)), (uint32_t)(((UINT64_MAX - 1) << (counter)) >> 32)         \
    }
static const uint16_t counter_number[64] = {ALL_COUNTERS(ITSELF)};
static const uint32_t counters_behind[64][2] = {ALL_COUNTERS(BEHIND)};
#undef EIGHT
#undef ALL_COUNTERS
#undef ITSELF
#undef BEHIND

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

/* Ranks in one region: distances become smaller by them. soon: NULL, or what is to be fetched meanwhile. */
ALWAYS_INLINE void near_body(uint64_t *words, uint16_t *node, const uint32_t *positions, uint32_t *distances,
                             size_t count, fm_bucket *const *soon)
{
    const __m512i one = _mm512_set1_epi16(1);
    __m512i counters = _mm512_load_si512(node);
    for (size_t i = 0; i < count; i++) {
        if (soon) __builtin_prefetch(soon[i], 1, 3);
        uint32_t position = positions[i];
        uint32_t rank = line_clear(words, position);
        uint32_t line = position >> FM_LINE_SHIFT;
        const __m512i number = _mm512_set1_epi16((short)counter_number[line]);
        const __m512i found = _mm512_permutexvar_epi16(number, counters);
        counters = _mm512_mask_sub_epi16(counters, counters_behind[line][0], counters, one);
        rank += (uint32_t)_mm_cvtsi128_si32(_mm512_castsi512_si128(found)) & 0xFFFF;
        distances[i] -= rank;
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

/* Ranks in one region: distances become smaller by them. soon: NULL, or what is to be fetched meanwhile. */
ALWAYS_INLINE void near_body(uint64_t *words, uint16_t *node, const uint32_t *positions, uint32_t *distances,
                             size_t count, fm_bucket *const *soon)
{
    for (size_t i = 0; i < count; i++) {
        if (soon) __builtin_prefetch(soon[i], 1, 3);
        distances[i] -= line_clear(words, positions[i]) + lines_clear(node, positions[i] >> FM_LINE_SHIFT);
    }
}

#endif

static void kernel_near(fm_recency_window *window, fm_lookups *lookups, fm_bucket *const *soon)
{
    near_body(window->words + window->open * FM_REGION_LINES * FM_LINE_WORDS,
              window->lines + window->open * FM_REGION_LINES, lookups->near_position, lookups->near_distance,
              lookups->near_count, soon);
}

ALWAYS_INLINE void far_body(fm_recency_window *window, fm_lookups *restrict lookups,
                            fm_bucket *const *restrict soon, const int levels)
{
    uint64_t *const restrict words = window->words;
    uint16_t *const restrict lines = window->lines;
    uint32_t *const restrict nodes2 = window->nodes[2];
    uint32_t *const restrict nodes3 = window->nodes[3];
    const size_t count = lookups->far_count;
    uint32_t live = window->closed_live;
    top_counters top;
    top_load(&top, window);
    for (size_t i = 0; i < count; i++) {
        __builtin_prefetch(soon[i], 1, 3);
        uint64_t position = lookups->far_position[i];
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
        lookups->far_distance[i] += live - rank;
        live--;
    }
    top_store(&top, window);
    window->closed_live = live;
}

static void kernel_far(fm_recency_window *window, fm_lookups *lookups, fm_bucket *const *soon)
{
    switch (window->levels) {
    case 1:
        far_body(window, lookups, soon, 1);
        break;
    case 2:
        far_body(window, lookups, soon, 2);
        break;
    case 3:
        far_body(window, lookups, soon, 3);
        break;
    case 4:
        far_body(window, lookups, soon, 4);
        break;
    default:
        far_body(window, lookups, soon, window->levels);
        break;
    }
}

ALWAYS_INLINE void split_ranges_body(const uint64_t *restrict positions, const uint8_t *restrict groups,
                                     size_t count, uint32_t number, uint32_t *restrict next,
                                     uint64_t *restrict sorted, uint32_t *restrict known,
                                     const uint32_t *restrict tags, uint32_t *restrict sorted_tags,
                                     const bool tagged)
{
#if defined(__AVX512F__)
    /* How many there were in higher ranges, for each range. */
    __m512i low = _mm512_setzero_si512(), high = low;
    const __m512i one = _mm512_set1_epi32(1);
#else
    uint32_t higher[FM_RANGES] __attribute__((aligned(64))) = {0}; /* of the highest range first */
#endif
    for (size_t i = 0; i < count; i++) {
        const uint32_t group = groups[i], at = next[group]++;
        sorted[at] = positions[i];
        // cppcheck-suppress nullPointer
        if (tagged) sorted_tags[at] = tags[i];
#if defined(__AVX512F__)
        const __m512i found = _mm512_permutex2var_epi32(low, _mm512_set1_epi32((int)group), high);
        known[at] = number + (uint32_t)i - (uint32_t)_mm_cvtsi128_si32(_mm512_castsi512_si128(found));
        /* Those without a range are above none. */
        const uint32_t below = (uint32_t)((UINT64_C(1) << (group & 31)) - 1);
        low = _mm512_mask_add_epi32(low, (__mmask16)below, low, one);
        high = _mm512_mask_add_epi32(high, (__mmask16)(below >> 16), high, one);
#else
        /* Those without a range count as the lowest: none is behind it. */
        const uint32_t behind = (FM_RANGES - 1 - group) & (FM_RANGES - 1);
        known[at] = number + (uint32_t)i - higher[behind];
        for (int r = 0; r < FM_RANGES; r++) higher[r] += steps32[behind][r];
#endif
    }
}

static void kernel_split_ranges(const uint64_t *positions, const uint8_t *groups, size_t count,
                                uint32_t number, uint32_t *next, uint64_t *sorted, uint32_t *known)
{
    split_ranges_body(positions, groups, count, number, next, sorted, known, NULL, NULL, false);
}

static void kernel_split_ranges_tagged(const uint64_t *positions, const uint8_t *groups, size_t count,
                                       uint32_t number, uint32_t *next, uint64_t *sorted, uint32_t *known,
                                       const uint32_t *tags, uint32_t *sorted_tags)
{
    split_ranges_body(positions, groups, count, number, next, sorted, known, tags, sorted_tags, true);
}

static size_t kernel_keep_small(const uint64_t *restrict distances, size_t count, uint32_t *restrict small,
                                uint64_t *restrict cold, uint64_t *restrict beyond)
{
    size_t kept = 0, i = 0;
#if defined(__AVX512F__)
    const __m512i most = _mm512_set1_epi64(UINT32_MAX), colds = _mm512_set1_epi64((long long)FM_COLD),
                  beyonds = _mm512_set1_epi64((long long)FM_BEYOND);
    for (; i + 8 <= count; i += 8) {
        const __m512i some = _mm512_loadu_si512(distances + i);
        const unsigned keep = mask_bits(_mm512_cmple_epu64_mask(some, most));
        const __m256i narrow = _mm512_cvtepi64_epi32(some);
        _mm256_storeu_si256((__m256i *)(small + kept), _mm256_maskz_compress_epi32((__mmask8)keep, narrow));
        kept += (unsigned)__builtin_popcount(keep);
        if (__builtin_expect(keep == 0xFF, 1)) continue;
        *cold += (unsigned)__builtin_popcount(mask_bits(_mm512_cmpeq_epu64_mask(some, colds)));
        *beyond += (unsigned)__builtin_popcount(mask_bits(_mm512_cmpeq_epu64_mask(some, beyonds)));
    }
#endif
    for (; i < count; i++) {
        small[kept] = (uint32_t)distances[i];
        kept += distances[i] <= UINT32_MAX;
        *cold += distances[i] == FM_COLD;
        *beyond += distances[i] == FM_BEYOND;
    }
    return kept;
}

static size_t kernel_list_late(const uint32_t *restrict distances, size_t count, uint32_t from,
                               uint16_t *restrict late)
{
    size_t found = 0, i = 0;
#if defined(__AVX512F__)
    const __m512i edge = _mm512_set1_epi32((int)from);
    __m512i number = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    for (; i + 16 <= count; i += 16) {
        const __mmask16 these = _mm512_cmpge_epu32_mask(_mm512_loadu_si512(distances + i), edge);
        _mm256_storeu_si256((__m256i *)(late + found),
                            _mm512_cvtepi32_epi16(_mm512_maskz_compress_epi32(these, number)));
        found += (unsigned)__builtin_popcount(mask_bits(these));
        number = _mm512_add_epi32(number, _mm512_set1_epi32(16));
    }
#elif defined(__AVX2__)
    const __m256i edge = _mm256_set1_epi32((int)from);
    for (; i + 8 <= count; i += 8) {
        const __m256i some = _mm256_loadu_si256((const __m256i *)(distances + i));
        const __m256i is_late = _mm256_cmpeq_epi32(_mm256_max_epu32(some, edge), some);
        const unsigned these = (unsigned)_mm256_movemask_ps(_mm256_castsi256_ps(is_late));
        _mm_storeu_si128((__m128i *)(late + found),
                         _mm_add_epi16(_mm_set1_epi16((short)i), _mm_cvtepu8_epi16(lane_bytes(these))));
        found += (unsigned)__builtin_popcount(these);
    }
#endif
    for (; i < count; i++) { /* which these are is hard to predict: all numbers are written */
        late[found] = (uint16_t)i;
        found += distances[i] >= from;
    }
    return found;
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
#elif defined(__AVX2__)
    for (size_t i = 0; i < count; i += 8) {
        const __m256i distance = _mm256_loadu_si256((const __m256i *)(distances + i));
        const __m256i highest = highest_bits(_mm256_or_si256(distance, _mm256_set1_epi32(1023)));
        const __m256i wide = _mm256_cmpgt_epi32(highest, _mm256_set1_epi32(9));
        const __m256i shift = _mm256_and_si256(wide, _mm256_sub_epi32(highest, _mm256_set1_epi32(6)));
        const __m256i base = _mm256_and_si256(
            wide, _mm256_add_epi32(_mm256_slli_epi32(_mm256_sub_epi32(highest, _mm256_set1_epi32(10)), 6),
                                   _mm256_set1_epi32(1024 - 64)));
        _mm256_storeu_si256((__m256i *)(distances + i),
                            _mm256_add_epi32(base, _mm256_srlv_epi32(distance, shift)));
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

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * exact_lookup_body.h - kernels drop_repeats, home and lookup: repeats are removed, blocks found in the table
 * and their positions exchanged, references put on the lists of near, far and fresh ones.
 */

#if defined(__AVX512F__)
/* Byte b of entry m: how many of the bits below b are set in m. */
static uint64_t ones_before[256];

__attribute__((constructor)) static void fill_ones_before(void)
{
    for (unsigned mask = 0; mask < 256; mask++)
        for (unsigned bit = 0; bit < 8; bit++)
            ones_before[mask] |= (uint64_t)__builtin_popcount(mask & ((1U << bit) - 1)) << (8 * bit);
}
#endif

static size_t kernel_drop_repeats(const uint64_t *restrict keys, size_t count, uint64_t *restrict last,
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

static size_t kernel_drop_repeats_tagged(const uint64_t *restrict keys, const uint32_t *restrict tags,
                                         size_t count, uint64_t *restrict left, fm_kept_tags *restrict tagged)
{
    tagged->pair_count = 0;
    if (count == 0) return 0;
    size_t kept = 1, pairs = 0, i = 1;
    left[0] = keys[0];
    tagged->now[0] = tags[0];
    tagged->index[0] = 0;
#if defined(__AVX512F__)
    const __m512i mark = _mm512_set1_epi64((long long)FM_PAIR_MARK);
    __m256i index = _mm256_setr_epi32(1, 2, 3, 4, 5, 6, 7, 8);
    for (; i + 8 <= count; i += 8) {
        __m512i key = _mm512_loadu_si512(keys + i);
        __m256i now = _mm256_loadu_si256((const __m256i *)(tags + i));
        __m256i before = _mm256_loadu_si256((const __m256i *)(tags + i - 1));
        unsigned keep = mask_bits(_mm512_cmpneq_epi64_mask(key, _mm512_loadu_si512(keys + i - 1)));
        _mm512_storeu_si512(left + kept, _mm512_maskz_compress_epi64((__mmask8)keep, key));
        _mm256_storeu_si256((__m256i *)(tagged->now + kept),
                            _mm256_maskz_compress_epi32((__mmask8)keep, now));
        /* Whoever is kept ends the repeats of the one kept before it. */
        _mm256_storeu_si256((__m256i *)(tagged->leave + kept - 1),
                            _mm256_maskz_compress_epi32((__mmask8)keep, before));
        if (tagged->index_wanted)
            _mm_storeu_si128((__m128i *)(tagged->index + kept),
                             _mm256_cvtepi32_epi16(_mm256_maskz_compress_epi32((__mmask8)keep, index)));
        __m512i reuse = _mm512_slli_epi64(_mm512_cvtepu32_epi64(now), 32);
        __m512i use = _mm512_slli_epi64(_mm512_cvtepu32_epi64(before), 8);
        __m512i pair = _mm512_or_si512(_mm512_or_si512(reuse, use), mark);
        _mm512_storeu_si512(tagged->pair + pairs, _mm512_maskz_compress_epi64((__mmask8)~keep, pair));
        unsigned ones = (unsigned)__builtin_popcount(keep);
        kept += ones;
        pairs += 8 - ones;
        index = _mm256_add_epi32(index, _mm256_set1_epi32(8));
    }
#endif
    for (; i < count; i++) {
        size_t keep = keys[i] != keys[i - 1];
        left[kept] = keys[i];
        tagged->now[kept] = tags[i];
        tagged->leave[kept - 1] = tags[i - 1];
        tagged->index[kept] = (uint16_t)i;
        tagged->pair[pairs] = fm_pair_word(tags[i - 1], tags[i], 0);
        kept += keep;
        pairs += 1 - keep;
    }
    tagged->leave[kept - 1] = tags[count - 1];
    tagged->pair_count = pairs;
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
    if (bucket->position[FM_BUCKET_SLOTS - 1] == 0) { /* it has spilled nothing: the key is new */
        const __m256i empty =
            _mm256_cmpeq_epi64(_mm256_load_si256((const __m256i *)bucket->position), _mm256_setzero_si256());
        const int taken = __builtin_ctz((unsigned)_mm256_movemask_pd(_mm256_castsi256_pd(empty)));
        bucket->key[taken] = key;
        table->used++;
        return &bucket->position[taken];
    }
    /* A full bucket spills into the next: most others are there. */
    if (bucket + 1 < table->buckets + table->bucket_count) {
        slot = find(bucket + 1, wanted);
        if (slot) return slot;
    }
#else
    for (int slot = 0; slot < FM_BUCKET_SLOTS; slot++)
        if (bucket->key[slot] == key && bucket->position[slot] != 0) return &bucket->position[slot];
#endif
    return fm_block_table_place_slow(table, bucket, key);
}

/* Of a key that is looked up soon, whose bucket is in a cache: where that is full, the next one may be
 * needed, too. */
ALWAYS_INLINE void fetch_spill(fm_bucket *const *homes, size_t i, size_t count)
{
    enum { AHEAD = 12 };
    if (i + AHEAD >= count) return;
    const fm_bucket *const soon = homes[i + AHEAD];
    __builtin_prefetch(soon + (soon->position[FM_BUCKET_SLOTS - 1] != 0), 1, 3);
}

static void kernel_partition(const uint64_t *restrict keys, size_t count, const uint64_t seed[3],
                             uint8_t *restrict partitions)
{
    const uint64_t seeds[3] = {seed[0], seed[1], seed[2]};
    for (size_t i = 0; i < count; i++)
        partitions[i] = (uint8_t)(fm_block_hash(keys[i], seeds) >> (64 - FM_PARTITION_BITS));
}

ALWAYS_INLINE void exchange_body(fm_block_table *table, fm_bucket *const *restrict homes, size_t count,
                                 const uint32_t *restrict offsets, const uint32_t *restrict leave,
                                 uint64_t base, uint64_t *restrict keys, fm_bucket *const *restrict soon,
                                 const bool tagged)
{
    for (size_t i = 0; i < count; i++) {
        __builtin_prefetch(soon[i], 1, 3);
        fetch_spill(homes, i, count);
        uint64_t *slot = place(table, homes[i], keys[i]);
        keys[i] = *slot;
        // cppcheck-suppress nullPointer
        *slot = tagged ? (base + offsets[i]) | (uint64_t)leave[i] << FM_TAG_SHIFT : base + offsets[i];
    }
}

static void kernel_exchange(fm_block_table *table, fm_bucket *const *homes, size_t count,
                            const uint32_t *offsets, uint64_t base, uint64_t *keys, fm_bucket *const *soon)
{
    exchange_body(table, homes, count, offsets, NULL, base, keys, soon, false);
}

static void kernel_exchange_tagged(fm_block_table *table, fm_bucket *const *homes, size_t count,
                                   const uint32_t *offsets, const uint32_t *leave, uint64_t base,
                                   uint64_t *keys, fm_bucket *const *soon)
{
    exchange_body(table, homes, count, offsets, leave, base, keys, soon, true);
}

static void kernel_exchange_timed(fm_block_table *table, fm_bucket *const *restrict homes, size_t count,
                                  const uint32_t *restrict offsets, const uint32_t *restrict numbers,
                                  uint64_t base, uint64_t clock, uint64_t *restrict keys,
                                  uint64_t *restrict old_times, fm_bucket *const *restrict soon)
{
    for (size_t i = 0; i < count; i++) {
        __builtin_prefetch(soon[i], 1, 3);
        fm_block_table_prefetch_times(table, soon[i]);
        fetch_spill(homes, i, count);
        uint64_t *const slot = place(table, homes[i], keys[i]);
        uint64_t *const time = fm_block_table_time(table, slot);
        keys[i] = *slot;
        *slot = base + offsets[i];
        old_times[i] = *time;
        *time = clock + numbers[i];
    }
}

/* The line of the window that the position in this word of the table will need. A line takes 2^9 positions
 * and 2^6 bytes. */
ALWAYS_INLINE void fetch_line(const char *lines, uint64_t word, const bool tagged)
{
    uint64_t position = tagged ? word & FM_POSITION_BITS : word;
    __builtin_prefetch(lines + ((position >> 3) & ~UINT64_C(63)), 1, 3);
}

/* From where every block looked up was to the lists of near, far and fresh ones. live: blocks that are
 * more recent than the closed regions at the lookups' start. now: the tags of the references. */
ALWAYS_INLINE void split(const fm_recency_window *window, const uint64_t *restrict old,
                         const uint32_t *restrict now, uint32_t live, fm_lookups *restrict lookups,
                         const bool tagged)
{
    const uint64_t base = fm_recency_window_open_base(window);
    const size_t count = lookups->count;
    size_t near = 0, far = 0, fresh = 0, i = 0;
#if defined(__AVX512F__)
    const __m512i bases = _mm512_set1_epi64((long long)base);
    __m512i index = _mm512_setr_epi64(0, 1, 2, 3, 4, 5, 6, 7);
    for (; i + 8 <= count; i += 8) {
        __m512i position = _mm512_loadu_si512(old + i), pair = position;
        if (tagged) {
            __m512i use = _mm512_and_si512(_mm512_srli_epi64(position, FM_TAG_SHIFT - 8),
                                           _mm512_set1_epi64(~INT64_C(0xFF)));
            __m512i reuse =
                _mm512_slli_epi64(_mm512_cvtepu32_epi64(_mm256_loadu_si256((const __m256i *)(now + i))), 32);
            pair = _mm512_or_si512(_mm512_or_si512(use, reuse), _mm512_set1_epi64((long long)FM_PAIR_MARK));
            position = _mm512_and_si512(position, _mm512_set1_epi64((long long)FM_POSITION_BITS));
        }
        unsigned is_near = mask_bits(_mm512_cmpge_epu64_mask(position, bases));
        unsigned is_fresh = mask_bits(_mm512_testn_epi64_mask(position, position));
        unsigned is_far = (is_near | is_fresh) ^ 0xFF;
        /* Live bits at each reference: one more for every one before it that was not near. */
        __m256i lives =
            _mm256_add_epi32(_mm256_set1_epi32((int)live),
                             _mm256_cvtepu8_epi32(_mm_cvtsi64_si128((long long)ones_before[is_near ^ 0xFF])));
        __m256i indices = _mm512_cvtepi64_epi32(index);
        __m512i relative = _mm512_sub_epi64(position, bases);
        _mm256_storeu_si256((__m256i *)(lookups->near_position + near),
                            _mm512_cvtepi64_epi32(_mm512_maskz_compress_epi64((__mmask8)is_near, relative)));
        _mm256_storeu_si256((__m256i *)(lookups->near_distance + near),
                            _mm256_maskz_compress_epi32((__mmask8)is_near, lives));
        _mm256_storeu_si256((__m256i *)(lookups->near_index + near),
                            _mm256_maskz_compress_epi32((__mmask8)is_near, indices));
        _mm512_storeu_si512(lookups->far_position + far,
                            _mm512_maskz_compress_epi64((__mmask8)is_far, position));
        _mm256_storeu_si256((__m256i *)(lookups->far_distance + far),
                            _mm256_maskz_compress_epi32((__mmask8)is_far, lives));
        _mm256_storeu_si256((__m256i *)(lookups->far_index + far),
                            _mm256_maskz_compress_epi32((__mmask8)is_far, indices));
        if (tagged) {
            _mm512_storeu_si512(lookups->near_pair + near,
                                _mm512_maskz_compress_epi64((__mmask8)is_near, pair));
            _mm512_storeu_si512(lookups->far_pair + far, _mm512_maskz_compress_epi64((__mmask8)is_far, pair));
        }
        if (is_fresh) {
            _mm256_storeu_si256((__m256i *)(lookups->fresh_index + fresh),
                                _mm256_maskz_compress_epi32((__mmask8)is_fresh, indices));
            if (tagged)
                _mm512_storeu_si512(lookups->fresh_pair + fresh,
                                    _mm512_maskz_compress_epi64((__mmask8)is_fresh, pair));
        }
        unsigned nears = (unsigned)__builtin_popcount(is_near);
        near += nears;
        far += (unsigned)__builtin_popcount(is_far);
        fresh += (unsigned)__builtin_popcount(is_fresh);
        live += 8 - nears;
        index = _mm512_add_epi64(index, _mm512_set1_epi64(8));
    }
#endif
    for (; i < count; i++) {
        uint64_t position = tagged ? old[i] & FM_POSITION_BITS : old[i];
        size_t is_near = position >= base, is_fresh = position == 0;
        lookups->near_position[near] = (uint32_t)(position - base);
        lookups->near_distance[near] = live;
        lookups->near_index[near] = (uint32_t)i;
        lookups->far_position[far] = position;
        lookups->far_distance[far] = live;
        lookups->far_index[far] = (uint32_t)i;
        lookups->fresh_index[fresh] = (uint32_t)i;
        if (tagged) {
            // cppcheck-suppress nullPointer
            uint64_t pair = fm_pair_word((uint32_t)(old[i] >> FM_TAG_SHIFT), now[i], 0);
            lookups->near_pair[near] = pair;
            lookups->far_pair[far] = pair;
            lookups->fresh_pair[fresh] = pair;
        }
        near += is_near;
        far += 1 - is_near - is_fresh;
        fresh += is_fresh;
        live += 1 - (uint32_t)is_near;
    }
    lookups->near_count = near;
    lookups->far_count = far;
    lookups->fresh_count = fresh;
}

ALWAYS_INLINE void lookup_body(fm_block_table *table, const fm_recency_window *window,
                               const uint64_t *restrict keys, const uint32_t *restrict now,
                               const uint32_t *restrict leave, fm_bucket *const *restrict homes,
                               uint64_t clock, uint64_t *restrict times, fm_lookups *restrict lookups,
                               const bool tagged, const bool timed)
{
    const uint64_t first = window->position;
    const char *const lines = (const char *)window->words;
    const size_t count = lookups->count;
    uint64_t old[FM_LOOKUPS];
    for (size_t i = 0; i < count; i++) {
        fetch_spill(homes, i, count);
        uint64_t *slot = place(table, homes[i], keys[i]);
        old[i] = *slot;
        // cppcheck-suppress nullPointer
        *slot = tagged ? (first + i) | (uint64_t)leave[i] << FM_TAG_SHIFT : first + i;
        fetch_line(lines, old[i], tagged);
        if (!timed) continue;
        uint64_t *const time = fm_block_table_time(table, slot);
        // cppcheck-suppress nullPointer
        times[i] = old[i] ? clock + i - *time : FM_COLD;
        *time = clock + i;
    }
    split(window, old, now, window->open_live, lookups, tagged);
}

static void kernel_lookup(fm_block_table *table, const fm_recency_window *window, const uint64_t *keys,
                          fm_bucket *const *homes, fm_lookups *lookups)
{
    lookup_body(table, window, keys, NULL, NULL, homes, 0, NULL, lookups, false, false);
}

static void kernel_lookup_tagged(fm_block_table *table, const fm_recency_window *window, const uint64_t *keys,
                                 const uint32_t *now, const uint32_t *leave, fm_bucket *const *homes,
                                 fm_lookups *lookups)
{
    lookup_body(table, window, keys, now, leave, homes, 0, NULL, lookups, true, false);
}

static void kernel_lookup_timed(fm_block_table *table, const fm_recency_window *window, const uint64_t *keys,
                                const uint32_t *now, const uint32_t *leave, fm_bucket *const *homes,
                                uint64_t clock, uint64_t *times, fm_lookups *lookups)
{
    if (now)
        lookup_body(table, window, keys, now, leave, homes, clock, times, lookups, true, true);
    else
        lookup_body(table, window, keys, NULL, NULL, homes, clock, times, lookups, false, true);
}

/* The position of a key that is held. */
ALWAYS_INLINE uint64_t position_of(const fm_block_table *table, fm_bucket *bucket, uint64_t key)
{
#if defined(__AVX2__)
    const uint64_t *slot = find(bucket, _mm256_set1_epi64x((long long)key));
    if (__builtin_expect(slot != NULL, 1)) return *slot;
#else
    for (int slot = 0; slot < FM_BUCKET_SLOTS; slot++)
        if (bucket->key[slot] == key && bucket->position[slot] != 0) return bucket->position[slot];
#endif
    return fm_block_table_find(table, key);
}

/* Buckets, then lines of the window, are prefetched some blocks ahead of their use. */
/* Lines of the window are fetched eight buckets ahead of their use. */
static void kernel_renumber(fm_block_table *table, const fm_recency_window *window)
{
    enum { AHEAD = 8 };
    fm_bucket *const buckets = table->buckets;
    const uint64_t count = table->bucket_count;
    for (uint64_t i = 0; i < count; i++) {
        if (i + AHEAD < count)
            for (int slot = 0; slot < FM_BUCKET_SLOTS; slot++)
                __builtin_prefetch(
                    fm_recency_window_line(window, buckets[i + AHEAD].position[slot] & FM_POSITION_BITS));
        for (int slot = 0; slot < FM_BUCKET_SLOTS; slot++) {
            const uint64_t old = buckets[i].position[slot];
            if (!old) break;
            const uint64_t rank = fm_recency_window_rank(window, old & FM_POSITION_BITS);
            buckets[i].position[slot] = fm_recency_window_packed_position(rank) | (old & ~FM_POSITION_BITS);
        }
    }
}

static void kernel_depths(const fm_block_table *table, const fm_recency_window *window,
                          const uint64_t *restrict keys, size_t count, uint64_t *restrict depths)
{
    enum { TOGETHER = 64 };
    fm_bucket *homes[2][TOGETHER];
    kernel_home(table, keys, count < TOGETHER ? count : TOGETHER, homes[0]);
    for (size_t first = 0, turn = 0; first < count; first += TOGETHER, turn ^= 1) {
        const size_t now = count - first < TOGETHER ? count - first : TOGETHER;
        const size_t left = count - first - now, soon = left < TOGETHER ? left : TOGETHER;
        kernel_home(table, keys + first + now, soon, homes[turn ^ 1]);
        for (size_t i = 0; i < soon; i++) __builtin_prefetch(homes[turn ^ 1][i]);
        for (size_t i = 0; i < now; i++) {
            const uint64_t position = position_of(table, homes[turn][i], keys[first + i]);
            depths[first + i] = position;
            __builtin_prefetch(fm_recency_window_line(window, position & FM_POSITION_BITS));
        }
        for (size_t i = 0; i < now; i++) { /* ranks are modulo 2^32 */
            const uint64_t position = depths[first + i];
            const uint32_t rank = fm_recency_window_rank(window, position & FM_POSITION_BITS);
            depths[first + i] = (uint32_t)((uint32_t)table->used - rank) | (position & ~FM_POSITION_BITS);
        }
    }
}

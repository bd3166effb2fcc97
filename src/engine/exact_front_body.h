/* SPDX-License-Identifier: Apache-2.0 */
/*
 * exact_front_body.h - the front: the 16 most recent blocks in two registers, in stack order. Included for
 * every instruction set, empty but for AVX-512.
 */
#if defined(__AVX512F__)

/* Row p: where everything comes from when place p moves to the front. Rows from FM_FRONT on are misses, for
 * which the last place is taken. */
enum { FRONT_ROWS = FM_FRONT + 2 };
static uint8_t to_front[FRONT_ROWS][FM_FRONT] __attribute__((aligned(64)));

__attribute__((constructor)) static void fill_to_front(void)
{
    for (unsigned p = 0; p < FRONT_ROWS; p++) {
        unsigned from = p < FM_FRONT ? p : FM_FRONT - 1;
        to_front[p][0] = (uint8_t)from;
        for (unsigned i = 1; i < FM_FRONT; i++) to_front[p][i] = (uint8_t)(i <= from ? i - 1 : i);
    }
}

/* The place of a key in the front as one bit. Bit FM_FRONT is set in any case: the lowest bit counts. */
ALWAYS_INLINE uint32_t front_ask(__m512i low, __m512i high, uint64_t key)
{
    __m512i wanted = _mm512_set1_epi64((long long)key);
    __mmask16 found =
        _mm512_kunpackb(_mm512_cmpeq_epi64_mask(high, wanted), _mm512_cmpeq_epi64_mask(low, wanted));
    return mask_bits(found) | 1U << FM_FRONT;
}

/* Counts the references of each place. */
static void front_hits(fm_front *front, size_t count)
{
    memset(front->hits, 0, sizeof front->hits);
    memset(front->place + count, FM_FRONT, 64);
    for (size_t i = 0; i < count; i += 64) {
        __m512i places = _mm512_loadu_si512(front->place + i);
        for (unsigned p = 0; p < FM_FRONT; p++) {
            uint64_t here = _mm512_cmpeq_epi8_mask(places, _mm512_set1_epi8((char)p));
            __asm__("" : "+r"(here)); /* as in mask_bits */
            front->hits[p] += (uint64_t)__builtin_popcountll(here);
        }
    }
}

/* keys: no two neighbours are the same. A holder's word has its block's number, with tags also its last tag.
 */
ALWAYS_INLINE void front_body(const uint64_t *restrict keys, size_t count, const uint32_t *restrict leave,
                              fm_front *restrict front, fm_front_tags *restrict tags, const bool tagged)
{
    uint64_t block[FM_FRONT] = {0}, word[FM_FRONT] = {0};
    size_t held = 0, i = 0, missed = 0;
    for (; i < count && held < FM_FRONT; i++) {
        size_t above = 0;
        while (above < held && block[above] != keys[i]) above++;
        uint64_t moved = missed;
        front->place[i] = FM_FRONT;
        if (tagged) tags->held[i] = 0;
        if (above < held) {
            moved = word[above];
            front->place[i] = (uint8_t)above;
            if (tagged) tags->held[i] = moved;
        } else {
            front->key[missed++] = keys[i];
            held++;
        }
        memmove(block + 1, block, above * sizeof *block);
        memmove(word + 1, word, above * sizeof *word);
        block[0] = keys[i];
        word[0] = tagged ? (uint32_t)moved | (uint64_t)leave[i] << FM_TAG_SHIFT : moved;
    }
    __m512i low = _mm512_loadu_si512(block), high = _mm512_loadu_si512(block + 8);
    /* Words do not move; what moves with the blocks is where theirs stands, one byte each. */
    __m128i order = _mm_setr_epi8(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    /*
     * Where the next key stands is asked before this one has moved to the front, so that neither waits for
     * the other; it then stands one place lower if it was above this one. (It is never this one.)
     */
    uint32_t here = i < count ? front_ask(low, high, keys[i]) : 0;
    for (; i < count; i++) {
        uint32_t next = front_ask(low, high, keys[i + 1 < count ? i + 1 : i]);
        /* The places above it move down by one; all of them where it was not there. */
        uint32_t down = here ^ (here - 1);
        __m512i key = _mm512_set1_epi64((long long)keys[i]);
        high = _mm512_mask_alignr_epi64(high, (__mmask8)(down >> 8), high, low, 7);
        low = _mm512_mask_alignr_epi64(low, (__mmask8)down, low, key, 7);
        uint32_t place = (uint32_t)__builtin_ctz(here);
        order = _mm_shuffle_epi8(order, _mm_load_si128((const __m128i *)to_front[place]));
        unsigned holder = (unsigned)_mm_cvtsi128_si32(order) & 0xFF;
        uint64_t there = word[holder]; /* the block's own, or on a miss that of the one that leaves */
        uint32_t miss = mask_bits(place / FM_FRONT); /* and no branch is made of it */
        uint32_t number = (uint32_t)there;
        number += ((uint32_t)missed - number) & -miss;
        front->place[i] = (uint8_t)place;
        front->key[missed] = keys[i];
        if (tagged) {
            tags->held[i] = there;
            word[holder] = number | (uint64_t)leave[i] << FM_TAG_SHIFT;
        } else {
            front->evicted[missed] = (uint16_t)there;
            word[holder] = number;
        }
        missed += miss;
        here = next + (next & down);
    }
    uint8_t final_order[FM_FRONT];
    _mm_storeu_si128((__m128i *)final_order, order);
    for (size_t n = 0; n < held; n++) {
        front->inside[n] = (uint16_t)word[final_order[n]];
        if (tagged) tags->inside[n] = word[final_order[n]];
    }
    front->inside_count = held;
    front->missed = missed;
    front_hits(front, count);
}

static void kernel_front(const uint64_t *keys, size_t count, fm_front *front)
{
    front_body(keys, count, NULL, front, NULL, false);
}

/* From the words that were met to the words to be counted, and to those that left. */
static void front_pairs(size_t count, const uint8_t *restrict place_range, fm_kept_tags *restrict kept,
                        const fm_front *restrict front, fm_front_tags *restrict tags)
{
    const __m128i ranges = _mm_loadu_si128((const __m128i *)place_range);
    const __m512i mark = _mm512_set1_epi64((long long)FM_PAIR_MARK), low_byte = _mm512_set1_epi64(0xFF);
    size_t pairs = kept->pair_count, missed = 0;
    __m256i index = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
    for (size_t i = 0; i < count; i += 8) {
        __m128i places = _mm_loadl_epi64((const __m128i *)(front->place + i));
        __m512i range = _mm512_cvtepu8_epi64(_mm_shuffle_epi8(ranges, places));
        __m512i held = _mm512_loadu_si512(tags->held + i);
        __m256i now = _mm256_loadu_si256((const __m256i *)(kept->now + i));
        unsigned live = count - i >= 8 ? 0xFF : (1U << (count - i)) - 1;
        unsigned miss = mask_bits(_mm_cmpge_epu8_mask(places, _mm_set1_epi8(FM_FRONT))) & live;
        unsigned hit = miss ^ live;
        __m512i use = _mm512_andnot_si512(low_byte, _mm512_srli_epi64(held, FM_TAG_SHIFT - 8));
        __m512i reuse = _mm512_slli_epi64(_mm512_cvtepu32_epi64(now), 32);
        __m512i pair = _mm512_or_si512(_mm512_or_si512(use, reuse), _mm512_or_si512(range, mark));
        _mm512_storeu_si512(kept->pair + pairs, _mm512_maskz_compress_epi64((__mmask8)hit, pair));
        _mm512_storeu_si512(tags->evicted + missed, _mm512_maskz_compress_epi64((__mmask8)miss, held));
        _mm256_storeu_si256((__m256i *)(tags->now + missed),
                            _mm256_maskz_compress_epi32((__mmask8)miss, now));
        if (kept->index_wanted)
            _mm_storeu_si128((__m128i *)(tags->index + missed),
                             _mm256_cvtepi32_epi16(_mm256_maskz_compress_epi32((__mmask8)miss, index)));
        pairs += (unsigned)__builtin_popcount(hit);
        missed += (unsigned)__builtin_popcount(miss);
        index = _mm256_add_epi32(index, _mm256_set1_epi32(8));
    }
    kept->pair_count = pairs;
}

static void kernel_front_tagged(const uint64_t *keys, size_t count, const uint8_t *place_range,
                                fm_kept_tags *kept, fm_front *front, fm_front_tags *tags)
{
    front_body(keys, count, kept->leave, front, tags, true);
    front_pairs(count, place_range, kept, front, tags);
}

ALWAYS_INLINE void lookup_missed_body(fm_block_table *table, const fm_recency_window *window,
                                      const fm_front *restrict front, const fm_front_tags *restrict tags,
                                      size_t first, fm_bucket *const *restrict homes,
                                      uint64_t **restrict slots, fm_chunk *restrict chunk, const bool tagged)
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
        fetch_line(lines, old[i], tagged);
        if (!full) continue;
        if (tagged) {
            uint64_t word = tags->evicted[first + i];
            *slots[(uint16_t)word] = position++ | (word & ~FM_POSITION_BITS);
        } else {
            *slots[front->evicted[first + i]] = position++;
        }
    }
    split(window, old, tagged ? tags->now + first : NULL,
          window->open_live + (uint32_t)(full ? FM_FRONT : first), chunk, tagged);
}

static void kernel_lookup_missed(fm_block_table *table, const fm_recency_window *window,
                                 const fm_front *front, size_t first, fm_bucket *const *homes,
                                 uint64_t **slots, fm_chunk *chunk)
{
    lookup_missed_body(table, window, front, NULL, first, homes, slots, chunk, false);
}

static void kernel_lookup_missed_tagged(fm_block_table *table, const fm_recency_window *window,
                                        const fm_front *front, const fm_front_tags *tags, size_t first,
                                        fm_bucket *const *homes, uint64_t **slots, fm_chunk *chunk)
{
    lookup_missed_body(table, window, front, tags, first, homes, slots, chunk, true);
}

#endif

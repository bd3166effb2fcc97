/* SPDX-License-Identifier: Apache-2.0 */
/* native_planes.c - see native_planes.h. */
#include "trace/native/native_planes.h"

#include "base/bytes.h"
#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

/* ======== planes ======== */

/* Loops are written so that compilers turn them into vector code. */

#ifdef __SSE2__
#include <emmintrin.h>
#endif

/* ---- into planes ---- */

#ifdef __SSE2__

/* Eight numbers are an 8x8 matrix of bytes; interleaving bytes three times transposes it. Always inlined:
 * planes is then a constant, and what is not needed of the transposition falls away. */
static inline __attribute__((always_inline)) size_t transpose(const uint64_t *numbers, size_t count,
                                                              unsigned planes, uint8_t *to)
{
    size_t i = 0;
    for (; i + 8 <= count; i += 8) {
        const __m128i *from = (const __m128i *)(const void *)(numbers + i);
        __m128i n01 = _mm_loadu_si128(from), n23 = _mm_loadu_si128(from + 1), n45 = _mm_loadu_si128(from + 2),
                n67 = _mm_loadu_si128(from + 3);
        __m128i n04 = _mm_unpacklo_epi8(n01, n45), n15 = _mm_unpackhi_epi8(n01, n45),
                n26 = _mm_unpacklo_epi8(n23, n67), n37 = _mm_unpackhi_epi8(n23, n67);
        __m128i even = _mm_unpacklo_epi8(n04, n26), odd = _mm_unpacklo_epi8(n15, n37);
        __m128i pair = _mm_unpacklo_epi8(even, odd);
        _mm_storel_epi64((__m128i *)(void *)(to + i), pair);
        if (planes > 1) _mm_storel_epi64((__m128i *)(void *)(to + count + i), _mm_srli_si128(pair, 8));
        if (planes > 2) {
            pair = _mm_unpackhi_epi8(even, odd);
            _mm_storel_epi64((__m128i *)(void *)(to + 2 * count + i), pair);
        }
        if (planes > 3) _mm_storel_epi64((__m128i *)(void *)(to + 3 * count + i), _mm_srli_si128(pair, 8));
        if (planes > 4) {
            even = _mm_unpackhi_epi8(n04, n26);
            odd = _mm_unpackhi_epi8(n15, n37);
            pair = _mm_unpacklo_epi8(even, odd);
            _mm_storel_epi64((__m128i *)(void *)(to + 4 * count + i), pair);
        }
        if (planes > 5) _mm_storel_epi64((__m128i *)(void *)(to + 5 * count + i), _mm_srli_si128(pair, 8));
        if (planes > 6) {
            pair = _mm_unpackhi_epi8(even, odd);
            _mm_storel_epi64((__m128i *)(void *)(to + 6 * count + i), pair);
        }
        if (planes > 7) _mm_storel_epi64((__m128i *)(void *)(to + 7 * count + i), _mm_srli_si128(pair, 8));
    }
    return i;
}

#else

static inline __attribute__((always_inline)) size_t transpose(const uint64_t *numbers, size_t count,
                                                              unsigned planes, uint8_t *to)
{
    for (unsigned p = 0; p < planes; p++)
        for (size_t i = 0; i < count; i++) to[p * count + i] = (uint8_t)(numbers[i] >> (8 * p));
    return count;
}

#endif

void fm_native_planes_store(const uint64_t *numbers, size_t count, unsigned planes, uint8_t *to)
{
    size_t done = 0;
    switch (planes) {
    case 0:
        return;
    case 1:
        done = transpose(numbers, count, 1, to);
        break;
    case 2:
        done = transpose(numbers, count, 2, to);
        break;
    case 3:
        done = transpose(numbers, count, 3, to);
        break;
    case 4:
        done = transpose(numbers, count, 4, to);
        break;
    case 5:
        done = transpose(numbers, count, 5, to);
        break;
    case 6:
        done = transpose(numbers, count, 6, to);
        break;
    case 7:
        done = transpose(numbers, count, 7, to);
        break;
    default:
        done = transpose(numbers, count, 8, to);
        break;
    }
    for (; done < count; done++)
        for (unsigned p = 0; p < planes; p++) to[p * count + done] = (uint8_t)(numbers[done] >> (8 * p));
}

static unsigned bytes_of(uint64_t number)
{
    return number ? (71 - (unsigned)__builtin_clzll(number)) / 8 : 0;
}

/* How many planes all but the exceptions need, and how many those are. */
static unsigned choose_planes(const uint64_t *numbers, size_t count, size_t *exceptions)
{
    /* Four counters each: neighbours are often of the same length, and would wait for one another. */
    uint32_t longer[9][4] = {{0}};
    size_t i = 0;
    for (; i + 4 <= count; i += 4) {
        longer[bytes_of(numbers[i])][0]++;
        longer[bytes_of(numbers[i + 1])][1]++;
        longer[bytes_of(numbers[i + 2])][2]++;
        longer[bytes_of(numbers[i + 3])][3]++;
    }
    for (; i < count; i++) longer[bytes_of(numbers[i])][0]++;
    unsigned planes = 8;
    *exceptions = 0;
    while (planes > 0) {
        const uint32_t *of = longer[planes];
        size_t more = (size_t)of[0] + of[1] + of[2] + of[3];
        if (*exceptions + more > count / 64) break;
        *exceptions += more;
        planes--;
    }
    return planes;
}

size_t fm_native_numbers_store(const uint64_t *numbers, size_t count, fm_native_part *part, uint8_t *to)
{
    size_t exceptions;
    unsigned planes = choose_planes(numbers, count, &exceptions);
    part->planes = (uint8_t)planes;
    part->exceptions = (uint32_t)exceptions;
    fm_native_planes_store(numbers, count, planes, to);
    uint8_t *places = to + planes * count, *values = places + 2 * exceptions;
    uint64_t limit = planes == 8 ? UINT64_MAX : (UINT64_C(1) << (8 * planes)) - 1;
    for (size_t i = 0, e = 0; e < exceptions; i++) {
        if (numbers[i] <= limit) continue;
        fm_store16(places + 2 * e, (uint16_t)i);
        fm_store64(values + 8 * e, numbers[i]);
        e++;
        for (unsigned p = 0; p < planes; p++) to[p * count + i] = 0;
    }
    return (size_t)(values + 8 * exceptions - to);
}

/* ---- and out of them ---- */

#ifdef __SSE2__

/* Eight bytes of a plane; zeros where there is no such plane. */
static inline __attribute__((always_inline)) __m128i plane_at(const uint8_t *from, size_t count,
                                                              unsigned planes, unsigned plane)
{
    if (plane >= planes) return _mm_setzero_si128();
    return _mm_loadl_epi64((const __m128i *)(const void *)(from + plane * count));
}

/* The way back: neighbouring planes are interleaved, bytes to pairs, to fours, to numbers. */
static inline __attribute__((always_inline)) size_t join(const uint8_t *from, size_t count, unsigned planes,
                                                         uint64_t *numbers)
{
    size_t i = 0;
    for (; i + 8 <= count; i += 8) {
        const uint8_t *at = from + i;
        __m128i p01 = _mm_unpacklo_epi8(plane_at(at, count, planes, 0), plane_at(at, count, planes, 1)),
                p23 = _mm_unpacklo_epi8(plane_at(at, count, planes, 2), plane_at(at, count, planes, 3)),
                p45 = _mm_unpacklo_epi8(plane_at(at, count, planes, 4), plane_at(at, count, planes, 5)),
                p67 = _mm_unpacklo_epi8(plane_at(at, count, planes, 6), plane_at(at, count, planes, 7));
        __m128i low = _mm_unpacklo_epi16(p01, p23), high = _mm_unpacklo_epi16(p45, p67);
        __m128i *to = (__m128i *)(void *)(numbers + i);
        _mm_storeu_si128(to, _mm_unpacklo_epi32(low, high));
        _mm_storeu_si128(to + 1, _mm_unpackhi_epi32(low, high));
        low = _mm_unpackhi_epi16(p01, p23);
        high = _mm_unpackhi_epi16(p45, p67);
        _mm_storeu_si128(to + 2, _mm_unpacklo_epi32(low, high));
        _mm_storeu_si128(to + 3, _mm_unpackhi_epi32(low, high));
    }
    return i;
}

#else

static inline __attribute__((always_inline)) size_t join(const uint8_t *restrict from, size_t count,
                                                         unsigned planes, uint64_t *restrict numbers)
{
    for (size_t i = 0; i < count; i++) {
        uint64_t number = 0;
        for (unsigned p = 0; p < planes; p++) number |= (uint64_t)from[p * count + i] << (8 * p);
        numbers[i] = number;
    }
    return count;
}

#endif

void fm_native_planes_load(const uint8_t *from, size_t count, unsigned planes, uint64_t *numbers)
{
    size_t done;
    switch (planes) {
    case 0:
        memset(numbers, 0, count * sizeof *numbers);
        return;
    case 1:
        done = join(from, count, 1, numbers);
        break;
    case 2:
        done = join(from, count, 2, numbers);
        break;
    case 3:
        done = join(from, count, 3, numbers);
        break;
    case 4:
        done = join(from, count, 4, numbers);
        break;
    case 5:
        done = join(from, count, 5, numbers);
        break;
    case 6:
        done = join(from, count, 6, numbers);
        break;
    case 7:
        done = join(from, count, 7, numbers);
        break;
    default:
        done = join(from, count, 8, numbers);
        break;
    }
    for (; done < count; done++) {
        numbers[done] = 0;
        for (unsigned p = 0; p < planes; p++) numbers[done] |= (uint64_t)from[p * count + done] << (8 * p);
    }
}

bool fm_native_numbers_load(const uint8_t *from, size_t count, const fm_native_part *part, uint64_t *numbers)
{
    fm_native_planes_load(from, count, part->planes, numbers);
    const uint8_t *places = from + count * part->planes, *values = places + 2 * (size_t)part->exceptions;
    for (size_t e = 0; e < part->exceptions; e++) {
        size_t place = fm_load16(places + 2 * e);
        if (place >= count) return false;
        numbers[place] = fm_load64(values + 8 * e);
    }
    return true;
}

/* ---- tables ---- */

void fm_native_table_store(uint64_t *values, size_t count, uint8_t *to)
{
    for (size_t t = count; t-- > 1;) values[t] = fm_zigzag(values[t] - values[t - 1]);
    if (count > 0) values[0] = fm_zigzag(values[0]);
    fm_native_planes_store(values, count, 8, to);
}

void fm_native_table_load(const uint8_t *from, size_t count, uint64_t *values)
{
    fm_native_planes_load(from, count, 8, values);
    uint64_t value = 0;
    for (size_t t = 0; t < count; t++) values[t] = value += fm_unzigzag(values[t]);
}

/* ======== looking back ======== */

/*
 * Programs touch a few streams in turn (the stack, two arrays, a table), so the difference to the last
 * address jumps about, but the difference to the address one turn of the loop ago is small and the same
 * every time. The reader only adds; all cleverness is in which of the last 256 values is chosen:
 *
 *   1. what was right the last time after the same two choices: loops then repeat their bytes exactly,
 *      which is what zstd finds best;
 *   2. else the nearest value among the last NEAR, the latest of those.
 *
 * The second is needed for every third to second reference and compares 32 values each time: that is done in
 * vectors where the machine has them.
 */

enum {
    HISTORY = 256,     /* a look-back byte reaches this far */
    NEAR = 32,         /* values that are tried for the smallest difference */
    CONTEXT_BITS = 13, /* of the table of earlier choices */
};

typedef struct choice {
    uint64_t difference;
    uint32_t back;
    uint32_t mixed; /* of the two: its share in the context of the next choices */
} choice;

typedef void (*chooser)(choice *contexts, const uint64_t *values, size_t count, uint8_t *back,
                        uint64_t *codes);

struct fm_native_lookback {
    chooser choose;
    choice contexts[1 << CONTEXT_BITS];
};

static inline choice make_choice(uint64_t difference, uint32_t back)
{
    uint64_t mixed = (difference * 31 + back) * UINT64_C(0x9E3779B97F4A7C15);
    return (choice){difference, back, (uint32_t)((mixed ^ mixed >> 29) * UINT64_C(0xBF58476D1CE4E5B9) >> 32)};
}

/* The nearest of the last values, the latest of those that are equally near. */
static inline choice nearest_portable(const uint64_t *values, size_t i)
{
    size_t most = i < NEAR ? i : NEAR;
    uint64_t difference = values[i]; /* before the first reference: 0 */
    uint32_t best = (uint32_t)i;
    uint64_t least = i < HISTORY ? fm_zigzag(values[i]) : UINT64_MAX;
    for (size_t back = 0; back < most; back++) {
        uint64_t code = fm_zigzag(values[i] - values[i - 1 - back]);
        if (code < least || (back == 0 && i >= HISTORY)) {
            least = code;
            difference = values[i] - values[i - 1 - back];
            best = (uint32_t)back;
        }
    }
    return make_choice(difference, best);
}

static inline uint32_t context_of(uint32_t before, uint32_t last)
{
    return ((before << 9 | before >> 23) ^ last) >> (32 - CONTEXT_BITS);
}

/* Begins with references from `i` on, and after two choices: returns what the last two were. */
typedef struct memory_of_choices {
    uint32_t before, last; /* choice.mixed */
} memory_of_choices;

static memory_of_choices choose_branching(memory_of_choices memory, choice *contexts, const uint64_t *values,
                                          size_t from, size_t to, uint8_t *back, uint64_t *codes)
{
    for (size_t i = from; i < to; i++) {
        choice *known = &contexts[context_of(memory.before, memory.last)];
        uint64_t reached = known->back < i ? values[i - 1 - known->back] : 0;
        if (reached + known->difference != values[i]) *known = nearest_portable(values, i);
        back[i] = (uint8_t)known->back;
        codes[i] = fm_zigzag(known->difference);
        memory = (memory_of_choices){memory.last, known->mixed};
    }
    return memory;
}

static void choose_portable(choice *contexts, const uint64_t *values, size_t count, uint8_t *back,
                            uint64_t *codes)
{
    choose_branching((memory_of_choices){0, 0}, contexts, values, 0, count, back, codes);
}

/* The same where finding the nearest costs less than guessing wrong whether it is needed: it is found for
 * every value, beside the chain of choices. nearest is a constant wherever this is inlined. */
static inline __attribute__((always_inline)) void choose_always(choice (*nearest)(const uint64_t *, size_t),
                                                                choice *contexts, const uint64_t *values,
                                                                size_t count, uint8_t *back, uint64_t *codes)
{
    size_t begun = count < HISTORY ? count : HISTORY;
    memory_of_choices memory =
        choose_branching((memory_of_choices){0, 0}, contexts, values, 0, begun, back, codes);
    for (size_t i = begun; i < count; i++) {
        choice near = nearest(values, i);
        choice *known = &contexts[context_of(memory.before, memory.last)];
        choice now = *known;
        uint64_t wrong = values[i - 1 - now.back] + now.difference == values[i] ? 0 : UINT64_MAX;
        now.difference ^= (now.difference ^ near.difference) & wrong;
        now.back ^= (now.back ^ near.back) & (uint32_t)wrong;
        now.mixed ^= (now.mixed ^ near.mixed) & (uint32_t)wrong;
        *known = now;
        back[i] = (uint8_t)now.back;
        codes[i] = fm_zigzag(now.difference);
        memory = (memory_of_choices){memory.last, now.mixed};
    }
}

#ifdef __x86_64__
#include <immintrin.h>

/* Differences to the last 32 values, the oldest first: the highest bit of a mask is the latest value. */
__attribute__((target("avx512f"))) static inline choice nearest_avx512(const uint64_t *values, size_t i)
{
    const uint64_t *from = values + i - NEAR;
    __m512i value = _mm512_set1_epi64((long long)values[i]), code[4];
    for (int r = 0; r < 4; r++) {
        __m512i difference = _mm512_sub_epi64(value, _mm512_loadu_si512(from + 8 * r));
        code[r] =
            _mm512_xor_si512(_mm512_add_epi64(difference, difference), _mm512_srai_epi64(difference, 63));
    }
    __m512i least = _mm512_min_epu64(_mm512_min_epu64(code[0], code[1]), _mm512_min_epu64(code[2], code[3]));
    least = _mm512_set1_epi64((long long)_mm512_reduce_min_epu64(least));
    uint32_t where = 0;
    for (int r = 0; r < 4; r++) where |= (uint32_t)_mm512_cmpeq_epi64_mask(code[r], least) << (8 * r);
    uint32_t back = (uint32_t)__builtin_clz(where);
    return make_choice(values[i] - values[i - 1 - back], back);
}

__attribute__((target("avx512f"))) static void choose_avx512(choice *contexts, const uint64_t *values,
                                                             size_t count, uint8_t *back, uint64_t *codes)
{
    choose_always(nearest_avx512, contexts, values, count, back, codes);
}

__attribute__((target("avx2"))) static inline choice nearest_avx2(const uint64_t *values, size_t i)
{
    const uint64_t *from = values + i - NEAR;
    /* Comparisons are of signed numbers: with the highest bit turned, they order unsigned ones. */
    const __m256i turn = _mm256_set1_epi64x(INT64_MIN), zero = _mm256_setzero_si256();
    __m256i value = _mm256_set1_epi64x((long long)values[i]), code[8];
    for (int r = 0; r < 8; r++) {
        __m256i difference =
            _mm256_sub_epi64(value, _mm256_loadu_si256((const __m256i *)(const void *)(from + 4 * r)));
        __m256i sign = _mm256_xor_si256(_mm256_cmpgt_epi64(zero, difference), turn);
        code[r] = _mm256_xor_si256(_mm256_add_epi64(difference, difference), sign);
    }
    __m256i least = code[0];
    for (int r = 1; r < 8; r++)
        least = _mm256_blendv_epi8(least, code[r], _mm256_cmpgt_epi64(least, code[r]));
    __m256i other = _mm256_permute4x64_epi64(least, 0x4E); /* halves exchanged, then neighbours */
    least = _mm256_blendv_epi8(least, other, _mm256_cmpgt_epi64(least, other));
    other = _mm256_permute4x64_epi64(least, 0xB1);
    least = _mm256_blendv_epi8(least, other, _mm256_cmpgt_epi64(least, other));
    uint32_t where = 0;
    for (int r = 0; r < 8; r++)
        where |= (uint32_t)_mm256_movemask_pd(_mm256_castsi256_pd(_mm256_cmpeq_epi64(code[r], least)))
                 << (4 * r);
    uint32_t back = (uint32_t)__builtin_clz(where);
    return make_choice(values[i] - values[i - 1 - back], back);
}

__attribute__((target("avx2"))) static void choose_avx2(choice *contexts, const uint64_t *values,
                                                        size_t count, uint8_t *back, uint64_t *codes)
{
    choose_always(nearest_avx2, contexts, values, count, back, codes);
}

static chooser find_chooser(const char *isa)
{
    if ((!isa || strcmp(isa, "avx512") == 0) && __builtin_cpu_supports("avx512f")) return choose_avx512;
    if ((!isa || strcmp(isa, "avx2") == 0) && __builtin_cpu_supports("avx2")) return choose_avx2;
    return choose_portable;
}

#else

static chooser find_chooser(const char *isa)
{
    (void)isa;
    return choose_portable;
}

#endif

fm_native_lookback *fm_native_lookback_create(const char *isa)
{
    fm_native_lookback *lookback = fm_calloc(1, sizeof *lookback);
    if (lookback) lookback->choose = find_chooser(isa);
    return lookback;
}

void fm_native_lookback_destroy(fm_native_lookback *lookback)
{
    free(lookback);
}

void fm_native_lookback_choose(fm_native_lookback *lookback, const uint64_t *values, size_t count,
                               uint8_t *back, uint64_t *codes)
{
    memset(lookback->contexts, 0, sizeof lookback->contexts);
    lookback->choose(lookback->contexts, values, count, back, codes);
}

/* ======== sites ======== */

/*
 * A hash table of small numbers in front of the entries themselves,
 * which lie side by side in order of appearance: what a loop uses is together.
 */

enum { SLOT_BITS = 15, SLOTS = 1 << SLOT_BITS };

typedef struct entry {
    uint64_t site;
    uint64_t what; /* size and thread */
    uint64_t kind;
    uint64_t unused; /* 32 bytes: no entry straddles cache lines */
} entry;

struct fm_native_sites {
    entry entries[FM_NATIVE_SITES_MOST]; /* first: it begins with a page */
    uint32_t generation;                 /* of the block: slots of earlier ones are empty */
    uint32_t slots[SLOTS];               /* generation << 16 | entry */
    uint16_t first[FM_NATIVE_SITES_MOST];
    uint16_t next[FM_NATIVE_SITES_MOST]; /* which entry followed each the last time */
};

fm_native_sites *fm_native_sites_create(void)
{
    return fm_pages_allocate(sizeof(fm_native_sites));
}

void fm_native_sites_destroy(fm_native_sites *sites)
{
    fm_pages_free(sites, sizeof *sites);
}

const uint16_t *fm_native_sites_first(const fm_native_sites *sites)
{
    return sites->first;
}

static inline uint32_t slot_of(const entry *key)
{
    uint64_t mixed = (key->site ^ key->kind << 60) * UINT64_C(0x9E3779B97F4A7C15) +
                     key->what * UINT64_C(0xD6E8FEB86659FD93);
    return (uint32_t)((mixed ^ mixed >> 32) * UINT64_C(0xBF58476D1CE4E5B9) >> (64 - SLOT_BITS));
}

static inline bool is_same(const entry *a, const entry *b)
{
    return ((a->site ^ b->site) | (a->what ^ b->what) | (a->kind ^ b->kind)) == 0;
}

static void next_generation(fm_native_sites *sites)
{
    if (++sites->generation <= UINT16_MAX) return;
    memset(sites->slots, 0, sizeof sites->slots);
    sites->generation = 1;
}

/* The entry that is the key, or a new one; SIZE_MAX when there are `most` already. */
static size_t native_sites_find(fm_native_sites *sites, const entry *key, size_t i, size_t *found,
                                size_t most)
{
    for (uint32_t at = slot_of(key);; at = (at + 1) & (SLOTS - 1)) {
        uint32_t slot = sites->slots[at];
        if (slot >> 16 == sites->generation) {
            if (is_same(&sites->entries[slot & UINT16_MAX], key)) return slot & UINT16_MAX;
            continue;
        }
        if (*found == most) return SIZE_MAX;
        size_t added = (*found)++;
        sites->slots[at] = sites->generation << 16 | (uint32_t)added;
        sites->entries[added] = *key;
        sites->first[added] = (uint16_t)i;
        sites->next[added] = 0;
        return added;
    }
}

size_t fm_native_sites_index(fm_native_sites *sites, const fm_columns *columns, unsigned with, size_t most,
                             uint16_t *indices)
{
    /* A column that does not count is read as its one first value, again and again. */
    static const uint32_t zero32 = 0;
    static const uint8_t zero8 = 0;
    const uint32_t *size = with & FM_COLUMN_SIZE && columns->size ? columns->size : &zero32;
    const uint32_t *thread = with & FM_COLUMN_THREAD && columns->thread ? columns->thread : &zero32;
    const uint8_t *kind = with & FM_COLUMN_KIND && columns->kind ? columns->kind : &zero8;
    size_t size_step = size != &zero32, thread_step = thread != &zero32, kind_step = kind != &zero8;
    size_t found = 0, last = 0;
    next_generation(sites);
    for (size_t i = 0; i < columns->count; i++) {
        entry key = {columns->site[i], size[i * size_step] | (uint64_t)thread[i * thread_step] << 32,
                     kind[i * kind_step], 0};
        /* What followed the last time is what follows nine times of ten. */
        size_t index = sites->next[last];
        if (found == 0 || !is_same(&sites->entries[index], &key)) {
            index = native_sites_find(sites, &key, i, &found, most);
            if (index == SIZE_MAX) return 0;
            sites->next[last] = (uint16_t)index;
        }
        indices[i] = (uint16_t)index;
        last = index;
    }
    return found;
}

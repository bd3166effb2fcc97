/* SPDX-License-Identifier: Apache-2.0 */
/* native_planes.c - see native_planes.h. Loops are written so that compilers turn them into vector code. */
#include "trace/native/native_planes.h"

#include "base/bytes.h"

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

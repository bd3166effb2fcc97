/* SPDX-License-Identifier: Apache-2.0 */
/*
 * text_numbers.h - numbers of digits, for the kernels of text_kernels_body.h. To be compiled once per
 * instruction set.
 *
 * Numbers are right-aligned in a vector of 16 bytes by loading the 16 bytes before their end; what is before
 * their beginning is masked. So no step depends on how many digits there are.
 */
#ifndef FATHOM_TRACE_TEXT_NUMBERS_H
#define FATHOM_TRACE_TEXT_NUMBERS_H

#include "trace/lines/text_stretch.h"

enum { DIGITS_MOST = 16 };

/* Bytes 16 - n … 15 of (masks + n) are set. */
static const uint8_t masks[2 * DIGITS_MOST] __attribute__((aligned(2 * DIGITS_MOST))) = {
    0,   0,   0,   0,   0,   0,   0,   0,   0,   0,   0,   0,   0,   0,   0,   0,
    255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255};

/* The `length` bytes before `end` (1 to 16), right-aligned; what is before them is 0 in *mask. */
static inline __m128i load_before(const char *end, size_t length, __m128i *mask)
{
    *mask = _mm_loadu_si128((const __m128i *)(masks + length));
    return _mm_loadu_si128((const __m128i *)(end - DIGITS_MOST));
}

/* The bytes that are at most those of `most`, without sign. */
static inline __m128i at_most(__m128i bytes, __m128i most)
{
    return _mm_cmpeq_epi8(_mm_min_epu8(bytes, most), bytes);
}

/* ---- one decimal number ---- */

/* 1 to 16 decimal digits in [from, end); false: something else. */
static inline bool sixteen_digits(const char *from, const char *end, uint64_t *value)
{
    const size_t length = (size_t)(end - from);
    if (length - 1 >= DIGITS_MOST) return false;
    __m128i mask, bytes = load_before(end, length, &mask);
    bytes = _mm_and_si128(_mm_sub_epi8(bytes, _mm_set1_epi8('0')), mask);
    if (_mm_movemask_epi8(at_most(bytes, _mm_set1_epi8(9))) != 0xffff) return false;
    const __m128i pairs = _mm_maddubs_epi16(bytes, _mm_set1_epi16(0x010a)); /* 10 · first + second */
    const __m128i fours = _mm_madd_epi16(pairs, _mm_set1_epi32(0x10064));   /* 100 · … */
    const __m128i eights =
        _mm_madd_epi16(_mm_packus_epi32(fours, fours), _mm_set1_epi32(0x12710)); /* 10000 · … */
    const uint64_t both = (uint64_t)_mm_cvtsi128_si64(eights);
    *value = (both & UINT32_MAX) * 100000000 + (both >> 32);
    return true;
}

/* 1 to 20, as long as the number fits 64 bits. */
static inline bool digits_decimal(const char *from, const char *end, uint64_t *value)
{
    if (end - from <= DIGITS_MOST) return sixteen_digits(from, end, value);
    const char *middle = end - DIGITS_MOST;
    uint64_t high;
    return end - from <= 20 && sixteen_digits(from, middle, &high) && sixteen_digits(middle, end, value) &&
           !__builtin_mul_overflow(high, UINT64_C(10000000000000000), &high) &&
           !__builtin_add_overflow(high, *value, value);
}

/* ---- four at once ---- */

/* Where some fields are: places that their ends are behind, and how many '\r' belong to the ends. */
typedef struct field {
    const uint16_t *place;
    size_t returns;
} field;

/* How long it is, with one byte of its end. */
static inline size_t digits_width(field at)
{
    return (size_t)at.place[0] - at.place[-1] - at.returns;
}

/* Two, right-aligned: of digits their values, of other bytes more than 9, before them zeros. */
static inline __m256i load_two(const char *from, field low, field high)
{
    const char *first = from - DIGITS_MOST - 1;
    const __m256i bytes = _mm256_loadu2_m128i((const __m128i *)(first - high.returns + *high.place),
                                              (const __m128i *)(first - low.returns + *low.place));
    const __m256i mask = _mm256_loadu2_m128i((const __m128i *)(masks + (digits_width(high) - 1)),
                                             (const __m128i *)(masks + (digits_width(low) - 1)));
    return _mm256_and_si256(_mm256_sub_epi8(bytes, _mm256_set1_epi8('0')), mask);
}

/* What four numbers are multiplied by, below 2^32, and how large they may be before, below 2^63. */
typedef struct scale {
    __m256i unit, most;
    bool plain; /* the units are all 1 */
} scale;

static inline __m256i in_units(__m256i value, __m256i unit)
{
    const __m256i high = _mm256_mul_epu32(_mm256_srli_epi64(value, 32), unit);
    return _mm256_add_epi64(_mm256_mul_epu32(value, unit), _mm256_slli_epi64(high, 32));
}

/* Four numbers of 1 to 16 digits; false: one is something else, or larger than it may be. by: NULL for any,
 * as they are. */
static inline __attribute__((always_inline)) bool four_decimals(const char *from, field a, field b, field c,
                                                                field d, const scale *by, __m256i *values)
{
    if (((digits_width(a) - 2) | (digits_width(b) - 2) | (digits_width(c) - 2) | (digits_width(d) - 2)) >=
        DIGITS_MOST)
        return false;
    /* in this order, so that packing puts them into theirs */
    const __m256i first = load_two(from, a, c), second = load_two(from, b, d);
    const __m256i tens = _mm256_set1_epi16(0x010a), hundreds = _mm256_set1_epi32(0x10064);
    const __m256i fours =
        _mm256_packus_epi32(_mm256_madd_epi16(_mm256_maddubs_epi16(first, tens), hundreds),
                            _mm256_madd_epi16(_mm256_maddubs_epi16(second, tens), hundreds));
    const __m256i eights = _mm256_madd_epi16(fours, _mm256_set1_epi32(0x12710));
    const __m256i value = _mm256_add_epi64(_mm256_mul_epu32(eights, _mm256_set1_epi64x(100000000)),
                                           _mm256_srli_epi64(eights, 32));
    __m256i wrong = _mm256_subs_epu8(_mm256_max_epu8(first, second), _mm256_set1_epi8(9));
    if (by) wrong = _mm256_or_si256(wrong, _mm256_cmpgt_epi64(value, by->most));
    *values = by && !by->plain ? in_units(value, by->unit) : value;
    return _mm256_testz_si256(wrong, wrong);
}

/* ---- hexadecimal numbers ---- */

/* What hexadecimal digits are told by, kept in registers: the compiler would make each anew for every line.
 */
typedef struct hex_marks {
    __m128i zero, nine, small, a, five, ten;
} hex_marks;

static inline __m128i all_bytes(int value)
{
    __m128i bytes = _mm_set1_epi8((char)value);
    __asm__("" : "+x"(bytes)); /* no longer known to be a constant */
    return bytes;
}

static inline hex_marks hex_marks_make(void)
{
    return (hex_marks){.zero = all_bytes('0'),
                       .nine = all_bytes(9),
                       .small = all_bytes('a' ^ 'A'),
                       .a = all_bytes('a'),
                       .five = all_bytes(5),
                       .ten = all_bytes(10)};
}

/* 1 to 16 hexadecimal digits of either case. */
static inline bool digits_hexadecimal(const hex_marks *marks, const char *from, const char *end,
                                      uint64_t *value)
{
    const size_t length = (size_t)(end - from);
    if (length - 1 >= DIGITS_MOST) return false;
    __m128i mask, bytes = load_before(end, length, &mask);
    const __m128i digit = _mm_sub_epi8(bytes, marks->zero);
    const __m128i letter = _mm_sub_epi8(_mm_or_si128(bytes, marks->small), marks->a);
    const __m128i is_digit = at_most(digit, marks->nine), is_letter = at_most(letter, marks->five);
    const __m128i right = _mm_or_si128(is_digit, is_letter);
    if (!_mm_testc_si128(right, mask)) return false;
    /* of a digit, letter + 10 is above 200; of a letter, digit is above 15 */
    const __m128i nibbles = _mm_and_si128(_mm_min_epu8(_mm_add_epi8(letter, marks->ten), digit), mask);
    const __m128i pairs = _mm_maddubs_epi16(nibbles, _mm_set1_epi16(0x0110)); /* 16 · first + second */
    *value = __builtin_bswap64((uint64_t)_mm_cvtsi128_si64(_mm_packus_epi16(pairs, pairs)));
    return true;
}

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * text_avx2.c - see text_kernels.h (compiler flags: cmake/library.cmake).
 *
 * Numbers are right-aligned in a vector of 16 bytes by loading the 16 bytes before their end; what is before
 * their beginning is masked. So no step depends on how many digits there are, and no number waits for the one
 * before it: the places of line ends come from a bit mask.
 */
#include "trace/import/text_kernels.h"

#include <fathom/trace.h>

#if defined(__x86_64__)

#include <immintrin.h>
#include <string.h>

enum { STEP = 64, DIGITS_MOST = 16 };

/* Bytes 16 - n … 15 of (MASKS + n) are set. */
static const uint8_t masks[2 * DIGITS_MOST] = {0,   0,   0,   0,   0,   0,   0,   0,   0,   0,   0,
                                               0,   0,   0,   0,   0,   255, 255, 255, 255, 255, 255,
                                               255, 255, 255, 255, 255, 255, 255, 255, 255, 255};

static bool usable(void)
{
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi");
}

/* The bits of the bytes that are a. */
static inline uint64_t equal(const char *from, char a)
{
    const __m256i wanted = _mm256_set1_epi8(a);
    const __m256i low = _mm256_loadu_si256((const __m256i *)from);
    const __m256i high = _mm256_loadu_si256((const __m256i *)(from + 32));
    return (uint32_t)_mm256_movemask_epi8(_mm256_cmpeq_epi8(low, wanted)) |
           (uint64_t)(uint32_t)_mm256_movemask_epi8(_mm256_cmpeq_epi8(high, wanted)) << 32;
}

/* The bits of what comes before end. */
static inline uint64_t before(const char *from, const char *end)
{
    return end - from < STEP ? (UINT64_C(1) << (end - from)) - 1 : UINT64_MAX;
}

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

/* Decimal digits in [from, end); false: something else, or too many. */
static inline bool decimal(const char *from, const char *end, uint64_t *value)
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

/* Two of them at once. */
static inline bool two_decimals(const char *const from[2], const char *const end[2], uint64_t value[2])
{
    const size_t length[2] = {(size_t)(end[0] - from[0]), (size_t)(end[1] - from[1])};
    if (length[0] - 1 >= DIGITS_MOST || length[1] - 1 >= DIGITS_MOST) return false;
    __m128i mask[2];
    const __m128i first = load_before(end[0], length[0], &mask[0]),
                  second = load_before(end[1], length[1], &mask[1]);
    __m256i bytes = _mm256_sub_epi8(_mm256_set_m128i(second, first), _mm256_set1_epi8('0'));
    bytes = _mm256_and_si256(bytes, _mm256_set_m128i(mask[1], mask[0]));
    const __m256i digits = _mm256_cmpeq_epi8(_mm256_min_epu8(bytes, _mm256_set1_epi8(9)), bytes);
    if (_mm256_movemask_epi8(digits) != -1) return false;
    const __m256i pairs = _mm256_maddubs_epi16(bytes, _mm256_set1_epi16(0x010a));
    const __m256i fours = _mm256_madd_epi16(pairs, _mm256_set1_epi32(0x10064));
    const __m256i eights = _mm256_madd_epi16(_mm256_packus_epi32(fours, fours), _mm256_set1_epi32(0x12710));
    for (unsigned i = 0; i < 2; i++) {
        const __m128i half = i ? _mm256_extracti128_si256(eights, 1) : _mm256_castsi256_si128(eights);
        const uint64_t both = (uint64_t)_mm_cvtsi128_si64(half);
        value[i] = (both & UINT32_MAX) * 100000000 + (both >> 32);
    }
    return true;
}

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

/* Likewise hexadecimal digits, of either case. */
static inline bool hexadecimal(const hex_marks *marks, const char *from, const char *end, uint64_t *value)
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

static size_t decimals(const char **at, const char *end, uint64_t *keys, size_t room)
{
    const char *line = *at;
    size_t count = 0;
    for (const char *from = line; from < end && count < room; from += STEP) {
        uint64_t ends = equal(from, '\n') & before(from, end);
        for (; ends; ends &= ends - 1) {
            const char *stop = from + __builtin_ctzll(ends);
            if (!decimal(line, stop - (stop[-1] == '\r'), &keys[count])) goto out;
            line = stop + 1;
            if (++count == room) goto out;
        }
    }
out:
    *at = line;
    return count;
}

/* ---- tables ---- */

/* Where the field of the row behind `before` delimiters lies; `ends` has the bits of delimiters and of the
 * row's end. */
static inline void field(const char *row, uint64_t ends, uint64_t before, const char **from, const char **end)
{
    *from = row;
    for (; before > 0; before--) {
        *from = row + __builtin_ctzll(ends) + 1;
        ends &= ends - 1;
    }
    *end = row + __builtin_ctzll(ends);
    *end -= **end == '\n' && (*end)[-1] == '\r';
}

/* Where fields end, in the 64 bytes at `from` and in those before. */
typedef struct field_ends {
    const char *from;
    uint64_t now, past;
} field_ends;

static inline void look_at(field_ends *ends, const char *from, char delimiter)
{
    ends->from = from;
    ends->past = ends->now;
    ends->now = equal(from, delimiter);
}

/* The bits of the delimiters in [line, stop), less than 64 bytes, with that of stop; 0: they are more. */
static inline uint64_t ends_in(const field_ends *ends, const char *line, const char *stop)
{
    if (stop - line >= STEP) return 0;
    const uint64_t last = UINT64_C(1) << (stop - line);
    const size_t place = (size_t)(line - ends->from); /* or that less than 0: it began before */
    const uint64_t found =
        line >= ends->from ? ends->now >> place : ends->now << -place | ends->past >> (STEP + place);
    return (found & (last - 1)) | last;
}

/* Key and, where wanted, size of a row. ends: as for field; 0: it is too long. */
static inline bool row(const fm_row_plan *plan, const char *line, uint64_t ends, uint64_t *key,
                       uint32_t *size)
{
    const uint64_t needed = plan->key_column > plan->size_column ? plan->key_column : plan->size_column;
    const uint64_t columns = (uint64_t)__builtin_popcountll(ends);
    const char *from[2], *end[2];
    uint64_t value[2];
    if (columns < needed || (plan->columns && columns != plan->columns)) return false;
    field(line, ends, plan->key_column - 1, &from[0], &end[0]);
    if (!size) return decimal(from[0], end[0], key) && !__builtin_mul_overflow(*key, plan->key_unit, key);
    field(line, ends, plan->size_column - 1, &from[1], &end[1]);
    if (!two_decimals(from, end, value) || __builtin_mul_overflow(value[0], plan->key_unit, key) ||
        __builtin_mul_overflow(value[1], plan->size_unit, &value[1]))
        return false;
    *size = (uint32_t)value[1];
    return value[1] <= UINT32_MAX && *key + value[1] >= *key;
}

static size_t rows(const fm_row_plan *given, const char **at, const char *end, uint64_t *keys,
                   uint32_t *sizes, size_t room)
{
    const fm_row_plan plan = *given;
    const char *line = *at;
    field_ends ends = {0};
    size_t count = 0;
    for (const char *from = line; from < end && count < room; from += STEP) {
        const uint64_t quotes = equal(from, '"');
        uint64_t lines = equal(from, '\n') & before(from, end);
        look_at(&ends, from, plan.delimiter);
        if (quotes) lines &= (quotes & -quotes) - 1;
        for (; lines; lines &= lines - 1) {
            const char *stop = from + __builtin_ctzll(lines);
            if (!row(&plan, line, ends_in(&ends, line, stop), &keys[count], sizes ? &sizes[count] : NULL))
                goto out;
            line = stop + 1;
            if (++count == room) goto out;
        }
        if (quotes) break;
    }
out:
    *at = line;
    return count;
}

/* ---- traces of memory ---- */

/* The kind by the first three characters, without branches: they come in no order. The second one's low bits
 * tell the four apart. */
static inline bool lackey_kind(const char *line, uint8_t *kind)
{
    enum { L = 'L' & 31, S = 'S' & 31, M = 'M' & 31, FETCH = ' ' & 31, BLANKS = ' ' | ' ' << 16 };
    static const uint32_t marks[32] = {[L] = BLANKS | 'L' << 8,
                                       [S] = BLANKS | 'S' << 8,
                                       [M] = BLANKS | 'M' << 8,
                                       [FETCH] = 'I' | ' ' << 8 | ' ' << 16};
    static const uint8_t kinds[32] = {
        [L] = FM_KIND_LOAD, [S] = FM_KIND_STORE, [M] = FM_KIND_MODIFY, [FETCH] = FM_KIND_FETCH};
    uint32_t mark;
    memcpy(&mark, line, sizeof mark);
    const unsigned place = mark >> 8 & 31;
    *kind = kinds[place];
    return (mark & 0xffffff) == marks[place];
}

/* The size at the end of a line, and the comma before it: one or two digits, as nearly all are. Any other,
 * and a carriage return behind it, is left to the parser. */
static inline bool lackey_size(const char *stop, const char **comma, uint32_t *size)
{
    const uint32_t last = (uint32_t)(unsigned char)stop[-1] - '0';
    if (__builtin_expect(stop[-2] == ',', true)) {
        *comma = stop - 2;
        *size = last;
        return last - 1 < 9;
    }
    const uint32_t first = (uint32_t)(unsigned char)stop[-2] - '0';
    *comma = stop - 3;
    *size = 10 * first + last;
    return **comma == ',' && last <= 9 && first <= 9 && *size != 0;
}

static size_t lackey(const char **at, const char *end, uint64_t *addresses, uint32_t *sizes, uint8_t *kinds,
                     size_t room)
{
    const hex_marks marks = hex_marks_make();
    const char *line = *at;
    size_t count = 0;
    for (const char *from = line; from < end && count < room; from += STEP) {
        uint64_t ends = equal(from, '\n') & before(from, end);
        for (; ends; ends &= ends - 1) {
            const char *stop = from + __builtin_ctzll(ends), *comma;
            if (!lackey_kind(line, &kinds[count])) goto out;
            if (!lackey_size(stop, &comma, &sizes[count])) goto out;
            if (!hexadecimal(&marks, line + 3, comma, &addresses[count])) goto out;
            line = stop + 1;
            if (++count == room) goto out;
        }
    }
out:
    *at = line;
    return count;
}

static size_t din(const char **at, const char *end, uint64_t *addresses, uint8_t *kinds, size_t room)
{
    static const uint8_t kind[4] = {FM_KIND_LOAD, FM_KIND_STORE, FM_KIND_FETCH, FM_KIND_LOAD};
    const hex_marks marks = hex_marks_make();
    const char *line = *at;
    size_t count = 0;
    for (const char *from = line; from < end && count < room; from += STEP) {
        uint64_t ends = equal(from, '\n') & before(from, end);
        for (; ends; ends &= ends - 1) {
            const char *stop = from + __builtin_ctzll(ends);
            const unsigned label = (unsigned char)line[0] - (unsigned)'0';
            if (label > 3 || line[1] != ' ') goto out;
            if (!hexadecimal(&marks, line + 2, stop - (stop[-1] == '\r'), &addresses[count])) goto out;
            kinds[count] = kind[label];
            line = stop + 1;
            if (++count == room) goto out;
        }
    }
out:
    *at = line;
    return count;
}

const fm_text_kernels fm_text_avx2 = {
    .isa = "avx2", .usable = usable, .decimals = decimals, .rows = rows, .lackey = lackey, .din = din};

const fm_text_kernels *fm_text_kernels_find(void)
{
    return usable() ? &fm_text_avx2 : NULL;
}

#else

const fm_text_kernels *fm_text_kernels_find(void)
{
    return NULL;
}

#endif

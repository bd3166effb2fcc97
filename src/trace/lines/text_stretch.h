/* SPDX-License-Identifier: Apache-2.0 */
/*
 * text_stretch.h - where lines and fields end in a stretch of text, for the kernels of text_kernels_body.h.
 * To be compiled once per instruction set.
 *
 * All ends of a few KiB are written into an array first, without a branch that depends on the text; who makes
 * numbers of what is between them then runs over the array in a plain loop. A loop over the ends of each 64
 * bytes would end after another count nearly every time, and a processor that guesses that wrongly loses more
 * time than all the numbers take.
 */
#ifndef FATHOM_TRACE_TEXT_STRETCH_H
#define FATHOM_TRACE_TEXT_STRETCH_H

#include <immintrin.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A stretch begins short, so that little is lost where every second line is an odd one, and stays in the
 * first cache. */
enum { STEP = 64, LEAST_SPAN = STEP, SMALL_SPAN = 512, MOST_SPAN = 4096 };

/* Whole lines, and the beginning of another. Places are counted from `from`. */
typedef struct stretch {
    const char *from;
    size_t span;  /* how many bytes are looked at */
    size_t lines; /* how many are whole */
    size_t ends;  /* how many were written, those of the beginning of another line among them */
    enum { NO_RETURNS, ALL_RETURNS, SOME_RETURNS } returns; /* lines with a '\r' before their '\n' */
    bool cut; /* before a quote, or behind a '\r' within a line */
    /* From [1] on, the place behind each end; before that a 0, where the first field begins. Behind them,
     * room for what is written at once. */
    uint16_t places[1 + MOST_SPAN + STEP];
} stretch;

/* The bits of what comes before end. */
static inline uint64_t bytes_before(const char *from, const char *end)
{
    return end - from < STEP ? (UINT64_C(1) << (end - from)) - 1 : UINT64_MAX;
}

#if defined(__AVX512VBMI2__)

/* The bits of the bytes that are a. */
static inline uint64_t bytes_equal(const char *from, char a)
{
    return _mm512_cmpeq_epi8_mask(_mm512_loadu_si512(from), _mm512_set1_epi8(a));
}

/* Writes the place behind each end of the 64 bytes at `at`, and more, which the next ones cover. */
static inline uint16_t *write_places(uint16_t *to, uint64_t ends, size_t at)
{
    static const uint8_t numbers[STEP] __attribute__((aligned(STEP))) = {
        0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21,
        22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32, 33, 34, 35, 36, 37, 38, 39, 40, 41, 42, 43,
        44, 45, 46, 47, 48, 49, 50, 51, 52, 53, 54, 55, 56, 57, 58, 59, 60, 61, 62, 63};
    const unsigned count = (unsigned)__builtin_popcountll(ends);
    const __m512i some = _mm512_maskz_compress_epi8(ends, _mm512_load_si512(numbers));
    const __m512i first = _mm512_set1_epi16((short)(at + 1));
    const __m512i low = _mm512_cvtepu8_epi16(_mm512_castsi512_si256(some));
    _mm512_storeu_si512(to, _mm512_add_epi16(low, first));
    if (__builtin_expect(count > STEP / 2, false)) {
        const __m512i high = _mm512_cvtepu8_epi16(_mm512_extracti64x4_epi64(some, 1));
        _mm512_storeu_si512(to + STEP / 2, _mm512_add_epi16(high, first));
    }
    return to + count;
}

#else

static inline uint64_t bytes_equal(const char *from, char a)
{
    const __m256i wanted = _mm256_set1_epi8(a);
    const __m256i low = _mm256_loadu_si256((const __m256i *)from);
    const __m256i high = _mm256_loadu_si256((const __m256i *)(from + 32));
    return (uint32_t)_mm256_movemask_epi8(_mm256_cmpeq_epi8(low, wanted)) |
           (uint64_t)(uint32_t)_mm256_movemask_epi8(_mm256_cmpeq_epi8(high, wanted)) << 32;
}

/* For each byte, the places of its bits, one a byte; behind them zeros. */
#define PLACE(byte, bit)                                                                                     \
    ((uint64_t)((byte) >> (bit)&1) * (bit) << 8 * __builtin_popcount((byte) & ((1 << (bit)) - 1)))
#define PLACES(byte)                                                                                         \
    (PLACE(byte, 1) | PLACE(byte, 2) | PLACE(byte, 3) | PLACE(byte, 4) | PLACE(byte, 5) | PLACE(byte, 6) |   \
     PLACE(byte, 7))
#define FOUR(byte) PLACES(byte), PLACES((byte) + 1), PLACES((byte) + 2), PLACES((byte) + 3)
#define SIXTEEN(byte) FOUR(byte), FOUR((byte) + 4), FOUR((byte) + 8), FOUR((byte) + 12)
#define SIXTY_FOUR(byte) SIXTEEN(byte), SIXTEEN((byte) + 16), SIXTEEN((byte) + 32), SIXTEEN((byte) + 48)
static const uint64_t places_of_bits[256] = {SIXTY_FOUR(0), SIXTY_FOUR(64), SIXTY_FOUR(128), SIXTY_FOUR(192)};
#undef PLACE
#undef PLACES
#undef FOUR
#undef SIXTEEN
#undef SIXTY_FOUR

static inline uint16_t *write_places(uint16_t *to, uint64_t ends, size_t at)
{
    __m128i first = _mm_set1_epi16((short)(at + 1));
    for (unsigned i = 0; i < STEP; i += 8) {
        const unsigned byte = ends >> i & 255;
        const __m128i some = _mm_cvtepu8_epi16(_mm_loadl_epi64((const __m128i *)(places_of_bits + byte)));
        _mm_storeu_si128((__m128i *)to, _mm_add_epi16(some, first));
        first = _mm_add_epi16(first, _mm_set1_epi16(8));
        to += __builtin_popcount(byte);
    }
    return to;
}

#endif

/* Looks at the first bytes of [from, end): as many as text->span, or more where no line ends in these. Fields
 * end at the delimiter, which may be '\n'; quotes: the stretch ends at the first one. False: no whole line
 * was found. */
static inline __attribute__((always_inline)) bool look_at(stretch *text, const char *from, const char *end,
                                                          char delimiter, bool quotes)
{
    for (;; text->span *= 2) {
        const char *stop = (size_t)(end - from) < text->span ? end : from + text->span;
        uint16_t *to = text->places;
        uint64_t with = 0, without = 0, before_this = 0; /* '\r' */
        *to++ = 0;
        text->from = from;
        text->lines = 0;
        text->cut = false;
        for (const char *now = from; now < stop && !text->cut; now += STEP) {
            const uint64_t quote = quotes ? bytes_equal(now, '"') & bytes_before(now, stop) : 0;
            const uint64_t valid = quote ? (quote & -quote) - 1 : bytes_before(now, stop);
            uint64_t lines = bytes_equal(now, '\n') & valid;
            uint64_t ends = delimiter == '\n' ? lines : lines | (bytes_equal(now, delimiter) & valid);
            const uint64_t returns = bytes_equal(now, '\r');
            text->cut = quote != 0;
            if (returns | before_this) {
                const uint64_t returned = returns << 1 | before_this, within = returned & ~lines & valid;
                if (within) { /* in a line that is for the parser */
                    const uint64_t whole = (within & -within) - 1;
                    lines &= whole;
                    ends &= whole;
                    text->cut = true;
                }
                with |= lines & returned;
                without |= lines & ~returned;
                before_this = returns >> (STEP - 1);
            } else {
                without |= lines;
            }
            text->lines += (size_t)__builtin_popcountll(lines);
            to = write_places(to, ends, (size_t)(now - from));
        }
        text->ends = (size_t)(to - text->places) - 1;
        text->returns = !with ? NO_RETURNS : without ? SOME_RETURNS : ALL_RETURNS;
        if (text->lines > 0) return true;
        if (text->cut || text->span >= MOST_SPAN || from == end) return false;
    }
}

/* The next stretch is larger, or smaller. */
static inline void look_further(stretch *text)
{
    if (text->span < MOST_SPAN) text->span *= 2;
}

static inline void look_less(stretch *text)
{
    if (text->span > SMALL_SPAN) text->span = SMALL_SPAN;
}

#endif

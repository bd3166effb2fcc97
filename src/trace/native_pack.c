/* SPDX-License-Identifier: Apache-2.0 */
/*
 * native_pack.c - one column of one block, from values to bytes.
 *
 * Programs touch a few streams in turn (the stack, two arrays, a table), so the difference to the last
 * address jumps about, but the difference to the address one turn of the loop ago is small and the same
 * every time. LOOKBACK codes each value as "how many references back" (a byte) and the difference to the
 * value found there. The reader only adds; all cleverness is in which of the last 256 values is chosen:
 *
 *   1. what was right the last time after the same two choices: loops then repeat their bytes exactly,
 *      which is what zstd finds best;
 *   2. else the nearest value among the last NEAR, the latest of those.
 *
 * Keys without such order (hashed, random) are coded DIRECT. A sample of each block decides. Numbers are
 * then split into byte planes, so that zstd sees the constant high bytes as runs; the few numbers that
 * are longer than the rest become exceptions, so that they do not add planes to all.
 */
#include "trace/native_column.h"

#include "base/bytes.h"
#include "base/memory.h"

#include <stdlib.h>
#include <zstd.h>

enum {
    HISTORY = 256,     /* a look-back byte reaches this far */
    NEAR = 32,         /* values that are tried for the smallest difference */
    CONTEXT_BITS = 13, /* of the table of earlier choices */
    SAMPLE = 4096,     /* references that decide between DIRECT and LOOKBACK */
    DEFAULT_LEVEL = 3,
};

typedef struct choice {
    uint64_t difference;
    uint32_t back;
} choice;

struct fm_native_packer {
    ZSTD_CCtx *zstd; /* NULL: stored without compression */
    uint8_t *raw;
    uint64_t *codes; /* zigzag differences */
    uint8_t *back;
    uint8_t *sample; /* output of a trial */
    choice contexts[1 << CONTEXT_BITS];
};

size_t fm_native_packed_most(void)
{
    return (size_t)FM_NATIVE_BLOCK_MAX * (1 + 8 + 10);
}

fm_native_packer *fm_native_packer_create(int level)
{
    fm_native_packer *packer = fm_calloc(1, sizeof *packer);
    if (!packer) return NULL;
    packer->raw = malloc(fm_native_packed_most());
    packer->codes = fm_calloc(FM_NATIVE_BLOCK_MAX, sizeof *packer->codes);
    packer->back = fm_calloc(FM_NATIVE_BLOCK_MAX, 1);
    packer->sample = malloc(ZSTD_COMPRESSBOUND(SAMPLE * 19));
    bool enough = packer->raw && packer->codes && packer->back && packer->sample;
    if (enough && level >= 0) {
        packer->zstd = ZSTD_createCCtx();
        enough = packer->zstd &&
                 !ZSTD_isError(ZSTD_CCtx_setParameter(packer->zstd, ZSTD_c_compressionLevel,
                                                      level ? level : DEFAULT_LEVEL)) &&
                 !ZSTD_isError(ZSTD_CCtx_setParameter(packer->zstd, ZSTD_c_contentSizeFlag, 1));
    }
    if (enough) return packer;
    fm_native_packer_destroy(packer);
    return NULL;
}

void fm_native_packer_destroy(fm_native_packer *packer)
{
    if (!packer) return;
    ZSTD_freeCCtx(packer->zstd);
    free(packer->raw);
    free(packer->codes);
    free(packer->back);
    free(packer->sample);
    free(packer);
}

static uint64_t zigzag(uint64_t difference)
{
    return difference << 1 ^ (0 - (difference >> 63));
}

/* The nearest of the last values, the latest of those that are equally near. */
static choice nearest(const uint64_t *values, size_t i)
{
    size_t most = i < NEAR ? i : NEAR;
    choice best = {values[i], (uint32_t)i}; /* before the first reference: 0 */
    uint64_t least = i < HISTORY ? zigzag(values[i]) : UINT64_MAX;
    for (size_t back = 0; back < most; back++) {
        uint64_t difference = values[i] - values[i - 1 - back], code = zigzag(difference);
        if (code < least || (back == 0 && i >= HISTORY)) {
            least = code;
            best = (choice){difference, (uint32_t)back};
        }
    }
    return best;
}

static uint32_t context_of(choice before, choice last)
{
    uint64_t mixed = (before.difference * 31 + before.back) * UINT64_C(0x9E3779B97F4A7C15) +
                     (last.difference * 31 + last.back) * UINT64_C(0xD6E8FEB86659FD93);
    return (uint32_t)((mixed ^ mixed >> 29) * UINT64_C(0xBF58476D1CE4E5B9) >> (64 - CONTEXT_BITS));
}

static void choose(fm_native_packer *packer, const uint64_t *values, size_t count)
{
    choice before = {0, 0}, last = {0, 0};
    memset(packer->contexts, 0, sizeof packer->contexts);
    for (size_t i = 0; i < count; i++) {
        choice *known = &packer->contexts[context_of(before, last)];
        uint64_t reached = known->back < i ? values[i - 1 - known->back] : 0;
        choice now = *known;
        if (reached + known->difference != values[i]) *known = now = nearest(values, i);
        packer->back[i] = (uint8_t)now.back;
        packer->codes[i] = zigzag(now.difference);
        before = last;
        last = now;
    }
}

/* Planes and exceptions of count numbers behind `to`; returns the bytes used. */
static size_t split(const uint64_t *numbers, size_t count, fm_native_part *part, uint8_t *to)
{
    size_t longer[9] = {0}; /* longer[p]: numbers that need p bytes */
    for (size_t i = 0; i < count; i++)
        longer[numbers[i] ? (71 - (unsigned)__builtin_clzll(numbers[i])) / 8 : 0]++;
    unsigned planes = 8;
    size_t exceptions = 0;
    while (planes > 0 && exceptions + longer[planes] <= count / 64) exceptions += longer[planes--];
    uint64_t limit = planes == 8 ? UINT64_MAX : (UINT64_C(1) << (8 * planes)) - 1;
    uint8_t *places = to + planes * count, *values = places + 2 * exceptions;
    size_t e = 0;
    for (size_t i = 0; i < count; i++) {
        uint64_t number = numbers[i];
        if (number > limit) {
            fm_store16(places + 2 * e, (uint16_t)i);
            fm_store64(values + 8 * e, number);
            e++;
            number = 0;
        }
        for (unsigned p = 0; p < planes; p++) to[p * count + i] = (uint8_t)(number >> (8 * p));
    }
    part->planes = (uint8_t)planes;
    part->exceptions = (uint32_t)exceptions;
    return (size_t)(values + 8 * exceptions - to);
}

/* Lays the column out in packer->raw. */
static size_t lay_out(fm_native_packer *packer, const uint64_t *values, size_t count, unsigned encoding,
                      fm_native_part *part)
{
    part->encoding = (uint8_t)encoding;
    if (encoding == FM_NATIVE_DIRECT) return split(values, count, part, packer->raw);
    choose(packer, values, count);
    memcpy(packer->raw, packer->back, count);
    return count + split(packer->codes, count, part, packer->raw + count);
}

static size_t trial(fm_native_packer *packer, const uint64_t *values, size_t count, unsigned encoding)
{
    fm_native_part part;
    size_t bytes = lay_out(packer, values, count, encoding, &part);
    if (!packer->zstd) return bytes;
    size_t packed =
        ZSTD_compress2(packer->zstd, packer->sample, ZSTD_COMPRESSBOUND(SAMPLE * 19), packer->raw, bytes);
    return ZSTD_isError(packed) ? bytes : packed;
}

size_t fm_native_pack(fm_native_packer *packer, const uint64_t *values, size_t count, fm_native_part *part,
                      uint8_t *to)
{
    unsigned encoding = FM_NATIVE_DIRECT;
    if (fm_native_width(part->column) == 8) {
        size_t sample = count < SAMPLE ? count : SAMPLE;
        const uint64_t *middle = values + (count - sample) / 2;
        if (trial(packer, middle, sample, FM_NATIVE_LOOKBACK) <
            trial(packer, middle, sample, FM_NATIVE_DIRECT))
            encoding = FM_NATIVE_LOOKBACK;
    }
    size_t bytes = lay_out(packer, values, count, encoding, part);
    part->raw_bytes = part->stored_bytes = (uint32_t)bytes;
    part->codec = FM_NATIVE_STORED;
    if (packer->zstd) {
        /* Where zstd does not make it smaller (it then runs out of room), the bytes are stored. */
        size_t packed = ZSTD_compress2(packer->zstd, to, bytes, packer->raw, bytes);
        if (!ZSTD_isError(packed) && packed < bytes) {
            part->codec = FM_NATIVE_ZSTD;
            part->stored_bytes = (uint32_t)packed;
            return packed;
        }
    }
    memcpy(to, packer->raw, bytes);
    return bytes;
}

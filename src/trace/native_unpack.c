/* SPDX-License-Identifier: Apache-2.0 */
/*
 * native_unpack.c - one column of one block, from bytes to values; the reverse of native_pack.c.
 *
 * The bytes may be anyone's: sizes were checked against the block's header before, everything else is
 * checked here or harmless. A look back before the block's first reference finds the value 0, so any
 * look-back byte is good. Loops are written so that compilers turn all but the last, the sum over the
 * looks back, into vector code.
 */
#include "trace/native_column.h"

#include "base/bytes.h"
#include "base/memory.h"

#include <stdlib.h>
#include <zstd.h>

struct fm_native_unpacker {
    ZSTD_DCtx *zstd;
    uint8_t *raw;      /* decompressed column; fm_native_packed_most() bytes */
    uint64_t *scratch; /* values of a narrow column; FM_NATIVE_BLOCK_MAX */
};

fm_native_unpacker *fm_native_unpacker_create(void)
{
    fm_native_unpacker *unpacker = fm_calloc(1, sizeof *unpacker);
    if (!unpacker) return NULL;
    unpacker->zstd = ZSTD_createDCtx();
    unpacker->raw = malloc(fm_native_packed_most());
    unpacker->scratch = fm_calloc(FM_NATIVE_BLOCK_MAX, sizeof *unpacker->scratch);
    if (unpacker->zstd && unpacker->raw && unpacker->scratch) return unpacker;
    fm_native_unpacker_destroy(unpacker);
    return NULL;
}

void fm_native_unpacker_destroy(fm_native_unpacker *unpacker)
{
    if (!unpacker) return;
    ZSTD_freeDCtx(unpacker->zstd);
    free(unpacker->raw);
    free(unpacker->scratch);
    free(unpacker);
}

/* Byte planes to numbers; planes is a constant wherever this is inlined. */
static inline __attribute__((always_inline)) void join(const uint8_t *restrict raw, size_t count,
                                                       unsigned planes, uint64_t *restrict values)
{
    for (size_t i = 0; i < count; i++) {
        uint64_t value = 0;
        for (unsigned p = 0; p < planes; p++) value |= (uint64_t)raw[p * count + i] << (8 * p);
        values[i] = value;
    }
}

static void join_planes(const uint8_t *raw, size_t count, unsigned planes, uint64_t *values)
{
    switch (planes) {
    case 0:
        memset(values, 0, count * sizeof *values);
        break;
    case 1:
        join(raw, count, 1, values);
        break;
    case 2:
        join(raw, count, 2, values);
        break;
    case 3:
        join(raw, count, 3, values);
        break;
    case 4:
        join(raw, count, 4, values);
        break;
    case 5:
        join(raw, count, 5, values);
        break;
    case 6:
        join(raw, count, 6, values);
        break;
    case 7:
        join(raw, count, 7, values);
        break;
    default:
        join(raw, count, 8, values);
        break;
    }
}

static void look_back(const uint8_t *restrict back, size_t count, uint64_t *values)
{
    for (size_t i = 0; i < count; i++) values[i] = values[i] >> 1 ^ (0 - (values[i] & 1)); /* zigzag */
    size_t i = 0;
    for (; i < count && i < 256; i++)
        if (back[i] < i) values[i] += values[i - 1 - back[i]];
    for (; i < count; i++) values[i] += values[i - 1 - back[i]];
}

static bool unpack_wide(const uint8_t *raw, const fm_native_part *part, size_t count, uint64_t *values)
{
    const uint8_t *back = raw;
    bool looks = part->encoding == FM_NATIVE_LOOKBACK;
    if (looks) raw += count;
    join_planes(raw, count, part->planes, values);
    const uint8_t *places = raw + count * part->planes, *exceptions = places + 2 * (size_t)part->exceptions;
    for (size_t e = 0; e < part->exceptions; e++) {
        size_t place = fm_load16(places + 2 * e);
        if (place >= count) return false;
        values[place] = fm_load64(exceptions + 8 * e);
    }
    if (looks) look_back(back, count, values);
    return true;
}

bool fm_native_unpack(fm_native_unpacker *unpacker, const uint8_t *from, const fm_native_part *part,
                      size_t count, void *to, const char **reason)
{
    const uint8_t *raw = from;
    if (part->codec == FM_NATIVE_ZSTD) {
        size_t size =
            ZSTD_decompressDCtx(unpacker->zstd, unpacker->raw, part->raw_bytes, from, part->stored_bytes);
        if (ZSTD_isError(size) || size != part->raw_bytes) {
            *reason = "a column's zstd frame is damaged";
            return false;
        }
        raw = unpacker->raw;
    }
    unsigned width = fm_native_width(part->column);
    if (width == 1 && part->encoding == FM_NATIVE_DIRECT && part->planes == 1 && part->exceptions == 0) {
        memcpy(to, raw, count);
    } else {
        uint64_t *values = width == 8 ? to : unpacker->scratch;
        if (!unpack_wide(raw, part, count, values)) {
            *reason = "an exception lies outside its block";
            return false;
        }
        if (width == 4)
            for (size_t i = 0; i < count; i++) ((uint32_t *)to)[i] = (uint32_t)values[i];
        if (width == 1)
            for (size_t i = 0; i < count; i++) ((uint8_t *)to)[i] = (uint8_t)values[i];
    }
    if (part->column == FM_NATIVE_KIND) {
        unsigned all = 0;
        for (size_t i = 0; i < count; i++) all |= ((const uint8_t *)to)[i];
        if (all > FM_KIND_FETCH) {
            *reason = "a kind of access is none of 0 to 3";
            return false;
        }
    }
    return true;
}

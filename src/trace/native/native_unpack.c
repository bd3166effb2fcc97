/* SPDX-License-Identifier: Apache-2.0 */
/*
 * native_unpack.c - the columns of one block, from bytes to values; the reverse of native_pack.c.
 *
 * The bytes may be anyone's: sizes were checked against the block's header before, everything else is
 * checked here or harmless. A look back before the block's first reference finds the value 0, so any
 * look-back byte is good.
 */
#include "trace/native/native_planes.h"

#include "base/memory.h"

#include <stdlib.h>
#include <string.h>
#include <zstd.h>

struct fm_native_unpacker {
    ZSTD_DCtx *zstd;
    uint8_t *raw;      /* decompressed column; fm_native_raw_most() bytes */
    uint64_t *scratch; /* values of a narrow column, or its table; FM_NATIVE_BLOCK_MAX, as all that follow */
    uint64_t *table;
    uint16_t *indices;      /* of a table that is not the site's */
    uint16_t *site_indices; /* of the site column, for the others */
};

fm_native_unpacker *fm_native_unpacker_create(void)
{
    fm_native_unpacker *unpacker = fm_calloc(1, sizeof *unpacker);
    if (!unpacker) return NULL;
    unpacker->zstd = ZSTD_createDCtx();
    unpacker->raw = malloc(fm_native_raw_most());
    unpacker->scratch = fm_malloc_array(FM_NATIVE_BLOCK_MAX, sizeof *unpacker->scratch);
    unpacker->table = fm_malloc_array(FM_NATIVE_BLOCK_MAX, sizeof *unpacker->table);
    unpacker->indices = fm_malloc_array(FM_NATIVE_BLOCK_MAX, sizeof *unpacker->indices);
    unpacker->site_indices = fm_malloc_array(FM_NATIVE_BLOCK_MAX, sizeof *unpacker->site_indices);
    if (unpacker->zstd && unpacker->raw && unpacker->scratch && unpacker->table && unpacker->indices &&
        unpacker->site_indices)
        return unpacker;
    fm_native_unpacker_destroy(unpacker);
    return NULL;
}

void fm_native_unpacker_destroy(fm_native_unpacker *unpacker)
{
    if (!unpacker) return;
    ZSTD_freeDCtx(unpacker->zstd);
    free(unpacker->raw);
    free(unpacker->scratch);
    free(unpacker->table);
    free(unpacker->indices);
    free(unpacker->site_indices);
    free(unpacker);
}

static void look_back(const uint8_t *restrict back, size_t count, uint64_t *values)
{
    for (size_t i = 0; i < count; i++) values[i] = fm_unzigzag(values[i]);
    size_t i = 0;
    for (; i < count && i < 256; i++)
        if (back[i] < i) values[i] += values[i - 1 - back[i]];
    for (; i < count; i++) values[i] += values[i - 1 - back[i]];
}

static void by_site(const uint16_t *restrict indices, size_t count, uint64_t *restrict last,
                    uint64_t *restrict values)
{
    for (size_t i = 0; i < count; i++) {
        uint64_t value = last[indices[i]] + fm_unzigzag(values[i]);
        last[indices[i]] = value;
        values[i] = value;
    }
}

/* False: one of them lies outside the table. */
static bool load_indices(const uint8_t *restrict raw, const fm_native_part *part, size_t count,
                         uint16_t *restrict indices)
{
    unsigned most = 0;
    if (part->planes == 0) {
        memset(indices, 0, count * sizeof *indices);
    } else if (part->planes == 1) {
        for (size_t i = 0; i < count; i++) {
            indices[i] = raw[i];
            most = raw[i] > most ? raw[i] : most;
        }
    } else {
        const uint8_t *high = raw + count;
        for (size_t i = 0; i < count; i++) {
            uint16_t index = (uint16_t)(raw[i] | high[i] << 8);
            indices[i] = index;
            most = index > most ? index : most;
        }
    }
    return most < part->entries;
}

static void unpack_narrow(const uint64_t *restrict values, size_t count, unsigned width, void *restrict to)
{
    if (width == 4)
        for (size_t i = 0; i < count; i++) ((uint32_t *)to)[i] = (uint32_t)values[i];
    if (width == 1)
        for (size_t i = 0; i < count; i++) ((uint8_t *)to)[i] = (uint8_t)values[i];
}

/* space: for the table in the width of the values, which then stays in a nearer cache. */
static void look_up(const uint64_t *restrict table, size_t entries, const uint16_t *restrict indices,
                    size_t count, unsigned width, uint64_t *restrict space, void *restrict to)
{
    unpack_narrow(table, entries, width, space);
    if (width == 8) {
        uint64_t *values = to;
        for (size_t i = 0; i < count; i++) values[i] = table[indices[i]];
    } else if (width == 4) {
        const uint32_t *narrowed = (const uint32_t *)space;
        uint32_t *values = to;
        if (entries == 1)
            for (size_t i = 0; i < count; i++) values[i] = narrowed[0];
        else
            for (size_t i = 0; i < count; i++) values[i] = narrowed[indices[i]];
    } else {
        const uint8_t *narrowed = (const uint8_t *)space;
        uint8_t *values = to;
        if (entries == 1)
            memset(values, narrowed[0], count);
        else
            for (size_t i = 0; i < count; i++) values[i] = narrowed[indices[i]];
    }
}

/* Raw bytes to values; to NULL: they are only checked, and kept where others need them. NULL, or what is
 * wrong. */
static const char *unpack_decode(fm_native_unpacker *unpacker, const uint8_t *raw, const fm_native_part *part,
                                 size_t count, void *to)
{
    unsigned width = fm_native_width(part->column);
    size_t numbers = part->raw_bytes - 8 * (size_t)part->entries; /* the table stands behind them */
    uint64_t *values = width == 8 && to ? to : unpacker->scratch, *table = unpacker->table;
    fm_native_table_load(raw + numbers, part->entries, table);
    switch (part->encoding) {
    case FM_NATIVE_TABLE: {
        uint16_t *indices = part->column == FM_NATIVE_SITE ? unpacker->site_indices : unpacker->indices;
        if (!load_indices(raw, part, count, indices)) return "an index lies outside its table";
        if (to) look_up(table, part->entries, indices, count, width, unpacker->scratch, to);
        return NULL;
    }
    case FM_NATIVE_AS_SITE:
        if (to) look_up(table, part->entries, unpacker->site_indices, count, width, unpacker->scratch, to);
        return NULL;
    case FM_NATIVE_BY_SITE:
        if (!fm_native_numbers_load(raw, count, part, values)) return "an exception lies outside its block";
        by_site(unpacker->site_indices, count, table, values);
        return NULL;
    case FM_NATIVE_LOOKBACK:
        if (!fm_native_numbers_load(raw + count, count, part, values))
            return "an exception lies outside its block";
        look_back(raw, count, values);
        break;
    default:
        if (width == 1 && part->planes == 1 && part->exceptions == 0) {
            if (to) memcpy(to, raw, count);
            return NULL;
        }
        if (!fm_native_numbers_load(raw, count, part, values)) return "an exception lies outside its block";
        break;
    }
    if (to) unpack_narrow(values, count, width, to);
    return NULL;
}

static const char *unpack_column(fm_native_unpacker *unpacker, const uint8_t *from,
                                 const fm_native_part *part, size_t count, void *to)
{
    if (part->codec == FM_NATIVE_ZSTD) {
        size_t size =
            ZSTD_decompressDCtx(unpacker->zstd, unpacker->raw, part->raw_bytes, from, part->stored_bytes);
        if (ZSTD_isError(size) || size != part->raw_bytes) return "a column's zstd frame is damaged";
        from = unpacker->raw;
    }
    const char *reason = unpack_decode(unpacker, from, part, count, to);
    if (reason || part->column != FM_NATIVE_KIND) return reason;
    unsigned all = 0;
    for (size_t i = 0; i < count; i++) all |= ((const uint8_t *)to)[i];
    return all > FM_KIND_FETCH ? "a kind of access is none of 0 to 3" : NULL;
}

static void *column_of(const fm_columns *columns, unsigned column)
{
    switch (column) {
    case FM_NATIVE_ADDRESS:
        return columns->address;
    case FM_NATIVE_SIZE:
        return columns->size;
    case FM_NATIVE_KIND:
        return columns->kind;
    case FM_NATIVE_THREAD:
        return columns->thread;
    default:
        return columns->site;
    }
}

bool fm_native_unpack(fm_native_unpacker *unpacker, const uint8_t *payload, const fm_native_block *block,
                      fm_columns *columns, const char **reason)
{
    /* The last column first: where it is the site, the others may need its indices. */
    const uint8_t *at = payload + block->payload_bytes;
    *reason = NULL;
    const fm_native_part *last = &block->parts[block->part_count - 1];
    at -= last->stored_bytes;
    *reason = unpack_column(unpacker, at, last, block->references, column_of(columns, last->column));
    at = payload;
    for (const fm_native_part *part = block->parts; part < last && !*reason; part++) {
        *reason = unpack_column(unpacker, at, part, block->references, column_of(columns, part->column));
        at += part->stored_bytes;
    }
    return !*reason;
}

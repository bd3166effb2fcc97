/* SPDX-License-Identifier: Apache-2.0 */
/* native_pack.c - columns of a block to bytes. */
#include "base/bytes.h"
#include "base/memory.h"
#include "trace/native/native_planes.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>
#include <zstd.h>

/* ======== frames ======== */

/* , and RFC 8878 for frames and blocks. */

enum {
    MAGIC_BYTES = 4,
    HEADER_BYTES = MAGIC_BYTES + 1 + 4, /* with the size of the content, which is the window too */
    BLOCK_HEADER = 3,
    BLOCK_MOST = 128 << 10,
    /* Of the descriptor: */
    SINGLE_SEGMENT = 1 << 5,
    CHECKSUM = 1 << 2,
    DICTIONARY = 3,
};
static const uint32_t magic = 0xFD2FB528;

bool fm_native_bytes_are_random(const uint8_t *bytes, size_t count)
{
    /* Four tables: equal bytes in a row would wait for one another. */
    uint32_t counts[4][256] = {{0}};
    size_t i = 0;
    for (; i + 4 <= count; i += 4)
        for (size_t j = 0; j < 4; j++) counts[j][bytes[i + j]]++;
    for (; i < count; i++) counts[0][bytes[i]]++;
    double bits = 0;
    for (size_t byte = 0; byte < 256; byte++) {
        const uint32_t of = counts[0][byte] + counts[1][byte] + counts[2][byte] + counts[3][byte];
        if (of > 0) bits += of * log2((double)count / of);
    }
    return bits * 12 > (double)count * 8 * 11;
}

size_t fm_native_frame_extra(size_t plain_bytes)
{
    return HEADER_BYTES + (plain_bytes / BLOCK_MOST + 1) * BLOCK_HEADER;
}

/* Bytes before the first block; 0: not a frame as it is needed here. */
static size_t header_of(const uint8_t *frame, size_t bytes)
{
    static const uint8_t content_bytes[] = {0, 2, 4, 8};
    if (bytes < HEADER_BYTES || fm_load32(frame) != magic) return 0;
    const unsigned descriptor = frame[MAGIC_BYTES];
    const bool single = descriptor & SINGLE_SEGMENT;
    if (descriptor & (CHECKSUM | DICTIONARY)) return 0;
    const size_t content = descriptor >> 6 == 0 && single ? 1 : content_bytes[descriptor >> 6];
    return MAGIC_BYTES + content + (single ? 1U : 2U); /* without the window's size where it has none */
}

static void store_block_header(uint8_t *to, size_t bytes)
{
    to[0] = (uint8_t)(bytes << 3); /* not the last one, stored as it is */
    to[1] = (uint8_t)(bytes >> 5);
    to[2] = (uint8_t)(bytes >> 13);
}

size_t fm_native_frame_join(const uint8_t *plain, size_t plain_bytes, const uint8_t *rest, size_t rest_bytes,
                            size_t rest_raw, uint8_t *to)
{
    const size_t skipped = header_of(rest, rest_bytes);
    uint8_t *at = to + HEADER_BYTES;
    if (skipped == 0 || skipped >= rest_bytes) return 0;
    fm_store32(to, magic);
    to[MAGIC_BYTES] = 2 << 6 | SINGLE_SEGMENT;
    fm_store32(to + MAGIC_BYTES + 1, (uint32_t)(plain_bytes + rest_raw));
    for (size_t done = 0; done < plain_bytes;) {
        const size_t left = plain_bytes - done, some = left < BLOCK_MOST ? left : BLOCK_MOST;
        store_block_header(at, some);
        memcpy(at + BLOCK_HEADER, plain + done, some);
        at += BLOCK_HEADER + some;
        done += some;
    }
    memcpy(at, rest + skipped, rest_bytes - skipped);
    return (size_t)(at - to) + (rest_bytes - skipped);
}

/* ======== columns ======== */

/*
 * The columns of one block, from values to bytes.
 *
 * Where the code sites are known, they determine most of the rest: the site column becomes a table and an
 * index for each reference (native_sites.c), size, kind and thread follow from the index, and each address is
 * coded as the difference to the last one under the same index: the stride of that instruction. Loops repeat
 * their indices and strides exactly, which is what zstd finds best.
 *
 * Without sites, or with too many of them, addresses look back (native_lookback.c). Keys without such order
 * (hashed, random) are coded DIRECT; a sample of each block decides. Planes of theirs that hardly compress
 * stay as they are (native_frame.h): they are read many times, and quickly then.
 */

enum {
    SAMPLE = 4096, /* references that decide between DIRECT and LOOKBACK */
    DEFAULT_LEVEL = 3,
    WORTH = 24, /* what reads faster may be larger by one part in so many */
};

struct fm_native_packer {
    ZSTD_CCtx *zstd; /* NULL: stored without compression */
    bool smallest;   /* was asked for, at a level over the default: however long it takes to read */
    fm_native_lookback *lookback;
    fm_native_sites *sites;
    uint8_t *raw;
    uint64_t *codes;   /* zigzag differences; a narrow column, widened; a table; output of a trial */
    uint64_t *last;    /* of each site index: the last address */
    uint8_t *back;     /* look-back bytes */
    uint16_t *indices; /* of the sites */
    uint8_t *sample;   /* output of a trial */
    /* Of the block being packed. */
    size_t entries; /* sites in its table; 0: there is none */
    unsigned with;  /* columns that follow from the site's index */
};

/* A column as it is packed here: a look-back byte, 8 planes, exceptions at every 64th, a table of at most a
 * quarter as many entries. */
static size_t column_most(size_t count)
{
    return count * (1 + 8 + 1 + 8);
}

size_t fm_native_raw_most(void)
{
    return (size_t)FM_NATIVE_BLOCK_MAX * (8 + 10 + 8);
}

size_t fm_native_packed_most(unsigned columns)
{
    return FM_NATIVE_BLOCK_HEADER_MAX + fm_native_column_count(columns) * column_most(FM_NATIVE_BLOCK_MAX);
}

fm_native_packer *fm_native_packer_create(int level)
{
    fm_native_packer *packer = fm_calloc(1, sizeof *packer);
    if (!packer) return NULL;
    packer->lookback = fm_native_lookback_create(NULL);
    packer->sites = fm_native_sites_create();
    packer->raw = malloc(column_most(FM_NATIVE_BLOCK_MAX));
    packer->codes = fm_malloc_array(FM_NATIVE_BLOCK_MAX, sizeof *packer->codes);
    packer->last = fm_calloc(FM_NATIVE_SITES_MOST, sizeof *packer->last);
    packer->back = fm_malloc_array(FM_NATIVE_BLOCK_MAX, 1);
    packer->indices = fm_malloc_array(FM_NATIVE_BLOCK_MAX, sizeof *packer->indices);
    packer->sample = malloc(ZSTD_COMPRESSBOUND(column_most(SAMPLE)));
    bool enough = packer->lookback && packer->sites && packer->raw && packer->codes && packer->last &&
                  packer->back && packer->indices && packer->sample;
    if (enough && level >= 0) {
        packer->zstd = ZSTD_createCCtx();
        packer->smallest = level > DEFAULT_LEVEL;
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
    fm_native_lookback_destroy(packer->lookback);
    fm_native_sites_destroy(packer->sites);
    free(packer->raw);
    free(packer->codes);
    free(packer->last);
    free(packer->back);
    free(packer->indices);
    free(packer->sample);
    free(packer);
}

/* ---- columns by the site's index ---- */

/* Numbers the sites, with all else that follows from them if that does not make too many. */
static void index_sites(fm_native_packer *packer, const fm_columns *columns, unsigned mask)
{
    packer->entries = 0;
    packer->with = mask & (FM_COLUMN_SIZE | FM_COLUMN_KIND | FM_COLUMN_THREAD);
    if (!(mask & FM_COLUMN_SITE)) return;
    size_t most = columns->count / 4 < FM_NATIVE_SITES_MOST ? columns->count / 4 : FM_NATIVE_SITES_MOST;
    packer->entries = fm_native_sites_index(packer->sites, columns, packer->with, most, packer->indices);
    if (packer->entries > 0 || packer->with == 0) return;
    packer->with = 0;
    packer->entries = fm_native_sites_index(packer->sites, columns, 0, most, packer->indices);
}

static uint64_t value_at(const fm_columns *columns, unsigned column, size_t i)
{
    switch (column) {
    case FM_NATIVE_ADDRESS:
        return columns->address[i];
    case FM_NATIVE_SIZE:
        return columns->size[i];
    case FM_NATIVE_KIND:
        return columns->kind[i];
    case FM_NATIVE_THREAD:
        return columns->thread[i];
    default:
        return columns->site[i];
    }
}

/* The value that each index has, or had first. */
static size_t lay_out_table(fm_native_packer *packer, const fm_columns *columns, fm_native_part *part,
                            uint8_t *to)
{
    const uint16_t *first = fm_native_sites_first(packer->sites);
    part->entries = (uint32_t)packer->entries;
    for (size_t t = 0; t < packer->entries; t++) packer->codes[t] = value_at(columns, part->column, first[t]);
    fm_native_table_store(packer->codes, packer->entries, to);
    return 8 * packer->entries;
}

static size_t lay_out_indices(fm_native_packer *packer, const fm_columns *columns, fm_native_part *part)
{
    size_t count = columns->count;
    part->encoding = FM_NATIVE_TABLE;
    part->planes = packer->entries > 256 ? 2 : packer->entries > 1 ? 1 : 0;
    uint8_t *low = packer->raw, *high = packer->raw + count;
    if (part->planes > 0)
        for (size_t i = 0; i < count; i++) low[i] = (uint8_t)packer->indices[i];
    if (part->planes > 1)
        for (size_t i = 0; i < count; i++) high[i] = (uint8_t)(packer->indices[i] >> 8);
    size_t planes = part->planes * count;
    return planes + lay_out_table(packer, columns, part, packer->raw + planes);
}

static size_t lay_out_by_site(fm_native_packer *packer, const fm_columns *columns, fm_native_part *part)
{
    part->encoding = FM_NATIVE_BY_SITE;
    const uint16_t *first = fm_native_sites_first(packer->sites), *indices = packer->indices;
    const uint64_t *address = columns->address;
    uint64_t *last = packer->last, *codes = packer->codes;
    for (size_t t = 0; t < packer->entries; t++) last[t] = address[first[t]];
    for (size_t i = 0; i < columns->count; i++) {
        uint64_t value = address[i];
        codes[i] = fm_zigzag(value - last[indices[i]]);
        last[indices[i]] = value;
    }
    size_t numbers = fm_native_numbers_store(codes, columns->count, part, packer->raw);
    return numbers + lay_out_table(packer, columns, part, packer->raw + numbers);
}

/* ---- columns on their own ---- */

static size_t lay_out_wide(fm_native_packer *packer, const uint64_t *values, size_t count, unsigned encoding,
                           fm_native_part *part)
{
    part->encoding = (uint8_t)encoding;
    if (encoding == FM_NATIVE_DIRECT) return fm_native_numbers_store(values, count, part, packer->raw);
    fm_native_lookback_choose(packer->lookback, values, count, packer->back, packer->codes);
    memcpy(packer->raw, packer->back, count);
    return count + fm_native_numbers_store(packer->codes, count, part, packer->raw + count);
}

static size_t pack_trial(fm_native_packer *packer, const uint64_t *values, size_t count, unsigned encoding)
{
    fm_native_part part = {0};
    size_t bytes = lay_out_wide(packer, values, count, encoding, &part);
    if (!packer->zstd) return bytes;
    size_t packed = ZSTD_compress2(packer->zstd, packer->sample, ZSTD_COMPRESSBOUND(column_most(SAMPLE)),
                                   packer->raw, bytes);
    return ZSTD_isError(packed) ? bytes : packed;
}

static size_t lay_out_best(fm_native_packer *packer, const uint64_t *values, size_t count,
                           fm_native_part *part)
{
    size_t sample = count < SAMPLE ? count : SAMPLE;
    const uint64_t *middle = values + (count - sample) / 2;
    bool looks = pack_trial(packer, middle, sample, FM_NATIVE_LOOKBACK) <
                 pack_trial(packer, middle, sample, FM_NATIVE_DIRECT);
    return lay_out_wide(packer, values, count, looks ? FM_NATIVE_LOOKBACK : FM_NATIVE_DIRECT, part);
}

/* Size, kind or thread: DIRECT, or a table of one where all are the same. */
static size_t lay_out_narrow(fm_native_packer *packer, const fm_columns *columns, fm_native_part *part)
{
    size_t count = columns->count;
    uint64_t *values = packer->codes, differing = 0;
    if (part->column == FM_NATIVE_KIND) {
        for (size_t i = 0; i < count; i++) values[i] = columns->kind[i];
    } else {
        const uint32_t *narrow = part->column == FM_NATIVE_SIZE ? columns->size : columns->thread;
        for (size_t i = 0; i < count; i++) values[i] = narrow[i];
    }
    for (size_t i = 1; i < count; i++) differing |= values[i] ^ values[0];
    if (differing || values[0] == 0) {
        part->encoding = FM_NATIVE_DIRECT;
        return fm_native_numbers_store(values, count, part, packer->raw);
    }
    part->encoding = FM_NATIVE_TABLE;
    part->entries = 1;
    fm_native_table_store(values, 1, packer->raw);
    return 8;
}

/* ---- the block ---- */

/* Lays the column out in packer->raw. */
static size_t lay_out(fm_native_packer *packer, const fm_columns *columns, fm_native_part *part)
{
    bool indexed = packer->entries > 0;
    switch (part->column) {
    case FM_NATIVE_ADDRESS:
        return indexed ? lay_out_by_site(packer, columns, part)
                       : lay_out_best(packer, columns->address, columns->count, part);
    case FM_NATIVE_SITE:
        return indexed ? lay_out_indices(packer, columns, part)
                       : lay_out_best(packer, columns->site, columns->count, part);
    default:
        if (!indexed || !(packer->with & 1U << (part->column - 1)))
            return lay_out_narrow(packer, columns, part);
        part->encoding = FM_NATIVE_AS_SITE;
        return lay_out_table(packer, columns, part, packer->raw);
    }
}

/* The same column with its first planes as they are, where those hardly compress: they are much faster to
 * read. packed: bytes of all of it compressed. Returns how many it takes then; 0: it is not worth it. */
static size_t leave_random_planes(const fm_native_packer *packer, const fm_native_part *part, size_t count,
                                  size_t packed, uint8_t *to)
{
    size_t plain = 0;
    if (packer->smallest || part->encoding != FM_NATIVE_DIRECT) return 0;
    while (plain < part->planes * count && fm_native_bytes_are_random(packer->raw + plain, count))
        plain += count;
    const size_t most = packed + packed / WORTH, left = part->raw_bytes - plain;
    if (plain == 0 || left == 0 || plain + fm_native_frame_extra(plain) >= most) return 0;
    uint8_t *rest = (uint8_t *)packer->codes; /* nobody needs them any more */
    const size_t bytes =
        ZSTD_compress2(packer->zstd, rest, count * sizeof *packer->codes, packer->raw + plain, left);
    if (ZSTD_isError(bytes) || plain + fm_native_frame_extra(plain) + bytes > most) return 0;
    return fm_native_frame_join(packer->raw, plain, rest, bytes, left, to);
}

static size_t pack_column(fm_native_packer *packer, const fm_columns *columns, fm_native_part *part,
                          uint8_t *to)
{
    size_t bytes = lay_out(packer, columns, part);
    part->raw_bytes = part->stored_bytes = (uint32_t)bytes;
    part->codec = FM_NATIVE_STORED;
    if (packer->zstd) {
        /* Where zstd does not make it smaller (it then runs out of room), the bytes are stored. */
        size_t packed = ZSTD_compress2(packer->zstd, to, bytes, packer->raw, bytes);
        if (!ZSTD_isError(packed) && packed < bytes) {
            const size_t faster = leave_random_planes(packer, part, columns->count, packed, to);
            part->codec = FM_NATIVE_ZSTD;
            part->stored_bytes = (uint32_t)(faster ? faster : packed);
            return part->stored_bytes;
        }
    }
    memcpy(to, packer->raw, bytes);
    return bytes;
}

size_t fm_native_pack(fm_native_packer *packer, const fm_columns *columns, unsigned mask,
                      uint64_t first_reference, uint8_t *to)
{
    size_t header = fm_native_block_header_size(mask);
    uint8_t *at = to + header;
    fm_native_block block = {.references = (uint32_t)columns->count, .first_reference = first_reference};
    index_sites(packer, columns, mask);
    for (unsigned column = 0; column < FM_NATIVE_COLUMNS_MAX; column++) {
        if (column > 0 && !(mask & 1U << (column - 1))) continue;
        fm_native_part *part = &block.parts[block.part_count++];
        part->column = (uint8_t)column;
        at += pack_column(packer, columns, part, at);
    }
    size_t payload = (size_t)(at - to) - header;
    block.payload_bytes = (uint32_t)payload;
    block.payload_checksum = XXH3_64bits(to + header, payload);
    fm_native_block_store(to, &block);
    return header + payload;
}

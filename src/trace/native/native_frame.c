/* SPDX-License-Identifier: Apache-2.0 */
/* native_frame.c - see native_frame.h, and RFC 8878 for frames and blocks. */
#include "trace/native/native_frame.h"

#include "base/bytes.h"

#include <math.h>
#include <string.h>

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

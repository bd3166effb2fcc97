/* SPDX-License-Identifier: Apache-2.0 */
/* zstd_frame.c - see zstd_frame.h. */
#include "trace/zstd_frame.h"

#include "base/bytes.h"

#include <zstd.h>

enum { BLOCK_MOST = 128 << 10, BLOCK_HEADER = 3, CHECKSUM = 4, SKIPPABLE_HEADER = 8 };
enum { BLOCK_REPEATED = 1, BLOCK_RESERVED = 3 }; /* types of blocks */

static uint64_t zstd_load(const uint8_t *bytes, unsigned count)
{
    uint64_t value = 0;
    for (unsigned i = 0; i < count; i++) value |= (uint64_t)bytes[i] << (8 * i);
    return value;
}

static fm_frame_found pass_header(fm_frame_walk *walk, const uint8_t *bytes, size_t left)
{
    enum { MAGIC = 4, DESCRIPTOR = 5 };
    if (left < DESCRIPTOR) return FM_FRAME_MORE;
    const unsigned descriptor = bytes[MAGIC];
    const unsigned size_flag = descriptor >> 6;
    const bool single = descriptor & 0x20;
    const unsigned dictionary = (unsigned[]){0, 1, 2, 4}[descriptor & 3];
    const unsigned size_bytes = size_flag == 0 ? single : 1U << size_flag;
    const unsigned whole = DESCRIPTOR + (single ? 0U : 1U) + dictionary + size_bytes;
    if (descriptor & 0x08) return FM_FRAME_OTHER; /* reserved */
    if (left < whole) return FM_FRAME_MORE;
    if (!single) {
        const unsigned window = bytes[DESCRIPTOR], log = 10 + (window >> 3);
        if (log > FM_ZSTD_WINDOW_LOG || (log == FM_ZSTD_WINDOW_LOG && (window & 7))) return FM_FRAME_OTHER;
    }
    walk->checked = descriptor & 0x04;
    walk->sized = size_bytes > 0;
    walk->content_most = zstd_load(bytes + whole - size_bytes, size_bytes) + (size_bytes == 2 ? 256 : 0);
    walk->begun = true;
    walk->at += whole;
    return FM_FRAME_WHOLE;
}

/* Up to where a frame's blocks begin; what is before it may be skippable frames. */
static fm_frame_found pass_beginning(fm_frame_walk *walk, const uint8_t *bytes, size_t count)
{
    while (!walk->begun) {
        if (walk->at > count || count - walk->at < 4) return FM_FRAME_MORE;
        const uint8_t *here = bytes + walk->at;
        const size_t left = count - (size_t)walk->at;
        const uint32_t magic = fm_load32(here);
        if (magic == ZSTD_MAGICNUMBER) {
            const fm_frame_found found = pass_header(walk, here, left);
            if (found != FM_FRAME_WHOLE) return found;
        } else if ((magic & ZSTD_MAGIC_SKIPPABLE_MASK) == ZSTD_MAGIC_SKIPPABLE_START) {
            if (left < SKIPPABLE_HEADER) return FM_FRAME_MORE;
            walk->at += SKIPPABLE_HEADER + (uint64_t)fm_load32(here + 4);
        } else {
            return FM_FRAME_OTHER;
        }
    }
    return FM_FRAME_WHOLE;
}

fm_frame_found fm_frame_walk_on(fm_frame_walk *walk, const uint8_t *bytes, size_t count)
{
    const fm_frame_found begun = pass_beginning(walk, bytes, count);
    if (begun != FM_FRAME_WHOLE) return begun;
    for (bool last = false; !last;) {
        if (walk->at > count || count - walk->at < BLOCK_HEADER) return FM_FRAME_MORE;
        const uint64_t header = zstd_load(bytes + walk->at, BLOCK_HEADER);
        const uint64_t size = header >> 3;
        const unsigned type = header >> 1 & 3;
        last = header & 1;
        if (type == BLOCK_RESERVED || size > BLOCK_MOST) return FM_FRAME_OTHER;
        const uint64_t stored = type == BLOCK_REPEATED ? 1 : size;
        const uint64_t behind = walk->at + BLOCK_HEADER + stored + (last && walk->checked ? CHECKSUM : 0);
        if (last && behind > count) return FM_FRAME_MORE; /* this header is looked at once more */
        walk->at = behind;
        if (!walk->sized) walk->content_most += BLOCK_MOST;
    }
    return FM_FRAME_WHOLE;
}

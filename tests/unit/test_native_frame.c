/* SPDX-License-Identifier: Apache-2.0 */
/* test_native_frame.c - zstd frames that begin with bytes as they are: zstd itself reads them, whatever the
 * rest is; and where blocks of keys have them, what they cost. */
#include "case.h"
#include "random.h"

#include "base/bytes.h"
#include "trace/native/native_planes.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

/* Frames that say the size of what they hold in one, two and four bytes, and with a window instead. */
CASE(joined_frames)
{
    static const size_t plain_sizes[] = {1, 65536, 131072, 131073, 400000};
    static const size_t rest_sizes[] = {1, 200, 255, 256, 257, 65791, 65792, 300000};
    enum { PLAIN_MOST = 400000, REST_MOST = 300000, ROOM = PLAIN_MOST + REST_MOST + 1000 };
    uint8_t *bytes = malloc(PLAIN_MOST + REST_MOST), *rest = malloc(ZSTD_compressBound(REST_MOST)),
            *frame = malloc(ROOM), *back = malloc(PLAIN_MOST + REST_MOST);
    ZSTD_CCtx *zstd = ZSTD_createCCtx();
    assert_true(bytes && rest && frame && back && zstd);
    for (int sized = 0; sized < 2; sized++)
        for (size_t p = 0; p < sizeof plain_sizes / sizeof plain_sizes[0]; p++)
            for (size_t r = 0; r < sizeof rest_sizes / sizeof rest_sizes[0]; r++) {
                const size_t plain = plain_sizes[p], left = rest_sizes[r];
                /* The rest begins with what is before it: nothing may be taken from there. */
                for (size_t i = 0; i < plain + left; i++)
                    bytes[i] = (uint8_t)(i < plain ? random_next() : i % 3 ? i / 500 : bytes[i - plain]);
                ZSTD_CCtx_setParameter(zstd, ZSTD_c_contentSizeFlag, sized);
                const size_t stored =
                    ZSTD_compress2(zstd, rest, ZSTD_compressBound(REST_MOST), bytes + plain, left);
                assert_false(ZSTD_isError(stored));
                const size_t made = fm_native_frame_join(bytes, plain, rest, stored, left, frame);
                assert_in_range(made, 1, plain + stored + fm_native_frame_extra(plain));
                assert_int_equal(ZSTD_findFrameCompressedSize(frame, made), made); /* one frame */
                assert_int_equal(ZSTD_getFrameContentSize(frame, made), plain + left);
                assert_int_equal(ZSTD_decompress(back, plain + left, frame, made), plain + left);
                assert_memory_equal(back, bytes, plain + left);
            }
    /* What is no such frame. */
    ZSTD_CCtx_setParameter(zstd, ZSTD_c_checksumFlag, 1);
    const size_t checked = ZSTD_compress2(zstd, rest, ZSTD_compressBound(REST_MOST), bytes, 1000);
    assert_int_equal(fm_native_frame_join(bytes, 1, rest, checked, 1000, frame), 0);
    assert_int_equal(fm_native_frame_join(bytes, 1, bytes, 1000, 1000, frame), 0);
    assert_int_equal(fm_native_frame_join(bytes, 1, rest, 4, 1000, frame), 0);
    ZSTD_freeCCtx(zstd);
    free(bytes);
    free(rest);
    free(frame);
    free(back);
}

/* Bytes of 2^b values that are all as frequent have b bits: 7.33 are the limit. */
CASE(random_bytes)
{
    uint8_t bytes[1 << 16];
    for (unsigned values = 2; values <= 256; values++) {
        for (size_t i = 0; i < sizeof bytes; i++) bytes[i] = (uint8_t)(i % values);
        const double bits = log2(values);
        if (fabs(bits - 8 * 11.0 / 12) > 0.01)
            assert_int_equal(fm_native_bytes_are_random(bytes, sizeof bytes), bits > 8 * 11.0 / 12);
    }
    memset(bytes, 7, sizeof bytes);
    assert_false(fm_native_bytes_are_random(bytes, sizeof bytes));
}

/* Packs keys, and looks at the column as FORMAT.md describes it. Returns its stored bytes; plain: the planes
 * that stand there as they are. */
static size_t pack_keys(uint64_t *keys, size_t count, int level, unsigned *plain)
{
    const fm_columns columns = {.count = count, .address = keys};
    fm_native_packer *packer = fm_native_packer_create(level);
    uint8_t *packed = malloc(fm_native_packed_most(0)), *raw = malloc(fm_native_raw_most());
    assert_true(packer && packed && raw);
    const size_t bytes = fm_native_pack(packer, &columns, 0, 0, packed);
    fm_native_block block;
    assert_true(fm_native_block_load(packed, 0, &block));
    const fm_native_part *part = &block.parts[0];
    const uint8_t *stored = packed + bytes - part->stored_bytes;
    assert_int_equal(part->encoding, FM_NATIVE_DIRECT);
    assert_int_equal(part->codec, FM_NATIVE_ZSTD);
    assert_int_equal(ZSTD_findFrameCompressedSize(stored, part->stored_bytes), part->stored_bytes);
    assert_int_equal(ZSTD_decompress(raw, part->raw_bytes, stored, part->stored_bytes), part->raw_bytes);
    for (size_t i = 0; i < count; i++)
        for (unsigned plane = 0; plane < part->planes; plane++)
            assert_int_equal(raw[plane * count + i], keys[i] >> (8 * plane) & 255);
    /* Bytes as they are: a block of the frame that is not compressed, of up to 128 KiB. */
    const size_t header = 9, most = 128 << 10;
    size_t same = 0;
    for (const uint8_t *at = stored + header; (at[0] & 7) == 0;) {
        const size_t some = (size_t)(at[0] | at[1] << 8 | at[2] << 16) >> 3;
        assert_in_range(some, 1, most);
        assert_memory_equal(at + 3, raw + same, some);
        same += some;
        at += 3 + some;
    }
    *plain = (unsigned)(same / count);
    assert_int_equal(same % count, 0);
    /* No more than one part in 24 larger than all of it compressed. */
    uint8_t *judge = malloc(ZSTD_compressBound(part->raw_bytes));
    assert_non_null(judge);
    const size_t compressed =
        ZSTD_compress(judge, ZSTD_compressBound(part->raw_bytes), raw, part->raw_bytes, level ? level : 3);
    assert_true(part->stored_bytes <= compressed + compressed / 24);
    const size_t result = part->stored_bytes;
    fm_native_packer_destroy(packer);
    free(packed);
    free(raw);
    free(judge);
    return result;
}

/* Keys of which a few are frequent, scattered: their low bytes compress by some percent. */
CASE(keys)
{
    enum { COUNT = 65536 };
    uint64_t *values = malloc(COUNT * sizeof *values);
    assert_non_null(values);
    unsigned plain;
    for (size_t i = 0; i < COUNT; i++) {
        const double u = (double)(random_next() >> 11) * 0x1p-53;
        values[i] = (uint64_t)exp(u * log(1000000)) * UINT64_C(2654435761) % 1000003;
    }
    const size_t fast = pack_keys(values, COUNT, 0, &plain);
    assert_int_equal(plain, 2);
    /* Who asks for small files gets them. */
    const size_t small = pack_keys(values, COUNT, 5, &plain);
    assert_int_equal(plain, 0);
    assert_true(small < fast);
    /* Bytes that are random by their frequency but come again and again are compressed. */
    for (size_t i = 1000; i < COUNT; i++) values[i] = values[i % 1000];
    pack_keys(values, COUNT, 1, &plain);
    assert_int_equal(plain, 0);
    free(values);
}

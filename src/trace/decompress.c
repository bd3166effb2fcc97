/* SPDX-License-Identifier: Apache-2.0 */
/*
 * decompress.c - zstd and gzip behind one small decoder: several frames or members in a row, skippable
 * frames, and a clear message for each way a stream can be wrong. Reads and writes no files.
 */
#include "base/memory.h"
#include "trace/stream.h"
#include "trace/zstd_frame.h"

#include "base/bytes.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>
#include <zstd.h>
#include <zstd_errors.h>

struct fm_decompressor {
    fm_compression compression;
    bool inside;  /* a frame or member has begun and not ended */
    bool after;   /* gzip: a member has ended; what follows may be another one or zero padding */
    bool started; /* any frame was begun at all */
    ZSTD_DStream *zstd;
    z_stream gzip;
    bool gzip_ready;
    fm_status failed; /* a failure found behind decoded bytes waits here until those are out */
    char reason[160];
};

static bool zstd_begins(const uint8_t *bytes, size_t count)
{
    if (count < 4) return false;
    uint32_t magic = fm_load32(bytes);
    return magic == ZSTD_MAGICNUMBER || (magic & ZSTD_MAGIC_SKIPPABLE_MASK) == ZSTD_MAGIC_SKIPPABLE_START;
}

static bool gzip_begins(const uint8_t *bytes, size_t count)
{
    /* Method 8 is the only one there is, and the three high flags must be zero (RFC 1952). */
    return count >= 4 && bytes[0] == 0x1f && bytes[1] == 0x8b && bytes[2] == 8 && (bytes[3] & 0xe0) == 0;
}

/* Whether the bytes that are there, and all of a skippable frame's successors among them, decode. */
static bool decompressor_decodes(fm_compression compression, const uint8_t *bytes, size_t count)
{
    fm_decompressor *decoder = fm_decompressor_create(compression);
    if (!decoder) return true; /* no memory to find out: trust the magic number */
    size_t at = 0;
    bool sound = true;
    for (;;) {
        uint8_t decoded[4096];
        char reason[256];
        size_t got, before = at;
        fm_status status = fm_decompressor_run(decoder, bytes, &at, count, false, decoded, sizeof decoded,
                                               &got, reason, sizeof reason);
        if (status == FM_E_CORRUPT) sound = false;
        if (status != FM_OK || (got == 0 && at == before) || (at == count && got < sizeof decoded)) break;
    }
    fm_decompressor_destroy(decoder);
    return sound;
}

fm_compression fm_decompressor_detect(const uint8_t *bytes, size_t count, bool trial)
{
    fm_compression seems = zstd_begins(bytes, count)   ? FM_COMPRESSION_ZSTD
                           : gzip_begins(bytes, count) ? FM_COMPRESSION_GZIP
                                                       : FM_COMPRESSION_NONE;
    if (seems != FM_COMPRESSION_NONE && trial && !decompressor_decodes(seems, bytes, count)) return FM_COMPRESSION_NONE;
    return seems;
}

fm_decompressor *fm_decompressor_create(fm_compression compression)
{
    fm_decompressor *decoder = fm_calloc(1, sizeof *decoder);
    if (!decoder) return NULL;
    decoder->compression = compression;
    if (compression == FM_COMPRESSION_ZSTD) {
        decoder->zstd = ZSTD_createDStream();
        if (decoder->zstd &&
            !ZSTD_isError(ZSTD_DCtx_setParameter(decoder->zstd, ZSTD_d_windowLogMax, FM_ZSTD_WINDOW_LOG)))
            return decoder;
    } else if (inflateInit2(&decoder->gzip, 15 + 16) == Z_OK) { /* 16: gzip wrapping only */
        decoder->gzip_ready = true;
        return decoder;
    }
    fm_decompressor_destroy(decoder);
    return NULL;
}

void fm_decompressor_destroy(fm_decompressor *decoder)
{
    if (!decoder) return;
    ZSTD_freeDStream(decoder->zstd);
    if (decoder->gzip_ready) inflateEnd(&decoder->gzip);
    free(decoder);
}

void fm_decompressor_go_on(fm_decompressor *decoder)
{
    decoder->started = true;
}

static void decompressor_fail(fm_decompressor *decoder, fm_status status, const char *format, const char *detail)
{
    decoder->failed = status;
    snprintf(decoder->reason, sizeof decoder->reason, "%s%s", format, detail);
}

static void zstd_fail(fm_decompressor *decoder, size_t result)
{
    switch (ZSTD_getErrorCode(result)) {
    case ZSTD_error_frameParameter_windowTooLarge:
        decompressor_fail(decoder, FM_E_UNSUPPORTED,
             "the zstd stream needs a window of more than 128 MiB, which is not accepted", "");
        break;
    case ZSTD_error_memory_allocation:
        decompressor_fail(decoder, FM_E_NOMEM, "out of memory for the zstd window", "");
        break;
    default:
        decompressor_fail(decoder, FM_E_CORRUPT, "the zstd stream is corrupt: ", ZSTD_getErrorName(result));
        break;
    }
}

static size_t zstd_run(fm_decompressor *decoder, const uint8_t *from, size_t *at, size_t end, void *to,
                       size_t capacity)
{
    ZSTD_outBuffer out = {to, capacity, 0};
    ZSTD_inBuffer in = {from, end, *at};
    /* Inside a frame also run without input: the decoder may still hold decoded bytes. */
    while (out.pos < out.size && (in.pos < in.size || decoder->inside)) {
        size_t in_before = in.pos, out_before = out.pos;
        size_t result = ZSTD_decompressStream(decoder->zstd, &out, &in);
        if (ZSTD_isError(result)) {
            zstd_fail(decoder, result);
            break;
        }
        decoder->inside = result != 0;
        decoder->started = true;
        if (in.pos == in_before && out.pos == out_before) break; /* hungry */
    }
    *at = in.pos;
    return out.pos;
}

static size_t gzip_run(fm_decompressor *decoder, const uint8_t *from, size_t *at, size_t end, void *to,
                       size_t capacity)
{
    z_stream *gzip = &decoder->gzip;
    if (capacity > (1U << 30)) capacity = 1U << 30;
    gzip->next_out = to;
    gzip->avail_out = (uInt)capacity;
    while (gzip->avail_out > 0) {
        if (decoder->after) {
            /* gzip pads with zeros on tapes; anything else must be the next member. */
            while (*at < end && from[*at] == 0) (*at)++;
            if (*at == end) break;
            inflateReset(gzip);
            decoder->after = false;
        }
        if (*at == end && !decoder->inside) break;
        gzip->next_in = (Bytef *)(uintptr_t)(from + *at);
        gzip->avail_in = (uInt)(end - *at);
        uInt out_before = gzip->avail_out, in_before = gzip->avail_in;
        int result = inflate(gzip, Z_NO_FLUSH);
        *at = end - gzip->avail_in;
        decoder->inside = result != Z_STREAM_END;
        decoder->started = true;
        if (result == Z_STREAM_END) {
            decoder->after = true;
        } else if (result == Z_MEM_ERROR) {
            decompressor_fail(decoder, FM_E_NOMEM, "out of memory for the gzip window", "");
            break;
        } else if (result != Z_OK && result != Z_BUF_ERROR) {
            decompressor_fail(decoder, FM_E_CORRUPT, "the gzip stream is corrupt: ", gzip->msg ? gzip->msg : "data error");
            break;
        } else if (gzip->avail_out == out_before && gzip->avail_in == in_before) {
            break; /* hungry */
        }
    }
    return capacity - gzip->avail_out;
}

fm_status fm_decompressor_run(fm_decompressor *decoder, const uint8_t *from, size_t *from_at, size_t from_end,
                              bool ended, void *to, size_t capacity, size_t *got, char *reason,
                              size_t reason_size)
{
    bool zstd = decoder->compression == FM_COMPRESSION_ZSTD;
    *got = 0;
    if (decoder->failed == FM_OK)
        *got = zstd ? zstd_run(decoder, from, from_at, from_end, to, capacity)
                    : gzip_run(decoder, from, from_at, from_end, to, capacity);
    if (*got > 0) return FM_OK;
    if (decoder->failed == FM_OK && ended && *from_at == from_end && (decoder->inside || !decoder->started))
        decompressor_fail(decoder, FM_E_TRUNCATED, zstd ? "the zstd stream ends early" : "the gzip stream ends early", "");
    if (decoder->failed != FM_OK) snprintf(reason, reason_size, "%s", decoder->reason);
    return decoder->failed;
}

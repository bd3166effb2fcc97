/* SPDX-License-Identifier: Apache-2.0 */
/* stream.c - bytes of a trace, decompressed. */
#include "trace/stream.h"

#include "base/bytes.h"
#include "base/error.h"
#include "base/memory.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>
#include <zstd.h>
#include <zstd_errors.h>

/* ======== decompression ======== */

/*
 * Zstd and gzip behind one small decoder: several frames or members in a row, skippable
 * frames, and a clear message for each way a stream can be wrong. Reads and writes no files.
 */

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
    if (seems != FM_COMPRESSION_NONE && trial && !decompressor_decodes(seems, bytes, count))
        return FM_COMPRESSION_NONE;
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

static void decompressor_fail(fm_decompressor *decoder, fm_status status, const char *format,
                              const char *detail)
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
            decompressor_fail(decoder, FM_E_CORRUPT,
                              "the gzip stream is corrupt: ", gzip->msg ? gzip->msg : "data error");
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
        decompressor_fail(decoder, FM_E_TRUNCATED,
                          zstd ? "the zstd stream ends early" : "the gzip stream ends early", "");
    if (decoder->failed != FM_OK) snprintf(reason, reason_size, "%s", decoder->reason);
    return decoder->failed;
}

/* ======== streams ======== */

/* Uncompressed content goes from the kernel to the caller without a copy. */

enum { STORED_CAPACITY = FM_FRAMES_CARRIED };

const char *fm_compression_name(fm_compression compression)
{
    switch (compression) {
    case FM_COMPRESSION_ZSTD:
        return "zstd";
    case FM_COMPRESSION_GZIP:
        return "gzip";
    case FM_COMPRESSION_NONE:
        break;
    }
    return "none";
}

fm_compression fm_compression_of_name(const char *path, size_t *length)
{
    size_t whole = strlen(path);
    if (whole > 4 && strcmp(path + whole - 4, ".zst") == 0) {
        *length = whole - 4;
        return FM_COMPRESSION_ZSTD;
    }
    if (whole > 3 && strcmp(path + whole - 3, ".gz") == 0) {
        *length = whole - 3;
        return FM_COMPRESSION_GZIP;
    }
    *length = whole;
    return FM_COMPRESSION_NONE;
}

static fm_status fail_stays(fm_stream *stream, fm_status status)
{
    stream->status = status;
    return status;
}

/* The next stored bytes: those that were read with frames first. */
static fm_status take_stored(fm_stream *stream, void *to, size_t capacity, size_t *got)
{
    *got = 0;
    fm_status status = FM_OK;
    if (stream->frames) status = fm_frames_ahead_rest(stream->frames, to, capacity, got, &stream->error);
    if (status != FM_OK || *got > 0) return status;
    return fm_input_read(&stream->input, to, capacity, got, &stream->error);
}

/* More stored bytes behind those that are left. At the end of the input, input_ended is set. */
static fm_status stream_refill(fm_stream *stream)
{
    size_t left = stream->stored_end - stream->stored_at;
    if (left > 0 && stream->stored_at > 0) memmove(stream->stored, stream->stored + stream->stored_at, left);
    stream->stored_at = 0;
    stream->stored_end = left;
    if (left == STORED_CAPACITY) return FM_OK;
    size_t got;
    fm_status status = take_stored(stream, stream->stored + left, STORED_CAPACITY - left, &got);
    if (status != FM_OK) return fail_stays(stream, status);
    stream->stored_end += got;
    if (got == 0) stream->input_ended = true;
    return FM_OK;
}

/* Enough of the beginning to detect the compression: pipes may deliver it in small pieces. */
static fm_status look_at_beginning(fm_stream *stream)
{
    while (stream->stored_end < FM_STREAM_PEEK && !stream->input_ended) {
        fm_status status = stream_refill(stream);
        if (status != FM_OK) return status;
    }
    return FM_OK;
}

static fm_status choose_decoder(fm_stream *stream, const char *path, bool binary, fm_error *error)
{
    size_t length;
    fm_compression said = fm_compression_of_name(path, &length);
    bool trial = binary && said == FM_COMPRESSION_NONE;
    stream->compression = fm_decompressor_detect(stream->stored, stream->stored_end, trial);
    if (stream->compression == FM_COMPRESSION_NONE) {
        if (said == FM_COMPRESSION_NONE) return FM_OK;
        const uint8_t *found = stream->stored;
        const char *expected = said == FM_COMPRESSION_ZSTD ? "28 b5 2f fd" : "1f 8b 08";
        if (stream->stored_end < 4)
            return fm_fail_at(error, FM_E_TRUNCATED, stream->input.name, FM_PLACE_BYTE, 0,
                              "the name says %s, but the file ends after %zu bytes; expected %s",
                              fm_compression_name(said), stream->stored_end, expected);
        return fm_fail_at(
            error, FM_E_FORMAT, stream->input.name, FM_PLACE_BYTE, 0,
            "the name says %s, but the content does not: expected %s, found %02x %02x %02x %02x",
            fm_compression_name(said), expected, found[0], found[1], found[2], found[3]);
    }
    stream->decoder = fm_decompressor_create(stream->compression);
    if (!stream->decoder) return fm_fail_memory(error, STORED_CAPACITY, "a decompressor");
    return FM_OK;
}

fm_status fm_stream_open(fm_stream **stream_out, const char *path, bool binary, fm_error *error)
{
    *stream_out = NULL;
    fm_stream *stream = fm_calloc(1, sizeof *stream);
    if (!stream) return fm_fail_memory(error, sizeof *stream, "a trace reader");
    stream->input.descriptor = stream->input.wake = -1;
    fm_status status = FM_OK;
    stream->stored = malloc(STORED_CAPACITY);
    if (!stream->stored) status = fm_fail_memory(error, STORED_CAPACITY, "a trace reader");
    if (status == FM_OK) status = fm_input_open(&stream->input, path, error);
    if (status == FM_OK) {
        status = look_at_beginning(stream);
        if (status != FM_OK && error) *error = stream->error;
    }
    if (status == FM_OK) status = choose_decoder(stream, path, binary, error);
    if (status != FM_OK) {
        fm_stream_close(stream);
        return status;
    }
    *stream_out = stream;
    return FM_OK;
}

fm_status fm_stream_use_threads(fm_stream *stream, unsigned threads, fm_error *error)
{
    if (threads < 2 || stream->compression != FM_COMPRESSION_ZSTD || !stream->input.seekable) return FM_OK;
    stream->frames = fm_frames_ahead_create(&stream->input, stream->stored + stream->stored_at,
                                            stream->stored_end - stream->stored_at, threads);
    if (!stream->frames) return fm_fail_memory(error, STORED_CAPACITY, "decompressing by several threads");
    stream->stored_at = stream->stored_end = 0;
    stream->input_ended = false;
    return FM_OK;
}

/* What other threads have decoded; *got 0: no more. */
static void produce_frames(fm_stream *stream, void *to, size_t capacity, size_t *got)
{
    *got = fm_frames_ahead_read(stream->frames, to, capacity);
    stream->frames_over = *got == 0;
    if (stream->frames_over && fm_frames_ahead_any(stream->frames)) fm_decompressor_go_on(stream->decoder);
}

/* The next bytes of the content, past what peek holds. */
static fm_status stream_produce(fm_stream *stream, void *to, size_t capacity, size_t *got)
{
    *got = 0;
    if (stream->status != FM_OK) return stream->status;
    if (!stream->decoder) {
        size_t left = stream->stored_end - stream->stored_at;
        if (left > 0) {
            *got = left < capacity ? left : capacity;
            memcpy(to, stream->stored + stream->stored_at, *got);
            stream->stored_at += *got;
            return FM_OK;
        }
        if (stream->input_ended) return FM_OK;
        fm_status status = fm_input_read(&stream->input, to, capacity, got, &stream->error);
        if (status != FM_OK) return fail_stays(stream, status);
        if (*got == 0) stream->input_ended = true;
        return FM_OK;
    }
    if (stream->frames && !stream->frames_over) produce_frames(stream, to, capacity, got);
    if (*got > 0) return FM_OK;
    for (;;) {
        char reason[256];
        fm_status status =
            fm_decompressor_run(stream->decoder, stream->stored, &stream->stored_at, stream->stored_end,
                                stream->input_ended, to, capacity, got, reason, sizeof reason);
        if (status != FM_OK) {
            uint64_t content = stream->offset + (stream->peeked_end - stream->peeked_at);
            fm_fail_at(&stream->error, status, stream->input.name, FM_PLACE_BYTE, content,
                       "%s (stored byte %" PRIu64 ")", reason, fm_stream_stored_offset(stream));
            return fail_stays(stream, status);
        }
        if (*got > 0 || stream->input_ended) return FM_OK;
        status = stream_refill(stream);
        if (status != FM_OK) return status;
    }
}

void fm_stream_peek(fm_stream *stream, const uint8_t **bytes, size_t *count)
{
    while (stream->peeked_end < FM_STREAM_PEEK) {
        size_t got;
        fm_status status = stream_produce(stream, stream->peeked + stream->peeked_end,
                                          FM_STREAM_PEEK - stream->peeked_end, &got);
        if (status != FM_OK || got == 0) break;
        stream->peeked_end += got;
    }
    *bytes = stream->peeked;
    *count = stream->peeked_end;
}

/* The input stands at this offset now: nothing that was taken from it before is of use. */
static void stand_at(fm_stream *stream, uint64_t offset)
{
    stream->stored_at = stream->stored_end = 0;
    stream->peeked_at = stream->peeked_end = 0;
    stream->input_ended = false;
    stream->offset = offset;
}

fm_status fm_stream_restrict(fm_stream *stream, uint64_t from, uint64_t to, fm_error *error)
{
    fm_status status = fm_input_restrict(&stream->input, from, to, error);
    if (status == FM_OK) stand_at(stream, from);
    return status;
}

fm_status fm_stream_pass(fm_stream *stream, uint64_t offset, fm_error *error)
{
    fm_status status = fm_input_pass(&stream->input, offset, error);
    if (status == FM_OK) stand_at(stream, offset);
    return status;
}

fm_status fm_stream_read(fm_stream *stream, void *to, size_t capacity, size_t *got, fm_error *error)
{
    *got = 0;
    if (capacity == 0) return FM_OK;
    size_t peeked = stream->peeked_end - stream->peeked_at;
    if (peeked > 0) {
        *got = peeked < capacity ? peeked : capacity;
        memcpy(to, stream->peeked + stream->peeked_at, *got);
        stream->peeked_at += *got;
        stream->offset += *got;
        return FM_OK;
    }
    fm_status status = stream_produce(stream, to, capacity, got);
    if (status != FM_OK) {
        if (error) *error = stream->error;
        return status;
    }
    stream->offset += *got;
    return FM_OK;
}

fm_status fm_stream_read_full(fm_stream *stream, void *to, size_t capacity, size_t *got, fm_error *error)
{
    size_t total = 0;
    while (total < capacity) {
        size_t piece;
        fm_status status = fm_stream_read(stream, (char *)to + total, capacity - total, &piece, error);
        if (status != FM_OK) {
            *got = total;
            return total > 0 ? FM_OK : status;
        }
        if (piece == 0) break;
        total += piece;
    }
    *got = total;
    return FM_OK;
}

uint64_t fm_stream_stored_offset(const fm_stream *stream)
{
    const uint64_t waiting = stream->stored_end - stream->stored_at;
    if (stream->frames && !stream->frames_over) return fm_frames_ahead_passed(stream->frames);
    /* The rest of what was read with frames comes before anything else from the input. */
    const uint64_t unread = stream->frames ? fm_frames_ahead_unread(stream->frames) : 0;
    return stream->input.taken - unread - waiting;
}

void fm_stream_close(fm_stream *stream)
{
    if (!stream) return;
    fm_frames_ahead_destroy(stream->frames);
    fm_input_close(&stream->input);
    fm_decompressor_destroy(stream->decoder);
    free(stream->stored);
    free(stream);
}

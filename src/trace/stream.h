/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stream.h - the content of a stored trace: bytes of a file or pipe, decompressed where they are
 * compressed (zstd, gzip; detected by content, never by name).
 *
 * Buffers are fixed and a zstd window is limited, so a small file that claims to be huge costs time but
 * never memory. What was decoded before a failure is always delivered first; a failure then stays.
 */
#ifndef FATHOM_TRACE_STREAM_H
#define FATHOM_TRACE_STREAM_H

#include "base/input.h"
#include "trace/frames_ahead.h"

#include <fathom/status.h>

typedef enum fm_compression {
    FM_COMPRESSION_NONE = 0,
    FM_COMPRESSION_ZSTD = 1,
    FM_COMPRESSION_GZIP = 2
} fm_compression;
const char *fm_compression_name(fm_compression compression);
/* What the end of a name says: ".zst", ".gz". *length becomes the name's length without that ending. */
fm_compression fm_compression_of_name(const char *path, size_t *length);

/* The most bytes fm_stream_peek shows. */
#define FM_STREAM_PEEK 64

typedef struct fm_decompressor fm_decompressor;

typedef struct fm_stream {
    fm_input input;
    fm_compression compression;
    uint8_t *stored; /* bytes as read, not yet decoded or handed out: [stored_at, stored_end) */
    size_t stored_at, stored_end;
    fm_decompressor *decoder; /* NULL: not compressed */
    fm_frames_ahead *frames;  /* what the decoder need not decode; NULL: nothing */
    bool frames_over;
    bool input_ended;
    uint8_t peeked[FM_STREAM_PEEK]; /* decoded bytes that peek took in advance */
    size_t peeked_at, peeked_end;
    uint64_t offset;  /* of the content handed out so far */
    fm_status status; /* a failure stays */
    fm_error error;
} fm_stream;

/*
 * binary: the format is raw binary, so that honest content may begin like a compressed file by chance;
 * unless the name says that it is compressed, a few bytes must then also decode.
 */
fm_status fm_stream_open(fm_stream **stream, const char *path, bool binary, fm_error *error);
/* So many threads may decompress what can be divided: zstd frames of a regular file. Before anything else.
 */
fm_status fm_stream_use_threads(fm_stream *stream, unsigned threads, fm_error *error);
/* The first bytes, without taking them: fewer than FM_STREAM_PEEK only when there are no more. Failures
 * are left for fm_stream_read. Only before the first read. */
void fm_stream_peek(fm_stream *stream, const uint8_t **bytes, size_t *count);
/* Whether threads may read it at any place (fm_input_read_at): a regular file, not standard input, and not
 * compressed. */
static inline bool fm_stream_at_any_place(const fm_stream *stream)
{
    return stream->compression == FM_COMPRESSION_NONE && stream->input.seekable && stream->input.owned;
}
/* From now on the content is the bytes [from, to) of the file, and offset counts on from there. Only where
 * the file is a regular one, not standard input, and not compressed. */
fm_status fm_stream_restrict(fm_stream *stream, uint64_t from, uint64_t to, fm_error *error);
/* The content before this offset was read otherwise (fm_input_read_at): reading goes on there. As for
 * fm_stream_restrict, and within what that has set. */
fm_status fm_stream_pass(fm_stream *stream, uint64_t offset, fm_error *error);
/* Up to capacity bytes, at least one; *got 0 with FM_OK is the end. */
fm_status fm_stream_read(fm_stream *stream, void *to, size_t capacity, size_t *got, fm_error *error);
/* As much of capacity as there is: less only at the end or before a failure, which the next call returns. */
fm_status fm_stream_read_full(fm_stream *stream, void *to, size_t capacity, size_t *got, fm_error *error);
/* Bytes of the stored file, or of what it was restricted to, that were decoded so far. */
uint64_t fm_stream_stored_offset(const fm_stream *stream);
void fm_stream_close(fm_stream *stream); /* NULL is fine */

/* ---- decompress.c ---- */

/* FM_COMPRESSION_… of a beginning; trial: also try to decode. */
fm_compression fm_decompressor_detect(const uint8_t *bytes, size_t count, bool trial);
fm_decompressor *fm_decompressor_create(fm_compression compression); /* NULL when memory is short */
void fm_decompressor_destroy(fm_decompressor *decoder);
/* Others have decoded what came before: no more need come. */
void fm_decompressor_go_on(fm_decompressor *decoder);
/*
 * Decodes from [*from_at, from_end) to at most capacity bytes. ended: no more input will come. Fails with
 * FM_E_TRUNCATED, FM_E_CORRUPT, FM_E_UNSUPPORTED and *reason. *got 0 with FM_OK: more input is needed, or,
 * when ended, the content is complete.
 */
fm_status fm_decompressor_run(fm_decompressor *decoder, const uint8_t *from, size_t *from_at, size_t from_end,
                              bool ended, void *to, size_t capacity, size_t *got, char *reason,
                              size_t reason_size);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* stream.h - bytes of a trace, decompressed, by one thread or several. Internal. */
#ifndef FATHOM_TRACE_STREAM_H
#define FATHOM_TRACE_STREAM_H

#include "base/input.h"

#include <fathom/status.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ======== zstd frames ======== */

/*
 * Where a zstd frame ends, and how much it may hold, found from its headers without decoding
 * (RFC 8878). Skippable frames before it are passed over; what they hold is not believed: pzstd writes the
 * size of the next frame there, others anything.
 */

typedef enum fm_frame_found {
    FM_FRAME_MORE,  /* more bytes are needed to tell */
    FM_FRAME_WHOLE, /* it ends at `at` */
    FM_FRAME_OTHER, /* it is no frame, is damaged, or wants a window that is not accepted */
} fm_frame_found;

/* All zeroes at the beginning of a frame. */
typedef struct fm_frame_walk {
    uint64_t at;           /* bytes passed over, those of the skippable frames before among them */
    uint64_t content_most; /* bytes that it decodes to, at most */
    bool begun;            /* its header was passed */
    bool sized;            /* which told content_most */
    bool checked;          /* a checksum follows the last block */
} fm_frame_walk;

/* bytes: the first `count` from its beginning on; more of them with each call. */
fm_frame_found fm_frame_walk_on(fm_frame_walk *walk, const uint8_t *bytes, size_t count);

/* The largest window that memory is given for, as a power of two: what `zstd --ultra` makes without --long.
 */
enum { FM_ZSTD_WINDOW_LOG = 27 };

/* ======== frames ahead ======== */

/*
 * Zstd frames of a file, decompressed by several threads ahead of the one who takes the
 * content. Frames do not depend on each other (`pzstd` writes many, `cat a.zst b.zst` makes them); where one
 * ends is known from its headers (zstd_frame.h).
 *
 * A frame that is large, or not sound, ends this way of reading: it and all that is behind it are given back
 * as they are stored, for a decoder that goes on from the frame's beginning. So nothing is reported here, and
 * memory has a bound whatever the file says: 256 MiB, and what the last two frames take (48 MiB each at
 * most).
 */

/* What a caller may have read of the input before. */
enum { FM_FRAMES_CARRIED = 256 << 10 };

typedef struct fm_frames_ahead fm_frames_ahead;

/* stored: the first bytes of the input, at most FM_FRAMES_CARRIED; it stands behind them. From now on it
 * belongs to the frames, until all was taken. NULL: memory is short. No thread is started before the second
 * frame. */
fm_frames_ahead *fm_frames_ahead_create(fm_input *input, const uint8_t *stored, size_t count,
                                        unsigned threads);
/* The next bytes of the content. 0: no more in this way; from now on only what is stored can be taken. */
size_t fm_frames_ahead_read(fm_frames_ahead *frames, void *to, size_t capacity);
/* Whether any frame was decoded. */
bool fm_frames_ahead_any(const fm_frames_ahead *frames);
/* The next stored bytes that were not decoded; *got 0: no more, the input has what follows. A failure of the
 * input comes behind them. */
fm_status fm_frames_ahead_rest(fm_frames_ahead *frames, void *to, size_t capacity, size_t *got,
                               fm_error *error);
/* Stored bytes whose content was handed out, before the end of that. */
uint64_t fm_frames_ahead_passed(const fm_frames_ahead *frames);
/* Stored bytes that were read and not taken, after it. */
uint64_t fm_frames_ahead_unread(const fm_frames_ahead *frames);
void fm_frames_ahead_destroy(fm_frames_ahead *frames); /* NULL is fine */

/* ======== streams ======== */

/*
 * The content of a stored trace: bytes of a file or pipe, decompressed where they are
 * compressed (zstd, gzip; detected by content, never by name).
 *
 * Buffers are fixed and a zstd window is limited, so a small file that claims to be huge costs time but
 * never memory. What was decoded before a failure is always delivered first; a failure then stays.
 */

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

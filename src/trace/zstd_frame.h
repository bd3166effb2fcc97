/* SPDX-License-Identifier: Apache-2.0 */
/*
 * zstd_frame.h - where a zstd frame ends, and how much it may hold, found from its headers without decoding
 * (RFC 8878). Skippable frames before it are passed over; what they hold is not believed: pzstd writes the
 * size of the next frame there, others anything.
 */
#ifndef FATHOM_TRACE_ZSTD_FRAME_H
#define FATHOM_TRACE_ZSTD_FRAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

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

#endif

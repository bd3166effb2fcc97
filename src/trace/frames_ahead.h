/* SPDX-License-Identifier: Apache-2.0 */
/*
 * frames_ahead.h - zstd frames of a file, decompressed by several threads ahead of the one who takes the
 * content. Frames do not depend on each other (`pzstd` writes many, `cat a.zst b.zst` makes them); where one
 * ends is known from its headers (zstd_frame.h).
 *
 * A frame that is large, or not sound, ends this way of reading: it and all that is behind it are given back
 * as they are stored, for a decoder that goes on from the frame's beginning. So nothing is reported here, and
 * memory has a bound whatever the file says: 256 MiB, and what the last two frames take (48 MiB each at
 * most).
 */
#ifndef FATHOM_TRACE_FRAMES_AHEAD_H
#define FATHOM_TRACE_FRAMES_AHEAD_H

#include "base/input.h"

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

#endif

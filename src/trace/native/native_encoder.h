/* SPDX-License-Identifier: Apache-2.0 */
/*
 * native_encoder.h - blocks of references in, packed blocks out in the same order, packed by the caller or by
 * threads of its own.
 *
 *     fm_columns *room = fm_native_encoder_room(encoder);   fill it, set room->count
 *     fm_native_encoder_submit(encoder, &error);            room is another one from here on
 *     fm_native_encoder_drain(encoder, &error);             everything was handed on
 *
 * Only packing is done elsewhere: `write` is called by the thread that submits or drains, so that what fails
 * there is returned at once. It does not know files.
 */
#ifndef FATHOM_TRACE_NATIVE_ENCODER_H
#define FATHOM_TRACE_NATIVE_ENCODER_H

#include "trace/format.h"

enum { FM_NATIVE_THREADS_MOST = 64 };

typedef struct fm_native_encoder fm_native_encoder;

/* Gets each packed block, header and all, in the order of submission. */
typedef fm_status (*fm_native_block_write)(void *context, const uint8_t *block, size_t bytes,
                                           size_t references, fm_error *error);

/* threads: 0 or 1 packs in submit; else so many threads (at most FM_NATIVE_THREADS_MOST) do it meanwhile,
 * from the first full block on. The blocks are the same. */
fm_status fm_native_encoder_create(fm_native_encoder **encoder, unsigned columns, int level, unsigned threads,
                                   fm_native_block_write write, void *context, fm_error *error);
/* Ends the threads and frees everything, at any time; what was not handed on is lost. NULL is fine. */
void fm_native_encoder_destroy(fm_native_encoder *encoder);

/* Where the next block's references go; empty (count 0) after each submission. */
fm_columns *fm_native_encoder_room(fm_native_encoder *encoder);
/* The room's references become a block; none: nothing happens. Waits while too many blocks are not packed
 * yet. After a failure only destroy may follow. */
fm_status fm_native_encoder_submit(fm_native_encoder *encoder, fm_error *error);
/* Waits until every submitted block was handed on. */
fm_status fm_native_encoder_drain(fm_native_encoder *encoder, fm_error *error);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * native_frame.h - a zstd frame whose first bytes are stored as they are.
 *
 * The low bytes of keys without order are as good as random: zstd's entropy coder makes them a few percent
 * smaller, and reading them takes longer than all else together. Within a frame each block says for itself
 * whether it is compressed, so that those can stay as they are and the rest need not; whatever reads zstd
 * reads that.
 */
#ifndef FATHOM_TRACE_NATIVE_FRAME_H
#define FATHOM_TRACE_NATIVE_FRAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Whether coding each byte by its frequency would save less than one in twelve of them. */
bool fm_native_bytes_are_random(const uint8_t *bytes, size_t count);

/* Bytes that a frame takes, at most, beside those it stores and those of the frame it goes on with. */
size_t fm_native_frame_extra(size_t plain_bytes);
/*
 * One frame of plain[0 … plain_bytes), as they are, and of what the frame `rest` holds: rest_raw bytes,
 * without a checksum or a dictionary. Returns how many bytes were written to `to`; 0: `rest` is not such a
 * frame.
 */
size_t fm_native_frame_join(const uint8_t *plain, size_t plain_bytes, const uint8_t *rest, size_t rest_bytes,
                            size_t rest_raw, uint8_t *to);

#endif

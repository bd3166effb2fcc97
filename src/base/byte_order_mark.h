/* SPDX-License-Identifier: Apache-2.0 */
/*
 * byte_order_mark.h - what text may begin with before its first character. Programs on other systems put a
 * mark there: UTF-8's is no content, and is passed over; those of UTF-16 and UTF-32 say that every byte
 * behind them means something else than it does in UTF-8, and are refused.
 */
#ifndef FATHOM_BASE_BYTE_ORDER_MARK_H
#define FATHOM_BASE_BYTE_ORDER_MARK_H

#include <fathom/status.h>

/* So many bytes are enough to know it; fewer where the input has no more. */
enum { FM_BYTE_ORDER_MARK_MAX = 4 };

/* *length: bytes to pass over at the beginning. FM_E_FORMAT: the text is not UTF-8. */
fm_status fm_byte_order_mark(const unsigned char *bytes, size_t count, const char *name, size_t *length,
                             fm_error *error);

#endif

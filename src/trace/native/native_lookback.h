/* SPDX-License-Identifier: Apache-2.0 */
/*
 * native_lookback.h - chooses, for each value of a column, an earlier one that it is close to: the LOOKBACK
 * encoding. The same choices on every machine.
 */
#ifndef FATHOM_TRACE_NATIVE_LOOKBACK_H
#define FATHOM_TRACE_NATIVE_LOOKBACK_H

#include <stddef.h>
#include <stdint.h>

typedef struct fm_native_lookback fm_native_lookback;
/* isa: as fm_isa_at names them; NULL: the best this machine has. NULL when memory is short. */
fm_native_lookback *fm_native_lookback_create(const char *isa);
void fm_native_lookback_destroy(fm_native_lookback *lookback);
/* For each value how many values back (0: the one before), and the zigzag difference to that. */
void fm_native_lookback_choose(fm_native_lookback *lookback, const uint64_t *values, size_t count,
                               uint8_t *back, uint64_t *codes);

#endif

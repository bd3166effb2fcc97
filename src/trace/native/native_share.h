/* SPDX-License-Identifier: Apache-2.0 */
/*
 * native_share.h - the blocks of a native trace for several threads, each of which claims stretches of the
 * file and decodes them for itself (fm_supply in trace/supply.h).
 *
 * Claiming walks from header to header, which says where the next one is, so that no index is needed. As
 * native_ahead.h, it knows sound blocks only: it stops at the first header that is none, and the walk goes on
 * from there alone.
 */
#ifndef FATHOM_TRACE_NATIVE_SHARE_H
#define FATHOM_TRACE_NATIVE_SHARE_H

#include "trace/native/native_at.h"

typedef struct fm_native_share fm_native_share;

/* Called for each block that is claimed, in order. */
typedef void (*fm_native_passed)(void *context, fm_native_place place, const fm_native_block *block);

typedef struct fm_native_sharing {
    unsigned columns; /* of the trace */
    unsigned workers;
    fm_fetches fetches;
    bool sites; /* are delivered, if it has any */
} fm_native_sharing;

/* input: a regular file, which outlives it. references: to be expected in all; 0: nobody knows. */
fm_status fm_native_share_start(fm_native_share **made, const fm_input *input, const fm_native_sharing *what,
                                fm_native_place from, uint64_t references, fm_native_passed passed,
                                void *context, fm_error *error);
void fm_native_share_stop(fm_native_share *share); /* NULL is fine */
void fm_native_share_supply(fm_native_share *share, fm_supply *supply);
/* Instruction fetches that were passed over, and references that were fetched, so far. */
void fm_native_share_counts(const fm_native_share *share, uint64_t *skipped, uint64_t *fetched);

#endif

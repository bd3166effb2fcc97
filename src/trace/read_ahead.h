/* SPDX-License-Identifier: Apache-2.0 */
/*
 * read_ahead.h - a thread that decodes a few batches ahead of its consumer, over a ring of batches.
 * It knows nothing of formats: a function fills one slot at a time.
 */
#ifndef FATHOM_TRACE_READ_AHEAD_H
#define FATHOM_TRACE_READ_AHEAD_H

#include "trace/format.h"

/* One batch on its way, with what was true after it was made. */
typedef struct fm_slot {
    fm_columns columns;
    fm_status status; /* comes after the references in columns */
    fm_error error;
    fm_trace_info info;
    bool last; /* nothing comes after this slot */
} fm_slot;

typedef struct fm_read_ahead fm_read_ahead;
/* Fills slot->columns, status, error, info, last. Called on the thread. */
typedef void (*fm_slot_filler)(void *context, fm_slot *slot);

fm_status fm_read_ahead_start(fm_read_ahead **ahead, unsigned columns, fm_slot_filler filler, void *context,
                              fm_error *error);
/* The next slot; waits for it. Valid until the next call. After a slot that is `last`, do not call again. */
const fm_slot *fm_read_ahead_next(fm_read_ahead *ahead);
/* Stops the thread, wherever it is, and waits for it. NULL is fine. */
void fm_read_ahead_stop(fm_read_ahead *ahead);

#endif

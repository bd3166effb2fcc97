/* SPDX-License-Identifier: Apache-2.0 */
/*
 * phase_locator.h - windows show about where phases change; a second pass over the trace finds where exactly,
 * and which data each phase works on. Internal.
 */
#ifndef FATHOM_MODEL_PHASE_LOCATOR_H
#define FATHOM_MODEL_PHASE_LOCATOR_H

#include "model/phase_segments.h"

enum { FM_PHASE_SKETCH = 64 };

/* A phase with none inside. */
typedef struct fm_phase_leaf {
    uint64_t begin, end; /* references */
    const fm_phase_segment *segment;
    /* Its blocks' smallest hashes, ascending: a sample of its data that is the same for the same data. */
    unsigned held;
    uint64_t smallest[FM_PHASE_SKETCH];
} fm_phase_leaf;

/* The share of the blocks of either that both have, about. */
double fm_phase_common_data(const fm_phase_leaf *a, const fm_phase_leaf *b);

typedef struct fm_phase_locator fm_phase_locator;
/* One leaf for each segment, at the windows' edges; feeding moves them. */
fm_status fm_phase_locator_create(fm_phase_locator **locator, const fm_phase_segment *segments, size_t count,
                                  const fm_phase_windows *windows, fm_error *error);
void fm_phase_locator_destroy(fm_phase_locator *locator); /* NULL is fine */
void fm_phase_locator_feed(fm_phase_locator *locator, const uint64_t *blocks, const uint64_t *distances,
                           size_t count);
/* At the end. */
const fm_phase_leaf *fm_phase_locator_leaves(fm_phase_locator *locator, size_t *count);

#endif

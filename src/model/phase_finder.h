/* SPDX-License-Identifier: Apache-2.0 */
/* phase_finder.h - what the finder found. Internal; see fathom/phases.h. */
#ifndef FATHOM_MODEL_PHASE_FINDER_H
#define FATHOM_MODEL_PHASE_FINDER_H

#include <fathom/phases.h>

#include "model/phase_locator.h"

struct fm_phase_finder {
    fm_phase_windows windows;
    fm_phase_segment *segments;
    size_t segment_count;
    fm_phase_locator *locator; /* NULL: the first pass */
};

/* The phases with none inside, in order: those of the first pass where the second one was left out. */
fm_status fm_phase_finder_leaves(fm_phase_finder *finder, const fm_phase_leaf **leaves, size_t *count,
                                 fm_error *error);
/* Leaves that are the same have the same symbol; with_data: on the same data, too. */
void fm_phase_symbols(const fm_phase_leaf *leaves, size_t count, bool with_data, uint32_t *symbols);

#endif

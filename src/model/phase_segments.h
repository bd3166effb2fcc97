/* SPDX-License-Identifier: Apache-2.0 */
/* phase_segments.h - windows to stretches that are the same throughout. Internal. */
#ifndef FATHOM_MODEL_PHASE_SEGMENTS_H
#define FATHOM_MODEL_PHASE_SEGMENTS_H

#include "model/phase_windows.h"

#include <stdbool.h>

typedef struct fm_phase_segment {
    size_t begin, end; /* windows */
    bool reloads;      /* it begins with data that was not in use before */
    uint64_t loaded;   /* references that brought data for it, at its beginning */
    uint64_t footprint;
    fm_class_counts counts;
} fm_phase_segment;

/* At least one where there are windows; the caller frees them. */
fm_status fm_phase_segments_find(const fm_phase_windows *windows, fm_phase_segment **segments, size_t *count,
                                 fm_error *error);

#endif

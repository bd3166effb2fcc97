/* SPDX-License-Identifier: Apache-2.0 */
/*
 * phase_parts.h - what the distances of a trace are like, over time: counts by classes of distances for
 * each of at most 4096 windows of equal length. A window grows when the trace does, so that memory is
 * bounded. Internal.
 *
 * Four classes for each power of two, one for each distance below 8; the last one for first touches.
 */
#ifndef FATHOM_MODEL_PHASE_PARTS_H
#define FATHOM_MODEL_PHASE_PARTS_H

#include <fathom/phases.h>
#include <fathom/profile.h>
#include <fathom/status.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    FM_PHASE_WINDOWS = 4096,
    FM_PHASE_CLASSES = 160, /* distances from 2^41 on are one class */
    FM_PHASE_COLD = FM_PHASE_CLASSES - 1,
    FM_PHASE_FIRST_WIDTH = 16, /* references of a window, at first */
};

/* Counts of a stretch. */
typedef struct fm_class_counts {
    uint64_t of[FM_PHASE_CLASSES];
    uint64_t all;
} fm_class_counts;

typedef struct fm_phase_windows {
    uint64_t width;      /* references of a window */
    uint64_t references; /* so far */
    size_t count;        /* windows; the last may be shorter */
    fm_class_counts *each;
} fm_phase_windows;

unsigned fm_phase_class(uint64_t distance);

/*
 * ======== phase segments ========
 * Windows to stretches that are the same throughout. Internal.
 */

typedef struct fm_phase_segment {
    size_t begin, end; /* windows */
    bool reloads;      /* it begins with data that was not in use before */
    uint64_t loaded;   /* references that brought data for it, at its beginning */
    uint64_t footprint;
    fm_class_counts counts;
} fm_phase_segment;

/*
 * ======== phase locator ========
 * Windows show about where phases change; a second pass over the trace finds where exactly,
 * and which data each phase works on. Internal.
 */

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

/*
 * ======== phase finder ========
 * What the finder found. Internal; see fathom/phases.h.
 */

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

/*
 * ======== phase cut ========
 * Phases between the peaks of a data sample. Internal; see fathom/phases.h.
 */

/* No phases yet: the samples alone, the one with the most peaks first. */
fm_status fm_phases_create_samples(fm_phases **phases, const fm_sampler *sampler, uint64_t threshold,
                                   fm_error *error);
fm_status fm_phases_cut_at_peaks(fm_phases *phases, uint64_t references, fm_error *error);
/*
 * Whether the data samples recur together: most of the others come back once between two peaks of the
 * first, and each from about as far away as the time before. In a random trace, either happens to one in e at
 * most. Where few came back twice, all must have come from about as far away.
 */
bool fm_phases_samples_agree(const fm_phases *phases);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * phase_windows.h - what the distances of a trace are like, over time: counts by classes of distances for
 * each of at most 4096 windows of equal length. A window grows when the trace does, so that memory is
 * bounded. Internal.
 *
 * Four classes for each power of two, one for each distance below 8; the last one for first touches.
 */
#ifndef FATHOM_MODEL_PHASE_WINDOWS_H
#define FATHOM_MODEL_PHASE_WINDOWS_H

#include <fathom/status.h>

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
uint64_t fm_phase_class_least(unsigned class); /* the smallest distance of a class */

fm_status fm_phase_windows_init(fm_phase_windows *windows, fm_error *error);
void fm_phase_windows_clear(fm_phase_windows *windows);
void fm_phase_windows_feed(fm_phase_windows *windows, const uint64_t *distances, size_t count);

/*
 * Distinct blocks of a stretch, about, by its distances alone: the largest D so that D references have
 * distances of D or more, or touch their block for the first time. The first reference to each block in the
 * stretch has such a distance where the stretch comes from elsewhere; none of the others has.
 */
uint64_t fm_phase_footprint(const fm_class_counts *counts);

/* How different two stretches are: 0 the same, 1 nothing in common. Distances that differ by less than a
 * factor of two have some in common. */
double fm_phase_difference(const fm_class_counts *a, const fm_class_counts *b);
/* The difference that chance alone makes between two stretches of one kind, at most, about. */
double fm_phase_noise(const fm_class_counts *a, const fm_class_counts *b);

#endif

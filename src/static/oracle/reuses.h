/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reuses.h - what is known of the reuses of a region: how many there are of each distance, between which two
 * references, and how many first touches each reference has. Samples and reconstruction give this.
 */
#ifndef FATHOM_STATIC_REUSES_H
#define FATHOM_STATIC_REUSES_H

#include <fathom/status.h>

typedef struct fm_reuse_count {
    uint64_t distance;
    uint32_t from, to; /* references: the use, and the access that uses the block again */
    uint64_t count;
} fm_reuse_count;

typedef struct fm_reuses {
    uint64_t accesses;      /* all of the region: points of all references */
    uint64_t first_touches; /* exact */
    size_t count, capacity;
    fm_reuse_count *items; /* after fm_reuses_sort: by distance, from, to; each combination once */
    size_t reference_count;
    uint64_t *firsts; /* of each reference: its first touches (an estimate where the rest is one) */
} fm_reuses;

fm_status fm_reuses_create(fm_reuses *reuses, size_t reference_count, fm_error *error);
void fm_reuses_clear(fm_reuses *reuses);
fm_status fm_reuses_add(fm_reuses *reuses, uint64_t distance, uint32_t from, uint32_t to, uint64_t count,
                        fm_error *error);
/* Sorts, and makes one item of equal ones. */
void fm_reuses_sort(fm_reuses *reuses);

#endif

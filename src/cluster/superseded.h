/* SPDX-License-Identifier: Apache-2.0 */
/*
 * superseded.h - the positions in a range that were left, one after the other, and how many of them are above
 * one: a bitmap, and a Fenwick tree of how many bits are set in its words. O(log) each.
 */
#ifndef FATHOM_CLUSTER_SUPERSEDED_H
#define FATHOM_CLUSTER_SUPERSEDED_H

#include <fathom/status.h>

typedef struct fm_superseded {
    uint64_t low;   /* the range's first position, a multiple of 64 */
    uint64_t words; /* of the bitmap */
    uint64_t *bits;
    uint32_t *sums; /* from 1; NULL where nothing is counted any more */
    uint64_t count; /* bits set */
} fm_superseded;

/* Positions from low up to high, both multiples of 64. */
fm_status fm_superseded_create(fm_superseded *set, uint64_t low, uint64_t high, fm_error *error);
void fm_superseded_clear(fm_superseded *set); /* safe on a zeroed one */

/* Sets the bit of a position, which was not set; returns how many are set above it. */
uint64_t fm_superseded_leave(fm_superseded *set, uint64_t position);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ranges.h - the ranges of distances that attribution distinguishes: [edges[r], edges[r + 1]), the last one
 * open. Finds the range of a distance; counts nothing.
 */
#ifndef FATHOM_ENGINE_RANGES_H
#define FATHOM_ENGINE_RANGES_H

#include <fathom/attribution.h>
#include <fathom/profile.h>
#include <fathom/status.h>

enum {
    FM_EDGES_MAX = 250,
    FM_OCTAVES = 32,      /* of distances below 2^32; 0 is with 1 */
    FM_SMALL_RANGES = 64, /* distances whose ranges stand in an array */
    FM_INNER_MAX = 6,     /* edges within one octave up to which kernels compare with all of them */
};

typedef struct fm_ranges {
    size_t count;
    uint64_t edges[FM_EDGES_MAX];
    /* By the highest bit of a distance: the range of the least distance with that bit, and the edges behind
     * it (UINT32_MAX where there are no more). What kernels use while `inner` is at most FM_INNER_MAX. */
    uint32_t base[FM_OCTAVES] __attribute__((aligned(64)));
    uint32_t edge[FM_INNER_MAX][FM_OCTAVES] __attribute__((aligned(64)));
    unsigned inner;                 /* the most edges behind the least distance in any octave */
    uint8_t small[FM_SMALL_RANGES]; /* by distance */
} fm_ranges;

/* Edges must ascend, the first be 0, and be no more than FM_EDGES_MAX: else FM_E_ARGUMENT. */
fm_status fm_ranges_create(fm_ranges *ranges, const uint64_t *edges, size_t count, fm_error *error);

/* Of any distance; FM_COLD and FM_BEYOND have ranges of their own. */
static inline uint32_t fm_range_of(const fm_ranges *ranges, uint64_t distance)
{
    if (distance == FM_COLD) return FM_RANGE_COLD;
    if (distance == FM_BEYOND) return FM_RANGE_BEYOND;
    size_t low = 0, high = ranges->count; /* edges[low] <= distance < edges[high] */
    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;
        if (ranges->edges[middle] <= distance)
            low = middle;
        else
            high = middle;
    }
    return (uint32_t)low;
}

#endif

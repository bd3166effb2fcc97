/* SPDX-License-Identifier: Apache-2.0 */
/*
 * range_counts.h - counts by two numbers and a range of distances, on their way to the pairs or the object
 * uses of an attribution: added in any order, joined by sorting. Internal.
 *
 *     pairs:        major = reuse, minor = use
 *     object uses:  major = object, minor = site
 */
#ifndef FATHOM_PROFILE_RANGE_COUNTS_H
#define FATHOM_PROFILE_RANGE_COUNTS_H

#include <fathom/attribution.h>

typedef struct fm_range_count {
    uint32_t major, minor;
    uint32_t range; /* index of an edge, FM_RANGE_COLD or FM_RANGE_BEYOND */
    uint64_t count;
} fm_range_count;

/* All zero is an empty one. */
typedef struct fm_range_counts {
    size_t count, capacity;
    fm_range_count *items;
} fm_range_counts;

fm_status fm_range_counts_add(fm_range_counts *counts, fm_range_count item, fm_error *error);
/* What pairs and object uses hold, as it stands in them. FM_E_ARGUMENT where a bin does not begin at an edge.
 */
fm_status fm_range_counts_add_bins(fm_range_counts *counts, const fm_attribution *edges, uint32_t major,
                                   uint32_t minor, uint64_t cold, uint64_t beyond, const struct fm_bin *bins,
                                   size_t bin_count, fm_error *error);
void fm_range_counts_clear(fm_range_counts *counts);

/* Join, and replace the attribution's pairs (largest first) or object uses (by object and site). When they
 * fail, the attribution is as it was. FM_E_ARGUMENT where a sum exceeds 64 bits. */
fm_status fm_range_counts_to_pairs(fm_range_counts *counts, fm_attribution *attribution, fm_error *error);
fm_status fm_range_counts_to_uses(fm_range_counts *counts, fm_attribution *attribution, fm_error *error);

#endif

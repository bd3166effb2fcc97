/* SPDX-License-Identifier: Apache-2.0 */
/* attribution_grow.h - for those who fill attributions. Internal. */
#ifndef FATHOM_PROFILE_ATTRIBUTION_GROW_H
#define FATHOM_PROFILE_ATTRIBUTION_GROW_H

#include <fathom/attribution.h>

/* The ranges of distances have numbers below this; those from 254 on mean something else (analyzer.h). */
enum { FM_MOST_EDGES = 250 };

/*
 * An array of count + more elements that begins with those of `array` (may be NULL), the rest zero; in the
 * attribution's memory, where the old one stays until the attribution goes: not for growth by one. NULL: no
 * memory.
 *
 *     fm_site *sites = fm_attribution_grow(attribution, attribution->sites, attribution->site_count, 5,
 * sizeof *sites);
 */
void *fm_attribution_grow(fm_attribution *attribution, const void *array, size_t count, size_t more,
                          size_t size);

/* The sum of two counts, or the largest number there is. */
static inline uint64_t fm_sum_at_most(uint64_t a, uint64_t b)
{
    return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* smallest_cache.c - the miss-ratio curve asked the other way round. Misses never rise with the size, so that
 * halving finds it: 64 steps. */
#include <fathom/model.h>

/* The smallest size with at most so many misses, counted at their worst (or at their best). */
static uint64_t smallest(const fm_profile *profile, uint64_t largest, double allowed, bool worst)
{
    uint64_t low = 0, high = largest;
    while (low < high) {
        const uint64_t middle = low + (high - low) / 2;
        const fm_misses misses = fm_profile_misses(profile, middle);
        if ((double)(worst ? misses.most : misses.least) <= allowed)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

bool fm_profile_smallest_cache(const fm_profile *profile, double hit_ratio, uint64_t *least, uint64_t *blocks,
                               double *most)
{
    const double references = (double)profile->references;
    /* As many hits as the ratio asks for, rounded as the product is: 0.9 of 1000 are 900, not 900.0000001. */
    const double allowed = references - hit_ratio * references + references * 1e-12;
    const uint64_t largest = profile->bound ? profile->bound : UINT64_MAX;
    const fm_misses fewest = fm_profile_misses(profile, largest);
    *least = *blocks = 0;
    *most = references > 0 ? 1 - (double)fewest.most / references : 0;
    if (!(references > 0) || (double)fewest.most > allowed) return false;
    *blocks = smallest(profile, largest, allowed, true);
    *least = smallest(profile, *blocks, allowed, false);
    return true;
}

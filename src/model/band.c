/* SPDX-License-Identifier: Apache-2.0 */
/* band.c - between which miss ratios the actual one lies at a size, where a profile has a confidence band. */
#include <fathom/model.h>

bool fm_profile_band(const fm_profile *profile, uint64_t blocks, double *least, double *most)
{
    const fm_accuracy *accuracy = profile->accuracy;
    if (!accuracy || accuracy->band_count == 0) return false;
    const fm_band_point *band = accuracy->band;
    if (blocks < band[0].blocks) {
        /* Below the band, what there is is exact. */
        *least = *most = fm_profile_miss_ratio(profile, blocks);
        return blocks <= accuracy->exact_below;
    }
    size_t at = 0;
    while (at + 1 < accuracy->band_count && band[at + 1].blocks <= blocks) at++;
    /* The curve falls: between two sizes it lies between the upper end of one and the lower end of the other.
     */
    const bool between = at + 1 < accuracy->band_count && band[at].blocks < blocks;
    *most = band[at].most;
    *least = band[at + between].least;
    return true;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* bin_range.h - the distances a bin truly covers. */
#ifndef FATHOM_MODEL_BIN_RANGE_H
#define FATHOM_MODEL_BIN_RANGE_H

#include <fathom/profile.h>

/* Under a bound nothing from the bound on is in the histogram, whatever the bin's own end says. */
static inline uint64_t fm_bin_last(const fm_bin *bin, uint64_t bound)
{
    return bound && bin->hi >= bound && bin->lo < bound ? bound - 1 : bin->hi;
}

#endif

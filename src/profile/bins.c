/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bins.c - which bin a distance falls into, and which distances a bin covers.
 *
 * Every resolution numbers its bins from 0 on without gaps, so that a bin's number can index an
 * array. The two functions are inverse to each other over all 64-bit distances. It does not hold any
 * counts: the histogram does that.
 *
 * loglinear: distance d is bin d below 1024. Above, each power of two [2^e, 2^(e+1)) is cut into 64
 * bins of 2^(e−6) distances: a bin's width is at most 1/64 of its lower edge.
 */
#include <fathom/profile.h>

#include <string.h>

enum {
    EXACT_BITS = 10, /* loglinear: exact below 2^10 … */
    SUBBIN_BITS = 6, /* … then 2^6 bins per power of two */
    EXACT_BINS = 1 << EXACT_BITS,
    SUBBINS = 1 << SUBBIN_BITS,
    LOGLINEAR_BINS = EXACT_BINS + (64 - EXACT_BITS) * SUBBINS,
    LOG2_BINS = 65,
};

size_t fm_bins_index(fm_bins bins, uint64_t distance)
{
    switch (bins) {
    case FM_BINS_LOGLINEAR: {
        if (distance < EXACT_BINS) return (size_t)distance;
        unsigned exponent = 63u - (unsigned)__builtin_clzll(distance);
        size_t subbin = (size_t)(distance >> (exponent - SUBBIN_BITS)) - SUBBINS;
        return EXACT_BINS + (size_t)(exponent - EXACT_BITS) * SUBBINS + subbin;
    }
    case FM_BINS_LOG2:
        return distance ? 64u - (size_t)__builtin_clzll(distance) : 0;
    case FM_BINS_EXACT:
        break;
    }
    return (size_t)distance;
}

void fm_bins_range(fm_bins bins, size_t index, uint64_t *lo, uint64_t *hi)
{
    switch (bins) {
    case FM_BINS_LOGLINEAR:
        if (index < EXACT_BINS) break;
        if (index >= LOGLINEAR_BINS) index = LOGLINEAR_BINS - 1;
        index -= EXACT_BINS;
        unsigned shift = (unsigned)(index / SUBBINS) + EXACT_BITS - SUBBIN_BITS;
        *lo = (uint64_t)(SUBBINS + index % SUBBINS) << shift;
        *hi = *lo + ((UINT64_C(1) << shift) - 1);
        return;
    case FM_BINS_LOG2:
        if (index < 2) break;
        if (index >= LOG2_BINS) index = LOG2_BINS - 1;
        *lo = UINT64_C(1) << (index - 1);
        *hi = *lo + (*lo - 1);
        return;
    case FM_BINS_EXACT:
        break;
    }
    *lo = *hi = index;
}

const char *fm_bins_name(fm_bins bins)
{
    switch (bins) {
    case FM_BINS_LOGLINEAR:
        return "loglinear";
    case FM_BINS_LOG2:
        return "log2";
    case FM_BINS_EXACT:
        return "exact";
    }
    return "unknown";
}

bool fm_bins_from_name(const char *name, fm_bins *bins)
{
    static const fm_bins all[] = {FM_BINS_LOGLINEAR, FM_BINS_LOG2, FM_BINS_EXACT};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (strcmp(name, fm_bins_name(all[i])) == 0) {
            *bins = all[i];
            return true;
        }
    return false;
}

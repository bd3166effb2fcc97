/* SPDX-License-Identifier: Apache-2.0 */
/* cache_fit.h - one cache under one profile, computed once for the terminal, JSON and the report. */
#ifndef FATHOM_VIEW_CACHE_FIT_H
#define FATHOM_VIEW_CACHE_FIT_H

#include <fathom/model.h>

typedef struct fm_cache_fit {
    uint64_t blocks; /* of the profile, that the cache holds */
    uint64_t sets;
    fm_misses misses;
    double ratio;    /* fully associative */
    bool estimated;  /* estimate is there */
    bool other_line; /* no estimate because the cache's line is not the profile's block */
    double estimate; /* set-associative miss ratio */
    bool has_band;   /* the profile says between which limits the fully associative ratio lies */
    double least, most;
} fm_cache_fit;

fm_cache_fit fm_cache_fit_make(const fm_profile *profile, const fm_cache *cache);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sample_estimate.h - from what repeated samples counted to one histogram, joined to the exact one of small
 * distances, with a confidence band around its miss-ratio curve. Part of the engine `shards`.
 *
 * The exact part knows how many references are far: at least `exact_below` blocks away, or first touches.
 * Each sample says how these are spread. Its own estimate of their number is off by chance (a frequent block
 * is in the sample or not), so it is corrected to the known one. With nothing exact that number is all
 * references, and the correction is the SHARDS-adj of Waldspurger et al. (FAST 2015), section 4.
 *
 * The samples are independent of each other, so their spread shows how far their mean is off: Student's t for
 * 95 %, at each size by itself.
 */
#ifndef FATHOM_ENGINE_SAMPLE_ESTIMATE_H
#define FATHOM_ENGINE_SAMPLE_ESTIMATE_H

#include "engine/sampled/block_sample.h"

enum { FM_MOST_SAMPLES = 32 };

typedef struct fm_sampled {
    const fm_block_sample *samples;
    unsigned count;
    uint64_t references;  /* in all */
    uint64_t far;         /* references that the samples stand for */
    uint64_t exact_below; /* 0: nothing is exact */
    bool cold_known;      /* first touches are not among the far ones: the profile has them */
    double cold_error;    /* their standard error, where they were estimated */
} fm_sampled;

/* Adds the far references to the profile, whose histogram has the near ones: histogram, cold where it is not
 * known, accuracy. On failure the profile may be incomplete: it must be destroyed. */
fm_status fm_sample_estimate(const fm_sampled *sampled, fm_profile *profile, fm_error *error);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sample.h - what is estimated from samples of a run (sampled_run.h): a profile with a band, and which code
 * uses again what other code used. What is observed, and how it becomes an estimate:
 * experimental/observations.h.
 */
#ifndef FATHOM_SAMPLE_H
#define FATHOM_SAMPLE_H

#include <fathom/attribution.h>
#include <fathom/profile.h>
#include <fathom/status.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct fm_estimate_options {
    const char *estimator;  /* NULL: the default */
    const char *conversion; /* of time distances into distances: "aet", "shen"; NULL: "aet", and "shen" for
                               estimators of the paper */
    uint64_t reach;         /* watches are believed from this time distance on, bursts below it; 0: both are
                               believed all along. For watches that a clock of seconds times */
    fm_bins bins;           /* of the profile */
    unsigned blocks;        /* of the bootstrap: stretches of the run that are drawn; 0: 40 */
    unsigned bootstrap;     /* rounds of it; 0: 200; 1: no band */
    uint64_t seed;          /* of it */
    double confidence;      /* of the band; 0: 0.95 */
    /* Pairs of code: ranges of distances are cut at these edges, ascending, the first 0, at most 250 (as in
     * analyzer.h). NULL: one range. */
    const uint64_t *edges;
    size_t edge_count;
    /* What tags have in common, for tags that say more than the code; tag_count numbers each, the first one
     * for tag 0. NULL: nothing. */
    const uint32_t *codes;  /* tags with the same number are of the same code, and observations of it alike */
    const uint32_t *groups; /* late references are summed by these: those from late_from on, and never */
    size_t tag_count;
    uint64_t late_from; /* one of the edges */
    /* What else is known of the distinct blocks: no fewer, no more. Of memory addresses, the peak memory of
     * the program has room for so many; at another granularity there were so many. 0: not known. */
    uint64_t blocks_least, blocks_most;
} fm_estimate_options;

/* References that code `use` made and code `reuse` used again, or that were never used again. */
typedef struct fm_pair_estimate {
    uint32_t use, reuse; /* tags; 0: not known, none */
    double references;   /* estimated */
    double error;        /* its standard error: off by more than two of these in one case of 20 */
    uint64_t samples;    /* observations it rests on: watches, and bursts in which it was met */
    bool never;          /* never used again; reuse is 0 */
} fm_pair_estimate;

/* Late references to what tags have in common: by the tag that uses it again, and what was never used again
 * by the last. */
typedef struct fm_group_estimate {
    uint32_t group;
    double references; /* those never used again included */
    double never;
    double error;     /* standard error of references */
    uint64_t samples; /* as above */
} fm_group_estimate;

typedef struct fm_estimate {
    /* engine "sample", not exact; references, cold (never used again: as many as first touches), times,
     * distances, accuracy with its band, and `sampling`. */
    fm_profile *profile;
    /* Most references first. */
    size_t pair_count;
    fm_pair_estimate *pairs;
    /* The same by ranges of distances, for fm_attribution_add_pairs: sums to the profile's references. What
     * was never used again is under FM_RANGE_COLD, with tag 0 for use and reuse: which code touched it first
     * is not known. */
    size_t raw_count;
    fm_raw_pair *raw;
    /* Those with late references, by their numbers. */
    size_t group_count;
    fm_group_estimate *groups;
    /* Late references of pairs of code alone, never used ones aside; with edges. */
    size_t late_pair_count;
    fm_pair_estimate *late_pairs;
} fm_estimate;
/* The profile is destroyed too, unless the caller took it and left NULL. NULL is fine. */
FM_API void fm_estimate_destroy(fm_estimate *estimate);

#ifdef __cplusplus
}
#endif
#endif

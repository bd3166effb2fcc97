/* SPDX-License-Identifier: Apache-2.0 */
/*
 * model.h - what a profile means: miss ratios, caches, likeness of two profiles.
 */
#ifndef FATHOM_MODEL_H
#define FATHOM_MODEL_H

#include <fathom/profile.h>
#include <fathom/status.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Misses of a fully associative LRU cache of `blocks` blocks. Cold and beyond always miss. Where the
 * size falls inside a bin that covers several distances, `expected` spreads the bin evenly and
 * [least, most] brackets the truth. known is false when the size is larger than the profile's bound:
 * the answer is then that of the bound.
 */
typedef struct fm_misses {
    double expected;
    uint64_t least, most;
    bool known;
} fm_misses;
FM_API fm_misses fm_profile_misses(const fm_profile *profile, uint64_t blocks);
FM_API double fm_profile_miss_ratio(const fm_profile *profile, uint64_t blocks); /* 0 for an empty profile */

/*
 * The smallest fully associative LRU cache, in blocks, with a hit ratio of at least `hit_ratio` (0 to 1):
 * `least` may do, `blocks` does for certain; they differ where the size falls inside a bin that covers
 * several distances. False: none does (or none below the profile's bound); *most is then the highest hit
 * ratio that is known to be reached.
 */
FM_API bool fm_profile_smallest_cache(const fm_profile *profile, double hit_ratio, uint64_t *least,
                                      uint64_t *blocks, double *most);

/* Where the profile has a confidence band (fm_accuracy): the miss ratios between which that of a cache of
 * `blocks` blocks lies, with the probability accuracy->confidence. False: there is none for that size. */
FM_API bool fm_profile_band(const fm_profile *profile, uint64_t blocks, double *least, double *most);

/* One point of a miss-ratio curve. */
typedef struct fm_curve_point {
    uint64_t blocks;
    double misses;
    double ratio;
} fm_curve_point;
typedef struct fm_curve {
    size_t count;
    fm_curve_point *points;
} fm_curve;
/* Every size at which the curve changes (bin edges), from 0 blocks on; the points are exact there. */
FM_API fm_status fm_curve_create(fm_curve *curve, const fm_profile *profile, fm_error *error);
FM_API void fm_curve_clear(fm_curve *curve);

/* An estimate: misses of a cache with `sets` sets of `ways` ways, blocks spread over the sets at
 * random (Smith 1978; Hill & Smith 1989): a reference of distance d hits with the binomial
 * probability that fewer than `ways` of the d blocks fell into its set. */
FM_API double fm_profile_misses_associative(const fm_profile *profile, uint64_t sets, uint64_t ways);

/* Data and unified caches of this machine, smallest level first: those of the first processor that this
 * process may use, as the kernel tells them; by hwloc where it does not, and of another machine where hwloc
 * is told so (HWLOC_XMLFILE, HWLOC_SYNTHETIC). */
FM_API fm_status fm_machine_caches(fm_cache *caches, size_t capacity, size_t *count, fm_error *error);

/* Edges for attribution: 0, the powers of two, and the caches' sizes in blocks of `granularity` bytes,
 * ascending without repeats. Returns how many; capacity of 128 is enough for 32 caches. */
FM_API size_t fm_cache_edges(const fm_cache *caches, size_t count, uint64_t granularity, uint64_t *edges,
                             size_t capacity);

/*
 * How alike two profiles are. Defined on power-of-two bins where a paper uses such bins, so that
 * profiles of different resolution can be compared. See docs/METRICS.md.
 */
typedef struct fm_comparison {
    double overlap;      /* Ding & Zhong: 1 − E/2 over all references, on the finest bins both have */
    double overlap_log2; /* the same on power-of-two bins, as a prediction's expected overlap */
    double similarity;   /* RDX: S, over the reuses, power-of-two bins */
    double similarity_smoothed; /* RDX: Ŝ */
    double average_error;       /* HP-RDA: mean difference of the bins' shares of all references */
    double curve_largest;       /* largest difference of the two miss-ratio curves, over sizes */
    uint64_t curve_largest_at;  /* blocks */
    double curve_mean;     /* mean difference over log-spaced sizes from 1 block to the larger footprint */
    bool a_exact, b_exact; /* whether the profiles are */
} fm_comparison;
FM_SIZED(fm_status, fm_profile_compare, fm_comparison,
         (const fm_profile *a, const fm_profile *b, fm_comparison *result, fm_error *error),
         (a, b, result, error));

#ifdef __cplusplus
}
#endif
#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sample_internal.h - what the parts of the estimators share (fathom/experimental/observations.h). Internal.
 *
 *     sample_observations.c  bursts and watches as they were told; the same in the order of time distances
 *     sample_weigh.c         weights that fit what is known of all samples, of reuses that were watched in
 *                            their turn, of windows of the run; from these to the histogram of time
 *                            distances: Kaplan-Meier, and plain sums
 *     sample_convert.c       from time distances to distances
 *     sample_pairs.c         which code uses again what other code used
 *     sample_result.c        all of it, in a profile; the bootstrap; what an estimate can be at most
 */
#ifndef FATHOM_MODEL_SAMPLE_INTERNAL_H
#define FATHOM_MODEL_SAMPLE_INTERNAL_H

#include "base/table.h"

#include <fathom/experimental/observations.h>

/* ---- observations ---- */

typedef struct fm_sample_burst {
    uint32_t thread;
    bool ended;
    uint64_t at, length, uses;
    double weight;
    size_t first;                  /* of its reuses in the samples' array: */
    size_t found_count, cut_count; /* those found, then those cut off */
} fm_sample_burst;

struct fm_samples {
    uint64_t granularity;
    char *method;
    size_t thread_count, thread_capacity;
    uint64_t *references; /* of each thread */
    size_t burst_count, burst_capacity;
    fm_sample_burst *bursts;
    size_t reuse_count, reuse_capacity;
    fm_burst_reuse *reuses; /* times are middles of bins */
    size_t watch_count, watch_capacity;
    fm_sample_watch *watches;
};

/* Bins of time distances, and the middle of each. */
#define FM_SAMPLE_BINS FM_BINS_LOGLINEAR
size_t fm_sample_bin_count(void);
uint64_t fm_sample_bin_middle(size_t bin);

/* ---- estimators ---- */

typedef enum fm_sample_weights {
    FM_WEIGHTS_ENTRY,        /* Kaplan-Meier, watches weighted by the inverse of their chance to be armed */
    FM_WEIGHTS_NONE,         /* Kaplan-Meier, all armed alike */
    FM_WEIGHTS_BOTH,         /* Horvitz-Thompson: by the inverse of their chance to be seen to the end */
    FM_WEIGHTS_PROPORTIONAL, /* the paper's: samples at the same context while it was watched */
    FM_WEIGHTS_TRAPPED,      /* the paper's without that: each once */
} fm_sample_weights;

typedef struct fm_estimator {
    fm_estimator_info info;
    fm_sample_weights weights;
    bool survival;          /* Kaplan-Meier: what was cut off counts for as long as it was seen */
    bool windows;           /* and windows of the run are told apart */
    const char *conversion; /* "aet", "shen" where the caller does not say */
} fm_estimator;

/* ---- in the order of time distances ---- */

/* At the same time distance in this order: who is used again was still there, who enters comes after.
 * FM_ITEM_NEVER: the thread ended so many references after the use. */
typedef enum fm_sample_kind { FM_ITEM_REUSED, FM_ITEM_NEVER, FM_ITEM_CUT, FM_ITEM_ENTERS } fm_sample_kind;

enum { FM_ITEM_OF_BURSTS = UINT32_MAX };
typedef struct fm_sample_item {
    uint64_t time;
    double weight;
    uint32_t block; /* of the bootstrap */
    uint32_t kind;  /* fm_sample_kind */
    uint32_t watch; /* which; FM_ITEM_OF_BURSTS: some uses of bursts together */
    uint32_t bin;   /* of time */
} fm_sample_item;

/* A stretch of the run: blocks of the bootstrap that follow each other. */
typedef struct fm_sample_window {
    bool loose;      /* of several threads: nothing is known of what lies behind it */
    double from, to; /* references of its thread; loose: from 0 on */
    double end;      /* references that the thread makes in all; loose: in the mean */
    uint32_t last;   /* the thread's last window */
} fm_sample_window;

/* Windows are the leaves of a tree, and level l has 2^l nodes. */
enum {
    FM_SAMPLE_OCTAVES = 64,
    FM_SAMPLE_LEVELS = 5,
    FM_SAMPLE_MOST_WINDOWS = 1 << (FM_SAMPLE_LEVELS - 1),
    FM_SAMPLE_NODES = 2 * FM_SAMPLE_MOST_WINDOWS
};

typedef struct fm_sample_items {
    bool survival;
    size_t count, capacity;
    fm_sample_item *items;
    uint32_t blocks;       /* of the bootstrap */
    double *initial;       /* of each block: weight that is there from the beginning */
    double *known;         /* of each block: references of the run that it stands for */
    uint32_t levels;       /* of the tree of windows */
    uint32_t window_count; /* 1: the whole run is one, and nothing is told apart */
    fm_sample_window windows[FM_SAMPLE_MOST_WINDOWS];
    /* How far the nodes of a level are believed by themselves, by the power of two of the time distance: the
     * inverse of the weight that the node above has in each (sample_weigh.c). 0: all are alike. */
    double apart[FM_SAMPLE_LEVELS][FM_SAMPLE_OCTAVES];
    uint32_t *burst_blocks; /* of each burst */
    uint32_t *watch_blocks; /* of each watch */
    double effective; /* observations that the watches are worth: (sum of weights)² / sum of squares; of
                         bursts: how many there are */
} fm_sample_items;

fm_status fm_sample_items_create(fm_sample_items *items, const fm_samples *samples,
                                 const fm_estimator *estimator, const fm_estimate_options *options,
                                 fm_error *error);
void fm_sample_items_clear(fm_sample_items *items);
/* Scales the weights of watches, of each code, to what is known of all samples. */
fm_status fm_sample_calibrate(const fm_samples *samples, const fm_estimate_options *options, double *weights,
                              fm_error *error);
/* Sets the weights of the reuses of samples (`since`), given those of the samples. */
fm_status fm_sample_weigh_seconds(const fm_samples *samples, double *weights, fm_error *error);

/* ---- the histogram of time distances ---- */

typedef struct fm_sample_masses {
    size_t bin_count;
    size_t used;   /* bins that are of any use: none of those from here on has a share */
    double *bins;  /* share of the references with a time distance in each bin */
    double never;  /* share never used again; with the bins: 1 */
    double unseen; /* part of `never` that no observation shows: what was cut off last */
    /* The same in each window, bin_count numbers for each: */
    uint32_t window_count;
    double *shares;    /* of the references of the run */
    double *falls;     /* of the window's uses, if its thread went on for ever */
    double *distances; /* mean distance of the bin's middle (fm_sample_distances) */
    double *touched;   /* blocks that references from the window touch until before the bin's lowest time */
    /* Share of the references that a weight of 1 stands for, NULL: not wanted. Of a watch, and of uses of
     * bursts in a bin, in one window; with more windows, of watches that were never used again alone. */
    double *per_weight_of_watch, *per_weight_of_bin;
    /* In each window and bin, FM_SAMPLE_LEVELS numbers: of what is reused in a window that has the same node
     * at this level, and no other below. */
    double *per_weight_across;
} fm_sample_masses;
/* for_pairs: with what a weight is worth. */
fm_status fm_sample_masses_create(fm_sample_masses *masses, const fm_sample_items *items, size_t watch_count,
                                  bool for_pairs, fm_error *error);
void fm_sample_masses_clear(fm_sample_masses *masses);
/* times: what each block of the bootstrap counts; NULL: 1. False: nothing was observed. */
bool fm_sample_weigh(const fm_sample_items *items, const double *times, fm_sample_masses *masses);

/* ---- windows ---- */

/* Where a block of the bootstrap lies. */
typedef struct fm_sample_place {
    uint32_t thread, last_thread; /* of its first and its last observation */
    uint64_t at;
    size_t count; /* observations */
} fm_sample_place;
fm_status fm_sample_windows(fm_sample_items *items, const fm_samples *samples, const fm_sample_place *places,
                            fm_error *error);
/* How different they are, once the items are in order. */
void fm_sample_windows_compare(fm_sample_items *items);
static inline uint32_t fm_sample_window_of(const fm_sample_items *items, uint32_t block)
{
    return items->blocks ? (uint32_t)((uint64_t)block * items->window_count / items->blocks) : 0;
}
static inline uint32_t fm_sample_octave(uint64_t time)
{
    return time ? 63 - (uint32_t)__builtin_clzll(time) : 0;
}

/* ---- distances ---- */

/* Mean number of distinct other blocks between a use and its reuse, for the middle of each bin of time
 * distances and each window. shen: by Shen et al., else as in eviction_time.c. */
void fm_sample_distances(const fm_sample_items *items, fm_sample_masses *masses, bool shen);
/* Miss ratios at these sizes, ascending: the share whose mean distance is at least that, within bins in
 * straight lines. */
void fm_sample_miss_ratios(const fm_sample_items *items, fm_sample_masses *masses, const uint64_t *sizes,
                           size_t count, double *ratios);
/* Shen's distances: each bin's references are spread binomially about its mean. spread: shares by bins of
 * distances, fm_sample_bin_count of them. distinct: all blocks of the run. */
void fm_sample_spread(const fm_sample_masses *masses, double distinct, double *spread);

/* ---- results ---- */

fm_status fm_sample_pairs(fm_estimate *estimate, const fm_samples *samples, const fm_sample_items *items,
                          const fm_sample_masses *masses, const fm_estimate_options *options,
                          fm_error *error);

/* ---- random numbers ---- */

/* Below most, which is not 0. */
static inline uint64_t fm_sample_random_below(uint64_t *state, uint64_t most)
{
    return (uint64_t)((unsigned __int128)fm_random_next(state) * most >> 64);
}

#endif

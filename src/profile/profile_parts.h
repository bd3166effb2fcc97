/* SPDX-License-Identifier: Apache-2.0 */
/* profile_parts.h - what the files of profiles share. Internal. */
#ifndef FATHOM_PROFILE_PROFILE_PARTS_H
#define FATHOM_PROFILE_PROFILE_PARTS_H

#include "base/json.h"

#include <fathom/attribution.h>
#include <fathom/profile.h>
#include <stdio.h>

/* ======== histograms ======== */

/* Sums of and changes to histograms. Internal; the struct is in fathom/profile.h. */

/* Sum of all counts; false when it does not fit 64 bits. */
bool fm_histogram_total(const fm_histogram *histogram, uint64_t *total);

/* The coarser of two resolutions: exact is cut finer than loglinear, that finer than log2, and the
 * bins of each are unions of bins of the finer ones. */
fm_bins fm_bins_coarser(fm_bins a, fm_bins b);

/*
 * The sum of two histograms (b may be NULL) in bins of the given resolution, which is not finer than
 * theirs. Under a bound (not 0) the last bin ends before it. *sum is new memory. Fails with
 * FM_E_NOMEM, or FM_E_ARGUMENT when a count overflows; *sum is then empty.
 */
fm_status fm_histogram_sum(fm_histogram *sum, const fm_histogram *a, const fm_histogram *b, fm_bins bins,
                           uint64_t bound, fm_error *error);

/* ======== counts by range ======== */

/*
 * Counts by two numbers and a range of distances, on their way to the pairs or the object
 * uses of an attribution: added in any order, joined by sorting. Internal.
 *
 *     pairs:        major = reuse, minor = use
 *     object uses:  major = object, minor = site
 */

typedef struct fm_range_count {
    uint32_t major, minor;
    uint32_t range; /* index of an edge, FM_RANGE_COLD or FM_RANGE_BEYOND */
    uint64_t count;
} fm_range_count;

/* All zero is an empty one. */
typedef struct fm_range_counts {
    size_t count, capacity;
    fm_range_count *items;
} fm_range_counts;

fm_status fm_range_counts_add(fm_range_counts *counts, fm_range_count item, fm_error *error);
/* What pairs and object uses hold, as it stands in them. FM_E_ARGUMENT where a bin does not begin at an edge.
 */
fm_status fm_range_counts_add_bins(fm_range_counts *counts, const fm_attribution *edges, uint32_t major,
                                   uint32_t minor, uint64_t cold, uint64_t beyond, const struct fm_bin *bins,
                                   size_t bin_count, fm_error *error);
void fm_range_counts_clear(fm_range_counts *counts);

/* Join, and replace the attribution's pairs (largest first) or object uses (by object and site). When they
 * fail, the attribution is as it was. FM_E_ARGUMENT where a sum exceeds 64 bits. */
fm_status fm_range_counts_to_pairs(fm_range_counts *counts, fm_attribution *attribution, fm_error *error);
fm_status fm_range_counts_to_uses(fm_range_counts *counts, fm_attribution *attribution, fm_error *error);

/* ======== laws ======== */

/*
 * What holds of every profile (docs/TESTING.md, "Laws"). Internal.
 *
 * Whoever makes a profile calls fm_profile_made at its end; writing and reading one checks it again. A result
 * that breaks a law is never shown: of ours it is an internal error, of a file it is refused. Estimates are
 * kept within what can be true before that (src/model/sample_result.c).
 */

/* What a profile is of. */
typedef enum fm_law_scope {
    FM_LAWS_ANY,   /* of all of a trace, or of a phase of it, whose blocks may have been touched before */
    FM_LAWS_WHOLE, /* of all that the engine was given: each block has its first touch in it */
} fm_law_scope;

typedef struct fm_law {
    const char *name;
    const char *says;   /* what holds */
    fm_law_scope scope; /* FM_LAWS_WHOLE: it holds of a whole trace only */
    /* Whether it holds; else why has the numbers. */
    bool (*holds)(const fm_profile *profile, char *why, size_t size);
} fm_law;

/* The laws, for tests and documents; NULL past the end. */
const fm_law *fm_law_at(size_t index);
/* The first law that a profile or one of its parts breaks, and the numbers. NULL: none. */
const fm_law *fm_law_broken(const fm_profile *profile, fm_law_scope scope, char *why, size_t size);
/* The same of two profiles of one run at different granularities. */
extern const fm_law fm_law_nested;
bool fm_footprints_nest(const fm_profile *small, const fm_profile *large, char *why, size_t size);
/* FM_E_INTERNAL where a profile that we made breaks one. path: where it was to be written; may be NULL. */
fm_status fm_profile_made(const fm_profile *profile, fm_law_scope scope, const char *path, fm_error *error);

/* ======== accuracy ======== */

/* One more sentence of the statement. */
fm_status fm_accuracy_add(fm_accuracy *accuracy, fm_error *error, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* What the sum of two profiles promises: what either does, where the other is exact or says the same; else
 * nothing (NULL). */
fm_status fm_accuracy_weaker(fm_accuracy **weaker, const fm_profile *a, const fm_profile *b, fm_error *error);

/* ======== sampling ======== */

/* Empty, with these words. */
fm_status fm_sampling_create(fm_sampling **sampling, const char *method, const char *estimator,
                             const char *conversion, fm_error *error);
/* That of the sum of two profiles: NULL unless both were sampled in the same way. A profile of nothing is
 * like any other. */
fm_status fm_sampling_sum(fm_sampling **sum, const fm_profile *a, const fm_profile *b, fm_error *error);

/* ======== JSON ======== */

/* The fields of a profile's JSON and of the objects in it (docs/PROFILE.md, which tests/unit holds against
 * these tables). */
extern const fm_json_table fm_profile_json, fm_accuracy_json, fm_sampling_json, fm_phases_json, fm_run_json,
    fm_kernel_json, fm_counts_json, fm_cache_json;
/* Only written. */
extern const fm_json_table fm_nest_json, fm_set_misses_json;

enum { FM_MOST_STORED_CACHES = 256 };

/* Fields of a profile that are no plain object. */
fm_status fm_caches_read(fm_json_scan *scan, const char *what, void *profile);
void fm_caches_write(fm_json_fields *of, const char *name, const void *profile);
void fm_set_misses_write(fm_json_fields *of, const char *name, const void *profile);
void fm_phases_write(fm_json_fields *of, const char *name, const void *at); /* of the pointer, as the next */
void fm_bounds_write(fm_json_fields *of, const char *name, const void *at);

void fm_run_destroy(fm_run *run); /* NULL is fine */

#endif

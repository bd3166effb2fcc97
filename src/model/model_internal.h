/* SPDX-License-Identifier: Apache-2.0 */
/*
 * model_internal.h - what the files of the model share, by topic: growth with the size of the input, the
 * binomial distribution, bins under a bound, this machine's caches. Phases have phase_parts.h, the estimators
 * sample_internal.h.
 */
#ifndef FATHOM_MODEL_MODEL_INTERNAL_H
#define FATHOM_MODEL_MODEL_INTERNAL_H

#include <fathom/model.h>
#include <fathom/predict.h>
#include <fathom/profile.h>

/*
 * ======== growth ========
 * From the runs of a model to its patterns and counts; and what a model expects of a size.
 */

/*
 * ======== growth ========
 * From the runs of a model to its patterns and counts; and what a model expects of a size.
 */

/* Runs of sizes less than a tenth apart are of one size: what differs between them says nothing of growth.
 * The number of sizes; the size that a run belongs to is counted by going on while the next one is not apart.
 */
size_t fm_runs_sizes(const fm_training_run *runs, size_t count);
/* The first run of the next size, from the first one of a size on. */
size_t fm_runs_next_size(const fm_training_run *runs, size_t count, size_t first);

/* Fits shares (there is room for them), dimensions and counts to the runs, which have two sizes at least.
 * dimensions 0: all are tried. */
fm_status fm_model_fit(fm_model *model, unsigned dimensions, fm_error *error);

double fm_share_distance(const fm_model_share *share, double size);
double fm_model_references(const fm_model *model, double size); /* at least the distinct blocks */
double fm_model_distinct(const fm_model *model, double size);   /* at least 1 */

/*
 * ======== binomial ========
 * Sums of the binomial distribution, accurate and quick for any number of trials.
 *
 * X is the number of successes in n trials of probability p, 0 < p < 1.
 */

/* P(X = k) for whole n >= k >= 0. */
double fm_binomial_probability(double n, double k, double p);
/* P(X < limit), limit a whole number from 1 on. */
double fm_binomial_below(double n, double limit, double p);
/* E[min(X, limit)]. */
double fm_binomial_capped_mean(double n, double limit, double p);

/*
 * ======== machine sysfs ========
 * The caches of this machine as the kernel's files tell them. hwloc knows more, but loads
 * its plug-ins for graphics cards first: OpenGL, OpenCL, CUDA and an X server's libraries, in a program that
 * asks for the size of a cache.
 */

/* Caches for data of one processor, the smallest first: as many as were found, at most `capacity`. 0: ask
 * hwloc. root: "", or a folder that holds other files of /sys, for tests. */
size_t fm_sysfs_caches(const char *root, unsigned processor, fm_cache *caches, size_t capacity);
/* The processor's name; false: ask hwloc. */
bool fm_cpuinfo_name(const char *root, char *name, size_t size);

#endif

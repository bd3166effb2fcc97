/* SPDX-License-Identifier: Apache-2.0 */
/*
 * growth_fit.h - from the runs of a model to its patterns and counts; and what a model expects of a size, as
 * bars.
 */
#ifndef FATHOM_MODEL_GROWTH_FIT_H
#define FATHOM_MODEL_GROWTH_FIT_H

#include <fathom/predict.h>

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

#endif

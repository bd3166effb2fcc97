/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bars.h - a profile as the overlap sees it: the part of all references in each power-of-two bin of
 * distances, and of first touches.
 */
#ifndef FATHOM_MODEL_BARS_H
#define FATHOM_MODEL_BARS_H

#include <fathom/predict.h>

enum { FM_BARS_COLD = 65, FM_BARS = 66 };
typedef struct fm_bars {
    double part[FM_BARS]; /* by the bit length of the distance; they add up to 1 */
} fm_bars;

/* What the model expects of that size, all distances times `scale`. */
void fm_bars_of_model(fm_bars *bars, const fm_model *model, double size, double scale);
/* What was seen in a run of so many shares. */
void fm_bars_of_run(fm_bars *bars, const fm_training_run *run, size_t shares);
/* Powers of the size through two runs of different sizes: of each distance, and of the counts. */
void fm_bars_between(fm_bars *bars, const fm_training_run *one, const fm_training_run *other, size_t shares,
                     double size);
/* E/2 of Ding & Zhong: 1 less the overlap. */
double fm_bars_difference(const fm_bars *a, const fm_bars *b);

/* The power of the size that goes through both points. */
double fm_power_through(double size, double size1, double value1, double size2, double value2);

#endif

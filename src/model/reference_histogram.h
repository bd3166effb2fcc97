/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reference_histogram.h - the transpose of a profile's histogram: the mean distance of each equal share of
 * the reuses, shortest first (Ding & Zhong, section 2.2.1).
 */
#ifndef FATHOM_MODEL_REFERENCE_HISTOGRAM_H
#define FATHOM_MODEL_REFERENCE_HISTOGRAM_H

#include <fathom/profile.h>

/* means: of `shares` equal shares. Within a bin, distances are taken to be spread evenly. The histogram must
 * not be empty. */
void fm_reference_histogram(const fm_histogram *histogram, double *means, size_t shares);

#endif

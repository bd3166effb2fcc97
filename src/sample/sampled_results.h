/* SPDX-License-Identifier: Apache-2.0 */
/* sampled_results.h - samples, for those who cannot include fathom/experimental/observations.h. Internal to
 * src/sample. */
#ifndef FATHOM_SAMPLE_SAMPLED_RESULTS_H
#define FATHOM_SAMPLE_SAMPLED_RESULTS_H

#include <fathom/sampled_run.h>

typedef struct fm_samples fm_samples;
fm_status fm_sampled_samples_create(fm_samples **samples, uint64_t granularity, bool counters,
                                    fm_error *error);
void fm_sampled_samples_destroy(fm_samples *samples);

#endif

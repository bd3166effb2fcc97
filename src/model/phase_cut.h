/* SPDX-License-Identifier: Apache-2.0 */
/* phase_cut.h - phases between the peaks of a data sample. Internal; see fathom/phases.h. */
#ifndef FATHOM_MODEL_PHASE_CUT_H
#define FATHOM_MODEL_PHASE_CUT_H

#include <fathom/phases.h>

/* No phases yet: the samples alone, the one with the most peaks first. */
fm_status fm_phases_create_samples(fm_phases **phases, const fm_sampler *sampler, uint64_t threshold,
                                   fm_error *error);
fm_status fm_phases_cut_at_peaks(fm_phases *phases, uint64_t references, fm_error *error);
/*
 * Whether the data samples recur together: most of the others come back once between two peaks of the
 * first, and each from about as far away as the time before. In a random trace, either happens to one in e at
 * most. Where few came back twice, all must have come from about as far away.
 */
bool fm_phases_samples_agree(const fm_phases *phases);

#endif

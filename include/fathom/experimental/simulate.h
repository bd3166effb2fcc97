/* SPDX-License-Identifier: Apache-2.0 */
/* experimental/simulate.h - a sampler tried on a stored trace, whose truth is known. */
#ifndef FATHOM_EXPERIMENTAL_SIMULATE_H
#define FATHOM_EXPERIMENTAL_SIMULATE_H

#include <fathom/experimental/observations.h>
#include <fathom/job.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A trace that goes past a virtual sampler (observations.h): how far an estimate is from the truth. */
FM_SIZED_BY(fm_status, fm_job_simulate, (size_t, size_t, size_t),
            (sizeof(fm_reader_options), sizeof(fm_virtual_sampler_options), sizeof(fm_estimate_options)),
            (fm_job *job, const char *path, const fm_reader_options *reading,
             const fm_virtual_sampler_options *sampler, const fm_estimate_options *estimate, fm_error *error),
            (job, path, reading, sampler, estimate, error));

#ifdef __cplusplus
}
#endif
#endif

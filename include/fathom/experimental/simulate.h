/* SPDX-License-Identifier: Apache-2.0 */
/*
 * simulate.h - a job (fathom/job.h) that shows a stored trace to a virtual sampler: how far an estimate is
 * from the truth.
 */
#ifndef FATHOM_EXPERIMENTAL_SIMULATE_H
#define FATHOM_EXPERIMENTAL_SIMULATE_H

#include <fathom/experimental/observations.h>
#include <fathom/job.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Of the sampler, the granularity is the job's; of the estimate, what depends on code. */
FM_SIZED_BY(fm_status, fm_job_simulate, (size_t, size_t, size_t),
            (sizeof(fm_reader_options), sizeof(fm_virtual_sampler_options), sizeof(fm_estimate_options)),
            (fm_job *job, const char *path, const fm_reader_options *reading,
             const fm_virtual_sampler_options *sampler, const fm_estimate_options *estimate, fm_error *error),
            (job, path, reading, sampler, estimate, error));

#ifdef __cplusplus
}
#endif
#endif

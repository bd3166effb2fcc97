/* SPDX-License-Identifier: Apache-2.0 */
/* pmu_source.h - where the data of a sampled access came from, as a processor tells it
 * (PERF_SAMPLE_DATA_SRC). */
#ifndef FATHOM_SAMPLE_PMU_SOURCE_H
#define FATHOM_SAMPLE_PMU_SOURCE_H

#include <fathom/attribution.h>

/* source: union perf_mem_data_src. */
fm_memory_level fm_pmu_source_level(uint64_t source);

#endif

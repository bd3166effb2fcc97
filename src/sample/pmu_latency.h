/* SPDX-License-Identifier: Apache-2.0 */
/* pmu_latency.h - how long sampled accesses took, and where their data came from: sums for each place in the
 * code. */
#ifndef FATHOM_SAMPLE_PMU_LATENCY_H
#define FATHOM_SAMPLE_PMU_LATENCY_H

#include "collect/sample/sample_protocol.h"

#include <fathom/attribution.h>

typedef struct fm_latencies {
    fm_site_latency *of_tag; /* by tag; site is not known yet */
    size_t count, capacity;
} fm_latencies;

/* A sample that tells neither is not counted. */
fm_status fm_latencies_add(fm_latencies *latencies, uint32_t tag, const fm_sample_use *use, fm_error *error);
/* Puts them into the attribution, by site. */
fm_status fm_latencies_describe(const fm_latencies *latencies, fm_attribution *attribution,
                                const uint32_t *map, size_t map_count, fm_error *error);
void fm_latencies_free(fm_latencies *latencies);

#endif

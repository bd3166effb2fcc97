/* SPDX-License-Identifier: Apache-2.0 */
/* pmu_latency.c - see pmu_latency.h. */
#include "sample/pmu_latency.h"

#include "base/error.h"
#include "base/memory.h"
#include "profile/attribution/latencies.h"
#include "sample/pmu_source.h"

#include <stdlib.h>
#include <string.h>

enum { LATENCY_MOST = 1 << 24 }; /* cycles: more is no latency of an access */

fm_status fm_latencies_add(fm_latencies *latencies, uint32_t tag, const fm_sample_use *use, fm_error *error)
{
    const fm_memory_level level = fm_pmu_source_level(use->source);
    const bool timed = use->latency > 0 && use->latency < LATENCY_MOST;
    if (tag == 0 || (!timed && level == FM_LEVEL_UNKNOWN)) return FM_OK;
    if (tag >= latencies->count) {
        const size_t before = latencies->count;
        if (fm_array_reserve((void **)&latencies->of_tag, &latencies->capacity, (size_t)tag + 1,
                             sizeof *latencies->of_tag) != 0)
            return fm_fail_memory(error, ((size_t)tag + 1) * sizeof *latencies->of_tag, "the latencies");
        latencies->count = (size_t)tag + 1;
        memset(latencies->of_tag + before, 0, (latencies->count - before) * sizeof *latencies->of_tag);
    }
    fm_site_latency *sum = &latencies->of_tag[tag];
    sum->samples++;
    sum->levels[level]++;
    if (timed) {
        sum->timed++;
        sum->cycles += use->latency;
    }
    return FM_OK;
}

fm_status fm_latencies_describe(const fm_latencies *latencies, fm_attribution *attribution,
                                const uint32_t *map, size_t map_count, fm_error *error)
{
    size_t count = 0;
    fm_site_latency *made = fm_calloc(latencies->count + 1, sizeof *made);
    if (!made) return fm_fail_memory(error, latencies->count * sizeof *made, "the latencies");
    for (size_t tag = 0; tag < latencies->count && tag < map_count; tag++) {
        if (latencies->of_tag[tag].samples == 0 || map[tag] == FM_NONE) continue;
        made[count] = latencies->of_tag[tag];
        made[count++].site = (uint32_t)tag;
    }
    const fm_attribution by_tag = {.latencies = made, .latency_count = count};
    const fm_status status = fm_site_latencies_merge(attribution, &by_tag, map, error);
    free(made);
    return status;
}

void fm_latencies_free(fm_latencies *latencies)
{
    free(latencies->of_tag);
    *latencies = (fm_latencies){0};
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pfm_module.c - names of events to their encoding, by libpfm4: the module that `fathom sample` loads to find
 * the events of the processor's counters. LIBPFM_FORCE_PMU names another processor (libpfm4's own variable).
 */
#include "sample/pmu_module.h"

#include <perfmon/pfmlib_perf_event.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

static bool pfm_begin(void)
{
    static int begun; /* 1: it is there, -1: not */
    if (begun == 0) begun = pfm_initialize() == PFM_SUCCESS ? 1 : -1;
    return begun > 0;
}

static const char *pfm_model(void)
{
    static char name[64];
    if (!pfm_begin()) return NULL;
    pfm_pmu_t pmu;
    pfm_for_all_pmus(pmu)
    {
        pfm_pmu_info_t about;
        memset(&about, 0, sizeof about);
        about.size = sizeof about;
        if (pfm_get_pmu_info(pmu, &about) != PFM_SUCCESS || !about.is_present ||
            about.type != PFM_PMU_TYPE_CORE)
            continue;
        strncpy(name, about.name, sizeof name - 1);
        return name;
    }
    return NULL;
}

static const char *pfm_encode(const char *event, uint64_t config[3])
{
    struct perf_event_attr made;
    pfm_perf_encode_arg_t how;
    if (!pfm_begin()) return "libpfm4 does not know this processor";
    memset(&made, 0, sizeof made);
    memset(&how, 0, sizeof how);
    made.size = sizeof made;
    how.attr = &made;
    how.size = sizeof how;
    const int result = pfm_get_os_event_encoding(event, PFM_PLM3, PFM_OS_PERF_EVENT, &how);
    if (result != PFM_SUCCESS) return pfm_strerror(result);
    config[0] = made.config;
    config[1] = made.config1;
    config[2] = made.config2;
    return NULL;
}

__attribute__((visibility("default")))
const fm_pfm_module fm_pfm = {.interface = FM_PFM_INTERFACE, .model = pfm_model, .encode = pfm_encode};

/* SPDX-License-Identifier: Apache-2.0 */
/* pmu_module.c - see pmu_module.h. */
#include "sample/pmu_module.h"

#include "base/parts.h"

#include <limits.h>

const fm_pfm_module *fm_pfm_load(const char *parts)
{
    char path[PATH_MAX];
    fm_error error;
    if (!fm_part_find(parts, FM_PFM_FILE, path, sizeof path)) return NULL;
    return fm_part_load(path, FM_PFM_SYMBOL, FM_PFM_INTERFACE, false, &error);
}

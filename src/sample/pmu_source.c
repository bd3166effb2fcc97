/* SPDX-License-Identifier: Apache-2.0 */
/* pmu_source.c - see pmu_source.h. Newer kernels tell a number of the level (mem_lvl_num), older ones bits.
 */
#include "sample/pmu_source.h"

#include <linux/perf_event.h>

enum { MHB = 5, MSC = 6, UNCACHED = 8, CXL = 9, IO = 10 }; /* of mem_lvl_num, which headers may not have */

static fm_memory_level by_number(const union perf_mem_data_src *source)
{
    switch (source->mem_lvl_num) {
    case PERF_MEM_LVLNUM_L1:
        return FM_LEVEL_L1;
    case PERF_MEM_LVLNUM_LFB:
    case MHB:
        return FM_LEVEL_ON_ITS_WAY;
    case PERF_MEM_LVLNUM_L2:
        return FM_LEVEL_L2;
    case PERF_MEM_LVLNUM_L3:
    case PERF_MEM_LVLNUM_L4:
    case PERF_MEM_LVLNUM_ANY_CACHE:
    case MSC:
        return source->mem_remote ? FM_LEVEL_OTHER_CACHE : FM_LEVEL_L3;
    case PERF_MEM_LVLNUM_RAM:
    case PERF_MEM_LVLNUM_PMEM:
    case CXL:
        return source->mem_remote ? FM_LEVEL_FAR_MEMORY : FM_LEVEL_MEMORY;
    case UNCACHED:
    case IO:
        return FM_LEVEL_UNCACHED;
    default:
        return FM_LEVEL_UNKNOWN;
    }
}

static fm_memory_level by_bits(const union perf_mem_data_src *source)
{
    const uint64_t level = source->mem_lvl;
    if (level == 0 || level & PERF_MEM_LVL_NA) return FM_LEVEL_UNKNOWN;
    if (level & (PERF_MEM_LVL_IO | PERF_MEM_LVL_UNC)) return FM_LEVEL_UNCACHED;
    if (level & (PERF_MEM_LVL_REM_CCE1 | PERF_MEM_LVL_REM_CCE2)) return FM_LEVEL_OTHER_CACHE;
    if (level & (PERF_MEM_LVL_REM_RAM1 | PERF_MEM_LVL_REM_RAM2)) return FM_LEVEL_FAR_MEMORY;
    if (level & PERF_MEM_LVL_LOC_RAM) return FM_LEVEL_MEMORY;
    /* A miss of L3 came from memory; "L1 miss" of a store says no more. */
    if (level & PERF_MEM_LVL_L3) return level & PERF_MEM_LVL_MISS ? FM_LEVEL_MEMORY : FM_LEVEL_L3;
    if (level & PERF_MEM_LVL_MISS) return FM_LEVEL_UNKNOWN;
    if (level & PERF_MEM_LVL_L2) return FM_LEVEL_L2;
    if (level & PERF_MEM_LVL_LFB) return FM_LEVEL_ON_ITS_WAY;
    return level & PERF_MEM_LVL_L1 ? FM_LEVEL_L1 : FM_LEVEL_UNKNOWN;
}

fm_memory_level fm_pmu_source_level(uint64_t value)
{
    const union perf_mem_data_src source = {.val = value};
    const fm_memory_level level = by_number(&source);
    return level != FM_LEVEL_UNKNOWN ? level : by_bits(&source);
}

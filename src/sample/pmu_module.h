/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pmu_module.h - what the module with libpfm4 (modules/pfm) has to offer: names of events to their encoding,
 * for the processor that is here. Loaded on request, so that the program itself does not need libpfm4.
 */
#ifndef FATHOM_SAMPLE_PMU_MODULE_H
#define FATHOM_SAMPLE_PMU_MODULE_H

#include <stddef.h>
#include <stdint.h>

enum { FM_PFM_INTERFACE = 1 };
#define FM_PFM_SYMBOL "fm_pfm"
#define FM_PFM_FILE "fathom-pfm.so"

typedef struct fm_pfm_module {
    unsigned interface; /* FM_PFM_INTERFACE of the time it was built */
    /* libpfm4's name of the processor's counters ("skl"); NULL: it does not know them. */
    const char *(*model)(void);
    /* "MEM_INST_RETIRED:ALL_LOADS" in user mode; NULL: config, config1 and config2 are filled in; else why
     * not. */
    const char *(*encode)(const char *event, uint64_t config[3]);
} fm_pfm_module;

/* NULL: this fathom was built without it. parts: as for fm_part_find. */
const fm_pfm_module *fm_pfm_load(const char *parts);

#endif

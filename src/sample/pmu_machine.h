/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pmu_machine.h - what there is to sample addresses with: whose processor it is, which monitoring units the
 * kernel shows, who may use them. Only files are read; and where something is missing, words say what.
 */
#ifndef FATHOM_SAMPLE_PMU_MACHINE_H
#define FATHOM_SAMPLE_PMU_MACHINE_H

#include "sample/pmu_sysfs.h"

typedef enum fm_pmu_vendor { FM_PMU_VENDOR_OTHER, FM_PMU_VENDOR_INTEL, FM_PMU_VENDOR_AMD } fm_pmu_vendor;

typedef struct fm_pmu_machine {
    char kernel[64]; /* its release; "": not known */
    fm_pmu_vendor vendor;
    unsigned family; /* of the processor */
    bool virtual;    /* a hypervisor is below us */
    int paranoid;    /* kernel.perf_event_paranoid */
    bool privileged; /* CAP_PERFMON or CAP_SYS_ADMIN */
    bool has_core;   /* the processor's counters: core */
    bool hybrid;     /* processors of two kinds: core is the larger one's */
    bool has_ibs;    /* AMD's address samples: ibs */
    fm_pmu_device core, ibs;
    unsigned precise; /* Intel: 0 to 3: events that tell addresses need 2 */
    bool readable;    /* programs may read counters (rdpmc) */
    char model[64];   /* the kernel's name of the counters; "" */
} fm_pmu_machine;

/* root: "" or where another machine's /proc and /sys lie. */
void fm_pmu_machine_look(fm_pmu_machine *machine, const char *root);

/* True: there may be samples of addresses. False: why not and what to do, as the end of a sentence. */
bool fm_pmu_machine_can(const fm_pmu_machine *machine, char *why, size_t size);

/* What an error of perf_event_open means here. */
void fm_pmu_machine_refused(const fm_pmu_machine *machine, int error, char *why, size_t size);

#endif

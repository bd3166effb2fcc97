/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pmu_plan.h - which events the threads of a program are to open, so that accesses are sampled with their
 * addresses and counted: encodings by libpfm4 where it is there, and by the kernel's own names.
 */
#ifndef FATHOM_SAMPLE_PMU_PLAN_H
#define FATHOM_SAMPLE_PMU_PLAN_H

#include "collect/sample/sample_protocol.h"
#include "sample/pmu_machine.h"
#include "sample/pmu_module.h"

struct perf_event_attr;

typedef struct fm_pmu_request {
    uint64_t period;            /* accesses from sample to sample, in the mean; 0: by time */
    double rate;                /* samples a second; 0: as many as the share allows */
    double share;               /* of the program's time that samples may take */
    uint32_t watch_bytes;       /* 1, 2, 4, 8 */
    const fm_pfm_module *names; /* NULL: the kernel's names alone */
    /* Opens an event on this thread, in a group or (-1) none: the descriptor, or -errno. NULL: the kernel. */
    long (*open)(struct perf_event_attr *event, int group);
} fm_pmu_request;

typedef struct fm_pmu_plan {
    fm_sample_pmu events;
    char name[160]; /* for people: "PEBS, MEM_INST_RETIRED:ALL_LOADS, …" */
    char why[640];  /* it cannot be: the end of a sentence */
} fm_pmu_plan;

/* The events. False: this processor's are not known. */
bool fm_pmu_plan_make(fm_pmu_plan *plan, const fm_pmu_machine *machine, const fm_pmu_request *request);
/* Opens each event once, with less precision where the kernel wants that, and closes it. An event that only
 * tells latencies is left out where it is refused. */
bool fm_pmu_plan_try(fm_pmu_plan *plan, const fm_pmu_machine *machine, const fm_pmu_request *request);
long fm_pmu_open(struct perf_event_attr *event, int group);

#endif

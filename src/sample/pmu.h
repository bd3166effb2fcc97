/* SPDX-License-Identifier: Apache-2.0 */
/* pmu.h - performance counters: what this machine has, which of its events are taken, by which names. */
#ifndef FATHOM_SAMPLE_PMU_H
#define FATHOM_SAMPLE_PMU_H

#include "collect/sample/sample_protocol.h"
#include "sample/pmu_module.h"

#include <fathom/attribution.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ---- pmu sysfs ---- */

/*
 * What the kernel tells of a performance monitoring unit in its files: number, fields of its
 * events, named events, capabilities. The root of the tree is given, so that trees can be made for tests.
 */

typedef struct fm_pmu_device {
    char directory[512]; /* …/sys/bus/event_source/devices/cpu */
    uint32_t type;       /* perf_event_attr.type */
} fm_pmu_device;

/* False: there is no such device, or it does not say its number. */
bool fm_pmu_device_find(fm_pmu_device *device, const char *root, const char *name);

/* Puts a value into the bits that a format names: "config:0-7,32-35", "config1:0-15". config: of config,
 * config1, config2. False: that is no format, or the value does not fit. */
bool fm_pmu_format_apply(const char *format, uint64_t value, uint64_t config[3]);
/* The same for a field of a device, by its format file. */
bool fm_pmu_device_set(const fm_pmu_device *device, const char *field, uint64_t value, uint64_t config[3]);
/* A named event: "event=0xcd,umask=0x1,ldlat=3". False: there is none, or it cannot be understood. */
bool fm_pmu_device_event(const fm_pmu_device *device, const char *name, uint64_t config[3]);

/* ---- pmu machine ---- */

/*
 * What there is to sample addresses with: whose processor it is, which monitoring units the
 * kernel shows, who may use them. Only files are read; and where something is missing, words say what.
 */

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

/* ---- pmu plan ---- */

/*
 * Which events the threads of a program are to open, so that accesses are sampled with their
 * addresses and counted: encodings by libpfm4 where it is there, and by the kernel's own names.
 */

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

/* ---- pmu source ---- */

/* Where the data of a sampled access came from, as a processor tells it
 * (PERF_SAMPLE_DATA_SRC). */

/* source: union perf_mem_data_src. */
fm_memory_level fm_pmu_source_level(uint64_t source);

#endif

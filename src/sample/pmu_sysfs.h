/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pmu_sysfs.h - what the kernel tells of a performance monitoring unit in its files: number, fields of its
 * events, named events, capabilities. The root of the tree is given, so that trees can be made for tests.
 */
#ifndef FATHOM_SAMPLE_PMU_SYSFS_H
#define FATHOM_SAMPLE_PMU_SYSFS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct fm_pmu_device {
    char directory[512]; /* …/sys/bus/event_source/devices/cpu */
    uint32_t type;       /* perf_event_attr.type */
} fm_pmu_device;

/* The first line of ROOT/PATH, without its end; false: it cannot be read, or is longer. */
bool fm_pmu_file_read(const char *root, const char *path, char *text, size_t size);

/* False: there is no such device, or it does not say its number. */
bool fm_pmu_device_find(fm_pmu_device *device, const char *root, const char *name);
bool fm_pmu_device_has(const fm_pmu_device *device, const char *file);
/* A file of a number, as caps/max_precise; `none` where there is none. */
uint64_t fm_pmu_device_number(const fm_pmu_device *device, const char *file, uint64_t none);

/* Puts a value into the bits that a format names: "config:0-7,32-35", "config1:0-15". config: of config,
 * config1, config2. False: that is no format, or the value does not fit. */
bool fm_pmu_format_apply(const char *format, uint64_t value, uint64_t config[3]);
/* The same for a field of a device, by its format file. */
bool fm_pmu_device_set(const fm_pmu_device *device, const char *field, uint64_t value, uint64_t config[3]);
/* A named event: "event=0xcd,umask=0x1,ldlat=3". False: there is none, or it cannot be understood. */
bool fm_pmu_device_event(const fm_pmu_device *device, const char *name, uint64_t config[3]);

#endif

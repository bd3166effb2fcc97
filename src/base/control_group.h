/* SPDX-License-Identifier: Apache-2.0 */
/*
 * control_group.h - the limits of the control group (cgroup) that this process is in, and of all groups above
 * it: those of containers, of systemd's units and of batch systems. Version 1, version 2, and both at once.
 */
#ifndef FATHOM_BASE_CONTROL_GROUP_H
#define FATHOM_BASE_CONTROL_GROUP_H

#include <stdint.h>

/* Bytes that can still be taken. UINT64_MAX: there is no limit. */
typedef struct fm_memory_room {
    uint64_t easily;      /* without driving out files that were read lately, and without swapping */
    uint64_t at_the_most; /* before the kernel kills a process for it */
} fm_memory_room;

/* The least that any of the groups leaves. root: "", or a folder that holds other files of /proc and /sys:
 * for tests. swap_free: bytes of the machine's swap space that are free. */
fm_memory_room fm_control_group_memory(const char *root, uint64_t swap_free);

/* Processors that the groups' quotas of time are worth, rounded up. 0: there is no quota. */
unsigned fm_control_group_processors(const char *root);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * machine_sysfs.h - the caches of this machine as the kernel's files tell them. hwloc knows more, but loads
 * its plug-ins for graphics cards first: OpenGL, OpenCL, CUDA and an X server's libraries, in a program that
 * asks for the size of a cache.
 */
#ifndef FATHOM_MODEL_MACHINE_SYSFS_H
#define FATHOM_MODEL_MACHINE_SYSFS_H

#include <fathom/model.h>

/* Caches for data of one processor, the smallest first: as many as were found, at most `capacity`. 0: ask
 * hwloc. root: "", or a folder that holds other files of /sys, for tests. */
size_t fm_sysfs_caches(const char *root, unsigned processor, fm_cache *caches, size_t capacity);
/* The processor's name; false: ask hwloc. */
bool fm_cpuinfo_name(const char *root, char *name, size_t size);
/* Whether hwloc was told to look at another machine than this one. */
bool fm_hwloc_is_told(void);
/* The first processor that this process may run on: on hybrid ones, it stands for all. */
unsigned fm_first_processor(void);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* free_memory.h - how much memory this process could still take, for those who may take more or less. */
#ifndef FATHOM_BASE_FREE_MEMORY_H
#define FATHOM_BASE_FREE_MEMORY_H

#include <stdbool.h>
#include <stdint.h>

/* Bytes that the machine has available, or that the limits of this process (address space, control groups)
 * leave, whichever is less. 0: nobody knows. */
uint64_t fm_free_memory(void);

/*
 * Linux grants memory that is not there, and kills a process when it writes to it. Whether so many bytes are
 * there: of the machine and of the control groups, swap space included, and a little is left then. True where
 * nobody knows. Costs some tenths of a millisecond: ask for what is large.
 */
bool fm_memory_is_there(uint64_t bytes);
/* The same in a folder with other files of /proc and /sys, for tests; "": this machine. */
bool fm_memory_is_there_under(const char *root, uint64_t bytes);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* free_memory.h - how much memory this process could still take, for those who may take more or less. */
#ifndef FATHOM_BASE_FREE_MEMORY_H
#define FATHOM_BASE_FREE_MEMORY_H

#include <stdint.h>

/* Bytes that the machine has available, or that the limits of this process (address space, control group)
 * leave, whichever is less. 0: nobody knows. */
uint64_t fm_free_memory(void);

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
/* burst_kernel.h - system calls without libc: errno is the program's. */
#ifndef FATHOM_BURST_KERNEL_H
#define FATHOM_BURST_KERNEL_H

#include "collect/cc/system.h"

#include <stdint.h>

static inline int64_t burst_kernel(uint64_t number, uint64_t a, uint64_t b, uint64_t c, uint64_t d,
                                   uint64_t e, uint64_t f)
{
    return fm_syscall((long)number, (long)a, (long)b, (long)c, (long)d, (long)e, (long)f);
}

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
/* burst_kernel.h - system calls without libc: errno is the program's. */
#ifndef FATHOM_BURST_KERNEL_H
#define FATHOM_BURST_KERNEL_H

#include <stdint.h>

static inline int64_t burst_kernel(uint64_t number, uint64_t a, uint64_t b, uint64_t c, uint64_t d,
                                   uint64_t e, uint64_t f)
{
    int64_t result;
    register uint64_t r10 __asm__("r10") = d;
    register uint64_t r8 __asm__("r8") = e;
    register uint64_t r9 __asm__("r9") = f;
    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
                     : "rcx", "r11", "memory");
    return result;
}

#endif

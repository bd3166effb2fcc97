/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * system.h - system calls without libc: they neither set errno, nor are points of cancellation, nor can
 * anybody interpose them. Results below zero are -errno. A call that the program's filter (seccomp) does not
 * let through is not made in a runtime of fathom cc, and fails with -EPERM: filter.c.
 */
#ifndef FATHOM_CC_SYSTEM_H
#define FATHOM_CC_SYSTEM_H

#include <asm/unistd.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>

/* One that the program itself asked for. */
static inline long fm_syscall_plain(long number, long a, long b, long c, long d, long e, long f)
{
    long result = 0;
    register long r10 __asm__("r10") = d;
    register long r8 __asm__("r8") = e;
    register long r9 __asm__("r9") = f;
    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
                     : "rcx", "r11", "memory");
    return result;
}

#if defined FM_VARIANT_PROGRAM || defined FM_VARIANT_STATIC || defined FM_VARIANT_LIBRARY

/* Would the call end the program, or do something else than it should? */
bool fm_call_denied(long number);
/* The runtime makes a call for itself; false: it must not. */
bool fm_call_begins(long number);
void fm_call_ends(void);

static inline long fm_syscall(long number, long a, long b, long c, long d, long e, long f)
{
    if (!fm_call_begins(number)) return -1; /* -EPERM */
    long result = fm_syscall_plain(number, a, b, c, d, e, f);
    fm_call_ends();
    return result;
}

/* All signals blocked; returns what was blocked before. Where that must not be done, handlers that run until
 * fm_signals_restore are not seen (signal.c). */
uint64_t fm_signals_block(void);
void fm_signals_restore(uint64_t before);

#else /* not in a runtime of fathom cc: the sampler */

static inline long fm_syscall(long number, long a, long b, long c, long d, long e, long f)
{
    return fm_syscall_plain(number, a, b, c, d, e, f);
}

static inline uint64_t fm_signals_block(void)
{
    uint64_t all = UINT64_MAX, before = 0;
    fm_syscall(__NR_rt_sigprocmask, 0 /* SIG_BLOCK */, (long)&all, (long)&before, 8, 0, 0);
    return before;
}
static inline void fm_signals_restore(uint64_t before)
{
    fm_syscall(__NR_rt_sigprocmask, 2 /* SIG_SETMASK */, (long)&before, 0, 8, 0, 0);
}

#endif

static inline int fm_open(const char *path, int flags)
{
    return (int)fm_syscall(__NR_openat, AT_FDCWD, (long)path, flags, 0, 0, 0);
}
static inline void fm_close(int fd)
{
    fm_syscall(__NR_close, fd, 0, 0, 0, 0, 0);
}
static inline long fm_read(int fd, void *buffer, size_t bytes)
{
    return fm_syscall(__NR_read, fd, (long)buffer, (long)bytes, 0, 0, 0);
}
static inline int fm_fstat(int fd, struct stat *status)
{
    return (int)fm_syscall(__NR_fstat, fd, (long)status, 0, 0, 0, 0);
}
static inline long fm_readlink(const char *path, char *buffer, size_t bytes)
{
    return fm_syscall(__NR_readlinkat, AT_FDCWD, (long)path, (long)buffer, (long)bytes, 0, 0);
}
static inline int fm_flock(int fd, int operation)
{
    return (int)fm_syscall(__NR_flock, fd, operation, 0, 0, 0, 0);
}
/* A copy of fd at `from` or above, closed on exec; the lowest free one. */
static inline int fm_dup_above(int fd, int from)
{
    return (int)fm_syscall(__NR_fcntl, fd, F_DUPFD_CLOEXEC, from, 0, 0, 0);
}
/* NULL: no memory. fd -1: private and anonymous, else shared. */
static inline void *fm_map(size_t bytes, int fd, uint64_t offset)
{
    int flags = fd < 0 ? MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE : MAP_SHARED | MAP_NORESERVE;
    long address = fm_syscall(__NR_mmap, 0, (long)bytes, PROT_READ | PROT_WRITE, flags, fd, (long)offset);
    return address < 0 && address > -4096 ? NULL : (void *)address;
}
/* Puts private memory in place of what is there: addresses of it that are still in use do no harm. */
static inline void fm_map_over(void *address, size_t bytes)
{
    fm_syscall(__NR_mmap, (long)address, (long)bytes, PROT_READ | PROT_WRITE,
               MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
}
static inline void fm_unmap(void *address, size_t bytes)
{
    fm_syscall(__NR_munmap, (long)address, (long)bytes, 0, 0, 0, 0);
}
static inline uint32_t fm_getpid(void)
{
    return (uint32_t)fm_syscall(__NR_getpid, 0, 0, 0, 0, 0, 0);
}
static inline uint32_t fm_getppid(void)
{
    return (uint32_t)fm_syscall(__NR_getppid, 0, 0, 0, 0, 0, 0);
}
static inline uint32_t fm_gettid(void)
{
    return (uint32_t)fm_syscall(__NR_gettid, 0, 0, 0, 0, 0, 0);
}
static inline void fm_futex_wait(uint32_t *word, uint32_t value, long milliseconds)
{
    struct timespec most = {milliseconds / 1000, milliseconds % 1000 * 1000000};
    fm_syscall(__NR_futex, (long)word, FUTEX_WAIT, value, (long)&most, 0, 0);
}
static inline void fm_futex_wake(uint32_t *word)
{
    fm_syscall(__NR_futex, (long)word, FUTEX_WAKE, INT32_MAX, 0, 0, 0);
}

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * burst_system_call.c - which system calls of the program are made while a burst runs: those that neither
 * wait for anybody, nor depend on blocked signals or raise any, nor change threads, signals or code. Signals
 * from outside are blocked meanwhile, so that a call that waits could not be interrupted.
 */
#include "burst_kernel.h"
#include "burst_state.h"

#include <fcntl.h>
#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>

/* Arguments, as general registers are numbered. */
enum { FIRST = BURST_RDI, SECOND = BURST_RSI, THIRD = BURST_RDX, FOURTH = 10 };

static bool is_regular(uint64_t file)
{
    struct stat status;
    return burst_kernel(SYS_fstat, file, (uint64_t)&status, 0, 0, 0, 0) == 0 && S_ISREG(status.st_mode);
}

/* Above the limit, SIGXFSZ would come. */
static bool may_grow_files(void)
{
    struct rlimit limit;
    return burst_kernel(SYS_prlimit64, 0, RLIMIT_FSIZE, 0, (uint64_t)&limit, 0, 0) == 0 &&
           limit.rlim_cur == RLIM_INFINITY;
}

static bool has_code(const burst *state, uint64_t first, uint64_t bytes)
{
    for (uint32_t i = 0; i < state->ranges_used; i++)
        if (first < state->ranges[i].behind && state->ranges[i].first < first + bytes) return true;
    return false;
}

bool burst_call_allowed(const burst *state)
{
    const uint64_t *registers = state->registers;
    switch (registers[BURST_RAX]) {
    case SYS_getpid:
    case SYS_gettid:
    case SYS_getppid:
    case SYS_getuid:
    case SYS_geteuid:
    case SYS_getgid:
    case SYS_getegid:
    case SYS_clock_gettime:
    case SYS_clock_getres:
    case SYS_gettimeofday:
    case SYS_time:
    case SYS_times:
    case SYS_getrusage:
    case SYS_getcpu:
    case SYS_sysinfo:
    case SYS_uname:
    case SYS_process_vm_readv:
    case SYS_lseek:
    case SYS_fstat:
    case SYS_stat:
    case SYS_lstat:
    case SYS_newfstatat:
    case SYS_statx:
    case SYS_access:
    case SYS_faccessat:
    case SYS_readlink:
    case SYS_readlinkat:
    case SYS_getcwd:
    case SYS_sched_getaffinity:
    case SYS_sched_yield:
    case SYS_brk:
    case SYS_madvise:
    case SYS_getrlimit:
    case SYS_umask:
    case SYS_dup:
        return true;
    case SYS_prlimit64:
        return registers[THIRD] == 0;
    case SYS_fcntl:
        return registers[SECOND] == F_GETFD || registers[SECOND] == F_SETFD || registers[SECOND] == F_GETFL;
    case SYS_read:
    case SYS_pread64:
    case SYS_readv:
        return is_regular(registers[FIRST]);
    case SYS_write:
    case SYS_pwrite64:
    case SYS_writev:
        return is_regular(registers[FIRST]) && may_grow_files();
    case SYS_mmap:
        return !(registers[THIRD] & PROT_EXEC) && !(registers[FOURTH] & (MAP_FIXED | MAP_GROWSDOWN));
    case SYS_munmap:
        return !has_code(state, registers[FIRST], registers[SECOND]);
    case SYS_futex:
        return (registers[SECOND] & (uint64_t)FUTEX_CMD_MASK) == FUTEX_WAKE;
    default:
        return false;
    }
}

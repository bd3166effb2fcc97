/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * filter.c - programs that forbid themselves system calls (seccomp): which of the runtime's own calls the
 * program's filter lets through, and what becomes of the others.
 *
 * The runtime makes few calls, all of them by fm_syscall (system.h): to block signals while a chunk is
 * changed, to wake the receiver and to wait for it, and what a new thread takes. A filter ends the program
 * for a call that it does not list, whoever makes it. So the ways in which a program gets a filter lead here
 * (prctl and syscall, which libseccomp uses, too); the filter is a small program of BPF, and is run on each
 * call that the runtime may make. One that it does not simply let through is not made any more, and fails:
 *
 *   - signals: where they cannot be blocked, a handler that comes at such a moment runs unseen. Its
 * references are missing then, which is reported (fm_thread.unseen).
 *   - the receiver is not woken and not waited for: it is told to look more often (fm_session.quiet), and the
 *     thread looks for room itself.
 *   - threads that begin later may get no channel: that is counted (fm_session.refused).
 *
 * Not seen: a filter from before the program began, or one that it installs without libc. So each call is
 * written down in the channel while it is made (fm_channel.calling): where the process dies of one, the
 * receiver says so. All threads are taken to have the filter that one has.
 */
#define _GNU_SOURCE
#include "runtime.h"
#include "system.h"

#include "../seccomp_filter.h"

#include <errno.h>
#include <stdarg.h>
#include <stddef.h>
#include <sys/prctl.h>

/* ---- what is denied ---- */

bool fm_call_denied(long number)
{
    const fm_cc_process *process = fm_process_here;
    if (fm_likely(!process) || number >= FM_SYSTEM_CALLS) return false;
    return __atomic_load_n(&process->denied[number / 64], __ATOMIC_RELAXED) >> number % 64 & 1;
}

static fm_channel *own_channel(void)
{
    if (!FM_HAS_THREADS) return NULL;
    fm_thread *thread = fm_my.thread;
    return thread && thread != &fm_unclaimed_thread ? thread->channel : NULL;
}

bool fm_call_begins(long number)
{
    if (fm_call_denied(number)) return false;
    fm_channel *channel = own_channel();
    if (channel) __atomic_store_n(&channel->calling, (uint32_t)number + 1, __ATOMIC_RELAXED);
    return true;
}

void fm_call_ends(void)
{
    fm_channel *channel = own_channel();
    if (channel) __atomic_store_n(&channel->calling, 0, __ATOMIC_RELAXED);
}

/* ---- signals, where they cannot be blocked ---- */

/* Also where it is denied: what was blocked before the filter came has to be unblocked. */
static uint64_t set_mask(int how, uint64_t mask)
{
    uint64_t before = 0;
    (void)fm_call_begins(__NR_rt_sigprocmask);
    fm_syscall_plain(__NR_rt_sigprocmask, how, (long)&mask, (long)&before, 8, 0, 0);
    fm_call_ends();
    return before;
}

uint64_t fm_signals_block(void)
{
    uint64_t all = UINT64_MAX, before = 0;
    if (!FM_HAS_THREADS) return set_mask(0 /* SIG_BLOCK */, all);
    if (fm_my.busy == 0 && !fm_call_denied(__NR_rt_sigprocmask)) {
        before = set_mask(0 /* SIG_BLOCK */, all);
    } else {
        *(volatile uint32_t *)&fm_my.busy += 1;
        __atomic_signal_fence(__ATOMIC_SEQ_CST);
    }
    return before;
}

void fm_signals_restore(uint64_t before)
{
    if (FM_HAS_THREADS && fm_my.busy > 0) {
        __atomic_signal_fence(__ATOMIC_SEQ_CST);
        *(volatile uint32_t *)&fm_my.busy -= 1;
    } else {
        set_mask(2 /* SIG_SETMASK */, before);
    }
}

#ifndef FM_VARIANT_LIBRARY

#include "interpose.h"

/* ---- calls of the runtime's own ---- */

typedef struct own_call {
    uint32_t number;
    uint64_t arguments[4]; /* as far as a filter may look at them; the rest is 0 */
} own_call;

static const own_call own_calls[] = {
    {__NR_rt_sigprocmask, {0 /* SIG_BLOCK */, 0, 0, 8}},
    {__NR_rt_sigprocmask, {2 /* SIG_SETMASK */, 0, 0, 8}},
    {__NR_futex, {0, FUTEX_WAKE, INT32_MAX, 0}},
    {__NR_futex, {0, FUTEX_WAIT, 0, 0}},
    {__NR_openat, {(uint32_t)AT_FDCWD, 0, O_RDWR | O_CLOEXEC, 0}},
    {__NR_openat, {(uint32_t)AT_FDCWD, 0, O_RDONLY | O_CLOEXEC, 0}},
    {__NR_close, {0}},
    {__NR_read, {0}},
    {__NR_fstat, {0}},
    {__NR_readlinkat, {(uint32_t)AT_FDCWD}},
    {__NR_flock, {0, LOCK_EX | LOCK_NB}},
    {__NR_flock, {0, LOCK_UN}},
    {__NR_fcntl, {0, F_DUPFD_CLOEXEC}},
    {__NR_mmap, {0, 0, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE}},
    {__NR_mmap, {0, 0, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED}},
    {__NR_mmap, {0, 0, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE}},
    {__NR_munmap, {0}},
    {__NR_madvise, {0, 0, MADV_DONTDUMP}},
    {__NR_getpid, {0}},
    {__NR_getppid, {0}},
    {__NR_gettid, {0}},
    {__NR_kill, {0}},
    {__NR_nanosleep, {0}},
    {__NR_sched_yield, {0}},
    {__NR_sched_getaffinity, {0}}, /* libc's pthread_getattr_np */
    {__NR_prlimit64, {0}},
};

static bool lets_through(const struct sock_fprog *program, const own_call *own)
{
    struct seccomp_data call;
    call.nr = (int)own->number;
    call.arch = AUDIT_ARCH_X86_64;
    call.instruction_pointer = 0;
    for (unsigned i = 0; i < 6; i++) call.args[i] = i < 4 ? own->arguments[i] : 0;
    const uint32_t answer = fm_filter_answer(program->filter, program->len, &call) & SECCOMP_RET_ACTION_FULL;
    return answer == SECCOMP_RET_ALLOW || answer == SECCOMP_RET_LOG;
}

/* ---- what installs a filter ---- */

static fm_cc_process *process_with_filter(void)
{
    return fm_process_here ? fm_process_here : &fm_process_own;
}

static void note_denied_call(fm_cc_process *process, uint32_t number)
{
    uint64_t *word = &process->denied[number / 64], bit = UINT64_C(1) << number % 64;
    if (!(__atomic_fetch_or(word, bit, __ATOMIC_ACQ_REL) & bit) && number == __NR_futex && process->session)
        __atomic_store_n(&process->session->quiet, 1, __ATOMIC_RELAXED);
}

/* program NULL: strict mode, in which there are read, write, exit and sigreturn. */
static void adopt_filter(const struct sock_fprog *program)
{
    fm_cc_process *process = process_with_filter();
    for (size_t i = 0; i < sizeof own_calls / sizeof own_calls[0]; i++)
        if (!program || !lets_through(program, &own_calls[i])) note_denied_call(process, own_calls[i].number);
}

static long answer_of(long result)
{
    if (result >= 0 || result < -4095) return result;
    errno = (int)-result;
    return -1;
}

/* The call itself; where it succeeds, its filter is known from then on. strict: in strict mode. */
static long install_filter(long number, const long *arguments, bool strict, bool every_thread,
                           const void *filter)
{
    fm_cc_process *process = process_with_filter();
    uint64_t before[FM_SYSTEM_CALLS / 64];
    for (unsigned i = 0; i < FM_SYSTEM_CALLS / 64; i++)
        before[i] = __atomic_load_n(&process->denied[i], __ATOMIC_RELAXED);
    /* Other threads have it, too, when the call returns. */
    if (every_thread) adopt_filter(NULL);
    long result =
        fm_syscall_plain(number, arguments[0], arguments[1], arguments[2], arguments[3], arguments[4], 0);
    const bool done = result >= 0 && !(every_thread && result > 0);
    if (every_thread)
        for (unsigned i = 0; i < FM_SYSTEM_CALLS / 64; i++)
            __atomic_store_n(&process->denied[i], before[i], __ATOMIC_RELEASE);
    if (done) adopt_filter(strict ? NULL : filter);
    return answer_of(result);
}

static long of_prctl(long option, long a, long b, long c, long d)
{
    const long arguments[5] = {option, a, b, c, d};
    const bool installs = option == PR_SET_SECCOMP && (a == SECCOMP_MODE_STRICT || a == SECCOMP_MODE_FILTER);
    if (!installs) return answer_of(fm_syscall_plain(__NR_prctl, option, a, b, c, d, 0));
    return install_filter(__NR_prctl, arguments, a == SECCOMP_MODE_STRICT, false, (const void *)b);
}

static long of_seccomp(long operation, long flags, long filter)
{
    const long arguments[5] = {operation, flags, filter, 0, 0};
    const bool strict = operation == SECCOMP_SET_MODE_STRICT;
    if (!strict && operation != SECCOMP_SET_MODE_FILTER)
        return answer_of(fm_syscall_plain(__NR_seccomp, operation, flags, filter, 0, 0, 0));
    return install_filter(__NR_seccomp, arguments, strict,
                          !strict && ((unsigned long)flags & SECCOMP_FILTER_FLAG_TSYNC) != 0,
                          (const void *)filter);
}

INTERPOSED(int, prctl, (int option, ...))
{
    va_list list;
    va_start(list, option);
    long more[4];
    for (unsigned i = 0; i < 4; i++) more[i] = va_arg(list, long);
    va_end(list);
    return (int)of_prctl(option, more[0], more[1], more[2], more[3]);
}

/* syscall(2) makes the call in a function of its own that leaves nothing on the stack: as libc's does, so
 * that whatever works with that works with this. What may install a filter goes another way. */
long fm_syscall_of_program(long number, long a, long b, long c, long d, long e, long f);
long fm_syscall_failed(long result);

long fm_syscall_of_program(long number, long a, long b, long c, long d, long e, long f)
{
    (void)e, (void)f;
    return number == __NR_prctl ? of_prctl(a, b, c, d, e) : of_seccomp(a, b, c);
}

long fm_syscall_failed(long result)
{
    return answer_of(result);
}

#ifdef FM_VARIANT_STATIC
#define SYSCALL "__wrap_syscall"
#define STRENGTH ".globl "
#else
#define SYSCALL "syscall"
#define STRENGTH ".weak "
#endif
__asm__(".text\n"
        ".p2align 4\n" STRENGTH SYSCALL "\n"
        ".type " SYSCALL ", @function\n" SYSCALL ":\n"
        ".cfi_startproc\n"
        "cmpq $317, %rdi\n" /* __NR_seccomp */
        "je fm_syscall_of_program\n"
        "cmpq $157, %rdi\n" /* __NR_prctl */
        "je fm_syscall_of_program\n"
        "movq %rdi, %rax\n"
        "movq %rsi, %rdi\n"
        "movq %rdx, %rsi\n"
        "movq %rcx, %rdx\n"
        "movq %r8, %r10\n"
        "movq %r9, %r8\n"
        "movq 8(%rsp), %r9\n"
        "syscall\n"
        "cmpq $-4095, %rax\n"
        "jae 1f\n"
        "ret\n"
        "1: movq %rax, %rdi\n"
        "jmp fm_syscall_failed\n"
        ".cfi_endproc\n"
        ".size " SYSCALL ", . - " SYSCALL "\n"
        ".hidden fm_syscall_of_program\n"
        ".hidden fm_syscall_failed\n");
_Static_assert(__NR_seccomp == 317 && __NR_prctl == 157, "above they are numbers");

#endif

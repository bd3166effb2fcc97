/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tracee.c - see tracee.h.
 *
 * A thread that is stopped by PTRACE_INTERRUPT stands in the kernel on its way to the program: a system call
 * that it was in has ended with a number (ERESTART…) by which the kernel, when the thread goes on, makes it
 * again. So a thread is let go from such a stop only, with all its registers as they were. A function that
 * was called in it returns to a syscall instruction: we see it by the stop before the call, which is left
 * out. No signal is needed for that, and no code is changed.
 */
#define _GNU_SOURCE
#include "process/tracee.h"

#include "base/crew.h"
#include "base/error.h"
#include "base/memory.h"
#include "process/program_file.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    RED_ZONE = 128,
    TEXT_ROOM = 8192,        /* for a text on the stack of a call */
    VECTORS_MOST = 64 << 10, /* bytes of vector registers */
    SYSCALL_STOP = SIGTRAP | 0x80,
    SYSCALL_BYTES = 2,
};
static const double usual_patience = 5.0, longest_patience = 60.0, nap = 0.0002;

static fm_status tracee_gone(const fm_tracee *tracee, fm_error *error)
{
    return fm_fail(error, FM_E_IO, NULL, "process %ld ended while it was being attached to",
                   (long)tracee->pid);
}

static fm_status tracee_failed(const fm_tracee *tracee, const char *doing, int why, fm_error *error)
{
    if (why == ESRCH) return tracee_gone(tracee, error);
    return fm_fail(error, FM_E_IO, NULL, "process %ld: cannot %s: %s", (long)tracee->pid, doing,
                   strerror(why));
}

fm_status fm_tracee_open(fm_tracee *tracee, pid_t pid, fm_error *error)
{
    char path[64];
    *tracee = (fm_tracee){.pid = pid, .patience = usual_patience};
    snprintf(path, sizeof path, "/proc/%ld/mem", (long)pid);
    tracee->memory = open(path, O_RDWR | O_CLOEXEC);
    if (tracee->memory >= 0) return FM_OK;
    return tracee_failed(tracee, "open its memory", errno == ENOENT ? ESRCH : errno, error);
}

size_t fm_tracee_read(const fm_tracee *tracee, uint64_t address, void *to, size_t bytes)
{
    const ssize_t got = pread(tracee->memory, to, bytes, (off_t)address);
    return got > 0 ? (size_t)got : 0;
}

size_t fm_tracee_write(const fm_tracee *tracee, uint64_t address, const void *from, size_t bytes)
{
    const ssize_t put = pwrite(tracee->memory, from, bytes, (off_t)address);
    return put > 0 ? (size_t)put : 0;
}

/* ---- stops ---- */

/* Does it wait for nothing but a processor? */
static bool is_runnable(pid_t tid)
{
    long state;
    return fm_proc_stat((uint32_t)tid, FM_PROC_STATE, &state) && state == 'R';
}

/* Waits for the next stop of a thread: 1, *status is known; 0: it is gone; -1: it takes too long. */
static int next_stop(const fm_tracee *tracee, pid_t tid, int *status)
{
    const double begin = fm_now();
    for (;;) {
        const double waited = fm_now() - begin; /* before we look: we may have to wait for a processor, too */
        const pid_t got = waitpid(tid, status, __WALL | WNOHANG);
        if (got == tid) return WIFSTOPPED(*status) ? 1 : 0;
        if (got < 0 && errno != EINTR) return 0;
        if (got == 0 && waited > tracee->patience && (waited > longest_patience || !is_runnable(tid)))
            return -1;
        if (got == 0) usleep((useconds_t)(nap * 1e6));
    }
}

static bool is_interrupt(int status)
{
    return status >> 16 == PTRACE_EVENT_STOP;
}

/* Whether a handler is about to run: in a process that is traced, signals that nobody handles (SIGCHLD) wait,
 * too, and interrupt nothing. */
static bool has_pending(pid_t pid, pid_t tid)
{
    static const char *const names[] = {"SigPnd", "ShdPnd", "SigBlk", "SigCgt"};
    uint64_t of[] = {0, 0, 0, 0};
    char directory[80];
    snprintf(directory, sizeof directory, "/proc/%ld/task/%ld", (long)pid, (long)tid);
    for (size_t i = 0; i < sizeof of / sizeof of[0]; i++)
        (void)fm_proc_status(directory, names[i], 16, &of[i]);
    return (of[0] | of[1]) & ~of[2] & of[3];
}

/* A system call that the kernel does not make again by itself: epoll_wait and its kin. */
static void look_for_interruption(fm_tracee *tracee, fm_tracee_thread *thread)
{
    struct user_regs_struct registers;
    if (ptrace(PTRACE_GETREGS, thread->tid, NULL, &registers) != 0) return;
    thread->interrupted = (long)registers.orig_rax >= 0 && (long)registers.rax == -EINTR &&
                          !has_pending(tracee->pid, thread->tid);
}

static void make_again(fm_tracee_thread *thread)
{
    struct user_regs_struct registers;
    if (!thread->interrupted || ptrace(PTRACE_GETREGS, thread->tid, NULL, &registers) != 0) return;
    registers.rip -= SYSCALL_BYTES;
    registers.rax = registers.orig_rax;
    registers.orig_rax = (unsigned long long)-1;
    ptrace(PTRACE_SETREGS, thread->tid, NULL, &registers);
    thread->interrupted = false;
}

fm_status fm_tracee_stop_one(fm_tracee *tracee, pid_t tid, fm_tracee_thread **thread, fm_error *error)
{
    *thread = NULL;
    if (fm_array_reserve((void **)&tracee->threads, &tracee->capacity, tracee->count + 1,
                         sizeof *tracee->threads) != 0)
        return fm_fail_memory(error, (tracee->count + 1) * sizeof *tracee->threads, "the threads");
    if (ptrace(PTRACE_SEIZE, tid, NULL, (void *)(uintptr_t)PTRACE_O_TRACESYSGOOD) != 0) {
        const int why = errno;
        long state;
        /* Threads come and go; one that ended stays as long as it is the first. */
        if (why == ESRCH || !fm_proc_stat((uint32_t)tid, FM_PROC_STATE, &state) || state == 'Z' ||
            state == 'X')
            return FM_OK;
        return tracee_failed(tracee, "attach to it", why, error);
    }
    fm_tracee_thread *made = &tracee->threads[tracee->count++];
    *made = (fm_tracee_thread){.tid = tid};
    int status = 0;
    const int came = ptrace(PTRACE_INTERRUPT, tid, NULL, NULL) == 0 ? next_stop(tracee, tid, &status) : 0;
    if (came < 0)
        return fm_fail(error, FM_E_IO, NULL,
                       "process %ld: its thread %ld does not stop: it may wait for a device, or for a child "
                       "(vfork)",
                       (long)tracee->pid, (long)tid);
    if (came == 0) {
        tracee->count--;
        return FM_OK;
    }
    made->stopped = true;
    if (is_interrupt(status))
        look_for_interruption(tracee, made);
    else
        made->signal = WSTOPSIG(status);
    *thread = made;
    return FM_OK;
}

static bool is_known(const fm_tracee *tracee, pid_t tid)
{
    for (size_t i = 0; i < tracee->count; i++)
        if (tracee->threads[i].tid == tid) return true;
    return false;
}

/* Stops those that are not yet. *fresh: how many that were. */
static fm_status stop_more(fm_tracee *tracee, size_t *fresh, fm_error *error)
{
    fm_proc_tasks tasks;
    fm_status status = FM_OK;
    uint32_t tid;
    *fresh = 0;
    if (!fm_proc_tasks_open(&tasks, (uint32_t)tracee->pid)) return tracee_gone(tracee, error);
    while (status == FM_OK && fm_proc_tasks_next(&tasks, &tid)) {
        fm_tracee_thread *thread;
        if (is_known(tracee, (pid_t)tid)) continue;
        status = fm_tracee_stop_one(tracee, (pid_t)tid, &thread, error);
        *fresh += thread != NULL;
    }
    fm_proc_tasks_close(&tasks);
    return status;
}

fm_status fm_tracee_stop(fm_tracee *tracee, fm_error *error)
{
    size_t fresh = 1;
    fm_status status = FM_OK;
    /* Whoever was not stopped yet may have made more. */
    while (status == FM_OK && fresh > 0) status = stop_more(tracee, &fresh, error);
    if (status == FM_OK && tracee->count == 0) return tracee_gone(tracee, error);
    return status;
}

fm_tracee_thread *fm_tracee_any(fm_tracee *tracee)
{
    for (size_t i = 0; i < tracee->count; i++)
        if (tracee->threads[i].stopped && !tracee->threads[i].signal) return &tracee->threads[i];
    return NULL;
}

/* ---- borrowed threads ---- */

bool fm_tracee_mask(const fm_tracee_thread *thread, uint64_t *mask)
{
    if (thread->borrowed) *mask = thread->mask;
    return thread->borrowed || ptrace(PTRACE_GETSIGMASK, thread->tid, (void *)sizeof *mask, mask) == 0;
}

bool fm_tracee_set_mask(fm_tracee_thread *thread, uint64_t mask)
{
    if (thread->borrowed) {
        thread->mask = mask; /* when it is given back */
        return true;
    }
    return ptrace(PTRACE_SETSIGMASK, thread->tid, (void *)sizeof mask, &mask) == 0;
}

static fm_status borrow_thread(fm_tracee *tracee, fm_tracee_thread *thread, fm_error *error)
{
    if (thread->borrowed) return FM_OK;
    const uint64_t all = UINT64_MAX;
    struct iovec vectors = {malloc(VECTORS_MOST), VECTORS_MOST};
    if (!vectors.iov_base) return fm_fail_memory(error, VECTORS_MOST, "the registers of a thread");
    if (ptrace(PTRACE_GETREGS, thread->tid, NULL, &thread->registers) != 0 ||
        ptrace(PTRACE_GETREGSET, thread->tid, (void *)(uintptr_t)NT_X86_XSTATE, &vectors) != 0 ||
        !fm_tracee_mask(thread, &thread->mask) ||
        ptrace(PTRACE_SETSIGMASK, thread->tid, (void *)sizeof all, &all) != 0) {
        const int why = errno;
        free(vectors.iov_base);
        return tracee_failed(tracee, "look at its registers", why, error);
    }
    thread->vectors = vectors.iov_base;
    thread->vector_bytes = vectors.iov_len;
    thread->borrowed = true;
    return FM_OK;
}

/* The thread stands where it was, with what it had. */
static void give_back(fm_tracee *tracee, fm_tracee_thread *thread)
{
    if (!thread->borrowed) return;
    int status = 0;
    struct user_regs_struct registers;
    if (ptrace(PTRACE_GETREGS, thread->tid, NULL, &registers) == 0) {
        registers.orig_rax = (unsigned long long)-1; /* the call that it stands before is not made */
        registers.rip = thread->registers.rip;
        ptrace(PTRACE_SETREGS, thread->tid, NULL, &registers);
    }
    ptrace(PTRACE_INTERRUPT, thread->tid, NULL, NULL);
    ptrace(PTRACE_CONT, thread->tid, NULL, NULL);
    int came = next_stop(tracee, thread->tid, &status);
    while (came == 1 && !is_interrupt(status)) { /* SIGSTOP, which cannot be blocked */
        ptrace(PTRACE_CONT, thread->tid, NULL, (void *)(uintptr_t)WSTOPSIG(status));
        came = next_stop(tracee, thread->tid, &status);
    }
    struct iovec vectors = {thread->vectors, thread->vector_bytes};
    ptrace(PTRACE_SETREGS, thread->tid, NULL, &thread->registers);
    ptrace(PTRACE_SETREGSET, thread->tid, (void *)(uintptr_t)NT_X86_XSTATE, &vectors);
    ptrace(PTRACE_SETSIGMASK, thread->tid, (void *)sizeof thread->mask, &thread->mask);
    free(thread->vectors);
    thread->vectors = NULL;
    thread->borrowed = false;
    if (came != 1) thread->stopped = false;
}

void fm_tracee_resume(fm_tracee *tracee)
{
    for (size_t i = 0; i < tracee->count; i++) {
        fm_tracee_thread *thread = &tracee->threads[i];
        give_back(tracee, thread);
        if (!thread->stopped) continue;
        make_again(thread);
        ptrace(PTRACE_DETACH, thread->tid, NULL, (void *)(uintptr_t)thread->signal);
    }
    tracee->count = 0;
}

void fm_tracee_close(fm_tracee *tracee)
{
    fm_tracee_resume(tracee);
    if (tracee->memory >= 0) close(tracee->memory);
    tracee->memory = -1;
    free(tracee->threads);
    tracee->threads = NULL;
    tracee->capacity = 0;
}

/* Lets a borrowed thread run to its next stop before or behind a system call. 0: it is gone. */
static int run_to_call(fm_tracee *tracee, fm_tracee_thread *thread)
{
    int status, came, signal = 0;
    do {
        if (ptrace(PTRACE_SYSCALL, thread->tid, NULL, (void *)(uintptr_t)signal) != 0) return 0;
        came = next_stop(tracee, thread->tid, &status);
        if (came != 1) break;
        signal = 0;
        if (!is_interrupt(status) && WSTOPSIG(status) != SYSCALL_STOP) {
            signal = WSTOPSIG(status);
            if (signal == SIGTRAP) signal = 0;
        }
    } while (is_interrupt(status) || WSTOPSIG(status) != SYSCALL_STOP);
    if (came != 1) thread->stopped = came < 0 ? thread->stopped : false;
    return came;
}

static fm_status came_not(fm_tracee *tracee, int came, const char *doing, fm_error *error)
{
    if (came == 0) return tracee_gone(tracee, error);
    return fm_fail(error, FM_E_IO, NULL, "process %ld: %s takes too long", (long)tracee->pid, doing);
}

fm_status fm_tracee_syscall(fm_tracee *tracee, fm_tracee_thread *thread, long number, const long arguments[6],
                            long *result, fm_error *error)
{
    fm_status status = borrow_thread(tracee, thread, error);
    if (status != FM_OK) return status;
    struct user_regs_struct registers = thread->registers;
    registers.rip = tracee->gadget;
    registers.rax = (unsigned long long)number;
    registers.orig_rax = (unsigned long long)-1;
    registers.rdi = (unsigned long long)arguments[0];
    registers.rsi = (unsigned long long)arguments[1];
    registers.rdx = (unsigned long long)arguments[2];
    registers.r10 = (unsigned long long)arguments[3];
    registers.r8 = (unsigned long long)arguments[4];
    registers.r9 = (unsigned long long)arguments[5];
    if (ptrace(PTRACE_SETREGS, thread->tid, NULL, &registers) != 0)
        return tracee_failed(tracee, "set its registers", errno, error);
    /* Before and behind it. A thread that stands before a call that is left out comes to the end of that
     * one first. */
    for (int stops = 0; stops < 2; stops++) {
        const int came = run_to_call(tracee, thread);
        if (came != 1) return came_not(tracee, came, "a system call in it", error);
        if (ptrace(PTRACE_GETREGS, thread->tid, NULL, &registers) != 0)
            return tracee_failed(tracee, "look at its registers", errno, error);
        if (stops == 0 && (long)registers.orig_rax != number) stops--;
    }
    *result = (long)registers.rax;
    return FM_OK;
}

fm_status fm_tracee_call(fm_tracee *tracee, fm_tracee_thread *thread, uint64_t function, const char *text,
                         const long arguments[2], long *result, fm_error *error)
{
    fm_status status = borrow_thread(tracee, thread, error);
    if (status != FM_OK) return status;
    struct user_regs_struct registers = thread->registers;
    long first = arguments[0];
    uint64_t stack = (registers.rsp - RED_ZONE) & ~UINT64_C(63);
    if (text) {
        const size_t bytes = strlen(text) + 1;
        stack -= TEXT_ROOM;
        if (bytes > TEXT_ROOM || fm_tracee_write(tracee, stack, text, bytes) != bytes)
            return fm_fail(error, FM_E_IO, NULL, "process %ld: its stack has no room for a call",
                           (long)tracee->pid);
        first = (long)stack;
    }
    stack -= 8; /* as behind a call: the address to return to, and rsp + 8 is aligned to 16 */
    if (fm_tracee_write(tracee, stack, &tracee->gadget, 8) != 8)
        return fm_fail(error, FM_E_IO, NULL, "process %ld: its stack has no room for a call",
                       (long)tracee->pid);
    registers.rsp = stack;
    registers.rip = function;
    registers.rax = 0;
    registers.orig_rax = (unsigned long long)-1;
    registers.eflags &= ~UINT64_C(0x500); /* single steps, direction */
    registers.rdi = (unsigned long long)first;
    registers.rsi = (unsigned long long)arguments[1];
    if (ptrace(PTRACE_SETREGS, thread->tid, NULL, &registers) != 0)
        return tracee_failed(tracee, "set its registers", errno, error);
    do {
        const int came = run_to_call(tracee, thread);
        if (came != 1) return came_not(tracee, came, "a call in it", error);
        if (ptrace(PTRACE_GETREGS, thread->tid, NULL, &registers) != 0)
            return tracee_failed(tracee, "look at its registers", errno, error);
    } while (registers.rip != tracee->gadget + SYSCALL_BYTES || registers.rsp != stack + 8);
    *result = (long)registers.orig_rax;
    return FM_OK;
}

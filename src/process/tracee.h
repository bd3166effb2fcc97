/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tracee.h - a process of somebody else that is stopped for a moment (ptrace), made to do something, and let
 * go as if nothing had been.
 *
 *     fm_tracee tracee;
 *     if (fm_tracee_open(&tracee, pid, &error) == FM_OK && fm_tracee_stop(&tracee, &error) == FM_OK)
 *         fm_tracee_syscall(&tracee, SYS_getpid, (long[6]){0}, &result, &error);
 *     fm_tracee_close(&tracee);
 *
 * All of it is done by one thread: what is stopped belongs to that thread, and is let go at the latest when
 * that thread ends. Registers, signal masks and system calls that were interrupted are put back as they were:
 * nobody sees an EINTR that a signal of his own did not cause.
 */
#ifndef FATHOM_PROCESS_TRACEE_H
#define FATHOM_PROCESS_TRACEE_H

#include <fathom/status.h>
#include <sys/types.h>
#include <sys/user.h>

typedef struct fm_tracee_thread {
    pid_t tid;
    bool stopped;
    int signal;       /* that it was about to get; 0: none */
    bool borrowed;    /* it does something for us: what follows is to be put back */
    bool interrupted; /* a system call that says EINTR, on our account */
    struct user_regs_struct registers;
    uint64_t mask;
    void *vectors; /* floating-point and vector registers */
    size_t vector_bytes;
} fm_tracee_thread;

typedef struct fm_tracee {
    pid_t pid;
    int memory;      /* descriptor of its memory; -1: none */
    uint64_t gadget; /* address of a syscall instruction in it */
    fm_tracee_thread *threads;
    size_t count, capacity;
    double patience; /* seconds that something may take */
} fm_tracee;

fm_status fm_tracee_open(fm_tracee *tracee, pid_t pid, fm_error *error);
/* Lets everything go, and frees. */
void fm_tracee_close(fm_tracee *tracee);

/* Stops all threads. FM_E_IO: it has ended, or does not stop. */
fm_status fm_tracee_stop(fm_tracee *tracee, fm_error *error);
/* Stops one thread, in addition to those that are stopped; *thread NULL: it is gone. */
fm_status fm_tracee_stop_one(fm_tracee *tracee, pid_t tid, fm_tracee_thread **thread, fm_error *error);
/* All run on. */
void fm_tracee_resume(fm_tracee *tracee);

/* Bytes that could be read, or written, which is less where nothing is mapped. */
size_t fm_tracee_read(const fm_tracee *tracee, uint64_t address, void *to, size_t bytes);
size_t fm_tracee_write(const fm_tracee *tracee, uint64_t address, const void *from, size_t bytes);

/* A thread that is stopped and is not about to get a signal; the first there is. NULL: none. */
fm_tracee_thread *fm_tracee_any(fm_tracee *tracee);
/* Makes a system call in a stopped thread. *result as the kernel gives it (-errno). */
fm_status fm_tracee_syscall(fm_tracee *tracee, fm_tracee_thread *thread, long number, const long arguments[6],
                            long *result, fm_error *error);
/* Calls a function there; where `text` is given, the first argument is the address of a copy of it. Signals
 * are blocked meanwhile. FM_E_IO: it has ended, or the function did not come back in time. */
fm_status fm_tracee_call(fm_tracee *tracee, fm_tracee_thread *thread, uint64_t function, const char *text,
                         const long arguments[2], long *result, fm_error *error);
/* The signals that a stopped thread blocks: bit 0 is signal 1. */
bool fm_tracee_mask(const fm_tracee_thread *thread, uint64_t *mask);
bool fm_tracee_set_mask(fm_tracee_thread *thread, uint64_t mask);

#endif

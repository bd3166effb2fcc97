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

/* ---- attach check ---- */

/* Whether a process that runs may be attached to, and if not, why and what to do. */

/* FM_E_IO where there is no such process, or it must not be attached to; FM_E_UNSUPPORTED where that makes no
 * sense: a kernel thread, a 32-bit program, another C library. Nothing is done to it. library: what is to be
 * loaded into it. */
fm_status fm_attach_check(pid_t pid, const char *library, fm_error *error);
/* FM_E_IO, with the reason why ptrace, or its memory, was refused (errno). */
fm_status fm_attach_refused(pid_t pid, int why, fm_error *error);

/* ---- remote modules ---- */

/*
 * The programs and libraries that another process has loaded: where they are, their
 * dynamic symbols, and the slots through which they call functions of each other. All is read from the
 * process's memory, and believed only as far as it does no harm.
 */

typedef struct fm_remote_module {
    char *path;
    uint64_t base;              /* what is to be added to addresses of the file */
    uint64_t first, behind;     /* of all of it */
    uint64_t code, code_behind; /* of what is executable */
    /* As of its dynamic section; 0: none. */
    uint64_t symbols, strings, string_bytes, hash, gnu_hash;
    uint64_t slots[2], slot_bytes[2]; /* relocations of functions, and all others */
    unsigned char *string_text;       /* a copy */
} fm_remote_module;

typedef struct fm_remote_modules {
    fm_remote_module *modules;
    size_t count, capacity;
} fm_remote_modules;

fm_status fm_remote_modules_read(fm_remote_modules *modules, const fm_tracee *tracee, fm_error *error);
void fm_remote_modules_free(fm_remote_modules *modules);
/* By the last part of its path, as far as `name` goes: "libc.so" is also libc.so.6. NULL: none. */
const fm_remote_module *fm_remote_module_named(const fm_remote_modules *modules, const char *name);

/* The address of a function that a module defines, and its bytes. 0: none. */
uint64_t fm_remote_symbol(const fm_tracee *tracee, const fm_remote_module *module, const char *name,
                          uint64_t *bytes);

/* Each slot of a module that belongs to one of these names (NULL at the end): its index, where the slot is.
 */
typedef fm_status fm_remote_slot_function(void *context, size_t name, uint64_t slot, fm_error *error);
fm_status fm_remote_slots(const fm_tracee *tracee, const fm_remote_module *module, const char *const *names,
                          fm_remote_slot_function *found, void *context, fm_error *error);

/* The address of a syscall instruction in a module's code. 0: none. */
uint64_t fm_remote_bytes(const fm_tracee *tracee, const fm_remote_module *module, const void *bytes,
                         size_t count);

/* ---- safe place ---- */

/*
 * Whether a stopped thread stands where a library can be loaded: outside of the loader and of
 * the allocator, whose locks it could hold, and of signal handlers, which may have interrupted these.
 */

enum { FM_UNSAFE_RANGES = 64 };

typedef struct fm_unsafe_places {
    struct {
        uint64_t first, behind;
    } ranges[FM_UNSAFE_RANGES];
    size_t count;
    uint64_t handler_end; /* where signal handlers return to; 0: not known */
} fm_unsafe_places;

void fm_unsafe_places_find(fm_unsafe_places *places, const fm_tracee *tracee,
                           const fm_remote_modules *modules);
bool fm_is_safe_place(const fm_unsafe_places *places, const fm_tracee *tracee,
                      const fm_tracee_thread *thread);
/* Is it in a signal handler, as far as its stack tells? */
bool fm_may_be_in_handler(const fm_unsafe_places *places, const fm_tracee *tracee,
                          const fm_tracee_thread *thread);

#endif

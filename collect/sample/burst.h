/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * burst.h - runs the next accesses of a program inside a signal handler, and logs or counts them.
 *
 * The code that follows is translated block by block into memory of the thread's state: the program's own
 * instructions, with stores of address registers into the log between them (burst_log.h), linked with each
 * other. The program's vector and floating-point registers stay in the processor; its stack is used as it
 * would use it, and nothing below its red zone but what signals write there.
 *
 * x86-64 only. No function here allocates (but burst_create, by mmap), takes a lock, touches errno or calls
 * libc; all but burst_create and burst_destroy may be called in a signal handler. One thread uses a state.
 * They take up to 12 KiB of stack, Zydis included.
 *
 * What the signal handler has to see to:
 * - It runs on a stack that the program does not use, and whose place the program's stack pointer cannot
 *   reach while a burst runs: an alternate signal stack. That one must not be armed during the burst, or the
 *   frame of a fault would be put over the handler's own: install it with SS_AUTODISARM (and call
 *   sigaltstack with another one for the time of the burst, if a fault in the program's stack is to be seen).
 *   Linux disarms such a stack at every signal, until the handler returns; a program that leaves its handlers
 * by longjmp leaves it disarmed. So look whether the context really lies there, before each burst.
 * - Signals that come from outside are blocked while it runs. SIGSEGV, SIGBUS, SIGFPE, SIGILL and SIGTRAP
 *   are not, and their handler calls burst_fault.
 * - The shared library is linked with -z now: the first call of a function must not look for it.
 */
#ifndef FATHOM_BURST_H
#define FATHOM_BURST_H

#include "burst_log.h"

#include <ucontext.h>

typedef struct burst burst;

typedef enum burst_mode {
    BURST_LOG,  /* every access becomes words of the log */
    BURST_COUNT /* accesses are only counted; nearly native speed */
} burst_mode;

/* Why a burst ended. In each case the context is at the program's instruction that comes next. */
typedef enum burst_end {
    BURST_END_DONE,        /* as many accesses as were asked for, or a block less; more after repetitions */
    BURST_END_LOG_FULL,    /* the log has no room for another block */
    BURST_END_FULL,        /* no room for more code, or in the table: burst_reset makes some */
    BURST_END_IDLE,        /* a million loops without an access, and more: the program waits */
    BURST_END_SYSTEM_CALL, /* a system call that may wait, or that changes threads, signals or mappings */
    BURST_END_INSTRUCTION, /* an instruction that is unknown, privileged, or that is not run here (int3,
                              xbegin …) */
    BURST_END_MEMORY,      /* code that is not mapped, or cannot be read */
    BURST_END_FAULT,       /* an instruction faulted; executed by the program itself, it will fault again */
    BURST_END_CONTEXT,     /* the context is not one that can be run here: single steps, alignment checks */
    BURST_ENDS
} burst_end;

/* What a burst did. */
typedef struct burst_result {
    uint64_t
        accesses;    /* repetitions and elements counted each; lanes that a mask leaves out are counted too */
    uint64_t words;  /* of the log */
    uint64_t blocks; /* that were entered through the dispatcher; not all that were executed */
    uint64_t fresh;  /* blocks that were translated */
    uint64_t fs_base; /* for burst_reader_begin */
    uint64_t gs_base;
    uint64_t call; /* BURST_END_SYSTEM_CALL: its number */
} burst_result;

/* Bytes of memory that a state takes (most of it is touched only when it is used). */
size_t burst_bytes(void);

/*
 * Makes the state of a thread; NULL where memory that is writable and executable cannot be had, where the
 * processor lacks something or where return addresses are protected by a shadow stack. `table` is where
 * blocks are described (burst_log.h), of `table_bytes` bytes, aligned to 8; it may be shared memory. Not for
 * signal handlers the first time it is called in a process.
 */
burst *burst_create(void *table, size_t table_bytes);
/*
 * The same with `bytes` bytes of memory, a multiple of 4096, 1 MiB to 64 MiB; burst_create takes
 * burst_bytes(). A megabyte holds some three thousand blocks, which is little for a compiler or an
 * interpreter: bursts then often end by BURST_END_FULL.
 */
burst *burst_create_sized(void *table, size_t table_bytes, size_t bytes);
void burst_destroy(burst *state);

/*
 * Forgets all translated code and begins the table anew, at `table` (it may be the same place, when nobody
 * needs the logs made with it any more). For BURST_END_FULL.
 */
void burst_reset(burst *state, void *table, size_t table_bytes);
/* Looks where code lies, for all threads of the process: later that may not be possible any more. */
void burst_learn_maps(burst *state);

/*
 * Executes the program from `context` on, at most about `most` accesses, and changes `context` to where it is
 * then. The program's floating-point state is taken from the context and put there again. In BURST_COUNT
 * `log` is not used.
 *
 * Code that changed since it was translated is seen at the beginning of a burst; while it runs, in memory
 * that is not a file's or can be written to.
 */
burst_end burst_run(burst *state, ucontext_t *context, burst_mode mode, uint64_t most, uint64_t *log,
                    size_t log_words, burst_result *result);

/*
 * Whether the next bursts go on where the last one ended, nothing else having happened to the thread: then
 * its code is what it was then, and is not compared at their beginning.
 */
void burst_goes_on(burst *state, bool goes_on);

/* Forgets what was translated of the code in [first, last]: code that is known to have changed. */
void burst_invalidate(burst *state, uint64_t first, uint64_t last);

/*
 * For the handler of a fault in a thread with this state: whether the fault is one of a running burst. Then
 * `context` is changed so that returning from the handler ends the burst (BURST_END_FAULT) at the
 * program's instruction that faulted, whose fault the program then sees for itself. Otherwise nothing is
 * changed.
 */
bool burst_fault(burst *state, ucontext_t *context);

/* Whether a burst of this state is running (in the handler of a fault, before anything else is done). */
bool burst_running(const burst *state);

/* The program's instruction that an address in translated code belongs to; 0: it is none. */
uint64_t burst_where(const burst *state, uint64_t place);

#endif

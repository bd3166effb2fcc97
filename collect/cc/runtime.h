/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * runtime.h - what the parts of the runtime share. The runtime is linked into programs that `fathom cc`
 * builds; README.md says how it is started and why it is built the way it is.
 *
 * Rules for every file here:
 * - No function of libc where a system call will do, and none that allocates: a hook may run inside the
 *   program's own malloc, in a signal handler, in a thread that is about to end. errno is not touched.
 * - No call of a function that is wrapped at link time (memcpy, memset, malloc, sigaction, _exit …), also
 *   not one that the compiler makes of a loop or an assignment: it would come back here. CMake builds with
 *   flags for that, and the tests look at the symbols.
 * - A word enters the ring only through hooks.S, whose functions can be begun anew after a signal.
 */
#ifndef FATHOM_CC_RUNTIME_H
#define FATHOM_CC_RUNTIME_H

/* gcc makes calls of memcpy and memset of loops, also in freestanding programs. */
#if defined __GNUC__ && !defined __clang__
#pragma GCC optimize("no-tree-loop-distribute-patterns")
#endif

#include "layout.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../protocol.h"

#define FM_EXPORT __attribute__((visibility("default")))
#define FM_COLD __attribute__((noinline, cold))
#define fm_likely(x) __builtin_expect(!!(x), 1)
#define fm_unlikely(x) __builtin_expect(!!(x), 0)
/* Return address of a hook, and an address in the call itself: the compilers give that the line of the
 * access, while what follows may belong to another. */
#define FM_CALLER ((uintptr_t)__builtin_return_address(0))
#define FM_SITE (FM_CALLER - 1)
/* The stack pointer of the function that called a hook, at the call. */
#define FM_CALLER_STACK ((uintptr_t)__builtin_frame_address(0) + 16)

enum {
    FM_FRAMES = 4096,     /* depth of calls that is remembered */
    FM_CONTEXT_MOST = 64, /* frames of an allocation's context */
    FM_CONTEXTS = 1 << 16,
    FM_MODULES = 1024,
    FM_COPIES = 8, /* of the runtime in one process */
    FM_SIGNALS = 65,
    FM_SYSTEM_CALLS = 512,
};

/* A call that has not returned. */
typedef struct fm_cc_frame {
    uintptr_t call_site; /* return address, in the caller */
    uintptr_t inside;    /* an address in the called function */
    uintptr_t stack;     /* stack pointer in it */
} fm_cc_frame;

/*
 * What a thread's hooks look at first, in thread-local storage; each copy of the runtime has its own. A
 * pointer is NULL when its kind of word is not wanted, or nothing is: that is all a hook costs in a program
 * that nobody profiles. It leads to fm_unclaimed_… as long as the thread has not asked (the initial value).
 */
typedef struct fm_cells {
    fm_channel *load, *store; /* for loads, for stores */
    fm_channel *any;          /* for everything else */
    struct fm_thread *calls;  /* set when calls are recorded or remembered */
    struct fm_thread *heap;   /* set when blocks of the heap are reported */
    struct fm_thread *thread; /* set when the thread has a channel */
    fm_channel *unclaimed;    /* &fm_unclaimed_channel of this copy */
    uint32_t number;          /* of the thread, when it had a channel once */
    uint32_t busy;            /* within what a signal handler must not see half done: filter.c */
} fm_cells;

/* Exported, as what inline.s puts into programs looks at it too. */
FM_EXPORT extern __thread fm_cells fm_my __asm__("__fathom_my");
extern fm_channel fm_unclaimed_channel;
extern struct fm_thread fm_unclaimed_thread;

/*
 * What range hooks reported last. gcc has one for each side of an assignment of a structure, and then calls
 * memcpy or memset to do it, which is reported as well where the program calls it itself.
 */
typedef struct fm_reported_ranges {
    uintptr_t store_address, load_address;
    uint64_t store_length, load_length; /* 0: none */
    uint64_t cursor;                    /* the channel's afterwards: nothing was reported since */
} fm_reported_ranges;

/* A signal handler runs: what it has interrupted. Lies on the handler's stack. */
typedef struct fm_interruption {
    struct fm_interruption *outer; /* the handler that was interrupted itself, or NULL */
    uint32_t depth, floor;
    uintptr_t floor_stack, allocator_caller;
    uintptr_t stack; /* the stack pointer where it was interrupted */
    int signal;
} fm_interruption;

/* A thread that has a channel; one mapping each. */
typedef struct fm_thread {
    fm_channel *channel;
    uint64_t *ring;
    uint32_t index; /* of the channel */
    uint32_t number, tid;
    bool chunk_pending;            /* the last chunk is sealed, the next not yet free */
    bool record_calls;             /* ENTER and LEAVE are wanted */
    bool unseen;                   /* a handler ran while the thread was busy: its references are missing */
    unsigned closing_rounds;       /* of thread-specific data's destructors, seen */
    uint32_t depth;                /* of frames; may be above FM_FRAMES */
    uint32_t floor;                /* frames below this belong to what a signal handler has interrupted … */
    uintptr_t floor_stack;         /* … and this is the handler's stack pointer */
    uintptr_t allocator_caller;    /* who called operator new, while that calls malloc; 0: not in it */
    fm_interruption *interruption; /* the innermost; NULL: no handler runs */
    fm_reported_ranges reported;
    uint32_t local_modules;       /* how many modules there were when thread-local storage was reported */
    bool local_pending;           /* some may have been allocated since */
    uintptr_t locals[FM_MODULES]; /* where each module's was reported to be; 0: nowhere yet */
    unsigned copies;
    fm_cells *cells[FM_COPIES];
    uint64_t context_sent[FM_CONTEXTS / 64];
    uint64_t scratch[1024]; /* used with signals blocked only */
    fm_cc_frame frames[FM_FRAMES];
} fm_thread;

typedef struct fm_cc_module {
    uintptr_t base, text_from, text_to;
    uint64_t path_hash;
    bool loaded, instrumented;
} fm_cc_module;

enum {
    FM_STATE_NEW = 0,
    FM_STATE_STARTING = 1,
    FM_STATE_PASSIVE = 2,
    FM_STATE_ACTIVE = 3,
    FM_STATE_STOPPED = 4
};

/* What all copies of the runtime in a process share: the state of that copy which started first. */
typedef struct fm_cc_process {
    uint32_t state; /* FM_STATE_… */
    uint32_t wants;
    fm_session *session;
    int fd; /* of the session, or -1. Not relied on: the program may have closed it */
    uint64_t device, inode;
    uint32_t pid, serial, parent_serial;
    uint32_t threads;
    bool end_sent;
    unsigned key; /* pthread_key_t */
    uint32_t module_lock;
    uint32_t module_count;
    uintptr_t linker_from, linker_to; /* code of the dynamic linker, where it is known */
    uint64_t module_changes;          /* the dynamic linker's count when they were looked at last */
    uint64_t *contexts;               /* FM_CONTEXTS hashes; a context's number is its place + 1 */
    uint32_t copies;
    struct {
        uintptr_t from, to;
    } hooks[FM_COPIES]; /* code of hooks.S */
    uintptr_t handlers[FM_SIGNALS];
    uint64_t denied[FM_SYSTEM_CALLS / 64]; /* system calls that the runtime must not make: filter.c */
    char path[128];
    fm_thread *by_channel[FM_STREAM_CHANNELS]; /* of this process; set while the ring is mapped */
    fm_cc_module modules[FM_MODULES];
} fm_cc_process;

extern fm_cc_process fm_process_own __attribute__((visibility("hidden"))); /* of this copy */
extern fm_cc_process *fm_process_here; /* NULL until this copy has started */

/* In a static program, libc calls what is wrapped before it has set up thread-local storage. */
#ifdef FM_VARIANT_STATIC
#define FM_HAS_THREADS (fm_process_here != NULL)
#else
#define FM_HAS_THREADS true
#endif

/* ---- hooks.S: append words to the thread's channel, if it has one. Never split by a signal. ---- */

void fm_append1(uint64_t word);
void fm_append2(uint64_t first, uint64_t second);
void fm_append4(uint64_t first, uint64_t second, uint64_t third, uint64_t fourth);
void fm_append_many(const uint64_t *words, size_t count); /* at most FM_RECORD_MOST_BYTES */
extern const char fm_hooks_begin[], fm_hooks_end[];

/* ---- channel.c ---- */

/* Is there a session, as far as one can tell without opening it? */
bool fm_session_may_be(const char *path);
/* Opens the session that path names, or else the one that was inherited, into process. path NULL: the
 * environment names none, perhaps as somebody has cleared it. False: not there, or not ours. */
bool fm_session_open(fm_cc_process *process, const char *path);
/* In a child that is not traced: lets go of the session's memory, so that its end does not wait for the
 * child. */
void fm_session_leave(fm_cc_process *process);
/* In a child that is traced: lets go of the rings of the parent's threads. */
void fm_session_leave_rings(fm_cc_process *process);
/* Gives the thread a channel. Signals are blocked. False: none is free, or tracing has ended. */
bool fm_channel_claim(fm_cc_process *process, fm_thread *thread);
/* Seals what there is, wakes the receiver, unmaps. Signals are blocked. */
void fm_channel_close(fm_cc_process *process, fm_thread *thread);
/* Seals the chunk in use, full or not. Signals are blocked. */
void fm_channel_hand_over(fm_cc_process *process, fm_thread *thread);
/* The chunk is full: seals it and waits for the next; or ends tracing. */
void fm_make_room(void);
/* The next word takes the slow way: fm_make_room is called before it. */
void fm_channel_ask(fm_thread *thread);

/* ---- channel.c ---- */

/* The thread has not asked yet: gives it a channel, or learns that there is none. */
void fm_thread_attach(void);
/* A new one of this process; NULL: no memory. Signals are blocked, also for the next three. */
fm_thread *fm_thread_new(fm_cc_process *process);
void fm_thread_begin(fm_cc_process *process, fm_thread *thread); /* THREAD_START */
/* Sets the cells of all copies by what is wanted; thread NULL or without channel: to nothing. */
void fm_thread_set_cells(fm_cc_process *process, fm_thread *thread);
/* No reference of this thread goes anywhere from now on. */
void fm_thread_silence(fm_thread *thread);
/* Nothing of this thread is seen any more; the receiver is told. */
void fm_thread_lost(void);
void fm_thread_end(void *data); /* destructor of the key; data: the thread */

/* ---- process.c, module.c ---- */

void fm_process_begin(fm_cc_process *process);         /* PROCESS */
void fm_process_end(fm_cc_process *process, int code); /* END, once */
void fm_process_execs(fm_cc_process *process, const char *path);
void fm_process_forked(void); /* in the child */
/* Reports every module that was not reported before. */
void fm_modules_report(fm_cc_process *process);
/* The lowest address of this thread's thread-local storage in [low, high); high: there is none. */
uintptr_t fm_locals_lowest(uintptr_t low, uintptr_t high);
/* Reports where modules have thread-local variables in this thread, as far as that is new. */
void fm_locals_report(fm_cc_process *process, fm_thread *thread);
/* The dynamic linker has allocated memory: before anything else is reported, storage is looked for. */
void fm_locals_await(fm_cc_process *process, fm_thread *thread, uintptr_t allocator_caller);
/* The instrumented module that a code address is in, or NULL. */
const fm_cc_module *fm_module_instrumented(const fm_cc_process *process, uintptr_t code);
/* The state of another copy that has started in this process, or NULL. */
fm_cc_process *fm_process_find_other(void);

static inline fm_cc_process *fm_process_active(void)
{
    fm_cc_process *process = fm_process_here;
    return process && __atomic_load_n(&process->state, __ATOMIC_ACQUIRE) == FM_STATE_ACTIVE ? process : NULL;
}

/* ---- access.c ---- */

/* One access that the assembler's hooks do not cover. code: FM_ACCESS_…; length for …_RANGE. */
void fm_access(uintptr_t address, unsigned code, uint64_t length, uintptr_t pc);
/* Bytes from an address up to the next multiple of a size, `length` at most. */
static inline uint64_t fm_bytes_to_border(uintptr_t address, uint64_t length, uint64_t size)
{
    uint64_t rest = size - address % size;
    return rest < length ? rest : length;
}

void fm_load_range(uintptr_t address, uint64_t length, uintptr_t pc);
void fm_store_range(uintptr_t address, uint64_t length, uintptr_t pc);
/* What reads and writes the same place: two accesses, as for every collector (docs/COLLECT.md). */
void fm_load_and_store(uintptr_t address, uint64_t length, uintptr_t pc);
/* Hooks have just reported a store to `to` and a load from `from` (0: no load), both of this length. */
bool fm_ranges_reported(uintptr_t to, uintptr_t from, uint64_t length);

/* The stack pointer is, or is about to be, `stack`: functions that were entered below it are left. */
void fm_unwound(uintptr_t stack);

/* ---- context.c ---- */

void fm_heap_allocated(const void *block, size_t bytes, uintptr_t caller);
void fm_heap_freed(const void *block);

/* ---- signal.c (not in libraries) ---- */

/* A handler returns, or is left by siglongjmp. */
void fm_signal_ends(fm_thread *thread, const fm_interruption *interruption);

/* ---- channel.c: strings in words ---- */

/* text, ended by a zero byte and padded; returns the number of words, at most `most`. */
size_t fm_text_words(uint64_t *words, size_t most, const char *text);
uint64_t fm_hash(uint64_t seed, uint64_t value);

#endif

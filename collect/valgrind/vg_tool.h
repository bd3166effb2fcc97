/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * vg_tool.h - what the files of the Valgrind tool share.
 *
 * One process under Valgrind is one producer of ../protocol.h. Valgrind lets one thread run at a time and
 * calls the tool with its big lock held, so that nothing here needs a lock of its own.
 */
#ifndef FATHOM_VG_TOOL_H
#define FATHOM_VG_TOOL_H

#include "pub_tool_basics.h"

#include "pub_tool_tooliface.h"

#include "../protocol.h"

/* ---- the channel (vg_channel.c) ---- */

/* Where instrumented code finds its channel. Fixed between two calls of fm_channel_open. */
typedef struct fm_vg_channel {
    fm_session *session; /* NULL: there is none (yet) */
    fm_channel *mine;    /* NULL: this process is not traced (any more) */
    Bool stopping;       /* no more tracing; what instrumented code still writes is thrown away */
} fm_vg_channel;
extern fm_vg_channel fm_vg;

/* True while records are worth making. */
static inline Bool fm_tracing(void)
{
    return fm_vg.mine != NULL && !fm_vg.stopping;
}

/* Opens the session; inherited: a descriptor of it from the process that executed this program, or -1. False:
 * with one, that was not possible; without, the process ends with a message. */
Bool fm_session_open(const HChar *path, Int inherited);
/* Its descriptor. */
Int fm_session_file(void);
/* Claims a channel for this process; False when none is free (counted in the session) or tracing is over. */
Bool fm_channel_open(void);
/* After fork, in the child: forgets the parent's channel without touching it. */
void fm_channel_forget(void);
/* Called by instrumented code, at the beginning of a block, when the cursor is above the limit. */
void fm_channel_seal(void);
/* Hands over what was written and closes. Never called while instrumented code runs. */
void fm_channel_close(void);
/* Has the receiver ordered the end, or gone? The second costs two system calls. */
Bool fm_channel_order_is_detach(void);
Bool fm_channel_receiver_is_gone(void);

/* Writes a record: its first word, then the words, then (unless NULL) the text with its zero byte, padded. */
void fm_record_put(UInt kind, ULong argument, const ULong *words, UInt count, const HChar *text);
/* The same with a text of so many bytes, which may have zeroes in it. */
void fm_record_put_bytes(UInt kind, ULong argument, const ULong *words, UInt count, const HChar *text,
                         SizeT bytes);

/* ---- modules (vg_modules.c) ---- */

typedef struct fm_vg_module {
    UInt number; /* from 1 */
    Bool mapped; /* False: gone from memory; its number is not used again */
    Bool program;
    ULong device, inode;
    Addr header;             /* where the file's first byte lies */
    Addr from, to;           /* what it covers in memory */
    Addr code_from, code_to; /* its executable part */
    SizeT local_size;        /* bytes of thread-local variables in each thread; 0: none */
    UInt local_number;       /* among modules that have such; see vg_threads.c */
    ULong words[8];          /* as in FM_RECORD_MODULE, [0] without number and flags */
    const HChar *path;
} fm_vg_module;

void fm_modules_track(void);
/* The module a code address lies in, or NULL. */
const fm_vg_module *fm_module_find(Addr code);
/* After fork: reports all of them again. */
void fm_modules_report(void);
/* The highest local_number that a module ever had; 0: none. */
UInt fm_modules_locals(void);
/* The module with a local_number, or NULL. */
const fm_vg_module *fm_module_with_locals(UInt number);

/* ---- blocks (vg_instrument.c) ---- */

IRSB *fm_block_instrument(VgCallbackClosure *closure, IRSB *in, const VexGuestLayout *layout,
                          const VexGuestExtents *extents, const VexArchInfo *host, IRType guest_word,
                          IRType host_word);
/* Throws all translations away, so that every block is defined anew or left alone. */
void fm_blocks_discard(void);
/* Is this an address where Valgrind could not decode an instruction? */
Bool fm_block_undecodable_at(Addr code);

/* ---- threads and signals (vg_threads.c) ---- */

void fm_threads_track(void);
/* After fork: the thread is the only one of a new process. */
void fm_threads_restart(ThreadId thread);
/* Reports that the program is about to use an instruction Valgrind does not know, if it is. */
void fm_unknown_instruction_tell(ThreadId thread);

/* Looks at a thread that allocates. */
void fm_threads_look(ThreadId thread);

/* ---- allocation functions (vg_allocators.c) ---- */

/* By where their arguments are. */
typedef enum fm_allocator {
    FM_NO_ALLOCATOR,
    FM_ALLOCATES_1, /* the first one is the number of bytes */
    FM_ALLOCATES_2, /* the second one */
    FM_CALLOC,
    FM_REALLOC,
    FM_POSIX_ALIGN, /* posix_memalign */
    FM_FREES,
} fm_allocator;

void fm_allocators_track(void);
/* What the function does that begins there. */
fm_allocator fm_allocator_at(Addr code);
/* Is this code of a file that has such functions? */
Bool fm_allocator_code(Addr code);
/* Has any been found? */
Bool fm_allocators_known(void);

/* ---- heap (vg_heap.c) ---- */

void fm_heap_track(void);
/* Adds a call to the beginning of a block, before the cursor is read; or to the end, after it was written. */
void fm_heap_instrument_entry(IRSB *out, fm_allocator does);
void fm_heap_instrument_return(IRSB *out);
void fm_heap_thread_ends(ThreadId thread);
/* After fork: contexts are reported anew when they are next used. */
void fm_heap_restart(void);
/* Says so where heap blocks could not be seen. */
void fm_heap_end(void);

/* ---- other programs that it executes (vg_execute.c) ---- */

/* Can this tool run it? x86-64, or a script (Valgrind looks at its interpreter); nothing that would get
 * rights that this process does not have. */
Bool fm_execute_traceable(const HChar *path);
/* In an execve of a program that is to be traced: what it needs is handed on. False: it cannot be traced. */
Bool fm_execute_prepare(ThreadId thread);
/* Is this an option that one instance of the tool gives the next? */
Bool fm_execute_option(const HChar *argument);
/* The session's descriptor that this program was given, or -1. */
Int fm_execute_session_file(void);
/* The program begins: what the core has set up otherwise than the kernel would is put right. */
void fm_execute_begin(void);
/* The program is executed anew without Valgrind. Returns where that fails. */
void fm_execute_untraced(void);

/* ---- filters of system calls (vg_filters.c) ---- */

/* A system call of the program: True: it was answered here, and is not made. */
Bool fm_filters_take(ThreadId thread);
Bool fm_filters_any(void);
/* The program is replaced by one that runs without Valgrind: the kernel gets its filters. */
void fm_filters_to_kernel(void);

/* ---- code that changes (vg_changing_code.c) ---- */

/* A system call has succeeded: is there memory whose code may change from now on? */
void fm_changing_code_look(UInt number, const UWord *arguments, Addr result);

/* ---- the life of the process (vg_process.c) ---- */

void fm_process_track(void);
/* Leaves of LD_PRELOAD what the user put there. */
void fm_preload_clean(void);
/* A process begins: claims a channel and reports it. parent: its serial number, or 0. */
void fm_process_begin(UInt parent);
/* The process ends: called by Valgrind. */
void fm_process_fini(Int unused);
/* Called by the scheduler's hooks (vg_threads.c): some thread goes on, so that the process is not ending. */
void fm_process_goes_on(void);
/* The process dies of a signal, at once. */
void fm_process_die(Int signal);
/* Within execve: threads end because the program does. */
Bool fm_process_executes(void);

#endif

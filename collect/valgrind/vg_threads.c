/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * vg_threads.c - which thread runs, where its stack is, which signal it handles. Valgrind uses the numbers of
 * threads again; here each thread of a process has a number of its own, from 1.
 *
 * Valgrind's scheduler lets threads take turns of 100,000 blocks or until they wait: the interleaving that
 * arrives is that, not the one of a machine with several cores.
 */
#include "vg_tool.h"

#include "pub_tool_aspacemgr.h"
#include "pub_tool_libcassert.h"
#include "pub_tool_libcbase.h"
#include "pub_tool_libcprint.h"
#include "pub_tool_libcproc.h"
#include "pub_tool_machine.h"
#include "pub_tool_mallocfree.h"
#include "pub_tool_threadstate.h"
#include "pub_tool_vki.h"

#include "vg_core.h"

#include "libvex_guest_amd64.h"

/*
 * ==== thread-local variables ====
 *
 * Where modules have their thread-local variables in each thread.
 *
 * It is read from where glibc keeps it (the x86-64 ABI has the first half of it): at the thread pointer lies
 * the thread's descriptor, whose second word leads to a vector with two words for each module that has such
 * variables, the first being their address, or -1 as long as there is none: that of modules which were loaded
 * later is allocated when it is first used. Modules are numbered as they are mapped, and the numbers of those
 * that are gone are used again.
 *
 * Nothing reports when the vector changes. It is looked at whenever the thread is scheduled, which is after
 * each system call, and when it allocates memory.
 */

enum { MOST = 64 }; /* modules with such variables */

/* What was reported, by thread and number of the module's vector entry. */
typedef struct reported_locals {
    Addr at[MOST + 1];
    UInt module[MOST + 1];
} reported_locals;
static reported_locals **reported;

static Bool read_word(Addr from, Addr *word)
{
    if (from % sizeof *word != 0 || !VG_(am_is_valid_for_client)(from, sizeof *word, VKI_PROT_READ))
        return False;
    *word = *(const Addr *)from;
    return True;
}

/* Reports what is new in a thread; number: ours. */
static void locals_look(ThreadId thread, UInt number)
{
    Addr pointer = 0, vector, length;
    VG_(get_shadow_regs_area)
    (thread, (UChar *)&pointer, 0, offsetof(VexGuestAMD64State, guest_FS_CONST), sizeof pointer);
    if (pointer == 0 || !read_word(pointer + sizeof(Addr), &vector) || vector < 2 * sizeof(Addr) ||
        !read_word(vector - 2 * sizeof(Addr), &length))
        return;
    if (!reported[thread]) reported[thread] = VG_(calloc)("fathom.locals", 1, sizeof **reported);
    reported_locals *of = reported[thread];
    const UInt most = fm_modules_locals();
    for (UInt i = 1; i <= MOST && i <= most && i <= length; i++) {
        const fm_vg_module *module = fm_module_with_locals(i);
        Addr at;
        if (!module || !read_word(vector + 2 * i * sizeof(Addr), &at) || at == 0 || at == ~(Addr)0) continue;
        if (of->at[i] == at && of->module[i] == module->number) continue;
        if (!VG_(am_is_valid_for_client)(at, module->local_size, VKI_PROT_READ)) continue;
        of->at[i] = at;
        of->module[i] = module->number;
        ULong words[4] = {number, module->number, at, module->local_size};
        fm_record_put(FM_RECORD_THREAD_LOCAL, 0, words, 4, NULL);
    }
}

/* it ends */
static void locals_forget(ThreadId thread)
{
    VG_(free)(reported[thread]);
    reported[thread] = NULL;
}

/* after fork */
static void locals_restart(void)
{
    for (UInt i = 0; i < VG_N_THREADS; i++) locals_forget(i);
}

static void locals_track(void)
{
    reported = VG_(calloc)("fathom.locals", VG_N_THREADS, sizeof *reported);
}

static UInt *numbers;    /* of a thread, by Valgrind's number; 0: none yet */
static UInt last_number; /* given away */
static UInt running;     /* number reported last */

static UInt number_of(ThreadId thread)
{
    tl_assert(thread < VG_N_THREADS);
    return numbers[thread];
}

static void thread_begins(ThreadId thread)
{
    numbers[thread] = ++last_number;
    Addr highest = VG_(thread_get_stack_max)(thread);
    SizeT size = VG_(thread_get_stack_size)(thread);
    ULong words[4] = {last_number, highest >= size ? highest + 1 - size : 0, highest, (ULong)VG_(gettid)()};
    fm_record_put(FM_RECORD_THREAD_START, 0, words, 4, NULL);
    locals_look(thread, last_number);
}

static void thread_ends(ThreadId thread)
{
    UInt number = number_of(thread);
    numbers[thread] = 0;
    locals_forget(thread);
    fm_heap_thread_ends(thread);
    if (number && !fm_process_executes()) fm_record_put(FM_RECORD_THREAD_END, number, NULL, 0, NULL);
}

static void switch_to(ThreadId thread)
{
    UInt number = number_of(thread);
    if (number == running) return;
    running = number;
    fm_record_put(FM_RECORD_THREAD, number, NULL, 0, NULL);
}

static void code_starts(ThreadId thread, ULong blocks)
{
    (void)blocks;
    fm_process_goes_on();
    switch_to(thread);
    fm_threads_look(thread);
}

void fm_threads_look(ThreadId thread)
{
    UInt number = number_of(thread);
    if (number && fm_tracing()) locals_look(thread, number);
}

/* No instrumented code runs here, which makes it the place to do what must not be done while one does. */
static void code_stops(ThreadId thread, ULong blocks)
{
    (void)thread, (void)blocks;
    if (!fm_vg.mine) return;
    if (!fm_vg.stopping && !fm_channel_order_is_detach()) return;
    fm_channel_close();
    fm_children_trace(False);
    fm_blocks_discard();
}

void fm_threads_restart(ThreadId thread)
{
    VG_(memset)(numbers, 0, VG_N_THREADS * sizeof *numbers);
    last_number = 0;
    running = 0;
    locals_restart();
    thread_begins(thread);
}

/* Instructions whose purpose is to be unknown. */
static Bool is_trap(const UChar *code)
{
    return code[0] == 0x0F && (code[1] == 0x0B || code[1] == 0xB9 || code[1] == 0xFF);
}

void fm_unknown_instruction_tell(ThreadId thread)
{
    static Addr told_last;
    enum { SHOWN = 8 };
    Addr code = VG_(get_IP)(thread);
    if (code == told_last || !fm_block_undecodable_at(code)) return;
    HChar text[160];
    UInt used = VG_(sprintf)(text, "%#lx:", code);
    const UChar *bytes = (const UChar *)code;
    UInt shown = 0;
    while (shown < SHOWN && VG_(am_is_valid_for_client)(code + shown, 1, VKI_PROT_READ)) {
        used += VG_(sprintf)(text + used, " %02x", bytes[shown]);
        shown++;
    }
    if (shown < 2 || is_trap(bytes)) return;
    if (bytes[0] == 0x62) VG_(strcpy)(text + used, " (EVEX: AVX-512)");
    told_last = code;
    fm_record_put(FM_RECORD_NOTE, FM_NOTE_UNKNOWN_INSTRUCTION, NULL, 0, text);
}

static void signal_begins(ThreadId thread, Int signal, Bool alternate_stack)
{
    (void)alternate_stack;
    switch_to(thread);
    if (signal == VKI_SIGILL) fm_unknown_instruction_tell(thread);
    fm_record_put(FM_RECORD_SIGNAL, (ULong)signal, NULL, 0, NULL);
}

static void signal_ends(ThreadId thread, Int signal)
{
    switch_to(thread);
    fm_record_put(FM_RECORD_SIGNAL_END, (ULong)signal, NULL, 0, NULL);
}

void fm_threads_track(void)
{
    numbers = VG_(calloc)("fathom.threads", VG_N_THREADS, sizeof *numbers);
    locals_track();
    VG_(track_pre_thread_first_insn)(thread_begins);
    VG_(track_pre_thread_ll_exit)(thread_ends);
    VG_(track_start_client_code)(code_starts);
    VG_(track_stop_client_code)(code_stops);
    VG_(track_pre_deliver_signal)(signal_begins);
    VG_(track_post_deliver_signal)(signal_ends);
}

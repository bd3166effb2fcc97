/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * vg_heap.c - the blocks of the heap, as the program gets them and gives them back, with the calls that led
 * to each. Nothing is put into the program for it, and nothing of it replaced: translated code calls in here
 * where an allocation function begins (vg_allocators.c knows where), and where code of its file returns while
 * a call is open. The call is over when the stack pointer is behind its return address.
 *
 * Allocators call each other (operator new calls malloc, realloc(NULL) calls malloc): the same event reported
 * twice in a row by a thread is one.
 */
#include "vg_tool.h"

#include "pub_tool_aspacemgr.h"
#include "pub_tool_debuginfo.h"
#include "pub_tool_hashtable.h"
#include "pub_tool_libcassert.h"
#include "pub_tool_libcbase.h"
#include "pub_tool_machine.h"
#include "pub_tool_mallocfree.h"
#include "pub_tool_stacktrace.h"
#include "pub_tool_threadstate.h"
#include "pub_tool_vki.h"

#include "libvex_guest_amd64.h"
#include "vg_core.h"

enum {
    DEPTH = 8,              /* frames of a context */
    INNER = 6,              /* most frames of allocators that are left out */
    FRAMES = DEPTH + INNER, /* asked of Valgrind */
    OPEN_MOST = 256,        /* calls that have not returned, of all threads */
    STACK_MOST = 64 << 20,  /* what is farther apart is another stack (that of a signal handler) */
};

/* ---- who asked: contexts ---- */

/* A list of return addresses. Raw ones (as Valgrind found them) know the number of what is left of them. */
typedef struct context {
    struct context *next; /* as VgHashNode */
    UWord key;
    UInt number;   /* of the context, from 1 */
    UInt reported; /* the process generation it was reported in */
    UInt count;
    Addr frames[FRAMES];
} context;

static VgHashTable *raw_contexts, *contexts;
static UInt last_context, generation = 1;

static UWord hash_of(const Addr *frames, UInt count)
{
    UWord hash = 14695981039346656037UL;
    for (UInt i = 0; i < count; i++) hash = (hash ^ frames[i]) * 1099511628211UL;
    return hash ^ hash >> 29;
}

static Word compare_frames(const void *left, const void *right)
{
    const context *a = left, *b = right;
    if (a->count != b->count) return 1;
    return VG_(memcmp)(a->frames, b->frames, a->count * sizeof *a->frames);
}

/* Finds or adds a list of frames. */
static context *context_intern(VgHashTable *table, const Addr *frames, UInt count)
{
    context wanted = {.key = hash_of(frames, count), .count = count};
    VG_(memcpy)(wanted.frames, frames, count * sizeof *frames);
    context *found = VG_(HT_gen_lookup)(table, &wanted, compare_frames);
    if (found) return found;
    found = VG_(malloc)("fathom.context", sizeof *found);
    *found = wanted;
    VG_(HT_add_node)(table, found);
    return found;
}

static Bool is_allocator(Addr code)
{
    static const HChar *const names[] = {"malloc",         "calloc",        "realloc",
                                         "reallocarray",   "aligned_alloc", "memalign",
                                         "posix_memalign", "valloc",        "pvalloc"};
    const HChar *name;
    if (!VG_(get_fnname_raw)(VG_(current_DiEpoch)(), code, &name)) return False;
    if (VG_(strncmp)(name, "__libc_", 7) == 0) name += 7;
    if (VG_(strncmp)(name, "__GI_", 5) == 0) name += 5;
    if (VG_(strncmp)(name, "_Znw", 4) == 0 || VG_(strncmp)(name, "_Zna", 4) == 0) return True;
    for (UInt i = 0; i < sizeof names / sizeof *names; i++)
        if (VG_(strcmp)(name, names[i]) == 0) return True;
    return False;
}

static Bool is_code(Addr address)
{
    const NSegment *segment = VG_(am_find_nsegment)(address);
    return segment && segment->hasX;
}

/* The number of the context that called the function whose first instruction the thread is at, reported if it
 * is new. */
static UInt context_of_caller(ThreadId thread, Addr stack_pointer)
{
    Addr frames[FRAMES], behind = *(const Addr *)stack_pointer;
    /* As if it stood in the call instruction: no unwinding out of the allocator, which may not be able to. */
    UInt count = VG_(get_StackTrace_with_deltas)(thread, frames, FRAMES, NULL, NULL,
                                                 (Word)(behind - 1 - VG_(get_IP)(thread)), sizeof(Addr));
    context *raw = context_intern(raw_contexts, frames, count);
    if (raw->number == 0 || raw->reported != generation) {
        UInt inner = 0;
        while (inner < count && is_allocator(frames[inner])) inner++;
        UInt kept = 0; /* beyond _start there is no code, but Valgrind may guess on */
        while (kept < DEPTH && inner + kept < count && is_code(frames[inner + kept])) kept++;
        for (UInt i = inner; i < inner + kept; i++) frames[i]++; /* they are the last bytes of the calls */
        context *known = context_intern(contexts, frames + inner, kept);
        if (known->number == 0) known->number = ++last_context;
        raw->number = known->number;
        raw->reported = generation;
        if (known->reported != generation) {
            known->reported = generation;
            ULong words[1 + DEPTH] = {known->number};
            for (UInt i = 0; i < kept; i++) words[1 + i] = known->frames[i];
            fm_record_put(FM_RECORD_CONTEXT, 0, words, 1 + kept, NULL);
        }
    }
    return raw->number;
}

/* ---- what happened ---- */

static struct {
    ThreadId thread;
    Addr freed, allocated;
    UWord bytes;
} last;

static void block_allocated(ThreadId thread, Addr address, UWord bytes, UInt who)
{
    if (address == 0) return;
    fm_threads_look(thread); /* it may have thread-local storage that is new */
    if (last.thread == thread && last.allocated == address && last.bytes == bytes) return;
    last.thread = thread;
    last.allocated = address;
    last.bytes = bytes;
    last.freed = 0;
    ULong words[3] = {address, bytes, who};
    fm_record_put(FM_RECORD_HEAP_ALLOC, 0, words, 3, NULL);
}

static void block_freed(ThreadId thread, Addr address)
{
    if (address == 0) return;
    if (last.thread == thread && last.freed == address) return;
    last.thread = thread;
    last.freed = address;
    last.allocated = 0;
    ULong words[1] = {address};
    fm_record_put(FM_RECORD_HEAP_FREE, 0, words, 1, NULL);
}

static void block_reallocated(ThreadId thread, Addr old, Addr address, UWord bytes, UInt who)
{
    if (address == 0 && bytes != 0) return; /* refused: the old block stays */
    if (old != 0 && !(last.thread == thread && last.allocated == address && last.bytes == bytes))
        block_freed(thread, old);
    block_allocated(thread, address, bytes, who);
}

/* ---- calls that have not returned ---- */

typedef struct open_call {
    ThreadId thread;
    fm_allocator does;
    Addr stack_pointer; /* where its return address lies */
    UWord first;        /* argument, where it is needed at the end */
    UWord bytes;
    UInt who; /* context */
} open_call;

static open_call calls[OPEN_MOST];
static ULong call_count; /* translated code looks at it */

/* Takes all of the thread away from `from` on whose place on the stack is at or below this one's: those have
 * been left (by longjmp, by an exception). */
static void forget_below(ThreadId thread, Addr stack_pointer)
{
    ULong kept = 0;
    for (ULong i = 0; i < call_count; i++) {
        const open_call *call = &calls[i];
        Bool left = call->thread == thread && call->stack_pointer <= stack_pointer &&
                    stack_pointer - call->stack_pointer < STACK_MOST;
        if (!left) calls[kept++] = *call;
    }
    call_count = kept;
}

static VG_REGPARM(0) void function_begins(ULong does, Addr stack_pointer, UWord first, UWord second,
                                          UWord third)
{
    if (!fm_tracing()) return;
    ThreadId thread = VG_(get_running_tid)();
    if (does == FM_FREES) {
        block_freed(thread, first); /* before another thread can get it */
        return;
    }
    forget_below(thread, stack_pointer);
    if (call_count == OPEN_MOST) { /* threads that died in there */
        VG_(memmove)(calls, calls + 1, (OPEN_MOST - 1) * sizeof *calls);
        call_count--;
    }
    open_call call = {
        .thread = thread, .does = (fm_allocator)does, .stack_pointer = stack_pointer, .first = first};
    call.bytes = does == FM_ALLOCATES_1   ? first
                 : does == FM_CALLOC      ? first * second
                 : does == FM_POSIX_ALIGN ? third
                                          : second;
    call.who = context_of_caller(thread, stack_pointer);
    calls[call_count++] = call;
}

static VG_REGPARM(0) void code_returns(Addr stack_pointer, UWord result)
{
    ThreadId thread = VG_(get_running_tid)();
    for (ULong i = call_count; i-- > 0;) {
        open_call call = calls[i];
        if (call.thread != thread || call.stack_pointer + sizeof(Addr) != stack_pointer) continue;
        forget_below(thread, call.stack_pointer);
        if (call.does == FM_REALLOC) {
            block_reallocated(thread, call.first, result, call.bytes, call.who);
        } else if (call.does != FM_POSIX_ALIGN) {
            block_allocated(thread, result, call.bytes, call.who);
        } else if ((Int)result == 0 && VG_(am_is_valid_for_client)(call.first, sizeof(Addr), VKI_PROT_READ)) {
            block_allocated(thread, *(const Addr *)call.first, call.bytes, call.who);
        }
        return;
    }
}

void fm_heap_thread_ends(ThreadId thread)
{
    ULong kept = 0;
    for (ULong i = 0; i < call_count; i++)
        if (calls[i].thread != thread) calls[kept++] = calls[i];
    call_count = kept;
}

/* ---- in translated code ---- */

static IRExpr *guest_register(IRSB *out, Int offset)
{
    IRTemp temp = newIRTemp(out->tyenv, Ity_I64);
    addStmtToIRSB(out, IRStmt_WrTmp(temp, IRExpr_Get(offset, Ity_I64)));
    return IRExpr_RdTmp(temp);
}

#define REGISTER(name) guest_register(out, (Int)offsetof(VexGuestAMD64State, guest_##name))

/* Records are written: the cursor moves. */
static void add_call(IRSB *out, IRDirty *call)
{
    call->mFx = Ifx_Modify;
    call->mAddr = IRExpr_Const(IRConst_U64((Addr)&fm_vg.mine->cursor));
    call->mSize = sizeof fm_vg.mine->cursor;
    addStmtToIRSB(out, IRStmt_Dirty(call));
}

void fm_heap_instrument_entry(IRSB *out, fm_allocator does)
{
    IRExpr **arguments = mkIRExprVec_5(IRExpr_Const(IRConst_U64(does)), REGISTER(RSP), REGISTER(RDI),
                                       REGISTER(RSI), REGISTER(RDX));
    add_call(out,
             unsafeIRDirty_0_N(0, "function_begins", VG_(fnptr_to_fnentry)(&function_begins), arguments));
}

void fm_heap_instrument_return(IRSB *out)
{
    IRTemp count = newIRTemp(out->tyenv, Ity_I64), any = newIRTemp(out->tyenv, Ity_I1);
    addStmtToIRSB(out, IRStmt_WrTmp(count, IRExpr_Load(Iend_LE, Ity_I64,
                                                       IRExpr_Const(IRConst_U64((Addr)&call_count)))));
    addStmtToIRSB(
        out, IRStmt_WrTmp(any, IRExpr_Binop(Iop_CmpNE64, IRExpr_RdTmp(count), IRExpr_Const(IRConst_U64(0)))));
    IRExpr **arguments = mkIRExprVec_2(REGISTER(RSP), REGISTER(RAX));
    IRDirty *call = unsafeIRDirty_0_N(0, "code_returns", VG_(fnptr_to_fnentry)(&code_returns), arguments);
    call->guard = IRExpr_RdTmp(any);
    add_call(out, call);
}

/* ---- the process ---- */

void fm_heap_restart(void)
{
    generation++;
    call_count = 0;
}

void fm_heap_end(void)
{
    if ((fm_vg.session->wants & FM_WANT_HEAP) && !fm_allocators_known())
        fm_record_put(
            FM_RECORD_NOTE, FM_NOTE_TEXT, NULL, 0,
            "heap blocks are not known: there is no malloc in the program's symbols (linked statically "
            "and stripped, or an allocator of its own)");
}

void fm_heap_track(void)
{
    raw_contexts = VG_(HT_construct)("fathom.contexts.raw");
    contexts = VG_(HT_construct)("fathom.contexts");
}

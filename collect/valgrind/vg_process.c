/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * vg_process.c - the life of the process: how it begins, forks, executes another program and ends; and the
 * few places where Valgrind's core is made to do otherwise than it would.
 *
 * Those places are functions of the core that the linker sends here (--wrap, see cmake/valgrind.cmake):
 *   - getenv: the tool finds its directory and its launcher by itself.
 *   - di_notify_mmap: debug information is read only where the heap is wanted, for call stacks and symbols.
 *   - read_debuginfo_dwarf3: of that, not the lines: half of the time of a short program, and nobody asks.
 *   - kill_self: the last call before a process dies of a signal: now its number is known.
 *   - exit, exit_now: Valgrind's own ends (out of memory, an execve that it cannot undo); a program's is
 *     client_exit. Not all of them come here (failed assertions do not): what marks a program's end is END,
 *     and nothing else is taken for it.
 */
#include "vg_tool.h"

#include "pub_tool_aspacemgr.h"
#include "pub_tool_clientstate.h"
#include "pub_tool_libcassert.h"
#include "pub_tool_libcbase.h"
#include "pub_tool_libcfile.h"
#include "pub_tool_libcprint.h"
#include "pub_tool_libcproc.h"
#include "pub_tool_threadstate.h"
#include "pub_tool_vki.h"
#include "pub_tool_vkiscnums.h"
#include "pub_tool_xarray.h"

#include "vg_core.h"

enum { PATH_MOST = 4096 };

/* What the core calls, and what is behind it. */
HChar *__real_vgPlain_getenv(const HChar *name);
HChar *__wrap_vgPlain_getenv(const HChar *name);
ULong __real_vgPlain_di_notify_mmap(Addr address, Bool allow_valgrinds, Int file);
ULong __wrap_vgPlain_di_notify_mmap(Addr address, Bool allow_valgrinds, Int file);
void __wrap_vgModuleLocal_read_debuginfo_dwarf3(void);
void __real_sanityCheckIRSB(const IRSB *block, const HChar *who, Bool flat, IRType word);
void __wrap_sanityCheckIRSB(const IRSB *block, const HChar *who, Bool flat, IRType word);
void __real_vgPlain_kill_self(Int signal);
void __wrap_vgPlain_kill_self(Int signal);
void __real_vgPlain_exit(Int status) __attribute__((noreturn));
void __wrap_vgPlain_exit(Int status) __attribute__((noreturn));
void __real_vgPlain_exit_now(Int status) __attribute__((noreturn));
void __wrap_vgPlain_exit_now(Int status) __attribute__((noreturn));

static Bool exiting;   /* a thread has called exit, and none has run since */
static Bool executing; /* within execve */
static Int exit_code;

/* ---- where the tool is ---- */

static HChar own_path[PATH_MOST], own_directory[PATH_MOST];

static void find_oneself(void)
{
    if (own_path[0]) return;
    SSizeT length = VG_(readlink)("/proc/self/exe", own_path, sizeof own_path - 1);
    if (length <= 0) return;
    own_path[length] = 0;
    VG_(strcpy)(own_directory, own_path);
    HChar *slash = VG_(strrchr)(own_directory, '/');
    if (slash) *slash = 0;
}

HChar *__wrap_vgPlain_getenv(const HChar *name)
{
    HChar *value = __real_vgPlain_getenv(name);
    if (value) return value;
    Bool launcher = VG_(strcmp)(name, "VALGRIND_LAUNCHER") == 0;
    if (!launcher && VG_(strcmp)(name, "VALGRIND_LIB") != 0) return NULL;
    find_oneself();
    if (!own_path[0]) return NULL;
    return launcher ? own_path : own_directory;
}

ULong __wrap_vgPlain_di_notify_mmap(Addr address, Bool allow_valgrinds, Int file)
{
    if (!fm_vg.session || !(fm_vg.session->wants & FM_WANT_HEAP)) return 0;
    const NSegment *segment = VG_(am_find_nsegment)(address);
    if (!segment || segment->kind == SkFileV) return 0;
    return __real_vgPlain_di_notify_mmap(address, allow_valgrinds, file);
}

/* It is given the file and its sections; nothing is added to what is known of the file. */
void __wrap_vgModuleLocal_read_debuginfo_dwarf3(void)
{
}

/* Valgrind checks each block three times, while it translates it, for faults of its own and of the tool. That
 * takes 6 % of a short run: only with --sanity-level=2 and more. */
void __wrap_sanityCheckIRSB(const IRSB *block, const HChar *who, Bool flat, IRType word)
{
    if (VG_(clo_sanity_level) > 1) __real_sanityCheckIRSB(block, who, flat, word);
}

/*
 * Valgrind has put its own library in front of LD_PRELOAD, which the program does not need. The environment
 * lies on the program's stack already, in front of what must stay where it is: so the variable is shortened,
 * not removed.
 */
void fm_preload_clean(void)
{
    static const HChar variable[] = "LD_PRELOAD=";
    for (HChar **at = VG_(client_envp); *at; at++) {
        if (VG_(strncmp)(*at, variable, sizeof variable - 1) != 0) continue;
        HChar *to = *at + sizeof variable - 1;
        const HChar *from = to;
        while (*from) {
            const HChar *end = VG_(strchr)(from, ':');
            SizeT length = end ? (SizeT)(end - from) : VG_(strlen)(from);
            HChar path[PATH_MOST];
            Bool keep = True;
            if (length < sizeof path) {
                VG_(memcpy)(path, from, length);
                path[length] = 0;
                const HChar *base = VG_(strrchr)(path, '/');
                base = base ? base + 1 : path;
                keep = VG_(strncmp)(base, "vgpreload_core-", 15) != 0;
            }
            if (keep) {
                if (to != *at + sizeof variable - 1) *to++ = ':';
                for (SizeT i = 0; i < length; i++) *to++ = from[i];
            }
            from += length + (end ? 1 : 0);
        }
        *to = 0;
    }
}

/* ---- beginning and fork ---- */

/* False: there is no room for it. */
static Bool add_argument(HChar *text, SizeT size, SizeT *used, const HChar *argument, ULong *reported)
{
    SizeT bytes = VG_(strlen)(argument) + 1;
    if (bytes > size - *used) return False;
    VG_(memcpy)(text + *used, argument, bytes);
    *used += bytes;
    ++*reported;
    return True;
}

void fm_process_begin(UInt parent)
{
    if (!fm_channel_open()) {
        fm_children_trace(False);
        return;
    }
    static HChar text[FM_RECORD_MOST_BYTES - 8 * sizeof(ULong)]; /* path and arguments */
    HChar link[32];
    VG_(sprintf)(link, "/proc/self/fd/%d", VG_(cl_exec_fd));
    SSizeT length = VG_(readlink)(link, text, PATH_MOST - 1);
    SizeT used = length > 0 ? (SizeT)length : 0;
    text[used++] = 0;
    ULong reported = 0;
    Bool all =
        VG_(args_the_exename) && add_argument(text, sizeof text, &used, VG_(args_the_exename), &reported);
    for (Word i = 0; all && i < VG_(sizeXA)(VG_(args_for_client)); i++)
        all = add_argument(text, sizeof text, &used, *(HChar **)VG_(indexXA)(VG_(args_for_client), i),
                           &reported);
    ULong words[4] = {fm_vg.mine->pid, (ULong)VG_(getppid)(), parent, fm_vg.mine->process};
    fm_record_put_bytes(FM_RECORD_PROCESS, reported | (all ? 0 : FM_PROCESS_MORE_ARGUMENTS), words, 4, text,
                        used);
}

/* What the process reported before the fork arrives before what its child reports: the child has its heap. */
static void about_to_fork(ThreadId thread)
{
    (void)thread;
    if (fm_tracing() && (fm_vg.session->wants & FM_WANT_CHILDREN)) fm_channel_seal();
}

static void forked_child(ThreadId thread)
{
    if (!fm_vg.mine) return;
    UInt parent = fm_vg.mine->process;
    Bool stopping = fm_vg.stopping;
    fm_channel_forget();
    fm_blocks_discard(); /* they name the parent's channel, and must be defined in the child's */
    if (stopping || !(fm_vg.session->wants & FM_WANT_CHILDREN)) {
        fm_children_trace(False);
        return;
    }
    fm_process_begin(parent);
    fm_heap_restart();
    fm_modules_report();
    fm_threads_restart(thread);
}

/* ---- execve ---- */

static void about_to_execute(ThreadId thread, const HChar *path)
{
    Bool readable = VG_(am_is_valid_for_client)((Addr)path, 1, VKI_PROT_READ);
    if (!fm_tracing() || !readable) return;
    if (fm_channel_receiver_is_gone()) { /* the new program could not reach it either */
        fm_channel_close();
        fm_blocks_discard();
        fm_children_trace(False);
        return;
    }
    Bool traced =
        (fm_vg.session->wants & FM_WANT_CHILDREN) && fm_execute_traceable(path) && fm_execute_prepare(thread);
    fm_children_trace(traced);
    executing = True;
    fm_record_put(FM_RECORD_EXEC, traced ? FM_EXEC_TRACED : 0, NULL, 0, path);
    fm_channel_seal();
}

static void syscall_begins(ThreadId thread, UInt number, UWord *arguments, UInt count)
{
    (void)count;
    switch (number) {
    case __NR_execve:
        about_to_execute(thread, (const HChar *)arguments[0]);
        break;
    case __NR_execveat:
        about_to_execute(thread, (const HChar *)arguments[1]);
        break;
    case __NR_exit:
    case __NR_exit_group:
        exiting = True;
        exit_code = (Int)arguments[0] & 0xFF;
        break;
    default:
        break;
    }
}

/*
 * Valgrind gives a program half of 128 GiB of addresses, and answers EINVAL where that is not enough. Alone
 * it would have got them, and gone another way.
 */
static void map_refused(SizeT bytes)
{
    enum { LARGE = 1 << 30 };
    static Bool reported;
    if (reported || bytes < LARGE) return;
    reported = True;
    HChar text[200];
    VG_(sprintf)
    (text,
     "the program asked for %lu GiB of memory at once, and Valgrind, which has 64 GiB of addresses for "
     "it, refused: it may have done something else than it does alone",
     bytes >> 30);
    fm_record_put(FM_RECORD_NOTE, FM_NOTE_TEXT, NULL, 0, text);
}

/* NOLINTNEXTLINE(readability-non-const-parameter): the type is Valgrind's */
static void syscall_ends(ThreadId thread, UInt number, UWord *arguments, UInt count, SysRes result)
{
    (void)thread, (void)count;
    if (number == __NR_mmap && sr_isError(result) && sr_Err(result) == VKI_EINVAL) map_refused(arguments[1]);
    if (!sr_isError(result)) fm_changing_code_look(number, arguments, sr_Res(result));
    if (!executing || (number != __NR_execve && number != __NR_execveat)) return;
    executing = False;
    fm_record_put(FM_RECORD_EXEC, FM_EXEC_FAILED, NULL, 0, "");
}

/* ---- the end ---- */

void fm_process_goes_on(void)
{
    exiting = False;
}

Bool fm_process_executes(void)
{
    return executing;
}

/* Called for every way to end but SIGKILL; when it is a signal, kill_self comes next. */
void fm_process_fini(Int unused)
{
    (void)unused;
    if (!fm_vg.mine || !exiting) return;
    fm_heap_end();
    fm_record_put(FM_RECORD_END, (ULong)exit_code, NULL, 0, NULL);
    fm_channel_close();
}

void __wrap_vgPlain_kill_self(Int signal)
{
    if (fm_vg.mine) {
        ThreadId thread = VG_(get_running_tid)();
        if (signal == VKI_SIGILL && thread != VG_INVALID_THREADID) fm_unknown_instruction_tell(thread);
        HChar text[64];
        VG_(sprintf)(text, "signal %d", signal);
        fm_heap_end();
        fm_record_put(FM_RECORD_NOTE, FM_NOTE_FATAL_SIGNAL, NULL, 0, text);
        fm_channel_close();
    }
    __real_vgPlain_kill_self(signal);
}

void fm_process_die(Int signal)
{
    __wrap_vgPlain_kill_self(signal);
}

/* The channel stays as it is: to unmap it would need what may just have failed. */
static void gives_up(void)
{
    static Bool reported;
    if (reported) return;
    reported = True;
    fm_record_put(FM_RECORD_NOTE, FM_NOTE_GAVE_UP, NULL, 0, executing ? "execve failed too late" : "");
}

void __wrap_vgPlain_exit(Int status)
{
    gives_up();
    __real_vgPlain_exit(status);
}

void __wrap_vgPlain_exit_now(Int status)
{
    gives_up();
    __real_vgPlain_exit_now(status);
}

void fm_process_track(void)
{
    VG_(atfork)(about_to_fork, NULL, forked_child);
    VG_(needs_syscall_wrapper)(syscall_begins, syscall_ends);
}

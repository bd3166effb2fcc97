/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * vg_core.h - what Valgrind's core (3.19) exports but does not declare for tools, and the system calls that
 * it does not wrap. The declarations follow coregrind/pub_core_*.h of that version.
 */
#ifndef FATHOM_VG_CORE_H
#define FATHOM_VG_CORE_H

#include "pub_tool_basics.h"
#include "pub_tool_debuginfo.h"
#include "pub_tool_libcbase.h"
#include "pub_tool_vki.h"

/* pub_core_aspacemgr.h: maps a file, shared, where there is room, for Valgrind's own use. */
extern SysRes VG_(am_shared_mmap_file_float_valgrind)(SizeT length, UInt prot, Int fd, Off64T offset);
extern SysRes VG_(am_mmap_anon_float_valgrind)(SizeT length);
/* Memory of the program's, where there is room. */
extern SysRes VG_(am_mmap_anon_float_client)(SizeT length, UInt prot);
/* pub_core_libcfile.h: moves a descriptor out of the program's range; close-on-exec. */
extern Int VG_(safe_fd)(Int fd);
extern Int VG_(fcntl)(Int fd, Int command, Addr argument);
/* pub_core_clientstate.h: descriptors from here on are not the program's. */
extern Int VG_(fd_hard_limit), VG_(fd_soft_limit);
/* Limits as the program has set them. */
extern struct vki_rlimit VG_(client_rlimit_data), VG_(client_rlimit_stack);
/* pub_core_libcproc.h */
extern Int VG_(getrlimit)(Int resource, struct vki_rlimit *limit);
extern Int VG_(setrlimit)(Int resource, const struct vki_rlimit *limit);
/* pub_core_transtab.h: discards translations; not for code that is called by one. */
extern void VG_(discard_translations)(Addr start, ULong range, const HChar *who);
/* pub_core_clientstate.h: the auxiliary vector that the program sees; a descriptor of its file, or -1. */
extern UWord *VG_(client_auxv);
extern Int VG_(cl_exec_fd);
/* pub_core_options.h */
extern Bool VG_(clo_trace_children);
extern UInt VG_(clo_vgdb); /* an enum; 0 is Vg_VgdbNo */
extern Int VG_(clo_sanity_level);
/* Which translations check that their code has not changed, looked at whenever one is made: an enum. */
enum { FM_VG_CHECK_ALL = 2 };
extern UInt VG_(clo_smc_check);

/* pub_core_debuginfo.h: the symbols of a file. Any of the results may be NULL. */
typedef struct fm_vg_symbol_place {
    Addr main;
} fm_vg_symbol_place; /* SymAVMAs */
extern Int VG_(DebugInfo_syms_howmany)(const DebugInfo *info);
extern void VG_(DebugInfo_syms_getidx)(const DebugInfo *info, Int index, fm_vg_symbol_place *place,
                                       UInt *size, const HChar **name, const HChar ***other_names,
                                       Bool *is_code, Bool *is_indirect, Bool *is_global);

/* pub_core_ume.h: ExeInfo, as far as it is wanted. */
typedef struct fm_vg_executable {
    const HChar **argv;
    Addr exe_base, exe_end, phdr;
    Int phnum;
    UInt stack_prot;
    PtrdiffT interp_offset;
    void *arch_elf_state;
    Addr entry, init_ip, brkbase, init_toc;
    HChar *interp_name; /* of a script; NULL: it is none */
    HChar *interp_args;
} fm_vg_executable;

/* Whether the programs that this one executes are run under the tool, too. */
static inline void fm_children_trace(Bool yes)
{
    VG_(clo_trace_children) = yes;
}

static inline Long fm_syscall(Long number, Long a, Long b, Long c, Long d)
{
    Long result;
    register Long r10 __asm__("r10") = d;
    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10)
                     : "rcx", "r11", "memory");
    return result;
}

#endif

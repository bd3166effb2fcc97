/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * vg_locals.c - where modules have their thread-local variables in each thread.
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
#include "vg_tool.h"

#include "libvex_guest_amd64.h"
#include "pub_tool_aspacemgr.h"
#include "pub_tool_libcbase.h"
#include "pub_tool_machine.h"
#include "pub_tool_mallocfree.h"
#include "pub_tool_threadstate.h"
#include "pub_tool_vki.h"

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

void fm_locals_look(ThreadId thread, UInt number)
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

void fm_locals_forget(ThreadId thread)
{
    VG_(free)(reported[thread]);
    reported[thread] = NULL;
}

void fm_locals_restart(void)
{
    for (UInt i = 0; i < VG_N_THREADS; i++) fm_locals_forget(i);
}

void fm_locals_track(void)
{
    reported = VG_(calloc)("fathom.locals", VG_N_THREADS, sizeof *reported);
}

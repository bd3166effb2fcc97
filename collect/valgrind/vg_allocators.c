/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * vg_allocators.c - where the allocation functions are: by name, in the symbols of every file that is mapped,
 * the program's own included. It does not know what becomes of a call (vg_heap.c).
 *
 * Valgrind reads the symbols (only where the heap is wanted, see vg_process.c) and then tells its redirection
 * of functions, which fathom does not use: those calls come here first (--wrap, see cmake/valgrind.cmake).
 *
 * operator new and delete of libstdc++ and libc++ call malloc and free, and need not be known; those of a
 * program of its own and of other allocators do.
 */
#include "vg_tool.h"

#include "pub_tool_debuginfo.h"
#include "pub_tool_hashtable.h"
#include "pub_tool_libcassert.h"
#include "pub_tool_libcbase.h"
#include "pub_tool_mallocfree.h"
#include "pub_tool_xarray.h"

#include "vg_core.h"

void __real_vgPlain_redir_notify_new_DebugInfo(const DebugInfo *info);
void __wrap_vgPlain_redir_notify_new_DebugInfo(const DebugInfo *info);
void __real_vgPlain_redir_notify_delete_DebugInfo(const DebugInfo *info);
void __wrap_vgPlain_redir_notify_delete_DebugInfo(const DebugInfo *info);

/* A function's entry. */
typedef struct entry {
    struct entry *next; /* as VgHashNode */
    UWord address;
    fm_allocator does;
} entry;

/* The code of a file that has such functions. */
typedef struct extent {
    Addr from, to;
} extent;

static VgHashTable *entries;
static XArray *extents; /* of extent */

static fm_allocator function_of(const HChar *name, Bool with_operators)
{
    static const struct {
        const HChar *name;
        fm_allocator does;
    } functions[] = {
        {"malloc", FM_ALLOCATES_1},        {"valloc", FM_ALLOCATES_1}, {"pvalloc", FM_ALLOCATES_1},
        {"memalign", FM_ALLOCATES_2},      {"calloc", FM_CALLOC},      {"realloc", FM_REALLOC},
        {"aligned_alloc", FM_ALLOCATES_2}, {"free", FM_FREES},         {"cfree", FM_FREES},
        {"posix_memalign", FM_POSIX_ALIGN}};
    static const HChar *const news[] = {"_Znwm",
                                        "_Znam",
                                        "_ZnwmRKSt9nothrow_t",
                                        "_ZnamRKSt9nothrow_t",
                                        "_ZnwmSt11align_val_t",
                                        "_ZnamSt11align_val_t",
                                        "_ZnwmSt11align_val_tRKSt9nothrow_t",
                                        "_ZnamSt11align_val_tRKSt9nothrow_t"};
    const HChar *version = VG_(strchr)(name, '@');
    SizeT length = version ? (SizeT)(version - name) : VG_(strlen)(name);
    for (UInt i = 0; i < sizeof functions / sizeof *functions; i++)
        if (VG_(strncmp)(name, functions[i].name, length) == 0 && functions[i].name[length] == 0)
            return functions[i].does;
    if (!with_operators) return FM_NO_ALLOCATOR;
    for (UInt i = 0; i < sizeof news / sizeof *news; i++)
        if (VG_(strcmp)(name, news[i]) == 0) return FM_ALLOCATES_1;
    /* delete, with whatever stands behind the address: size, alignment */
    if (VG_(strncmp)(name, "_ZdlPv", 6) == 0 || VG_(strncmp)(name, "_ZdaPv", 6) == 0) return FM_FREES;
    return FM_NO_ALLOCATOR;
}

/* The program itself, and allocators that need not use malloc. */
static Bool has_operators(const DebugInfo *info)
{
    static const HChar *const libraries[] = {"NONE", "libjemalloc", "libtcmalloc", "libmimalloc"};
    const HChar *name = VG_(DebugInfo_get_soname)(info); /* of a program: "NONE" */
    for (UInt i = 0; name && i < sizeof libraries / sizeof *libraries; i++)
        if (VG_(strncmp)(name, libraries[i], VG_(strlen)(libraries[i])) == 0) return True;
    return False;
}

static Bool allocator_add(Addr address, const HChar *name, Bool with_operators)
{
    fm_allocator does = function_of(name, with_operators);
    if (does == FM_NO_ALLOCATOR || VG_(HT_lookup)(entries, address)) return False;
    entry *added = VG_(malloc)("fathom.allocator", sizeof *added);
    *added = (entry){.address = address, .does = does};
    VG_(HT_add_node)(entries, added);
    return True;
}

void __wrap_vgPlain_redir_notify_new_DebugInfo(const DebugInfo *info)
{
    Bool with_operators = has_operators(info), any = False;
    Int count = VG_(DebugInfo_syms_howmany)(info);
    for (Int i = 0; i < count; i++) {
        fm_vg_symbol_place place;
        const HChar *name, **others;
        Bool is_code, indirect;
        VG_(DebugInfo_syms_getidx)(info, i, &place, NULL, &name, &others, &is_code, &indirect, NULL);
        if (!is_code || indirect) continue;
        any |= allocator_add(place.main, name, with_operators);
        for (; others && *others; others++) any |= allocator_add(place.main, *others, with_operators);
    }
    if (any) {
        Addr from = VG_(DebugInfo_get_text_avma)(info);
        extent code = {from, from + VG_(DebugInfo_get_text_size)(info)};
        VG_(addToXA)(extents, &code);
    }
    __real_vgPlain_redir_notify_new_DebugInfo(info);
}

void __wrap_vgPlain_redir_notify_delete_DebugInfo(const DebugInfo *info)
{
    Addr from = VG_(DebugInfo_get_text_avma)(info), to = from + VG_(DebugInfo_get_text_size)(info);
    for (Word i = VG_(sizeXA)(extents); i-- > 0;) {
        const extent *code = VG_(indexXA)(extents, i);
        if (code->from != from || code->to != to) continue;
        VG_(removeIndexXA)(extents, i);
        UInt count;
        VgHashNode **all = VG_(HT_to_array)(entries, &count);
        for (UInt k = 0; k < count; k++) {
            Addr address = all[k]->key;
            if (address >= from && address < to) VG_(free)(VG_(HT_remove)(entries, address));
        }
        VG_(free)(all);
    }
    __real_vgPlain_redir_notify_delete_DebugInfo(info);
}

fm_allocator fm_allocator_at(Addr code)
{
    const entry *found = VG_(HT_lookup)(entries, code);
    return found ? found->does : FM_NO_ALLOCATOR;
}

Bool fm_allocator_code(Addr code)
{
    for (Word i = 0; i < VG_(sizeXA)(extents); i++) {
        const extent *known = VG_(indexXA)(extents, i);
        if (code >= known->from && code < known->to) return True;
    }
    return False;
}

Bool fm_allocators_known(void)
{
    return VG_(HT_count_nodes)(entries) > 0;
}

void fm_allocators_track(void)
{
    entries = VG_(HT_construct)("fathom.allocators");
    extents = VG_(newXA)(VG_(malloc), "fathom.allocators.code", VG_(free), sizeof(extent));
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * vg_modules.c - which files are mapped as code, where, and with which bias; reported when they appear. It
 * reads their program headers from memory, never a file, and no symbols: the receiver reads those,
 * and Valgrind's own reading of debug information is left out (vg_process.c), because it takes seconds.
 *
 * A module is known by device, inode and the place of its first byte. When its code is unmapped (dlclose) it
 * is over; the same file mapped again is a new module.
 */
#include "vg_tool.h"

#include "pub_tool_aspacemgr.h"
#include "pub_tool_libcassert.h"
#include "pub_tool_libcbase.h"
#include "pub_tool_mallocfree.h"
#include "pub_tool_vki.h"
#include "pub_tool_xarray.h"

#include "vg_core.h"

#include <elf.h>

enum { PAGE = 4096 };

static XArray *modules; /* of fm_vg_module * */
static fm_vg_module *last_found;
static UInt most_locals; /* highest local_number so far: few modules have such variables */

static Addr page_of(Addr address)
{
    return address & ~(Addr)(PAGE - 1);
}

/* The mapping of the file's beginning that belongs to this mapping of it, or NULL. */
static const NSegment *find_header(const NSegment *code)
{
    Int room = 256, count;
    Addr *starts = VG_(malloc)("fathom.modules.starts", (SizeT)room * sizeof(Addr));
    while ((count = VG_(am_get_segment_starts)(SkFileC, starts, room)) < 0) { /* it says how many there are */
        room = -count + 16;
        starts = VG_(realloc)("fathom.modules.starts", starts, (SizeT)room * sizeof(Addr));
    }
    const NSegment *found = NULL;
    for (Int i = 0; i < count && starts[i] <= code->start; i++) {
        const NSegment *segment = VG_(am_find_nsegment)(starts[i]);
        if (segment && segment->kind == SkFileC && segment->offset == 0 && segment->hasR &&
            segment->dev == code->dev && segment->ino == code->ino)
            found = segment; /* the last one at or below */
    }
    VG_(free)(starts);
    return found;
}

/* Extends [range[0], range[1]) so that it holds [from, to). */
static void extend_range(ULong *range, Addr from, Addr to)
{
    if (from == to) return;
    if (range[1] == 0 || from < range[0]) range[0] = from;
    if (to > range[1]) range[1] = to;
}

/*
 * Fills in bias and ranges by the program headers. Text is what is not writable, from the first to the last
 * byte: code and constants. Of what is writable, the part that is in the file is data, the rest after the
 * last such part bss.
 */
static Bool read_headers(fm_vg_module *module, const NSegment *header)
{
    const Elf64_Ehdr *elf = (const Elf64_Ehdr *)header->start;
    SizeT mapped = header->end + 1 - header->start;
    if (mapped < sizeof *elf || VG_(memcmp)(elf->e_ident, ELFMAG, SELFMAG) != 0 ||
        elf->e_ident[EI_CLASS] != ELFCLASS64 || elf->e_phentsize != sizeof(Elf64_Phdr) ||
        elf->e_phoff > mapped || elf->e_phnum * sizeof(Elf64_Phdr) > mapped - elf->e_phoff)
        return False;
    const Elf64_Phdr *program = (const Elf64_Phdr *)(header->start + elf->e_phoff);
    Bool biased = False;
    for (UInt i = 0; i < elf->e_phnum && !biased; i++) {
        if (program[i].p_type != PT_LOAD || page_of(program[i].p_offset) != 0) continue;
        module->words[1] = header->start - page_of(program[i].p_vaddr);
        biased = True;
    }
    if (!biased) return False;
    ULong *text = &module->words[2], *data = &module->words[4], *bss = &module->words[6];
    for (UInt i = 0; i < elf->e_phnum; i++) {
        if (program[i].p_type == PT_TLS) module->local_size = program[i].p_memsz;
        if (program[i].p_type != PT_LOAD) continue;
        Addr from = (Addr)(program[i].p_vaddr + module->words[1]);
        Addr in_file = from + program[i].p_filesz, to = from + program[i].p_memsz;
        ULong all[2] = {module->from, module->to};
        extend_range(all, page_of(from), to);
        module->from = (Addr)all[0];
        module->to = (Addr)all[1];
        if (program[i].p_flags & PF_X) {
            ULong code[2] = {module->code_from, module->code_to};
            extend_range(code, from, to);
            module->code_from = (Addr)code[0];
            module->code_to = (Addr)code[1];
        }
        if (program[i].p_flags & PF_W) {
            extend_range(data, from, in_file);
            bss[0] = bss[1] = 0;
            extend_range(bss, in_file, to);
        } else {
            extend_range(text, from, to);
        }
    }
    return module->code_to != 0;
}

static void module_report(const fm_vg_module *module)
{
    ULong words[8];
    VG_(memcpy)(words, module->words, sizeof words);
    words[0] = module->number | (module->program ? (ULong)FM_MODULE_PROGRAM << 32 : 0);
    fm_record_put(FM_RECORD_MODULE, 0, words, 8, module->path);
}

/* The file that holds the program itself: the first one. */
static Bool is_program(Addr code)
{
    static Addr entry;
    if (!entry) {
        for (const UWord *at = VG_(client_auxv); at[0] != AT_NULL; at += 2)
            if (at[0] == AT_ENTRY) entry = at[1];
    }
    const NSegment *of_entry = VG_(am_find_nsegment)(entry), *of_code = VG_(am_find_nsegment)(code);
    return of_entry && of_code && of_entry->dev == of_code->dev && of_entry->ino == of_code->ino;
}

UInt fm_modules_locals(void)
{
    return most_locals;
}

const fm_vg_module *fm_module_with_locals(UInt number)
{
    for (Word i = 0; i < VG_(sizeXA)(modules); i++) {
        const fm_vg_module *module = *(fm_vg_module **)VG_(indexXA)(modules, i);
        if (module->mapped && module->local_number == number) return module;
    }
    return NULL;
}

static fm_vg_module *module_add(const NSegment *code)
{
    const HChar *name = VG_(am_get_filename)(code);
    if (code->kind != SkFileC || !code->hasX || !name) return NULL;
    const NSegment *header = find_header(code);
    if (!header) return NULL;
    for (Word i = 0; i < VG_(sizeXA)(modules); i++) {
        fm_vg_module *known = *(fm_vg_module **)VG_(indexXA)(modules, i);
        if (known->mapped && known->header == header->start && known->device == code->dev &&
            known->inode == code->ino)
            return known;
    }
    fm_vg_module *module = VG_(calloc)("fathom.module", 1, sizeof *module);
    if (!read_headers(module, header)) {
        VG_(free)(module);
        return NULL;
    }
    module->number = (UInt)VG_(sizeXA)(modules) + 1;
    if (module->local_size > 0) do
            module->local_number++;
        while (fm_module_with_locals(module->local_number)); /* not this one, which is not listed yet */
    if (module->local_number > most_locals) most_locals = module->local_number;
    module->mapped = True;
    module->device = code->dev;
    module->inode = code->ino;
    module->header = header->start;
    module->program = is_program(code->start);
    module->path = VG_(strdup)("fathom.module.path", name);
    VG_(addToXA)(modules, &module);
    module_report(module);
    return module;
}

const fm_vg_module *fm_module_find(Addr code)
{
    if (last_found && last_found->mapped && code >= last_found->code_from && code < last_found->code_to)
        return last_found;
    fm_vg_module *found = NULL;
    for (Word i = VG_(sizeXA)(modules); i-- > 0 && !found;) {
        fm_vg_module *module = *(fm_vg_module **)VG_(indexXA)(modules, i);
        if (module->mapped && code >= module->code_from && code < module->code_to) found = module;
    }
    if (!found) {
        const NSegment *segment = VG_(am_find_nsegment)(code);
        if (segment) found = module_add(segment);
    }
    if (found) last_found = found;
    return found;
}

void fm_modules_report(void)
{
    for (Word i = 0; i < VG_(sizeXA)(modules); i++) {
        const fm_vg_module *module = *(fm_vg_module **)VG_(indexXA)(modules, i);
        if (module->mapped) module_report(module);
    }
}

/* Ends modules whose code was in this range; not that of the file which is mapped there now. */
static void end_those_in(Addr from, SizeT size, ULong device, ULong inode)
{
    for (Word i = 0; i < VG_(sizeXA)(modules); i++) {
        fm_vg_module *module = *(fm_vg_module **)VG_(indexXA)(modules, i);
        if (!module->mapped || from >= module->code_to || from + size <= module->code_from) continue;
        if (inode && module->inode == inode && module->device == device) continue;
        module->mapped = False;
    }
}

static void segment_mapped(Addr address, SizeT size, Bool readable, Bool writable, Bool executable,
                           ULong handle)
{
    (void)readable, (void)writable, (void)handle;
    const NSegment *segment = VG_(am_find_nsegment)(address);
    if (!segment) return;
    Bool file = segment->kind == SkFileC;
    end_those_in(address, size, file ? segment->dev : 0, file ? segment->ino : 0);
    if (file && executable) module_add(segment);
}

static void mapped_at_startup(Addr address, SizeT size, Bool readable, Bool writable, Bool executable,
                              ULong handle)
{
    segment_mapped(address, size, readable, writable, executable, handle);
}

static void segment_unmapped(Addr address, SizeT size)
{
    end_those_in(address, size, 0, 0);
}

static void protection_changed(Addr address, SizeT size, Bool readable, Bool writable, Bool executable)
{
    (void)size, (void)readable, (void)writable;
    const NSegment *segment = VG_(am_find_nsegment)(address);
    if (executable && segment && segment->kind == SkFileC) module_add(segment);
}

void fm_modules_track(void)
{
    modules = VG_(newXA)(VG_(malloc), "fathom.modules", VG_(free), sizeof(fm_vg_module *));
    VG_(track_new_mem_startup)(mapped_at_startup);
    VG_(track_new_mem_mmap)(segment_mapped);
    VG_(track_die_mem_munmap)(segment_unmapped);
    VG_(track_change_mem_mprotect)(protection_changed);
}

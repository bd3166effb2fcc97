/* SPDX-License-Identifier: Apache-2.0 */
/*
 * linkage_table.c - which function an entry of the procedure linkage table (.plt, x86-64) jumps to. Every
 * call into a shared library loads an address there, so these are sites; no symbol of the file covers them.
 *
 * An entry is [endbr64] [bnd] jmp *displacement(%rip); the word it loads is what a relocation names a
 * function for.
 */
#include "symbols/symbol_file.h"

#include <string.h>

/* The symbol whose address the dynamic linker stores at `slot`. */
static const char *relocated_to(Elf *elf, uint64_t slot)
{
    for (Elf_Scn *section = NULL; (section = elf_nextscn(elf, section));) {
        GElf_Shdr header, symbols_header;
        if (!gelf_getshdr(section, &header) || header.sh_type != SHT_RELA || header.sh_entsize == 0) continue;
        Elf_Scn *table = elf_getscn(elf, header.sh_link);
        Elf_Data *data = elf_getdata(section, NULL);
        Elf_Data *symbols = table ? elf_getdata(table, NULL) : NULL;
        if (!data || !symbols || !gelf_getshdr(table, &symbols_header)) continue;
        size_t count = data->d_size / header.sh_entsize;
        for (size_t i = 0; i < count && i < INT32_MAX; i++) {
            GElf_Rela relocation;
            GElf_Sym symbol;
            if (!gelf_getrela(data, (int)i, &relocation) || relocation.r_offset != slot) continue;
            if (GELF_R_SYM(relocation.r_info) >= INT32_MAX ||
                !gelf_getsym(symbols, (int)GELF_R_SYM(relocation.r_info), &symbol))
                return NULL;
            const char *name = elf_strptr(elf, symbols_header.sh_link, symbol.st_name);
            return name && name[0] ? name : NULL;
        }
    }
    return NULL;
}

const char *fm_symbols_linkage_target(fm_symbols *symbols, uint64_t address)
{
    GElf_Addr bias;
    size_t names;
    Elf *elf = dwfl_module_getelf(symbols->module, &bias);
    if (!elf || elf_getshdrstrndx(elf, &names) != 0) return NULL;
    for (Elf_Scn *section = NULL; (section = elf_nextscn(elf, section));) {
        GElf_Shdr header;
        if (!gelf_getshdr(section, &header) || !(header.sh_flags & SHF_EXECINSTR)) continue;
        if (address - header.sh_addr >= header.sh_size) continue;
        const char *name = elf_strptr(elf, names, header.sh_name);
        if (!name || strncmp(name, ".plt", 4) != 0) return NULL;
        const Elf_Data *data = elf_getdata(section, NULL);
        if (!data || !data->d_buf || data->d_size < header.sh_size) return NULL;
        /* The jump is at the address itself, or behind endbr64 there. */
        const unsigned char *bytes = data->d_buf;
        uint64_t at = address - header.sh_addr;
        static const unsigned char endbr64[] = {0xF3, 0x0F, 0x1E, 0xFA};
        if (header.sh_size - at >= 4 && memcmp(bytes + at, endbr64, 4) == 0) at += 4;
        if (at < header.sh_size && bytes[at] == 0xF2) at++; /* bnd */
        if (header.sh_size < at + 6 || bytes[at] != 0xFF || bytes[at + 1] != 0x25) return NULL;
        int32_t displacement;
        memcpy(&displacement, bytes + at + 2, sizeof displacement);
        return relocated_to(elf, header.sh_addr + at + 6 + (uint64_t)(int64_t)displacement);
    }
    return NULL;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * symbol_table.c - the symbols of an ELF file, sorted by address: of the file itself, of its separate debug
 * file, or of what distributions leave in stripped files (.gnu_debugdata, the dynamic linker's table):
 * libdwfl chooses.
 */
#include "base/error.h"
#include "base/memory.h"
#include "symbols/symbol_file.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* ---- reading ---- */

/* Whether a name of the file's string table ends within the file: in a damaged file it need not. */
static bool name_ends(Elf *elf, const char *name)
{
    size_t size;
    const char *image = elf_rawfile(elf, &size);
    if (image && name >= image && name < image + size)
        return memchr(name, '\0', size - (size_t)(name - image)) != NULL;
    /* Not in the image: the table was compressed. */
    for (Elf_Scn *section = NULL; (section = elf_nextscn(elf, section));) {
        const Elf_Data *data = elf_getdata(section, NULL);
        const char *start = data ? data->d_buf : NULL;
        if (start && name >= start && name < start + data->d_size)
            return memchr(name, '\0', data->d_size - (size_t)(name - start)) != NULL;
    }
    return false;
}

/* Larger: the better name for an address. */
static uint32_t rank_of(const GElf_Sym *symbol, const char *name)
{
    uint32_t rank = 0;
    if (symbol->st_size > 0) rank += 16;
    if (GELF_ST_TYPE(symbol->st_info) != STT_NOTYPE) rank += 8;
    if (GELF_ST_BIND(symbol->st_info) == STB_GLOBAL) rank += 4;
    if (GELF_ST_BIND(symbol->st_info) == STB_WEAK) rank += 2;
    if (name[0] != '_') rank += 1;
    return rank;
}

/* To which array a symbol belongs; NULL: to none. */
static fm_elf_symbols *array_for(fm_symbols *symbols, Elf *elf, const GElf_Sym *symbol, uint32_t section)
{
    switch (GELF_ST_TYPE(symbol->st_info)) {
    case STT_FUNC:
    case STT_GNU_IFUNC:
        return &symbols->code;
    case STT_OBJECT:
    case STT_COMMON:
        return symbol->st_size > 0 ? &symbols->data : NULL;
    case STT_NOTYPE: { /* of assembly; also marks of the linker, which have no size */
        GElf_Shdr header;
        Elf_Scn *in = elf_getscn(elf, section);
        if (!in || !gelf_getshdr(in, &header) || !(header.sh_flags & SHF_ALLOC)) return NULL;
        if (header.sh_flags & SHF_EXECINSTR) return &symbols->code;
        return symbol->st_size > 0 && !(header.sh_flags & SHF_TLS) ? &symbols->data : NULL;
    }
    case STT_TLS:
        return symbol->st_size > 0 ? &symbols->locals : NULL;
    default: /* sections, files */
        return NULL;
    }
}

static int compare_symbols(const void *a, const void *b)
{
    const fm_elf_symbol *x = a, *y = b;
    if (x->address != y->address) return x->address < y->address ? -1 : 1;
    if (x->rank != y->rank) return x->rank < y->rank ? -1 : 1;
    return strcmp(y->name, x->name); /* the same choice in every run */
}

static void arrange_symbols(fm_elf_symbols *symbols)
{
    if (symbols->count > 0) qsort(symbols->list, symbols->count, sizeof *symbols->list, compare_symbols);
    uint64_t furthest = 0;
    for (size_t i = 0; i < symbols->count; i++) {
        fm_elf_symbol *symbol = &symbols->list[i];
        uint64_t end = symbol->address + symbol->size;
        if (end < symbol->address) end = UINT64_MAX;
        if (end > furthest) furthest = end;
        symbol->furthest = furthest;
    }
}

static fm_status read_table(void *context)
{
    fm_symbols *symbols = context;
    int count = dwfl_module_getsymtab(symbols->module);
    for (int i = 1; i < count; i++) {
        GElf_Sym symbol;
        GElf_Addr address;
        GElf_Word section;
        Elf *elf = NULL;
        Dwarf_Addr unused;
        const char *name =
            dwfl_module_getsym_info(symbols->module, i, &symbol, &address, &section, &elf, &unused);
        if (!name || !elf || section == SHN_UNDEF || section >= SHN_LORESERVE) continue;
        fm_elf_symbols *to = array_for(symbols, elf, &symbol, section);
        if (!to || !name_ends(elf, name) || !name[0]) continue;
        if (fm_array_reserve((void **)&to->list, &to->capacity, to->count + 1, sizeof *to->list) != 0)
            return FM_E_NOMEM;
        if (to == &symbols->locals) address = symbol.st_value; /* a place in every thread, not in the file */
        to->list[to->count++] = (fm_elf_symbol){.address = address,
                                                .size = symbol.st_size,
                                                .name = name,
                                                .section = section,
                                                .rank = rank_of(&symbol, name)};
    }
    arrange_symbols(&symbols->code);
    arrange_symbols(&symbols->data);
    arrange_symbols(&symbols->locals);
    return FM_OK;
}

fm_status fm_symbols_read_table(fm_symbols *symbols, fm_error *error)
{
    if (symbols->symbols_read) return FM_OK;
    fm_status status = fm_symbols_guard(read_table, symbols, error);
    if (status != FM_OK) {
        symbols->code.count = symbols->data.count = symbols->locals.count = 0;
        return fm_fail(error, status, symbols->path, "out of memory for its symbol table");
    }
    symbols->symbols_read = true;
    return FM_OK;
}

static fm_status read_frames(void *context)
{
    fm_symbols *symbols = context;
    GElf_Addr bias;
    Elf *elf = dwfl_module_getelf(symbols->module, &bias);
    return elf ? fm_frame_table_read(&symbols->frames, elf) : FM_OK;
}

fm_status fm_symbols_read_frames(fm_symbols *symbols, fm_error *error)
{
    if (symbols->frames_read) return FM_OK;
    fm_status status = fm_symbols_guard(read_frames, symbols, error);
    if (status != FM_OK) {
        fm_frame_table_clear(&symbols->frames);
        return fm_fail(error, status, symbols->path, "out of memory for where its functions are");
    }
    symbols->frames_read = true;
    return FM_OK;
}

/* ---- looking up ---- */

/* The last symbol at or before the address; count: none. */
static size_t last_before(const fm_elf_symbols *symbols, uint64_t address)
{
    size_t low = 0, high = symbols->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (symbols->list[middle].address <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low > 0 ? low - 1 : symbols->count;
}

/* The innermost symbol that covers the address. */
static fm_elf_symbol *covering_symbol(fm_elf_symbols *symbols, uint64_t address)
{
    size_t i = last_before(symbols, address);
    if (i == symbols->count) return NULL;
    for (;; i--) {
        fm_elf_symbol *symbol = &symbols->list[i];
        if (address - symbol->address < symbol->size) return symbol;
        if (symbol->furthest <= address || i == 0) return NULL;
    }
}

/* Where a section ends; 0: not known. */
static uint64_t section_end(const fm_symbols *symbols, uint32_t index)
{
    GElf_Addr bias;
    GElf_Shdr header;
    Elf *elf = dwfl_module_getelf(symbols->module, &bias);
    Elf_Scn *section = elf ? elf_getscn(elf, index) : NULL;
    return section && gelf_getshdr(section, &header) ? header.sh_addr + header.sh_size : 0;
}

uint64_t fm_symbols_code_end(const fm_symbols *symbols, const fm_elf_symbol *symbol)
{
    const fm_elf_symbols *code = &symbols->code;
    const uint64_t address = symbol->address;
    if (symbol->size > 0) return symbol->size < UINT64_MAX - address ? address + symbol->size : UINT64_MAX;
    uint64_t end = section_end(symbols, symbol->section);
    for (size_t i = (size_t)(symbol - code->list) + 1; i < code->count; i++)
        if (code->list[i].address > address) {
            if (code->list[i].address < end) end = code->list[i].address;
            break;
        }
    const fm_frame_range *within = fm_frame_table_find(&symbols->frames, address);
    const uint64_t function = within ? within->high : fm_frame_table_next(&symbols->frames, address);
    return function < end ? function : end;
}

fm_elf_symbol *fm_symbols_code_at(fm_symbols *symbols, uint64_t address)
{
    fm_elf_symbol *symbol = covering_symbol(&symbols->code, address);
    if (symbol) return symbol;
    const size_t i = last_before(&symbols->code, address);
    if (i == symbols->code.count) return NULL;
    symbol = &symbols->code.list[i];
    return symbol->size == 0 && address < fm_symbols_code_end(symbols, symbol) ? symbol : NULL;
}

/* "counts.0", "table.lto_priv.3": the compiler's way to tell equal names apart. */
static size_t variable_stem(const char *name)
{
    const char *privatised = strstr(name, ".lto_priv");
    size_t length = privatised && privatised > name ? (size_t)(privatised - name) : strcspn(name, "@");
    size_t digits = length;
    while (digits > 1 && isdigit((unsigned char)name[digits - 1])) digits--;
    return digits < length && digits > 1 && name[digits - 1] == '.' ? digits - 1 : length;
}

const char *fm_symbols_shown_name(fm_symbols *symbols, fm_elf_symbol *symbol)
{
    if (symbol->shown) return symbol->shown;
    const fm_elf_symbols *code = &symbols->code;
    bool is_code = code->count > 0 && symbol >= code->list && symbol < code->list + code->count;
    size_t length = !is_code ? variable_stem(symbol->name) : strcspn(symbol->name, "@");
    char *plain = strndup(symbol->name, length ? length : strlen(symbol->name));
    if (!plain) return symbol->name;
    const char *readable = fm_demangle(&symbols->demangler, plain);
    char *copy = readable ? strdup(readable) : NULL;
    if (copy) free(plain);
    symbol->shown = copy ? copy : plain;
    return symbol->shown;
}

static bool find_variable(fm_symbols *symbols, fm_elf_symbols *data, uint64_t address, const char **name,
                          uint64_t *start, uint64_t *size)
{
    *start = address;
    *size = 0;
    if (fm_symbols_read_table(symbols, NULL) != FM_OK) return false;
    fm_elf_symbol *symbol = covering_symbol(data, address);
    if (!symbol) {
        size_t before = last_before(data, address), behind = before < data->count ? before + 1 : 0;
        *start = before < data->count ? data->list[before].furthest : 0;
        *size = (behind < data->count ? data->list[behind].address : UINT64_MAX) - *start;
        return false;
    }
    *name = fm_symbols_shown_name(symbols, symbol);
    *start = symbol->address;
    *size = symbol->size;
    return true;
}

bool fm_symbols_variable(fm_symbols *symbols, uint64_t address, const char **name, uint64_t *start,
                         uint64_t *size)
{
    return find_variable(symbols, &symbols->data, address, name, start, size);
}

bool fm_symbols_thread_local(fm_symbols *symbols, uint64_t offset, const char **name, uint64_t *start,
                             uint64_t *size)
{
    return find_variable(symbols, &symbols->locals, offset, name, start, size);
}

/* ---- linkage table ---- */

/*
 * Which function an entry of the procedure linkage table (.plt, x86-64) jumps to. Every
 * call into a shared library loads an address there, so these are sites; no symbol of the file covers them.
 *
 * An entry is [endbr64] [bnd] jmp *displacement(%rip); the word it loads is what a relocation names a
 * function for.
 */

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

/* SPDX-License-Identifier: Apache-2.0 */
/* remote_modules.c - see tracee.h. */
#define _GNU_SOURCE
#include "process/tracee.h"

#include "base/error.h"
#include "base/memory.h"
#include "process/program_file.h"

#include <elf.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    PAGE = 4096,
    HEADERS_MOST = 64,
    MODULES_MOST = 4096,
    DYNAMIC_MOST = 256,
    STRINGS_MOST = 16 << 20,
    SYMBOLS_MOST = 1 << 20,
    SLOTS_MOST = 1 << 20,
    AT_ONCE = 512, /* symbols or slots */
    SEARCHED = 64 << 10,
};

static fm_status no_memory(fm_error *error)
{
    return fm_fail(error, FM_E_NOMEM, NULL, "out of memory: no room for what a process has loaded");
}

/* ---- the list ---- */

/* Addresses in the dynamic section are made absolute by the loader; not everywhere. */
static uint64_t absolute_address(const fm_remote_module *module, uint64_t value)
{
    return value && value < module->first ? value + module->base : value;
}

static void read_dynamic(const fm_tracee *tracee, fm_remote_module *module, uint64_t address)
{
    Elf64_Dyn entries[DYNAMIC_MOST];
    const size_t count = fm_tracee_read(tracee, address, entries, sizeof entries) / sizeof entries[0];
    for (size_t i = 0; i < count && entries[i].d_tag != DT_NULL; i++) {
        const uint64_t value = entries[i].d_un.d_val;
        switch (entries[i].d_tag) {
        case DT_SYMTAB:
            module->symbols = absolute_address(module, value);
            break;
        case DT_STRTAB:
            module->strings = absolute_address(module, value);
            break;
        case DT_STRSZ:
            module->string_bytes = value < STRINGS_MOST ? value : STRINGS_MOST;
            break;
        case DT_HASH:
            module->hash = absolute_address(module, value);
            break;
        case DT_GNU_HASH:
            module->gnu_hash = absolute_address(module, value);
            break;
        case DT_JMPREL:
            module->slots[0] = absolute_address(module, value);
            break;
        case DT_PLTRELSZ:
            module->slot_bytes[0] = value;
            break;
        case DT_RELA:
            module->slots[1] = absolute_address(module, value);
            break;
        case DT_RELASZ:
            module->slot_bytes[1] = value;
            break;
        default:
            break;
        }
    }
}

/* What is mapped at `from` from the beginning of a file: is it a module? */
static bool read_module(const fm_tracee *tracee, uint64_t from, fm_remote_module *module)
{
    Elf64_Ehdr head;
    Elf64_Phdr headers[HEADERS_MOST];
    uint64_t dynamic = 0, lowest = UINT64_MAX;
    if (fm_tracee_read(tracee, from, &head, sizeof head) != sizeof head ||
        memcmp(head.e_ident, ELFMAG, SELFMAG) != 0 || head.e_ident[EI_CLASS] != ELFCLASS64 ||
        head.e_phentsize != sizeof headers[0] || head.e_phnum > HEADERS_MOST)
        return false;
    const size_t bytes = head.e_phnum * sizeof headers[0];
    if (fm_tracee_read(tracee, from + head.e_phoff, headers, bytes) != bytes) return false;
    for (size_t i = 0; i < head.e_phnum; i++)
        if (headers[i].p_type == PT_LOAD && headers[i].p_vaddr < lowest) lowest = headers[i].p_vaddr;
    if (lowest == UINT64_MAX) return false;
    module->first = from;
    module->base = from - (lowest & ~(uint64_t)(PAGE - 1));
    for (size_t i = 0; i < head.e_phnum; i++) {
        const uint64_t begin = module->base + headers[i].p_vaddr, end = begin + headers[i].p_memsz;
        if (headers[i].p_type == PT_DYNAMIC) dynamic = begin;
        if (headers[i].p_type != PT_LOAD) continue;
        if (end > module->behind) module->behind = end;
        if (headers[i].p_flags & PF_X && !module->code) {
            module->code = begin;
            module->code_behind = end;
        }
    }
    if (dynamic) read_dynamic(tracee, module, dynamic);
    return true;
}

static fm_status add_module(fm_remote_modules *modules, const fm_tracee *tracee, uint64_t from,
                            const char *path, fm_error *error)
{
    fm_remote_module made = {0};
    for (size_t i = 0; i < modules->count; i++)
        if (from >= modules->modules[i].first && from < modules->modules[i].behind) return FM_OK;
    if (modules->count >= MODULES_MOST || !read_module(tracee, from, &made)) return FM_OK;
    if (fm_array_reserve((void **)&modules->modules, &modules->capacity, modules->count + 1, sizeof made) !=
        0)
        return no_memory(error);
    made.path = strdup(path);
    made.string_text = malloc(made.string_bytes + 1);
    if (!made.path || !made.string_text) {
        free(made.path);
        free(made.string_text);
        return no_memory(error);
    }
    made.string_bytes = fm_tracee_read(tracee, made.strings, made.string_text, made.string_bytes);
    made.string_text[made.string_bytes] = '\0';
    modules->modules[modules->count++] = made;
    return FM_OK;
}

fm_status fm_remote_modules_read(fm_remote_modules *modules, const fm_tracee *tracee, fm_error *error)
{
    fm_proc_maps maps;
    fm_proc_map map;
    fm_status status = FM_OK;
    *modules = (fm_remote_modules){0};
    if (!fm_proc_maps_open(&maps, (uint32_t)tracee->pid))
        return fm_fail(error, FM_E_IO, NULL, "process %ld has ended", (long)tracee->pid);
    while (status == FM_OK && fm_proc_maps_next(&maps, &map))
        if (map.path[0] == '/' && map.offset == 0 && map.access[0] == 'r')
            status = add_module(modules, tracee, map.from, map.path, error);
    fm_proc_maps_close(&maps);
    if (status != FM_OK) fm_remote_modules_free(modules);
    return status;
}

void fm_remote_modules_free(fm_remote_modules *modules)
{
    for (size_t i = 0; i < modules->count; i++) {
        free(modules->modules[i].path);
        free(modules->modules[i].string_text);
    }
    free(modules->modules);
    *modules = (fm_remote_modules){0};
}

const fm_remote_module *fm_remote_module_named(const fm_remote_modules *modules, const char *name)
{
    for (size_t i = 0; i < modules->count; i++) {
        const char *slash = strrchr(modules->modules[i].path, '/');
        if (strncmp(slash + 1, name, strlen(name)) == 0) return &modules->modules[i];
    }
    return NULL;
}

/* ---- symbols ---- */

static const char *text_at(const fm_remote_module *module, uint64_t at)
{
    return at < module->string_bytes ? (const char *)module->string_text + at : "";
}

uint64_t fm_remote_symbol(const fm_tracee *tracee, const fm_remote_module *module, const char *name,
                          uint64_t *bytes)
{
    Elf64_Sym some[AT_ONCE];
    /* The table of symbols ends where that of their names begins, as linkers lay them out; a wrong end costs
     * time and nothing else. */
    if (!module->symbols) return 0;
    uint64_t most = SYMBOLS_MOST;
    if (module->strings > module->symbols) most = (module->strings - module->symbols) / sizeof some[0];
    if (most > SYMBOLS_MOST) most = SYMBOLS_MOST;
    for (uint64_t done = 0; done < most; done += AT_ONCE) {
        const uint64_t wanted = most - done < AT_ONCE ? most - done : AT_ONCE;
        const size_t got =
            fm_tracee_read(tracee, module->symbols + done * sizeof some[0], some, wanted * sizeof some[0]) /
            sizeof some[0];
        for (size_t i = 0; i < got; i++) {
            const unsigned type = ELF64_ST_TYPE(some[i].st_info);
            if (some[i].st_shndx == SHN_UNDEF || type != STT_FUNC ||
                strcmp(text_at(module, some[i].st_name), name) != 0)
                continue;
            if (bytes) *bytes = some[i].st_size;
            return module->base + some[i].st_value;
        }
        if (got < wanted) break;
    }
    return 0;
}

/* ---- slots ---- */

static fm_status look_at_slots(const fm_tracee *tracee, const fm_remote_module *module,
                               const Elf64_Rela *slots, size_t count, const char *const *names,
                               fm_remote_slot_function *found, void *context, fm_error *error)
{
    fm_status status = FM_OK;
    for (size_t i = 0; i < count && status == FM_OK; i++) {
        const uint64_t type = ELF64_R_TYPE(slots[i].r_info);
        Elf64_Sym symbol;
        if (type != R_X86_64_JUMP_SLOT && type != R_X86_64_GLOB_DAT) continue;
        if (fm_tracee_read(tracee, module->symbols + ELF64_R_SYM(slots[i].r_info) * sizeof symbol, &symbol,
                           sizeof symbol) != sizeof symbol)
            continue;
        const char *name = text_at(module, symbol.st_name);
        for (size_t k = 0; names[k] && status == FM_OK; k++)
            if (strcmp(name, names[k]) == 0)
                status = found(context, k, module->base + slots[i].r_offset, error);
    }
    return status;
}

fm_status fm_remote_slots(const fm_tracee *tracee, const fm_remote_module *module, const char *const *names,
                          fm_remote_slot_function *found, void *context, fm_error *error)
{
    Elf64_Rela some[AT_ONCE];
    fm_status status = FM_OK;
    for (int table = 0; table < 2; table++) {
        uint64_t count = module->slots[table] ? module->slot_bytes[table] / sizeof some[0] : 0;
        if (count > SLOTS_MOST) count = SLOTS_MOST;
        for (uint64_t done = 0; done < count && status == FM_OK; done += AT_ONCE) {
            const uint64_t wanted = count - done < AT_ONCE ? count - done : AT_ONCE;
            const size_t got = fm_tracee_read(tracee, module->slots[table] + done * sizeof some[0], some,
                                              wanted * sizeof some[0]) /
                               sizeof some[0];
            status = look_at_slots(tracee, module, some, got, names, found, context, error);
            if (got < wanted) break;
        }
    }
    return status;
}

uint64_t fm_remote_bytes(const fm_tracee *tracee, const fm_remote_module *module, const void *bytes,
                         size_t count)
{
    unsigned char *text = malloc(SEARCHED);
    uint64_t found = 0;
    for (uint64_t at = module->code; text && !found && at < module->code_behind; at += SEARCHED - count) {
        const uint64_t left = module->code_behind - at;
        const size_t got = fm_tracee_read(tracee, at, text, left < SEARCHED ? left : SEARCHED);
        const unsigned char *place = memmem(text, got, bytes, count);
        if (place) found = at + (uint64_t)(place - text);
        if (got < SEARCHED) break;
    }
    free(text);
    return found;
}

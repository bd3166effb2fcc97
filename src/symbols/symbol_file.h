/* SPDX-License-Identifier: Apache-2.0 */
/*
 * symbol_file.h - an ELF file with its debug information, open for the files of this room.
 *
 * libdw ends the process when it runs out of memory, unless its handler leaves by a jump. So everything that
 * calls libdw runs inside fm_symbols_guard, and what such code allocates itself must be reachable from
 * outside of it (from the fm_symbols, from an argument), to be freed after a jump.
 */
#ifndef FATHOM_SYMBOLS_SYMBOL_FILE_H
#define FATHOM_SYMBOLS_SYMBOL_FILE_H

#include "symbols/demangle.h"
#include "symbols/frame_table.h"
#include "symbols/symbols.h"

#include <elfutils/libdw.h>
#include <elfutils/libdwfl.h>
#include <gelf.h>

/* A symbol of the ELF file; in one array for code and one for data, both by address. */
typedef struct fm_elf_symbol {
    uint64_t address, size;
    const char *name;  /* as the linker has it; in the file's memory */
    char *shown;       /* as people know it; NULL: not asked for yet. Owned */
    uint32_t section;  /* index */
    uint32_t rank;     /* of several at one address the one with the highest rank is shown */
    uint64_t furthest; /* the highest end of this one and all before it */
} fm_elf_symbol;

typedef struct fm_elf_symbols {
    fm_elf_symbol *list;
    size_t count, capacity;
} fm_elf_symbols;

struct fm_symbols {
    char *path;
    Dwfl *dwfl;
    Dwfl_Module *module;
    fm_demangler demangler;
    bool symbols_read;
    fm_elf_symbols code, data; /* valid once symbols_read */
    fm_elf_symbols locals;     /* likewise: thread-local variables, by their place in the module's part */
    bool frames_read;
    fm_frame_table frames; /* valid once frames_read */
    bool dwarf_sought;
    Dwarf *dwarf;      /* NULL: none */
    Dwarf_Addr offset; /* address in the file = address in the debug information + this */
};

/*
 * Calls work(context); FM_E_NOMEM when libdw ran out of memory in it (the jump came), else what it returned.
 * Calls may nest. It is called in another thread where this one has too little stack for libdw.
 */
fm_status fm_symbols_guard(fm_status (*work)(void *context), void *context, fm_error *error);

/* The debug information: within a guard only. NULL: none. */
Dwarf *fm_symbols_dwarf(fm_symbols *symbols);

/* Makes libdw jump instead of ending the process; for a Dwarf that was not opened by fm_symbols_dwarf. */
void fm_symbols_protect(Dwarf *dwarf);

/* Reads where functions are, where that was not done yet. Fails only when memory is short. */
fm_status fm_symbols_read_frames(fm_symbols *symbols, fm_error *error);

/* After fm_symbols_read_table and fm_symbols_read_frames: the symbol whose code the address is in; NULL:
 * none. One without a size (of assembly) ends at the next symbol, where its function does by .eh_frame, or
 * with its section. */
fm_elf_symbol *fm_symbols_code_at(fm_symbols *symbols, uint64_t address);
/* Where the code of that symbol ends. */
uint64_t fm_symbols_code_end(const fm_symbols *symbols, const fm_elf_symbol *symbol);
/* The name for people, which lives until fm_symbols_close. */
const char *fm_symbols_shown_name(fm_symbols *symbols, fm_elf_symbol *symbol);
/* "memcpy" for an address in the linkage table's entry that jumps to memcpy; NULL: it is none. */
const char *fm_symbols_linkage_target(fm_symbols *symbols, uint64_t address);

#endif

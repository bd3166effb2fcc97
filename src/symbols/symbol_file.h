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

#include "symbols/symbols.h"

#include <elfutils/libdw.h>
#include <elfutils/libdwfl.h>
#include <fathom/attribution.h>
#include <fathom/status.h>
#include <gelf.h>
#include <stdbool.h>
#include <stddef.h>

/* ---- demangle ---- */

/*
 * Names of compilers and linkers, made readable, and compared with what a person types.
 *
 * C++ names go through __cxa_demangle of the C++ run-time library, which is looked for when the first such
 * name comes; without it they stay as they are. gfortran's names of modules' procedures and variables
 * (__solver_MOD_step) become solver::step, Rust's (both manglings) what they are in the source, without
 * checksums.
 */

typedef struct fm_demangler {
    bool sought;
    void *library;
    char *(*function)(const char *name, char *buffer, size_t *size, int *status);
    char *buffer; /* owned; the last answer */
    size_t size;
    int status;
} fm_demangler;

/* All zeroes is a demangler. */
void fm_demangler_clear(fm_demangler *demangler);

/* The readable form, in the demangler's memory until the next call; NULL: the name is not mangled, or memory
 * is short.
 */
const char *fm_demangle(fm_demangler *demangler, const char *name);

/* Length of a linker's name without what compilers and linkers append: .cold, .part.0, .constprop.1,
 * @VERSION. */
size_t fm_name_stem(const char *name);

/*
 * Whether `wanted`, typed by a person, means the function with this readable name: the whole, or without
 * arguments and return type, template arguments, leading scopes. 1, 0, or -1: memory is short.
 */
int fm_name_fits(const char *wanted, const char *readable);

/* ---- demangle rust ---- */

/* Rust's names: the newer ones (v0, "_R…"), and the rest of the older ones. */

/*
 * A v0 name made readable, as c++filt does it: without the checksums of crates. Writes at most `size` bytes,
 * the zero included; false: it is none, is damaged, or needs more room. Time and depth are bounded, whatever
 * the name.
 */
bool fm_demangle_rust(const char *name, char *text, size_t size);

/* A C++ compiler's reading of an older name ("_ZN…17h0123456789abcdefE"): without the checksum at its end,
 * and signs as they are in the source. Any other text stays as it is. */
void fm_demangle_rust_tidy(char *text);

/* ---- frame table ---- */

/*
 * Where functions begin and end by the rules for unwinding (.eh_frame), which every program
 * keeps, stripped or not. They have no names.
 */

typedef struct fm_frame_range {
    uint64_t low, high; /* [low, high), as objdump shows them */
} fm_frame_range;

typedef struct fm_frame_table {
    fm_frame_range *list; /* by low */
    size_t count, capacity;
} fm_frame_table;

/* Adds those of a file, within a guard. A damaged section gives fewer. FM_OK, FM_E_NOMEM. */
fm_status fm_frame_table_read(fm_frame_table *table, Elf *elf);
void fm_frame_table_clear(fm_frame_table *table);

/* The one that holds the address; NULL: none does. */
const fm_frame_range *fm_frame_table_find(const fm_frame_table *table, uint64_t address);
/* Where the first one behind the address begins; UINT64_MAX: there is none. */
uint64_t fm_frame_table_next(const fm_frame_table *table, uint64_t address);

/* ---- a file ---- */

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

/* ---- dwarf units ---- */

/*
 * The compilation units of a file's debug information, and the functions in one of them. All
 * calls are made within fm_symbols_guard; addresses are those of the debug information (see
 * fm_symbols.offset).
 */

typedef struct fm_unit_range {
    uint64_t low, high;
    uint64_t furthest; /* the highest end of this one and all before it */
    uint32_t unit;
} fm_unit_range;

typedef struct fm_units {
    Dwarf_Die *list;
    size_t count, capacity;
    fm_unit_range *ranges; /* by low */
    size_t range_count, range_capacity;
} fm_units;

#define FM_NO_UNIT UINT32_MAX

/* FM_OK, FM_E_NOMEM, or FM_E_CORRUPT: some are missing. */
fm_status fm_units_read(Dwarf *dwarf, fm_units *units);
void fm_units_clear(fm_units *units);
/* FM_NO_UNIT: none has code there. */
uint32_t fm_units_find(const fm_units *units, uint64_t address);

/* A function, or the copy of one that was inlined. */
typedef struct fm_scope {
    Dwarf_Die die;
    uint32_t parent; /* the function it is in; FM_NO_SCOPE */
    uint32_t depth;  /* how many it is in */
    bool inlined;
} fm_scope;
#define FM_NO_SCOPE UINT32_MAX

typedef struct fm_scope_range {
    uint64_t low, high;
    uint32_t scope;
} fm_scope_range;

typedef struct fm_scopes {
    fm_scope *list;
    size_t count, capacity;
    fm_scope_range *ranges; /* by low, then inner ones after outer ones */
    size_t range_count, range_capacity;
} fm_scopes;

/* Replaces what was in scopes by the functions of a unit. FM_OK, FM_E_NOMEM, FM_E_CORRUPT: some are missing.
 */
fm_status fm_scopes_read(const fm_symbols *symbols, Dwarf_Die *unit, fm_scopes *scopes);
void fm_scopes_clear(fm_scopes *scopes);

/* The names of a function: the linker's, and that in the source. Each may be NULL. */
void fm_scope_names(Dwarf_Die *die, const char **linker_name, const char **name);

/* ---- name search ---- */

/* Can debug information name a function? A cheap question before an expensive one. */

/*
 * False: no function in the file's debug information fits the name (fm_symbols_function_ranges), so that it
 * need not be read. True: perhaps. After fm_symbols_read_table, within a guard.
 */
bool fm_symbols_may_name(fm_symbols *symbols, const char *name);

/* ---- resolve unit ---- */

/* Frames of many sites from one file's DWARF. Internal to this room. */

/* A site that waits for its frames. */
typedef struct fm_wanted_site {
    uint64_t address; /* in the file */
    uint32_t site;    /* index in the attribution */
    uint32_t unit;
} fm_wanted_site;

typedef struct fm_dwarf_result {
    bool has_units;    /* there is debug information at all */
    bool damaged;      /* some of it could not be read */
    size_t with_lines; /* sites that got a line */
} fm_dwarf_result;

/* Fills in the frames of those sites that the debug information covers. Reorders wanted. */
fm_status fm_resolve_frames(fm_symbols *symbols, fm_attribution *attribution, fm_wanted_site *wanted,
                            size_t count, fm_dwarf_result *result, fm_error *error);

/* ---- resolve apart ---- */

/*
 * Addresses are resolved in a process of its own, since libdw and the libraries below it do
 * not survive every refusal of memory (libdw 0.188 writes into tables that it did not get), nor every damaged
 * file. What that process dies of costs the names of one module, not the caller. Internal to this room.
 */

/* What of one module is to be resolved. */
typedef struct fm_module_work {
    fm_attribution *attribution;
    const fm_module *module;
    uint32_t index;
    fm_wanted_site *wanted;
    size_t count;
    FILE *notes;
    bool matters; /* some of the misses are its */
} fm_module_work;

typedef fm_status (*fm_module_resolver)(const fm_module_work *work, fm_error *error);

/*
 * Calls resolve for each of the works, one after the other, until one fails; frames, symbols and names of
 * variables that it filled in, and its notes, are then here. Of a work in which the process ended the note
 * says so. Where no process can be had: in this one.
 */
fm_status fm_resolve_apart(fm_module_work *works, size_t count, fm_module_resolver resolve, fm_error *error);

#endif

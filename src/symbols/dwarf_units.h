/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dwarf_units.h - the compilation units of a file's debug information, and the functions in one of them. All
 * calls are made within fm_symbols_guard; addresses are those of the debug information (see
 * fm_symbols.offset).
 */
#ifndef FATHOM_SYMBOLS_DWARF_UNITS_H
#define FATHOM_SYMBOLS_DWARF_UNITS_H

#include "symbols/symbol_file.h"

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

#endif

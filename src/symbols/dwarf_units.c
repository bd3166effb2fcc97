/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dwarf_units.c - see symbol_file.h. libdw reads the entries; nothing here trusts their order, depth or
 * references: every walk goes forward in the file only, and so ends.
 */
#include "symbols/symbol_file.h"

#include "base/memory.h"
#include <dwarf.h>

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* Deeper entries are left out. Real ones stay below 50. */
enum { MOST_DEPTH = 256 };

/* ---- units ---- */

static int compare_unit_ranges(const void *a, const void *b)
{
    const fm_unit_range *x = a, *y = b;
    if (x->low != y->low) return x->low < y->low ? -1 : 1;
    return x->unit < y->unit ? -1 : x->unit > y->unit;
}

/* Adds the ranges of an entry. Those of code that the linker dropped start at 0. */
static fm_status add_ranges(fm_units *units, Dwarf_Die *die, uint32_t unit, bool *any)
{
    ptrdiff_t next = 0;
    Dwarf_Addr base, low, high;
    while ((next = dwarf_ranges(die, next, &base, &low, &high)) > 0) {
        *any = true;
        if (low == 0 || low >= high) continue;
        if (fm_array_reserve((void **)&units->ranges, &units->range_capacity, units->range_count + 1,
                             sizeof *units->ranges) != 0)
            return FM_E_NOMEM;
        units->ranges[units->range_count++] = (fm_unit_range){.low = low, .high = high, .unit = unit};
    }
    return next < 0 ? FM_E_CORRUPT : FM_OK;
}

/* A unit that does not say where its code is: its functions do. */
static fm_status add_functions(fm_units *units, Dwarf_Die *unit_die, uint32_t unit)
{
    Dwarf_Die child;
    bool any;
    if (dwarf_child(unit_die, &child) != 0) return FM_OK;
    do {
        if (dwarf_tag(&child) != DW_TAG_subprogram) continue;
        fm_status status = add_ranges(units, &child, unit, &any);
        if (status != FM_OK) return status;
    } while (dwarf_siblingof(&child, &child) == 0);
    return FM_OK;
}

fm_status fm_units_read(Dwarf *dwarf, fm_units *units)
{
    fm_status status = FM_OK;
    Dwarf_CU *unit = NULL;
    for (;;) {
        Dwarf_Die die;
        Dwarf_Half version;
        uint8_t type;
        int end = dwarf_get_units(dwarf, unit, &unit, &version, &type, &die, NULL);
        if (end != 0) {
            if (end < 0) status = FM_E_CORRUPT;
            break;
        }
        int tag = dwarf_tag(&die);
        if (tag != DW_TAG_compile_unit && tag != DW_TAG_skeleton_unit) continue;
        if (units->count >= FM_NO_UNIT) break;
        if (fm_array_reserve((void **)&units->list, &units->capacity, units->count + 1,
                             sizeof *units->list) != 0)
            return FM_E_NOMEM;
        bool any = false;
        uint32_t index = (uint32_t)units->count;
        units->list[units->count++] = die;
        fm_status added = add_ranges(units, &die, index, &any);
        if (added == FM_OK && !any) added = add_functions(units, &die, index);
        if (added == FM_E_NOMEM) return added;
        if (added != FM_OK) status = added;
    }
    if (units->range_count > 0)
        qsort(units->ranges, units->range_count, sizeof *units->ranges, compare_unit_ranges);
    uint64_t furthest = 0;
    for (size_t i = 0; i < units->range_count; i++) {
        if (units->ranges[i].high > furthest) furthest = units->ranges[i].high;
        units->ranges[i].furthest = furthest;
    }
    return status;
}

void fm_units_clear(fm_units *units)
{
    free(units->list);
    free(units->ranges);
    *units = (fm_units){0};
}

uint32_t fm_units_find(const fm_units *units, uint64_t address)
{
    size_t low = 0, high = units->range_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (units->ranges[middle].low <= address)
            low = middle + 1;
        else
            high = middle;
    }
    while (low > 0) {
        const fm_unit_range *range = &units->ranges[--low];
        if (address < range->high) return range->unit;
        if (range->furthest <= address) break;
    }
    return FM_NO_UNIT;
}

/* ---- functions of a unit ---- */

static fm_status add_scope(fm_scopes *scopes, Dwarf_Die *die, uint32_t parent, bool inlined, uint32_t *added)
{
    ptrdiff_t next = 0;
    Dwarf_Addr base, low, high;
    uint32_t index = (uint32_t)scopes->count;
    *added = parent;
    if (index >= FM_NO_SCOPE) return FM_E_CORRUPT;
    while ((next = dwarf_ranges(die, next, &base, &low, &high)) > 0) {
        if (low == 0 || low >= high) continue;
        if (fm_array_reserve((void **)&scopes->ranges, &scopes->range_capacity, scopes->range_count + 1,
                             sizeof *scopes->ranges) != 0)
            return FM_E_NOMEM;
        scopes->ranges[scopes->range_count++] = (fm_scope_range){low, high, index};
        *added = index;
    }
    if (*added != index) return next < 0 ? FM_E_CORRUPT : FM_OK;
    if (fm_array_reserve((void **)&scopes->list, &scopes->capacity, scopes->count + 1,
                         sizeof *scopes->list) != 0)
        return FM_E_NOMEM;
    scopes->list[scopes->count++] =
        (fm_scope){.die = *die,
                   .parent = parent,
                   .depth = parent == FM_NO_SCOPE ? 0 : scopes->list[parent].depth + 1,
                   .inlined = inlined};
    return next < 0 ? FM_E_CORRUPT : FM_OK;
}

static int compare_scope_ranges(const void *a, const void *b)
{
    const fm_scope_range *x = a, *y = b;
    if (x->low != y->low) return x->low < y->low ? -1 : 1;
    return x->scope < y->scope ? -1 : x->scope > y->scope;
}

/* Whether functions may be found below an entry with this tag. */
static bool holds_functions(int tag)
{
    switch (tag) {
    case DW_TAG_subprogram:
    case DW_TAG_inlined_subroutine:
    case DW_TAG_lexical_block:
    case DW_TAG_try_block:
    case DW_TAG_catch_block:
    case DW_TAG_with_stmt:
    case DW_TAG_namespace:
    case DW_TAG_module:
    case DW_TAG_class_type:
    case DW_TAG_structure_type:
    case DW_TAG_union_type:
    case DW_TAG_interface_type:
        return true;
    default:
        return false;
    }
}

/* Whether there is something at a path that is no regular file. */
static bool is_something_else(const char *folder, size_t length, const char *between, const char *directory,
                              const char *name)
{
    char path[PATH_MAX];
    struct stat about;
    int needed = snprintf(path, sizeof path, "%.*s%s%s/%s", (int)length, folder, between, directory, name);
    return needed < 0 || (size_t)needed >= sizeof path ||
           (stat(path, &about) == 0 && !S_ISREG(about.st_mode));
}

/*
 * Whether libdw may look for the file that has the rest of a unit (.dwo). It opens whatever has the name, in
 * the folder of the file itself or in the one where it was compiled, and would wait for a pipe or a terminal
 * without end.
 */
static bool may_follow(const fm_symbols *symbols, Dwarf_Die *unit)
{
    Dwarf_Attribute attribute;
    const char *name = dwarf_formstring(dwarf_attr(unit, DW_AT_dwo_name, &attribute));
    if (!name) name = dwarf_formstring(dwarf_attr(unit, DW_AT_GNU_dwo_name, &attribute));
    if (!name) return true;
    if (name[0] == '/') return !is_something_else("", 0, "", "", name);
    const char *directory = dwarf_formstring(dwarf_attr(unit, DW_AT_comp_dir, &attribute));
    const char *files[2] = {NULL, NULL};
    dwfl_module_info(symbols->module, NULL, NULL, NULL, NULL, NULL, &files[0], &files[1]);
    for (size_t i = 0; i < 2; i++) {
        const char *slash = files[i] ? strrchr(files[i], '/') : NULL;
        const char *folder = slash ? files[i] : ".";
        const size_t length = slash ? (size_t)(slash - files[i]) : 1;
        if (is_something_else(folder, length, "", "", name)) return false;
        if (directory && directory[0] != '/' && is_something_else(folder, length, "/", directory, name))
            return false;
    }
    return !directory || directory[0] != '/' || !is_something_else("", 0, "", directory, name);
}

fm_status fm_scopes_read(const fm_symbols *symbols, Dwarf_Die *unit, fm_scopes *scopes)
{
    struct {
        Dwarf_Die die;
        uint32_t parent;
    } stack[MOST_DEPTH];
    fm_status result = FM_OK;
    scopes->count = scopes->range_count = 0;
    /* Code of a split unit is described in a file of its own, the rest (lines) here. */
    Dwarf_Half version;
    uint8_t type;
    Dwarf_Die split;
    if (may_follow(symbols, unit) &&
        dwarf_cu_info(unit->cu, &version, &type, NULL, &split, NULL, NULL, NULL) == 0 && split.cu) {
        fm_symbols_protect(dwarf_cu_getdwarf(split.cu));
        unit = &split;
    }
    Dwarf_Off last = dwarf_dieoffset(unit);
    int depth = 0;
    if (dwarf_child(unit, &stack[0].die) != 0) return FM_OK;
    stack[0].parent = FM_NO_SCOPE;
    while (depth >= 0) {
        Dwarf_Die *die = &stack[depth].die;
        Dwarf_Off offset = dwarf_dieoffset(die);
        if (offset <= last) { /* back in the file: it would never end */
            result = FM_E_CORRUPT;
            break;
        }
        last = offset;
        int tag = dwarf_tag(die);
        uint32_t parent = stack[depth].parent;
        if (tag == DW_TAG_subprogram || tag == DW_TAG_inlined_subroutine) {
            fm_status status = add_scope(scopes, die, parent, tag == DW_TAG_inlined_subroutine, &parent);
            if (status == FM_E_NOMEM) return status;
            if (status != FM_OK) result = status;
        }
        if (depth + 1 < MOST_DEPTH && holds_functions(tag) && dwarf_child(die, &stack[depth + 1].die) == 0) {
            stack[++depth].parent = parent;
            continue;
        }
        while (depth >= 0) {
            int end = dwarf_siblingof(&stack[depth].die, &stack[depth].die);
            if (end == 0) break;
            if (end < 0) result = FM_E_CORRUPT;
            depth--;
        }
    }
    if (scopes->range_count > 0)
        qsort(scopes->ranges, scopes->range_count, sizeof *scopes->ranges, compare_scope_ranges);
    return result;
}

void fm_scopes_clear(fm_scopes *scopes)
{
    free(scopes->list);
    free(scopes->ranges);
    *scopes = (fm_scopes){0};
}

void fm_scope_names(Dwarf_Die *die, const char **linker_name, const char **name)
{
    Dwarf_Attribute attribute;
    *linker_name = dwarf_formstring(dwarf_attr_integrate(die, DW_AT_linkage_name, &attribute));
    if (!*linker_name)
        *linker_name = dwarf_formstring(dwarf_attr_integrate(die, DW_AT_MIPS_linkage_name, &attribute));
    *name = dwarf_formstring(dwarf_attr_integrate(die, DW_AT_name, &attribute));
}

/* SPDX-License-Identifier: Apache-2.0 */
/* function_ranges.c - fm_symbols_function_ranges: from a name that a person typed to code addresses. */
#include "symbols/symbols.h"

#include "base/error.h"
#include "base/memory.h"
#include "symbols/dwarf_units.h"
#include "symbols/name_search.h"

#include <stdlib.h>
#include <string.h>

typedef struct search {
    fm_symbols *symbols;
    const char *name;
    bool inlined;
    fm_code_range *ranges;
    size_t count, capacity;
    char *stem; /* the last linker's name, without suffixes */
    size_t stem_capacity;
    fm_units units;
    fm_scopes scopes;
    unsigned char *fits; /* of each scope */
    size_t fits_capacity;
} search;

static fm_status add(search *s, uint64_t low, uint64_t high, bool inlined)
{
    if (low >= high) return FM_OK;
    if (fm_array_reserve((void **)&s->ranges, &s->capacity, s->count + 1, sizeof *s->ranges) != 0)
        return FM_E_NOMEM;
    s->ranges[s->count++] = (fm_code_range){low, high, inlined};
    return FM_OK;
}

/* Whether the name typed means the function with these names. */
static fm_status fits(search *s, const char *linker_name, const char *name, bool *answer)
{
    *answer = true;
    if (name && strcmp(name, s->name) == 0) return FM_OK;
    if (linker_name) {
        if (strcmp(linker_name, s->name) == 0) return FM_OK;
        size_t length = fm_name_stem(linker_name);
        if (fm_array_reserve((void **)&s->stem, &s->stem_capacity, length + 1, 1) != 0) return FM_E_NOMEM;
        memcpy(s->stem, linker_name, length);
        s->stem[length] = '\0';
        if (strcmp(s->stem, s->name) == 0) return FM_OK;
        const char *readable = fm_demangle(&s->symbols->demangler, s->stem);
        int fit = readable ? fm_name_fits(s->name, readable) : 0;
        if (fit < 0) return FM_E_NOMEM;
        if (fit > 0) return FM_OK;
    }
    *answer = false;
    return FM_OK;
}

static fm_status search_table(search *s)
{
    fm_status status = FM_OK;
    for (size_t i = 0; i < s->symbols->code.count && status == FM_OK; i++) {
        const fm_elf_symbol *symbol = &s->symbols->code.list[i];
        bool fit;
        status = fits(s, symbol->name, NULL, &fit);
        if (status != FM_OK || !fit) continue;
        status = add(s, symbol->address, fm_symbols_code_end(s->symbols, symbol), false);
    }
    return status;
}

static fm_status search_unit(search *s, Dwarf_Die *unit)
{
    const uint64_t offset = s->symbols->offset;
    const fm_scopes *scopes = &s->scopes;
    fm_status status = fm_scopes_read(s->symbols, unit, &s->scopes);
    if (status == FM_E_NOMEM) return status;
    if (fm_array_reserve((void **)&s->fits, &s->fits_capacity, scopes->count + 1, 1) != 0) return FM_E_NOMEM;
    for (size_t i = 0; i < scopes->count; i++) {
        const char *linker_name, *name;
        bool fit = false;
        if (s->inlined || !scopes->list[i].inlined) {
            fm_scope_names(&scopes->list[i].die, &linker_name, &name);
            status = fits(s, linker_name, name, &fit);
            if (status != FM_OK) return status;
        }
        s->fits[i] = fit;
    }
    for (size_t i = 0; i < scopes->range_count; i++) {
        const fm_scope_range *range = &scopes->ranges[i];
        if (!s->fits[range->scope]) continue;
        status = add(s, range->low + offset, range->high + offset, scopes->list[range->scope].inlined);
        if (status != FM_OK) return status;
    }
    return FM_OK;
}

static fm_status search_debug_information(void *context)
{
    search *s = context;
    if (!fm_symbols_may_name(s->symbols, s->name)) return FM_OK;
    Dwarf *dwarf = fm_symbols_dwarf(s->symbols);
    if (!dwarf) return FM_OK;
    fm_status status = fm_units_read(dwarf, &s->units);
    if (status == FM_E_NOMEM) return status;
    for (size_t i = 0; i < s->units.count; i++) {
        status = search_unit(s, &s->units.list[i]);
        if (status != FM_OK) return status;
    }
    return FM_OK;
}

static int compare(const void *a, const void *b)
{
    const fm_code_range *x = a, *y = b;
    if (x->low != y->low) return x->low < y->low ? -1 : 1;
    return x->high > y->high ? -1 : x->high < y->high; /* the larger first */
}

/* Joins what overlaps or touches; what is inlined stays apart from what is not, unless it lies within it. */
static void tidy(search *s)
{
    size_t kept = 0;
    if (s->count > 0) qsort(s->ranges, s->count, sizeof *s->ranges, compare);
    for (size_t i = 0; i < s->count; i++) {
        fm_code_range range = s->ranges[i];
        fm_code_range *last = kept > 0 ? &s->ranges[kept - 1] : NULL;
        if (last && range.low < last->high) {
            if (range.high <= last->high) continue;
            if (range.inlined == last->inlined) {
                last->high = range.high;
                continue;
            }
            range.low = last->high;
        } else if (last && range.low == last->high && range.inlined == last->inlined) {
            last->high = range.high;
            continue;
        }
        s->ranges[kept++] = range;
    }
    s->count = kept;
}

fm_status fm_symbols_function_ranges(fm_symbols *symbols, const char *name, bool inlined,
                                     fm_code_range **ranges, size_t *count, fm_error *error)
{
    search s = {.symbols = symbols, .name = name, .inlined = inlined};
    *ranges = NULL;
    *count = 0;
    fm_status status = fm_symbols_read_table(symbols, error);
    if (status == FM_OK) status = fm_symbols_read_frames(symbols, error);
    if (status == FM_OK) status = search_table(&s);
    if (status == FM_OK) status = fm_symbols_guard(search_debug_information, &s, error);
    free(s.stem);
    free(s.fits);
    fm_units_clear(&s.units);
    fm_scopes_clear(&s.scopes);
    if (status != FM_OK) {
        free(s.ranges);
        return fm_fail(error, status, symbols->path, "out of memory while looking for the function %s", name);
    }
    tidy(&s);
    *ranges = s.ranges;
    *count = s.count;
    return FM_OK;
}

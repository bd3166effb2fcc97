/* SPDX-License-Identifier: Apache-2.0 */
/*
 * resolve_unit.c - address to function, file and line, with the functions that were inlined there, for all
 * sites of a file at once: sites are sorted by unit and address, each unit is read once, and one sweep over
 * its functions and its line table serves all of its sites. Cost: O(entries of the units that have sites +
 * sites * log).
 */
#include "symbols/symbol_file.h"

#include "base/error.h"
#include "base/memory.h"

#include <dwarf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* Strings of the debug information are told apart by where they are; the same few come again and again. */
enum { KNOWN_STRINGS = 4096, MOST_FRAMES = 64 };
typedef struct known_string {
    const void *key;
    const char *text;
} known_string;

typedef struct resolver {
    fm_symbols *symbols;
    fm_attribution *attribution;
    fm_wanted_site *wanted;
    size_t count;
    fm_dwarf_result *result;
    fm_units units;
    fm_scopes scopes;
    uint32_t *active; /* ranges that may cover the address of the sweep */
    size_t active_count, active_capacity;
    char *path; /* the last text made */
    size_t path_capacity;
    known_string names[KNOWN_STRINGS], files[KNOWN_STRINGS];
} resolver;

static known_string *known_text(known_string *strings, const void *key)
{
    return &strings[((uintptr_t)key * UINT64_C(0x9E3779B97F4A7C15)) >> 52];
}

/* ---- strings ---- */

static fm_status known_name(resolver *r, const char *key, const char *mangled, const char *otherwise,
                            const char **text)
{
    known_string *entry = known_text(r->names, key);
    if (entry->key != key) {
        const char *readable = mangled ? fm_demangle(&r->symbols->demangler, mangled) : NULL;
        entry->text = fm_attribution_intern(r->attribution, readable ? readable : otherwise);
        entry->key = entry->text ? key : NULL;
    }
    *text = entry->text;
    return entry->text ? FM_OK : FM_E_NOMEM;
}

/*
 * The name of a function; NULL with FM_OK: it has none. gcc leaves out the linker's name, the only one with
 * scopes and arguments, where types are local to a function (lambdas): then the symbol at the site's address
 * has it.
 */
static fm_status function_name(resolver *r, fm_scope *scope, uint64_t address, const char **text)
{
    const char *linker_name, *name;
    fm_scope_names(&scope->die, &linker_name, &name);
    *text = NULL;
    if (linker_name) return known_name(r, linker_name, linker_name, name ? name : linker_name, text);
    if (!name) return FM_OK;
    const fm_elf_symbol *symbol = scope->inlined ? NULL : fm_symbols_code_at(r->symbols, address);
    if (!symbol || strncmp(symbol->name, "_Z", 2) != 0) return known_name(r, name, NULL, name, text);
    size_t length = fm_name_stem(symbol->name);
    if (fm_array_reserve((void **)&r->path, &r->path_capacity, length + 1, 1) != 0) return FM_E_NOMEM;
    memcpy(r->path, symbol->name, length);
    r->path[length] = '\0';
    return known_name(r, symbol->name, r->path, name, text);
}

/* Whether two paths are one file, or the first is none that is here. */
static bool is_same_file(const char *path, const char *other)
{
    struct stat one, two;
    if (path[0] != '/' || stat(path, &one) != 0) return true;
    return stat(other, &two) == 0 && one.st_dev == two.st_dev && one.st_ino == two.st_ino;
}

/* Without "." and empty parts, and without "a/..". `to` has room for the whole. */
static void tidy_path(const char *path, char *to)
{
    size_t length = 0, least = 0; /* least: what no ".." takes back */
    if (path[0] == '/') to[length++] = '/';
    least = length;
    for (const char *part = path; *part;) {
        const size_t size = strcspn(part, "/");
        const bool is_up = size == 2 && memcmp(part, "..", 2) == 0;
        if (is_up && length > least) {
            while (length > least && to[length - 1] != '/') length--;
            if (length > least) length--;
        } else if (size > 0 && !(size == 1 && part[0] == '.') && !(is_up && path[0] == '/')) {
            if (length > 0 && to[length - 1] != '/') to[length++] = '/';
            memcpy(to + length, part, size);
            length += size;
            if (is_up) least = length; /* above where it is relative to */
        }
        part += size + (part[size] == '/');
    }
    to[length] = '\0';
}

/* Whether libdw put the folder of the compilation in front of a name already: it does for files that lie in
 * it, not for those in folders that are relative to it. */
static bool is_below(const char *name, const char *directory)
{
    const size_t length = strlen(directory);
    return strncmp(name, directory, length) == 0 && name[length] == '/';
}

/* The name of a source file in r->path: from the folder of the compilation, never from the one where fathom
 * runs. One file has several names in debug information (a/../b), which become one, unless a link makes
 * another file of it. */
static bool make_path(resolver *r, const char *directory, const char *name)
{
    if (name[0] == '/' || !directory || is_below(name, directory)) directory = "";
    const size_t room = strlen(directory) + strlen(name) + 2;
    if (fm_array_reserve((void **)&r->path, &r->path_capacity, 2 * room, 1) != 0) return false;
    char *whole = r->path + room;
    snprintf(whole, room, "%s%s%s", directory, directory[0] ? "/" : "", name);
    tidy_path(whole, r->path);
    if (strstr(whole, "..") && !is_same_file(whole, r->path)) memmove(r->path, whole, strlen(whole) + 1);
    return true;
}

static fm_status file_name(resolver *r, const char *directory, const char *name, const char **text)
{
    *text = NULL;
    if (!name) return FM_OK;
    known_string *entry = known_text(r->files, name);
    if (entry->key != name) {
        if (!make_path(r, directory, name)) return FM_E_NOMEM;
        entry->text = fm_attribution_intern(r->attribution, r->path);
        entry->key = entry->text ? name : NULL;
    }
    *text = entry->text;
    return entry->text ? FM_OK : FM_E_NOMEM;
}

/* ---- one unit ---- */

typedef struct unit_lines {
    Dwarf_Lines *lines;
    size_t line_count;
    Dwarf_Files *files; /* of the unit that describes the functions; for places of calls */
    size_t file_count;
    const char *directory;
} unit_lines;

/* The row of the line table that an address belongs to: the last at or before it, unless a sequence ends
 * there. */
static Dwarf_Line *line_at(const unit_lines *lines, uint64_t address)
{
    size_t low = 0, high = lines->line_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        Dwarf_Addr at;
        if (dwarf_lineaddr(dwarf_onesrcline(lines->lines, middle), &at) != 0) return NULL;
        if (at <= address)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == 0) return NULL;
    Dwarf_Line *line = dwarf_onesrcline(lines->lines, low - 1);
    bool ends;
    return dwarf_lineendsequence(line, &ends) != 0 || ends ? NULL : line;
}

static fm_status frame_at_line(resolver *r, const unit_lines *lines, Dwarf_Line *line, fm_frame *frame)
{
    int number = 0, column = 0;
    if (!line) return FM_OK;
    if (dwarf_lineno(line, &number) == 0 && number > 0) frame->line = (uint32_t)number;
    if (dwarf_linecol(line, &column) == 0 && column > 0) frame->column = (uint32_t)column;
    return file_name(r, lines->directory, dwarf_linesrc(line, NULL, NULL), &frame->file);
}

static uint32_t number_of(Dwarf_Die *die, unsigned attribute_name)
{
    Dwarf_Attribute attribute;
    Dwarf_Word value;
    if (dwarf_formudata(dwarf_attr(die, attribute_name, &attribute), &value) != 0) return 0;
    return value <= UINT32_MAX ? (uint32_t)value : 0;
}

/* Where an inlined function was called. */
static fm_status frame_at_call(resolver *r, const unit_lines *lines, Dwarf_Die *inlined, fm_frame *frame)
{
    frame->line = number_of(inlined, DW_AT_call_line);
    frame->column = number_of(inlined, DW_AT_call_column);
    Dwarf_Attribute attribute;
    if (!dwarf_attr(inlined, DW_AT_call_file, &attribute)) return FM_OK;
    uint32_t file = number_of(inlined, DW_AT_call_file);
    if (file >= lines->file_count) return FM_OK;
    return file_name(r, lines->directory, dwarf_filesrc(lines->files, file, NULL, NULL), &frame->file);
}

/* The innermost function at an address, the sweep having come there. */
static fm_status innermost_at(resolver *r, uint64_t address, size_t *next, uint32_t *innermost)
{
    const fm_scopes *scopes = &r->scopes;
    for (; *next < scopes->range_count && scopes->ranges[*next].low <= address; ++*next) {
        if (scopes->ranges[*next].high <= address) continue;
        if (fm_array_reserve((void **)&r->active, &r->active_capacity, r->active_count + 1,
                             sizeof *r->active) != 0)
            return FM_E_NOMEM;
        r->active[r->active_count++] = (uint32_t)*next;
    }
    *innermost = FM_NO_SCOPE;
    size_t kept = 0;
    for (size_t i = 0; i < r->active_count; i++) {
        const fm_scope_range *range = &scopes->ranges[r->active[i]];
        if (range->high <= address) continue;
        r->active[kept++] = r->active[i];
        if (*innermost == FM_NO_SCOPE || scopes->list[range->scope].depth >= scopes->list[*innermost].depth)
            *innermost = range->scope;
    }
    r->active_count = kept;
    return FM_OK;
}

static fm_status make_frames(resolver *r, const unit_lines *lines, uint64_t address, Dwarf_Line *line,
                             uint32_t scope, fm_frame *frames, size_t *count)
{
    fm_status status = frame_at_line(r, lines, line, &frames[0]);
    *count = 1;
    while (scope != FM_NO_SCOPE && status == FM_OK) {
        fm_scope *at = &r->scopes.list[scope];
        status = function_name(r, at, address, &frames[*count - 1].function);
        if (!at->inlined || at->parent == FM_NO_SCOPE || *count == MOST_FRAMES) break;
        if (status == FM_OK) status = frame_at_call(r, lines, &at->die, &frames[(*count)++]);
        scope = at->parent;
    }
    return status;
}

static void find_lines(Dwarf_Die *unit, const fm_scopes *scopes, unit_lines *lines)
{
    Dwarf_Attribute attribute;
    *lines = (unit_lines){0};
    if (dwarf_getsrclines(unit, &lines->lines, &lines->line_count) != 0) lines->line_count = 0;
    lines->directory = dwarf_formstring(dwarf_attr_integrate(unit, DW_AT_comp_dir, &attribute));
    Dwarf_Die described = *unit;
    if (scopes->count > 0 && !dwarf_diecu(&scopes->list[0].die, &described, NULL, NULL)) return;
    if (dwarf_getsrcfiles(&described, &lines->files, &lines->file_count) != 0) lines->file_count = 0;
}

static fm_status resolve_unit(resolver *r, Dwarf_Die *unit, const fm_wanted_site *wanted, size_t count)
{
    unit_lines lines;
    Dwarf_Line *last_line = NULL;
    uint32_t last_scope = FM_NO_SCOPE;
    const fm_site *last = NULL;
    size_t next = 0;
    r->active_count = 0;
    fm_status status = fm_scopes_read(r->symbols, unit, &r->scopes);
    if (status == FM_E_NOMEM) return status;
    if (status != FM_OK) r->result->damaged = true;
    find_lines(unit, &r->scopes, &lines);
    for (size_t i = 0; i < count; i++) {
        uint64_t address = wanted[i].address - r->symbols->offset;
        fm_site *site = &r->attribution->sites[wanted[i].site];
        Dwarf_Line *line = line_at(&lines, address);
        uint32_t scope;
        status = innermost_at(r, address, &next, &scope);
        if (status != FM_OK) return status;
        if (!line && scope == FM_NO_SCOPE) continue;
        if (last && line == last_line && scope == last_scope) { /* most are like the one before */
            site->frames = last->frames;
            site->frame_count = last->frame_count;
        } else {
            fm_frame frames[MOST_FRAMES] = {0};
            size_t frame_count;
            status = make_frames(r, &lines, wanted[i].address, line, scope, frames, &frame_count);
            if (status != FM_OK) return status;
            fm_frame *kept = fm_attribution_allocate(r->attribution, frame_count, sizeof *kept);
            if (!kept) return FM_E_NOMEM;
            memcpy(kept, frames, frame_count * sizeof *kept);
            site->frames = kept;
            site->frame_count = frame_count;
        }
        if (site->frames[0].line > 0) r->result->with_lines++;
        last = site;
        last_line = line;
        last_scope = scope;
    }
    return FM_OK;
}

/* ---- all units ---- */

static int compare_wanted(const void *a, const void *b)
{
    const fm_wanted_site *x = a, *y = b;
    if (x->unit != y->unit) return x->unit < y->unit ? -1 : 1;
    if (x->address != y->address) return x->address < y->address ? -1 : 1;
    return x->site < y->site ? -1 : x->site > y->site;
}

static fm_status resolve_site(void *context)
{
    resolver *r = context;
    Dwarf *dwarf = fm_symbols_dwarf(r->symbols);
    if (!dwarf) return FM_OK;
    fm_status status = fm_units_read(dwarf, &r->units);
    if (status == FM_E_NOMEM) return status;
    r->result->damaged = status != FM_OK;
    r->result->has_units = r->units.count > 0;
    for (size_t i = 0; i < r->count; i++)
        r->wanted[i].unit = fm_units_find(&r->units, r->wanted[i].address - r->symbols->offset);
    qsort(r->wanted, r->count, sizeof *r->wanted, compare_wanted);
    for (size_t i = 0; i < r->count && r->wanted[i].unit != FM_NO_UNIT;) {
        size_t end = i;
        while (end < r->count && r->wanted[end].unit == r->wanted[i].unit) end++;
        status = resolve_unit(r, &r->units.list[r->wanted[i].unit], r->wanted + i, end - i);
        if (status != FM_OK) return status;
        i = end;
    }
    return FM_OK;
}

fm_status fm_resolve_frames(fm_symbols *symbols, fm_attribution *attribution, fm_wanted_site *wanted,
                            size_t count, fm_dwarf_result *result, fm_error *error)
{
    *result = (fm_dwarf_result){0};
    resolver *r = fm_calloc(1, sizeof *r);
    if (!r) return fm_fail_memory(error, sizeof *r, "resolving addresses");
    r->symbols = symbols;
    r->attribution = attribution;
    r->wanted = wanted;
    r->count = count;
    r->result = result;
    fm_status status = fm_symbols_read_table(symbols, error);
    if (status == FM_OK) status = fm_symbols_read_frames(symbols, error);
    if (status == FM_OK) status = fm_symbols_guard(resolve_site, r, error);
    fm_units_clear(&r->units);
    fm_scopes_clear(&r->scopes);
    free(r->active);
    free(r->path);
    free(r);
    if (status != FM_OK) fm_fail(error, status, symbols->path, "out of memory for its debug information");
    return status;
}

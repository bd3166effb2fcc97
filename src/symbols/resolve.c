/* SPDX-License-Identifier: Apache-2.0 */
/*
 * resolve.c - fm_symbols_resolve: sites and variables of an attribution get their names, file by file. What
 * can be known of a file degrades in steps: lines (DWARF), symbols (ELF), nothing; a note says which, and
 * what helps.
 */
#include <fathom/attribution.h>
#include <fathom/profile.h>

#include "base/error.h"
#include "base/memory.h"
#include "profile/attribution_parts.h"
#include "symbols/symbol_file.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { LEAST_SHARE = 50 }; /* one in so many misses: what makes fewer is on no screen */

static void note_module(const fm_module_work *work, const char *text)
{
    if (work->notes) fprintf(work->notes, "%s: %s\n", fm_base_name(work->module->path), text);
}

static bool has_function(const fm_site *site)
{
    for (size_t i = 0; i < site->frame_count; i++)
        if (site->frames[i].function) return true;
    return false;
}

/* ---- a file that can be read ---- */

/* "memcpy@plt": what debuggers call the entry of the linkage table. */
static fm_status name_linkage(fm_attribution *attribution, fm_site *site, const char *target)
{
    char text[256];
    snprintf(text, sizeof text, "%.*s@plt", (int)strcspn(target, "@"), target);
    site->symbol = fm_attribution_intern(attribution, text);
    site->symbol_offset = 0;
    return site->symbol ? FM_OK : FM_E_NOMEM;
}

/* "gawk+0x6dd58": a function without a name, by where it begins in the file. */
static fm_status name_by_frame(const fm_module_work *work, fm_site *site, const fm_frame_range *frame)
{
    char text[NAME_MAX + 32];
    snprintf(text, sizeof text, "%.*s+0x%" PRIx64, NAME_MAX, fm_base_name(work->module->path), frame->low);
    site->symbol = fm_attribution_intern(work->attribution, text);
    site->symbol_offset = site->address - frame->low;
    return site->symbol ? FM_OK : FM_E_NOMEM;
}

/* How many sites have their function from where; not counting the linkage table's. */
typedef struct name_counts {
    size_t named, framed, unnamed;
} name_counts;

/* Functions of sites that the debug information does not name: by symbols, else by their place. */
static fm_status name_by_symbols(const fm_module_work *work, fm_symbols *symbols, name_counts *counts,
                                 fm_error *error)
{
    fm_status status = FM_OK;
    *counts = (name_counts){0};
    for (size_t i = 0; i < work->count && status == FM_OK; i++) {
        fm_site *site = &work->attribution->sites[work->wanted[i].site];
        if (has_function(site)) continue;
        status = fm_symbols_read_table(symbols, error);
        if (status == FM_OK) status = fm_symbols_read_frames(symbols, error);
        if (status != FM_OK) return status;
        const char *target = fm_symbols_linkage_target(symbols, site->address);
        if (target) {
            status = name_linkage(work->attribution, site, target);
            continue;
        }
        fm_elf_symbol *symbol = fm_symbols_code_at(symbols, site->address);
        const fm_frame_range *frame = symbol ? NULL : fm_frame_table_find(&symbols->frames, site->address);
        if (!symbol) {
            frame ? counts->framed++ : counts->unnamed++;
            if (frame) status = name_by_frame(work, site, frame);
            continue;
        }
        counts->named++;
        site->symbol = fm_attribution_intern(work->attribution, fm_symbols_shown_name(symbols, symbol));
        site->symbol_offset = site->address - symbol->address;
        if (!site->symbol) status = FM_E_NOMEM;
    }
    if (status == FM_E_NOMEM) return fm_fail(error, status, NULL, "out of memory for names of functions");
    return status;
}

static fm_status name_variables(const fm_module_work *work, fm_symbols *symbols, fm_error *error)
{
    for (size_t i = 0; i < work->attribution->object_count; i++) {
        fm_object *object = &work->attribution->objects[i];
        if (object->kind != FM_OBJECT_GLOBAL || object->name || object->module != work->index) continue;
        const char *name;
        uint64_t start, size;
        fm_status status = fm_symbols_read_table(symbols, error);
        if (status != FM_OK) return status;
        if (!fm_symbols_variable(symbols, object->address, &name, &start, &size)) continue;
        object->name = fm_attribution_intern(work->attribution, name);
        if (!object->name) return fm_fail(error, FM_E_NOMEM, NULL, "out of memory for names of variables");
        if (object->size == 0 && start == object->address) object->size = size;
    }
    return FM_OK;
}

static fm_status resolve_with(const fm_module_work *work, fm_symbols *symbols, fm_error *error)
{
    fm_dwarf_result lines;
    name_counts counts = {0};
    fm_status status =
        fm_resolve_frames(symbols, work->attribution, work->wanted, work->count, &lines, error);
    if (status == FM_OK) status = name_by_symbols(work, symbols, &counts, error);
    if (status == FM_OK) status = name_variables(work, symbols, error);
    if (status != FM_OK) return status;
    if (lines.damaged)
        note_module(work, "its debug information is damaged: some functions and lines are missing");
    else if (!work->matters)
        return FM_OK; /* nobody will look for its lines */
    else if (lines.with_lines == 0 && counts.framed > counts.named)
        note_module(work,
                    counts.named > 0
                        ? "no debug information, and symbols of few functions: others by where they begin; "
                          "compile with -g, or install its -dbgsym package"
                        : "no debug information and no symbols: functions by where they begin; compile with "
                          "-g, or install its -dbgsym package");
    else if (lines.with_lines == 0 && counts.unnamed > 0 && counts.named == 0)
        note_module(work,
                    "no debug information and no symbols: code by address only; compile with -g, or install "
                    "its -dbgsym package");
    else if (lines.with_lines == 0 && counts.unnamed + counts.named > 0)
        note_module(work,
                    "no debug information: functions by symbol only; compile with -g, or install its -dbgsym "
                    "package");
    return FM_OK;
}

/* ---- a file that may have gone ---- */

static fm_status resolve_module(const fm_module_work *work, fm_error *error)
{
    const char *path = work->module->path;
    if (path[0] == '[') {
        note_module(work, "the kernel's code, in no file: by address only");
        return FM_OK;
    }
    if (strncmp(path, "/memfd:", 7) == 0) {
        note_module(work, "not a file that can be read again: code by address only");
        return FM_OK;
    }
    if (path[0] != '/') { /* whatever has that name in this folder */
        note_module(work, "named without its folder: code by address only");
        return FM_OK;
    }
    char build_id[FM_BUILD_ID_TEXT];
    fm_symbols *symbols;
    fm_error why = {0};
    fm_status status = fm_symbols_open(&symbols, path, &why);
    if (status == FM_E_NOMEM) {
        if (error) *error = why;
        return status;
    }
    if (status != FM_OK) {
        if (work->notes)
            fprintf(work->notes, "%s: %s: code by address only\n", fm_base_name(path),
                    access(path, F_OK) != 0 ? "the file is gone" : why.reason);
        return FM_OK;
    }
    errno = 0;
    const bool has_id = fm_symbols_build_id(path, build_id);
    if (!has_id && errno == ENOMEM) {
        fm_symbols_close(symbols);
        return fm_fail(error, FM_E_NOMEM, path, "out of memory for its build id");
    }
    if (work->module->build_id && (!has_id || strcmp(build_id, work->module->build_id) != 0)) {
        note_module(work, "the file has changed since the run: code by address only; profile it again");
        fm_symbols_close(symbols);
        return FM_OK;
    }
    if (!work->module->build_id && has_id)
        note_module(work, "which build of it ran is not known: functions and lines may be those of another");
    status = resolve_with(work, symbols, error);
    fm_symbols_close(symbols);
    return status;
}

/* ---- all of them ---- */

static bool is_open(const fm_attribution *attribution, const fm_site *site)
{
    return site->module < attribution->module_count && site->frame_count == 0 && !site->symbol;
}

static bool has_open_variable(const fm_attribution *attribution, uint32_t module)
{
    for (size_t i = 0; i < attribution->object_count; i++) {
        const fm_object *object = &attribution->objects[i];
        if (object->kind == FM_OBJECT_GLOBAL && !object->name && object->module == module) return true;
    }
    return false;
}

/* Misses of each module: first touches, and references from late_from on. The sum. */
static uint64_t weigh_modules(const fm_attribution *attribution, uint64_t *misses)
{
    uint64_t all = 0;
    for (size_t i = 0; i < attribution->pair_count; i++) {
        const fm_pair *pair = &attribution->pairs[i];
        uint64_t late = pair->cold + pair->beyond;
        for (size_t j = 0; j < pair->bin_count; j++)
            if (pair->bins[j].lo >= attribution->late_from) late += pair->bins[j].count;
        all += late;
        const uint32_t module =
            pair->reuse < attribution->site_count ? attribution->sites[pair->reuse].module : FM_NONE;
        if (module < attribution->module_count) misses[module] += late;
    }
    return all;
}

fm_status fm_symbols_resolve(fm_attribution *attribution, FILE *notes, fm_error *error)
{
    FM_REQUIRE(attribution, error);
    size_t modules = attribution->module_count, sites = attribution->site_count;
    /* Sites by module: first[m] is where those of module m begin. */
    size_t *first = fm_calloc(modules + 2, sizeof *first);
    fm_wanted_site *wanted = fm_calloc(sites, sizeof *wanted);
    uint64_t *misses = fm_calloc(modules + 1, sizeof *misses);
    if (!first || !wanted || !misses) {
        free(misses);
        free(first);
        free(wanted);
        return fm_fail_memory(error, sites * sizeof *wanted, "resolving addresses");
    }
    for (size_t i = 0; i < sites; i++)
        if (is_open(attribution, &attribution->sites[i])) first[attribution->sites[i].module + 2]++;
    for (size_t m = 2; m < modules + 2; m++) first[m] += first[m - 1];
    for (size_t i = 0; i < sites; i++) {
        const fm_site *site = &attribution->sites[i];
        if (is_open(attribution, site))
            wanted[first[site->module + 1]++] =
                (fm_wanted_site){.address = site->address, .site = (uint32_t)i};
    }
    const uint64_t all = weigh_modules(attribution, misses);
    fm_module_work *works = fm_calloc(modules, sizeof *works);
    fm_status status = works ? FM_OK : fm_fail_memory(error, modules * sizeof *works, "resolving addresses");
    size_t work_count = 0;
    for (size_t m = 0; m < modules && works; m++) {
        const fm_module_work work = {.attribution = attribution,
                                     .module = &attribution->modules[m],
                                     .index = (uint32_t)m,
                                     .wanted = wanted + first[m],
                                     .count = first[m + 1] - first[m],
                                     .notes = notes,
                                     .matters = all == 0 || misses[m] >= all / LEAST_SHARE};
        if (work.module->path && work.module->path[0] &&
            (work.count > 0 || has_open_variable(attribution, work.index)))
            works[work_count++] = work;
    }
    if (status == FM_OK && work_count > 0)
        status = fm_resolve_apart(works, work_count, resolve_module, error);
    free(works);
    free(misses);
    free(first);
    free(wanted);
    return status;
}

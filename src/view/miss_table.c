/* SPDX-License-Identifier: Apache-2.0 */
/*
 * miss_table.c - see miss_table.h. One pass over the sites, one over the pairs, and a sort. Places: frames
 * make a tree, the outermost function at its root; a place is a node in it.
 */
#include "view/miss_table.h"

#include "base/error.h"
#include "base/memory.h"
#include "base/plain_text.h"
#include "base/table.h"
#include "profile/attribution_parts.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- caches ---- */

fm_cache_fit fm_cache_fit_make(const fm_profile *profile, const fm_cache *cache)
{
    fm_cache_fit fit = {0};
    fit.blocks = profile->granularity ? cache->bytes / profile->granularity : 0;
    fit.misses = fm_profile_misses(profile, fit.blocks);
    fit.ratio = profile->references ? fit.misses.expected / (double)profile->references : 0;
    fit.late = fmax(fit.misses.expected - (double)profile->cold, 0);
    fit.has_band = fm_profile_band(profile, fit.blocks, &fit.least, &fit.most);
    if (cache->ways == 0) return fit;
    if (cache->line && cache->line != profile->granularity) {
        fit.other_line = true;
        return fit;
    }
    fit.sets = fit.blocks / cache->ways;
    if (fit.sets == 0 || !fit.misses.known) return fit;
    fit.estimated = true;
    fit.estimate = profile->references ? fm_profile_misses_associative(profile, fit.sets, cache->ways) /
                                             (double)profile->references
                                       : 0;
    return fit;
}

/* ---- what a reader knows of code ---- */

size_t fm_place_own_frame(const fm_site *site)
{
    for (size_t i = 0; i < site->frame_count; i++)
        if (site->frames[i].file && site->frames[i].line && !fm_place_is_system(site->frames[i].file))
            return i;
    return 0;
}

bool fm_place_is_system(const char *file)
{
    return strncmp(file, "/usr/include/", 13) == 0 || strncmp(file, "/usr/lib", 8) == 0 ||
           strstr(file, "/c++/");
}

bool fm_module_is_system(const char *path)
{
    return strncmp(path, "/usr/lib", 8) == 0 || strncmp(path, "/lib", 4) == 0;
}

static const char *module_path(const fm_attribution *of, const fm_site *site)
{
    return site->module < of->module_count ? of->modules[site->module].path : NULL;
}

const char *fm_system_function(const fm_attribution *of, const fm_site *site, const char **module)
{
    *module = module_path(of, site);
    if (!*module || !fm_module_is_system(*module)) return NULL;
    const fm_frame *last = site->frame_count ? &site->frames[site->frame_count - 1] : NULL;
    return last && last->function ? last->function : site->symbol;
}

/* Whether a reader is shown the frame: the one that is theirs, what it went through, and theirs around it
 * (terminal_pairs.c). */
static bool is_shown(const fm_site *site, size_t own, size_t frame)
{
    const char *file = site->frames[frame].file;
    return frame == own || frame + 1 == own || (frame > own && file && !fm_place_is_system(file));
}

/* ---- what a site belongs to ---- */

typedef struct table_maker {
    fm_miss_table *table;
    fm_table numbers, nodes;
    size_t room;
    bool failed; /* memory is short */
} table_maker;

/* Equal texts, equal pointers. */
static const char *text_intern(table_maker *by, const char *text)
{
    const char *kept = text ? fm_arena_intern(by->table->texts, text) : NULL;
    by->failed |= text && !kept;
    return kept;
}

static uint64_t text_word(table_maker *by, const char *text)
{
    return (uint64_t)(uintptr_t)text_intern(by, text);
}

static uint32_t node_number(table_maker *by, fm_key key)
{
    if (by->failed) return FM_KEY_NONE;
    const uint32_t node = fm_table_add(&by->nodes, &key);
    by->failed |= node == FM_KEY_NONE;
    return node;
}

static fm_miss_row row_of_site(table_maker *by, const fm_site *site)
{
    const bool lines = by->table->by == FM_BY_LINE;
    const char *module = module_path(by->table->of, site);
    const fm_frame *frame = site->frame_count ? &site->frames[fm_place_own_frame(site)] : NULL;
    const bool known = frame && frame->file && frame->line;
    const bool system = module && fm_module_is_system(module);
    fm_miss_row row = {.kind = FM_ROW_UNKNOWN};
    char shown[1024]; /* instances of a template are one: their arguments are not shown */
    const char *function = frame && frame->function ? frame->function : site->symbol;
    if (function) function = fm_function_name_shorten(function, shown, sizeof shown);
    if (system) {
        row.kind = lines || !function ? FM_ROW_MODULE : FM_ROW_FUNCTION;
        row.function = row.kind == FM_ROW_FUNCTION ? text_intern(by, function) : NULL;
        row.module = text_intern(by, module);
    } else if (known && (lines || function)) {
        row.kind = lines ? FM_ROW_LINE : FM_ROW_FUNCTION;
        row.file = text_intern(by, frame->file);
        row.line = frame->line;
        row.function = text_intern(by, function);
    } else if (function) {
        row.kind = FM_ROW_FUNCTION;
        row.function = text_intern(by, function);
        row.module = text_intern(by, module);
    } else if (module) {
        row.kind = FM_ROW_MODULE;
        row.module = text_intern(by, module);
    }
    return row;
}

/* What makes two of them one: a function's line is only where it was first seen. */
static fm_key row_key(const fm_miss_row *row)
{
    const uint64_t kind = (uint64_t)row->kind << 32;
    if (row->kind == FM_ROW_LINE) return (fm_key){kind | row->line, (uint64_t)(uintptr_t)row->file, 0};
    if (row->kind == FM_ROW_FUNCTION)
        return (fm_key){kind, (uint64_t)(uintptr_t)row->function,
                        (uint64_t)(uintptr_t)(row->file ? row->file : row->module)};
    return (fm_key){kind, (uint64_t)(uintptr_t)row->module, (uint64_t)(uintptr_t)row->name};
}

static fm_key place_key(table_maker *by, const fm_site *site)
{
    const char *module, *function = fm_system_function(by->table->of, site, &module);
    if (function) return (fm_key){site->module, UINT64_MAX, text_word(by, function)};
    if (site->frame_count == 0 || site->frames[0].line == 0)
        return (fm_key){site->module, site->address,
                        text_word(by, site->module == FM_NONE ? site->symbol : NULL)};
    uint32_t node = FM_NONE;
    const size_t own = fm_place_own_frame(site);
    for (size_t i = site->frame_count; i-- > 0 && !by->failed;) {
        const fm_frame *frame = &site->frames[i];
        if (is_shown(site, own, i))
            node = node_number(by, (fm_key){text_word(by, frame->function), text_word(by, frame->file),
                                            (uint64_t)frame->line << 32 | node});
    }
    return (fm_key){UINT64_MAX, node, 0}; /* no module has that number */
}

/* Inlined functions are part of the one that the linker knows: the outermost. */
static fm_key position_key(table_maker *by, const fm_site *site)
{
    const fm_frame *inner = site->frame_count ? &site->frames[0] : NULL;
    const fm_frame *outer = site->frame_count ? &site->frames[site->frame_count - 1] : NULL;
    const uint64_t name = text_word(by, outer && outer->function ? outer->function : site->symbol);
    const uint64_t where = text_word(by, outer ? outer->file : NULL);
    const uint32_t node = node_number(
        by, (fm_key){name ? name : site->address, where, (uint64_t)site->module << 32 | (name != 0)});
    return (fm_key){node, text_word(by, inner ? inner->file : NULL), inner ? inner->line : 0};
}

static uint32_t row_number(table_maker *by, fm_key key, const fm_miss_row *row)
{
    fm_miss_table *table = by->table;
    if (by->failed) return FM_KEY_NONE;
    uint32_t number = fm_table_add(&by->numbers, &key);
    if (number == table->count) {
        if (fm_array_reserve((void **)&table->rows, &by->room, table->count + 1, sizeof *row)) {
            by->failed = true;
            return FM_KEY_NONE;
        }
        table->rows[table->count] = *row;
        table->rows[table->count++].number = number;
    }
    by->failed |= number == FM_KEY_NONE;
    return number;
}

static uint32_t number_of_site(table_maker *by, uint32_t number)
{
    const fm_site *site = &by->table->of->sites[number];
    fm_miss_row row = {.kind = FM_ROW_PLACE};
    fm_key key;
    if (by->table->by == FM_BY_PLACE) {
        key = place_key(by, site);
    } else if (by->table->by == FM_BY_POSITION) {
        key = position_key(by, site);
    } else {
        row = row_of_site(by, site);
        key = row_key(&row);
    }
    row.site = number;
    return row_number(by, key, &row);
}

/* ---- sums ---- */

static bool make_sums(fm_miss_table *table)
{
    table->sums = fm_calloc(table->count * table->level_count, sizeof *table->sums);
    if (!table->sums) return false;
    for (size_t i = 0; i < table->count; i++) table->rows[i].misses = table->sums + i * table->level_count;
    return true;
}

static bool sum_sites(table_maker *by)
{
    fm_miss_table *table = by->table;
    table->of_site = fm_calloc(table->of->site_count, sizeof *table->of_site);
    by->failed |= !table->of_site;
    for (size_t i = 0; i < table->of->site_count && !by->failed; i++)
        table->of_site[i] = number_of_site(by, (uint32_t)i);
    if (by->failed || !make_sums(table)) return false;
    for (size_t i = 0; i < table->of->pair_count; i++) {
        const fm_pair *pair = &table->of->pairs[i];
        FM_ASSERT(table->of_site[pair->reuse] < table->count);
        fm_miss_row *row = &table->rows[table->of_site[pair->reuse]];
        row->references += pair->count;
        row->cold += pair->cold;
        for (size_t level = 0; level < table->level_count; level++)
            row->misses[level] += fm_pair_misses(pair, table->blocks[level]);
        fm_error_sum sure = {row->uses, row->error, row->samples};
        fm_error_sum_add(&sure, table->of, pair);
        row->uses = sure.late;
        row->error = sure.error;
        row->samples = sure.samples;
    }
    return true;
}

static bool sum_objects(table_maker *by)
{
    fm_miss_table *table = by->table;
    uint32_t *of_object = fm_calloc(table->of->object_count, sizeof *of_object);
    by->failed |= !of_object;
    for (size_t i = 0; i < table->of->object_count && !by->failed; i++) {
        char text[600];
        fm_miss_row row = {.kind = FM_ROW_OBJECT, .site = FM_NONE};
        row.name = text_intern(by, fm_object_text(table->of, (uint32_t)i, text, sizeof text));
        of_object[i] = row_number(by, row_key(&row), &row);
    }
    bool made = !by->failed && make_sums(table);
    for (size_t i = 0; made && i < table->of->object_use_count; i++) {
        const fm_object_use *use = &table->of->object_uses[i];
        fm_miss_row *row = &table->rows[of_object[use->object]];
        row->cold += use->cold;
        row->uses += (double)use->count;
        for (size_t level = 0; level < table->level_count; level++)
            row->misses[level] += fm_object_use_misses(use, table->blocks[level]);
    }
    for (size_t i = 0; made && i < table->of->object_count; i++) {
        fm_miss_row *row = &table->rows[of_object[i]];
        row->error = hypot(row->error, (double)table->of->objects[i].error);
        row->samples += table->of->objects[i].samples;
    }
    free(of_object);
    return made;
}

/* ---- all of it ---- */

fm_status fm_miss_table_check(const fm_profile *profile, bool needed, const char *name, fm_error *error)
{
    char why[300];
    if (!profile->attribution)
        return needed ? fm_fail(error, FM_E_ARGUMENT, name,
                                "the profile does not say which code its references come from")
                      : FM_OK;
    if (fm_attribution_sound(profile, why, sizeof why)) return FM_OK;
    return fm_fail(error, FM_E_ARGUMENT, name, "the profile's attribution is unsound: %s", why);
}

fm_status fm_miss_table_make(fm_miss_table *table, const fm_attribution *of, unsigned by,
                             const uint64_t *blocks, size_t level_count, fm_error *error)
{
    table_maker maker = {.table = table, .numbers = FM_TABLE_OF(fm_key), .nodes = FM_TABLE_OF(fm_key)};
    *table = (fm_miss_table){.of = of, .by = by, .level_count = level_count, .texts = fm_arena_create()};
    table->blocks = fm_calloc(level_count, sizeof *blocks);
    bool made = table->texts && table->blocks;
    if (made && level_count) memcpy(table->blocks, blocks, level_count * sizeof *blocks);
    if (made) made = by == FM_BY_OBJECT ? sum_objects(&maker) : sum_sites(&maker);
    fm_table_clear(&maker.numbers);
    fm_table_clear(&maker.nodes);
    if (made) return FM_OK;
    fm_miss_table_clear(table);
    return fm_fail_memory(error, (uint64_t)of->site_count * 64, "lines of code");
}

fm_status fm_miss_table_fit(fm_miss_table *table, const fm_profile *profile, fm_by by,
                            const fm_cache_fit *fits, size_t level_count, fm_error *error)
{
    const uint64_t bound = profile->bound && profile->beyond ? profile->bound : UINT64_MAX;
    uint64_t *blocks = fm_calloc(level_count, sizeof *blocks);
    if (!blocks) return fm_fail_memory(error, level_count * sizeof *blocks, "sizes of caches");
    for (size_t i = 0; i < level_count; i++) blocks[i] = fits[i].blocks < bound ? fits[i].blocks : bound;
    fm_status status = fm_miss_table_make(table, profile->attribution, by, blocks, level_count, error);
    free(blocks);
    return status;
}

void fm_miss_table_clear(fm_miss_table *table)
{
    fm_arena_destroy(table->texts);
    free(table->blocks);
    free(table->rows);
    free(table->of_site);
    free(table->sums);
    *table = (fm_miss_table){0};
}

/* ---- order ---- */

fm_status fm_miss_table_order(const fm_miss_table *table, size_t level, uint32_t *order, fm_error *error)
{
    fm_ranked *ranks = fm_calloc(table->count, sizeof *ranks);
    FM_ASSERT(level < table->level_count);
    if (!ranks) return fm_fail_memory(error, table->count * sizeof *ranks, "the order of lines");
    for (size_t i = 0; i < table->count; i++)
        ranks[i] = (fm_ranked){table->rows[i].misses[level], (uint32_t)i};
    fm_ranked_sort(ranks, table->count);
    for (size_t i = 0; i < table->count; i++) order[i] = ranks[i].number;
    free(ranks);
    return FM_OK;
}

/* ---- text ---- */

char *fm_miss_row_text(const fm_miss_row *row, char *buffer, size_t size)
{
    switch (row->kind) {
    case FM_ROW_LINE:
        snprintf(buffer, size, "%s:%" PRIu32, fm_base_name(row->file), row->line);
        break;
    case FM_ROW_FUNCTION:
        if (row->module && !fm_function_names_module(row->function, row->module))
            snprintf(buffer, size, "%s in %s", row->function, fm_base_name(row->module));
        else
            snprintf(buffer, size, "%s", row->function);
        break;
    case FM_ROW_MODULE:
        snprintf(buffer, size, "%s", fm_base_name(row->module));
        break;
    case FM_ROW_OBJECT:
        snprintf(buffer, size, "%s", row->name);
        break;
    case FM_ROW_UNKNOWN:
    case FM_ROW_PLACE:
        snprintf(buffer, size, "unknown code");
        break;
    }
    return buffer;
}

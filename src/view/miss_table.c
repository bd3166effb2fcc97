/* SPDX-License-Identifier: Apache-2.0 */
/* miss_table.c - see code_groups.h. One pass over the sites, one over the pairs, and a sort. */
#include "view/miss_table.h"
#include "base/arena.h"
#include "base/error.h"
#include "base/key_table.h"
#include "base/memory.h"
#include "profile/attribution/module_name.h"
#include "profile/attribution/pair_errors.h"
#include "view/text.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

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

/*
 * ======== code lines ========
 * Frames make a tree, the outermost function at its root: a line is a node
 * in it.
 */

typedef struct line_maker {
    fm_arena *texts; /* equal texts, equal pointers */
    fm_key_table nodes, lines;
} line_maker;

/* *failed is set where memory is short, and stays set. */
static uint64_t word_of(line_maker *by, const char *text, bool *failed)
{
    const char *kept = text ? fm_arena_intern(by->texts, text) : NULL;
    *failed |= text && !kept;
    return (uint64_t)(uintptr_t)kept;
}

/* Whether a reader is shown the frame: the one that is theirs, what it went through, and theirs around it
 * (place_chain.c). */
static bool is_shown(const fm_site *site, size_t own, size_t frame)
{
    const char *file = site->frames[frame].file;
    return frame == own || frame + 1 == own || (frame > own && file && !fm_place_is_system(file));
}

const char *fm_code_system_function(const fm_attribution *of, const fm_site *site, const char **module)
{
    *module = site->module < of->module_count ? of->modules[site->module].path : NULL;
    if (!*module || !fm_module_is_system(*module)) return NULL;
    const fm_frame *last = site->frame_count ? &site->frames[site->frame_count - 1] : NULL;
    return last && last->function ? last->function : site->symbol;
}

static fm_key key_of_site(line_maker *by, const fm_attribution *of, const fm_site *site, bool *failed)
{
    const char *module, *function = fm_code_system_function(of, site, &module);
    if (function) return (fm_key){site->module, UINT64_MAX, word_of(by, function, failed)};
    if (site->frame_count == 0 || site->frames[0].line == 0)
        return (fm_key){site->module, site->address,
                        word_of(by, site->module == FM_NONE ? site->symbol : NULL, failed)};
    uint32_t node = FM_NONE;
    const size_t own = fm_place_own_frame(site);
    for (size_t i = site->frame_count; i-- > 0 && !*failed;) {
        const fm_frame *frame = &site->frames[i];
        if (!is_shown(site, own, i)) continue;
        fm_key key = {word_of(by, frame->function, failed), word_of(by, frame->file, failed),
                      (uint64_t)frame->line << 32 | node};
        node = fm_key_table_add(&by->nodes, key, (uint32_t)by->nodes.count);
        *failed |= node == FM_KEY_NONE;
    }
    return (fm_key){UINT64_MAX, node, 0}; /* no module has that number */
}

fm_status fm_code_lines_make(fm_code_lines *lines, const fm_attribution *of, fm_error *error)
{
    line_maker by = {.texts = fm_arena_create()};
    *lines = (fm_code_lines){0, fm_calloc(of->site_count, sizeof(uint32_t)),
                             fm_calloc(of->site_count, sizeof(uint32_t))};
    bool failed = !by.texts || !lines->of_site || !lines->site;
    for (size_t i = 0; i < of->site_count && !failed; i++) {
        fm_key key = key_of_site(&by, of, &of->sites[i], &failed);
        uint32_t line = failed ? FM_KEY_NONE : fm_key_table_add(&by.lines, key, (uint32_t)lines->count);
        failed |= line == FM_KEY_NONE;
        if (failed) break;
        if (line == lines->count) lines->site[lines->count++] = (uint32_t)i;
        lines->of_site[i] = line;
    }
    fm_arena_destroy(by.texts);
    fm_key_table_clear(&by.nodes);
    fm_key_table_clear(&by.lines);
    if (!failed) return FM_OK;
    fm_code_lines_clear(lines);
    return fm_fail_memory(error, (uint64_t)of->site_count * 64, "lines of code");
}

void fm_code_lines_clear(fm_code_lines *lines)
{
    free(lines->of_site);
    free(lines->site);
    *lines = (fm_code_lines){0};
}

/* ======== code groups ======== */

typedef struct group_maker {
    fm_code_groups *groups;
    fm_key_table numbers;
    size_t room;
    bool failed; /* memory is short */
} group_maker;

static const char *group_intern(group_maker *by, const char *text)
{
    const char *kept = text ? fm_arena_intern(by->groups->texts, text) : NULL;
    by->failed |= text && !kept;
    return kept;
}

/* ---- what a site belongs to ---- */

static fm_code_group group_of_site(group_maker *by, const fm_site *site)
{
    const fm_attribution *of = by->groups->of;
    const bool lines = by->groups->by == FM_BY_LINE;
    const char *module = site->module < of->module_count ? of->modules[site->module].path : NULL;
    const fm_frame *frame = site->frame_count ? &site->frames[fm_place_own_frame(site)] : NULL;
    const bool known = frame && frame->file && frame->line;
    const bool system = module && fm_module_is_system(module);
    fm_code_group group = {.kind = FM_GROUP_UNKNOWN};
    char shown[1024]; /* instances of a template are one: their arguments are not shown */
    const char *function = frame && frame->function ? frame->function : site->symbol;
    if (function) function = fm_function_name_shorten(function, shown, sizeof shown);
    if (system) {
        group.kind = lines || !function ? FM_GROUP_MODULE : FM_GROUP_FUNCTION;
        group.function = group.kind == FM_GROUP_FUNCTION ? group_intern(by, function) : NULL;
        group.module = group_intern(by, module);
    } else if (known && (lines || function)) {
        group.kind = lines ? FM_GROUP_LINE : FM_GROUP_FUNCTION;
        group.file = group_intern(by, frame->file);
        group.line = frame->line;
        group.function = group_intern(by, function);
    } else if (function) {
        group.kind = FM_GROUP_FUNCTION;
        group.function = group_intern(by, function);
        group.module = group_intern(by, module);
    } else if (module) {
        group.kind = FM_GROUP_MODULE;
        group.module = group_intern(by, module);
    }
    return group;
}

/* What makes two of them one: a function's line is only where it was first seen. */
static fm_key group_key(const fm_code_group *group)
{
    const uint64_t kind = (uint64_t)group->kind << 32;
    if (group->kind == FM_GROUP_LINE)
        return (fm_key){kind | group->line, (uint64_t)(uintptr_t)group->file, 0};
    if (group->kind == FM_GROUP_FUNCTION)
        return (fm_key){kind, (uint64_t)(uintptr_t)group->function,
                        (uint64_t)(uintptr_t)(group->file ? group->file : group->module)};
    return (fm_key){kind, (uint64_t)(uintptr_t)group->module, (uint64_t)(uintptr_t)group->name};
}

static uint32_t number_of(group_maker *by, fm_code_group *group)
{
    fm_code_groups *groups = by->groups;
    if (by->failed) return FM_KEY_NONE;
    uint32_t number = fm_key_table_add(&by->numbers, group_key(group), (uint32_t)groups->count);
    if (number == groups->count) {
        void *grown = groups->groups;
        if (fm_array_reserve(&grown, &by->room, groups->count + 1, sizeof *group)) {
            by->failed = true;
            return FM_KEY_NONE;
        }
        groups->groups = grown;
        group->number = number;
        groups->groups[groups->count++] = *group;
    }
    by->failed |= number == FM_KEY_NONE;
    return number;
}

/* ---- sums ---- */

static bool make_sums(fm_code_groups *groups)
{
    groups->sums = fm_calloc(groups->count * groups->level_count, sizeof *groups->sums);
    if (!groups->sums) return false;
    for (size_t i = 0; i < groups->count; i++)
        groups->groups[i].misses = groups->sums + i * groups->level_count;
    return true;
}

static bool group_sites(group_maker *by)
{
    fm_code_groups *groups = by->groups;
    groups->of_site = fm_calloc(groups->of->site_count, sizeof *groups->of_site);
    by->failed |= !groups->of_site;
    for (size_t i = 0; i < groups->of->site_count && !by->failed; i++) {
        fm_code_group group = group_of_site(by, &groups->of->sites[i]);
        groups->of_site[i] = number_of(by, &group);
    }
    if (by->failed || !make_sums(groups)) return false;
    for (size_t i = 0; i < groups->of->pair_count; i++) {
        const fm_pair *pair = &groups->of->pairs[i];
        fm_code_group *group = &groups->groups[groups->of_site[pair->reuse]];
        group->references += pair->count;
        group->cold += pair->cold;
        for (size_t level = 0; level < groups->level_count; level++)
            group->misses[level] += fm_pair_misses(pair, groups->blocks[level]);
        fm_error_sum sure = {group->uses, group->error, group->samples};
        fm_error_sum_add(&sure, groups->of, pair);
        group->uses = sure.late;
        group->error = sure.error;
        group->samples = sure.samples;
    }
    return true;
}

static bool group_objects(group_maker *by)
{
    fm_code_groups *groups = by->groups;
    uint32_t *of_object = fm_calloc(groups->of->object_count, sizeof *of_object);
    by->failed |= !of_object;
    for (size_t i = 0; i < groups->of->object_count && !by->failed; i++) {
        char text[600];
        fm_code_group group = {.kind = FM_GROUP_OBJECT};
        group.name = group_intern(by, fm_object_text(groups->of, (uint32_t)i, text, sizeof text));
        of_object[i] = number_of(by, &group);
    }
    bool made = !by->failed && make_sums(groups);
    for (size_t i = 0; made && i < groups->of->object_use_count; i++) {
        const fm_object_use *use = &groups->of->object_uses[i];
        fm_code_group *group = &groups->groups[of_object[use->object]];
        group->cold += use->cold;
        group->uses += (double)use->count;
        for (size_t level = 0; level < groups->level_count; level++)
            group->misses[level] += fm_object_use_misses(use, groups->blocks[level]);
    }
    for (size_t i = 0; made && i < groups->of->object_count; i++) {
        fm_code_group *group = &groups->groups[of_object[i]];
        group->error = hypot(group->error, (double)groups->of->objects[i].error);
        group->samples += groups->of->objects[i].samples;
    }
    free(of_object);
    return made;
}

fm_status fm_code_groups_make(fm_code_groups *groups, const fm_attribution *of, fm_by by,
                              const uint64_t *blocks, size_t level_count, fm_error *error)
{
    group_maker maker = {.groups = groups};
    *groups = (fm_code_groups){.of = of, .by = by, .level_count = level_count, .texts = fm_arena_create()};
    groups->blocks = fm_calloc(level_count, sizeof *blocks);
    bool made = groups->texts && groups->blocks;
    if (made && level_count) memcpy(groups->blocks, blocks, level_count * sizeof *blocks);
    if (made) made = by == FM_BY_OBJECT ? group_objects(&maker) : group_sites(&maker);
    fm_key_table_clear(&maker.numbers);
    if (made) return FM_OK;
    fm_code_groups_clear(groups);
    return fm_fail_memory(error, (uint64_t)of->site_count * 64, "lines of code");
}

void fm_code_groups_clear(fm_code_groups *groups)
{
    fm_arena_destroy(groups->texts);
    free(groups->blocks);
    free(groups->groups);
    free(groups->of_site);
    free(groups->sums);
    *groups = (fm_code_groups){0};
}

/* ---- order ---- */

typedef struct ranked_group {
    double misses;
    uint32_t number;
} ranked_group;

static int most_first(const void *a, const void *b)
{
    const ranked_group *x = a, *y = b;
    if (x->misses != y->misses) return x->misses > y->misses ? -1 : 1;
    return x->number < y->number ? -1 : x->number > y->number;
}

fm_status fm_code_groups_order(const fm_code_groups *groups, size_t level, uint32_t *order, fm_error *error)
{
    ranked_group *ranks = fm_calloc(groups->count, sizeof *ranks);
    if (!ranks) return fm_fail_memory(error, groups->count * sizeof *ranks, "the order of lines");
    for (size_t i = 0; i < groups->count; i++)
        ranks[i] = (ranked_group){groups->groups[i].misses[level], (uint32_t)i};
    if (groups->count) qsort(ranks, groups->count, sizeof *ranks, most_first);
    for (size_t i = 0; i < groups->count; i++) order[i] = ranks[i].number;
    free(ranks);
    return FM_OK;
}

/* ---- text ---- */

char *fm_code_group_text(const fm_code_group *group, char *buffer, size_t size)
{
    switch (group->kind) {
    case FM_GROUP_LINE:
        snprintf(buffer, size, "%s:%" PRIu32, fm_base_name(group->file), group->line);
        break;
    case FM_GROUP_FUNCTION:
        if (group->module && !fm_function_names_module(group->function, group->module))
            snprintf(buffer, size, "%s in %s", group->function, fm_base_name(group->module));
        else
            snprintf(buffer, size, "%s", group->function);
        break;
    case FM_GROUP_MODULE:
        snprintf(buffer, size, "%s", fm_base_name(group->module));
        break;
    case FM_GROUP_OBJECT:
        snprintf(buffer, size, "%s", group->name);
        break;
    case FM_GROUP_UNKNOWN:
        snprintf(buffer, size, "unknown code");
        break;
    }
    return buffer;
}

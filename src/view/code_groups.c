/* SPDX-License-Identifier: Apache-2.0 */
/* code_groups.c - see code_groups.h. One pass over the sites, one over the pairs, and a sort. */
#include "view/code_groups.h"

#include "base/arena.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/table.h"
#include "profile/attribution/module_name.h"
#include "profile/attribution/pair_errors.h"
#include "view/function_name.h"
#include "view/place_chain.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct group_maker {
    fm_code_groups *groups;
    fm_table numbers;
    size_t room;
    bool failed; /* memory is short */
} group_maker;

static const char *intern(group_maker *by, const char *text)
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
        group.function = group.kind == FM_GROUP_FUNCTION ? intern(by, function) : NULL;
        group.module = intern(by, module);
    } else if (known && (lines || function)) {
        group.kind = lines ? FM_GROUP_LINE : FM_GROUP_FUNCTION;
        group.file = intern(by, frame->file);
        group.line = frame->line;
        group.function = intern(by, function);
    } else if (function) {
        group.kind = FM_GROUP_FUNCTION;
        group.function = intern(by, function);
        group.module = intern(by, module);
    } else if (module) {
        group.kind = FM_GROUP_MODULE;
        group.module = intern(by, module);
    }
    return group;
}

/* What makes two of them one: a function's line is only where it was first seen. */
static fm_key key_of(const fm_code_group *group)
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
    const fm_key key = key_of(group);
    uint32_t number = fm_table_add(&by->numbers, &key);
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
        group.name = intern(by, fm_object_text(groups->of, (uint32_t)i, text, sizeof text));
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
    group_maker maker = {.groups = groups, .numbers = FM_TABLE_OF(fm_key)};
    *groups = (fm_code_groups){.of = of, .by = by, .level_count = level_count, .texts = fm_arena_create()};
    groups->blocks = fm_calloc(level_count, sizeof *blocks);
    bool made = groups->texts && groups->blocks;
    if (made && level_count) memcpy(groups->blocks, blocks, level_count * sizeof *blocks);
    if (made) made = by == FM_BY_OBJECT ? group_objects(&maker) : group_sites(&maker);
    fm_table_clear(&maker.numbers);
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

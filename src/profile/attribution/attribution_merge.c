/* SPDX-License-Identifier: Apache-2.0 */
/*
 * attribution_merge.c - see attribution_merge.h. Each of the two is taken in one after the other: everything
 * in it gets a number in the sum, that of something equal or a new one. Linear but for the sorting of pairs.
 */
#include "profile/attribution/attribution_merge.h"

#include "base/error.h"
#include "base/memory.h"
#include "base/table.h"
#include "profile/attribution/latencies.h"
#include "profile/attribution/pair_errors.h"
#include "profile/attribution/places.h"
#include "profile/attribution/sources.h"
#include "profile/range_counts.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Numbers in the sum, by number in what is taken in. */
typedef struct numbers {
    uint32_t *modules, *sites, *paths, *objects;
} numbers;

typedef struct sum_builder {
    fm_attribution *sum; /* while it is built, its arrays come from malloc and grow */
    size_t module_room, site_room, path_room, object_room;
    fm_table modules, sites, paths, objects, frames;
    fm_range_counts pairs, uses;
    fm_error *error;
} sum_builder;

static fm_status no_memory_for_sum(const sum_builder *into)
{
    return fm_fail_memory(into->error, 1 << 16, "the sum of two attributions");
}

bool fm_attribution_alike(const fm_attribution *a, const fm_attribution *b)
{
    return a->late_from == b->late_from && a->edge_count == b->edge_count &&
           (a->edge_count == 0 || memcmp(a->edges, b->edges, a->edge_count * sizeof *a->edges) == 0);
}

/* A text of the sum's own; NULL stays NULL. */
static bool sum_own(const sum_builder *into, const char **text)
{
    if (!*text) return true;
    *text = fm_attribution_intern(into->sum, *text);
    return *text != NULL;
}

static uint64_t word_of(const char *text)
{
    return (uint64_t)(uintptr_t)text; /* interned: equal texts, equal words */
}

static uint32_t sum_renumbered(const uint32_t *by, uint32_t number)
{
    return number == FM_NONE ? FM_NONE : by[number];
}

/* Room for one more in an array from malloc. */
static bool sum_reserve(void *array_pointer, size_t *room, size_t count, size_t size)
{
    void *array;
    memcpy(&array, array_pointer, sizeof array);
    if (count >= FM_NONE || fm_array_reserve(&array, room, count + 1, size)) return false;
    memcpy(array_pointer, &array, sizeof array);
    return true;
}

/* The number of the key in a table; *is_new: it had none. */
static bool number_of(fm_table *table, fm_key key, uint32_t *number, bool *is_new)
{
    *number = fm_table_number(table, fm_table_put(table, &key, is_new));
    return *number != FM_KEY_NONE;
}

static fm_status add_modules(sum_builder *into, const fm_attribution *from, const numbers *as)
{
    for (size_t i = 0; i < from->module_count; i++) {
        fm_attribution *sum = into->sum;
        fm_module module = from->modules[i];
        bool is_new;
        if (!sum_own(into, &module.path) || !sum_own(into, &module.build_id) ||
            !sum_reserve(&sum->modules, &into->module_room, sum->module_count, sizeof module) ||
            !number_of(&into->modules, (fm_key){word_of(module.path), word_of(module.build_id), 0},
                       &as->modules[i], &is_new))
            return no_memory_for_sum(into);
        if (is_new) sum->modules[sum->module_count++] = module;
        /* What was seen in one of the runs was seen. */
        else
            sum->modules[as->modules[i]].unseen &= module.unseen;
    }
    return FM_OK;
}

static bool own_names(sum_builder *into, fm_site *site)
{
    if (!sum_own(into, &site->symbol)) return false;
    if (site->frame_count == 0) return true;
    fm_frame *frames = fm_attribution_allocate(into->sum, site->frame_count, sizeof *frames);
    if (!frames) return false;
    memcpy(frames, site->frames, site->frame_count * sizeof *frames);
    site->frames = frames;
    for (size_t i = 0; i < site->frame_count; i++)
        if (!sum_own(into, &frames[i].function) || !sum_own(into, &frames[i].file)) return false;
    return true;
}

/* A place in the source is known by its frames: b becomes their number, from the outermost on. */
static bool key_of_place(sum_builder *into, const fm_site *site, fm_key *key)
{
    static const char place; /* no text has its address */
    uint32_t node = FM_NONE;
    for (size_t i = site->frame_count; i-- > 0;) {
        fm_frame frame = site->frames[i];
        bool is_new;
        if (!sum_own(into, &frame.function) || !sum_own(into, &frame.file)) return false;
        fm_key step = {word_of(frame.function), word_of(frame.file), (uint64_t)frame.line << 32 | node};
        if (!number_of(&into->frames, step, &node, &is_new)) return false;
    }
    key->b = (uint64_t)site->frames[0].column << 32 | node;
    key->c = word_of(&place);
    return true;
}

/* path: its number in the sum. */
static fm_status add_site(sum_builder *into, const fm_site *from, uint32_t path, const numbers *as,
                          uint32_t *number)
{
    fm_attribution *sum = into->sum;
    fm_site site = *from;
    site.module = sum_renumbered(as->modules, from->module);
    site.path = path;
    fm_key key = {(uint64_t)site.module << 32 | site.path, site.address, 0};
    /* Code without a module and without an address is known by its name alone: the site "unknown". */
    const char *name = site.module == FM_NONE ? site.symbol : NULL;
    bool is_new;
    if (!sum_own(into, &name)) return no_memory_for_sum(into);
    key.c = word_of(name);
    if (fm_site_is_place(&site) && !key_of_place(into, &site, &key)) return no_memory_for_sum(into);
    if (!sum_reserve(&sum->sites, &into->site_room, sum->site_count, sizeof site) ||
        !number_of(&into->sites, key, number, &is_new))
        return no_memory_for_sum(into);
    if (!is_new) {
        fm_site *known = &sum->sites[*number];
        if (known->frame_count || (known->symbol && !site.frame_count)) return FM_OK;
        site.module = known->module;
    }
    if (!own_names(into, &site)) return no_memory_for_sum(into);
    sum->sites[*number] = site;
    if (is_new) sum->site_count++;
    return FM_OK;
}

/*
 * Sites and paths refer to each other: a site stands at the end of a path, and a path's last step is a site
 * (the call). Sites without a path come first, then paths from the outermost on, each with its call; a call
 * that has a path itself, whose number is not known yet, loses it. Then the other sites.
 */
static fm_status add_sites(sum_builder *into, const fm_attribution *from, const numbers *as)
{
    fm_status status = FM_OK;
    for (size_t i = 0; i < from->site_count && !status; i++)
        if (from->sites[i].path == FM_NONE)
            status = add_site(into, &from->sites[i], FM_NONE, as, &as->sites[i]);
    for (size_t i = 0; i < from->path_count && !status; i++) {
        fm_attribution *sum = into->sum;
        fm_call_path path = from->paths[i];
        const fm_site *call = &from->sites[path.call];
        uint32_t call_number = as->sites[path.call];
        if (call->path != FM_NONE)
            status = add_site(into, call, call->path < i ? as->paths[call->path] : FM_NONE, as, &call_number);
        if (status) return status;
        path = (fm_call_path){sum_renumbered(as->paths, path.parent), call_number};
        bool is_new;
        if (!sum_reserve(&sum->paths, &into->path_room, sum->path_count, sizeof path) ||
            !number_of(&into->paths, (fm_key){path.parent, path.call, 0}, &as->paths[i], &is_new))
            return no_memory_for_sum(into);
        if (is_new) sum->paths[sum->path_count++] = path;
    }
    for (size_t i = 0; i < from->site_count && !status; i++)
        if (from->sites[i].path != FM_NONE)
            status = add_site(into, &from->sites[i], as->paths[from->sites[i].path], as, &as->sites[i]);
    return status;
}

static fm_status add_objects(sum_builder *into, const fm_attribution *from, const numbers *as)
{
    for (size_t i = 0; i < from->object_count; i++) {
        fm_attribution *sum = into->sum;
        fm_object object = from->objects[i];
        object.module = sum_renumbered(as->modules, object.module);
        object.allocation = sum_renumbered(as->paths, object.allocation);
        bool is_new;
        if (!sum_own(into, &object.name)) return no_memory_for_sum(into);
        fm_key key = {(uint64_t)object.kind << 32 | object.module,
                      object.kind == FM_OBJECT_HEAP ? object.allocation : object.address,
                      object.kind == FM_OBJECT_STACK ? object.thread : word_of(object.name)};
        if (!sum_reserve(&sum->objects, &into->object_room, sum->object_count, sizeof object) ||
            !number_of(&into->objects, key, &as->objects[i], &is_new))
            return no_memory_for_sum(into);
        if (is_new) {
            sum->objects[sum->object_count++] = object;
            continue;
        }
        fm_object *known = &sum->objects[as->objects[i]];
        known->error = (uint64_t)fmin(hypot((double)known->error, (double)object.error), 0x1p62);
        if (__builtin_add_overflow(known->samples, object.samples, &known->samples))
            known->samples = UINT64_MAX;
        if (object.kind == FM_OBJECT_HEAP) {
            if (__builtin_add_overflow(known->size, object.size, &known->size)) known->size = UINT64_MAX;
            if (__builtin_add_overflow(known->blocks, object.blocks, &known->blocks))
                known->blocks = UINT64_MAX;
        }
    }
    return FM_OK;
}

static fm_status add_counts(sum_builder *into, const fm_attribution *from, const numbers *as)
{
    fm_status status = FM_OK;
    for (size_t i = 0; i < from->pair_count && !status; i++) {
        const fm_pair *pair = &from->pairs[i];
        status = fm_range_counts_add_bins(&into->pairs, from, as->sites[pair->reuse],
                                          sum_renumbered(as->sites, pair->use), pair->cold, pair->beyond,
                                          pair->bins, pair->bin_count, into->error);
    }
    for (size_t i = 0; i < from->object_use_count && !status; i++) {
        const fm_object_use *use = &from->object_uses[i];
        status = fm_range_counts_add_bins(&into->uses, from, as->objects[use->object], as->sites[use->site],
                                          use->cold, use->beyond, use->bins, use->bin_count, into->error);
    }
    return status;
}

static fm_status merge_into(sum_builder *into, const fm_attribution *from)
{
    numbers as = {
        fm_calloc(from->module_count, sizeof(uint32_t)), fm_calloc(from->site_count, sizeof(uint32_t)),
        fm_calloc(from->path_count, sizeof(uint32_t)), fm_calloc(from->object_count, sizeof(uint32_t))};
    fm_status status = FM_E_NOMEM;
    if (as.modules && as.sites && as.paths && as.objects) {
        status = add_modules(into, from, &as);
        if (!status) status = add_sites(into, from, &as);
        if (!status) status = add_objects(into, from, &as);
        if (!status) status = add_counts(into, from, &as);
        if (!status) status = fm_site_latencies_merge(into->sum, from, as.sites, into->error);
        if (!status) status = fm_pair_errors_merge(into->sum, from, as.sites, into->error);
    } else {
        no_memory_for_sum(into);
    }
    free(as.modules);
    free(as.sites);
    free(as.paths);
    free(as.objects);
    return status;
}

/* From malloc's memory into the sum's own. */
static bool move_into_sum(fm_attribution *sum, void *array_pointer, size_t count, size_t size)
{
    void *array;
    memcpy(&array, array_pointer, sizeof array);
    void *moved = count ? fm_attribution_allocate(sum, count, size) : NULL;
    if (moved) memcpy(moved, array, count * size);
    free(array);
    memcpy(array_pointer, &moved, sizeof moved);
    return moved || count == 0;
}

fm_status fm_attribution_sum(fm_attribution **sum, const fm_attribution *a, const fm_attribution *b,
                             fm_error *error)
{
    sum_builder into = {.modules = FM_TABLE_OF(fm_key),
                        .sites = FM_TABLE_OF(fm_key),
                        .paths = FM_TABLE_OF(fm_key),
                        .objects = FM_TABLE_OF(fm_key),
                        .frames = FM_TABLE_OF(fm_key),
                        .error = error};
    fm_status status = fm_attribution_create(&into.sum, error);
    if (status) return status;
    fm_attribution *made = into.sum;
    made->late_from = a->late_from;
    if (a->edge_count) status = fm_attribution_set_edges(made, a->edges, a->edge_count, a->late_from, error);
    if (!status) status = merge_into(&into, a);
    if (!status && b) status = merge_into(&into, b);
    bool moved = move_into_sum(made, &made->modules, made->module_count, sizeof *made->modules);
    moved &= move_into_sum(made, &made->sites, made->site_count, sizeof *made->sites);
    moved &= move_into_sum(made, &made->paths, made->path_count, sizeof *made->paths);
    moved &= move_into_sum(made, &made->objects, made->object_count, sizeof *made->objects);
    if (!status && !moved) status = no_memory_for_sum(&into);
    if (!status) status = fm_sources_add_up(made, a, b, error);
    if (!status) status = fm_range_counts_to_pairs(&into.pairs, made, error);
    if (!status) status = fm_range_counts_to_uses(&into.uses, made, error);
    fm_table_clear(&into.modules);
    fm_table_clear(&into.sites);
    fm_table_clear(&into.paths);
    fm_table_clear(&into.objects);
    fm_table_clear(&into.frames);
    fm_range_counts_clear(&into.pairs);
    fm_range_counts_clear(&into.uses);
    if (status) {
        fm_attribution_destroy(made);
        made = NULL;
    }
    *sum = made;
    return status;
}

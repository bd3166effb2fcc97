/* SPDX-License-Identifier: Apache-2.0 */
/*
 * object_describe.c - what an object map counted, as objects and their uses in an attribution. Counts nothing
 * itself.
 */
#include "base/error.h"
#include "base/memory.h"
#include "profile/attribution/attribution_grow.h"
#include "profile/range_counts.h"
#include "program/object_map.h"

#include <stdlib.h>
#include <string.h>

typedef struct ranked {
    uint64_t count;
    uint32_t object;
    const fm_counted_object *what;
} ranked;

static int compare(uint64_t a, uint64_t b)
{
    return (a > b) - (a < b);
}

/* Then by what they are: their numbers depend on the order in which threads counted late references. */
static int largest_first(const void *a, const void *b)
{
    const ranked *x = a, *y = b;
    int order = compare(y->count, x->count);
    if (order == 0) order = compare(x->what->kind, y->what->kind);
    if (order == 0) order = compare(x->what->number, y->what->number);
    if (order == 0) order = compare(x->what->address, y->what->address);
    return order ? order : compare(x->object, y->object);
}

static fm_status fill_object(const fm_object_map *map, const fm_counted_object *from,
                             fm_attribution *attribution, const uint32_t *paths, size_t path_count,
                             fm_object *to, fm_error *error)
{
    *to = (fm_object){.kind = from->kind, .module = FM_NONE, .allocation = FM_NONE};
    switch (from->kind) {
    case FM_OBJECT_THREAD_LOCAL:
    case FM_OBJECT_GLOBAL:
        to->address = from->name ? from->address : 0;
        to->size = from->size;
        to->name = from->name ? fm_attribution_intern(attribution, from->name) : NULL;
        if (from->name && !to->name) return fm_object_map_no_memory(error);
        /* fallthrough */
    case FM_OBJECT_MODULE:
        if (from->number < attribution->module_count) to->module = from->number;
        break;
    case FM_OBJECT_HEAP:
        to->blocks = map->by_context[from->number].blocks;
        to->size = map->by_context[from->number].bytes;
        if (from->number < path_count) to->allocation = paths[from->number];
        break;
    case FM_OBJECT_STACK:
        to->thread = from->number;
        break;
    case FM_OBJECT_OTHER:
    case FM_OBJECT_ARRAY: /* of source code that was not run: never here */
        break;
    }
    return FM_OK;
}

fm_status fm_object_unknown_site(fm_attribution *attribution, uint32_t *site, fm_error *error)
{
    static const char symbol[] = "unknown"; /* as fm_attribution_add_pairs has it */
    for (size_t i = 0; i < attribution->site_count; i++) {
        const fm_site *at = &attribution->sites[i];
        if (at->module != FM_NONE || at->address != 0 || !at->symbol || strcmp(at->symbol, symbol) != 0)
            continue;
        *site = (uint32_t)i;
        return FM_OK;
    }
    fm_site *sites =
        fm_attribution_grow(attribution, attribution->sites, attribution->site_count, 1, sizeof *sites);
    const char *name = fm_attribution_intern(attribution, symbol);
    if (!sites || !name) return fm_object_map_no_memory(error);
    sites[attribution->site_count] = (fm_site){.module = FM_NONE, .path = FM_NONE, .symbol = name};
    *site = (uint32_t)attribution->site_count++;
    attribution->sites = sites;
    return FM_OK;
}

/* New objects, in order of how often they were counted; place[object] is where each went. */
static fm_status add_objects(const fm_object_map *map, fm_attribution *attribution, const uint32_t *paths,
                             size_t path_count, ranked *order, uint32_t *place, fm_error *error)
{
    size_t before = attribution->object_count, count = 0;
    for (size_t i = 0; i < map->object_count; i++) order[i] = (ranked){0, (uint32_t)i, &map->objects[i]};
    for (size_t i = 0; i < map->counts.slot_count; i++) {
        const fm_object_count *at = &map->counts.slots[i];
        if (at->key) order[fm_object_count_object(at)].count += at->count;
    }
    qsort(order, map->object_count, sizeof *order, largest_first);
    while (count < map->object_count && order[count].count > 0) count++;
    fm_object *objects =
        fm_attribution_grow(attribution, attribution->objects, before, count, sizeof *objects);
    if (!objects) return fm_object_map_no_memory(error);
    for (size_t i = 0; i < count; i++) {
        place[order[i].object] = (uint32_t)(before + i);
        fm_status status = fill_object(map, &map->objects[order[i].object], attribution, paths, path_count,
                                       &objects[before + i], error);
        if (status != FM_OK) return status;
    }
    attribution->objects = objects;
    attribution->object_count = before + count;
    return FM_OK;
}

static fm_status add_uses(const fm_object_map *map, fm_attribution *attribution, const uint32_t *sites,
                          size_t site_count, const uint32_t *place, fm_error *error)
{
    fm_range_counts counts = {0};
    fm_status status = FM_OK;
    uint32_t unknown = FM_NONE;
    for (size_t i = 0; i < attribution->object_use_count && status == FM_OK; i++) {
        const fm_object_use *use = &attribution->object_uses[i];
        status = fm_range_counts_add_bins(&counts, attribution, use->object, use->site, use->cold,
                                          use->beyond, use->bins, use->bin_count, error);
    }
    for (size_t i = 0; i < map->counts.slot_count && status == FM_OK; i++) {
        const fm_object_count *at = &map->counts.slots[i];
        if (!at->key) continue;
        uint32_t tag = fm_object_count_tag(at), range = fm_object_count_range(at);
        uint32_t site = tag < site_count ? sites[tag] : FM_NONE;
        if (range >= attribution->edge_count && range != FM_RANGE_COLD && range != FM_RANGE_BEYOND)
            status = fm_fail(error, FM_E_ARGUMENT, NULL, "a late reference is in the range %u of %zu", range,
                             attribution->edge_count);
        if (status == FM_OK && site >= attribution->site_count) {
            if (unknown == FM_NONE) status = fm_object_unknown_site(attribution, &unknown, error);
            site = unknown;
        }
        if (status == FM_OK) {
            fm_range_count item = {place[fm_object_count_object(at)], site, range, at->count};
            status = fm_range_counts_add(&counts, item, error);
        }
    }
    if (status == FM_OK) status = fm_range_counts_to_uses(&counts, attribution, error);
    fm_range_counts_clear(&counts);
    return status;
}

fm_status fm_object_map_describe(fm_object_map *map, fm_attribution *attribution, const uint32_t *sites,
                                 size_t site_count, const uint32_t *paths, size_t path_count, fm_error *error)
{
    ranked *order = fm_calloc(map->object_count, sizeof *order);
    uint32_t *place = fm_calloc(map->object_count, sizeof *place);
    fm_status status;
    if (order && place) {
        status = add_objects(map, attribution, paths, path_count, order, place, error);
        if (status == FM_OK) status = add_uses(map, attribution, sites, site_count, place, error);
    } else {
        status = fm_object_map_no_memory(error);
    }
    free(order);
    free(place);
    return status;
}

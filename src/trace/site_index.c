/* SPDX-License-Identifier: Apache-2.0 */
/*
 * site_index.c - code addresses to small numbers, in order of appearance, and back to where that code is.
 *
 * A direct-mapped cache stands in front of the hash table: the sites of a program's hot loops are few, and
 * looking one of them up costs a load and a comparison.
 */
#include "trace/site_index.h"

#include "base/error.h"
#include "base/memory.h"
#include "base/table.h"

#include <fathom/attribution.h>
#include <stdlib.h>
#include <string.h>

enum { CACHE_BITS = 14, CACHE = 1 << CACHE_BITS };

typedef struct cached {
    uint64_t site;
    uint32_t tag;
} cached;

struct fm_site_index {
    cached cache[CACHE];
    fm_table sites; /* addresses; of tag t at t - 1 */
};

static inline size_t cache_place(uint64_t site)
{
    return (size_t)(site ^ site >> CACHE_BITS) & (CACHE - 1);
}

/* Every site is a valid one, so an empty place holds one that belongs elsewhere. */
static void empty_cache(fm_site_index *index)
{
    for (size_t i = 0; i < CACHE; i++) index->cache[i].site = i + 1;
}

fm_status fm_site_index_create(fm_site_index **index_out, fm_error *error)
{
    *index_out = NULL;
    fm_site_index *index = fm_pages_allocate(sizeof *index);
    if (!index) return fm_fail_memory(error, sizeof *index, "the table of code sites");
    index->sites = FM_TABLE_OF(uint64_t);
    empty_cache(index);
    *index_out = index;
    return FM_OK;
}

void fm_site_index_destroy(fm_site_index *index)
{
    if (!index) return;
    fm_table_clear(&index->sites);
    fm_pages_free(index, sizeof *index);
}

/* The tag of a site that the cache does not have; 0 where there is none left. */
static fm_status look_up(fm_site_index *index, uint64_t site, uint32_t *tag, fm_error *error)
{
    *tag = 0;
    const bool full = index->sites.count == FM_TAG_MAX;
    const uint64_t *known =
        full ? fm_table_find(&index->sites, &site) : fm_table_put(&index->sites, &site, NULL);
    if (!known && !full)
        return fm_fail_memory(error, fm_table_memory(&index->sites), "the table of code sites");
    *tag = fm_table_number(&index->sites, known) + 1; /* of FM_KEY_NONE: 0 */
    return FM_OK;
}

fm_status fm_site_index_tags(fm_site_index *index, const uint64_t *sites, size_t count, uint32_t *tags,
                             fm_error *error)
{
    FM_REQUIRE(index, error);
    for (size_t i = 0; i < count; i++) {
        cached *place = &index->cache[cache_place(sites[i])];
        if (place->site != sites[i]) {
            uint32_t tag;
            fm_status status = look_up(index, sites[i], &tag, error);
            if (status != FM_OK) return status;
            *place = (cached){sites[i], tag};
        }
        tags[i] = place->tag;
    }
    return FM_OK;
}

size_t fm_site_index_count(const fm_site_index *index)
{
    return index->sites.count;
}

void fm_site_index_truncate(fm_site_index *index, size_t count)
{
    fm_table_truncate(&index->sites, count);
    empty_cache(index);
}

/* ---- back to modules ---- */

/* Modules by where they begin; they may overlap (one was unloaded, another took its place). */
typedef struct span {
    uint64_t from, to;
    uint64_t reach; /* the largest `to` up to here */
    uint32_t module;
} span;

static int compare_spans(const void *a, const void *b)
{
    const span *x = a, *y = b;
    if (x->from != y->from) return x->from < y->from ? -1 : 1;
    return x->module < y->module ? -1 : x->module > y->module;
}

static uint32_t find_module(const span *spans, size_t count, uint64_t site)
{
    size_t low = 0, high = count; /* spans[low - 1].from <= site < spans[high].from */
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (spans[middle].from <= site)
            low = middle + 1;
        else
            high = middle;
    }
    while (low > 0 && spans[low - 1].reach > site) {
        low--;
        if (spans[low].to > site) return spans[low].module;
    }
    return FM_NONE;
}

static span *sort_modules(const fm_trace_module *modules, size_t count)
{
    span *spans = fm_calloc(count + 1, sizeof *spans);
    if (!spans) return NULL;
    for (size_t m = 0; m < count; m++)
        spans[m] = (span){.from = modules[m].from, .to = modules[m].to, .module = (uint32_t)m};
    qsort(spans, count, sizeof *spans, compare_spans);
    uint64_t reach = 0;
    for (size_t m = 0; m < count; m++) {
        if (spans[m].to > reach) reach = spans[m].to;
        spans[m].reach = reach;
    }
    return spans;
}

/* Modules behind those that the attribution has. */
static fm_status add_modules(fm_attribution *attribution, const fm_trace_module *modules, size_t count,
                             fm_error *error)
{
    size_t before = attribution->module_count;
    fm_module *all = fm_attribution_allocate(attribution, before + count + 1, sizeof *all);
    if (!all) return fm_fail_memory(error, (before + count + 1) * sizeof *all, "the modules of a profile");
    if (before > 0) memcpy(all, attribution->modules, before * sizeof *all);
    for (size_t m = 0; m < count; m++) {
        fm_module *added = &all[before + m];
        added->path = fm_attribution_intern(attribution, modules[m].path);
        added->bias = modules[m].bias;
        if (modules[m].build_id) added->build_id = fm_attribution_intern(attribution, modules[m].build_id);
        if (!added->path || (modules[m].build_id && !added->build_id))
            return fm_fail_memory(error, strlen(modules[m].path), "the modules of a profile");
    }
    attribution->modules = all;
    attribution->module_count = before + count;
    return FM_OK;
}

fm_status fm_site_index_describe(const fm_site_index *index, const fm_trace_module *modules,
                                 size_t module_count, fm_attribution *attribution, const uint32_t **map_out,
                                 size_t *map_count, fm_error *error)
{
    *map_out = NULL;
    *map_count = 0;
    FM_REQUIRE(index, error);
    FM_REQUIRE(attribution, error);
    const uint64_t *sites = index->sites.entries;
    const size_t count = index->sites.count;
    size_t first_module = attribution->module_count, before = attribution->site_count;
    fm_status status = add_modules(attribution, modules, module_count, error);
    if (status != FM_OK) return status;
    size_t bytes = (before + count + 1) * sizeof(fm_site);
    fm_site *all = fm_attribution_allocate(attribution, before + count + 1, sizeof *all);
    uint32_t *map = fm_attribution_allocate(attribution, count + 1, sizeof *map);
    span *spans = sort_modules(modules, module_count);
    if (!all || !map || !spans) {
        free(spans);
        return fm_fail_memory(error, bytes, "the code sites of a profile");
    }
    if (before > 0) memcpy(all, attribution->sites, before * sizeof *all);
    map[0] = FM_NONE;
    for (size_t t = 0; t < count; t++) {
        uint32_t module = find_module(spans, module_count, sites[t]);
        uint64_t bias = module == FM_NONE ? 0 : modules[module].bias;
        all[before + t] = (fm_site){
            .module = module == FM_NONE ? FM_NONE : (uint32_t)first_module + module,
            .address = sites[t] - bias,
            .path = FM_NONE,
        };
        map[t + 1] = (uint32_t)(before + t);
    }
    free(spans);
    attribution->sites = all;
    attribution->site_count = before + count;
    *map_out = map;
    *map_count = count + 1;
    return FM_OK;
}

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
#include "program/program.h"

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

static int by_beginning(const void *a, const void *b)
{
    const fm_address_range *x = a, *y = b;
    if (x->low != y->low) return x->low < y->low ? -1 : 1;
    return x->value < y->value ? -1 : x->value > y->value;
}

/* Where modules lie. They may overlap (one was unloaded, another took its place): then it is the one that
 * begins last, of those that begin there the last one. */
static fm_status place_modules(fm_address_ranges *places, const fm_trace_module *modules, size_t count,
                               fm_error *error)
{
    fm_address_range *sorted = fm_calloc(count + 1, sizeof *sorted);
    bool done = sorted != NULL;
    for (size_t m = 0; m < count && done; m++)
        sorted[m] = (fm_address_range){modules[m].from, modules[m].to, (uint32_t)m};
    if (done) qsort(sorted, count, sizeof *sorted, by_beginning);
    for (size_t m = 0; m < count && done; m++) done = fm_address_ranges_put(places, sorted[m]) == 0;
    free(sorted);
    return done ? FM_OK : fm_fail_memory(error, (count + 1) * sizeof *sorted, "the modules of a profile");
}

static fm_status describe_modules(fm_attribution *attribution, const fm_trace_module *modules, size_t count,
                                  fm_error *error)
{
    fm_module *made = fm_making_modules(attribution, count, error);
    fm_status status = made ? FM_OK : FM_E_NOMEM;
    for (size_t m = 0; m < count && status == FM_OK; m++)
        status = fm_making_module(attribution, &made[m], modules[m].path, modules[m].build_id,
                                  modules[m].bias, error);
    return status;
}

fm_status fm_site_index_describe(const fm_site_index *index, const fm_trace_module *modules,
                                 size_t module_count, fm_attribution *attribution, const uint32_t **map_out,
                                 size_t *map_count, fm_error *error)
{
    *map_out = NULL;
    *map_count = 0;
    FM_REQUIRE(index, error);
    FM_REQUIRE(attribution, error);
    const size_t first_module = attribution->module_count, first_site = attribution->site_count;
    const uint64_t *addresses = index->sites.entries;
    const size_t count = index->sites.count;
    fm_address_ranges places = {0};
    fm_status status = describe_modules(attribution, modules, module_count, error);
    if (status == FM_OK) status = place_modules(&places, modules, module_count, error);
    fm_site *sites = status == FM_OK ? fm_making_sites(attribution, count, error) : NULL;
    uint32_t *map = sites ? fm_making_map(attribution, count + 1, error) : NULL;
    for (size_t t = 0; t < count && map; t++) {
        const fm_address_range *in = fm_address_ranges_find(&places, addresses[t]);
        if (in) sites[t].module = (uint32_t)first_module + in->value;
        sites[t].address = addresses[t] - (in ? modules[in->value].bias : 0);
        map[t + 1] = (uint32_t)(first_site + t);
    }
    fm_address_ranges_clear(&places);
    if (!map) return status == FM_OK ? FM_E_NOMEM : status;
    *map_out = map;
    *map_count = count + 1;
    return FM_OK;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * site_index.c - code addresses to small numbers, in order of appearance, and back to where that code is.
 *
 * A direct-mapped cache stands in front of the hash table: the sites of a program's hot loops are few, and
 * looking one of them up costs a load and a comparison.
 */
#include "base/error.h"
#include "base/memory.h"
#include "base/table.h"
#include "program/program.h"
#include "trace/supply.h"

#include <fathom/attribution.h>
#include <pthread.h>
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

/* ---- site share ---- */

/* A site that came after the beginning. */
typedef struct shared_site {
    uint64_t site;
    uint64_t first; /* the least number of a reference that it has */
    uint32_t tag;
} shared_site;

typedef struct share_worker {
    fm_site_index *own; /* numbers of this thread */
    uint32_t *tag;      /* by its numbers, from 0 on, which is no site's */
    size_t known, room;
    shared_site *fresh; /* of one call */
    size_t fresh_room;
} share_worker;

struct fm_site_share {
    fm_site_index *index;
    size_t before; /* tags at the beginning */
    bool settled;
    pthread_mutex_t lock; /* of what follows, and of the index */
    shared_site *sites;   /* by tag, those after `before` */
    size_t count, room;
    unsigned workers;
    share_worker worker[];
};

fm_status fm_site_share_create(fm_site_share **made, fm_site_index *index, unsigned workers, fm_error *error)
{
    const size_t bytes = sizeof(fm_site_share) + workers * sizeof(share_worker);
    fm_site_share *share = *made = fm_calloc(1, bytes);
    if (!share) return fm_fail_memory(error, bytes, "code sites by several threads");
    share->index = index;
    share->before = fm_site_index_count(index);
    share->workers = workers;
    pthread_mutex_init(&share->lock, NULL);
    fm_status status = FM_OK;
    for (unsigned i = 0; i < workers && status == FM_OK; i++) {
        share_worker *worker = &share->worker[i];
        status = fm_site_index_create(&worker->own, error);
        if (status == FM_OK &&
            fm_array_reserve((void **)&worker->tag, &worker->room, 1, sizeof *worker->tag) != 0)
            status = fm_fail_memory(error, sizeof *worker->tag, "code sites by several threads");
        if (status == FM_OK) worker->tag[0] = 0;
    }
    if (status == FM_OK) return FM_OK;
    fm_site_share_destroy(share);
    *made = NULL;
    return status;
}

void fm_site_share_destroy(fm_site_share *share)
{
    if (!share) return;
    if (!share->settled) fm_site_index_truncate(share->index, share->before);
    for (unsigned i = 0; i < share->workers; i++) {
        fm_site_index_destroy(share->worker[i].own);
        free(share->worker[i].tag);
        free(share->worker[i].fresh);
    }
    pthread_mutex_destroy(&share->lock);
    free(share->sites);
    free(share);
}

/* ---- while threads read ---- */

/* Under the lock. After a failure the others may still come: the index has no site that is not here. */
static fm_status share_site(fm_site_share *share, shared_site *given, fm_error *error)
{
    if (fm_array_reserve((void **)&share->sites, &share->room, share->count + 1, sizeof *share->sites) != 0)
        return fm_fail_memory(error, (share->count + 1) * sizeof *share->sites,
                              "code sites by several threads");
    fm_status status = fm_site_index_tags(share->index, &given->site, 1, &given->tag, error);
    if (status != FM_OK) return status;
    if (given->tag == 0)
        return fm_fail(error, FM_E_LIMIT, NULL, "there are more than %u code sites", FM_TAG_MAX);
    if (given->tag <= share->before) return FM_OK;
    const size_t at = given->tag - share->before - 1;
    if (at == share->count)
        share->sites[share->count++] = *given;
    else if (given->first < share->sites[at].first)
        share->sites[at].first = given->first;
    return FM_OK;
}

/* Those that are new to this thread: its numbers for them are the next ones, in order of appearance. */
static fm_status learn_sites(fm_site_share *share, share_worker *worker, const uint64_t *sites, size_t count,
                             uint64_t first, const uint32_t *numbers, fm_error *error)
{
    const size_t fresh = fm_site_index_count(worker->own) - worker->known;
    if (fm_array_reserve((void **)&worker->fresh, &worker->fresh_room, fresh, sizeof *worker->fresh) != 0 ||
        fm_array_reserve((void **)&worker->tag, &worker->room, worker->known + fresh + 1,
                         sizeof *worker->tag) != 0)
        return fm_fail_memory(error, fresh * sizeof *worker->fresh, "code sites by several threads");
    size_t found = 0;
    for (size_t i = 0; i < count && found < fresh; i++)
        if (numbers[i] == worker->known + found + 1)
            worker->fresh[found++] = (shared_site){.site = sites[i], .first = first + i};
    fm_status status = FM_OK;
    pthread_mutex_lock(&share->lock);
    for (size_t i = 0; i < fresh && status == FM_OK; i++)
        status = share_site(share, &worker->fresh[i], error);
    pthread_mutex_unlock(&share->lock);
    for (size_t i = 0; i < fresh && status == FM_OK; i++) worker->tag[++worker->known] = worker->fresh[i].tag;
    return status;
}

fm_status fm_site_share_tags(fm_site_share *share, unsigned worker, const uint64_t *sites, size_t count,
                             uint64_t first, uint32_t *tags, fm_error *error)
{
    share_worker *self = &share->worker[worker];
    fm_status status = fm_site_index_tags(self->own, sites, count, tags, error);
    if (status == FM_OK && fm_site_index_count(self->own) > self->known)
        status = learn_sites(share, self, sites, count, first, tags, error);
    /* Then some may have none. */
    if (status == FM_OK && self->known == FM_TAG_MAX)
        status = fm_fail(error, FM_E_LIMIT, NULL, "there are too many code sites");
    if (status != FM_OK) return status;
    const uint32_t *const tag = self->tag;
    for (size_t i = 0; i < count; i++) tags[i] = tag[tags[i]];
    return FM_OK;
}

/* ---- in the end ---- */

static int by_first(const void *a, const void *b)
{
    const shared_site *x = a, *y = b;
    return x->first < y->first ? -1 : x->first > y->first;
}

static fm_status renumber_sites(fm_site_share *share, uint32_t *map, fm_error *error)
{
    fm_status status = FM_OK;
    qsort(share->sites, share->count, sizeof *share->sites, by_first);
    fm_site_index_truncate(share->index, share->before);
    for (size_t t = 0; t <= share->before; t++) map[t] = (uint32_t)t;
    for (size_t i = 0; i < share->count && status == FM_OK; i++)
        status = fm_site_index_tags(share->index, &share->sites[i].site, 1, &map[share->sites[i].tag], error);
    return status;
}

fm_status fm_site_share_settle(fm_site_share *share, uint32_t **map, size_t *map_count, fm_error *error)
{
    bool sorted = true;
    for (size_t i = 1; i < share->count && sorted; i++)
        sorted = share->sites[i - 1].first < share->sites[i].first;
    *map = NULL;
    *map_count = share->before + share->count + 1;
    share->settled = sorted;
    if (sorted) return FM_OK;
    *map = fm_calloc(*map_count, sizeof **map);
    if (!*map) return fm_fail_memory(error, *map_count * sizeof **map, "code sites by several threads");
    const fm_status status = renumber_sites(share, *map, error);
    share->settled = status == FM_OK;
    if (status == FM_OK) return FM_OK;
    free(*map);
    *map = NULL;
    return status;
}

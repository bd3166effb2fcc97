/* SPDX-License-Identifier: Apache-2.0 */
/*
 * attribution.c - creating, filling and destroying an attribution; how many of its pairs miss.
 *
 * Everything in an attribution lies in its arena. It does not find names for code addresses (src/symbols) nor
 * join attributions (attribution_merge.c).
 */
#include <fathom/attribution.h>
#include <fathom/profile.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/table.h"
#include "profile/attribution/attribution_grow.h"
#include "profile/range_counts.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static const char unknown_site[] = "unknown";

fm_status fm_attribution_create(fm_attribution **attribution, fm_error *error)
{
    *attribution = NULL;
    fm_attribution *made = fm_calloc(1, sizeof *made);
    if (made) made->arena = fm_arena_create();
    if (!made || !made->arena) {
        free(made);
        return fm_fail_memory(error, sizeof *made, "an attribution");
    }
    *attribution = made;
    return FM_OK;
}

void fm_attribution_destroy(fm_attribution *attribution)
{
    if (!attribution) return;
    fm_arena_destroy(attribution->arena);
    free(attribution);
}

void *fm_attribution_allocate(fm_attribution *attribution, size_t count, size_t size)
{
    return fm_arena_allocate(attribution->arena, count, size);
}

const char *fm_attribution_intern(fm_attribution *attribution, const char *text)
{
    return fm_arena_intern(attribution->arena, text);
}

void *fm_attribution_grow(fm_attribution *attribution, const void *array, size_t count, size_t more,
                          size_t size)
{
    size_t all;
    if (__builtin_add_overflow(count, more, &all)) return NULL;
    void *grown = fm_attribution_allocate(attribution, all, size);
    if (grown && count) memcpy(grown, array, count * size);
    return grown;
}

fm_status fm_attribution_set_edges(fm_attribution *attribution, const uint64_t *edges, size_t count,
                                   uint64_t late_from, fm_error *error)
{
    FM_REQUIRE(attribution, error);
    if (count == 0 || count > FM_MOST_EDGES)
        return fm_fail(error, FM_E_ARGUMENT, NULL, "expected 1 to %d edges of distances, found %zu",
                       (int)FM_MOST_EDGES, count);
    if (edges[0] != 0)
        return fm_fail(error, FM_E_ARGUMENT, NULL, "expected edges of distances from 0 on, found %" PRIu64,
                       edges[0]);
    for (size_t i = 1; i < count; i++)
        if (edges[i] <= edges[i - 1])
            return fm_fail(error, FM_E_ARGUMENT, NULL,
                           "expected ascending edges of distances, found %" PRIu64 " after %" PRIu64,
                           edges[i], edges[i - 1]);
    if (attribution->pair_count || attribution->object_use_count)
        return fm_fail(error, FM_E_ARGUMENT, NULL, "edges of distances are set before anything is counted");
    uint64_t *copy = fm_attribution_allocate(attribution, count, sizeof *copy);
    if (!copy) return fm_fail_memory(error, (uint64_t)count * sizeof *copy, "edges of distances");
    memcpy(copy, edges, count * sizeof *copy);
    attribution->edges = copy;
    attribution->edge_count = count;
    attribution->late_from = late_from;
    return FM_OK;
}

/* ---- pairs ---- */

/* The one site that stands for reuses by code that nobody knows. */
static fm_status find_unknown(fm_attribution *attribution, uint32_t *site, fm_error *error)
{
    for (size_t i = 0; i < attribution->site_count; i++) {
        const fm_site *at = &attribution->sites[i];
        if (at->module == FM_NONE && at->address == 0 && at->symbol &&
            strcmp(at->symbol, unknown_site) == 0) {
            *site = (uint32_t)i;
            return FM_OK;
        }
    }
    const char *symbol = fm_attribution_intern(attribution, unknown_site);
    fm_site *sites =
        fm_attribution_grow(attribution, attribution->sites, attribution->site_count, 1, sizeof *sites);
    if (!symbol || !sites || attribution->site_count >= FM_NONE)
        return fm_fail_memory(error, (uint64_t)(attribution->site_count + 1) * sizeof *sites, "sites");
    sites[attribution->site_count] = (fm_site){.module = FM_NONE, .path = FM_NONE, .symbol = symbol};
    attribution->sites = sites;
    *site = (uint32_t)attribution->site_count++;
    return FM_OK;
}

static uint32_t site_of(uint32_t tag, const uint32_t *map, size_t map_count)
{
    return tag && tag < map_count ? map[tag] : FM_NONE;
}

static fm_status add_raw(fm_range_counts *counts, fm_attribution *attribution, const fm_raw_pair *raw,
                         const uint32_t *map, size_t map_count, uint32_t *unknown, fm_error *error)
{
    fm_range_count item = {site_of(raw->reuse, map, map_count), site_of(raw->use, map, map_count), raw->range,
                           raw->count};
    if (raw->range >= attribution->edge_count && raw->range != FM_RANGE_COLD && raw->range != FM_RANGE_BEYOND)
        return fm_fail(error, FM_E_ARGUMENT, NULL, "a pair is in the range %" PRIu32 " of %zu", raw->range,
                       attribution->edge_count);
    if ((item.major != FM_NONE && item.major >= attribution->site_count) ||
        (item.minor != FM_NONE && item.minor >= attribution->site_count))
        return fm_fail(error, FM_E_ARGUMENT, NULL, "a pair is of the site %" PRIu32 " of %zu",
                       item.major == FM_NONE || item.major < attribution->site_count ? item.minor
                                                                                     : item.major,
                       attribution->site_count);
    if (item.major == FM_NONE && raw->count) {
        if (*unknown == FM_NONE) {
            fm_status status = find_unknown(attribution, unknown, error);
            if (status) return status;
        }
        item.major = *unknown;
    }
    return fm_range_counts_add(counts, item, error);
}

fm_status fm_attribution_add_pairs(fm_attribution *attribution, const fm_raw_pair *raw, size_t count,
                                   const uint32_t *map, size_t map_count, fm_error *error)
{
    FM_REQUIRE(attribution, error);
    fm_range_counts counts = {0};
    uint32_t unknown = FM_NONE;
    fm_status status = FM_OK;
    for (size_t i = 0; i < attribution->pair_count && !status; i++) {
        const fm_pair *pair = &attribution->pairs[i];
        status = fm_range_counts_add_bins(&counts, attribution, pair->reuse, pair->use, pair->cold,
                                          pair->beyond, pair->bins, pair->bin_count, error);
    }
    for (size_t i = 0; i < count && !status; i++)
        status = add_raw(&counts, attribution, &raw[i], map, map_count, &unknown, error);
    if (!status) status = fm_range_counts_to_pairs(&counts, attribution, error);
    fm_range_counts_clear(&counts);
    return status;
}

/* ---- misses ---- */

static double interpolated_misses(uint64_t always, const fm_bin *bins, size_t count, uint64_t blocks)
{
    uint64_t whole = always;
    double part = 0;
    for (size_t i = 0; i < count; i++) {
        const fm_bin *bin = &bins[i];
        if (bin->lo >= blocks) {
            whole += bin->count;
        } else if (bin->hi >= blocks) {
            double width = (double)(bin->hi - bin->lo) + 1;
            part += (double)bin->count * ((double)(bin->hi - blocks) + 1) / width;
        }
    }
    return (double)whole + part;
}

double fm_pair_misses(const fm_pair *pair, uint64_t blocks)
{
    return interpolated_misses(pair->cold + pair->beyond, pair->bins, pair->bin_count, blocks);
}

double fm_object_use_misses(const fm_object_use *use, uint64_t blocks)
{
    return interpolated_misses(use->cold + use->beyond, use->bins, use->bin_count, blocks);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* attribution.c - which code and which data: made, grown, and without what nothing refers to. */
#include "base/error.h"
#include "base/memory.h"
#include "base/table.h"
#include "profile/attribution_parts.h"
#include "profile/profile_parts.h"

#include <fathom/attribution.h>
#include <fathom/profile.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/*
 * Creating, filling and destroying an attribution; how many of its pairs miss.
 *
 * Everything in an attribution lies in its arena. It does not find names for code addresses (src/symbols) nor
 * join attributions (attribution_merge.c).
 */

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

/* ======== places ======== */

/* Sites by file and line. Linear in the sites that there are and those that are added. */

typedef struct known_place {
    fm_key key;
    uint32_t site;
} known_place;

/* The frame with texts of the attribution's own, and the site that has it: `next` where none had. */
static bool number_place(fm_table *table, fm_attribution *attribution, fm_frame *frame, size_t next,
                         uint32_t *number)
{
    if (frame->function) {
        frame->function = fm_attribution_intern(attribution, frame->function);
        if (!frame->function) return false;
    }
    frame->file = fm_attribution_intern(attribution, frame->file);
    if (!frame->file) return false;
    const fm_key key = {(uint64_t)(uintptr_t)frame->function, (uint64_t)(uintptr_t)frame->file,
                        (uint64_t)frame->line << 32 | frame->column};
    bool fresh;
    known_place *known = fm_table_put(table, &key, &fresh);
    if (!known) return false;
    if (fresh) known->site = (uint32_t)next;
    *number = known->site;
    return true;
}

fm_status fm_attribution_add_places(fm_attribution *attribution, const fm_frame *places, size_t count,
                                    uint32_t *sites, fm_error *error)
{
    FM_REQUIRE(attribution, error);
    for (size_t i = 0; i < count; i++)
        if (!places[i].file || !places[i].file[0] || !places[i].line)
            return fm_fail(error, FM_E_ARGUMENT, NULL,
                           "place %zu of %zu: expected a file and a line from 1 on", i + 1, count);
    if (count == 0) return FM_OK;
    size_t next = attribution->site_count;
    fm_table table = FM_TABLE(known_place, site);
    fm_site *grown = fm_attribution_grow(attribution, attribution->sites, next, count, sizeof *grown);
    fm_frame *frames = fm_attribution_allocate(attribution, count, sizeof *frames);
    bool made = grown && frames && count < FM_NONE - next;
    for (size_t i = 0; i < attribution->site_count && made; i++) {
        const fm_site *site = &attribution->sites[i];
        if (!fm_site_is_place(site) || site->frame_count > 1 || site->path != FM_NONE) continue;
        fm_frame frame = site->frames[0];
        uint32_t number;
        if (frame.file) made = number_place(&table, attribution, &frame, i, &number);
    }
    for (size_t i = 0; i < count && made; i++) {
        frames[i] = places[i];
        made = number_place(&table, attribution, &frames[i], next, &sites[i]);
        if (made && sites[i] == next)
            grown[next++] =
                (fm_site){.module = FM_NONE, .path = FM_NONE, .frame_count = 1, .frames = &frames[i]};
    }
    fm_table_clear(&table);
    if (!made) return fm_fail_memory(error, ((uint64_t)next + count) * sizeof *grown, "sites");
    attribution->sites = grown;
    attribution->site_count = next;
    return FM_OK;
}

/* ======== latencies ======== */

static int by_site(const void *a, const void *b)
{
    const fm_site_latency *x = a, *y = b;
    return x->site < y->site ? -1 : x->site > y->site;
}

void fm_site_latencies_sort(fm_attribution *attribution)
{
    if (attribution->latency_count > 1)
        qsort(attribution->latencies, attribution->latency_count, sizeof *attribution->latencies, by_site);
}

static void add_up(fm_site_latency *into, const fm_site_latency *from)
{
    into->samples = fm_sum_at_most(into->samples, from->samples);
    into->timed = fm_sum_at_most(into->timed, from->timed);
    into->cycles = fm_sum_at_most(into->cycles, from->cycles);
    for (size_t i = 0; i < FM_MEMORY_LEVELS; i++)
        into->levels[i] = fm_sum_at_most(into->levels[i], from->levels[i]);
}

fm_status fm_site_latencies_merge(fm_attribution *sum, const fm_attribution *from, const uint32_t *sites,
                                  fm_error *error)
{
    if (from->latency_count == 0) return FM_OK;
    fm_site_latency *all =
        fm_attribution_grow(sum, sum->latencies, sum->latency_count, from->latency_count, sizeof *all);
    if (!all) return fm_fail_memory(error, from->latency_count * sizeof *all, "the latencies");
    for (size_t i = 0; i < from->latency_count; i++) {
        all[sum->latency_count + i] = from->latencies[i];
        all[sum->latency_count + i].site = sites[from->latencies[i].site];
    }
    sum->latencies = all;
    sum->latency_count += from->latency_count;
    fm_site_latencies_sort(sum);
    size_t kept = 0;
    for (size_t i = 1; i < sum->latency_count; i++)
        if (all[i].site == all[kept].site)
            add_up(&all[kept], &all[i]);
        else
            all[++kept] = all[i];
    sum->latency_count = kept + 1;
    return FM_OK;
}

const char *fm_site_latencies_wrong(const fm_attribution *attribution, size_t *row)
{
    for (size_t i = 0; i < attribution->latency_count; i++) {
        const fm_site_latency *each = &attribution->latencies[i];
        uint64_t sum = 0;
        bool fits = true;
        *row = i;
        if (each->site >= attribution->site_count) return "expected one of the sites, found another";
        if (i > 0 && each->site == attribution->latencies[i - 1].site) return "the site is there twice";
        for (size_t k = 0; k < FM_MEMORY_LEVELS; k++)
            fits &= !__builtin_add_overflow(sum, each->levels[k], &sum);
        if (!fits || sum != each->samples) return "the levels do not add up to the samples";
        if (each->timed > each->samples || (each->timed == 0 && each->cycles > 0))
            return "more are timed than there are";
    }
    return NULL;
}

/* ======== what nothing refers to ======== */

/*
 * Fm_attribution_drop_unused: who collects references knows many more sites and calls
 * than those of the references that were asked for. Cost: O(sites + paths + rows).
 */

/* New numbers, by old ones; while they are marked: 0 for what is used. */
typedef struct numbering {
    fm_attribution *of;
    uint32_t *sites, *paths;
} numbering;

/* ---- what is used ---- */

/* A path with the calls on it; those of one that is marked are, too. */
static void use_path(const numbering *n, uint32_t path)
{
    for (; path < n->of->path_count && n->paths[path] == FM_NONE; path = n->of->paths[path].parent) {
        n->paths[path] = 0;
        const uint32_t call = n->of->paths[path].call;
        if (call < n->of->site_count) n->sites[call] = 0;
    }
}

static void use_site(const numbering *n, uint32_t site)
{
    if (site >= n->of->site_count) return;
    n->sites[site] = 0;
    use_path(n, n->of->sites[site].path);
}

static void unused_mark(const numbering *n)
{
    const fm_attribution *of = n->of;
    for (size_t i = 0; i < of->pair_count; i++) {
        use_site(n, of->pairs[i].use);
        use_site(n, of->pairs[i].reuse);
    }
    for (size_t i = 0; i < of->object_use_count; i++) use_site(n, of->object_uses[i].site);
    for (size_t i = 0; i < of->latency_count; i++) use_site(n, of->latencies[i].site);
    for (size_t i = 0; i < of->object_count; i++) use_path(n, of->objects[i].allocation);
    /* Calls have no paths of their own, unless somebody gave them some. */
    for (bool more = true; more;) {
        more = false;
        for (size_t i = 0; i < of->site_count; i++) {
            const uint32_t path = of->sites[i].path;
            if (n->sites[i] == FM_NONE || path >= of->path_count || n->paths[path] != FM_NONE) continue;
            use_path(n, path);
            more = true;
        }
    }
}

/* ---- new numbers ---- */

static uint32_t unused_renumber(uint32_t *numbers, size_t count)
{
    uint32_t kept = 0;
    for (size_t i = 0; i < count; i++)
        if (numbers[i] != FM_NONE) numbers[i] = kept++;
    return kept;
}

static uint32_t new_number(const uint32_t *numbers, size_t count, uint32_t old)
{
    return old < count ? numbers[old] : old;
}

/* Of pairs that are there: one that is estimated at less than one reference is not. */
static void change_errors(const numbering *n)
{
    fm_attribution *of = n->of;
    size_t kept = 0;
    for (size_t i = 0; i < of->pair_error_count; i++) {
        fm_pair_error one = of->pair_errors[i];
        if (one.use < of->site_count && n->sites[one.use] == FM_NONE) continue;
        one.use = new_number(n->sites, of->site_count, one.use);
        one.reuse = new_number(n->sites, of->site_count, one.reuse);
        if (one.reuse != FM_NONE) of->pair_errors[kept++] = one;
    }
    of->pair_error_count = kept;
}

static void change_rows(const numbering *n)
{
    const fm_attribution *of = n->of;
    const size_t sites = of->site_count, paths = of->path_count;
    for (size_t i = 0; i < of->pair_count; i++) {
        of->pairs[i].use = new_number(n->sites, sites, of->pairs[i].use);
        of->pairs[i].reuse = new_number(n->sites, sites, of->pairs[i].reuse);
    }
    for (size_t i = 0; i < of->object_use_count; i++)
        of->object_uses[i].site = new_number(n->sites, sites, of->object_uses[i].site);
    for (size_t i = 0; i < of->latency_count; i++)
        of->latencies[i].site = new_number(n->sites, sites, of->latencies[i].site);
    for (size_t i = 0; i < of->object_count; i++)
        of->objects[i].allocation = new_number(n->paths, paths, of->objects[i].allocation);
    for (size_t i = 0; i < paths; i++) {
        if (n->paths[i] == FM_NONE) continue;
        of->paths[n->paths[i]] = (fm_call_path){.parent = new_number(n->paths, paths, of->paths[i].parent),
                                                .call = new_number(n->sites, sites, of->paths[i].call)};
    }
    for (size_t i = 0; i < sites; i++) {
        if (n->sites[i] == FM_NONE) continue;
        fm_site site = of->sites[i];
        site.path = new_number(n->paths, paths, site.path);
        of->sites[n->sites[i]] = site;
    }
}

fm_status fm_attribution_drop_unused(fm_attribution *attribution, fm_error *error)
{
    FM_REQUIRE(attribution, error);
    const size_t sites = attribution->site_count, paths = attribution->path_count;
    numbering n = {attribution, fm_calloc(sites + 1, sizeof *n.sites), fm_calloc(paths + 1, sizeof *n.paths)};
    if (!n.sites || !n.paths) {
        free(n.sites);
        free(n.paths);
        return fm_fail_memory(error, (sites + paths + 2) * sizeof *n.sites, "the numbers of sites");
    }
    for (size_t i = 0; i < sites; i++) n.sites[i] = FM_NONE;
    for (size_t i = 0; i < paths; i++) n.paths[i] = FM_NONE;
    unused_mark(&n);
    const uint32_t sites_kept = unused_renumber(n.sites, sites), paths_kept = unused_renumber(n.paths, paths);
    change_errors(&n);
    change_rows(&n);
    attribution->site_count = sites_kept;
    attribution->path_count = paths_kept;
    free(n.sites);
    free(n.paths);
    return FM_OK;
}

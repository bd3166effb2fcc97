/* SPDX-License-Identifier: Apache-2.0 */
/*
 * attribution_unused.c - fm_attribution_drop_unused: who collects references knows many more sites and calls
 * than those of the references that were asked for. Cost: O(sites + paths + rows).
 */
#include <fathom/attribution.h>

#include "base/error.h"
#include "base/memory.h"

#include <stdlib.h>

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

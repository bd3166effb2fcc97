/* SPDX-License-Identifier: Apache-2.0 */
/*
 * set_misses.c - misses of set-associative caches, for the addresses that the arrays of a region get
 * (fathom/static.h).
 *
 * Where a region has few accesses, all of them go through the caches. Else distances within a set are worked
 * out without a walk: of each merged interval of blocks, as many as are in the set.
 */
#include "base/crew.h"
#include "base/error.h"
#include "base/memory.h"
#include "static/counts/counts.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const uint64_t most_blocks = UINT64_C(1) << 26; /* of a cache that is simulated */

typedef struct simulated {
    fm_set_misses *of;
    uint64_t *blocks; /* [set * ways + n]: the n-th last used; its number and 1, 0: empty */
} simulated;

typedef struct walk_state {
    simulated *caches;
    size_t count;
    unsigned shift;
    double deadline;
} walk_state;

static bool touch_block(simulated *self, uint64_t block)
{
    const uint64_t ways = self->of->ways, tag = block + 1;
    uint64_t *set = self->blocks + block % self->of->sets * ways, carried = tag;
    for (uint64_t n = 0; n < ways; n++) {
        const uint64_t here = set[n];
        set[n] = carried;
        if (here == tag) return true;
        carried = here;
    }
    return false;
}

static fm_status visit_accesses(void *context, const uint64_t *addresses, const uint32_t *sizes,
                                const uint32_t *tags, size_t count, fm_error *error)
{
    walk_state *self = context;
    (void)tags;
    for (size_t c = 0; c < self->count; c++) {
        simulated *cache = &self->caches[c];
        for (size_t i = 0; i < count; i++) {
            const uint64_t last = (addresses[i] + sizes[i] - 1) >> self->shift;
            for (uint64_t block = addresses[i] >> self->shift; block <= last; block++) {
                cache->of->references++;
                cache->of->misses += !touch_block(cache, block);
            }
        }
    }
    if (fm_now() > self->deadline) return fm_fail(error, FM_E_LIMIT, NULL, "the time allowed is over");
    return FM_OK;
}

static fm_status simulate_caches(const fm_region *region, const fm_static_options *options, double deadline,
                                 fm_set_misses *caches, size_t count, fm_error *error)
{
    walk_state self = {.caches = fm_calloc(count + 1, sizeof *self.caches),
                       .count = count,
                       .shift = (unsigned)__builtin_ctzll(options->granularity),
                       .deadline = deadline};
    fm_status status = self.caches ? FM_OK : fm_fail_memory(error, count * sizeof *self.caches, "caches");
    for (size_t i = 0; i < count && status == FM_OK; i++) {
        const uint64_t blocks = caches[i].sets * caches[i].ways;
        self.caches[i] = (simulated){&caches[i], fm_calloc((size_t)blocks, sizeof(uint64_t))};
        caches[i].references = caches[i].misses = 0;
        if (!self.caches[i].blocks) status = fm_fail_memory(error, blocks * sizeof(uint64_t), "a cache");
    }
    if (status == FM_OK)
        status = fm_region_walk(region, options->granularity, options->layout, visit_accesses, &self, error);
    for (size_t i = 0; i < count && self.caches; i++) free(self.caches[i].blocks);
    free(self.caches);
    for (size_t i = 0; i < count && status == FM_OK; i++) {
        caches[i].least = caches[i].most = caches[i].misses;
        caches[i].certainty = "exact";
    }
    return status;
}

/* Is a walk worth a try? */
static bool few_accesses(const fm_region *region, const fm_static_options *options)
{
    fm_region_counts *counts;
    if (fm_region_count(region, options->limit_seconds / 4, &counts, NULL) != FM_OK) return false;
    const bool few = fm_counted_accesses(counts) <= FM_FEW_ACCESSES;
    fm_region_counts_destroy(counts);
    return few;
}

static const char *certainty_of(const fm_profile *profile)
{
    static const char *const words[] = {"exact", "reconstructed, checked"};
    for (size_t i = 0; i < 2; i++)
        if (strcmp(profile->kernel->certainty, words[i]) == 0) return words[i];
    return "sampled";
}

static fm_status work_out(const fm_region *region, const fm_static_options *options, double seconds,
                          fm_set_misses *cache, fm_error *error)
{
    fm_static_options how = *options;
    fm_profile *profile;
    how.sets = cache->sets;
    how.bins = FM_BINS_EXACT;
    how.edges = NULL;
    how.pairs = NULL;
    how.walk = NULL;
    how.limit_seconds = seconds;
    fm_status status = fm_region_profile(region, &how, &profile, error);
    if (status != FM_OK) return status;
    uint64_t hits = 0;
    for (size_t i = 0; i < profile->distances.count; i++)
        if (profile->distances.bins[i].lo < cache->ways) hits += profile->distances.bins[i].count;
    cache->references = profile->references;
    cache->misses = cache->least = cache->most = profile->references - hits;
    cache->certainty = certainty_of(profile);
    if (!profile->exact) {
        /* As for a miss ratio of the profile; the band's width is the same for all sizes. */
        const double draws = (double)profile->accuracy->samples;
        const double band = strcmp(cache->certainty, "sampled") == 0
                                ? sqrt(log(2 * exp(1) / 0.05) / (2 * draws))
                                : -log(0.05) / draws;
        const double off = band * (double)profile->references, misses = (double)cache->misses;
        cache->least = misses - off > (double)profile->cold ? (uint64_t)(misses - off) : profile->cold;
        cache->most =
            misses + off < (double)profile->references ? (uint64_t)(misses + off) : profile->references;
    }
    fm_profile_destroy(profile);
    return FM_OK;
}

static fm_status check_caches(const fm_static_options *options, const fm_set_misses *caches, size_t count,
                              fm_error *error)
{
    if (options->granularity == 0 || (options->granularity & (options->granularity - 1)))
        return fm_fail(error, FM_E_ARGUMENT, NULL, "the granularity must be a power of two");
    for (size_t i = 0; i < count; i++) {
        const fm_set_misses *one = &caches[i];
        if (one->sets == 0 || one->ways == 0 || one->sets > UINT32_MAX)
            return fm_fail(error, FM_E_ARGUMENT, NULL, "a cache has 1 to 2^32 - 1 sets, and 1 way at least");
        if (one->line && one->line != options->granularity)
            return fm_fail(error, FM_E_ARGUMENT, NULL, "the lines of '%.31s' are not the blocks", one->name);
    }
    return FM_OK;
}

fm_status fm_region_set_misses_sized(size_t options_size, const fm_region *region,
                                     const fm_static_options *options, fm_set_misses *caches, size_t count,
                                     fm_error *error)
{
    FM_REQUIRE(region, error);
    fm_static_options own;
    fm_status status =
        fm_sized_read(&own, sizeof own, options, options ? options_size : 0, "fm_static_options", error);
    if (status != FM_OK) return status;
    if (own.granularity == 0) own.granularity = 64;
    if (own.limit_seconds == 0) own.limit_seconds = 60;
    if ((status = check_caches(&own, caches, count, error)) != FM_OK || count == 0) return status;
    const double end = fm_now() + own.limit_seconds;
    const bool asked = own.method && strcmp(own.method, "walk") == 0;
    bool small = true;
    for (size_t i = 0; i < count; i++) {
        uint64_t blocks;
        small &= !__builtin_mul_overflow(caches[i].sets, caches[i].ways, &blocks) && blocks <= most_blocks;
    }
    if (asked && !small)
        return fm_fail(error, FM_E_LIMIT, NULL, "a cache of more than 2^26 blocks is not walked over");
    if (asked || (!own.method && small && few_accesses(region, &own))) {
        status = simulate_caches(region, &own, end, caches, count, error);
        if (status != FM_E_LIMIT || asked) return status;
    }
    for (size_t i = 0; i < count; i++) {
        const double left = end - fm_now();
        status = work_out(region, &own, left > 1 ? left / (double)(count - i) : 1, &caches[i], error);
        if (status != FM_OK) return status;
    }
    return FM_OK;
}

fm_status fm_region_array_at(const fm_region *region, uint64_t granularity, fm_layout layout, size_t index,
                             const char **name, uint64_t *address, fm_error *error)
{
    FM_REQUIRE(region, error);
    fm_placement *placement;
    if (index >= region->array_count) return fm_fail(error, FM_E_ARGUMENT, NULL, "there is no such array");
    fm_status status = fm_placement_create(&placement, region, granularity, layout, error);
    if (status != FM_OK) return status;
    *name = region->arrays[index].name;
    *address = (uint64_t)placement->arrays[index].base;
    fm_placement_destroy(placement);
    return FM_OK;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bounds.c - the least time of a region on a machine: for each resource, its work divided by its rate; the
 * slowest one bounds the whole (fathom/machine.h).
 *
 * Two kinds of work. Proved: the floating-point operations of the source, and blocks that must come over a
 * link whatever caches replace: first touches, and Sleator and Tarjan's bound. By a model: loads and stores
 * as the source has them, where a compiler may keep values in registers; misses of LRU caches.
 */
#include <fathom/machine.h>

#include "base/error.h"
#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_BOUNDS = 6 + 2 * (FM_MOST_LEVELS + 1) };

/*
 * "Amortized efficiency of list update and paging rules" (CACM 28, 1985): cut the references where LRU with n
 * blocks has missed n times; in each piece a cache of h <= n blocks misses n - h + 1 times at least, and in
 * the first one, from empty caches, as often as LRU. So the fewest misses are at least misses(n) * (n - h +
 * 1) / n. That factor grows with n, and the misses fall where a distance is passed: the best n are distances.
 */
double fm_profile_least_misses(const fm_profile *profile, uint64_t blocks)
{
    uint64_t misses = profile->cold + profile->beyond;
    double least = (double)profile->cold;
    for (size_t i = profile->distances.count; i-- > 0;) {
        const fm_bin *bin = &profile->distances.bins[i];
        if (bin->lo < blocks || bin->lo == 0) break;
        misses += bin->count;
        const double so_many =
            (double)misses * ((double)(bin->lo - blocks) + (blocks ? 1.0 : 0.0)) / (double)bin->lo;
        if (so_many > least) least = so_many;
    }
    return blocks ? least : (double)profile->references;
}

/* Misses of an LRU cache whose size is one of the edges. */
static double nest_misses(const fm_nest *work, const uint64_t *edges, uint64_t blocks)
{
    double misses = (double)work->first_touches;
    for (size_t i = 0; i < work->range_count; i++)
        if (edges[i] >= blocks) misses += (double)work->ranges[i];
    return misses;
}

static void bounds_put(fm_bounds_part *part, const char *resource, const char *to, bool bytes, bool proved,
                       double work, double rate)
{
    if (!(rate > 0)) return;
    fm_bound *bound = &part->bounds[part->count++];
    *bound = (fm_bound){.bytes = bytes, .proved = proved, .work = work, .rate = rate, .seconds = work / rate};
    snprintf(bound->resource, sizeof bound->resource, to ? "%.24s to %.24s" : "%.48s", resource, to);
}

static void find_slowest(fm_bounds_part *part)
{
    part->slowest = part->slowest_proved = part->count;
    for (size_t i = 0; i < part->count; i++) {
        if (part->slowest == part->count || part->bounds[i].seconds > part->bounds[part->slowest].seconds)
            part->slowest = i;
        if (part->bounds[i].proved && (part->slowest_proved == part->count ||
                                       part->bounds[i].seconds > part->bounds[part->slowest_proved].seconds))
            part->slowest_proved = i;
    }
}

/* whole: the profile is of this part. sure: its first touches are exact. */
static void bound_part(const fm_machine *machine, const fm_profile *profile, const uint64_t *edges,
                       bool whole, bool sure, fm_bounds_part *part)
{
    const fm_nest *work = &part->work;
    const double block = (double)profile->granularity;
    const double accesses = (double)work->loads + (double)work->stores,
                 bytes = (double)work->loaded_bytes + (double)work->stored_bytes;
    bounds_put(part, "flops", NULL, false, true, (double)work->flops, machine->flops);
    bounds_put(part, "integer operations", NULL, false, false, (double)work->integer_operations,
               machine->integer_operations);
    bounds_put(part, "loads", NULL, false, false, (double)work->loads, machine->loads);
    bounds_put(part, "stores", NULL, false, false, (double)work->stores, machine->stores);
    bounds_put(part, "loads and stores", NULL, false, false, accesses, machine->accesses);
    uint64_t before = 0; /* blocks of all caches before the link */
    for (size_t i = 0; i <= machine->level_count; i++) {
        const bool memory = i == machine->level_count;
        const char *from = memory ? "memory" : machine->levels[i].name,
                   *to = i ? machine->levels[i - 1].name : "processor";
        const double rate = memory ? machine->memory : machine->bandwidths[i];
        if (i == 0) {
            bounds_put(part, from, to, true, false, bytes, rate);
        } else {
            const uint64_t blocks = machine->levels[i - 1].bytes / profile->granularity;
            before += blocks;
            bounds_put(part, from, to, true, false, nest_misses(work, edges, blocks) * block, rate);
        }
        double least = (double)work->first_touches;
        if (whole && profile->exact && i > 0) least = fm_profile_least_misses(profile, before);
        if (sure && (i > 0 || memory)) bounds_put(part, from, to, true, true, least * block, rate);
    }
    find_slowest(part);
}

static fm_status copy_work(fm_nest *to, const fm_nest *from, fm_error *error)
{
    *to = *from;
    to->file = from->file ? strdup(from->file) : NULL;
    to->ranges = fm_calloc(from->range_count + 1, sizeof *to->ranges);
    if ((from->file && !to->file) || !to->ranges)
        return fm_fail_memory(error, from->range_count * sizeof *to->ranges, "bounds");
    if (from->range_count) memcpy(to->ranges, from->ranges, from->range_count * sizeof *to->ranges);
    return FM_OK;
}

static bool work_sum(uint64_t *to, uint64_t more)
{
    return !__builtin_add_overflow(*to, more, to);
}

static fm_status add_work(fm_nest *to, const fm_nest *more, fm_error *error)
{
    bool fits =
        work_sum(&to->loads, more->loads) && work_sum(&to->stores, more->stores) &&
        work_sum(&to->flops, more->flops) && work_sum(&to->integer_operations, more->integer_operations) &&
        work_sum(&to->loaded_bytes, more->loaded_bytes) && work_sum(&to->stored_bytes, more->stored_bytes) &&
        work_sum(&to->first_touches, more->first_touches);
    for (size_t i = 0; i < to->range_count; i++) fits = fits && work_sum(&to->ranges[i], more->ranges[i]);
    return fits ? FM_OK : fm_fail(error, FM_E_LIMIT, NULL, "the region does more than 2^64 operations");
}

/* The caches as the profile sees them: of its blocks, and at an edge of its ranges. */
static fm_status check_levels(const fm_machine *machine, const fm_profile *profile, const fm_nest *nests,
                              size_t count, const uint64_t *edges, fm_error *error)
{
    for (size_t i = 0; i < machine->level_count; i++) {
        const fm_cache *level = &machine->levels[i];
        bool found = count == 0;
        if (level->line && level->line != profile->granularity)
            return fm_fail(error, FM_E_ARGUMENT, NULL,
                           "lines of %s are %llu bytes, and the profile is of blocks of %llu bytes",
                           level->name, (unsigned long long)level->line,
                           (unsigned long long)profile->granularity);
        for (size_t k = 0; count > 0 && k < nests[0].range_count; k++)
            found |= edges[k] == level->bytes / profile->granularity;
        if (!found)
            return fm_fail(error, FM_E_ARGUMENT, NULL,
                           "the ranges of distances have no edge at the size of %s", level->name);
    }
    return FM_OK;
}

/* From the first line of all nests to the last, where they are in one file. */
static fm_status span_lines(fm_bounds *made, fm_error *error)
{
    fm_nest *whole = &made->whole.work;
    for (size_t i = 0; i < made->count; i++) {
        const fm_nest *nest = &made->nests[i].work;
        if (!nest->file || strcmp(nest->file, made->nests[0].work.file) != 0) {
            whole->first_line = whole->last_line = 0;
            return FM_OK;
        }
        if (i == 0 || nest->first_line < whole->first_line) whole->first_line = nest->first_line;
        if (nest->last_line > whole->last_line) whole->last_line = nest->last_line;
    }
    if (made->count == 0) return FM_OK;
    whole->file = strdup(made->nests[0].work.file);
    return whole->file ? FM_OK : fm_fail_memory(error, 64, "bounds");
}

fm_status fm_machine_bound(const fm_machine *machine, const fm_profile *profile, const fm_nest *nests,
                           size_t count, const uint64_t *edges, fm_bounds **bounds, fm_error *error)
{
    *bounds = NULL;
    FM_REQUIRE(machine, error);
    FM_REQUIRE(profile, error);
    fm_status status = check_levels(machine, profile, nests, count, edges, error);
    if (status != FM_OK) return status;
    fm_bounds *made = fm_calloc(1, sizeof *made);
    if (!made) return fm_fail_memory(error, sizeof *made, "bounds");
    made->machine = strdup(machine->name);
    made->flops = machine->flops;
    made->nests = fm_calloc(count + 1, sizeof *made->nests);
    made->whole.bounds = fm_calloc(MOST_BOUNDS, sizeof *made->whole.bounds);
    made->whole.work.range_count = count ? nests[0].range_count : 0;
    made->whole.work.ranges = fm_calloc(made->whole.work.range_count + 1, sizeof *made->whole.work.ranges);
    if (!made->machine || !made->nests || !made->whole.bounds || !made->whole.work.ranges)
        status = fm_fail_memory(error, sizeof *made, "bounds");
    for (; made->count < count && status == FM_OK;) {
        fm_bounds_part *part = &made->nests[made->count];
        status = copy_work(&part->work, &nests[made->count++], error);
        part->bounds = fm_calloc(MOST_BOUNDS, sizeof *part->bounds);
        if (status == FM_OK && !part->bounds) status = fm_fail_memory(error, sizeof *part->bounds, "bounds");
        if (status == FM_OK) status = add_work(&made->whole.work, &part->work, error);
        if (status == FM_OK) bound_part(machine, profile, edges, false, profile->exact, part);
    }
    if (status == FM_OK) status = span_lines(made, error);
    if (status == FM_OK) {
        made->whole.work.first_touches = profile->cold;
        bound_part(machine, profile, edges, true, true, &made->whole);
        *bounds = made;
    } else {
        fm_bounds_destroy(made);
    }
    return status;
}
